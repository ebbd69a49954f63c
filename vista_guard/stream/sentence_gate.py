"""The sentence gate: each sentence goes out once its claims pass, while the next ones stream in."""

from __future__ import annotations

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from math import inf

from vista_guard._aio import run_long
from vista_guard.policy.links import link_mode
from vista_guard.reading.links import cut_references, settled_until
from vista_guard.stream.boundaries import Sentences
from vista_guard.stream.draft import Again, Draft, NoAnswer, ask_again, broken_off_warning
from vista_guard.stream.source import Delivery, Source
from vista_guard.telemetry.spans import SentenceOutcome
from vista_guard.turn.links import KnownHosts, find_links, known_hosts
from vista_guard.turn.repair import decide_claims, failed_phrases, refuse, says_again, why
from vista_guard.turn.work import Work
from vista_guard.types import Action, Decision, Outcome, RepairMode, Span, TurnReport


@dataclass(frozen=True)
class Unit:
    """Sentences that one decision lets through: `end` is the first one's, which it is made for, `last` the last one's."""

    end: int
    last: int


def units(ends: Sequence[int], start: int, outcomes: Sequence[Outcome], most: int) -> Iterator[Unit]:
    """The units of the sentences that end at `ends`, the first of which begins at `start`.

    Sentences without a claim of their own say nothing that the one before them was not asked about, so they go out together.
    Those behind `most` claims are one unit: what they claim is not judged, and asking the policy about each would take the
    square of their number.
    """
    spans = sorted((outcome.claim.span for outcome in outcomes if outcome.claim.span), key=lambda span: span.start)
    starts = [span.start for span in spans]
    reach = list(accumulate((span.end for span in spans), max))
    silent: list[int] = []
    for number, end in enumerate(ends):
        if len(spans) > most and starts[most] < end:
            yield from _merge(silent)
            yield Unit(ends[-1], ends[-1])
            return
        before = bisect_left(starts, end)
        if before and reach[before - 1] > (ends[number - 1] if number else start):
            yield from _merge(silent)
            yield Unit(end, end)
            silent = []
        else:
            silent.append(end)
    yield from _merge(silent)


def _merge(silent: Sequence[int]) -> Iterator[Unit]:
    if silent:
        yield Unit(silent[0], silent[-1])


_AT_ONCE = 500
"""Characters that are cut on the event loop: a millisecond of work, or eight where the sentences are of two characters."""
_SHORT = 2000
"""Characters that are cut in a thread of their own; longer texts take turns."""
_ENDS_AT_ONCE = 50
"""Sentences of a long text that are cut before the next one has its turn."""
_SHARE = 64
"""The turn is judged again when this part of it is new, so that a long one is read this many times and no more. Of three thousand
characters that is half a sentence."""
_LINE = 1000
"""Characters of its line before a sentence that say what is left of the line without its links."""
_HELD_SHARE = 16
"""Markup that is held back is read again when it grew by this part."""
_UNITS_AT_ONCE = 8
"""Decisions that are made before others have their turn."""
_UNREADABLE = re.compile("[\x00\ud800-\udfff]")
_WORD = re.compile(r"\w")
_TABLE_HEADER = re.compile(r"\s*\|[^\n]*\n(?=[^\n]*-)[^\S\n]*\|[ \t|:-]*(?=\n)")
"""A table's header and its rule, which come with the first row: the rows behind a dropped one need them."""


