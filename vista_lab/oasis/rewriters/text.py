"""Words of a sentence with their parts of speech, and small repairs of written English."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cache, lru_cache

from lemminflect import getAllLemmas, getInflection  # type: ignore[import-untyped]
from textblob.en import parse  # type: ignore[import-untyped]

from vista_lab.oasis.rewriters.carrier import word_list

_TOKEN = re.compile(
    r"(?:[A-Z]\.){2,}|(?:Mr|Mrs|Ms|Dr|St|Jr|Sr|vs|No)\.(?=\s)|\d+(?:[,.:]\d+)*(?:st|nd|rd|th)?"
    r"|\w+(?=n['’]t\b)|n['’]t\b|['’](?:s|re|ve|ll|d|m)\b|\w+(?:[-&.]\w+|['’](?!(?:s|re|ve|ll|d|m)\b)\w+)*|[^\w\s]"
)
BE = {"is", "are", "was", "were", "am"}
MODALS = {"can", "could", "will", "would", "may", "might", "must", "should", "shall"}
_FIXED = {"n't": "RB", "n’t": "RB", "not": "RB", "never": "RB", "that": "IN", "who": "WP", "which": "WDT"}


@dataclass(frozen=True)
class Token:
    """A word with its place in the sentence and its Penn Treebank tag."""

    text: str
    start: int
    end: int
    tag: str

    @property
    def lower(self) -> str:
        """The word in lower case."""
        return self.text.lower()


@cache
def _load_words() -> None:
    """Has textblob read its list of words, whose file it leaves open for the garbage collector to warn about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        parse("words", tokenize=False, tags=True, chunks=False)


@lru_cache(maxsize=200_000)
def tokens(text: str) -> tuple[Token, ...]:
    """The tagged words of a sentence."""
    spans = list(_TOKEN.finditer(text))
    if not spans:
        return ()
    words = [m.group().replace("/", "&slash;").replace("’", "'") for m in spans]
    _load_words()
    tagged = parse(" ".join(words), tokenize=False, tags=True, chunks=False).split(" ")
    tags = [piece.rsplit("/", 1)[-1] for piece in " ".join(tagged).split()]
    tags = fix_tags(words, tags if len(tags) == len(spans) else ["NN"] * len(spans))
    return tuple(
        Token(m.group(), m.start(), m.end(), _FIXED.get(m.group().lower(), tag))
        for m, tag in zip(spans, tags, strict=True)
    )


def fix_tags(words: list[str], tags: list[str]) -> list[str]:
    """Fixes the tagger's commonest slips: a verb after do, can or not taken for a noun, a past tense for a participle."""
    for i, tag in enumerate(tags[1:], 1):
        before = words[i - 1].lower()
        if tag in {"NN", "VBP", "JJ"} and before in MODALS | {"do", "does", "did", "n't", "to"} and is_verb(words[i]):
            tags[i] = "VB"
        elif tags[i - 1] in {"DT", "PRP$"} and (
            tag in {"VB", "VBP"} or (tag == "RB" and words[i + 1 : i + 2] and words[i + 1] in BE)
        ):
            tags[i] = "NN"
        elif tag == "VBN" and tags[i - 1] in {"NNP", "NN", "NNS", "PRP"} and past_is_participle(words[i]):
            tags[i] = "VBD"
    return tags


def same_tags(one: str, other: str) -> bool:
    """True if two sentences of as many words have the same parts of speech; of different lengths nothing can be said."""
    tags = [[word.tag for word in tokens(text)] for text in (one, other)]
    return tags[0] == tags[1] or len(tags[0]) != len(tags[1])


@lru_cache(maxsize=50_000)
def is_verb(word: str) -> bool:
    """True if the word is the base form of a verb."""
    return word.lower() in getAllLemmas(word.lower(), upos="VERB").get("VERB", ())


@lru_cache(maxsize=50_000)
def past_is_participle(word: str) -> bool:
    """True if the verb's past tense and participle look alike."""
    base = next(iter(getAllLemmas(word.lower(), upos="VERB").get("VERB", ())), "")
    return bool(base) and word.lower() in getInflection(base, "VBD")


def capitalised(text: str) -> str:
    """First letter in upper case."""
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """First letter in lower case unless the sentence opens with a name, an acronym or "I"."""
    first = tokens(text)[:1]
    opens = first and first[0].lower in _OPENERS
    return text[:1].lower() + text[1:] if opens else text


_OPENERS = word_list("openers")


_CONSONANT = r"(?:[bcdfgjklmnpqrstvwxyz]|[BCDFGJKLMNPQRSTVWXYZ][a-z])(?!our\b|eir\b|onest|onou?r)"
_VOWEL = r"(?:[aeioAEIO][a-z]|[uU]n(?!i)[a-z])"
_JOINING = r"(?!(?:and|or|is|in|as|at|on|of|are|also|it|one|once|a|an)\b|[eE]u|uni|[hH](?:our|eir|ono))"


def a_or_an(text: str) -> str:
    """Repair the article after an exchange of words."""
    text = re.sub(rf"\b([Aa])n (?={_CONSONANT}){_JOINING}", r"\1 ", text)
    return re.sub(rf"\b([Aa]) (?={_VOWEL}){_JOINING}", r"\1n ", text)


def stripped(text: str) -> tuple[str, str]:
    """(sentence without its final stop, the stop)."""
    match = re.search(r"[.!?]+$", text)
    return (text[: match.start()], match.group()) if match else (text, "")


_SHORT = (
    (r"\b(is|are|was|were|do|does|did|has|have|had|would|could|should) not\b", r"\1n't"),
    (r"\bwill not\b", "won't"),
    (r"\bcannot\b|\bcan not\b", "can't"),
    (r"\b([Ii]t|[Hh]e|[Ss]he|[Tt]here|[Tt]hat) is\b(?! n't)", r"\1's"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou) are\b", r"\1're"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou|[Ii]t|[Hh]e|[Ss]he|I) will\b", r"\1'll"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou|I) have (?=\w+(?:ed|en|ne)\b)", r"\1've "),
)


def contract(text: str) -> str:
    """The text with short forms: isn't, they're."""
    for pattern, short in _SHORT:
        text = re.sub(pattern, short, text)
    return text
