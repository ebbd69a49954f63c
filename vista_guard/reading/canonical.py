"""Canonical text: the letters that a reader sees, with offsets back to the original. Pure."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from vista_guard.types import Span

_CYRILLIC = dict(zip("авеһіјкмнорсԛѕтуүѵѡхьԁɡӏԍпг", "abehijkmhopcqstyyvwxbdglgnr", strict=True))
_CYRILLIC |= dict(zip("АВЕНІЈКМОРСЅТУХԌԚԜѴ", "ABEHIJKMOPCSTYXGQWV", strict=True))
_GREEK = dict(zip("αβεγικνορτυχωηϲϳ", "abeyikvoptuxwncj", strict=True))
_GREEK |= dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ", "ABEZHIKMNOPTYXCJ", strict=True))
_OTHER = dict(zip("օսոհքցզյառԼՍՕ", "ounhpgqjwnLUO", strict=True)) | {"ǀ": "l", "ı": "i", "ȷ": "j", "ɑ": "a", "ℓ": "l"}
TWINS = _CYRILLIC | _GREEK | _OTHER
"""Letters of other scripts that pass for a Latin one."""

_SMALL = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢɩ", "abcdefghijklmnoprstuvwyzi", strict=True))
_STROKED = dict(zip("øƀđɨłŧɍɇɉɏꝑꝗȼħⱥꞓɵƶ", "obdiltrejypqchacoz", strict=True))
_ENCLOSED = ((0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))
"""Blocks of A to Z in dark circles, in dark squares and as flags, which Unicode itself does not call letters."""
_FOLDED = ("<wide>", "<narrow>", "<font>", "<circle>", "<square>", "<compat>")
_RAISED = ("<super>", "<sub>")


@lru_cache(maxsize=8192)
def plain_letter(letter: str) -> str:
    """Returns the plain letter for a styled one (full width, bold, circled, small capitals), and any other unchanged."""
    if letter in _SMALL:
        return _SMALL[letter]
    if letter.isdecimal():
        return str(unicodedata.decimal(letter))
    for first, count in _ENCLOSED:
        if first <= ord(letter) < first + count:
            return chr(ord(letter) - first + 65)
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    # A raised figure is an exponent or a note's mark; a raised letter is nothing but a letter.
    raised = kind in _RAISED and not letter.isdigit()
    if kind not in _FOLDED and not raised:
        return letter
    normal = unicodedata.normalize("NFKC", letter).strip("()")
    return normal if normal.isalnum() or (kind in ("<wide>", "<narrow>") and normal.isascii()) else letter


def strip_accents(word: str) -> str:
    """Removes the word's accents if more than half of its letters have one; else only accents that its letters cannot have."""
    decomposed = unicodedata.normalize("NFD", word)
    bare = [letter for letter in decomposed if not unicodedata.combining(letter)]
    accents = len(decomposed) - len(bare) + sum(letter in _STROKED for letter in bare)
    if accents * 2 > len(bare):
        return "".join(_STROKED.get(letter, letter) for letter in bare)
    return "".join(letter for letter in unicodedata.normalize("NFC", word) if not unicodedata.combining(letter))


