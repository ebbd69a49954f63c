"""A server's socket and its signals: what is said when there is none, and that handlers return."""

from __future__ import annotations

import signal
import socket

import pytest

from tests.raising import raises
from vista_guard._listening import listening, stop_signals
from vista_guard.errors import ConfigError


def test_an_address_in_use_is_named() -> None:
    with listening("127.0.0.1", 0, "Choose another") as first:
        first.listen()
        port = first.getsockname()[1]
        with (
            raises(ConfigError, "127.0.0.1", port),
            listening("127.0.0.1", port, "Choose another"),
        ):
            pass


def test_a_machine_without_the_address_family_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> socket.socket:
        raise OSError(97, "Address family not supported by protocol")

    monkeypatch.setattr(socket, "socket", refuse)
    with raises(ConfigError, "family"), listening("[::1]", 0, "Choose another"):
        pass


def test_signals_are_noted_and_the_handlers_return() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stop_signals() as signals:
        signal.raise_signal(signal.SIGTERM)
    assert (signals, signal.getsignal(signal.SIGTERM)) == ([signal.SIGTERM], before)
