"""The stages decide and repair: the policy decides, then the draft is regenerated, redacted, annotated or refused."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from vista_guard._aio import run_long
from vista_guard.policy.links import link_mode, with_links
from vista_guard.protocols import RiskPolicy
from vista_guard.reading.markdown import LETTERED, Line, MarkdownKind, read_lines
from vista_guard.reading.passages import sentence_spans
from vista_guard.turn.links import find_links, remove_links
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Action, Attempt, Claim, Decision, DraftSpan, Finding, Label, Outcome, RepairMode, Span


async def decide(work: Work, parts: Parts, emit: Emit) -> Work:
    work = decide_claims(await _linked(find_links, work, parts), parts)
    if work.decided.action is not Action.REPAIR:
        work = await _linked(remove_links, work, parts)
    _emit_decision(work, parts, emit)
    return work


async def _linked(read: Callable[[Work, Parts], Work], work: Work, parts: Parts) -> Work:
    """Reads the links of a turn; off the event loop, where it is long."""
    if len(work.turn.text) <= _SHORT or link_mode(parts.policy) == "allow":
        return read(work, parts)
    return await run_long(read, work, parts)


_SHORT = 2000
"""Characters that are read for links on the event loop: at most a few milliseconds of work."""


def decide_claims(work: Work, parts: Parts) -> Work:
    """The work with the policy's decision on its claims; links are not looked at."""
    if work.is_believed(parts):
        decision = Decision(action=Action.ALLOW, reason="the turn has no documents and ungrounded turns are trusted")
    else:
        decision = _decision(work, parts)
    response = parts.policy.message if decision.action is Action.BLOCK else work.turn.text
    return work.with_(decision=decision, response=response)


def _emit_decision(work: Work, parts: Parts, emit: Emit) -> None:
    decision = with_links(work.decided, work.links, link_mode(parts.policy))
    emit({"event": "decision", "decision": decision.model_dump(mode="json")})


def _decision(work: Work, parts: Parts) -> Decision:
    policy, missing = parts.policy, work.evidence_missing
    if not isinstance(policy, RiskPolicy):
        return policy(work.outcomes, evidence_missing=missing)
    return policy.weigh(work.outcomes, evidence_missing=missing, risk=parts.risk_of(work))


_WORDLESS = re.compile(r"[\s*_~`|>#]*")
"""The remains of a line without its words: emphasis, an empty row."""
_LEVELS = frozenset(range(1, 7))


@dataclass(frozen=True)
class _Line:
    """A line of the text, and what is left of it. `cut` if something is missing."""

    was: Line
    text: str
    cut: bool

    @property
    def dropped(self) -> bool:
        return (
            self.cut and _WORDLESS.fullmatch(self.text, min(self.was.body - self.was.start, len(self.text))) is not None
        )

    @property
    def is_row(self) -> bool:
        return self.was.kind in (MarkdownKind.ROW, MarkdownKind.RULE)


def without(text: str, dropped: Sequence[Span]) -> str:
    """The text without these sentences, each of them within one line.

    A line that says nothing any more goes with them, with the blank line before it, and so does a lead-in ("It has:"), a heading
    or a table's header when everything below it went. All other lines stay as they are.
    """
    return "\n".join(line.text for line in _tidy_lines(list(_lines(text, dropped)))).strip()


def _lines(text: str, dropped: Sequence[Span]) -> Iterator[_Line]:
    first = 0
    spans = sorted(dropped, key=lambda span: span.start)
    starts = [span.start for span in spans]
    for line in read_lines(text):
        while first < len(spans) and spans[first].end <= line.start:
            first += 1
        inside = spans[first : bisect_left(starts, line.end, first)]
        # Marks before a line's words stay with what is left of the line.
        places = [(max(span.start, line.body) - line.start, span.end - line.start) for span in inside]
        yield _Line(line, _without_places(text[line.start : line.end], places), cut=bool(inside))


