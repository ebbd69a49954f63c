"""Verifies texts of any length against a document store: piece by piece, resumable, with a verdict on the whole.

A piece is judged as an answer of its own, with the piece before it in view, so that time grows with length and memory does not.
A text is factual when all of its claims are (LLM-OASIS, §5.3).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vista_guard import __version__
from vista_guard.errors import ConfigError
from vista_guard.guard import Guard
from vista_guard.policy.label_policy import PRESETS
from vista_guard.policy.turn_risk import HELD_AGAINST
from vista_guard.protocols import DocumentStore, Embedder
from vista_guard.reading.sections import Piece, pieces
from vista_guard.settings.sources import Settings
from vista_guard.stores.line_file import ANOTHER_OUT, LineFile, LineKind, refuse_differences, write_whole
from vista_guard.types import Conversation, Document, Evidence, Label, Nearest, Outcome, Role, Span, Turn, Unchecked

SCHEMA_VERSION = "1.0"
"""Version of the JSON form: the major part changes when a reader of an older one would break."""


_MARK = "# "
"""Marks a heading that only its layout shows, so that judges do not take it for a claim."""


class Verdict(StrEnum):
    FACTUAL = "factual"
    NOT_FACTUAL = "not factual"
    """At least one claim is contradicted or lacks evidence."""
    UNDECIDED = "undecided"
    """No claim failed, and at least one could not be checked."""
    NO_CLAIMS = "no claims"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ClaimResult(_Part):
    """A claim of a text. `span` is its place there; `label` is None where it could not be checked, and `reason` says why."""

    text: str
    span: Span | None
    label: Label | None
    confidence: float | None = None
    evidence: tuple[Evidence, ...] = ()
    reason: str
    nearest: Nearest | None = None
    """The passage nearest to a claim that no quote decides."""
    code: bool = False
    """True for a block of code, which no document could prove: it counts for no verdict."""

    @property
    def is_factual(self) -> bool | None:
        """None where it is not known."""
        if self.label is None:
            return True if self.code else None
        return self.label not in HELD_AGAINST


class PieceResult(_Part):
    """A piece of a text and its claims: one line of `--out`."""

    file: str
    number: int
    heading: str
    span: Span
    claims: tuple[ClaimResult, ...]

    @property
    def is_false(self) -> bool:
        return any(claim.is_factual is False for claim in self.claims)


class TextResult(_Part):
    """A text, its verdict and its claims. `complete` is false where the pass stopped at the first claim that is not factual."""

    schema_version: str = SCHEMA_VERSION
    file: str
    title: str | None
    verdict: Verdict
    factual: bool | None
    """None when undecided, and for a text without claims."""
    complete: bool
    claims: tuple[ClaimResult, ...]
    labels: Mapping[str, int]
    """Number of claims with each label, `UNCHECKED` among them."""
    judge: str
    settings: Mapping[str, str]


PIECE_LINES = LineKind(
    PieceResult,
    noun="piece",
    group=lambda piece: piece.file,
    key=lambda piece: (piece.file, piece.number),
    again=lambda piece: f"holds piece {piece.number} of {piece.file} again",
)


@dataclass(frozen=True)
class PieceManifest:
    """How pieces are made: the judge, what changes a verdict, and the fingerprint of each text."""

    judge: str
    settings: Mapping[str, str]
    texts: Mapping[str, str]

    def claim(self, path: Path, *, empty: bool) -> None:
        """Implements `HowMade.claim`, by a file beside the lines."""
        run_file = path.with_name(path.name + ".run.json")
        now = {"made by": f"vista-guard {__version__}", "judge": self.judge, **self.settings}
        now |= {f"text {name}": mark for name, mark in self.texts.items()}
        if empty:
            write_whole(run_file, json.dumps(now, indent=2, ensure_ascii=False) + "\n")
            return
        if not run_file.is_file():
            raise ConfigError(f"{path} has no {run_file.name} beside it that says how it was made. {ANOTHER_OUT}")
        try:
            recorded = {str(name): str(value) for name, value in json.loads(run_file.read_bytes()).items()}
        except (ValueError, AttributeError) as exc:
            raise ConfigError(f"{run_file} cannot be read: {exc}. {ANOTHER_OUT}") from exc
        refuse_differences(path, recorded, now)

    @classmethod
    def of(cls, guard: Guard, settings: Settings, documents: str, texts: Iterable[Document]) -> PieceManifest:
        """How this guard judges pieces of these texts by documents with this fingerprint."""
        info = guard.parts.judge.info
        changing = {
            "documents": documents,
            "embedder": settings.embedder or "shipped",
            "passages": str(guard.parts.limits.retrieved),
            "recommendations": settings.recommendations,
        }
        prints = {text.id: str(text.metadata["fingerprint"]) for text in texts}
        return cls(f"{info.name} {info.version}", changing, prints)


_UNLIMITED = 10**9


def verifying_guard(settings: Settings, store: DocumentStore, embedder: Embedder) -> Guard:
    """Builds a guard that verifies each claim against the store's passages, keeps nothing and withholds nothing."""
    unlimited = {"turn_chars": _UNLIMITED, "claims": _UNLIMITED, "judge_seconds": float(_UNLIMITED)}
    return Guard.from_settings(
        **{name: getattr(settings, name) for name in ("judge", "verifier", "decomposer")},
        embedder=embedder,
        policy=PRESETS["monitor"],
        documents=store,
        store="memory",
        reports=None,
        record="verdicts",
        context="none",
        ungrounded="judge",
        strict_reference=False,
        retrieve_by="claim",
        weighing=settings.weighing,
        limits=settings.limits.model_copy(update=unlimited),
    )


