"""What a turn has of its own to be held against: its documents or what is found for it, and what its conversation knows."""

from __future__ import annotations

from vista_guard.reading.passages import nearest_passages, passages
from vista_guard.turn.work import Parts, Work
from vista_guard.types import EvidenceSet, Passage


async def collect(work: Work, parts: Parts, earlier: tuple[Passage, ...] = ()) -> EvidenceSet:
    """The evidence of the draft.

    Args:
        work: the turn.
        parts: the guard's collaborators.
        earlier: what earlier turns established that no store knows of; the latest of it is kept where there is room.

    Raises:
        StoreError: a store could not be read. Judging with less evidence than there is would be a silent change of verdict.
    """
    recalled = await _knowledge(work, parts)
    room = max(parts.limits.knowledge - len(recalled), 0)
    return EvidenceSet(
        documents=await _documents(work, parts),
        knowledge=recalled + earlier[max(len(earlier) - room, 0) :],
        history=work.history if parts.context == "full" else (),
    )


async def _documents(work: Work, parts: Parts) -> tuple[Passage, ...]:
    turn, limits = work.turn, parts.limits
    if turn.documents:
        chunks = [passage for document in turn.documents for passage in passages(document)]
        return tuple(nearest_passages(turn.text, chunks, limits.passages))
    if parts.documents is None or parts.trusts_ungrounded:
        return ()
    return tuple(await parts.documents.search(_question(work), limits.retrieved))


def _question(work: Work) -> str:
    # The user's words carry the topic that the answer's pronouns leave out.
    asked = next((turn.text for turn in reversed(work.history) if turn.role == "user"), "")
    return f"{asked}\n{work.turn.text}".strip()


async def _knowledge(work: Work, parts: Parts) -> tuple[Passage, ...]:
    # An anonymous conversation owns no knowledge; an id that no conversation can have still recalls the persona.
    owner = work.conversation.id or ""
    if parts.persona is not None:
        await parts.knowledge.seed(parts.persona)
    recalled = await parts.knowledge.recall(
        owner,
        persona=parts.persona,
        query=work.turn.text,
        limit=parts.limits.knowledge,
        exclude_turn=work.conversation.turn_key(),
    )
    return tuple(recalled)
