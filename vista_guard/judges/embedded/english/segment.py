"""Segments a turn: Markdown blocks, sentences with their exact places, and lists whose items hold one by one.

Also detects text that is clearly not English, without false alarms on typos and foreign names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vista_guard._aio import load_once
from vista_guard.inference.onnx import known_words
from vista_guard.judges.embedded.english.words import ANSWER_SIGN, SMALL_TALK, word_set
from vista_guard.judges.embedded.forms import Block, BlockKind, ItemAbove, block_kind, blocks, clean, continues
from vista_guard.reading.markdown import read_lines
from vista_guard.reading.passages import sentence_spans
from vista_guard.types import Span

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier


NAMES = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai",
    "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese",
}  # fmt: skip
"""The languages to tell apart. Rare ones only add false alarms: short English passes for Nigerian Pidgin."""

_ENGLISH = word_set(
    """the and but of for with from by are were been have had does did not you she it they my your his her their its
    this that these those there what who how when where why which can could will would should if because about like just
    also most some very than them yes know think im name born first new one
    called known made time people world into other after over only"""
)
"""English function words that are not common words of another language in Latin script."""
_SHARED = word_set("is was in on to i at he we me no so or as be am do")
"""English function words that are."""
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]")
_SAMPLE = 4000
"""Characters to examine."""
_MIN_LOWER, _MIN_LETTERS = 4, 24
"""Minimum lower-case words, and letters in all. Shorter Latin text is often a name or an idiom."""
_ENGLISH_SHARE, _SHARED_SHARE = 0.12, 0.22
"""With these shares of function words a text is English, regardless of the identifier."""
_SURE_LATIN, _SURE_OTHER = 0.95, 0.5
"""Minimum probability of the identifier's answer, for Latin and for other scripts.

With these limits none of 69,474 English utterances, claims and encyclopedia sentences (the dev parts of the training
data) is called foreign.
"""
_SURE_SHORT, _SURE_UNKNOWN = 0.99, 0.8
"""The same for a short sentence in Latin script without a function word of English; the second where two in five of its words are
unknown. Of 60,000 other English sentences these two call none foreign that the others do not."""
_FEWEST_OTHER = 4
"""Minimum letters of another script."""


def foreign_language(text: str) -> str | None:
    """Name and code of the language, as in "German (de)", if `text` is clearly not English; else None."""
    sample = text[:_SAMPLE]
    # A possessive counts as English, like "its".
    words = _WORD.findall(re.sub(r"'s\b", " its", sample))
    letters = sum(map(len, words))
    latin = len(_LATIN.findall(sample)) > letters / 2
    needed = _needed_confidence(words, letters) if latin else _SURE_OTHER if letters >= _FEWEST_OTHER else None
    if needed is None:
        return None
    code, confidence = language_identifier().classify(" ".join(words).lower())
    if code == "en" or confidence < needed:
        return None
    return f"{NAMES[code]} ({code})"


def _needed_confidence(words: list[str], letters: int) -> float | None:
    """Minimum probability of the identifier's answer for words in Latin script; None if they may well be English."""
    small = [word for word in words if word.islower()]
    lower = [word.lower() for word in words]
    surely = sum(word in _ENGLISH for word in lower)
    shared = sum(word in _SHARED for word in lower)
    if letters < _MIN_LETTERS or len(small) < _MIN_LOWER:  # the rest may be names
        if surely or shared or letters < 12 or len(small) < 2:
            return None
        unknown = sum(word not in known_words() for word in small)
        return _SURE_UNKNOWN if unknown * 5 >= len(small) * 2 else _SURE_SHORT
    english = surely >= max(1.0, _ENGLISH_SHARE * len(words)) or surely + shared >= _SHARED_SHARE * len(words)
    return None if english else _SURE_LATIN


@load_once
def language_identifier() -> LanguageIdentifier:
    """The identifier of languages, loaded by the first short or doubtful text: half a second."""
    from py3langid import modelio
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    # It would copy 20 MB in one step, which holds the interpreter's lock, and so the event loop. A view reads as fast.
    copy: Any = getattr(modelio, "_to_array", None)
    modelio._to_array = memoryview
    try:
        identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    finally:
        modelio._to_array = copy
    identifier.set_languages(list(NAMES))
    return identifier


