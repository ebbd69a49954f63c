"""Asks a judge and enforces its contract: whatever it fails to answer becomes `Unchecked`, never a clean pass.

Usage and warnings go to a meter in a context variable, which tasks and threads inherit.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Any, TypeVar, cast

from vista_guard._aio import holding, off_loop
from vista_guard.errors import JudgeError, RecordingError
from vista_guard.protocols import Judge, TurnJudge
from vista_guard.reading.passages import headings_at, nearest_quote
from vista_guard.telemetry import spans
from vista_guard.types import (
    Check,
    Claim,
    Evidence,
    EvidenceSet,
    Finding,
    Label,
    Passage,
    SourceKind,
    Turn,
    Unchecked,
    UncheckedClaim,
    Usage,
)

T = TypeVar("T")
Placed = TypeVar("Placed", bound=Check | Finding | Unchecked)

SUPPORTED, CONTRADICTED, NOT_ENOUGH = range(3)
"""Columns of `Verifier.probabilities`."""


async def decompose(judge: Judge, turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
    """The judge's claims.

    Raises:
        JudgeError: the judge failed, or its claims cannot be used.
    """
    claims = tuple(await _ask(judge, "decompose", judge.decompose(turn, history)))
    _check_usable(judge, turn, claims)
    return claims


def _check_usable(judge: Judge, turn: Turn, claims: Sequence[Claim]) -> None:
    ids = [claim.id for claim in claims]
    if len(set(ids)) != len(ids):
        raise JudgeError(f"{judge.info.name} gave two claims the same id: {ids}")
    for claim in claims:
        if not claim.text.strip():
            raise JudgeError(f"{judge.info.name} gave an empty claim {claim.id}")
        if claim.span and claim.span.end > len(turn.text):
            raise JudgeError(f"{judge.info.name} placed claim {claim.id} past the turn's end, at {claim.span.end}")


async def judge_turn(
    judge: Judge, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
) -> tuple[Check | Unchecked, ...] | None:
    """Claims and verdicts in one call, from a judge that supports it; None when it must be asked stage by stage.

    Raises:
        JudgeError: the judge failed, or its claims cannot be used.
    """
    if not isinstance(judge, TurnJudge):
        return None
    answers = await _ask(judge, "judge_turn", judge.judge_turn(turn, history, evidence))
    if answers is None:
        return None
    _check_usable(judge, turn, [answer.claim for answer in answers])
    return tuple(await _placed(answers, evidence))


async def verify(judge: Judge, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check | Unchecked]:
    """One answer per claim, in order; an `UncheckedClaim` never reaches the judge."""

    async def ask(left: Sequence[Claim]) -> Sequence[Check | Unchecked]:
        return await _ask_each(judge, "verify", left, lambda: judge.verify(left, evidence), evidence, "check")

    return await except_unchecked(claims, ask)


async def _ask_each(
    judge: Judge,
    question: str,
    claims: Sequence[Claim],
    ask: Callable[[], Awaitable[Sequence[Placed]]],
    evidence: EvidenceSet,
    answer: str,
) -> Sequence[Placed | Unchecked]:
    """One answer per claim, in order: all unchecked where the judge fails, or leaves one out."""
    try:
        answers = await _ask(judge, question, ask())
    except JudgeError as exc:
        error = str(exc)
    else:
        if one_each(claims, answers):
            return await _placed(answers, evidence)
        error = f"{judge.info.name} did not answer with one {answer} for each claim"
    return [Unchecked(claim=claim, error=error) for claim in claims]


async def except_unchecked(
    claims: Sequence[Claim], ask: Callable[[Sequence[Claim]], Awaitable[Sequence[Check | Unchecked]]]
) -> list[Check | Unchecked]:
    """The answers of `ask`, in order; an `UncheckedClaim` becomes `Unchecked` without a call."""
    left = [claim for claim in claims if not isinstance(claim, UncheckedClaim)]
    answers = iter(await ask(left) if left else ())
    return [
        Unchecked(
            claim=Claim(id=claim.id, text=claim.text, span=claim.span),
            error=claim.error,
            what=claim.what,
            raw=claim.raw,
        )
        if isinstance(claim, UncheckedClaim)
        else next(answers)
        for claim in claims
    ]


async def categorize(judge: Judge, checks: Sequence[Check], evidence: EvidenceSet) -> list[Finding | Unchecked]:
    """One answer per check, in order: its own finding, or else the judge's."""
    open_checks = [check for check in checks if check.finding is None]
    claims = [check.claim for check in open_checks]
    labelled = iter(
        await _ask_each(judge, "categorize", claims, lambda: judge.categorize(open_checks, evidence), evidence, "label")
        if open_checks
        else ()
    )
    findings: list[Finding | Unchecked] = []
    for check in checks:
        answer = check.finding or next(labelled)
        if isinstance(answer, Finding) and answer.label is Label.VERIFIED:
            # An unsupported claim cannot become verified by naming its category: that would be a clean pass by mistake.
            error = f"{judge.info.name} categorised an unsupported claim as VERIFIED"
            findings.append(Unchecked(claim=answer.claim, error=error))
        else:
            findings.append(with_support(check, answer) if isinstance(answer, Finding) else answer)
    return findings


