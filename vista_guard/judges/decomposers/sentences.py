"""Sentences of a turn with their contexts, and what became of each: the ground that decomposers of sentences stand on.

*Nothing vanishes*: a sentence that a decomposer finds no claim in is a claim as it stands, one that it fails on is unchecked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from vista_guard.judges.embedded.english.decompose import MAX_STATEMENT, names_only, trimmed_span
from vista_guard.judges.embedded.english.segment import foreign, sentences
from vista_guard.judges.embedded.english.speakers import name_speakers, names, written_names
from vista_guard.judges.embedded.english.verbs import finish_sentence
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.forms import SYMBOLS, BlockKind, clean, fence, render
from vista_guard.protocols import Decomposer
from vista_guard.reading.canonical import canonical, folded
from vista_guard.types import Claim, Noun, Role, Span, Turn, UncheckedClaim

CUT = "[...]"
"""Stands in a context for text that is not shown."""


@dataclass(frozen=True)
class Statement:
    """A sentence, list item or table row of a turn that may state something.

    `text` has the line that introduces a list before its item. `whole`: it is no sentence to take apart, but code or a text that
    is too long for one.
    """

    text: str
    span: Span
    whole: bool = False


def statements(text: str) -> list[Statement]:
    """The statements of a turn's text, in order. Small talk, table headers and headings that only name a topic are none."""
    reading = render(canonical(text))
    found = []
    for one in sentences(reading.text):
        source = reading.text[one.start : one.end]
        span = trimmed_span(reading, one.start, one.end)
        if one.kind is BlockKind.CODE:
            found.append(Statement(fence(source), span, whole=True))
            continue
        said = clean(one.text or source)
        if one.kind is BlockKind.HEADER or not re.search(r"[^\W_]", said) or names_only(said, one):
            continue
        listed = one.lead and one.kind is BlockKind.ITEM
        said = f"{clean(one.lead)}: {said}" if listed else said
        found.append(Statement(said, span, whole=len(said) > MAX_STATEMENT or SYMBOLS.search(said) is not None))
    return found


def window(found: Sequence[Statement], place: int, before: int, after: int, *, complete: bool = True) -> str:
    """The statement at `place` with those around it, `[...]` where the text goes on (DAD, §3.1).

    Args:
        found: the turn's statements.
        place: the one to read, from 0.
        before: how many statements before it are shown.
        after: how many behind it.
        complete: False for the beginning of a turn that goes on.

    Examples:
        >>> some = [Statement(f"{name}.", Span(start=0, end=1)) for name in "abcd"]
        >>> window(some, 2, 1, 0)
        '[...] b. c. [...]'
    """
    start, end = max(place - before, 0), place + after + 1
    shown = [one.text for one in found[start:end]]
    goes_on = end < len(found) or not complete
    return " ".join([*[CUT] * (start > 0), *shown, *[CUT] * goes_on])


def question_of(history: Sequence[Turn]) -> tuple[str, list[Turn]]:
    """The user's last message, "" where nobody asked, and the turns beside it."""
    place = next((n for n in reversed(range(len(history))) if history[n].role is Role.USER), None)
    if place is None:
        return "", list(history)
    return history[place].text, [*history[:place], *history[place + 1 :]]


def as_it_stands(text: str, turn: Turn) -> str:
    """A sentence as a claim: who speaks and who listens are named where it is English, nothing else is changed."""
    if foreign(folded(turn.text)) is not None:
        return text
    speaker, listener = names(turn.role)
    return finish_sentence(name_speakers(text, speaker, listener, written_names(turn.text)), ()) or text


Status = Literal["claims", "as it stands", "unchecked", "pending"]


class SentenceTrace(Noun):
    """How a decomposer read one sentence.

    `thoughts` are the steps before its answer, in the decomposer's own words; `raw` is the answer that could not be read. `note`
    says why the sentence stands as a claim, or is unchecked; `status` is "pending" only while a turn is being written.
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
        """Thoughts and note, as far as they are kept with a claim; None where there are none."""
        told = "\n".join(filter(None, (self.thoughts, self.note and f"({self.status}: {self.note})")))
        return told[:MOST_STEPS] or None

    @property
    def failed(self) -> bool:
        """True if there was no answer, so that it may be asked again."""
        return self.status == "unchecked" and self.note is not None and not self.thoughts


def as_claim(sentence: Statement, claim: str, note: str) -> SentenceTrace:
    """The record of a sentence that stands as one claim, and why."""
    return SentenceTrace(sentence=sentence.text, span=sentence.span, claims=(claim,), status="as it stands", note=note)


@runtime_checkable
class TracingDecomposer(Decomposer, Protocol):
    """A decomposer that tells how it read each sentence."""

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record a sentence, in order; `decompose` makes its claims of the same records."""
        ...


MOST_STEPS = 4_000
"""Characters of a sentence's steps that are kept with its first claim."""