_FULL_NAME = r"(?!The |A |An )[A-Z][\w'.-]{0,40}(?: [A-Z][\w'.-]{0,40}){1,4}"
_ANY_NAME = r"(?!The |A |An )[A-Z][\w'.-]{0,40}(?: [A-Z][\w'.-]{0,40}){0,4}"
_VERBS = (
    r"(?:stars?|starred|starring|features?|featured|includes?|included|visited|directed|wrote|loves?|likes?|enjoys?"
    r"|(?:been|travell?ed) to|(?:lived|starred|appeared|worked|played) in|written by|directed by|produced by)"
)
_NAMES = re.compile(
    rf"(?P<before>[^,;:()\"]*\b{_VERBS}) (?P<parts>{_FULL_NAME} and {_FULL_NAME}"
    rf"|{_ANY_NAME}(?:, {_ANY_NAME})+,? and {_ANY_NAME})(?P<after>[.!]?)"
)
_NOUN = r"[A-Za-z][\w'-]{1,30}"
_KINDS = re.compile(
    r"(?P<before>[^,;:()\"]*?\b(?:is|was|'s)) (?P<parts>"
    # With an article each part is a noun; without, the last is a noun of its own only when it is one word.
    rf"an? {_NOUN}(?: {_NOUN}){{0,3}}(?:, an? {_NOUN}(?: {_NOUN}){{0,3}})*,? and an? {_NOUN}(?: {_NOUN}){{0,3}}"
    rf"|an? {_NOUN}(?: {_NOUN}){{0,3}}(?:, {_NOUN})+,? and {_NOUN})(?P<after>[.!]?)"
)
_MAX_CLAIM = 400
"""Longest claim, in characters, to split."""
_COMMA = re.compile(r",? and |, ")


def each(claim: str) -> Iterator[str]:
    """`claim` once for each part of a list in it; unchanged if there is no list that may be split."""
    match = _KINDS.fullmatch(claim) or _NAMES.fullmatch(claim) if len(claim) <= _MAX_CLAIM else None
    if not match:
        yield claim
        return
    kinds = match.re is _KINDS
    for part in _COMMA.split(match["parts"]):
        yield f"{match['before']} {_with_article(part) if kinds else part}{match['after']}"


def _with_article(noun: str) -> str:
    if re.match(r"an? ", noun):
        return noun
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"


_MANY = re.compile(r"[^\w\s,;:'\"()/&%+*_`~|<>=\[\]-]\W*\w|[\U0001f300-\U0001faff\u2600-\u27bf]")
"""A mark that may end a sentence, followed by a word; an emoji."""


_PICTURES = re.compile(rf"(?:\s*(?!{ANSWER_SIGN.pattern})[\U0001f300-\U0001faff\u2600-\u27bf]\ufe0f?)+\s*(?=[A-Z]|$)")
"""Emoji that end or begin a sentence."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, list item, heading, table row or block of code. `start`/`end`: its place in the text.

    `lead` is the line that introduces a list ("The museum has:"); `text` replaces the source of a rendered row; `leads` is
    True if something follows that the sentence can introduce with a colon.
    """

    start: int
    end: int
    kind: BlockKind = BlockKind.PROSE
    lead: str = ""
    text: str | None = None
    leads: bool = False


def unwrap(text: str) -> str:
    """`text` with spaces for the line breaks of hard-wrapped prose; the length stays the same."""
    lines = read_lines(text, part=True)
    said = [text[line.start : line.end] for line in lines]
    prose = [block_kind(text, line) is BlockKind.PROSE for line in lines]
    joints = [
        " " if prose[number] and prose[number - 1] and continues(said[number - 1], said[number]) else "\n"
        for number in range(1, len(lines))
    ]
    return "".join(f"{line}{joint}" for line, joint in zip(said, [*joints, ""], strict=True))


