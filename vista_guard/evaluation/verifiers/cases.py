"""Labelled claims with their documents, to fit a verifier on: the challenge's development half, or pairs of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from vista_guard.errors import InputError
from vista_guard.evaluation.suites.challenge.items import Item, read_items
from vista_guard.types import Claim, Conversation, Document, Label, Role, Span, Turn

Gold = Literal["supported", "contradicted", "not_enough"]
_GOLD: dict[Label, Gold] = {
    Label.VERIFIED: "supported",
    Label.CONTRADICTED: "contradicted",
    Label.LACKING_EVIDENCE: "not_enough",
}


@dataclass(frozen=True)
class Case:
    """One claim. `evidence` decides it by itself; `turn` makes it beside all of its documents; `document` names those."""

    evidence: str
    claim: str
    gold: Gold
    turn: Conversation
    document: str


class _Pair(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    evidence: str
    claim: str
    label: Gold
    document: str | None = None


def challenge_cases(documents: int | None = None) -> list[Case]:
    """The claims of the challenge's development half that a source can support or refute; of its first `documents` alone."""
    items = islice(read_items("development"), documents)
    return [case for item in items for case in _item_cases(item)]


def read_cases(file: Path) -> list[Case]:
    """Pairs of one's own: JSON lines with `evidence`, `claim`, `label` (supported, contradicted or not_enough), and
    `document` where several lines share one.

    Raises:
        InputError: the file cannot be read, or a line is something else; names the line.
    """
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{file} cannot be read: {exc}") from exc
    found = [_own_case(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    check_labels(str(file), found)
    return found


def check_labels(source: str, cases: Sequence[Case]) -> None:
    """Passes when there is something to fit.

    Raises:
        InputError: no supported claims, or no others.
    """
    supported = sum(case.gold == "supported" for case in cases)
    if not 0 < supported < len(cases):
        raise InputError(
            f"{source} has {supported} supported claims of {len(cases)}; thresholds need both, a hundred of each at least"
        )


def _item_cases(item: Item) -> Iterable[Case]:
    for pair in item.pairs:
        for member in (pair.right, pair.wrong):
            if member.label in _GOLD:
                quotes = " ".join(pair.gold)
                yield Case(quotes, member.text, _GOLD[member.label], item.saying(member.text), item.id)


def _own_case(file: Path, number: int, line: str) -> Case:
    try:
        pair = _Pair.model_validate_json(line)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the line"
        raise InputError(
            f"{file} line {number}: {where}: {first['msg']}; a line is "
            '{"evidence": "…", "claim": "…", "label": "supported" | "contradicted" | "not_enough"}'
        ) from exc
    document = Document(id="evidence", text=pair.evidence)
    given = (Claim(id="c1", text=pair.claim, span=Span(start=0, end=len(pair.claim))),)
    turn = Turn(role=Role.ASSISTANT, text=pair.claim, documents=(document,), claims=given)
    return Case(pair.evidence, pair.claim, pair.label, Conversation(turns=(turn,)), pair.document or f"line {number}")