class SentenceGate:
    """Judges what came since it last looked, lets through what passed, and ends with the report."""

    def __init__(self, draft: Draft, source: Source, delivery: Delivery, again: Again | None = None) -> None:
        self._policy = draft.parts.policy
        self._removes_links = link_mode(draft.parts.policy) == "remove"
        self._out = delivery
        self._again = again
        self._rejected: tuple[Work, int] | None = None
        """The draft that this one replaces, and the end of the sentence that did not pass."""
        self._begin(draft, source)

    def _begin(self, draft: Draft, source: Source) -> None:
        self._draft = draft
        self._source = source
        self._sentences = Sentences(draft.parts.limits.turn_chars)
        self._judged = self._seen = 0
        self._asked = 0
        """Characters received when the judge was last asked."""
        self._tried = 0
        """End of the last sentence that the judge saw: sentences before it may wait for those behind them."""
        self._ahead: tuple[int, Work | None] = (0, None)
        self._notes: dict[str, str] = {}
        """Annotated claims, in the order of their marks, with the note on each."""
        self._known: tuple[object, KnownHosts] | None = None
        """The hosts that links may lead to, with the evidence that names them."""
        self._held = 0
        """Characters received when markup that may be part of a link was found open."""
        self._open_from = inf
        """Place of markup that did not end within the longest turn: it is not shown."""
        self._failed: list[str] = []
        """Words of the claims in dropped sentences. A repetition makes no claim of its own, and is dropped as well."""

    async def run(self) -> TurnReport:
        """Runs to the report. The delivery holds what goes out, and ends with this."""
        try:
            await self._draft.prepare()
            while True:
                report = await self._step()
                if report is not None:
                    return report
        finally:
            self._out.end()

    async def aclose(self) -> None:
        await self._source.aclose()

    async def _step(self) -> TurnReport | None:
        self._learn()
        source, complete = self._source, self._source.complete
        text = source.text
        await self._find_sentences(text, complete)
        waiting = self._ready(text)
        if complete and (not waiting or waiting[-1] == len(text)):
            return await self._finish(text, waiting)
        if waiting and waiting[-1] <= self._tried and (source.ended or self._is_full(text)):
            self._draft.hurry()  # nothing comes that they could wait for
            self._tried = 0
        if (
            waiting
            and waiting[-1] > self._tried
            and (source.ended or self._ahead[0] in waiting or self._is_enough(text))
        ):
            work = await self._judge(text, waiting)
            return await self._let_through(work, [end for end in waiting if end <= self._judged])
        if source.error is not None:
            return await self._fail(source.error)
        if not await self._look_ahead(text):
            await source.news()
        return None

    async def _fail(self, error: BaseException) -> TurnReport:
        """Handles upstream's failure. The failure of a regenerated answer stays hidden."""
        if self._rejected is None or self._out.said:
            self._out.commit()
            raise error
        decided, end = self._rejected
        self._draft.warn(broken_off_warning(error))
        decided = self._draft.with_spent(decided).with_(attempts=decided.attempts)
        return await self._withhold(decided, decided, end)

    def _learn(self) -> bool:
        """Adds newly found documents; a verdict without them does not count. True if any was new."""
        new = self._draft.learn(self._source.take_found())
        if new:
            self._ahead = (0, None)
        return new

    async def _look_ahead(self, text: str) -> bool:
        """Judges a sentence that most likely ended, while the word that makes it sure is on its way."""
        end = self._sentences.likely(text)
        if end is None or end == self._ahead[0] or self._source.ended or not self._is_enough(text):
            return False
        self._asked = len(text)
        self._ahead = (end, await self._draft.judge_so_far(text[:end], complete=False))
        return True

    def _is_enough(self, text: str) -> bool:
        """True if enough text is new to judge the turn again, or so much waits that upstream must pause."""
        return (len(text) - self._asked) * _SHARE >= self._judged or self._is_full(text)

    def _is_full(self, text: str) -> bool:
        return len(text) - self._out.upto >= self._draft.parts.limits.turn_chars

    async def _find_sentences(self, text: str, complete: bool) -> None:
        """Finds the sentences in what is new; off the event loop, where that is much."""
        new, self._seen = len(text) - self._seen, len(text)
        most = self._draft.parts.limits.turn_chars
        if self._sentences.last <= most:
            reach = min(len(text), 2 * most)
            grow = partial(self._sentences.grow, text[:reach], complete=complete and reach == len(text))
            if new <= _AT_ONCE:
                grow()
            elif new <= _SHORT:
                await asyncio.to_thread(grow)
            else:
                while await run_long(grow, most=_ENDS_AT_ONCE):
                    pass
        if most < self._sentences.last < len(text):
            self._sentences.ends.append(len(text))  # a turn of that length is not judged: no use in small pieces

    def _ready(self, text: str) -> list[int]:
        """Ends of the sentences to judge next. What no judge can read is left for later, alone."""
        ends = self._sentences.ends
        waiting = ends[bisect_right(ends, self._judged) :]
        if not (self._source.ended or self._is_full(text)):
            # A line in bold is a heading where words follow; a rule or two may be all that does.
            while waiting and not _WORD.search(text, waiting[-1]):
                waiting.pop()
        if waiting and self._removes_links:
            waiting = self._settled(text, waiting)
        most = self._draft.parts.limits.turn_chars
        if waiting and waiting[0] > most:
            return waiting[-1:]
        bad = _UNREADABLE.search(text, self._judged)
        limit = min(most, bad.start() if bad else len(text))
        return waiting[: bisect_right(waiting, limit)] or waiting[:1]

    def _settled(self, text: str, ends: list[int]) -> list[int]:
        """The ends that cut no link in two, whatever comes."""
        pressed = self._source.ended or self._is_full(text)
        if not pressed and len(text) < self._held:
            return []
        start = self._judged
        ranges, settled = settled_until(text[start:])
        firsts = [first for first, _ in ranges]

        def whole(end: int) -> bool:
            before = bisect_left(firsts, end - start)
            return before == 0 or ranges[before - 1][1] <= end - start

        kept = [end for end in ends if whole(end) and (pressed or end - start <= settled)]
        self._held = 0 if kept else len(text) + len(text[start:]) // _HELD_SHARE
        if pressed and not self._source.ended:
            self._open_from = start + settled
        return kept or (ends[-1:] if pressed else [])

    def _link_cuts(self, decided: Work, end: int) -> list[Span]:
        """Spans of the text up to `end` to leave out: links to hosts that no document has."""
        if not self._removes_links:
            return []
        start, text = self._out.upto, self._source.text
        stop = int(self._open_from) if start <= self._open_from < end else end
        line = max(text.rfind("\n", 0, start) + 1, start - _LINE)
        cut = cut_references(text[line:stop], lambda reference: self._known_hosts(decided).lacks(reference))
        spans = [Span(start=start - line, end=stop - line)] if cut is None else cut.spans
        placed = [(max(line + span.start, start), line + span.end) for span in spans]
        hidden = [Span(start=first, end=last) for first, last in placed if first < last]
        return [*hidden, Span(start=stop, end=end)] if stop < end else hidden

    def _known_hosts(self, decided: Work) -> KnownHosts:
        key = (decided.evidence, decided.turn.documents)
        if self._known is None or self._known[0] != key:
            self._known = (key, known_hosts(decided, self._draft.parts))
        return self._known[1]

    async def _judge(self, text: str, ends: list[int]) -> Work:
        """The first of the sentences, when it was judged ahead, else all of them at once."""
        self._asked = len(text)
        (end, work), self._ahead = self._ahead, (0, None)
        if work is None or end not in ends:
            end = ends[-1]
            work = await self._draft.judge_so_far(text[:end], complete=False, more=end < len(text))
        while self._learn():
            work = await self._draft.judge_so_far(text[:end], complete=False, more=end < len(text))
        self._tried = end
        judged_until = self._draft.judged_until(work)
        self._judged = max((place for place in ends if place <= min(end, judged_until)), default=self._judged)
        return work

    async def _let_through(self, work: Work, ends: list[int]) -> TurnReport | None:
        """Releases sentence by sentence; the report, when one of them may not be. None too when another draft was begun."""
        most = self._draft.parts.limits.claims
        for number, unit in enumerate(units(ends, self._out.upto, work.outcomes, most), 1):
            if number % _UNITS_AT_ONCE == 0:
                await asyncio.sleep(0)
            end = unit.end
            decided = decide_claims(work.with_(outcomes=self._outcomes_until(work, end)), self._draft.parts)
            if decided.decided.action is Action.REPAIR and self._may_ask_again():
                if await self._ask_again(decided, end):
                    return None
                work, decided = self._draft.with_spent(work), self._draft.with_spent(decided)
            if decided.decided.action is Action.REPAIR and self._repair_sentence(decided, unit.last):
                continue
            if decided.decided.action in (Action.REPAIR, Action.BLOCK):
                return await self._withhold(decided, work, end)
            self._release(decided, unit, ends)
        return None

    def _release(self, decided: Work, unit: Unit, ends: Sequence[int]) -> None:
        """Lets the unit's sentences through, but for those that say again what was dropped, and for links."""
        if not self._failed and not self._removes_links:
            self._out.note(decided.outcomes)
            self._out.release(unit.last)
            self._trace("released", unit.last)
            return
        noted = False
        for end in (end for end in ends if self._out.upto < end <= unit.last):
            if self._says_again(decided, end):
                self._out.drop(end)
                self._trace("dropped", end)
                continue
            if not noted:
                self._out.note(decided.outcomes)
                noted = True
            self._out.release(end, cuts=self._link_cuts(decided, end))
            self._trace("released", end)

    def _says_again(self, decided: Work, end: int) -> bool:
        sentence = Span(start=self._out.upto, end=end)
        own = any(outcome.claim.span and sentence.overlaps(outcome.claim.span) for outcome in decided.outcomes)
        return says_again(self._source.text[sentence.start : end], self._failed, own=own)

    def _trace(self, outcome: SentenceOutcome, end: int) -> None:
        """Traces what became of the sentence that ends there, and how long it was held."""
        self._draft.trace.sentence(outcome, self._source.seconds_since(end))

    def _may_ask_again(self) -> bool:
        nothing_out = not self._out.said and not self._out.dropped and not self._source.bound
        return self._again is not None and nothing_out and self._draft.may_regenerate

    async def _ask_again(self, decided: Work, end: int) -> bool:
        if self._again is None:
            raise AssertionError("another draft is asked for, and nobody can be asked")
        attempt = await self._draft.as_attempt(decided)
        try:
            deltas = await ask_again(self._again, self._source.text[:end], attempt)
        except NoAnswer as exc:
            self._again = None
            self._draft.warn(str(exc))
            return False
        old_source, self._rejected = self._source, (decided, end)
        self._begin(self._draft.next_draft(attempt), Source(deltas))
        await old_source.aclose()
        self._out.start_again(self._source, hold=self._draft.may_regenerate)
        self._source.start(self._out.pass_on)
        await self._draft.prepare()
        return True

    def _outcomes_until(self, work: Work, end: int) -> tuple[Outcome, ...]:
        """Outcomes up to `end`, without dropped sentences, for the policy.

        A claim without a place may stand in any sentence, so each has to wait for it.
        """
        unit = Span(start=self._out.upto, end=end)
        return tuple(
            outcome
            for outcome in work.outcomes
            if (span := outcome.claim.span) is None
            or (span.start < end and (span.overlaps(unit) or not self._is_dropped(span)))
        )

    def _repair_sentence(self, work: Work, end: int) -> bool:
        """Drops or marks the sentence; False if that cannot be done."""
        mode = self._mode()
        failed = [outcome for outcome in work.outcomes if outcome.claim.id in work.decided.claim_ids]
        if mode is RepairMode.ANNOTATE and failed:
            self._out.note(work.outcomes)
            self._out.release(end, self._marks(failed, end), self._link_cuts(work, end))
            self._trace("marked", end)
            return True
        unit = Span(start=self._out.upto, end=end)
        spans = [outcome.claim.span for outcome in failed]
        # What is out, or may be, cannot be dropped any more.
        inside = [span is not None and span.start >= self._first_open(unit) for span in spans]
        if mode is not RepairMode.REDACT or not failed or not all(inside):
            return False
        self._failed += failed_phrases(self._source.text, failed)
        header = _TABLE_HEADER.match(self._source.text, unit.start)
        if header and all(span.start >= header.end() for span in spans if span):
            self._out.release(header.end(), cuts=self._link_cuts(work, header.end()))
        self._out.drop(end)
        self._trace("dropped", end)
        return True

    def _first_open(self, unit: Span) -> int:
        """Where the unit begins, or the dropped sentences just before it."""
        start = unit.start
        for span in reversed(self._out.dropped):
            start = span.start if span.end == start else start
        return start

    def _mode(self) -> RepairMode:
        mode = self._policy.repair
        return self._policy.fallback if mode is RepairMode.REGENERATE else mode

    def _marks(self, failed: list[Outcome], end: int) -> dict[int, str]:
        marks: dict[int, str] = {}
        ends = [(outcome.claim.span.end, outcome) for outcome in failed if outcome.claim.span]
        for place, outcome in sorted(ends, key=lambda pair: pair[0]):
            if self._out.upto < place <= end:
                marks[place] = marks.get(place, "") + self._mark(outcome)
        return marks

    def _mark(self, outcome: Outcome) -> str:
        self._notes[outcome.claim.text] = f"{outcome.claim.text}: {why(outcome)}."
        return f" [{len(self._notes)}]"

    async def _finish(self, text: str, ends: list[int]) -> TurnReport | None:
        if not text:
            self._out.commit()
            return await self._draft.store(await self._draft.whole(""))
        source = self._source
        work = await self._draft.judge_so_far(text, complete=True)
        self._judged = len(text)
        report = await self._let_through(work, ends)
        if report is not None or self._source is not source:
            return report
        work = await self._draft.run_stage("decide", self._draft.with_spent(work))
        action = work.decided.action
        if action is Action.BLOCK:
            return await self._withhold(work, work, len(text))
        if action is Action.REPAIR or self._out.dropped or self._notes:
            repaired = self._repair_so_far(work)
            if repaired is None:
                return await self._withhold(work, work, len(text))
            work = repaired
        self._out.pass_on()
        await self._out.wait_until_taken()  # a process that is killed now must not have stored what nobody read
        work = await self._draft.run_stage("remember", self._deliver_rest(work))
        return await self._draft.write_report(work)

    def _repair_so_far(self, work: Work) -> Work | None:
        """The turn as it was repaired on its way; None if something is left that must not be there."""
        failed = [outcome for outcome in work.outcomes if outcome.claim.id in work.decided.claim_ids]
        repairing = work.decided.action is Action.REPAIR
        if self._mode() is RepairMode.ANNOTATE:
            if repairing:
                for outcome in failed:
                    if outcome.claim.text not in self._notes:
                        self._out.say(self._mark(outcome))
            notes = "\n".join(f"[{number}] {note}" for number, note in enumerate(self._notes.values(), 1))
            self._out.say(f"\n\n{notes}")
            return work.with_(repair=RepairMode.ANNOTATE, decision=_repair_decision(work.decided))
        kept = tuple(claim for claim in work.claims if claim.span and not self._is_dropped(claim.span))
        unrepaired = repairing and any(
            outcome.claim.span is None or not self._is_dropped(outcome.claim.span) for outcome in failed
        )
        if unrepaired or not kept or not self._out.said.strip():
            return None
        count = len(self._out.dropped)
        reason = f"{count} sentence{'s' * (count != 1)} dropped: {work.decided.reason}"
        return work.with_(
            kept=kept,
            repair=RepairMode.REDACT,
            decision=_repair_decision(work.decided).model_copy(update={"reason": reason}),
        )

    async def _withhold(self, decided: Work, work: Work, end: int) -> TurnReport:
        """Ends the turn with the policy's message. The sentences before stand: they were read, and had passed."""
        until = decided.with_(conversation=self._draft.conversation(self._source.text[:end]))
        decided = decided.with_(links=find_links(until, self._draft.parts).links)
        self._out.commit()
        self._trace("withheld", end)
        await self._source.aclose()
        if decided.decided.action is Action.REPAIR:
            decided = refuse(decided, self._policy.message)
        said_until = self._out.upto if self._out.said else 0
        message = self._policy.message
        self._out.say(f"\n\n{message}" if self._out.said else message)
        delivered = [claim for claim in work.claims if claim.span and claim.span.end <= said_until]
        kept = tuple(claim for claim in delivered if claim.span and not self._is_dropped(claim.span))
        outcomes = [
            outcome for outcome in work.outcomes if outcome.claim.span is None or outcome.claim.span.start < end
        ]
        work = self._deliver_rest(decided.with_(outcomes=tuple(outcomes), kept=kept))
        # What was read becomes knowledge, although the turn as a whole is withheld.
        decision = Decision(action=Action.FLAG, reason="sentences before the withheld one")
        await self._out.wait_until_taken()
        remembered = await self._draft.run_stage("remember", work.with_(decision=decision))
        return await self._draft.write_report(remembered.with_(decision=decided.decided))

    def _deliver_rest(self, work: Work) -> Work:
        return work.with_(response=self._out.said, placed=tuple(self._out.placed))

    def _is_dropped(self, span: Span) -> bool:
        return any(span.overlaps(dropped) for dropped in self._out.dropped)


def _repair_decision(decision: Decision) -> Decision:
    return decision.model_copy(update={"action": Action.REPAIR})
