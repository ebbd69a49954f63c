"""Holds a model's claims to their turn: nothing left out, added or turned round.

One rule for all models that write claims: a turn may tell the model to find nothing in it, so the guard decides what is judged.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from string import ascii_letters
from unicodedata import combining, normalize

from vista_guard._aio import run_long
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import growing, meter
from vista_guard.judges.decomposers.sentences import Statement, as_it_stands, overlaps, stated, statements
from vista_guard.judges.embedded.english.cues import FUNCTION_WORDS, SAYING
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.embedded.english.speakers import without_opener
from vista_guard.judges.embedded.english.words import ADVERBS, AUXILIARIES, PRONOUNS, word_set
from vista_guard.judges.embedded.forms import is_code
from vista_guard.judges.embedded.opposites import opposite_word
from vista_guard.judges.embedded.quantities import amounts
from vista_guard.judges.embedded.veto import dropped_figure
from vista_guard.protocols import Decomposer
from vista_guard.reading.canonical import folded
from vista_guard.types import Claim, JudgeInfo, Span, Turn, UncheckedClaim

_TOKEN = re.compile(r"(?<![^\W_])(?!(?<=\w['’])[a-z]{1,2}\b|[^\W_]+n['’]t\b)[^\W_]+(?:[.,][0-9]+)*")
"""Not what follows an apostrophe, nor "isn't": `DENIAL` finds these."""
_ENDING = re.compile(r"(?<=\w\w)(?:y?ing|i?ed|i?es|e?s|e|y)$")
_LIGHT = (AUXILIARIES | PRONOUNS | FUNCTION_WORDS | SAYING - {"sure"}) | word_set(
    """according after also although another assistant be became because become becomes been before being between called done
    during exist existed exists get gets got having least located made make makes making name named names nor one only other part
    people person place same since someone something state stated states take taken takes thing things though through time times
    too took until user very way while within without"""
)
"""Words that say nothing by themselves: a claim may add or leave them out."""


def _tokens(text: str) -> list[str]:
    return [_plain(token) for token in _TOKEN.findall(_letters(text))]


def _letters(text: str) -> str:
    """A text with letters as they are typed: "José" as "Jose"."""
    return "".join(sign for sign in normalize("NFD", folded(text)) if not combining(sign))


def _plain(token: str) -> str:
    """A figure without commas and unit: "6pm", "10km"; but "4b" is a name."""
    if not token[0].isdigit():
        return token
    has_unit = not token[-1].isdigit() and any(one.end - one.start == len(token) for one in amounts(token))
    return (token.rstrip(ascii_letters) if has_unit else token).replace(",", "")


def invented(claim: str, source: str, plain: str = "", *, english: bool = True) -> list[str]:
    """Content words of a claim that its source lacks in every form: figures have a value, names and words a stem.

    Args:
        claim: a model's claim.
        source: the conversation in its prompt: question, context, history, sentence.
        plain: further text of its prompt, which gives words but no names or figures.
        english: False for other languages, where only figures are compared.

    Examples:
        >>> invented("His father was ChristopherFord.", "He was born to John Christopher Ford, his father.")
        ['ChristopherFord']
    """
    return [
        word
        for word in _tokens(claim)
        if (english or _is_figure(word)) and not _has(source, word) and not (word.islower() and _has(plain, word))
    ]


def _has(text: str, word: str) -> bool:
    """True if a text has a word: a figure in any spelling, an abbreviation or its words, another form of a word or name."""
    low, known = word.casefold(), _by_letter(text)
    alike = known.get(low[0], ())
    if low in _LIGHT or low in alike:
        return True
    if _is_figure(word) and not word.replace(".", "").isdigit():
        return False
    if dropped_figure(word, "") is not None:  # in words as well
        return dropped_figure(word, folded(text)) is None
    if any(map(str.isupper, word[1:])):
        full = r"\w+\W+(?:[a-z]{1,3}\W+)?".join(word)
        return word.isupper() and re.search(rf"\b{full}\w", folded(text)) is not None
    return any(_is_form(low, other, name=not word.islower()) for other in alike)


def _is_form(word: str, other: str, *, name: bool) -> bool:
    """True if two words differ in their endings, or by a slip that leaves their letters."""
    short, long = sorted((word, other), key=len)
    return (
        (len(short) > 3 and long.startswith(short[: max(4, len(short) - (1 if name else 2))]))
        or (len(short) > 6 and len(long) - len(short) <= 1 and set(word) == set(other))
        or (len(short) > (5 if name else 1) and _ENDING.sub("", word) == _ENDING.sub("", other))
    )


@lru_cache(maxsize=64)
def _by_letter(text: str) -> dict[str, set[str]]:
    """The words of a text by their first letters."""
    words: dict[str, set[str]] = {}
    for token in map(str.casefold, _tokens(text)):
        words.setdefault(token[0], set()).add(token)
    return words


def _is_figure(word: str) -> bool:
    return any(map(str.isdigit, word))


def says_something(claim: str) -> bool:
    """True if a claim has a word besides articles, pronouns and the like; "No." has none."""
    return bool(_content(claim))


def left_out(sentence: str, claims: Sequence[str]) -> list[str]:
    """Figures and names of a sentence that are missing from its claims.

    Examples:
        >>> left_out("The hall of Vale opened in 1850.", ["The hall of Vale exists."])
        ['1850']
    """
    text, lost = _letters(sentence), list[str]()
    for token in _TOKEN.finditer(text):
        word = _plain(token.group())
        opens = re.search(r"(?:^|[.!?:\"])[\W_]*$", text[: token.start()])  # a sentence or a quotation
        wanted = word.isdigit() or (len(word) > 1 and (_is_figure(word) or (word[0].isupper() and not opens)))
        if wanted and not _has("\n".join(claims), word):
            lost.append(word)
    return lost


DENIAL = re.compile(r"\b(?:not|no|never|none|neither|nor|cannot|without)\b|n['’]t\b", re.IGNORECASE)


@dataclass(frozen=True)
class Held:
    """The texts to judge for a sentence: the claims that count, and the sentence itself if `note` says why.

    `replaced` is True if a claim was dropped: it has a name or figure of its own, is on something else, or says the contrary.
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
    said = folded(sentence)
    if english:
        said = re.sub(r"^(\w+)n['’]t\b(?=.*\?)", r"\1", without_opener(said))  # "Isn't it old?" denies nothing
    denied = _denied(said, claims) if english else ()
    faults: dict[str, str] = {}
    for claim in claims:
        if fault := _of_nowhere(claim, source, plain, english=english):
            faults[claim] = fault
        elif english and _is_contrary(said, claim, denied):
            faults[claim] = f"{claim!r} says the contrary"
    kept = tuple(claim for claim in claims if claim not in faults)
    gap = _gap(sentence, said, kept, f"{source}\n{plain}", english=english) if kept or not faults else None
    return Held(kept, "; ".join(filter(None, [*faults.values(), gap])) or None, replaced=bool(faults))


