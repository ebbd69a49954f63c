"""Options of `replay` that compare policies: `--policy`, `--against`, `--labels` and `--html`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from vista_guard.cli.common import visible
from vista_guard.policy.labels import Gold
from vista_guard.settings.sources import Settings
from vista_guard.types import JudgeInfo
from vista_lab.policies.named import NamedPolicy, named_policy, policies_by_judge
from vista_lab.policies.replayed import LogNotes, PolicyReplay, ReplayedTurn, decide, turns
from vista_lab.runs.gold import read_gold

SHOWN = 10
"""Most changed turns that a terminal shows."""


@dataclass
class Against:
    """Two policies, with the log and labels to compare them on."""

    policies: tuple[NamedPolicy, NamedPolicy]
    log: Path
    gold: Gold | None = None
    html: Path | None = None
    heard: LogNotes = field(default_factory=LogNotes)

    @classmethod
    def parse(cls, policy: str, against: str, log: Path, labels: Path | None, html: Path | None) -> Self:
        """Parses the options of the command line.

        Raises:
            ConfigError: a policy is unknown, or the page cannot be written.
            InputError: the labels are invalid.
        """
        if html is not None:
            from vista_lab.policies.html import check_place

            check_place(html)
        settings = Settings.load()
        policies = named_policy(policy, settings), named_policy(against, settings)
        return cls(_shorten_names(*policies), log, None if labels is None else read_gold(labels), html)

    def check(self, judge: JudgeInfo) -> None:
        """Checks both policies before anything is judged.

        Raises ConfigError: a policy promises a rate that no table of this judge reaches.
        """
        for policy in self.policies:
            policies_by_judge(policy.recipe.policy(), [judge], policy.risk_table)

    def show(self, out: Path) -> None:
        """Shows both policies over the reports on the terminal, and writes the page if one was asked for."""
        from rich.console import Console

        from vista_lab.policies.terminal import policies_table

        replayed = decide(out, self.heard, self.policies, self.gold)
        console = Console(highlight=False)
        console.print(policies_table(replayed, self._changes(out, replayed)))
        if self.html is not None:
            from vista_lab.policies.html import write_page

            write_page(self.html, self.log.name, out, self.heard, replayed, now=datetime.now(UTC))
            console.print(f"wrote {visible(str(self.html))}", markup=False, soft_wrap=True)

    def _changes(self, out: Path, replayed: PolicyReplay) -> list[ReplayedTurn]:
        wanted = [it.case.report_id for it in replayed.found.changed[:SHOWN]]
        by_id = {turn.report.id: turn for turn in turns(out, self.heard, replayed, frozenset(wanted))}
        return [by_id[name] for name in wanted]


def _shorten_names(first: NamedPolicy, second: NamedPolicy) -> tuple[NamedPolicy, NamedPolicy]:
    """Names files without their folders, if the names still differ."""
    one, other = Path(first.name).name, Path(second.name).name
    return (first, second) if one == other else (replace(first, name=one), replace(second, name=other))
