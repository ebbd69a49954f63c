"""Progress on stderr, and Ctrl-C and SIGTERM, for commands that judge for a long time."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from vista_guard.cli.common import FAILED, STOPPED, visible
from vista_lab.logs.formats import BrokenEntry, LoggedConversation

if TYPE_CHECKING:
    from vista_lab.metrics.labels import ReplaySummary
    from vista_lab.runs.asking import GenerationEstimate
    from vista_lab.runs.loop import Event

T = TypeVar("T")

SHOWN = 20
"""Most broken entries that are shown one by one; the others are only counted."""


def tell_estimate(
    noun: str,
    found: GenerationEstimate,
    max_cost: float | None,
    note: str = "; answers that cannot be read are asked for again",
) -> None:
    """Prints an estimate of a model's calls and costs to stderr, and a warning if it exceeds `max_cost`."""
    cost = "at a price that is not known" if found.cost is None else f"about ${found.cost:,.2f}"
    counts = f"{found.calls:,} calls, {found.input_tokens:,} input and {found.output_tokens:,} output tokens"
    typer.echo(f"estimate for {noun}: {counts}, {cost}{note}", err=True)
    if found.cost is not None and max_cost is not None and found.cost > max_cost:
        typer.echo(f"that is more than --max-cost {max_cost:g}: the run stops at the limit; rerun to resume", err=True)


class ReplayProgress:
    """A progress bar over the log's entries, and a line for each unreadable one. Without a terminal, only the lines."""

    def __init__(self, total: int) -> None:
        console = Console(stderr=True, highlight=False)
        turns, times = TextColumn("{task.fields[turns]} turns"), (TimeElapsedColumn(), TimeRemainingColumn())
        columns = (BarColumn(), MofNCompleteColumn(), turns, *times)
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._progress.add_task("", total=total, turns=0)
        self._turns = 0
        self._broken = 0

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def update(self, event: Event) -> None:
        if isinstance(event, BrokenEntry):
            self._broken += 1
            if self._broken <= SHOWN:
                self.say(f"{event.source}: {event.error}")
            elif self._broken == SHOWN + 1:
                self.say("… more entries cannot be read; they are counted below")
        elif not isinstance(event, LoggedConversation):
            self._turns += 1
        finished = isinstance(event, BrokenEntry | LoggedConversation)
        self._progress.update(self._task, advance=int(finished), turns=self._turns)

    def say(self, message: str) -> None:
        """Prints one line above the bar."""
        self._progress.console.print(Text(visible(message)), soft_wrap=True)


@contextmanager
def stopping(stop: asyncio.Event, stopped: list[int], say: Callable[[str], None]) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM sets `stop`; a second one ends the process at once.

    The second one skips unwinding, which would wait for running work; every report is on disk already.
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

    before = {number: signal.signal(number, on_signal) for number in handled}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_judging(total: int, work: Callable[[ReplayProgress, asyncio.Event], Awaitable[T]]) -> tuple[T, list[int]]:
    """Runs `work` under a bar of the log's `total` entries; returns its result and the received signals.

    `work` gets the bar, and the event that a signal sets.
    """
    signals: list[int] = []

    async def watched() -> T:
        stop = asyncio.Event()
        with ReplayProgress(total) as progress, stopping(stop, signals, progress.say):
            return await work(progress, stop)

    return asyncio.run(watched()), signals


@contextmanager
def steps(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar over `total` steps; call the yielded function with the number of new steps."""
    console = Console(stderr=True, highlight=False)
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda done: bar.advance(task, done)


def run_stoppable(
    what: str, total: int, work: Callable[[Callable[[int], None], asyncio.Event], Awaitable[T]]
) -> tuple[T, list[int]]:
    """Runs `work` under a bar of `total` items named `what`; returns its result and the received signals.

    `work` gets a function to call with the number of new items, and the event that a signal sets.
    """
    signals: list[int] = []

    async def watched() -> T:
        stop = asyncio.Event()

        def say(text: str) -> None:
            typer.echo(text.replace("turns", what), err=True)

        with steps(what, total) as done, stopping(stop, signals, say):
            return await work(done, stop)

    return asyncio.run(watched()), signals


def exit_unfinished(signals: Sequence[int], why: str | None) -> None:
    """Exits with 128 plus the signal, or with 1 and the reason for unfinished work; returns if there is neither."""
    if signals:
        typer.echo("stopped; run the same command again to resume", err=True)
        raise typer.Exit(STOPPED + signals[0])
    if why is not None:
        typer.echo(f"not finished: {why}; run the same command again to resume", err=True)
        raise typer.Exit(FAILED)


def tell_unchecked(summary: ReplaySummary, reports: Path) -> None:
    """Says on stderr why claims are unchecked, and how to have them judged again; nothing if none is."""
    if not summary.reasons:
        return
    reason, count = next(iter(summary.reasons.items()))
    typer.echo(
        visible(
            f"{summary.unchecked:,} of {summary.claims:,} claims are unchecked, {count:,} of them: {reason}. A rerun keeps their "
            f"turns' reports; to judge these again, drop their lines from {reports} first (docs/replay.md, Stop and resume)"
        ),
        err=True,
    )


def stopped_code(reported: str, signals: Sequence[int], exhausted: str | None) -> int | None:
    """Prints how to resume a run that a signal or its budget stopped, and returns its exit code; None for any other."""
    if signals:
        typer.echo(f"stopped: {reported}; run the same command again to resume", err=True)
        return STOPPED + signals[0]
    if exhausted:
        typer.echo(
            f"stopped: {exhausted}; {reported}; run the same command again, with a new budget, to resume", err=True
        )
        return FAILED
    return None