_TITLE_WORD = r"(?:&|[^\W\d_][\w'’&/,-]{0,40})"
_TITLE = re.compile(rf"(\*{{2,3}}|__)(?:\d{{1,2}}[.)] )?{_TITLE_WORD}(?: {_TITLE_WORD}){{0,4}}\1\s*")
_COUNTED_TITLE = re.compile(
    r"\s*(\*{2,3}|__|)\(?(?:\d{1,3}[.)]|\d{1,2}(?:\.\d{1,2})+[.)]?(?=\s+[A-Z][a-z]))\s+(?P<words>\S.*?)\1\s*"
)
"""A heading with its number, which is no figure of its words: "2. Prices", "**2.1 How to book**"."""
_SHORT = 200
"""Most characters of a line that is read for small talk."""
_CLAIMING = re.compile(
    r"\b(?:yes|no|not|\w+n['’]t|never|none|without|free|only|all|any|every|always|within|un\w{4,}|non-\w+)\b"
    r"|\b(?:open|closed) (?:on|at|to|from|until|till|for|in|during|daily|every)\b"
    r"|\b(?:(?:in|ex)cluded|welcome|allowed|permitted|forbidden|prohibited|banned|closed|cancelled|guaranteed|available)\W*$",
    re.IGNORECASE,
)
"""Words that make a claim of a line without a verb: "No refunds", "Breakfast included"."""


def _is_title(line: str) -> bool:
    """True for a line of a few words in bold, which is a heading where something follows; not for "No refunds"."""
    return _TITLE.fullmatch(line) is not None and not _CLAIMING.search(line.strip("*_ \n"))


def _is_within(line: str, question: str) -> bool:
    """True if the question has all words of the line."""
    return set(re.findall(r"\w+", line.lower())) <= set(re.findall(r"\w+", question.lower()))


def sentences(text: str, *, more: bool = False, question: str = "") -> Iterator[Sentence]:
    """Sentences of a folded text, in order; a row or a block of code is one.

    `more`: the text goes on. A title that is not of the `question`'s words may be the answer to it, where at most small talk
    stands before it.
    """
    lead, first = "", True
    over: list[ItemAbove] = []
    block_list = list(blocks(text))
    if not block_list and any(map(str.isalnum, text)):
        # "12." is an item's number in a list, and an answer by itself.
        block_list = [Block(0, len(text), BlockKind.PROSE)]
    for number, block in enumerate(block_list):
        follows = more or number + 1 < len(block_list)
        if block.kind in (BlockKind.ROW, BlockKind.HEADER, BlockKind.CODE):
            yield Sentence(block.start, block.end, block.kind, lead, block.text)
            continue
        if block.text is not None:
            for span in sentence_spans(block.text):
                yield Sentence(block.start, block.end, block.kind, "", block.text[span.start : span.end])
            continue
        kind, line = block.kind, text[block.start : block.end]
        counted = _COUNTED_TITLE.fullmatch(line) if follows or kind is BlockKind.HEADING else None
        if follows and _is_title(line) and (counted or not first or not question or _is_within(line, question)):
            kind = BlockKind.HEADING
        if counted and kind is BlockKind.HEADING:
            block = replace(block, start=block.start + counted.start("words"), end=block.start + counted.end("words"))
        places = list(_split(text, block))
        last = text[places[-1][0] : places[-1][1]] if places else ""
        item = _item_lead(text, block, clean(last)) if kind is BlockKind.ITEM else None
        while over and not (item and over[-1].holds(item)):
            over.pop()
        introduced = ": ".join([*([lead] if lead else []), *(one.text for one in over[-2:])])
        first = first and len(line) < _SHORT and SMALL_TALK.fullmatch(line.strip("*_ \n")) is not None
        for start, end in places:
            yield Sentence(
                start, end, kind, "" if kind is BlockKind.QUOTED else introduced, leads=follows and end == places[-1][1]
            )
        if item and item.text:
            over.append(item)
        if block.kind not in (BlockKind.ITEM, BlockKind.QUOTED):
            opens = last.rstrip("*_ ")
            lead = opens[:-1] if opens.endswith(":") else ""


def _item_lead(text: str, block: Block, said: str) -> ItemAbove:
    """The item of a block; its text is "" where it introduces nothing."""
    begin = text.rfind("\n", 0, block.start) + 1
    numbered = any(map(str.isalnum, text[begin : block.start]))
    return ItemAbove(block.start - begin, numbered, said[:-1] if said.endswith(":") else "")


def _split(text: str, block: Block) -> Iterator[tuple[int, int]]:
    body = text[block.start : block.end].replace("\n", " ")
    spans = sentence_spans(_PICTURES.sub(lambda match: "\n" * len(match[0]), body)) if _MANY.search(body) else ()
    # Most list lines are one sentence, and the splitter costs more than everything else.
    for span in spans or (Span(start=len(body) - len(body.lstrip()), end=len(body.rstrip())),):
        yield block.start + span.start, block.start + span.end
