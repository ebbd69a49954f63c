"""Stage 1: collects what the claims of the turn may be held against."""

from __future__ import annotations

from vista_guard.errors import InputError, JudgeError, StoreError
from vista_guard.reading.context_blocks import BY_USER, USER_EVIDENCE
from vista_guard.turn.evidence import collect
from vista_guard.turn.history import catch_up
from vista_guard.turn.limits import check_limits
from vista_guard.turn.work import Emit, Parts, Work


async def gather(work: Work, parts: Parts, emit: Emit) -> Work:
    """Documents (chunked), else what the document store finds; knowledge; with context = full, the history."""
    try:
        check_limits(work.conversation, parts.limits)
        # First the past: what it establishes is stored, and recalled with the rest.
        earlier = await catch_up(work, parts)
        work = _warned(work)
        return work.with_(evidence=await collect(work, parts, earlier))
    except (InputError, JudgeError, StoreError) as exc:
        return work.unjudged(str(exc))


def _warned(work: Work) -> Work:
    """The work, with a word in its report where the user brought the evidence."""
    by_user = any(document.metadata.get(BY_USER) for document in work.turn.documents)
    return work.with_(warnings=(*work.warnings, USER_EVIDENCE)) if by_user else work