async def _placed(answers: Sequence[Placed], evidence: EvidenceSet) -> list[Placed]:
    """The answers with their quotes placed. Off the event loop where there is much to compare them with."""
    chars = sum(len(passage.text) for passage in evidence.documents)
    return await off_loop(
        chars, lambda: [place_quotes(_as_remembered(answer, evidence), evidence) for answer in answers]
    )


def opinion_check(claim: Claim, quotes: Sequence[Evidence], confidence: float) -> Check:
    """The check of a claim that only remembered opinions support: it is an opinion too, and is remembered as one."""
    reason = "Only an opinion that was given before says so."
    finding = Finding(
        claim=claim, label=Label.OUT_OF_SCOPE, confidence=confidence, evidence=tuple(quotes), reason=reason
    )
    return Check(claim=claim, supported=False, confidence=confidence, finding=finding)


def _as_remembered(answer: Placed, evidence: EvidenceSet) -> Placed:
    """The answer; a check that quotes only remembered opinions is an opinion, or saying it twice would make it a fact."""
    if not isinstance(answer, Check) or not answer.supported or not answer.evidence:
        return answer
    opinions = {passage.source_id for passage in evidence.knowledge if passage.label is Label.OUT_OF_SCOPE}
    if any(quote.source is not SourceKind.KNOWLEDGE or quote.source_id not in opinions for quote in answer.evidence):
        return answer
    opinion = opinion_check(answer.claim, answer.evidence, answer.confidence)
    return cast("Placed", opinion.model_copy(update={"judged_by": answer.judged_by, "support": answer.support}))


def place_quotes(answer: Placed, evidence: EvidenceSet) -> Placed:
    """Adds to each quote its headings and how it was found; to a LACKING_EVIDENCE finding, the nearest quote."""
    if isinstance(answer, Unchecked):
        return answer
    update: dict[str, Any] = {}
    sources = [passage for passage in evidence.documents if passage.found or passage.headings]
    for name in ("evidence", "counter_evidence") if isinstance(answer, Check) else ("evidence",):
        if sources and (quotes := getattr(answer, name)):
            update[name] = tuple(_place_quote(quote, sources) for quote in quotes)
    if isinstance(answer, Check) and answer.finding is not None:
        update["finding"] = place_quotes(answer.finding, evidence)
    if isinstance(answer, Finding) and answer.label is Label.LACKING_EVIDENCE and not answer.evidence:
        update["nearest"] = answer.nearest or nearest_quote(answer.claim.text, evidence.documents)
    return cast("Placed", answer.model_copy(update=update)) if update else answer


def _place_quote(quote: Evidence, sources: Sequence[Passage]) -> Evidence:
    if quote.found is not None or quote.source is not SourceKind.DOCUMENT:
        return quote
    for passage in sources:
        inside = quote.span.overlaps(passage.span) if quote.span and passage.span else quote.quote in passage.text
        if passage.source_id == quote.source_id and inside:
            place = quote.span.start if quote.span else -1
            return quote.model_copy(update={"headings": headings_at(passage, place), "found": passage.found})
    return quote


def claim_of(item: Claim | Check) -> Claim:
    return item if isinstance(item, Claim) else item.claim