async def verify(
    guard: Guard,
    texts: Sequence[Document],
    made: PieceManifest,
    *,
    out: Path | None = None,
    first: bool = False,
    at_once: int = 4,
    tell: Callable[[str, int, int], None] = lambda name, done, of: None,
) -> AsyncIterator[TextResult]:
    """The result of each text, in order.

    Args:
        guard: judges pieces; its document store holds their evidence.
        texts: texts to verify, named by their ids.
        made: how the guard judges, for a file that is resumed.
        out: a file of pieces; those already in it are not judged again.
        first: stop in each text at the first claim that is not factual; the verdict is that of the full pass.
        at_once: pieces judged at the same time.
        tell: called for each piece with the text's id, the pieces done and all.

    Raises:
        ConfigError: the file was made in another way, or holds something else.
        StoreError: the disk refuses.
    """
    lines = None if out is None else LineFile.open(out, PIECE_LINES, made)
    try:
        for text in texts:
            known = {piece.number: piece for piece in (lines.of_group(text.id) if lines else ())}
            parts = list(enumerate(pieces(text.text)))
            piece_results: list[PieceResult] = []
            async with aclosing(_judge_pieces(guard, text, parts, known, at_once)) as results:
                async for piece in results:
                    if lines is not None and piece.number not in known:
                        lines.append(piece)
                    piece_results.append(piece)
                    tell(text.id, len(piece_results), len(parts))
                    if first and piece.is_false:
                        break
            yield _result(text, made, piece_results, complete=len(piece_results) == len(parts))
    finally:
        if lines is not None:
            lines.close()


async def _judge_pieces(
    guard: Guard,
    text: Document,
    parts: Sequence[tuple[int, Piece]],
    known: Mapping[int, PieceResult],
    at_once: int,
) -> AsyncGenerator[PieceResult, None]:
    """Judges the pieces, `at_once` at a time, and yields them in order."""
    pending = iter(parts)
    running: list[asyncio.Task[PieceResult]] = []
    try:
        while True:
            for number, piece in islice(pending, at_once - len(running)):
                running.append(asyncio.create_task(_judge_piece(guard, text, number, piece, known.get(number))))
            if not running:
                return
            yield await running.pop(0)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _judge_piece(
    guard: Guard, text: Document, number: int, piece: Piece, known: PieceResult | None
) -> PieceResult:
    if known is not None:
        return known
    before = text.text[piece.follows.start : piece.follows.end] if piece.follows else ""
    piece_text = text.text[piece.span.start : piece.span.end]
    mark = _MARK if piece.heading and not piece.follows and not piece_text.startswith("#") else ""
    turns = tuple(Turn(role=Role.ASSISTANT, text=part) for part in (before, mark + piece_text) if part)
    reports = [one async for one in guard.areplay(Conversation(turns=turns), turns=[len(turns) - 1])]
    claims = [_claim(outcome, piece.span.start - len(mark)) for report in reports for outcome in report.outcomes]
    return PieceResult(file=text.id, number=number, heading=piece.heading, span=piece.span, claims=tuple(claims))


def _claim(outcome: Outcome, offset: int) -> ClaimResult:
    place = outcome.claim.span
    span = None if place is None else Span(start=max(offset + place.start, 0), end=max(offset + place.end, 0))
    if isinstance(outcome, Unchecked):
        return ClaimResult(
            text=outcome.claim.text, span=span, label=None, reason=outcome.error, code=outcome.what == "code"
        )
    return ClaimResult(
        text=outcome.claim.text,
        span=span,
        label=outcome.label,
        confidence=outcome.confidence,
        evidence=outcome.evidence,
        reason=outcome.reason,
        nearest=outcome.nearest,
    )


def _result(text: Document, made: PieceManifest, piece_results: Sequence[PieceResult], *, complete: bool) -> TextResult:
    claims = tuple(claim for piece in piece_results for claim in piece.claims)
    verdict = verdict_of(claims)
    return TextResult(
        file=text.id,
        title=text.title,
        verdict=verdict,
        factual={Verdict.FACTUAL: True, Verdict.NOT_FACTUAL: False}.get(verdict),
        complete=complete,
        claims=claims,
        labels=dict(Counter(str(claim.label or "UNCHECKED") for claim in claims)),
        judge=made.judge,
        settings=made.settings,
    )


def verdict_of(claims: Iterable[ClaimResult]) -> Verdict:
    """The verdict on a text with these claims.

    >>> verdict_of([])
    <Verdict.NO_CLAIMS: 'no claims'>
    """
    known = {claim.is_factual for claim in claims}
    if not known:
        return Verdict.NO_CLAIMS
    if False in known:
        return Verdict.NOT_FACTUAL
    return Verdict.UNDECIDED if None in known else Verdict.FACTUAL
