"""Gates: a turn streams in, judged pieces stream out, and the turn's report comes last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal

from vista_guard.errors import ConfigError
from vista_guard.policy.links import link_mode
from vista_guard.protocols import Policy
from vista_guard.stream.draft import Again, Draft, NoAnswer, ask_again, broken_off_warning, regenerates
from vista_guard.stream.sentence_gate import SentenceGate
from vista_guard.stream.source import Delivery, Delta, Found, Passed, Source, close, undisturbed
from vista_guard.telemetry.spans import TurnTrace
from vista_guard.turn.repair import refuse
from vista_guard.turn.work import Parts, Work, check_limits
from vista_guard.types import Action, Conversation, Document, Finding, Outcome, TurnReport, Unchecked


async def whole(
    draft: Draft, deltas: AsyncIterator[Delta], again: Again | None
) -> AsyncGenerator[str | Passed | TurnReport, None]:
    """Yields the delivered items and the report; asks the agent again for new drafts while it may."""
    rejected: Work | None = None
    work: Work | None = None
    while work is None:
        answer = _HeldAnswer(hold=again is not None)
        try:
            async with aclosing(answer.read(deltas, draft)) as passing:
                async for passed in passing:
                    yield passed
            check_limits(draft.conversation(answer.text), draft.parts.limits)
        except Exception as exc:
            if rejected is None:
                raise
            work = _withhold(draft, rejected, broken_off_warning(exc))
            break
        finally:
            await close(deltas)
        following = await _ask_again(draft, answer, again)
        if isinstance(following, _NextDraft):
            draft, rejected, deltas = following.draft, following.rejected, following.deltas
        else:
            work = following
    if work.response == answer.text:
        draft.tell(work.outcomes)
    for piece in answer.pieces(work):
        yield piece
    # Only now: a process that was killed before must not have stored what nobody read.
    yield await draft.store(work)


@dataclass(frozen=True)
class _NextDraft:
    """Another answer on its way, in place of one that was rejected."""

    draft: Draft
    rejected: Work
    deltas: AsyncIterator[Delta]


async def _ask_again(draft: Draft, answer: _HeldAnswer, again: Again | None) -> Work | _NextDraft:
    """The turn as it is delivered; or the next draft, where the policy and the agent give one."""
    await draft.find_documents(answer.text)
    work = await draft.whole(answer.text)
    if again is not None and answer.hold and draft.may_regenerate and work.decided.action is Action.REPAIR:
        attempt = await draft.as_attempt(work)
        try:
            return _NextDraft(draft.next_draft(attempt), work, await ask_again(again, answer.text, attempt))
        except NoAnswer as exc:
            draft.warn(str(exc))
            work = draft.with_spent(work)
    return await draft.repair(work)


def _withhold(draft: Draft, rejected: Work, warning: str) -> Work:
    """Withholds the last judged draft, since the one in its place never finished."""
    draft.warn(warning)
    work = draft.with_spent(rejected).with_(attempts=rejected.attempts)
    return refuse(work, draft.parts.policy.message)


@dataclass
class _HeldAnswer:
    """One draft, held back. What comes before its text goes out at once, unless another draft may take its place."""

    hold: bool
    text: str = ""
    held: list[tuple[int, Passed]] = field(default_factory=list)

    async def read(self, deltas: AsyncIterator[Delta], draft: Draft) -> AsyncGenerator[Passed, None]:
        """Reads to the end, or to the limit."""
        async for delta in deltas:
            if isinstance(delta, Passed):
                self.held.append((len(self.text), delta))
                self.hold = self.hold and not delta.binding
                while not self.hold and self.held and self.held[0][0] == 0:
                    yield self.held.pop(0)[1]
            elif isinstance(delta, Found):
                draft.learn(delta.documents)
            else:
                self.text += delta
                if len(self.text) > draft.parts.limits.turn_chars:
                    return

    def pieces(self, work: Work) -> Iterator[str | Passed]:
        """The draft as it came, or what is said in its place."""
        text, response, place = self.text, work.response or "", 0
        held = list(self.held)
        if response and response != text:
            yield from (passed for end, passed in held if end == 0)
            yield response
            held = [(end, passed) for end, passed in held if end > 0]
        for end, passed in [] if work.decided.action is Action.BLOCK else held:
            if response == text and text[place:end]:
                yield text[place:end]
            yield passed
            place = end
        if response == text and text[place:]:
            yield text[place:]


Gate = Literal["none", "sentence", "turn"]
"""How much of a turn waits for its judgement: nothing, the sentence that is written, or all of it."""

Documents = Sequence[Document] | Callable[[Conversation], Sequence[Document]]
"""The turn's documents; or a function that finds them, given the conversation that ends with the turn."""

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
    """Judges a stream of text as `Guard.gated` does. `trace` is that of a turn which began before its text; it is ended here.

    `documents` that are a callable are asked once a draft, in a thread: for `sentence` before anything of the turn is known (the
    turn is the conversation's last, and empty), else with the whole turn. `again` is called as long as the policy has attempts
    left, no text went out and nothing binding came; else, and where it fails before the first word, the policy's fallback is
    taken. Until then nothing of a draft goes out, the host's objects included.

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
        count = parts.telemetry.instruments.stream_opened
        count(gate, 1)
        try:
            async with aclosing(run(draft, deltas, asking)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            count(gate, -1)
    except BaseException as exc:
        if trace is not None:
            trace.abandon(exc)
        raise
    finally:
        await close(deltas)


def check_gate(gate: str | None, policy: Policy, name: str = "gate") -> None:
    """Passes when the gate can hold what the policy withholds; else ConfigError, which names the setting."""
    if gate == "none" and (policy.withholds or link_mode(policy) == "remove"):
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
        while (piece := await delivery.take()) is not None:
            if isinstance(piece, (Finding, Unchecked)):
                draft.tell((piece,))
            else:
                yield piece
        yield await keeper
    finally:
        keeper.cancel()
        await undisturbed(_close(gate, keeper))


async def _close(gate: SentenceGate, keeper: asyncio.Task[TurnReport]) -> None:
    await gate.aclose()
    await asyncio.wait((keeper,))
    await gate.aclose()
    if not keeper.cancelled():
        keeper.exception()  # retrieved: asyncio would log it when the reader left early


async def _watch(
    draft: Draft,
    deltas: AsyncIterator[Delta],
    again: Again | None,  # unused: a policy that only flags never asks again
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


async def ending_report(gated: AsyncIterator[Streamed]) -> TurnReport:
    """The report that a gated stream ends with, when nobody is to see the rest."""
    *_, report = [item async for item in gated]
    if not isinstance(report, TurnReport):
        raise AssertionError("a gated stream ends with its report")
    return report


async def without_message(stream: AsyncGenerator[Streamed, None], message: str) -> AsyncGenerator[Streamed, None]:
    """A gated stream without the message that stands for what was withheld."""
    held: str | None = None
    async with aclosing(stream):
        async for item in stream:
            if held is not None and not (isinstance(item, TurnReport) and item.blocked):
                yield held
            held = None
            if item in (message, f"\n\n{message}"):
                held = item
            else:
                yield item