def with_support(check: Check, finding: Finding) -> Finding:
    """The finding with its check's support, unless it has its own."""
    has_support = finding.support is not None or check.support is None
    return finding if has_support else finding.model_copy(update={"support": check.support})


async def _ask(judge: Judge, question: str, answer: Awaitable[T]) -> T:
    with spans.judge(judge.info, question):
        return await await_answer(answer)


async def await_answer(question: Awaitable[T]) -> T:
    """The judge's answer, or its error as a `JudgeError`.

    Raises:
        JudgeError: the judge raised something else.
        RecordingError: the recording lacks the question; not a failure of the judge.
    """
    try:
        return await question
    except (JudgeError, RecordingError):
        raise
    except Exception as exc:
        # A judge may be third-party code. Whatever it raises, the turn was not judged, and the policy decides.
        raise JudgeError(f"the judge failed: {type(exc).__name__}: {exc}") from exc


def one_each(claims: Sequence[Claim], answers: Sequence[Check | Finding | Unchecked]) -> bool:
    """True if there is one answer for each claim, in order."""
    return [claim.id for claim in claims] == [answer.claim.id for answer in answers]


class Meter:
    """Adds up a turn's usage. Thread-safe."""

    def __init__(self, so_far: Usage | None = None) -> None:
        self._usage = so_far or Usage()
        self._warnings: dict[str, None] = {}
        self._lock = Lock()

    @property
    def usage(self) -> Usage:
        """Usage so far, including the initial value."""
        return self._usage

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings for the report, each once."""
        return tuple(self._warnings)

    def add(self, spent: Usage) -> None:
        """Adds to the usage."""
        with self._lock:
            self._usage = self._usage + spent

    def warn(self, text: str) -> None:
        """Adds a warning to the turn's report, once."""
        with self._lock:
            self._warnings[text] = None


_current: ContextVar[Meter | None] = ContextVar("vista_guard_meter", default=None)


def measure(so_far: Usage | None = None) -> AbstractContextManager[Meter]:
    """A meter that gets all usage of the block; outer meters get none of it."""
    return holding(_current, Meter(so_far))


def meter() -> Meter:
    """The current turn's meter; outside a turn, a throwaway one."""
    return _current.get() or Meter()


class Echo(Meter):
    """Forwards everything to the outer meter and keeps its own totals."""

    def __init__(self, around: Meter) -> None:
        super().__init__()
        self._around = around
        self.spent = Usage()

    @property
    def usage(self) -> Usage:
        # Budgets depend on the whole turn's usage, not on this call's.
        return self._around.usage

    def add(self, spent: Usage) -> None:
        with self._lock:
            self.spent = self.spent + spent
        self._around.add(spent)

    def warn(self, text: str) -> None:
        super().warn(text)
        self._around.warn(text)


def overhear() -> AbstractContextManager[Echo]:
    """A meter of all usage and warnings inside the block; the outer meter still gets them."""
    return holding(_current, Echo(meter()))


_deadline: ContextVar[float | None] = ContextVar("vista_guard_deadline", default=None)


def due_in(seconds: float) -> AbstractContextManager[float]:
    """Tells judges inside the block that their answers count for so many seconds."""
    return holding(_deadline, monotonic() + seconds)


def seconds_left() -> float | None:
    """Seconds for which an answer counts; None without a limit."""
    deadline = _deadline.get()
    return None if deadline is None else max(deadline - monotonic(), 0.0)


@dataclass
class Growing:
    """A turn judged while it is written: caches what decomposers know of its sentences, so each is asked about once.

    `complete` once all of it has arrived; until then a sentence that needs the following ones may get a pending
    `UncheckedClaim`.
    """

    complete: bool = False
    hurried: bool = False
    """True if nothing may wait, although the turn goes on."""
    more: bool = False
    """True if text follows the part that is judged."""
    known: MutableMapping[str, Any] = field(default_factory=dict)


_growing: ContextVar[Growing | None] = ContextVar("vista_guard_growing", default=None)


def grow(turn: Growing) -> AbstractContextManager[Growing]:
    """Sets the turn being written for the duration of the block."""
    return holding(_growing, turn)


def growing() -> Growing:
    """The turn being written; outside a stream, an empty complete one."""
    return _growing.get() or Growing(complete=True)
