"""BingCheck (Li et al. 2024), DAD's BINGCHAT: long responses of a search engine's assistant, by sub-claims with web evidence.

JSON lines, a response each (re-packed from the publisher's folders): `id`, `query`, `response`, `evidence` (texts by sub-claim)
and `subconclusions` (supported, partially supported, not supported or refuted, by sub-claim).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.types import Claim, Label, Role, Turn
from vista_lab.datasets.files import Row, answer, documents, json_rows, labelled, reader, records
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

SUPPORTED, PARTLY, NOT_SUPPORTED, REFUTED = "supported", "partially supported", "not supported", "refuted"
CONCLUSIONS = {word: word for word in (SUPPORTED, PARTLY, NOT_SUPPORTED, REFUTED)}
LABELS = {SUPPORTED: Label.VERIFIED, NOT_SUPPORTED: Label.LACKING_EVIDENCE, REFUTED: Label.CONTRADICTED}
"""Of claims; what is supported in part has no label of ours."""


@dataclass(frozen=True)
class SubClaim:
    """One sub-claim of a response, with what was found for it on the web."""

    text: str
    conclusion: str
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class BingAnswer:
    """A response with the query before it."""

    identity: str
    query: str
    text: str
    claims: tuple[SubClaim, ...]

    @property
    def supported(self) -> bool:
        """No claim is refuted or not supported, which fits DAD's classes best."""
        return all(claim.conclusion in (SUPPORTED, PARTLY) for claim in self.claims)


def responses(path: Path) -> Iterator[BingAnswer | BrokenEntry]:
    """The responses of one file as they stand."""
    yield from records(json_rows(path), _response)


def _conversation(row: Row) -> Iterator[LoggedConversation]:
    response = _response(row)
    pooled = dict.fromkeys(text for claim in response.claims for text in claim.evidence)
    claims = tuple(Claim(id=f"t1.c{number}", text=claim.text) for number, claim in enumerate(response.claims, 1))
    turn = answer(response.text, documents(pooled)).model_copy(update={"claims": claims})
    gold = TurnGold("supported" if response.supported else "not supported", not response.supported)
    entry = labelled(row, response.identity, (Turn(role=Role.USER, text=response.query), turn), gold)
    pairs = zip(claims, response.claims, strict=True)
    labels = {claim.id: LABELS[subclaim.conclusion] for claim, subclaim in pairs if subclaim.conclusion in LABELS}
    yield replace(entry, labels=labels)


def _response(row: Row) -> BingAnswer:
    evidence = row.typed("evidence", dict, "a mapping by sub-claim")
    conclusions = row.typed("subconclusions", dict, "a mapping by sub-claim")
    part = Row(conclusions, row.path, row.place, row.number)
    named = ((str(text), _texts(evidence.get(text) or (), str(text))) for text in conclusions)
    claims = tuple(SubClaim(text, part.label(text, CONCLUSIONS), found) for text, found in named)
    if not claims or not all(claim.text.strip() for claim in claims):
        raise InputError("subconclusions has no claim, or a blank one")
    return BingAnswer(row.name("id"), row.nonblank("query"), row.nonblank("response"), claims)


def _texts(value: object, claim: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
        raise InputError(f"evidence of {claim[:60]!r} is {str(value)[:80]!r}; expected a list of texts")
    return tuple(value)


read = reader(json_rows, _conversation)
"""The responses with the evidence of all of their claims, and these claims as the turn's own.

That evidence was searched for the publisher's own claims: other claims find less in it.
"""
