"""What a judge made of the challenge: shares over claims and pairs, in all and by phenomenon. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vista_guard.evaluation.suites.challenge.items import Wording
from vista_guard.policy.scoring import SAFE
from vista_guard.types import Action, Finding, Label, TurnReport

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """One claim, judged. `label` is None where it could not be."""

    gold: Label
    label: Label | None
    action: Action

    @classmethod
    def read(cls, gold: Label, report: TurnReport) -> Answer:
        """From the report on a turn of this claim alone."""
        outcome = report.outcomes[0] if report.outcomes else None
        return cls(gold, outcome.label if isinstance(outcome, Finding) else None, report.decision.action)

    @property
    def is_right(self) -> bool:
        """Whether what must pass passes, and what must be held against the turn is."""
        return self.label is not None and (self.label in SAFE) == (self.gold in SAFE)


@dataclass(frozen=True)
class JudgedPair:
    """Both members of a pair, judged apart."""

    phenomenon: str
    wording: Wording
    right: Answer
    wrong: Answer


@dataclass(frozen=True)
class Row:
    """Shares in [0, 1] over some pairs; None where there is nothing to take a share of."""

    name: str
    pairs: int
    supported_or_not: float | None
    both: float | None
    true_verified: float | None
    contradictions_found: float | None
    wrong_passed: float | None
    block_precision: float | None
    blocks: int


def row(name: str, pairs: Sequence[JudgedPair]) -> Row:
    """The figures of these pairs. Precision of blocks: of the turns that were blocked, those that say something wrong."""
    answers = [answer for pair in pairs for answer in (pair.right, pair.wrong)]
    wrong = [pair.wrong for pair in pairs]
    blocked = [answer for answer in answers if answer.action is Action.BLOCK]
    return Row(
        name=name,
        pairs=len(pairs),
        supported_or_not=_share(answers, lambda answer: answer.is_right),
        both=_share(pairs, lambda pair: pair.right.is_right and pair.wrong.is_right),
        true_verified=_share(
            [pair.right for pair in pairs if pair.right.gold is Label.VERIFIED],
            lambda answer: answer.label is Label.VERIFIED,
        ),
        contradictions_found=_share(
            [answer for answer in wrong if answer.gold is Label.CONTRADICTED],
            lambda answer: answer.label is Label.CONTRADICTED,
        ),
        wrong_passed=_share(wrong, lambda answer: answer.label in SAFE),
        block_precision=_share(blocked, lambda answer: answer.gold not in SAFE),
        blocks=len(blocked),
    )


def rows(pairs: Sequence[JudgedPair]) -> list[Row]:
    """One row a phenomenon, by name, then one a wording, and last one for all."""
    names, wordings = sorted({pair.phenomenon for pair in pairs}), sorted({pair.wording for pair in pairs})
    return [
        *(row(name, [pair for pair in pairs if pair.phenomenon == name]) for name in names),
        *(row(f"({wording} wording)", [pair for pair in pairs if pair.wording == wording]) for wording in wordings),
        row("all", pairs),
    ]


def _share(items: Sequence[T], holds: Callable[[T], bool]) -> float | None:
    return sum(map(holds, items)) / len(items) if items else None


_COLUMNS = ("pairs", "right", "both", "verified", "contrad.", "passed", "blocks", "of them right")


def as_text(table: Iterable[Row]) -> str:
    """The table for a terminal; shares as percentages."""
    return "\n".join([_line("phenomenon", _COLUMNS), *(_line(one.name, _cells(one)) for one in table)])


def _cells(one: Row) -> tuple[str, ...]:
    shares = (one.supported_or_not, one.both, one.true_verified, one.contradictions_found, one.wrong_passed)
    return (str(one.pairs), *map(_percent, shares), str(one.blocks), _percent(one.block_precision))


def _line(name: str, cells: Iterable[str]) -> str:
    return f"{name:26}" + "".join(
        f"{cell:>{max(9, len(column) + 1)}}" for cell, column in zip(cells, _COLUMNS, strict=True)
    )


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"
