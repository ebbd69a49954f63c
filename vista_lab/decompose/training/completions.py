"""Scores completions term by term: format, verifier, checklist, their sum, and advantages within groups (DAD, §3.3.3).

A term that cannot be scored, since its model is down, is never 0: the row says why, has no sum, and its group no advantages. An
answer of the checklist's judge that cannot be read is 0, as in the paper (App. I.1); the row says so.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from vista_guard.errors import ConfigError, InputError, JudgeError, UnreadableError
from vista_guard.protocols import Verifier
from vista_guard.reading.passages import passages
from vista_guard.types import Document
from vista_lab.decompose.judges import ClaimJudge
from vista_lab.decompose.measures import Decomposition, best_support
from vista_lab.decompose.rewards import (
    Checks,
    checklist_reward,
    dense_reward,
    format_reward,
    group_advantages,
    read_completion,
    sparse_reward,
)
from vista_lab.logs.source import BrokenEntry, values

Term = Literal["format", "verifier", "checklist"]
TERMS: tuple[Term, ...] = get_args(Term)
AT_ONCE = 16
"""Rows scored at the same time."""
_MOST_TOLD = 20
_LONGEST = 200
"""Most characters shown of a wrong value."""

_LABELS = {"supported": True, "s": True, "not supported": False, "ns": False, "1": True, "0": False}


def _label(value: object) -> bool:
    """SUPPORTED, NOT SUPPORTED, S, NS, 1, 0, true, false."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().casefold().replace("_", " ")
    if word not in _LABELS:
        raise ValueError("give SUPPORTED or NOT SUPPORTED, 1 or 0, true or false")
    return _LABELS[word]


class SentenceRow(BaseModel):
    """A sentence to decompose, and the evidence for its claims. Other fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    sentence: str = Field(min_length=1)
    question: str = ""
    context: str = ""
    label: Annotated[bool | None, BeforeValidator(lambda given: None if given is None else _label(given))] = None
    """The sentence's: SUPPORTED or not."""
    evidence: Annotated[tuple[str, ...], BeforeValidator(lambda one: [one] if isinstance(one, str) else one)] = ()
    id: str | None = None
    conversation: str | None = None
    """Sentences of one conversation or topic are trained on, or held out, together."""


class CompletionRow(SentenceRow):
    """A completion with its input."""

    completion: str
    group: str | None = None
    """Completions of one input have one name: advantages are taken within it (Eq. 2)."""


R = TypeVar("R", bound=SentenceRow)


class ScoredRow(BaseModel):
    """The rewards of a completion. `unscored` says why a term has no value, by its name; `total` is there where all have one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    row: int
    """Its place in the file, from 1."""
    id: str | None = None
    group: str | None = None
    claims: tuple[str, ...] | None
    format: float | None = None
    verifier: float | None = None
    dense: float | None = None
    sparse: float | None = None
    checklist: float | None = None
    total: float | None = None
    advantage: float | None = None
    probabilities: tuple[float, ...] | None = None
    """P(supported) of each claim, by its best piece of evidence."""
    checks: tuple[Mapping[str, str], ...] | None = None
    unscored: Mapping[str, str] = {}
    malformed: str | None = None
    """Why the answer of the checklist's judge counts as 0."""


def read_rows(path: Path, terms: Sequence[Term]) -> list[CompletionRow]:
    """The rows of a file of completions; raises like `rows_of`."""
    return rows_of(CompletionRow, path, terms)


def rows_of(kind: type[R], path: Path, terms: Sequence[Term]) -> list[R]:
    """The rows of a file, of this kind.

    Raises InputError: rows are wrong, or lack what a term needs; names file, row and value of each.
    """
    rows: list[R] = []
    wrong: list[str] = []
    for number, value in enumerate(values(path), 1):
        if isinstance(value, BrokenEntry):
            wrong.append(f"{value.source}: {value.error}")
            continue
        where = f"{path}, row {number}"
        try:
            row = kind.model_validate(value.content)
        except ValidationError as exc:
            wrong.extend(_fault(where, error) for error in exc.errors())
            continue
        rows.append(row)
        wrong.extend(f"{where} {fault}" for fault in _missing(row, terms))
    if wrong:
        more = f"\nand {len(wrong) - _MOST_TOLD:,} more" if len(wrong) > _MOST_TOLD else ""
        raise InputError("nothing was scored:\n" + "\n".join(wrong[:_MOST_TOLD]) + more)
    return rows


def _fault(where: str, error: Mapping[str, Any]) -> str:
    if not error["loc"] and not isinstance(error["input"], Mapping):
        return f"{where} is no mapping; expected one with sentence, label and evidence"
    name = ".".join(map(str, error["loc"])) or "the row"
    why = str(error["msg"]).removeprefix("Value error, ")
    if error["type"] == "missing":
        return f"{where} lacks {name}"
    value = repr(error["input"])
    return f"{where} has {name} {value if len(value) <= _LONGEST else value[:_LONGEST] + '…'}: {why}"