def _of_nowhere(claim: str, source: str, plain: str = "", *, english: bool) -> str | None:
    """Names the words of a claim's own invention, if they are names or figures, or most of it."""
    own = invented(claim, source, plain, english=english)
    if 2 * len(own) <= len(_content(claim)) and all(map(str.islower, own)):
        return None
    return f"{', '.join(own)} in {claim!r} does not appear in what it was shown"


def _denied(sentence: str, claims: Sequence[str]) -> list[str]:
    """The words that a sentence denies and that no claim denies: the first behind each denial."""
    clauses = (re.split(r"[,;:.!?]", sentence[denial.end() :])[0] for denial in DENIAL.finditer(sentence))
    denying = "\n".join(filter(DENIAL.search, map(folded, claims)))
    return [word for clause in clauses for word in _content(clause)[:1] if not _has(denying, word)]


def _is_contrary(sentence: str, claim: str, denied: Sequence[str]) -> bool:
    """True if a claim alone denies something, says what is only denied, or has the opposite of a word of the sentence."""
    said = folded(claim)
    if DENIAL.search(said):
        return not DENIAL.search(sentence)
    return any(_has(said, word) for word in denied) or opposite_word(said, sentence) is not None


NO_CLAIM = "no claim is about it"


def _gap(sentence: str, stated: str, claims: Sequence[str], shown: str, *, english: bool) -> str | None:
    """Names the part of their sentence that the claims leave out; `stated` is the sentence without its opener."""
    if not claims:
        return NO_CLAIM
    said = folded("\n".join(claims))
    lost = left_out(sentence, claims) or list(filter(None, [dropped_figure(stated, said)]))
    if lost or not english:
        return f"no claim has {', '.join(lost)}" if lost else None
    if len(DENIAL.findall(said)) < len(DENIAL.findall(stated)):
        return "no claim has its denial"
    content = _content(stated)
    missing = [word for word in content if not _has(said, word)]
    if missing and 2 * len(missing) >= len(content):
        return f"no claim has {', '.join(missing)}"
    changed = next(filter(None, (_changed(stated, claim, missing, shown) for claim in claims)), None)
    return changed and f"{changed[1]!r} stands for {changed[0]!r}"


