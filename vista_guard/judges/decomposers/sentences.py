"""Sentences of a turn with their contexts and traces: the basis of all sentence decomposers.

*Nothing vanishes*: a sentence without claims is itself a claim, one that the decomposer fails on is unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from vista_guard.judges.embedded.english.decompose import MAX_STATEMENT, names_only, trimmed_span
from vista_guard.judges.embedded.english.segment import foreign_language, sentences
from vista_guard.judges.embedded.english.speakers import name_speakers, names, written_names
from vista_guard.judges.embedded.english.verbs import finish_sentence
from vista_guard.judges.embedded.forms import SYMBOLS, BlockKind, clean, fence, render
from vista_guard.protocols import Decomposer
from vista_guard.reading.canonical import canonical, folded
from vista_guard.types import Claim, Noun, Role, Span, Turn, UncheckedClaim

CUT = "[...]"
"""Marks omitted text in a context."""


@dataclass(frozen=True)
class Statement:
    """A sentence, list item or table row of a turn that may state something.

    `text` of a list item begins with the line that introduces the list. `whole`: not to be split, since it is code, too long
    for a sentence, or cannot be judged (`error`).
    """

    text: str
    span: Span
    whole: bool = False
    error: str | None = None


def statements(text: str) -> list[Statement]:
    """The statements of a turn's text, in order, without small talk, table headers and headings that only name a topic."""
    reading = render(canonical(text))
    found = []
    for sentence in sentences(reading.text):
        source = reading.text[sentence.start : sentence.end]
        span = trimmed_span(reading, sentence.start, sentence.end)
        if sentence.kind is BlockKind.CODE:
            found.append(Statement(fence(source), span, whole=True))
            continue
        content = clean(sentence.text or source)
        if sentence.kind is BlockKind.HEADER or not re.search(r"[^\W_]", content) or names_only(content, sentence):
            continue
        listed = sentence.lead and sentence.kind is BlockKind.ITEM
        content = f"{clean(sentence.lead)}: {content}" if listed else content
        found.append(
            Statement(content, span, whole=len(content) > MAX_STATEMENT or SYMBOLS.search(content) is not None)
        )
    return found


def stated(claim: Claim, span: Span) -> Statement:
    """A claim of the embedded judge's rules as a statement; one that they could not make stays unchecked."""
    error = claim.error if isinstance(claim, UncheckedClaim) else None
    return Statement(claim.text, span, whole=error is not None, error=error)


def overlaps(statement: Statement, spans: Iterable[Span]) -> bool:
    """True if one of the spans is in the statement, at least in part."""
    return any(span.overlaps(statement.span) for span in spans)


def window(found: Sequence[Statement], place: int, before: int, after: int, *, complete: bool = True) -> str:
    """The statement at `place` and its neighbours, with `[...]` for omitted text (DAD, §3.1).

    Args:
        found: the turn's statements.
        place: its index.
        before: number of statements before it.
        after: number of statements behind it.
        complete: False if the turn is still being written.

    Examples:
        >>> some = [Statement(f"{name}.", Span(start=0, end=1)) for name in "abcd"]
        >>> window(some, 2, 1, 0)
        '[...] b. c. [...]'
    """
    start, end = max(place - before, 0), place + after + 1
    texts = [statement.text for statement in found[start:end]]
    goes_on = end < len(found) or not complete
    return " ".join([*[CUT] * (start > 0), *texts, *[CUT] * goes_on])


def question_of(history: Sequence[Turn]) -> tuple[str, list[Turn]]:
    """The user's last message ("" if there is none), and the other turns."""
    place = next((n for n in reversed(range(len(history))) if history[n].role is Role.USER), None)
    if place is None:
        return "", list(history)
    return history[place].text, [*history[:place], *history[place + 1 :]]


def as_it_stands(text: str, turn: Turn) -> str:
    """A sentence as a claim: names the speakers in English text, and changes nothing else."""
    if foreign_language(folded(turn.text)) is not None:
        return text
    speaker, listener = names(turn.role)
    return finish_sentence(name_speakers(text, speaker, listener, written_names(turn.text)), ()) or text


Status = Literal["claims", "as it stands", "unchecked", "pending"]


class SentenceTrace(Noun):
    """How a decomposer read one sentence.

    `thoughts` are the decomposer's steps before its answer; `raw` is an unreadable answer. `note` says why the sentence is
    itself a claim, or unchecked; `status` is "pending" only while a turn is being written.
    """

    sentence: str
    span: Span
    context: str = ""
    thoughts: str = ""
    claims: tuple[str, ...] = ()
    status: Status = "claims"
    note: str | None = None
    raw: str | None = None

    @property
    def steps(self) -> str | None:
        """Thoughts and note, truncated for the claim; None if there are none."""
        text = "\n".join(filter(None, (self.thoughts, self.note and f"({self.status}: {self.note})")))
        return text[:MOST_STEPS] or None

    @property
    def failed(self) -> bool:
        """True if there was no answer, so that a retry may help."""
        return self.status == "unchecked" and self.note is not None and not self.thoughts


def as_claim(sentence: Statement, claim: str, note: str) -> SentenceTrace:
    """The record of a sentence that is one claim, and why; of one that cannot be judged, it is unchecked."""
    if sentence.error is not None:
        return SentenceTrace(sentence=sentence.text, span=sentence.span, status="unchecked", note=sentence.error)
    return SentenceTrace(sentence=sentence.text, span=sentence.span, claims=(claim,), status="as it stands", note=note)


@runtime_checkable
class TracingDecomposer(Decomposer, Protocol):
    """A decomposer that records how it read each sentence."""

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record per sentence, in order; `decompose` builds its claims from them."""
        ...


MOST_STEPS = 4_000
"""Most characters of a sentence's steps kept with its first claim."""


def claims_of(traces: Sequence[SentenceTrace], index: int, *, keep_steps: bool = False) -> list[Claim]:
    """The claims of turn `index`, with ids from `t{index}.c1` and the sentences' spans. Equal texts are one claim."""
    claims: dict[str | int, Claim] = {}
    for place, trace in enumerate(traces):
        if trace.status in ("unchecked", "pending"):
            pending = trace.status == "pending"
            claims[place] = UncheckedClaim(
                id="", text=trace.sentence, span=trace.span, error=trace.note or "", raw=trace.raw, pending=pending
            )
        else:
            steps = trace.steps if keep_steps else None
            for text in trace.claims:
                if text not in claims:
                    claims[text] = Claim(id="", text=text, span=trace.span, steps=steps)
                    steps = None
    return [claim.model_copy(update={"id": f"t{index}.c{number}"}) for number, claim in enumerate(claims.values(), 1)]


async def trace_of(decomposer: Decomposer, turn: Turn, history: Sequence[Turn]) -> list[SentenceTrace]:
    """The decomposer's trace; if it has none, its claims grouped by sentence."""
    if isinstance(decomposer, TracingDecomposer):
        return list(await decomposer.trace(turn, history))
    claims = await decomposer.decompose(turn, history)
    found = statements(turn.text)
    return [
        SentenceTrace(
            sentence=statement.text,
            span=statement.span,
            claims=tuple(claim.text for claim in claims if home(claim, found) == place),
        )
        for place, statement in enumerate(found)
    ]


def home(claim: Claim, found: Sequence[Statement]) -> int:
    """Index of the statement with the greatest overlap with the claim's span; 0 without a span."""
    span = claim.span
    if span is None:
        return 0
    return max(range(len(found)), key=lambda place: found[place].span.overlap(span), default=0)