def _missing(row: SentenceRow, terms: Sequence[Term]) -> Iterator[str]:
    if "verifier" not in terms:
        return
    if row.label is None:
        yield "lacks label, which the verifier's term needs; leave that out with --terms"
    if not any(piece.strip() for piece in row.evidence):
        yield f"has evidence {list(row.evidence)!r}: the verifier's term needs a text to hold claims against"


@dataclass(frozen=True)
class Scoring:
    """Settings for scoring completions.

    `threshold` is τ; it is needed for the sparse reward. `stop_counts`: see `format_reward`. `reward` is the verifier's that
    enters the sum.
    """

    terms: tuple[Term, ...] = TERMS
    verifier: Verifier | None = None
    judge: ClaimJudge[tuple[Checks, ...]] | None = None
    threshold: float | None = None
    reward: Literal["dense", "sparse"] = "dense"
    stop_counts: bool = False
    told: Callable[[int], None] = field(default=lambda done: None)

    def __post_init__(self) -> None:
        if self.reward == "sparse" and self.threshold is None:
            raise ConfigError("the sparse reward needs its threshold; give it with --threshold")
        if self.threshold is not None and not 0 < self.threshold < 1:
            raise ConfigError(f"threshold is {self.threshold}; it lies between 0 and 1")


async def score(rows: Sequence[CompletionRow], how: Scoring) -> list[ScoredRow]:
    """Scores all rows in order, with advantages where rows share a group.

    Raises ConfigError: a term lacks its verifier or its judge.
    """
    for term, needed, there in (("verifier", "a verifier", how.verifier), ("checklist", "a judge", how.judge)):
        if term in how.terms and there is None:
            raise ConfigError(f"the term {term} needs {needed}; give one, or leave it out of the terms")
    free = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, row: CompletionRow) -> ScoredRow:
        async with free:
            result = await _score_row(number, row, how)
        how.told(1)
        return result

    scored = await asyncio.gather(*(one(number, row) for number, row in enumerate(rows, 1)))
    return _with_advantages(scored)


async def _score_row(number: int, row: CompletionRow, how: Scoring) -> ScoredRow:
    completion = read_completion(row.completion)
    claims = completion.claims or ()
    rewards: dict[str, Any] = {}
    unscored: dict[str, str] = {}
    if "format" in how.terms:
        rewards["format"] = format_reward(completion, stop_counts=how.stop_counts)
    for term, score_term in (("verifier", _verifier_rewards), ("checklist", _checklist_rewards)):
        if term in how.terms:
            try:
                rewards |= await score_term(row, claims, how)
            except JudgeError as exc:
                unscored[term] = str(exc)
    values_of = [rewards.get(term) for term in how.terms]
    return ScoredRow(
        row=number,
        id=row.id,
        group=row.group,
        claims=completion.claims,
        total=None if None in values_of else sum(values_of),
        unscored=unscored,
        **rewards,
    )


async def _verifier_rewards(row: CompletionRow, claims: Sequence[str], how: Scoring) -> dict[str, Any]:
    assert how.verifier is not None  # `score` checks it
    assert row.label is not None  # `read_rows` checks it
    pieces = [piece.text for text in row.evidence for piece in passages(Document(id="evidence", text=text))]
    probabilities = await asyncio.to_thread(best_support, how.verifier, claims, pieces)
    dense = dense_reward(probabilities, row.label)
    sparse = None if how.threshold is None else sparse_reward(probabilities, row.label, how.threshold)
    reward = dense if how.reward == "dense" else sparse
    return {"probabilities": tuple(probabilities), "dense": dense, "sparse": sparse, "verifier": reward}


async def _checklist_rewards(row: CompletionRow, claims: Sequence[str], how: Scoring) -> dict[str, Any]:
    assert how.judge is not None  # `score` checks it
    if not claims:
        return {"checklist": checklist_reward(())}
    try:
        checks = await how.judge.ask(Decomposition(row.sentence, tuple(claims), row.question, row.context))
    except UnreadableError as exc:
        return {"checklist": checklist_reward(None), "malformed": str(exc)}
    return {"checklist": checklist_reward(checks), "checks": checks}


def _with_advantages(scored: Sequence[ScoredRow]) -> list[ScoredRow]:
    """A group has advantages where each of its rows has a sum: one that is missing would move the mean."""
    groups: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(scored):
        if row.group is not None:
            groups[row.group].append(place)
    rows = list(scored)
    for places in groups.values():
        totals = [scored[place].total for place in places]
        known = [total for total in totals if total is not None]
        if len(places) > 1 and len(known) == len(places):
            for place, advantage in zip(places, group_advantages(known), strict=True):
                rows[place] = rows[place].model_copy(update={"advantage": advantage})
    return rows


def check_terms(given: Sequence[str]) -> tuple[Term, ...]:
    """The terms of these names, in their own order. Raises ConfigError: one is unknown."""
    if odd := [name for name in given if name not in TERMS]:
        raise ConfigError(f"term {odd[0]!r} is unknown; there are {', '.join(TERMS)}")
    return tuple(term for term in TERMS if term in given)


def as_lines(scored: Sequence[ScoredRow]) -> str:
    """One JSON line per row, without missing fields."""
    return "".join(json.dumps(row.model_dump(exclude_none=True), ensure_ascii=False) + "\n" for row in scored)
