"""The challenge, minimal pairs of claims written by hand: its development half through a guard, and the table.

A pair is documents, a claim that holds, its twin that does not, and the quotes that decide. Shares are over claims and pairs,
in all and by phenomenon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict

from vista_guard.guard import Guard
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Action, Claim, Conversation, Document, Finding, Label, Role, Span, Turn, TurnReport

Wording = Literal["free", "ordinary"]


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Member(_Read):
    """One claim of a pair, and the label that it deserves."""

    text: str
    label: Label


class ChallengePair(_Read):
    """Two claims that differ in one thing. `gold` are the quotes that decide between them."""

    phenomenon: str
    right: Member
    wrong: Member
    gold: tuple[str, ...]
    note: str = ""


class EarlierMessage(_Read):
    """An earlier message."""

    role: Role
    text: str


class ChallengeItem(_Read):
    """Documents with their pairs. `writer` and `style` say whose voice it is.

    `wording`: claims in `ordinary` wording are said as an assistant says them that answers from the document (two thirds of their
    content words stand in the quotes), `free` ones say the same in other words (a quarter).
    """

    id: str
    writer: str
    genre: str
    style: str
    wording: Wording
    documents: tuple[Document, ...]
    history: tuple[EarlierMessage, ...] = ()
    pairs: tuple[ChallengePair, ...]

    def saying(self, claim: str) -> Conversation:
        """The conversation that ends with an assistant turn of nothing but this claim."""
        past = (Turn(role=message.role, text=message.text) for message in self.history)
        claims = (Claim(id="c1", text=claim, span=Span(start=0, end=len(claim))),)
        said = Turn(role=Role.ASSISTANT, text=claim, documents=self.documents, claims=claims)
        return Conversation(turns=(*past, said))


def read_items(lines: Iterable[str] | None = None) -> Iterator[ChallengeItem]:
    """Items, a line each; those of the development half when None."""
    if lines is None:
        lines = (files("vista_lab.policies") / "pairs" / "development.jsonl").read_text(encoding="utf-8").splitlines()
    yield from map(ChallengeItem.model_validate_json, lines)


T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """One claim, judged. `label` is None where it could not be."""

    gold: Label
    label: Label | None
    action: Action

    @classmethod
    def read(cls, gold: Label, report: TurnReport) -> Answer:
        """The answer in the report on a turn of this claim alone."""
        outcome = report.outcomes[0] if report.outcomes else None
        return cls(gold, outcome.label if isinstance(outcome, Finding) else None, report.decision.action)

    @property
    def is_right(self) -> bool:
        """True when what must pass passes, and what must be flagged is flagged."""
        return self.label is not None and (self.label in SAFE) == (self.gold in SAFE)


@dataclass(frozen=True)
class JudgedPair:
    """Both members of a pair, judged apart."""

    phenomenon: str
    wording: Wording
    right: Answer
    wrong: Answer


@dataclass(frozen=True)
class PhenomenonRow:
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


def row(name: str, pairs: Sequence[JudgedPair]) -> PhenomenonRow:
    """The figures of these pairs. Precision of blocks: the share of blocked turns that are wrong."""
    answers = [answer for pair in pairs for answer in (pair.right, pair.wrong)]
    wrong = [pair.wrong for pair in pairs]
    blocked = [answer for answer in answers if answer.action is Action.BLOCK]
    return PhenomenonRow(
        name=name,
        pairs=len(pairs),
        supported_or_not=_share(answers, lambda answer: answer.is_right),
        both=_share(pairs, lambda pair: pair.right.is_right and pair.wrong.is_right),
        true_verified=_recall([pair.right for pair in pairs], Label.VERIFIED),
        contradictions_found=_recall(wrong, Label.CONTRADICTED),
        wrong_passed=_share(wrong, lambda answer: answer.label in SAFE),
        block_precision=_share(blocked, lambda answer: answer.gold not in SAFE),
        blocks=len(blocked),
    )


def rows(pairs: Sequence[JudgedPair]) -> list[PhenomenonRow]:
    """One row a phenomenon, by name, then one a wording, and last one for all."""
    names, wordings = sorted({pair.phenomenon for pair in pairs}), sorted({pair.wording for pair in pairs})
    kinds = [(name, [pair for pair in pairs if pair.phenomenon == name]) for name in names]
    kinds += [(f"({wording} wording)", [pair for pair in pairs if pair.wording == wording]) for wording in wordings]
    return [*(row(*kind) for kind in kinds), row("all", pairs)]


def _recall(answers: Sequence[Answer], label: Label) -> float | None:
    """Recall of a label: share of its claims that got it."""
    return _share([answer for answer in answers if answer.gold is label], lambda answer: answer.label is label)


def _share(items: Sequence[T], holds: Callable[[T], bool]) -> float | None:
    return sum(map(holds, items)) / len(items) if items else None


_COLUMNS = ("pairs", "right", "both", "verified", "contrad.", "passed", "blocks", "of them right")


def as_text(table: Iterable[PhenomenonRow]) -> str:
    """The table for a terminal; shares as percentages."""
    return "\n".join([_line("phenomenon", _COLUMNS), *(_line(entry.name, _cells(entry)) for entry in table)])


def _cells(entry: PhenomenonRow) -> tuple[str, ...]:
    shares = (entry.supported_or_not, entry.both, entry.true_verified, entry.contradictions_found, entry.wrong_passed)
    return (str(entry.pairs), *map(_percent, shares), str(entry.blocks), _percent(entry.block_precision))


def _line(name: str, cells: Iterable[str]) -> str:
    padded = (f"{cell:>{max(9, len(column) + 1)}}" for cell, column in zip(cells, _COLUMNS, strict=True))
    return f"{name:26}" + "".join(padded)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


async def judge_items(guard: Guard, items: Iterable[ChallengeItem]) -> list[JudgedPair]:
    """Every claim through the guard, each as a turn of its own."""
    judged = []
    for item in items:
        for pair in item.pairs:
            members = (pair.right, pair.wrong)
            right, wrong = [Answer.read(one.label, await guard.acheck(item.saying(one.text))) for one in members]
            judged.append(JudgedPair(pair.phenomenon, item.wording, right, wrong))
    return judged
