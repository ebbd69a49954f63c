"""Gates: a turn streams in, judged pieces stream out, and the turn's report comes last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Literal

from vista_guard.errors import ConfigError
from vista_guard.protocols import Policy
from vista_guard.stream.delivery import Delivery
from vista_guard.stream.draft import Again, Draft, regenerates, withholds
from vista_guard.stream.sentence_gate import SentenceGate
from vista_guard.stream.source import Delta, Found, Passed, Source, close
from vista_guard.stream.turn_gate import whole
from vista_guard.telemetry.spans import TurnTrace
from vista_guard.turn.work import Parts, check_limits
from vista_guard.types import Conversation, Document, Finding, Outcome, TurnReport, Unchecked

Gate = Literal["none", "sentence", "turn"]
"""How much of a turn waits for its judgement: nothing, the sentence that is written, or all of it."""

Documents = Sequence[Document] | Callable[[Conversation], Sequence[Document]]
"""What the turn is grounded in; or what finds it, given the conversation with the turn as its last."""

Streamed = str | Passed | TurnReport


async def gated(
    parts: Parts,
    conversation: Conversation,
    deltas: AsyncIterator[Delta],
    *,
    gate: Gate = "sentence",
    documents: Documents = (),
    again: Again | None = None,
    on_outcome: Callable[[Outcome], None] | None = None,
    trace: TurnTrace | None = None,
) -> AsyncGenerator[Streamed, None]:
    """Yields text that may be shown, the host's own objects in their places among it, and last the report.

    Args:
        parts: the guard's collaborators.
        conversation: what was said before the turn.
        deltas: the turn as it comes, with the documents that are `Found` meanwhile, which nobody is shown; closed when the
            reader leaves or a sentence is withheld.
        gate: `sentence` lets each sentence through once its claims passed, and withholds from the first that does not;
            `turn` holds everything until the whole turn was judged; `none` holds nothing, and the report only tells.
        documents: of the turn. A callable is asked once a draft, in a thread: for `sentence` before anything of the turn is
            known (the turn is the conversation's last, and empty), else with the whole turn.
        again: asks the agent again, for a policy that regenerates. It takes the draft that was withheld (with `sentence`, up to
            the end of the sentence that was) and the note on it, and gives the next answer as it comes. It is called as long as
            the policy has attempts left, no text went out and nothing binding came; else, and where it fails before the first
            word, the policy's fallback is taken. Until then nothing of a draft goes out, the host's objects included.

        on_outcome: is told of each claim just before the text that says it goes out, and of none that is withheld or
            dropped; with `none`, after the text. Spans are places in the text of `deltas`.
        trace: of the turn, where it began before its text; ended here.

    A reader who leaves, and an upstream that fails, end the turn without a report: nothing of it is remembered, since nobody
    knows how much was read. Said again as history, it is judged as any earlier turn.

    Raises:
        ConfigError: an unknown gate, or `none` with a policy that withholds.
        InputError: the conversation is over a limit; with `turn`, the turn itself is.
        Exception: what upstream raised, as it was, after the sentences that were complete by then.
    """
    run = {"none": _watch, "sentence": _by_sentence, "turn": whole}.get(gate)
    try:
        if run is None:
            raise ConfigError(f"gate is {gate!r}; choose none, sentence or turn")
        check_gate(gate, parts.policy)
        trace = trace or TurnTrace(parts.telemetry, conversation.id, len(conversation.turns), gate=gate)
        draft = Draft(parts, conversation, documents, trace=trace, on_outcome=on_outcome)
        check_limits(draft.conversation(""), parts.limits)
        asking = again if again is not None and regenerates(parts.policy) else None
        async with aclosing(_count_stream(run(draft, deltas, asking), trace)) as pieces:
            async for piece in pieces:
                yield piece
    except BaseException as exc:
        if trace is not None:
            trace.abandon(exc)
        raise
    finally:
        await close(deltas)


async def _count_stream(pieces: AsyncGenerator[Streamed, None], trace: TurnTrace) -> AsyncGenerator[Streamed, None]:
    """The pieces, counted among the streams that are open."""
    count = trace.telemetry.instruments.stream_opened
    count(trace.gate, 1)
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
    finally:
        count(trace.gate, -1)


def check_gate(gate: str | None, policy: Policy, name: str = "gate") -> None:
    """Passes when the gate can hold what the policy withholds.

    Raises:
        ConfigError: it lets everything through, and the policy does not. `name` says what was set to it.
    """
    if gate == "none" and withholds(policy):
        raise ConfigError(
            f"{name} is none, and the policy {policy.name} withholds, but streamed text cannot be withheld. Choose the gate "
            "sentence or turn, or the policy monitor"
        )


async def _by_sentence(
    draft: Draft, deltas: AsyncIterator[Delta], again: Again | None
) -> AsyncGenerator[Streamed, None]:
    source = Source(deltas)
    delivery = Delivery(source, draft.parts.limits.turn_chars, hold=again is not None)
    source.start(delivery.pass_on)
    gate = SentenceGate(draft, source, delivery, again)
    keeper = asyncio.create_task(gate.run(), name="vista-guard stream: gate")
    try:
        async for piece in delivery.pieces():
            if isinstance(piece, (Finding, Unchecked)):
                draft.tell((piece,))
            else:
                yield piece
        yield await keeper
    finally:
        keeper.cancel()
        await gate.aclose()
        await asyncio.wait((keeper,))
        await gate.aclose()
        if not keeper.cancelled():
            keeper.exception()  # looked at: who leaves early does not hear of it


async def _watch(
    draft: Draft,
    deltas: AsyncIterator[Delta],
    again: Again | None,  # a policy that would ask again is none that only looks on
) -> AsyncGenerator[Streamed, None]:
    text = ""
    async for delta in deltas:
        if isinstance(delta, Found):
            draft.learn(delta.documents)
            continue
        if isinstance(delta, str):
            text += delta
        if delta != "":
            yield delta
    await draft.find_documents(text)
    work = await draft.whole(text)
    draft.tell(work.outcomes)
    yield await draft.store(work.with_(response=text))


__all__ = ["Again", "Delta", "Documents", "Found", "Gate", "Passed", "Streamed", "check_gate", "gated", "regenerates"]
