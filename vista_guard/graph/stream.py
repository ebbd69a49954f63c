"""Gates: an assistant turn on its way to the reader, word by word, and nothing of it unjudged.

What was said before the turn is a conversation as ever; the turn itself comes in pieces, and so it goes out. The last
thing that a gated stream yields is the turn's report.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Literal

from vista_guard.errors import ConfigError
from vista_guard.graph.limits import check_limits
from vista_guard.graph.state import Parts
from vista_guard.graph.stream_delivery import Delivery
from vista_guard.graph.stream_judging import Judging
from vista_guard.graph.stream_sentence import SentenceGate
from vista_guard.graph.stream_source import Passed, Source, close
from vista_guard.protocols import Policy
from vista_guard.types import Action, Claim, Conversation, Document, Finding, Label, Outcome, TurnReport, Unchecked

Gate = Literal["none", "sentence", "turn"]
"""How much of a turn waits for its judgement: nothing, the sentence that is written, or all of it."""

Documents = Sequence[Document] | Callable[[Conversation], Sequence[Document]]
"""What the turn is grounded in; or what finds it, given the conversation with the turn as its last."""

Streamed = str | Passed | TurnReport


async def gated(
    parts: Parts,
    conversation: Conversation,
    deltas: AsyncIterator[str | Passed],
    *,
    gate: Gate = "sentence",
    documents: Documents = (),
) -> AsyncGenerator[Streamed, None]:
    """Yields text that may be shown, the host's own objects in their places among it, and last the report.

    Args:
        parts: the guard's collaborators.
        conversation: what was said before the turn.
        deltas: the turn as it comes; closed when the reader leaves or a sentence is withheld.
        gate: `sentence` lets each sentence through once its claims passed, and withholds from the first that does not;
            `turn` holds everything until the whole turn was judged; `none` holds nothing, and the report only tells.
        documents: of the turn. A callable is asked once, in a thread: for `sentence` before anything of the turn is known
            (the turn is the conversation's last, and empty), else with the whole turn.

    A reader who leaves, and an upstream that fails, end the turn without a report: nothing of it is remembered, since nobody
    knows how much was read. Said again as history, it is judged as any earlier turn.

    Raises:
        ConfigError: an unknown gate, or `none` with a policy that withholds.
        InputError: the conversation is over a limit; with `turn`, the turn itself is.
        Exception: what upstream raised, as it was, after the sentences that were complete by then.
    """
    run = {"none": _observed, "sentence": _by_sentence, "turn": _whole}.get(gate)
    try:
        if run is None:
            raise ConfigError(f"gate is {gate!r}; choose none, sentence or turn")
        if gate == "none" and withholds(parts.policy):
            raise ConfigError(
                f"gate is none, and the policy {parts.policy.name} withholds: what is out cannot be withheld. Choose the gate "
                "sentence or turn, or the policy monitor"
            )
        judging = Judging(parts, conversation, documents)
        check_limits(judging.draft(""), parts.limits)
        async with aclosing(run(judging, deltas)) as pieces:
            async for piece in pieces:
                yield piece
    finally:
        await close(deltas)


async def _by_sentence(judging: Judging, deltas: AsyncIterator[str | Passed]) -> AsyncGenerator[Streamed, None]:
    source = Source(deltas)
    delivery = Delivery(source, judging.parts.limits.turn_chars)
    source.start(delivery.pass_on)
    gate = SentenceGate(judging, source, delivery)
    keeper = asyncio.create_task(gate.run(), name="vista-guard stream: gate")
    try:
        async for piece in delivery.pieces():
            yield piece
        yield await keeper
    finally:
        keeper.cancel()
        await source.aclose()
        await asyncio.wait((keeper,))
        if not keeper.cancelled():
            keeper.exception()  # looked at: who leaves early does not hear of it


async def _whole(judging: Judging, deltas: AsyncIterator[str | Passed]) -> AsyncGenerator[Streamed, None]:
    text, held = "", list[tuple[int, Passed]]()
    async for delta in deltas:
        if not isinstance(delta, Passed):
            text += delta
            if len(text) > judging.parts.limits.turn_chars:
                break
        elif text:
            held.append((len(text), delta))
        else:
            yield delta
    await close(deltas)
    check_limits(judging.draft(text), judging.parts.limits)
    await judging.find_documents(text)
    report = await judging.whole(text)
    if report.response != text and report.response:
        yield report.response
    place = 0
    for end, passed in [] if report.blocked else held:
        if report.response == text and text[place:end]:
            yield text[place:end]
        yield passed
        place = end
    if report.response == text and text[place:]:
        yield text[place:]
    yield report


async def _observed(judging: Judging, deltas: AsyncIterator[str | Passed]) -> AsyncGenerator[Streamed, None]:
    text = ""
    async for delta in deltas:
        if not isinstance(delta, Passed):
            text += delta
        if delta != "":
            yield delta
    await judging.find_documents(text)
    yield await judging.whole(text, deliver=True)


def withholds(policy: Policy) -> bool:
    """Whether a policy would withhold or mend any turn: it is asked about one of each kind."""
    claim = Claim(id="t0.c1", text="?")
    found: list[Outcome] = [Unchecked(claim=claim, error="?")]
    found += [
        Finding(claim=claim, label=label, confidence=confidence, reason="?")
        for label in Label
        for confidence in (0.0, 0.5, 1.0)
    ]
    return any(
        policy([outcome], evidence_missing=missing).action in (Action.REPAIR, Action.BLOCK)
        for outcome in found
        for missing in (False, True)
    )


__all__ = ["Documents", "Gate", "Passed", "Streamed", "gated", "withholds"]