@dataclass(frozen=True)
class Reading:
    """A text with offsets: character `n` stands for `source[starts[n]:ends[n]]` of the original."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> Span:
        """Maps a range back to the original text."""
        if start >= end:
            place = self.starts[start] if start < len(self.starts) else self.ends[-1] if self.ends else 0
            return Span(start=place, end=place)
        # Text pulled out of a line is appended at the end, so a range that crosses into it may run backwards.
        begin, last = self.starts[start], self.ends[end - 1]
        return (
            Span(start=begin, end=last)
            if begin < last
            else Span(start=min(self.starts[start:end]), end=max(self.ends[start:end]))
        )

    def part(self, start: int, end: int) -> Reading:
        """Returns a range of the reading."""
        return Reading(self.text[start:end], self.starts[start:end], self.ends[start:end])


def as_written(text: str) -> Reading:
    """Reads the text letter for letter."""
    return Reading(text, range(len(text)), range(1, len(text) + 1))


def replace_ranges(reading: Reading, changes: Iterable[tuple[int, int, str]]) -> Reading:
    """Replaces ranges, ordered and disjoint. A replacement of equal length keeps its offsets."""
    text, pieces, last = reading.text, list[str](), 0
    starts, ends = list[int](), list[int]()
    for begin, end, new in changes:
        if text[begin:end] == new:
            continue
        pieces += (text[last:begin], new)
        starts.extend(reading.starts[last:begin])
        ends.extend(reading.ends[last:begin])
        if len(new) == end - begin:
            starts.extend(reading.starts[begin:end])
            ends.extend(reading.ends[begin:end])
        else:
            starts.extend([reading.starts[begin]] * len(new))
            ends.extend([reading.ends[end - 1]] * len(new))
        last = end
    if not last:
        return reading
    starts.extend(reading.starts[last:])
    ends.extend(reading.ends[last:])
    return Reading("".join((*pieces, text[last:])), starts, ends)


def concatenate(parts: Sequence[Reading]) -> Reading:
    """Concatenates readings."""
    return Reading(
        "".join(part.text for part in parts),
        [place for part in parts for place in part.starts],
        [place for part in parts for place in part.ends],
    )


def canonical(text: str) -> Reading:
    """Returns the text as a reader sees it, with offsets. Line breaks and Markdown stay. Takes linear time."""
    reading = as_written(text)
    if "&" in text:
        reading = _substitute(_substitute(reading, _ENTITY, _entity), _ENTITY, _entity)
    if "\\" in text or "%" in text:
        reading = _substitute(reading, _ESCAPES, _unescape)
    if not reading.text.isascii():
        reading = _substitute(reading, _TURNED, lambda match: match[1][::-1])
        reading = _substitute(reading, _INVISIBLE, lambda _: "")
    reading = _same_length(reading)
    if not reading.text.isascii():
        latin = _is_latin(reading.text)
        reading = _substitute(reading, _WORD, lambda match: _plain_word(match.group(), latin))
        reading = _substitute(reading, _RAISED_FIGURE, lambda match: unicodedata.normalize("NFKC", match.group()))
    return _substitute(reading, _SPACED, _unspace)


SHORT = 500
"""Characters of a sentence whose reading is remembered: a turn asks for the same ones many times, and caches stay small."""


def folded(text: str) -> str:
    """Returns the text as a reader sees it."""
    return _folded(text) if len(text) <= SHORT else canonical(text).text


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return canonical(text).text


_ENTITY = re.compile(r"&(?:#\d{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};)")
_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}){2,}|(?:%[0-9a-fA-F]{2}){3,}")
_ESCAPE = re.compile(r"(?:\\u|\\x|%)([0-9a-fA-F]+)")
_TURNED = re.compile("\u202e([^\u202c\u2069\n]*)")
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20dd-\u20e4\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
_LETTER = re.compile(r"[^\W\d_]")
_RAISED_FIGURE = re.compile("(?<![A-Za-z0-9])[⁰¹²³⁴-⁹]{3,}")
_WORD = re.compile(r"[A-Za-z0-9\x80-\U0010ffff]+")
_SPACED = re.compile(r"(?<!\w)\w(?:[^\w,;:=+<>?!()\[\]{}]{1,8}\w(?!\w)){5,}")
_GAP = re.compile(r"\W+")

# One character for one character. Lone surrogates cannot be encoded by any tokenizer.
_SPACES = re.compile(r"[^\S \n]|[\x00\x85\u2028\u2029]")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "‛": "'", "ʼ": "'", "＇": "'", "“": '"', "”": '"', "„": '"', "‟": '"'})
_SURROGATES = re.compile("[\ud800-\udfff]")


def _same_length(reading: Reading) -> Reading:
    text = _SURROGATES.sub("\ufffd", reading.text).translate(_QUOTES)
    return Reading(_SPACES.sub(_space, text), reading.starts, reading.ends)


def _space(match: re.Match[str]) -> str:
    return "\n" if match.group() in "\x85\u2028\u2029" else " "


def _substitute(reading: Reading, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> Reading:
    return replace_ranges(
        reading, ((match.start(), match.end(), new(match)) for match in pattern.finditer(reading.text))
    )


def _entity(match: re.Match[str]) -> str:
    return html.unescape(match.group())


def _unescape(match: re.Match[str]) -> str:
    """Decodes a run of "%20" or "\u0020"; unchanged when that is no text."""
    codes = [int(code, 16) for code in _ESCAPE.findall(match.group())]
    if "%" not in match.group():
        return "".join(map(chr, codes))
    try:
        return bytes(codes).decode()
    except UnicodeDecodeError:
        return match.group()


def _plain_word(word: str, latin: bool) -> str:
    """Returns the word in ordinary letters. Lookalikes of other scripts become Latin in a Latin word or text."""
    if word.isascii():
        return word
    word = "".join(letter if letter.isascii() else plain_letter(letter) for letter in word)
    letters = [letter for letter in word if letter.isalpha() and not letter.isascii()]
    mixed = any(letter.isascii() and letter.isalpha() for letter in word)
    if mixed or (latin and all(letter in TWINS for letter in letters)):
        word = "".join(TWINS.get(letter, letter) for letter in word)
    return word if word.isascii() or not any(map(_is_letter, word)) else strip_accents(word)


def _is_latin(text: str) -> bool:
    """True when Latin letters outnumber letters that are surely of another script."""
    letters = Counter(letter.isascii() for letter in _LETTER.findall(text) if letter not in TWINS)
    return letters[True] > letters[False]


def _is_letter(character: str) -> bool:
    return character.isalpha() or unicodedata.combining(character) > 0


def _unspace(match: re.Match[str]) -> str:
    """Joins "o p e n e d  i n" to "opened in"; unchanged when the separators differ or no word results."""
    spaced = match.group()
    gaps = _GAP.findall(spaced)
    kinds = {mark for gap in gaps for mark in gap if not mark.isspace()}
    if (
        len(kinds) > 1
        or len({letter for letter in spaced if letter.isalpha()}) < 4
        or ("." in kinds and spaced.isupper())
    ):
        return spaced
    between = Counter(gaps).most_common(1)[0][0]
    return _GAP.sub(lambda gap: "" if len(gap.group()) <= len(between) else " ", spaced)
