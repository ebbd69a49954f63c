"""Canonical text: the letters that a reader sees, with offsets back to the original. Pure."""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
_FOLDED = ("<wide>", "<narrow>", "<font>", "<circle>", "<square>", "<compat>", "<super>", "<sub>")


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
    if _NUMBER.match(letter):  # a figure, an exponent or a mark, which its neighbours decide: `_figure`
        return letter
    kind = unicodedata.decomposition(letter).partition(" ")[0]
    if kind not in _FOLDED:
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
    reading = replace_ranges(reading, ((start, end, " ") for start, end in struck(reading.text)))
    reading = _same_length(reading)
    if not reading.text.isascii():
        latin = _is_latin(reading.text)
        reading = _substitute(reading, _WORD, lambda match: _plain_word(match.group(), latin))
        reading = _substitute(reading, _STYLED_FIGURE, _figure)
        reading = powers(reading)
    return _substitute(reading, _SPACED, _unspace)


_STROKE = r"[^\u0300-\u036f\n][\u0335-\u0338](?![\u0300-\u036f])"
_STROKES = re.compile(rf"(?:{_STROKE}){{4,}}(?:\w(?!\w))?|(?:{_STROKE}){{2,3}}|(?<!\w)\d[\u0335-\u0338](?!\w)")
"""Characters with one stroke each; the last of many may lack its own."""
_STRIKE = re.compile(
    r"(?P<tilde>(?<![~\\])~{1,2}(?!~))|<(?P<close>/?)(?P<tag>[a-zA-Z][\w-]{0,20})(?P<rest>(?:[\s/][^<>]{0,300})?)>"
    r"|\[(?P<shut>/?)(?P<code>s|del|strike)\]|(?P<blank>\n[^\S\n]*\n)|`[^`\n]+`"
    r"|^[ \t>]*(?P<fence>```+|~~~+)[\s\S]*?(?:^[ \t>]*(?P=fence)|\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_LONGEST_STRIKE = 2000
"""Most characters that one mark strikes: what is never closed must not hold up a stream."""
_STRUCK_TAGS = ("s", "del", "strike")


def struck(text: str, *, open_too: bool = False) -> Iterator[tuple[int, int]]:
    """Where text is struck through, in order: ~~so~~, <del>so</del>, [s]so[/s], with strokes; code is as it is.

    With `open_too` also what is not closed yet, to the end of the text.
    """
    ranges = [match.span() for match in _STROKES.finditer(text)] if not text.isascii() else []
    if "~" in text or "<" in text or "[" in text:
        ranges = sorted([*ranges, *_crossed_out(text, open_too=open_too)])
    last = 0
    for start, end in ranges:
        if end > last:
            yield max(start, last), end
            last = end


@dataclass(frozen=True)
class _Strike:
    mark: str
    start: int
    depth: int = 1


def _crossed_out(text: str, *, open_too: bool) -> Iterator[tuple[int, int]]:
    strike: _Strike | None = None
    for match in _STRIKE.finditer(text):
        if strike is not None and match.start() - strike.start > _LONGEST_STRIKE:
            strike = None
        if strike is not None and _ends(match, strike):
            strike = replace(strike, depth=strike.depth - 1)
            if not strike.depth:
                yield strike.start, match.end()
                strike = None
        elif strike is None or strike.mark[0] == "~":
            # A new line of tildes begins anew; an empty line ends what they strike.
            strike = _opening(match) or (None if match["blank"] or match["fence"] else strike)
        elif match["tag"] and match["tag"].lower() == strike.mark and not match["close"]:
            strike = replace(strike, depth=strike.depth + 1)
    if strike is not None and open_too and len(text) - strike.start <= _LONGEST_STRIKE:
        yield strike.start, len(text)


def _opening(match: re.Match[str]) -> _Strike | None:
    """The strike that a mark begins, if it begins one."""
    text, start, end = match.string, match.start(), match.end()
    if mark := match["tilde"]:
        alone = len(mark) > 1 or not text[start - 1 : start].isalnum()
        return _Strike(mark, start) if alone and text[end : end + 1].strip("/ \n") else None
    if (tag := match["tag"]) and not match["close"] and not match["rest"].endswith("/"):
        is_struck = tag.lower() in _STRUCK_TAGS or "line-through" in match["rest"]
        return _Strike(tag.lower(), start) if is_struck else None
    return _Strike(f"[{match['code'].lower()}", start) if match["code"] and not match["shut"] else None


def _ends(match: re.Match[str], strike: _Strike) -> bool:
    text, start, end = match.string, match.start(), match.end()
    if mark := match["tilde"]:
        alone = len(mark) > 1 or not text[end : end + 1].isalnum()
        return mark == strike.mark and alone and not text[start - 1].isspace() and start > strike.start + len(mark)
    if match["tag"]:
        return bool(match["close"]) and match["tag"].lower() == strike.mark
    return bool(match["shut"]) and f"[{match['code'].lower()}" == strike.mark


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
_RAISED = "⁰¹²³⁴-⁹₀-₉"
_ROUND = "①-⒛⓪-⓿❶-➓㉑-㉟㊱-㊿\U0001f100-\U0001f10c"
_ROMAN = "ⅰ-ⅿ"
_NUMBER = re.compile(f"[{_RAISED}{_ROUND}{_ROMAN}]")
_STYLED_FIGURE = re.compile(
    rf"(?<!\w)(?:[⁺⁻₊₋]?[{_RAISED}]+(?:[.,·⋅][{_RAISED}]+)*|[{_ROUND}]+|[{_ROMAN}]+)(?=(?P<gap>[.)]?\s*)(?P<next>\w{{0,4}}|\W))"
)
_POWER = re.compile("(?<![\\w.,])10(?!¹(?![⁰¹²³⁴-⁹]))(?P<power>⁻?[⁰¹²³⁴-⁹]+)")
_MOST_ZEROS = 15
_BEFORE = 40
"""Characters before a number that tell whether it opens its line."""
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


def _figure(match: re.Match[str]) -> str:
    """A raised or circled number as a figure ("¹⁷ bar", "⑰ bar"), or as a list's marker ("① Open it."); a note's mark stays.

    It is a mark in front of a capitalised word. So are one or two raised figures at the end of a clause; attached to a word or
    a figure ("bar¹", "17¹") no number comes here.
    """
    mark, gap, follows = match.group(), match["gap"], match["next"]
    raised = unicodedata.decomposition(mark[-1]).startswith(("<super>", "<sub>"))
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    opens = not before.rpartition("\n")[2].strip(" \t>*+•-") and bool(gap)
    if opens and (gap[:1] in (".", ")") or not follows[:1].islower()):
        return mark if raised else f"{_number(mark)}{'' if gap[:1] in ('.', ')') else '.'}"
    named = gap.isspace() and follows[:1].isupper() and not follows.isupper()
    ends = raised and len(mark) < 3 and not follows[:1].isalnum() and follows[:1] not in tuple("%°€$£¥")
    return mark if named or ends else _number(mark)


def powers(reading: Reading) -> Reading:
    """Writes out powers of ten, "10²" as "100"; other figures behind a figure are marks of notes."""
    return _substitute(reading, _POWER, _power) if not reading.text.isascii() else reading


def _power(match: re.Match[str]) -> str:
    exponent = int(_number(match["power"]))
    return f"{10**exponent:,}" if 0 <= exponent <= _MOST_ZEROS else f"10^{exponent}"


def _number(mark: str) -> str:
    """A styled number in plain figures."""
    roman = [_ROMAN_WORTH[letter] for letter in unicodedata.normalize("NFKC", mark) if letter in _ROMAN_WORTH]
    if roman:
        pairs = zip(roman, [*roman[1:], 0], strict=True)
        return str(sum(-worth if worth < following else worth for worth, following in pairs))
    return "".join(_plain_figure(character) for character in mark)


_ROMAN_WORTH = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


def _plain_figure(character: str) -> str:
    value = unicodedata.numeric(character, None)
    if value is not None:
        return str(int(value))
    return "." if character in "·⋅" else unicodedata.normalize("NFKC", character).replace("−", "-")


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
