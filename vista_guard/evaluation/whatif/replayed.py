"""Two policies over the reports of one replayed log: judged once, decided twice, turn by turn."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vista_guard.evaluation.comparing.gold import Gold, GoldTurn, of_entry
from vista_guard.evaluation.datasets import BrokenEntry, LoggedConversation
from vista_guard.evaluation.runners.folder import TurnName, read_reports
from vista_guard.evaluation.whatif import words
from vista_guard.evaluation.whatif.cases import Case, without_texts
from vista_guard.evaluation.whatif.comparison import Comparison, compare
from vista_guard.evaluation.whatif.named import NamedPolicy
from vista_guard.evaluation.whatif.standing import Decider
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Decision, JudgeInfo, Role, TurnReport


@dataclass
class Heard:
    """What a log holds beside what is judged, gathered while it is read: what users said before each turn, and people's word."""

    questions: dict[TurnName, str] = field(default_factory=dict)
    gold: dict[TurnName, GoldTurn] = field(default_factory=dict)

    def listening(
        self, entries: Iterable[LoggedConversation | BrokenEntry]
    ) -> Iterator[LoggedConversation | BrokenEntry]:
        """The entries as they are."""
        for entry in entries:
            if isinstance(entry, LoggedConversation):
                self._hear(entry)
            yield entry

    def _hear(self, entry: LoggedConversation) -> None:
        question, name = "", str(entry.conversation.id)
        for index, turn in enumerate(entry.conversation.turns):
            if turn.role is Role.USER:
                question = turn.text
            elif turn.role is Role.ASSISTANT:
                self.questions[name, index] = question
        self.gold |= of_entry(entry)


@dataclass(frozen=True)
class Replayed:
    """What two policies do with the turns of one log.

    `fine` is people's word by report id, where there is any. `fits` are the risks of the judges that reported. `unjudged` counts
    turns with claims that could not be judged, `unreported` those of the log that have no report, `unmatched` labels of turns
    that have none.
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
        """Of the two policies."""
        return self.policies[0].name, self.policies[1].name

    @property
    def conversations(self) -> int:
        """How many there are."""
        return len({case.conversation_id for case in self.found.cases})

    def limits(self) -> list[str]:
        """What this can't tell."""
        return words.joined(
            [
                words.STREAMED,
                words.ONWARDS,
                words.REPAIRS,
                *words.limits(self.found, self.names),
                words.counted(
                    self.unjudged, "turns have claims that were not judged; each policy says what becomes of them."
                ),
                words.counted(self.unreported, "turns of the log have no report, and are not counted."),
                words.counted(self.unmatched, "labels are of turns that were not reported, and are not counted."),
                words.unfitted(self.fits),
            ]
        )


@dataclass(frozen=True)
class ReplayedTurn:
    """One turn as people read it: what was said, what was found, and what each policy decides."""

    question: str
    report: TurnReport
    case: Case
    first: Decision
    second: Decision
    fine: bool | None

    @property
    def differs(self) -> bool:
        """Whether the policies do different things."""
        return self.first.action is not self.second.action


def decide(out: Path, heard: Heard, policies: tuple[NamedPolicy, NamedPolicy], gold: Gold | None = None) -> Replayed:
    """Decides on each report of a log with both policies. No judge is asked, and no text is kept.

    Args:
        out: what `replay` wrote. Reports of turns that the log does not have are left out.
        heard: the log, as it was read.
        policies: the two.
        gold: people's word; the log's own when not given.

    Raises:
        InputError: the file holds something else.
        ConfigError: a policy promises a rate that no table of this judge holds.
    """
    said = heard.gold if gold is None else gold
    sides = _deciders(policies)
    cases: list[Case] = []
    actions: tuple[list[Action], list[Action]] = ([], [])
    fine: dict[str, bool] = {}
    unjudged, reported = 0, set()
    for report in _of_log(out, heard):
        for decider, column in zip(sides, actions, strict=True):
            case, decision = decider(report)
            column.append(decision.action)
        cases.append(without_texts(case))
        reported.add(_name(report))
        unjudged += bool(report.unchecked)
        word = said[_name(report)].verdict(case.outcomes) if _name(report) in said else None
        if word is not None:
            fine[report.id] = word
    return Replayed(
        policies,
        compare(cases, *actions),
        fine,
        {judge: fit for side in reversed(sides) for judge, fit in side.fits.items()},
        unjudged,
        unreported=len(heard.questions.keys() - reported),
        unmatched=len(said.keys() - reported),
    )


def turns(out: Path, heard: Heard, replayed: Replayed, wanted: Collection[str] | None = None) -> Iterator[ReplayedTurn]:
    """Turns with all of their texts, in the order of the reports; those with these report ids, or all."""
    first, second = _deciders(replayed.policies)
    for report in _of_log(out, heard):
        if wanted is None or report.id in wanted:
            case, one = first(report)
            _, other = second(report)
            yield ReplayedTurn(heard.questions[_name(report)], report, case, one, other, replayed.fine.get(report.id))


def _deciders(policies: Sequence[NamedPolicy]) -> tuple[Decider, Decider]:
    first, second = (Decider(one.recipe.policy(), one.risk_table) for one in policies)
    return first, second


def _of_log(out: Path, heard: Heard) -> Iterator[TurnReport]:
    return (report for report in read_reports(out) if _name(report) in heard.questions)


def _name(report: TurnReport) -> TurnName:
    return report.conversation_id or "", report.turn_index
