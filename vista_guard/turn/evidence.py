"""The first stage, gather: the turn's documents or retrieved passages, and the conversation's knowledge.

Earlier assistant turns that the knowledge lacks are neither believed nor flagged, but judged once against their own documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from vista_guard._aio import off_loop
from vista_guard.errors import InputError, JudgeError, StoreError
from vista_guard.judges.composed.pipeline import retrieve
from vista_guard.judges.contract import categorize, decompose, judge_turn, verify
from vista_guard.judges.embedded.forms import has_words
from vista_guard.policy.turn_risk import REMEMBERED
from vista_guard.protocols import ChatFacts
from vista_guard.reading.chat_json import BY_USER, USER_EVIDENCE
from vista_guard.reading.passages import nearest_passages, passages
from vista_guard.telemetry.spans import earlier_turn
from vista_guard.turn.report import earned_claims
from vista_guard.turn.work import Emit, Parts, Work, check_limits
from vista_guard.types import (
    UNREAD,
    Check,
    Claim,
    Conversation,
    EarnedClaim,
    EvidenceSet,
    Finding,
    Passage,
    Role,
    SourceKind,
    Turn,
)


async def collect(work: Work, parts: Parts, earlier: tuple[Passage, ...] = ()) -> EvidenceSet:
    """The draft's evidence, with the latest of the `earlier` claims, which no store has, where there is room.

    StoreError: a store could not be read. Judging with less evidence than there is would be a silent change of verdict.
    """
    recalled = await _knowledge(work, parts)
    room = max(parts.limits.knowledge - len(recalled), 0)
    return EvidenceSet(
        documents=await _documents(work, parts),
        knowledge=recalled + earlier[max(len(earlier) - room, 0) :],
        history=work.history if parts.context == "full" else (),
        retrieved=not work.turn.documents,
    )


async def _documents(work: Work, parts: Parts) -> tuple[Passage, ...]:
    turn, limits = work.turn, parts.limits
    if turn.documents:
        return await off_loop(sum(len(document.text) for document in turn.documents), _nearest, turn, limits.passages)
    if parts.documents is None or parts.trusts_ungrounded:
        return ()
    found = await retrieve(parts.documents, _question(work), limits.retrieved, limits.neighbours)
    return await off_loop(sum(len(passage.text) for passage in found), _readable, found)


def _nearest(turn: Turn, limit: int) -> tuple[Passage, ...]:
    chunks = [passage for document in turn.documents for passage in passages(document)]
    return _readable(nearest_passages(turn.text, chunks, limit))


def _readable(found: Sequence[Passage]) -> tuple[Passage, ...]:
    """The passages in which a reader sees a word: empty tags and struck text are no evidence."""
    return tuple(passage for passage in found if has_words(passage.text))


def _question(work: Work) -> str:
    # The user's words carry the topic that the answer's pronouns leave out.
    question = next((turn.text for turn in reversed(work.history) if turn.role == "user"), "")
    return f"{question}\n{work.turn.text}".strip()


async def _knowledge(work: Work, parts: Parts) -> tuple[Passage, ...]:
    # An anonymous conversation owns no knowledge; an id that no conversation can have still recalls the persona.
    owner = work.conversation.id or ""
    if parts.persona is not None:
        await parts.knowledge.seed(parts.persona)
    added = await _added_facts(work, parts)
    recalled = await parts.knowledge.recall(
        owner,
        persona=parts.persona,
        query=work.turn.text,
        limit=parts.limits.knowledge - len(added),
        exclude_turn=work.conversation.turn_key(),
    )
    return (*added, *recalled)


async def _added_facts(work: Work, parts: Parts) -> tuple[Passage, ...]:
    """Facts that people added about the chat itself, in at most half of the room for knowledge."""
    sources = [sink for sink in parts.sinks if isinstance(sink, ChatFacts)]
    texts = dict.fromkeys([text for source in sources for text in await source.chat_facts(parts.tenant)])
    own = parts.persona.channel if parts.persona is not None else ()
    facts = [
        Passage(
            source=SourceKind.CHANNEL,
            source_id=f"channel:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}",
            text=text,
            title="this chat",
        )
        for text in texts
        if text not in own
    ]
    return nearest_passages(work.turn.text, facts, parts.limits.knowledge // 2)


async def catch_up(work: Work, parts: Parts) -> tuple[Passage, ...]:
    """Catches up on earlier turns. Anonymous conversations get their claims back; others have them stored."""
    if not work.catch_up or parts.trusts_ungrounded:
        return ()
    earlier = [index for index, turn in enumerate(work.history) if turn.role is Role.ASSISTANT]
    if not earlier:
        return ()
    if work.conversation.id is None:
        return await _anonymous_knowledge(work.conversation, earlier, parts)
    delivered_keys = await parts.knowledge.delivered(work.conversation.id)
    for index in earlier:
        key = work.conversation.turn_key(index)
        if key not in delivered_keys:
            claims = await _claims_to_remember(work.conversation.up_to(index), (), parts)
            await parts.knowledge.remember(work.conversation.id, key, claims)
    return ()


async def _anonymous_knowledge(conversation: Conversation, earlier: list[int], parts: Parts) -> tuple[Passage, ...]:
    passages: tuple[Passage, ...] = ()
    for index in earlier:
        past = conversation.up_to(index)
        key = past_key(past)
        claims = parts.past.get(key)
        if claims is None:
            claims = await _claims_to_remember(past, passages, parts)
            parts.past.put(key, claims)
        passages += tuple(
            Passage(
                source=SourceKind.KNOWLEDGE,
                source_id=f"{past.turn_key()}:{claim.id}",
                text=claim.text,
                label=claim.label if isinstance(claim, EarnedClaim) else None,
            )
            for claim in claims
        )
    return passages


def past_key(past: Conversation) -> str:
    """Key in `Parts.past` of an anonymous conversation up to its last turn."""
    return sha256(past.model_dump_json().encode("utf-8", "surrogatepass")).hexdigest()


async def _claims_to_remember(past: Conversation, knowledge: tuple[Passage, ...], parts: Parts) -> tuple[Claim, ...]:
    """Claims of the past's last turn that its own evidence verified, and those that need no evidence."""
    with earlier_turn():
        return await _earlier_claims(past, knowledge, parts)


