"""Omissions of a log's reader, and how it read people's labels: counted while the log is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from vista_guard.types import Role
from vista_lab.logs.source import BrokenEntry, LoggedConversation

SHOWN = 20
"""Most kinds of omissions, labels and unreadable entries that are told."""


@dataclass
class ReadingNotes:
    """Notes of one reading. `firsts` has the place of each omission's first occurrence, `turns` the assistant turns to judge.

    `labels` counts labels with what they were taken for, such as "yes = not fine (from the column's name)". `unread` has the
    first entries that could not be read, of `broken`.
    """

    omissions: Counter[str] = field(default_factory=Counter)
    firsts: dict[str, str] = field(default_factory=dict)
    labels: Counter[str] = field(default_factory=Counter)
    unread: list[BrokenEntry] = field(default_factory=list)
    broken: int = 0
    conversations: int = 0
    turns: int = 0

    def listening(
        self, entries: Iterable[LoggedConversation | BrokenEntry]
    ) -> Iterator[LoggedConversation | BrokenEntry]:
        """Yields the entries unchanged, and takes notes."""
        for entry in entries:
            if isinstance(entry, LoggedConversation):
                self._note(entry)
            else:
                self.broken += 1
                self.unread += [entry] if self.broken <= SHOWN else []
            yield entry

    def _note(self, entry: LoggedConversation) -> None:
        self.conversations += 1
        self.turns += sum(turn.role is Role.ASSISTANT for turn in entry.conversation.turns[entry.history :])
        name = f"conversation {entry.conversation.id}" + ("" if entry.line is None else f" (line {entry.line})")
        for gold in entry.gold.values():
            means = {True: "not fine", False: "fine", None: "open"}[gold.positive]
            self.labels[f"{gold.label} = {means}" + (f" ({gold.why})" if gold.why else "")] += 1
        for omission in entry.omissions:
            self.omissions[omission.what] += 1
            self.firsts.setdefault(omission.what, ", ".join(filter(None, (name, omission.where))))

    def labels_told(self) -> list[str]:
        """A line for each label, with what it was taken for and its number, the most frequent first."""
        return [f"label {label}: {count:,}" for label, count in self.labels.most_common(SHOWN)]

    def unread_told(self) -> list[str]:
        """A line for each of the first entries that could not be read, and one for the others."""
        lines = [f"{entry.source}: {entry.error}" for entry in self.unread]
        rest = self.broken - len(lines)
        return [*lines, *([f"… {rest:,} more entries cannot be read"] if rest else [])]

    def told(self) -> list[str]:
        """A line for each kind of omission, with its first place and its number, the most frequent first."""
        more = {what: f", and {count - 1:,} more" if count > 1 else "" for what, count in self.omissions.items()}
        lines = [f"{what}: {self.firsts[what]}{more[what]}" for what, _ in self.omissions.most_common(SHOWN)]
        rest = len(self.omissions) - SHOWN
        return [*lines, *([f"… and {rest:,} other kinds of omissions"] if rest > 0 else [])]