def claims_of(traces: Sequence[SentenceTrace], index: int, *, keep_steps: bool = False) -> list[Claim]:
    """The claims of turn `index`, ids `t{index}.c1` on, spans the sentences'. Equal texts are one claim."""
    claims: dict[str | int, Claim] = {}
    for place, one in enumerate(traces):
        if one.status in ("unchecked", "pending"):
            pending = one.status == "pending"
            claims[place] = UncheckedClaim(
                id="", text=one.sentence, span=one.span, error=one.note or "", raw=one.raw, pending=pending
            )
        else:
            steps = one.steps if keep_steps else None
            for text in one.claims:
                if text not in claims:
                    claims[text] = Claim(id="", text=text, span=one.span, steps=steps)
                    steps = None
    return [claim.model_copy(update={"id": f"t{index}.c{number}"}) for number, claim in enumerate(claims.values(), 1)]


async def trace_of(decomposer: Decomposer, turn: Turn, history: Sequence[Turn]) -> list[SentenceTrace]:
    """The decomposer's own trace; of one that tells none, its claims by the sentence that they stand in."""
    if isinstance(decomposer, TracingDecomposer):
        return list(await decomposer.trace(turn, history))
    claims = await decomposer.decompose(turn, history)
    found = statements(turn.text)
    return [
        SentenceTrace(
            sentence=one.text,
            span=one.span,
            claims=tuple(claim.text for claim in claims if home(claim, found) == place),
        )
        for place, one in enumerate(found)
    ]


def home(claim: Claim, found: Sequence[Statement]) -> int:
    """The statement that a claim stands in: the one that shares most of its place; the first where it has none."""
    span = claim.span
    if span is None:
        return 0
    return max(range(len(found)), key=lambda place: found[place].span.overlap(span), default=0)


_TOKEN = re.compile(r"[^\W_]+(?:[.,][0-9]+)*")
_LIGHT = word_set(
    """a an the of in on at to for with by from as and or but nor not no is are was were be been being am have has had having
    do does did done it its this that these those there here he she they his her their him them i me my you your we us our who
    whom whose which what when where while why how than then also both each only one any some all such other another same more
    most less least very so too if because although though since until before after during between about into onto over under
    out up down off through against within without according named called known name names says said say states stated claims
    made make makes making became become becomes get gets got took take takes taken takes place part located exists exist
    existed person people someone something thing things way time times assistant user can could may might will would shall
    should must s t"""
)


def _tokens(text: str) -> list[str]:
    return [token.replace(",", "") if token[0].isdigit() else token for token in _TOKEN.findall(folded(text))]


def invented(claim: str, source: str, *, english: bool = True) -> list[str]:
    """Content words of a claim that its source has not. Names and figures must be the same, other words share their stem.

    Args:
        claim: what a model made.
        source: all that it was shown: question, context, history, sentence.
        english: False in other languages, where only figures are compared.

    Examples:
        >>> invented("His father was ChristopherFord.", "He was born to John Christopher Ford, his father.")
        ['ChristopherFord']
    """
    known = _tokens(source)
    exact = {word.casefold() for word in known}
    return [word for word in _tokens(claim) if not _is_known(word, exact) and (english or any(map(str.isdigit, word)))]


def _is_known(word: str, exact: Collection[str]) -> bool:
    low = word.casefold()
    if low in exact or low in _LIGHT or low.removesuffix("s") in exact or f"{low}s" in exact:
        return True
    if any(map(str.isdigit, word)) or any(map(str.isupper, word[1:])):
        return False
    stem = low[: max(len(low) - 3, 3)]
    return any(one.startswith(stem) for one in exact)


def says_something(claim: str) -> bool:
    """True if a claim has a word beside articles, pronouns and the like: "No." stands for no sentence."""
    return any(word.casefold() not in _LIGHT for word in _tokens(claim))


def left_out(sentence: str, claims: Sequence[str]) -> list[str]:
    """Figures and names of a sentence that none of its claims has.

    Examples:
        >>> left_out("The hall of Vale opened in 1850.", ["The hall of Vale exists."])
        ['1850']
    """
    kept = {word.casefold() for claim in claims for word in _tokens(claim)}
    wanted = [word for word in _marked(sentence) if len(word) > 1 or word.isdigit()]
    return [word for word in wanted if not _is_told(word.casefold(), kept)]


def _is_told(word: str, told: Collection[str]) -> bool:
    if any(map(str.isdigit, word)):
        return word in told
    return word in _LIGHT or any(one.startswith(word) or (len(one) > 3 and word.startswith(one)) for one in told)


def _marked(sentence: str) -> Iterator[str]:
    """Figures, and words with a capital that open neither the sentence nor a quotation."""
    text = folded(sentence)
    for token in _TOKEN.finditer(text):
        word = token.group()
        opens = not re.search(r"[^\W_]", text[: token.start()]) or re.search(r"[.!?:\"]\W*$", text[: token.start()])
        if any(map(str.isdigit, word)):
            yield word.replace(",", "")
        elif word[0].isupper() and not opens:
            yield word
