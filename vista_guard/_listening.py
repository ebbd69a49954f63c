"""A server's socket, bound before anything heavy is loaded, and the signals that stop the server."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from vista_guard.errors import ConfigError


@contextmanager
def listening(host: str, port: int, advice: str) -> Iterator[socket.socket]:
    """Binds the socket. Nobody can connect before its `listen`.

    Raises:
        ConfigError: the address cannot be listened on; it ends with `advice`.
    """
    name = host.strip("[]")
    with ExitStack() as stack:
        try:
            family = socket.AF_INET6 if ":" in name else socket.AF_INET
            listener = stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((name, port))
        except OSError as exc:
            raise ConfigError(f"cannot listen on {host} port {port}: {exc.strerror}. {advice}") from exc
        yield listener


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """The numbers of Ctrl-C and SIGTERM as they come; the earlier handlers return at the end.

    Uvicorn takes the signals over while it serves, and raises them again when it has finished its streams.
    """
    signals: list[int] = []
    previous = {
        number: signal.signal(number, lambda received, _frame: signals.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield signals
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
