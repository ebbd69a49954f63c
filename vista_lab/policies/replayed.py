"""Two policies over the reports of one replayed log, judged once and decided twice.

The results come with texts for a page, a report or a terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vista_guard.policy.labels import Gold, GoldTurn
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Decision, JudgeInfo, TurnReport
from vista_lab.logs.formats import BrokenEntry, LoggedConversation
from vista_lab.metrics.intervals import Share
from vista_lab.policies.comparison import Comparison, PolicyCase, compare, without_texts
from vista_lab.policies.named import Decider, NamedPolicy
from vista_lab.runs.folder import TurnName, read_reports
from vista_lab.runs.gold import gold_of_entry, questions_of

AGREEMENTS: Final = {
    "alarms": ("alarms that are right", "of the turns that are flagged, repaired or blocked"),
    "withheld": ("withheld rightly", "of the turns that are repaired or blocked"),
    "false_alarms": ("fine turns withheld", "of the turns that people call fine"),
    "missed": ("bad turns let through unmarked", "of the turns that people call not fine"),
}
"""Shares of `PolicyAgreement`: name and base of each."""

NOBODY: Final = "Without that nobody knows which policy is right more often."

UNLABELLED: Final = f"No turn of this log has a person's word. {NOBODY}"

CENSORED: Final = (
    "of the turns that the {name} policy delivers were streamed, and ended at their first withheld sentence: what would have "
    "come behind it was never judged. These turns are censored, and the policy may look better than it is."
)
MEMORY: Final = (
    "turns rest on knowledge from a turn that one policy delivers and the other withholds. Without it they would have been "
    "judged differently: memory cannot be replayed."
)
REWRITTEN: Final = (
    "turns were written anew then. Policies decide on the first draft here; what a new draft would have brought cannot be "
    "simulated."
)
REPAIRS: Final = "A repair is counted as asked for. Whether it would have succeeded is not known."

STREAMED: Final = (
    "The turns were judged whole, as they were said. Streamed sentence by sentence, a turn that is withheld here would have "
    "ended at its first withheld sentence, with those before it read already."
)
ONWARDS: Final = (
    "The conversations went on after what was said then. What users would have said to a blocked or repaired turn is not "
    "known."
)


def limits(found: Comparison, names: Sequence[str]) -> list[str]:
    """The limits of a comparison, each with its number of turns."""
    cuts = [count_text(it.cut_short, CENSORED.format(name=name)) for it, name in zip(found.totals, names, strict=True)]
    counts = ((found.leaning, MEMORY), (found.rewritten, REWRITTEN))
    return join_parts([*cuts, *(count_text(*pair) for pair in counts)])


def count_text(count: int, text: str) -> str | None:
    """The text with its count; None for a count of 0."""
    return f"{count:,} {text}" if count else None


def unfitted_judges(fits: Mapping[JudgeInfo, TurnRisk | None]) -> str | None:
    """A note on the judges without a risk model; None if all have one."""
    without = ", ".join(f"{judge.name} {judge.version}" for judge, fit in fits.items() if fit is None)
    if not without:
        return None
    return f"No risk was fitted for {without}: risks that are taken as fitted decide nothing for their turns."


def share(found: Share | None) -> str:
    """A share with its interval and its counts."""
    if found is None:
        return "–"
    interval = f"{100 * found.low:.0f} to {100 * found.high:.0f} %"
    return f"{100 * found.value:.0f} %  ({interval}; {found.hits:,} of {found.n:,})"


def join_parts(told: Iterable[str | None]) -> list[str]:
    """The non-empty parts."""
    return [part for part in told if part]


@dataclass
class LogNotes:
    """Users' messages and people's labels, collected from a log while it is read."""

    questions: dict[TurnName, str] = field(default_factory=dict)
    gold: dict[TurnName, GoldTurn] = field(default_factory=dict)

    def listening(
        self, entries: Iterable[LoggedConversation | BrokenEntry]
    ) -> Iterator[LoggedConversation | BrokenEntry]:
        """Yields the entries unchanged, and collects from them."""
        for entry in entries:
            if isinstance(entry, LoggedConversation):
                name, questions = str(entry.conversation.id), questions_of(entry.conversation)
                self.questions |= {(name, index): question for index, question in questions.items()}
                self.gold |= gold_of_entry(entry)
            yield entry


@dataclass(frozen=True)
class PolicyReplay:
    """Two policies on the turns of one log.

    `fine` has people's labels by report id. `fits` has the risk models of the judges that reported. `unjudged` counts
    turns with claims that could not be judged, `unreported` turns of the log without a report, `unmatched` labels of turns
    without a report.
    """

    policies: tuple[NamedPolicy, NamedPolicy]
    found: Comparison
    fine: Mapping[str, bool]
    fits: Mapping[JudgeInfo, TurnRisk | None]
    unjudged: int
    unreported: int
    unmatched: int

    @property
    def names(self) -> tuple[str, str]:
        return self.policies[0].name, self.policies[1].name

    @property
    def conversations(self) -> int:
        return len({case.conversation_id for case in self.found.cases})

    def limits(self) -> list[str]:
        counts = (
            (self.unjudged, "turns have claims that were not judged; each policy says what becomes of them."),
            (self.unreported, "turns of the log have no report, and are not counted."),
            (self.unmatched, "labels are of turns that were not reported, and are not counted."),
        )
        notes = [*limits(self.found, self.names), *(count_text(*pair) for pair in counts), unfitted_judges(self.fits)]
        return join_parts([STREAMED, ONWARDS, REPAIRS, *notes])


@dataclass(frozen=True)
class ReplayedTurn:
    """One turn for people to read: its texts, the findings, and each policy's decision."""

    question: str
    report: TurnReport
    case: PolicyCase
    first: Decision
    second: Decision
    fine: bool | None

    @property
    def differs(self) -> bool:
        return self.first.action is not self.second.action


