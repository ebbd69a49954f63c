"""The gate for a whole turn: nothing goes out before all of it was judged."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from vista_guard.stream.draft import Again, Draft, NoAnswer, ask_again, broke_off
from vista_guard.stream.source import Delta, Found, Passed, close
from vista_guard.turn.repair import refuse
from vista_guard.turn.work import Work, check_limits
from vista_guard.types import Action, TurnReport


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
            work = _withhold(draft, rejected, broke_off(exc))
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
    """The last draft that was judged is withheld, since the one in its place never came to its end."""
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
        text, said, place = self.text, work.response or "", 0
        held = list(self.held)
        if said and said != text:
            yield from (passed for end, passed in held if end == 0)
            yield said
            held = [(end, passed) for end, passed in held if end > 0]
        for end, passed in [] if work.decided.action is Action.BLOCK else held:
            if said == text and text[place:end]:
                yield text[place:end]
            yield passed
            place = end
        if said == text and text[place:]:
            yield text[place:]
