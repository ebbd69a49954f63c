"""Two policies over one log as one HTML file.

Text from a log is escaped, never read as HTML or Markdown, and no address in it becomes a link. Should anything slip through,
the page's own content policy runs no script and loads nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Final

from vista_guard import __version__
from vista_guard._extras import require
from vista_guard.dashboard.elements.looks import look
from vista_guard.errors import ConfigError
from vista_guard.types import Action, Outcome, SourceKind, label_of
from vista_lab.files import writing
from vista_lab.policies import replayed as words
from vista_lab.policies.named import NamedPolicy, as_toml
from vista_lab.policies.replayed import LogNotes, PolicyReplay, ReplayedTurn, turns
from vista_lab.tables.pages import content_policy, page_environment

HERE: Final = Path(__file__).parent
MOST_CHANGED: Final = 500
"""Most changed turns shown: those with the largest steps."""
MOST_TURNS: Final = 2000
"""Most turns listed by conversation. A turn with its claims takes about three kilobytes."""


@dataclass(frozen=True)
class Talk:
    """A conversation's turns. `changes` counts those on which the policies differ."""

    name: str
    turns: Sequence[ReplayedTurn]

    @property
    def changes(self) -> int:
        return sum(turn.differs for turn in self.turns)


def check_place(path: Path) -> None:
    """Checks before anything is judged that a page can be written there and jinja2 is installed.

    Raises ConfigError: it cannot.
    """
    require("the HTML report", "jinja2", extra="evaluation")
    if path.is_dir() or not path.parent.is_dir():
        why = "it is a folder" if path.is_dir() else "its folder does not exist"
        raise ConfigError(f"--html {path} cannot be written: {why}")


def write_page(path: Path, log: str, out: Path, heard: LogNotes, replayed: PolicyReplay, *, now: datetime) -> None:
    """Writes the page atomically.

    `log` and `now` are the log's name and the time to print; `out` is the file of reports, `heard` the log. Raises
    ConfigError: jinja2 is missing, or the file cannot be written.
    """
    check_place(path)
    partial = path.with_name(path.name + ".partial")
    with writing(f"--html {path}", ""):
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(page(log, out, heard, replayed, now=now))
        partial.replace(path)


def page(log: str, out: Path, heard: LogNotes, replayed: PolicyReplay, *, now: datetime) -> Iterator[str]:
    """The page in pieces, from the arguments of `write_page`."""
    style = _style()
    changed_ids = [change.case.report_id for change in replayed.found.changed]
    turns_by_id = {turn.report.id: turn for turn in turns(out, heard, replayed, frozenset(changed_ids[:MOST_CHANGED]))}
    environment = page_environment(HERE)
    environment.globals.update(
        actions=tuple(Action),
        look=look,
        words=words,
        quotes=_quotes,
        label=label_of,
        anchor=lambda first, second: f"{first}-{second}".lower(),
    )
    environment.filters["share"] = words.share
    environment.filters["percent"] = lambda count, turns: round(100 * count / turns) if turns else 0
    template = environment.get_template("page.html.j2")
    return template.generate(
        style=style,
        policy=content_policy(style),
        log=log,
        now=now,
        version=__version__,
        replayed=replayed,
        judges=", ".join(f"{judge.name} {judge.version}" for judge in replayed.fits),
        totals=replayed.found.totals,
        agreement=replayed.found.agreement(replayed.fine),
        groups=_groups([turns_by_id[name] for name in changed_ids if name in turns_by_id]),
        counts=Counter((change.first, change.second) for change in replayed.found.changed),
        changed=len(changed_ids),
        recipes=[(policy.name, _lines(policy)) for policy in replayed.policies],
        talks=_talks(out, heard, replayed),
        most=(MOST_CHANGED, MOST_TURNS),
    )


def _style() -> str:
    """The style sheet, with a class for each width of a bar, as the content policy forbids style attributes."""
    widths = "".join(f".w{share}{{width:{share}%}}" for share in range(101))
    return (HERE / "page.css").read_text(encoding="utf-8") + widths


def _groups(changed_turns: Sequence[ReplayedTurn]) -> list[tuple[tuple[Action, Action], list[ReplayedTurn]]]:
    groups: dict[tuple[Action, Action], list[ReplayedTurn]] = {}
    for turn in changed_turns:
        groups.setdefault((turn.first.action, turn.second.action), []).append(turn)
    return list(groups.items())


def _talks(out: Path, heard: LogNotes, replayed: PolicyReplay) -> list[Talk]:
    """Conversations in the log's order with their turns in order, `MOST_TURNS` turns at most."""
    places = {name: place for place, name in enumerate(heard.questions)}
    order = sorted(replayed.found.cases, key=lambda case: places[case.conversation_id or "", case.turn_index])
    wanted_ids = frozenset(case.report_id for case in order[:MOST_TURNS])
    sorted_turns = sorted(
        turns(out, heard, replayed, wanted_ids),
        key=lambda turn: places[turn.report.conversation_id or "", turn.report.turn_index],
    )
    by_talk = groupby(sorted_turns, key=lambda turn: turn.report.conversation_id or "")
    return [Talk(name, list(part)) for name, part in by_talk]


_SOURCE_NAMES = {
    SourceKind.KNOWLEDGE: "said before",
    SourceKind.PERSONA: "persona",
    SourceKind.CHANNEL: "this chat",
    SourceKind.HISTORY: "history",
}


def _quotes(outcome: Outcome) -> list[tuple[str, str]]:
    pieces = getattr(outcome, "evidence", ())
    return [(_SOURCE_NAMES.get(piece.source) or piece.name, piece.quote) for piece in pieces]


def _lines(policy: NamedPolicy) -> str:
    """The policy as lines of a settings file, or as JSON where it has no such lines."""
    try:
        return as_toml(policy.recipe)
    except ConfigError:
        told = {"policy": policy.recipe.preset, "policy_overrides": policy.recipe.overrides}
        return json.dumps(told, indent=2, default=str)
