"""Stage 7: what was delivered becomes knowledge (VISTA §3, steps 4 and 5). Nothing else does."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from vista_guard.errors import StoreError
from vista_guard.policy.scoring import REMEMBERED
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Action, Claim, Conversation, EarnedClaim, Finding, Label, Outcome, Role, Turn

logger = logging.getLogger("vista_guard")


async def remember(work: Work, parts: Parts, emit: Emit) -> Work:
    """Stores VERIFIED and OUT_OF_SCOPE claims of the delivered text under the delivered text's key."""
    claims = _claims_to_keep(work, parts)
    if work.conversation.id is None:
        return work.with_(remembered=claims)
    key = delivered_turn(work).turn_key()
    try:
        await parts.knowledge.remember(work.conversation.id, key, earned(claims, work.outcomes))
    except StoreError as exc:
        # The verdict stands: a full disk must not withhold a good turn, but it must be seen.
        logger.error("knowledge of conversation %s was not stored: %s", work.conversation.id, exc)
        return work.with_(warnings=(*work.warnings, f"knowledge was not stored: {exc}"))
    return work.with_(remembered=claims)


def delivered_turn(work: Work) -> Conversation:
    """The conversation that ends with what was delivered, by whose `turn_key` knowledge knows the turn."""
    said = Turn(role=Role.ASSISTANT, text=work.response or "")
    return Conversation(turns=(*work.history, said))


def earned(claims: Sequence[Claim], outcomes: Sequence[Outcome]) -> tuple[Claim, ...]:
    """The claims as knowledge takes them: those that were not VERIFIED carry their label, so that an opinion stays one."""
    labels = {
        one.claim.id: one.label for one in outcomes if isinstance(one, Finding) and one.label is not Label.VERIFIED
    }
    return tuple(
        EarnedClaim(**dict(claim), label=labels[claim.id]) if claim.id in labels else claim for claim in claims
    )


def _claims_to_keep(work: Work, parts: Parts) -> tuple[Claim, ...]:
    if work.decided.action is Action.BLOCK:
        return ()
    if work.is_believed(parts):
        return work.claims
    safe = {
        outcome.claim.id for outcome in work.outcomes if isinstance(outcome, Finding) and outcome.label in REMEMBERED
    }
    delivered = work.claims if work.kept is None else work.kept
    return tuple(claim for claim in delivered if claim.id in safe)
