"""The gate for a whole turn: nothing goes out before all of it was judged."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field

from vista_guard.stream.again import Again, NoAnswer, ask_again, broke_off
from vista_guard.stream.draft import Judging
from vista_guard.stream.source import Delta, Found, Passed, close
from vista_guard.turn.limits import check_limits
from vista_guard.turn.repair import refuse
from vista_guard.turn.work import Work
from vista_guard.types import Action, TurnReport


async def whole(
    judging: Judging, deltas: AsyncIterator[Delta], again: Again | None
) -> AsyncGenerator[str | Passed | TurnReport, None]:
    """What passed, as it came, and the report; draft after draft, as long as the agent may be asked again."""
    rejected: Work | None = None
    work: Work | None = None
    while work is None:
        draft = _Draft(hold=again is not None)
        try:
            async with aclosing(draft.read(deltas, judging)) as passing:
                async for passed in passing:
                    yield passed
            check_limits(judging.draft(draft.text), judging.parts.limits)
        except Exception as exc:
            if rejected is None:
                raise
            work = _given_up(judging, rejected, broke_off(exc))
            break
        finally:
            await close(deltas)
        work, judging, rejected, deltas = await _judged(judging, draft, deltas, again)
    if work.response == draft.text:
        judging.tell(work.outcomes)
    for piece in draft.delivered(work):
        yield piece
    # Only now: a process that was killed before must not have stored what nobody read.
    yield await judging.stored(work)


async def _judged(
    judging: Judging, draft: _Draft, deltas: AsyncIterator[Delta], again: Again | None
) -> tuple[Work | None, Judging, Work | None, AsyncIterator[Delta]]:
    """The turn as it is delivered; or None, and the next draft, with what was decided of this one."""
    await judging.find_documents(draft.text)
    work = await judging.whole(draft.text)
    if again is not None and draft.hold and judging.may_regenerate and work.decided.action is Action.REPAIR:
        attempt = await judging.rejected(work)
        try:
            return None, judging.anew(attempt), work, await ask_again(again, draft.text, attempt)
        except NoAnswer as exc:
            judging.warn(str(exc))
            work = judging.accounted(work)
    return await judging.mended(work), judging, None, deltas


def _given_up(judging: Judging, rejected: Work, warning: str) -> Work:
    """The last draft that was judged is withheld, since the one in its place never came to its end."""
    judging.warn(warning)
    work = judging.accounted(rejected).with_(attempts=rejected.attempts)
    return refuse(work, judging.parts.policy.message)


@dataclass
class _Draft:
    """One draft, held back. What comes before its text goes out at once, unless another draft may take its place."""

    hold: bool
    text: str = ""
    held: list[tuple[int, Passed]] = field(default_factory=list)

    async def read(self, deltas: AsyncIterator[Delta], judging: Judging) -> AsyncGenerator[Passed, None]:
        """Reads to the end, or to the limit."""
        async for delta in deltas:
            if isinstance(delta, Passed):
                self.held.append((len(self.text), delta))
                self.hold = self.hold and not delta.binding
                while not self.hold and self.held and self.held[0][0] == 0:
                    yield self.held.pop(0)[1]
            elif isinstance(delta, Found):
                judging.learn(delta.documents)
            else:
                self.text += delta
                if len(self.text) > judging.parts.limits.turn_chars:
                    return

    def delivered(self, work: Work) -> Iterator[str | Passed]:
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