def _changed(sentence: str, claim: str, missing: Collection[str], shown: str) -> tuple[str, str] | None:
    """A missing word of the sentence, and the one in its place: a word of nowhere, or the only one between equal words."""
    text, said = ([token.casefold() for token in _tokens(one)] for one in (sentence, claim))
    for kind, start, end, first, last in SequenceMatcher(None, text, said, autojunk=False).get_opcodes():
        gone, new = ([w for w in ws if w not in _LIGHT] for ws in (text[start:end], said[first:last]))
        if kind == "replace" and gone and new:
            alone = len(gone) == len(new) == 1 and new[0] not in text
            for old, other in ((gone[0], new[0]), (gone[-1], new[-1])):
                same_kind = (old in ADVERBS) == (other in ADVERBS)
                if old in missing and same_kind and (alone or not _has(shown, other)):
                    return old, other
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

    @property
    def why_exhausted(self) -> str | None:
        """Why the decomposer makes no more calls, as in `ChatModel.why_exhausted`."""
        return ensemble.why_exhausted(self._decomposer)

    def warm(self) -> None:
        """Loads what the decomposer's first turn would load. Blocks."""
        ensemble.warm(self._decomposer)

    async def aclose(self) -> None:
        """Closes the decomposer, if it has connections."""
        await ensemble.aclose(self._decomposer)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The claims, numbered anew if sentences were added."""
        claims = await self._decomposer.decompose(turn, history)
        run = asyncio.to_thread if len(turn.text) <= SHORT else run_long
        return await run(cover, claims, turn, history, self.info.name, sees_history=self._history)


SHORT = 2000
"""Longest turn, in characters, whose sentences are read without a queue."""


def cover(
    claims: Sequence[Claim],
    turn: Turn,
    history: Sequence[Turn],
    model: str,
    plain: str = "",
    *,
    sees_history: bool = True,
) -> list[Claim]:
    """The claims that a model makes of a turn, and each sentence that they don't cover, in the turn's order.

    A sentence that the splitter takes for a statement is judged as it stands if no claim is about it, if one is invented, or if
    one says the contrary; and beside its claims if they leave something out. Code without a claim becomes an `UncheckedClaim`.
    An invented claim about no sentence at all, such as one of the prompt's examples, is left out.

    Args:
        claims: the model's, with spans where it quotes the turn.
        turn: the turn.
        history: the turns before it.
        model: its name, for the report's warnings.
        plain: what else it saw, such as its instructions: claims may take words from it, but no names or figures.
        sees_history: False if the model read the turn alone: then words of earlier turns are its own invention.
    """
    found, stating = read_turn(turn, history)
    english = foreign_language(folded(turn.text)) is None
    source = "\n".join([turn.text, *(past.text for past in history if sees_history)])
    asked = history[-1].text if history else ""
    words = [_content(without_opener(statement.text)) or _content(asked) for statement in found]
    places = [_place(claim, found, words) for claim in claims]
    strays = {
        claim.text: fault
        for claim, at in zip(claims, places, strict=True)
        if not at and (fault := _of_nowhere(claim.text, source, english=english))
    }
    if strays:
        meter().warn(f"{model} made claims of its own, which are left out: {'; '.join(strays.values())}")
        claims = [claim for claim in claims if claim.text not in strays]
        places = [_place(claim, found, words) for claim in claims]
    judged: dict[int, Held] = {}
    for place in stating:
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
    return _merge(claims, places, judged, found, turn, len(history))


def read_turn(turn: Turn, history: Sequence[Turn]) -> tuple[list[Statement], list[int]]:
    """A turn's statements, and the places of those that state something: not small talk, nor a question. In other languages, all.

    An answer without a word of its own is read with its question: "Exactly!" states what was asked.

    Examples:
        >>> from vista_guard.types import Role
        >>> asked, said = Turn(role=Role.USER, text="Is the pool heated?"), Turn(role=Role.ASSISTANT, text="Exactly!")
        >>> [statement.text for statement in read_turn(said, [asked])[0]]
        ['The pool is heated.']
    """
    found = statements(turn.text)
    if foreign_language(folded(turn.text)) is not None:
        return found, list(range(len(found)))
    answers, others = list[Statement](), list[Span]()
    for claim in decompose(turn, history, more=growing().more):
        if (span := claim.span) is None:
            continue
        words = "\n".join(one.text for one in found if overlaps(one, [span]))
        if words and len(invented(claim.text, words)) < len(_content(claim.text)):
            others.append(span)
        else:
            answers.append(stated(claim, span))
    spans = [answer.span for answer in answers]
    rest = [one for one in found if overlaps(one, others) or not overlaps(one, spans)]
    read = sorted([*rest, *answers], key=lambda one: one.span.start)
    return read, [place for place, one in enumerate(read) if overlaps(one, [*spans, *others])]


def _place(claim: Claim, found: Sequence[Statement], words: Sequence[Sequence[str]]) -> tuple[int, ...]:
    """The statements that a claim is about: those of its quote, else those with the most, or all, of their words in it.

    A statement without `words` of its own, such as "Yes, it is.", has those of what was asked.
    """
    if claim.span is not None:
        return tuple(place for place, statement in enumerate(found) if claim.span.overlaps(statement.span))
    known = {word for word in set().union(*words) if _has(claim.text, word)}
    shared = [len(known.intersection(own)) for own in words]
    best = max(shared, default=0)
    return tuple(place for place, count in enumerate(shared) if count in (best, len(words[place])) and count)


def _content(text: str) -> list[str]:
    """The words that say something, in lower case and order, each once."""
    return list(dict.fromkeys(word for token in _tokens(text) if (word := token.casefold()) not in _LIGHT))


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
        # What counts for one of its sentences is what that sentence is judged by.
        if not at or any(place not in judged or claim.text in judged[place].claims for place in at):
            merged.append((last, claim))
    merged += [(place, _sentence_claim(found[place], turn)) for place in judged]
    unique = dict[str, Claim]()
    for _, claim in sorted(merged, key=lambda pair: pair[0]):
        unique.setdefault(claim.text, claim)
    return [claim.model_copy(update={"id": f"t{index}.c{number}"}) for number, claim in enumerate(unique.values(), 1)]


def _sentence_claim(sentence: Statement, turn: Turn) -> Claim:
    if sentence.error is not None:
        return UncheckedClaim(id="", text=sentence.text, span=sentence.span, error=sentence.error)
    if is_code(sentence.text):
        error = "code is not judged"
        return UncheckedClaim(id="", text=sentence.text, span=sentence.span, error=error, what="code")
    text = sentence.text if sentence.whole else as_it_stands(sentence.text, turn)
    return Claim(id="", text=text, span=sentence.span)