async def _earlier_claims(past: Conversation, knowledge: tuple[Passage, ...], parts: Parts) -> tuple[Claim, ...]:
    check_limits(past, parts.limits)
    work = Work(conversation=past, catch_up=False)
    evidence = await collect(work, parts)
    evidence = evidence.model_copy(update={"knowledge": evidence.knowledge + knowledge})
    turn = past.turns[-1]
    answers = None if turn.claims is not None else await judge_turn(parts.judging, turn, work.history, evidence)
    if answers is None:
        claims = turn.claims if turn.claims is not None else await decompose(parts.judging, turn, work.history)
        answers = tuple(await verify(parts.judging, claims, evidence))
    checks = [answer for answer in answers if isinstance(answer, Check)]
    unsupported = [check for check in checks if not check.supported]
    verified = {check.claim.id for check in checks if check.supported}
    findings = await categorize(parts.judging, unsupported, evidence)
    safe = verified | {
        finding.claim.id for finding in findings if isinstance(finding, Finding) and finding.label in REMEMBERED
    }
    return earned_claims([answer.claim for answer in answers if answer.claim.id in safe], findings)


async def gather(work: Work, parts: Parts, emit: Emit) -> Work:
    """Documents (chunked), else what the document store finds; knowledge; with context = full, the history."""
    try:
        check_limits(work.conversation, parts.limits)
        # First the past: what it establishes is stored, and recalled with the rest.
        earlier = await catch_up(work, parts)
        if any(document.metadata.get(BY_USER) for document in work.turn.documents):
            work = work.with_(warnings=(*work.warnings, USER_EVIDENCE))
        return work.with_(evidence=await collect(work, parts, earlier))
    except StoreError as exc:
        return work.as_unchecked(str(exc)).with_(warnings=(*work.warnings, f"{UNREAD}: {exc}"))
    except (InputError, JudgeError) as exc:
        return work.as_unchecked(str(exc))