def _without_places(line: str, places: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(places, reverse=True):
        if start >= end:
            continue
        before, after = line[:start], line[end:]
        for mark in ("**", "__", "~~"):  # of emphasis that goes on beyond the sentence, the mark stays
            if line.count(mark, start, end) % 2:
                behind = line.rfind(mark, start, end) + len(mark)
                opens = behind < end and not line[behind].isspace()
                before, after = (before + mark, after) if opens else (before.rstrip(" "), mark + after)
        # The blank between two sentences goes with the first of them; one after a list's marker stays.
        line = before + after.lstrip(" ") if after.strip() else before.rstrip(" ") + after.strip(" ")
    return line


def _tidy_lines(lines: list[_Line]) -> Iterator[_Line]:
    gone = {number for number, line in enumerate(lines) if line.dropped}
    idle = [number for number in range(len(lines)) if _leads_to_nothing(lines, number, gone)]
    lines = [_without_lead_in(line) if number in idle else line for number, line in enumerate(lines)]
    gone |= {number for number in idle if lines[number].dropped}
    gone |= set(_empty_tables(lines, gone))
    gone |= set(_empty_sections(lines, gone))
    last_kept: _Line | None = None
    after_gap = False
    for number, line in enumerate(lines):
        if number in gone:
            after_gap = True
        elif not (after_gap and not line.text.strip() and (last_kept is None or not last_kept.text.strip())):
            last_kept, after_gap = line, False
            yield line


def _empty_tables(lines: Sequence[_Line], gone: set[int]) -> Iterator[int]:
    """Headers and rules of tables whose rows all went."""
    below, kept = False, False
    for number in range(len(lines) - 1, 0, -1):
        if below and not kept and lines[number].was.kind is MarkdownKind.RULE and lines[number - 1].is_row:
            yield from (number - 1, number)
        if number in gone:
            below = True
        else:
            below = kept = lines[number].is_row


def _empty_sections(lines: Sequence[_Line], gone: set[int]) -> Iterator[int]:
    """Headings below which every line went."""
    gone_below, kept_below = set[int](), set[int]()  # levels with such lines from here to the section's end
    for number in range(len(lines) - 1, -1, -1):
        level = 0 if lines[number].cut else lines[number].was.level
        if number in gone:
            gone_below |= _LEVELS
        elif not level:
            kept_below |= _LEVELS if lines[number].text.strip() else set()
        else:
            empty = level in gone_below and level not in kept_below
            outer = {one for one in _LEVELS if one < level}
            gone_below &= outer
            kept_below &= outer
            if empty:
                yield number
            else:
                kept_below |= outer


def _without_lead_in(line: _Line) -> _Line:
    """The line without its last sentence, which introduces what is gone."""
    sentences = sentence_spans(line.text)
    return _Line(line.was, line.text[: sentences[-1].start].rstrip() if sentences else "", cut=True)


def _leads_to_nothing(lines: Sequence[_Line], number: int, gone: set[int]) -> bool:
    """True if the line introduces a list with no items left."""
    if not lines[number].text.rstrip(" *_").endswith(":"):
        return False
    below = False
    for other in range(number + 1, len(lines)):
        if other in gone:
            below = True
        elif lines[other].was.item or LETTERED.match(lines[other].text):
            return False
        elif lines[other].text.strip():
            break
    return below


EARLIER = Attempt(
    outcomes=(),
    decision=Decision(action=Action.REPAIR, reason="an earlier draft of this turn did not hold up"),
    repair=RepairMode.REGENERATE,
)
"""A draft that was rejected before the run was interrupted. Its text is not kept."""


async def repair(work: Work, parts: Parts, emit: Emit) -> Work:
    """One repair. With `Work.repair` set to REGENERATE the graph goes back to the agent."""
    mode = parts.policy.repair
    if mode is RepairMode.REGENERATE:
        if work.can_regenerate and len(work.attempts) < parts.policy.max_attempts:
            attempt = Attempt(outcomes=work.outcomes, decision=work.decided, repair=mode)
            return work.with_(repair=mode, attempts=(*work.attempts, attempt))
        mode = parts.policy.fallback
    repaired = {RepairMode.REDACT: redact, RepairMode.ANNOTATE: annotate}.get(mode, refuse)(work, parts.policy.message)
    repaired = await _linked(remove_links, repaired, parts)
    _emit_decision(repaired, parts, emit)
    return repaired


def feedback(work: Work) -> str:
    failed = "\n".join(f"- {outcome.claim.text} ({why(outcome)})" for outcome in _failed_outcomes(work))
    prompt = files("vista_guard.turn").joinpath("prompts", "regenerate.txt").read_text(encoding="utf-8")
    return Template(prompt).substitute(claims=failed).strip()


def redact(work: Work, message: str) -> Work:
    """Drops the sentences whose claims failed. Refuses when nothing would be left, or a claim cannot be placed."""
    spans = [outcome.claim.span for outcome in _failed_outcomes(work)]
    if not spans or None in spans:
        return refuse(work, message)
    text, phrases = work.turn.text, failed_phrases(work.turn.text, _failed_outcomes(work))
    placed = [claim.span for claim in work.claims if claim.span]
    dropped = [
        sentence
        for sentence in sentence_spans(text)
        if any(sentence.overlaps(span) for span in spans if span)
        or says_again(text[sentence.start : sentence.end], phrases, own=any(map(sentence.overlaps, placed)))
    ]
    rest = without(text, dropped)
    kept = [claim for claim in work.claims if claim.span and not any(claim.span.overlaps(span) for span in dropped)]
    if not kept or not rest:
        return refuse(work, message)
    reason = f"{len(dropped)} sentence{'s' * (len(dropped) != 1)} dropped: {work.decided.reason}"
    return work.with_(
        response=rest,
        kept=tuple(kept),
        placed=tuple(_remaining_spans(text, dropped, rest)),
        repair=RepairMode.REDACT,
        decision=work.decided.model_copy(update={"reason": reason}),
    )


_WORD = re.compile(r"\w+")
_PHRASE = 4
"""Fewest words that are said again on purpose, in a sentence that makes a claim of its own."""


def failed_phrases(text: str, failed: Iterable[Outcome]) -> list[str]:
    """The words of failed claims, as claims and as the turn's `text` has them. See `says_again`."""
    said = [part for claim in (one.claim for one in failed) for part in (claim.text, _source(claim, text))]
    return [words for words in dict.fromkeys(map(_plain, said)) if words.strip()]


def says_again(sentence: str, phrases: Sequence[str], *, own: bool) -> bool:
    """True if a sentence repeats what failed. Equal claims of a turn are one claim, placed where it is first said.

    `own`: the sentence makes a claim of its own; then phrases of a few words do not count.
    """
    said = _plain(sentence) if phrases else ""
    return any(phrase in said and (not own or len(phrase.split()) >= _PHRASE) for phrase in phrases)


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _source(claim: Claim, text: str) -> str:
    return text[claim.span.start : claim.span.end] if claim.span else ""


def _remaining_spans(text: str, dropped: Sequence[Span], rest: str) -> Iterator[DraftSpan]:
    """Places of the sentences that were not dropped, in the draft and in the rest."""
    upto = 0
    for sentence in sentence_spans(text):
        if any(sentence.overlaps(span) for span in dropped):
            continue
        place = rest.find(text[sentence.start : sentence.end], upto)
        if place >= 0:
            upto = place + sentence.end - sentence.start
            yield DraftSpan(draft=sentence, response=Span(start=place, end=upto))


def annotate(work: Work, message: str) -> Work:
    text = work.turn.text
    failed = sorted(_failed_outcomes(work), key=lambda outcome: _end(outcome.claim, len(text)))
    for number in range(len(failed), 0, -1):
        end = _end(failed[number - 1].claim, len(text))
        text = f"{text[:end]} [{number}]{text[end:]}"
    notes = [f"[{number}] {outcome.claim.text}: {why(outcome)}." for number, outcome in enumerate(failed, 1)]
    marks = [(_end(outcome.claim, len(work.turn.text)), len(f" [{n}]")) for n, outcome in enumerate(failed, 1)]
    placed = tuple(_pieces_between(marks, len(work.turn.text)))
    return work.with_(response=text + "\n\n" + "\n".join(notes), placed=placed, repair=RepairMode.ANNOTATE)


def _pieces_between(marks: Sequence[tuple[int, int]], length: int) -> Iterator[DraftSpan]:
    """The pieces of a text of this length between its marks: (place, size) of each, in order."""
    start = shift = 0
    for place, size in (*marks, (length, 0)):
        if place > start:
            yield DraftSpan(draft=Span(start=start, end=place), response=Span(start=start + shift, end=place + shift))
        start, shift = max(start, place), shift + size


def refuse(work: Work, message: str) -> Work:
    reason = f"could not be repaired: {work.decided.reason}"
    decision = Decision(action=Action.BLOCK, reason=reason, claim_ids=work.decided.claim_ids)
    return work.with_(response=message, decision=decision, placed=(), repair=RepairMode.REFUSE)


def _failed_outcomes(work: Work) -> list[Outcome]:
    return [outcome for outcome in work.outcomes if outcome.claim.id in work.decided.claim_ids]


def why(outcome: Outcome) -> str:
    """The reason a claim failed, for readers."""
    if not isinstance(outcome, Finding):
        return "could not be checked"
    if outcome.label is Label.CONTRADICTED and outcome.evidence:
        return f"contradicted by: “{outcome.evidence[0].quote}”"
    return "not supported by the sources"


def _end(claim: Claim, length: int) -> int:
    return claim.span.end if claim.span else length
