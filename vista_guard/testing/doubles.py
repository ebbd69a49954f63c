"""A scripted judge, an embedder without a model, and builders that make conversations short to write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING

from vista_guard.errors import JudgeError
from vista_guard.types import (
    Check,
    Claim,
    Conversation,
    Document,
    Evidence,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Role,
    SourceKind,
    Span,
    Turn,
    Unchecked,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class WordEmbedder:
    """Embeds a text by its words, each hashed to a place: texts that share words are near.

    >>> WordEmbedder(dimension=8).embed(["old pier", "pier old"]).shape
    (2, 8)
    """

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns unit vectors, shape (texts, dimension)."""
        import numpy as np

        vectors = np.zeros((len(texts), self._dimension), np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split() or [""]:
                place = int.from_bytes(sha256(word.encode("utf-8", "surrogatepass")).digest()[:4]) % self._dimension
                vectors[row, place] += 1.0
        unit: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


@dataclass(frozen=True)
class Verdict:
    """The scripted judge's verdict on one claim. `text` gets a span when it occurs in the turn word for word.

    With `needs` the claim is VERIFIED only when some evidence holds that text, and gets `label` otherwise. `error` makes
    the judge answer `Unchecked`.
    """

    text: str
    label: Label = Label.VERIFIED
    confidence: float = 1.0
    needs: str | None = None
    quote: str | None = None
    error: str | None = None


@dataclass
class ScriptedJudge:
    """A judge with a script of verdicts by turn, word for word.

    A turn that is not in the script is a `JudgeError`, and `assert_spent` fails on it; it also fails when a scripted turn was
    never asked about.

    Examples:
        >>> from vista_guard import Guard
        >>> judge = ScriptedJudge({"It is old.": [Verdict("The pier is old.")]})
        >>> Guard(judge).check(conversation(assistant("It is old.", "The pier is old."))).score
        1.0
        >>> judge.assert_spent()
    """

    script: Mapping[str, Sequence[Verdict] | Exception]
    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="scripted", version="1"))
    asked: list[str] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    evidence: list[EvidenceSet] = field(default_factory=list)
    _verdicts: dict[tuple[str, str], Verdict] = field(default_factory=dict)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Returns the turn's scripted claims."""
        self.asked.append(turn.text)
        if turn.text not in self.script:
            self.unexpected.append(turn.text)
            raise JudgeError(f"the script has no turn {turn.text!r}")
        verdicts = self.script[turn.text]
        if isinstance(verdicts, Exception):
            raise verdicts
        claims = [self._claim(turn, len(history), number, verdict) for number, verdict in enumerate(verdicts, 1)]
        self._verdicts.update(
            {(claim.id, claim.text): verdict for claim, verdict in zip(claims, verdicts, strict=True)}
        )
        return claims

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Supports claims as scripted."""
        self.evidence.append(evidence)
        return [self._check(claim, evidence) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Labels claims as scripted."""
        return [self._finding(check) for check in checks]

    def assert_spent(self) -> None:
        """Fails unless exactly the scripted turns were judged."""
        unused = [text for text in self.script if text not in self.asked]
        if self.unexpected or unused:
            raise AssertionError(
                f"asked about turns outside the script: {self.unexpected}; never asked about: {unused}"
            )

    def _claim(self, turn: Turn, index: int, number: int, verdict: Verdict) -> Claim:
        start = turn.text.find(verdict.text)
        span = None if start < 0 else Span(start=start, end=start + len(verdict.text))
        return Claim(id=f"t{index}.c{number}", text=verdict.text, span=span)

    def _verdict(self, claim: Claim) -> Verdict:
        given = Verdict(claim.text, Label.LACKING_EVIDENCE)
        return self._verdicts.get((claim.id, claim.text), given)

    def _check(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        verdict = self._verdict(claim)
        if verdict.error is not None:
            return Unchecked(claim=claim, error=verdict.error)
        pieces = [*evidence.documents, *evidence.knowledge]
        if verdict.needs is None:
            supported, quotes = verdict.label is Label.VERIFIED, pieces[:1]
        else:
            quotes = [piece for piece in pieces if verdict.needs in piece.text]
            supported = bool(quotes)
        shown = tuple(
            Evidence(
                source=piece.source,
                source_id=piece.source_id,
                quote=piece.text,
                title=piece.title,
                span=piece.span,
                score=1.0,
            )
            for piece in quotes
        )
        return Check(
            claim=claim, supported=supported, confidence=verdict.confidence, evidence=shown if supported else ()
        )

    def _finding(self, check: Check) -> Finding | Unchecked:
        verdict = self._verdict(check.claim)
        label = Label.LACKING_EVIDENCE if verdict.label is Label.VERIFIED else verdict.label
        quote = (
            (Evidence(source=SourceKind.DOCUMENT, source_id="script", quote=verdict.quote, score=verdict.confidence),)
            if verdict.quote
            else ()
        )
        return Finding(
            claim=check.claim, label=label, confidence=verdict.confidence, evidence=quote, reason=f"scripted as {label}"
        )


def user(text: str) -> Turn:
    """Builds a user turn.

    Examples:
        >>> user("How old is it?").role.value
        'user'
    """
    return Turn(role=Role.USER, text=text)


def assistant(text: str, *documents: Document | str, claims: Sequence[str] | None = None) -> Turn:
    """Builds an assistant turn. Documents given as texts are named d1, d2, …

    >>> assistant("It is old.", "The pier is old.").documents[0].id
    'd1'
    """
    made = tuple(
        Document(id=f"d{number}", text=document) if isinstance(document, str) else document
        for number, document in enumerate(documents, 1)
    )
    given = (
        None if claims is None else tuple(Claim(id=f"c{number}", text=claim) for number, claim in enumerate(claims, 1))
    )
    return Turn(role=Role.ASSISTANT, text=text, documents=made, claims=given)


def conversation(*turns: Turn, id: str | None = None) -> Conversation:
    """Builds a conversation.

    >>> conversation(user("How old?"), assistant("Very."), id="talk").id
    'talk'
    """
    return Conversation(turns=turns, id=id)
