"""What a model's claims leave out of a turn, add to it or turn round.

One rule for all models that write claims: a turn may tell the model to find nothing in it, so the guard decides what is judged.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from vista_guard._aio import run_long
from vista_guard.judges.contract import growing, meter
from vista_guard.judges.decomposers.sentences import Statement, as_it_stands, statements
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.forms import is_code
from vista_guard.judges.embedded.opposites import opposite_word
from vista_guard.judges.embedded.veto import dropped_figure
from vista_guard.protocols import Decomposer
from vista_guard.reading.canonical import folded
from vista_guard.types import Claim, JudgeInfo, Turn, UncheckedClaim

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


def invented(claim: str, source: str, plain: str = "", *, english: bool = True) -> list[str]:
    """Content words of a claim that its source lacks. Names and figures must be equal, other words share a stem.

    Args:
        claim: a model's claim.
        source: the conversation in its prompt: question, context, history, sentence.
        plain: further text of its prompt, which gives words but no names or figures.
        english: False for other languages, where only figures are compared.

    Examples:
        >>> invented("His father was ChristopherFord.", "He was born to John Christopher Ford, his father.")
        ['ChristopherFord']
    """
    exact, shown = ({word.casefold() for word in _tokens(text)} for text in (source, plain))
    return [
        word
        for word in _tokens(claim)
        if (english or any(map(str.isdigit, word)))
        and not _is_known(word, exact)
        and not (word.islower() and _is_known(word, shown))
    ]


def _is_known(word: str, exact: Collection[str]) -> bool:
    low = word.casefold()
    if low in exact or low in _LIGHT or low.removesuffix("s") in exact or f"{low}s" in exact:
        return True
    if any(map(str.isdigit, word)) or any(map(str.isupper, word[1:])):
        return False
    stem = low[: max(len(low) - 3, 3)]
    return any(known.startswith(stem) for known in exact)


def says_something(claim: str) -> bool:
    """True if a claim has a word besides articles, pronouns and the like; "No." has none."""
    return any(word.casefold() not in _LIGHT for word in _tokens(claim))


def left_out(sentence: str, claims: Sequence[str]) -> list[str]:
    """Figures and names of a sentence that are missing from its claims.

    Examples:
        >>> left_out("The hall of Vale opened in 1850.", ["The hall of Vale exists."])
        ['1850']
    """
    covered = {word.casefold() for claim in claims for word in _tokens(claim)}
    wanted = [word for word in _names_and_figures(sentence) if len(word) > 1 or word.isdigit()]
    return [word for word in wanted if not _is_covered(word.casefold(), covered)]


def _is_covered(word: str, covered: Collection[str]) -> bool:
    if any(map(str.isdigit, word)):
        return word in covered
    return word in _LIGHT or any(
        known.startswith(word) or (len(known) > 3 and word.startswith(known)) for known in covered
    )


def _names_and_figures(sentence: str) -> Iterator[str]:
    """Figures, and capitalised words that open neither the sentence nor a quotation."""
    text = folded(sentence)
    for token in _TOKEN.finditer(text):
        word = token.group()
        opens = not re.search(r"[^\W_]", text[: token.start()]) or re.search(r"[.!?:\"]\W*$", text[: token.start()])
        if any(map(str.isdigit, word)):
            yield word.replace(",", "")
        elif word[0].isupper() and not opens:
            yield word


DENIAL = re.compile(r"\b(?:not|no|never|none|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Held:
    """What is judged of a sentence: the claims that count, and the sentence itself if `note` says why.

    `replaced` is True if a claim was dropped: it has words of its own, or says the contrary.
    """

    claims: tuple[str, ...]
    note: str | None = None
    replaced: bool = False


def hold(sentence: str, claims: Sequence[str], source: str, plain: str = "", *, english: bool) -> Held:
    """Holds a model's claims to their sentence.

    Args:
        sentence: the sentence that the claims are about.
        claims: the model's.
        source: the conversation that the model saw, the sentence among it.
        plain: what else it saw: gives words, but no names or figures.
        english: False for other languages, where only figures are compared.

    Examples:
        >>> hold("The hall is not heated.", ["The hall is heated."], "The hall is not heated.", english=True).claims
        ()
    """
    faults = {claim: fault for claim in claims if (fault := _fault(sentence, claim, source, plain, english=english))}
    kept = tuple(claim for claim in claims if claim not in faults)
    notes = [*faults.values()]
    gap = _gap(sentence, kept, english=english)
    if gap and not (gap == NO_CLAIM and notes):
        notes.append(gap)
    return Held(kept, "; ".join(notes) or None, replaced=bool(faults))


def _fault(sentence: str, claim: str, source: str, plain: str, *, english: bool) -> str | None:
    """Why a claim does not count."""
    if words := invented(claim, source, plain, english=english):
        return f"{', '.join(words)} in {claim!r} stands nowhere"
    if english and _is_contrary(sentence, claim):
        return f"{claim!r} says the contrary"
    return None


def _is_contrary(sentence: str, claim: str) -> bool:
    """True if only one of them denies something, or if the claim has the opposite of a word of the sentence."""
    text, said = folded(sentence), folded(claim)
    denials = list(DENIAL.finditer(text))
    if DENIAL.search(said):
        return not denials
    words = _content(said)
    denied = (next(iter(_content_in_order(text[denial.end() :])), "") for denial in denials)
    return any(word and _is_covered(word, words) for word in denied) or opposite_word(said, text) is not None


NO_CLAIM = "no claim is about it"


def _gap(sentence: str, claims: Sequence[str], *, english: bool) -> str | None:
    """What the claims leave out of their sentence."""
    if not claims:
        return NO_CLAIM
    words = left_out(sentence, claims)
    figure = dropped_figure(folded(sentence), folded("\n".join(claims)))
    if words or figure:
        return f"no claim has {', '.join(words or filter(None, [figure]))}"
    if not english:
        return None
    text, said = folded(sentence), folded("\n".join(claims))
    if len(DENIAL.findall(said)) < len(DENIAL.findall(text)):
        return "no claim has its denial"
    content = list(dict.fromkeys(_content_in_order(text)))
    missing = [word for word in content if not _is_covered(word, {token.casefold() for token in _tokens(said)})]
    if content and 2 * len(missing) >= len(content):
        return f"no claim has {', '.join(missing)}"
    changed = next(filter(None, (_changed_word(sentence, claim) for claim in claims)), None)
    return f"{changed[1]!r} stands for {changed[0]!r}" if changed else None


def _changed_word(sentence: str, claim: str) -> tuple[str, str] | None:
    """A content word of the sentence, and the one that replaces it where the words around are the same."""
    text, said = ([token.casefold() for token in _tokens(one)] for one in (sentence, claim))
    for kind, start, end, first, last in SequenceMatcher(None, text, said, autojunk=False).get_opcodes():
        gone, new = ([w for w in ws if w not in _LIGHT] for ws in (text[start:end], said[first:last]))
        lone = kind == "replace" and len(gone) == len(new) == 1
        if lone and gone[0] not in said and new[0] not in text and not _is_covered(gone[0], new):
            return gone[0], new[0]
    return None


class Covering:
    """Implements `Decomposer`: another's claims, and each sentence that they don't cover. For models that can drop a sentence.

    Example:
        `Guard.from_settings(judge=mine, decomposer=Covering(mine))` also judges what your own judge's claims leave out.

    Args:
        decomposer: any decomposer, or a judge.
        history: False if it reads the turn alone: then words of earlier turns are its own invention.
    """

    def __init__(self, decomposer: Decomposer, *, history: bool = True) -> None:
        self._decomposer = decomposer
        self._history = history

    @property
    def info(self) -> JudgeInfo:
        """The decomposer's; its version says that sentences are added."""
        inner = self._decomposer.info
        return JudgeInfo(name=inner.name, version=f"{inner.version}; covered")

    async def aclose(self) -> None:
        """Closes the decomposer, if it has connections."""
        close = getattr(self._decomposer, "aclose", None)
        if close is not None:
            await close()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The claims, numbered anew if sentences were added."""
        claims = await self._decomposer.decompose(turn, history)
        shown = history if self._history else ()
        run = asyncio.to_thread if len(turn.text) <= SHORT else run_long
        return await run(cover, claims, turn, shown, self.info.name, index=len(history))


SHORT = 2000
"""Longest turn, in characters, whose sentences are read without a queue."""


def cover(
    claims: Sequence[Claim],
    turn: Turn,
    history: Sequence[Turn],
    model: str,
    plain: str = "",
    *,
    index: int | None = None,
) -> list[Claim]:
    """The claims that a model makes of a turn, and each sentence that they don't cover, in the turn's order.

    A sentence that the splitter takes for a statement is judged as it stands if no claim is about it, if one is invented, or if
    one says the contrary; and beside its claims if they leave something out. Code without a claim becomes an `UncheckedClaim`.

    Args:
        claims: the model's, with spans where it quotes the turn.
        turn: the turn.
        history: the turns before it, as far as the model saw them.
        model: its name, for the report's warnings.
        plain: what else it saw, such as its instructions: claims may take words from it, but no names or figures.
        index: the turn's, if the model saw only some of the turns before it.
    """
    found = statements(turn.text)
    english = foreign_language(folded(turn.text)) is None
    source = "\n".join([turn.text, *(past.text for past in history)])
    places = [_place(claim, found) for claim in claims]
    judged: dict[int, Held] = {}
    for place in _stating(turn, history, found, english=english):
        about = [claim.text for claim, at in zip(claims, places, strict=True) if place in at]
        held = hold(found[place].text, about, source, plain, english=english)
        if held.note:
            judged[place] = held
            if held.replaced:
                said = found[place].text[:80]
                meter().warn(
                    f"{model} was not held to its claims of {said!r}: {held.note}. The sentence itself is judged"
                )
    if not judged:
        return list(claims)
    return _merge(claims, places, judged, found, turn, len(history) if index is None else index)


def _stating(turn: Turn, history: Sequence[Turn], found: Sequence[Statement], *, english: bool) -> list[int]:
    """The places of the statements that state something: not small talk, nor a question. In other languages, all."""
    if not english:
        return list(range(len(found)))
    spans = [claim.span for claim in decompose(turn, history, more=growing().more)]
    return [
        place for place, statement in enumerate(found) if any(span and span.overlaps(statement.span) for span in spans)
    ]


def _place(claim: Claim, found: Sequence[Statement]) -> tuple[int, ...]:
    """The statements that a claim is about: those of its quote, else the one that shares most of its words."""
    if claim.span is not None:
        return tuple(place for place, statement in enumerate(found) if claim.span.overlaps(statement.span))
    wanted = _content(claim.text)
    shared = [sum(_is_covered(word.casefold(), wanted) for word in _content(one.text)) for one in found]
    best = max(shared, default=0)
    return (shared.index(best),) if best else ()


def _content(text: str) -> set[str]:
    return set(_content_in_order(text))


def _content_in_order(text: str) -> list[str]:
    return [word for token in _tokens(text) if (word := token.casefold()) not in _LIGHT]


def _merge(
    claims: Sequence[Claim],
    places: Sequence[tuple[int, ...]],
    judged: dict[int, Held],
    found: Sequence[Statement],
    turn: Turn,
    index: int,
) -> list[Claim]:
    """The claims that count, with the sentences, numbered anew."""
    merged: list[tuple[int, Claim]] = []
    last = 0
    for claim, at in zip(claims, places, strict=True):
        last = at[0] if at else last
        if all(place not in judged or claim.text in judged[place].claims for place in at):
            merged.append((last, claim))
    merged += [(place, _sentence_claim(found[place], turn)) for place in judged]
    unique = dict[str, Claim]()
    for _, claim in sorted(merged, key=lambda pair: pair[0]):
        unique.setdefault(claim.text, claim)
    return [claim.model_copy(update={"id": f"t{index}.c{number}"}) for number, claim in enumerate(unique.values(), 1)]


def _sentence_claim(sentence: Statement, turn: Turn) -> Claim:
    if is_code(sentence.text):
        error = "code is not judged"
        return UncheckedClaim(id="", text=sentence.text, span=sentence.span, error=error, what="code")
    text = sentence.text if sentence.whole else as_it_stands(sentence.text, turn)
    return Claim(id="", text=text, span=sentence.span)
