"""The last stages: delivered claims become knowledge (VISTA §3, steps 4 and 5), and the report goes to the sinks."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from uuid import uuid4

from vista_guard.errors import StoreError
from vista_guard.policy.label_policy import rules_key
from vista_guard.policy.links import link_mode, with_links
from vista_guard.policy.turn_risk import REMEMBERED, vista_score
from vista_guard.protocols import TextSink
from vista_guard.turn.work import Emit, Parts, Work, writable
from vista_guard.types import (
    UNREPORTED,
    UNWRITTEN,
    Action,
    Claim,
    Conversation,
    Decision,
    Document,
    DraftSpan,
    EarnedClaim,
    EvidenceSet,
    Finding,
    Label,
    Outcome,
    Passage,
    Record,
    RepairMode,
    Role,
    SourceKind,
    Span,
    Timings,
    Turn,
    TurnReport,
    TurnTexts,
)

logger = logging.getLogger("vista_guard")


async def remember(work: Work, parts: Parts, emit: Emit) -> Work:
    """Stores VERIFIED and OUT_OF_SCOPE claims of the delivered text under the delivered text's key."""
    claims = _claims_to_keep(work, parts)
    if work.conversation.id is None:
        return work.with_(remembered=claims)
    key = delivered_turn(work).turn_key()
    try:
        await parts.knowledge.remember(work.conversation.id, key, earned_claims(claims, work.outcomes))
    except StoreError as exc:
        # The verdict stands: a full disk must not withhold a good turn, but it must be seen.
        logger.error("knowledge of conversation %s was not stored: %s", work.conversation.id, exc)
        return work.with_(warnings=(*work.warnings, f"{UNWRITTEN}: {exc}"))
    return work.with_(remembered=claims)


def delivered_turn(work: Work) -> Conversation:
    """The conversation that ends with the delivered text; its `turn_key` names the turn in the knowledge."""
    turn = Turn(role=Role.ASSISTANT, text=work.response or "")
    return Conversation(turns=(*work.history, turn))