def decide(
    out: Path, heard: LogNotes, policies: tuple[NamedPolicy, NamedPolicy], gold: Gold | None = None
) -> PolicyReplay:
    """Decides on each report of a log with both policies. No judge is asked, and no text is kept.

    Args:
        out: the file that `replay` wrote. Reports of turns that the log lacks are left out.
        heard: questions and labels of the log.
        policies: the two policies.
        gold: people's labels; the log's own when None.

    Raises:
        InputError: the file holds something else.
        ConfigError: a policy promises a rate that no table of this judge reaches.
    """
    labels = heard.gold if gold is None else gold
    sides = _deciders(policies)
    cases: list[PolicyCase] = []
    actions: tuple[list[Action], list[Action]] = ([], [])
    fine: dict[str, bool] = {}
    unjudged, reported = 0, set()
    for report in _log_reports(out, heard):
        for decider, column in zip(sides, actions, strict=True):
            case, decision = decider(report)
            column.append(decision.action)
        cases.append(without_texts(case))
        reported.add(_name(report))
        unjudged += bool(report.unchecked)
        verdict = labels[_name(report)].verdict(case.outcomes) if _name(report) in labels else None
        if verdict is not None:
            fine[report.id] = verdict
    return PolicyReplay(
        policies,
        compare(cases, *actions),
        fine,
        {judge: fit for side in reversed(sides) for judge, fit in side.fits.items()},
        unjudged,
        unreported=len(heard.questions.keys() - reported),
        unmatched=len(labels.keys() - reported),
    )


def turns(
    out: Path, heard: LogNotes, replayed: PolicyReplay, wanted: Collection[str] | None = None
) -> Iterator[ReplayedTurn]:
    """Turns with all of their texts, in the order of the reports; those with these report ids, or all."""
    first, second = _deciders(replayed.policies)
    for report in _log_reports(out, heard):
        if wanted is None or report.id in wanted:
            case, one = first(report)
            _, other = second(report)
            yield ReplayedTurn(heard.questions[_name(report)], report, case, one, other, replayed.fine.get(report.id))


def _deciders(policies: Sequence[NamedPolicy]) -> tuple[Decider, Decider]:
    first, second = (Decider(policy.recipe.policy(), policy.risk_table) for policy in policies)
    return first, second


def _log_reports(out: Path, heard: LogNotes) -> Iterator[TurnReport]:
    return (report for report in read_reports(out) if _name(report) in heard.questions)


def _name(report: TurnReport) -> TurnName:
    return report.conversation_id or "", report.turn_index
