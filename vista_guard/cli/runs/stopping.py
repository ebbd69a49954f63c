"""Ctrl-C and SIGTERM of a command that judges for a long time."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from vista_guard.cli.errors import STOPPED


@contextmanager
def stopping(stop: asyncio.Event, stopped: list[int], say: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM sets `stop`; a second one ends the process at once.

    At once means without unwinding: that would wait for whatever still runs, and every report is on disk already.
    """
    loop = asyncio.get_running_loop()
    handled = (signal.SIGINT, signal.SIGTERM)

    def stop_at_once(number: int, _frame: FrameType | None) -> None:
        show_cursor = b"\x1b[?25h" if sys.stderr.isatty() else b""
        os.write(2, show_cursor + b"interrupted\n")
        os._exit(STOPPED + number)

    def begin_to_stop(number: int) -> None:
        for each in handled:
            signal.signal(each, stop_at_once)
        stopped.append(number)
        stop.set()
        say("stopping after the turns that are being judged; once more to stop at once")

    def on_signal(number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(begin_to_stop, number)

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    before = {number: signal.signal(number, on_signal) for number in handled}
    try:
        yield
    finally:
        restore()