def earned_claims(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> tuple[Claim, ...]:
    """The claims for the knowledge: those that were not VERIFIED carry their label, so that an opinion stays one."""
    labels = {
        outcome.claim.id: outcome.label
        for outcome in outcomes
        if isinstance(outcome, Finding) and outcome.label is not Label.VERIFIED
    }
    return tuple(
        EarnedClaim(**dict(claim), label=labels[claim.id]) if claim.id in labels else claim for claim in claims
    )


def _claims_to_keep(work: Work, parts: Parts) -> tuple[Claim, ...]:
    if work.decided.action is Action.BLOCK:
        return ()
    if work.is_believed(parts):
        return work.claims
    findings = [outcome for outcome in work.outcomes if isinstance(outcome, Finding)]
    safe = {finding.claim.id for finding in findings if finding.label in REMEMBERED}
    delivered = work.claims if work.kept is None else work.kept
    removed = [link.address for link in work.links] if link_mode(parts.policy) == "remove" else []
    return tuple(
        claim for claim in delivered if claim.id in safe and not any(address in claim.text for address in removed)
    )


MOST_CHARS = 400_000
"""Characters of one turn's documents that are kept; the rest is cut. A turn may bring two hundred documents of two million."""

CUT = "kept_characters"
"""Metadata key of a cut document: the number of characters kept."""


async def report(work: Work, parts: Parts, emit: Emit) -> Work:
    finished = TurnReport(
        id=uuid4().hex,
        conversation_id=work.conversation.id,
        turn_index=work.index,
        response=writable(work.response or ""),
        outcomes=work.outcomes,
        links=work.links,
        decision=_whole_decision(work, parts),
        score=vista_score(work.outcomes),
        risk=parts.risk_of(work),
        risk_calibrated=parts.turn_risk is not None,
        evidence_missing=work.evidence_missing,
        attempts=work.attempts,
        remembered=work.remembered,
        judge=parts.judge.info,
        policy=parts.policy.name,
        rules=rules_key(parts.policy),
        gate=work.gate,
        tenant=parts.tenant,
        turn_key=delivered_turn(work).turn_key(),
        draft_spans=_draft_spans(work),
        trace_id=work.trace and work.trace.trace_id,
        span_id=work.trace and work.trace.span_id,
        timings=Timings(**work.timings, total=sum(work.timings.values())),
        usage=work.usage,
        warnings=work.warnings,
    )
    finished = await _write(finished, work, parts)
    emit({"event": "report", "report": finished.model_dump(mode="json")})
    return work.with_(report=finished)


def _draft_spans(work: Work) -> tuple[DraftSpan, ...]:
    if work.placed is not None:
        return work.placed
    text = work.turn.text
    if work.decided.action is Action.BLOCK or not text or work.response != text:
        return ()
    whole = Span(start=0, end=len(text))
    return (DraftSpan(draft=whole, response=whole),)


def _whole_decision(work: Work, parts: Parts) -> Decision:
    decision = work.decided
    regenerated = any(attempt.repair is RepairMode.REGENERATE for attempt in work.attempts)
    if regenerated and decision.action in (Action.ALLOW, Action.FLAG):
        reason = f"regenerated because {work.attempts[0].decision.reason}; of the new draft: {decision.reason}"
        decision = Decision(action=Action.REPAIR, reason=reason, claim_ids=decision.claim_ids)
    return with_links(decision, work.links, link_mode(parts.policy))


async def _write(finished: TurnReport, work: Work, parts: Parts) -> TurnReport:
    warnings: list[str] = []
    for sink in parts.sinks:
        try:
            if isinstance(sink, TextSink) and sink.record != "verdicts":
                await sink.write_turn(finished, texts_of(work, finished, sink.record))
            else:
                await sink.write(finished)
        except StoreError as exc:
            logger.error("the report of turn %s was not stored: %s", finished.turn_index, exc)
            parts.telemetry.instruments.record_sink_error(exc)
            warnings.append(f"{UNREPORTED}: {exc}")
    return finished.model_copy(update={"warnings": (*finished.warnings, *warnings)}) if warnings else finished


def texts_of(work: Work, report: TurnReport, record: Record) -> TurnTexts:
    """The texts that a sink with this `record` may keep. Only `full` keeps a draft that was not delivered as it was."""
    if record == "verdicts":
        return TurnTexts()
    return TurnTexts(
        user_text=next((turn.text for turn in reversed(work.history) if turn.role is Role.USER), None),
        draft=work.turn.text if record == "full" and not _is_whole(work.turn.text, report) else None,
        documents=tuple(_cut_to(work.turn.documents, MOST_CHARS)),
        evidence=() if work.evidence is None else _passages(work, work.evidence, report),
    )


def _is_whole(draft: str, report: TurnReport) -> bool:
    """True if the draft was delivered unchanged, so the report has it."""
    whole = Span(start=0, end=len(draft))
    return report.response == draft and report.delivered_spans(whole) == (whole,)


def _passages(work: Work, evidence: EvidenceSet, report: TurnReport) -> tuple[Passage, ...]:
    # Passages of the turn's own documents are in those.
    passages = () if work.turn.documents else (*evidence.documents, *_quotes_elsewhere(evidence, report))
    return (*passages, *evidence.knowledge)


def _quotes_elsewhere(evidence: EvidenceSet, report: TurnReport) -> Iterator[Passage]:
    """Quotes from passages that were found for a claim, and not for the turn."""
    known = [(passage.source_id, passage.text) for passage in evidence.documents]
    pieces = [piece for finding in report.findings for piece in finding.evidence]
    for quote in (piece for piece in pieces if piece.source is SourceKind.DOCUMENT):
        if not any(quote.source_id == name and quote.quote in text for name, text in known):
            known.append((quote.source_id, quote.quote))
            yield Passage(
                source=quote.source,
                source_id=quote.source_id,
                text=quote.quote,
                title=quote.title,
                span=quote.span,
                headings=quote.headings,
            )


def _cut_to(documents: Sequence[Document], remaining: int) -> Iterator[Document]:
    for document in documents:
        text = document.text[:remaining]
        remaining -= len(text)
        if len(text) == len(document.text):
            yield document
        else:
            yield document.model_copy(update={"text": text, "metadata": {**document.metadata, CUT: len(text)}})
