"""How far a replay is, on stderr."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from vista_guard.cli.render import visible
from vista_guard.evaluation.datasets import BrokenEntry, LoggedConversation
from vista_guard.evaluation.runners.replay import Event

SHOWN = 20
"""Broken entries that are shown one by one; the others are only counted."""


class ReplayProgress:
    """A bar over the log's entries, and a line for each that could not be read. Without a terminal, only the lines."""

    def __init__(self, total: int) -> None:
        console = Console(stderr=True, highlight=False)
        columns = (
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[turns]} turns"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
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
        """Counts one event."""
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
        """One line, above the bar."""
        self._progress.console.print(Text(visible(message)), soft_wrap=True)
