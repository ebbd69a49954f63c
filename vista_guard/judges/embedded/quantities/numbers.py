"""Numbers as they are written: in figures, in words, as fractions, with a scale behind them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose

_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18,
    "nineteen": 19,
}  # fmt: skip
_TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SHORT_SCALES = {"k": 1000, "m": 10**6, "mn": 10**6, "bn": 10**9}
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20, "thirtieth": 30, "fortieth": 40, "fiftieth": 50,
    "sixtieth": 60, "seventieth": 70, "eightieth": 80, "ninetieth": 90, "hundredth": 100, "thousandth": 1000,
}  # fmt: skip
_PARTS = {"half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourths": 4} | {
    name + "s": value for name, value in _ORDINALS.items() if value > 4
}
_GLYPHS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3, "⅛": 0.125, "⅜": 0.375, "⅝": 0.625, "⅞": 0.875}
_NAMED = {"dozen": 12, "dozens": 12, "couple": 2, "pair": 2, "both": 2, "single": 1, "once": 1, "twice": 2, "double": 2,
          "doubled": 2, "triple": 3, "tripled": 3, "score": 20}  # fmt: skip
"""Words that give their evidence a number, and take none from a claim."""

_UNIT_WORDS = "|".join(sorted((*_SMALL, *_TENS), key=len, reverse=True))
_SCALE_WORDS = "|".join(_SCALES)
_ANY_WORD = rf"(?:{_UNIT_WORDS}|{_SCALE_WORDS})"
_WORDS = (
    rf"(?:an? (?=(?:{_SCALE_WORDS})\b))?\b{_ANY_WORD}(?:(?:[ -]| and (?=(?:{_UNIT_WORDS})\b)){_ANY_WORD}\b){{0,15}}"
)
"""At most sixteen words: what goes on after them is another number, and none is too large for a float."""
_FIGURES = r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\.?\d)"
_NUMBER = re.compile(
    rf"(?P<glyph>(?P<before>\d{{1,9}})?\s?[{''.join(_GLYPHS)}])"
    rf"|(?P<odds>\b(?P<some>{_UNIT_WORDS}|\d+) (?:in|out of) (?:every )?(?P<all>{_UNIT_WORDS}|\d+)\b)"
    r"|(?P<ratio>(?<![\w./])(?:(?P<whole>\d{1,9}) )?(?P<top>\d{1,2})/(?P<bottom>\d{1,2})(?![\w/]))"
    rf"|(?P<parts>\b(?:(?P<many>an?|{_UNIT_WORDS})[ -])?(?P<part>{'|'.join(_PARTS)})\b)"
    rf"|\b(?:(?P<tens>{'|'.join(_TENS)})[ -])?(?P<nth>{'|'.join(_ORDINALS)})\b"
    rf"|(?:(?P<figures>{_FIGURES})|(?P<words>\b{_WORDS}\b))"
    rf"(?:(?P<ordinal>(?:st|nd|rd|th)\b)|(?P<short>(?:k|bn|mn)\b|[Mm]\b(?=[^\w]*$))"
    rf"|(?:[ -](?P<scale>hundred|thousand|million|billion|trillion|dozen)\b)?(?P<half>(?: and)? a half\b)?)"
    rf"|\b(?P<named>{'|'.join(_NAMED)})\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Number:
    """A number of a text and its place. `kind`: "exact", "rounded" (with a scale), "ordinal", "part" or "named"."""

    start: int
    end: int
    value: float
    kind: str
    digits: int = 0
    """Significant digits of a rounded one."""
    figures: bool = False


def numbers(text: str) -> Iterator[Number]:
    """Numbers in order, apart from each other."""
    for match in _NUMBER.finditer(text):
        found = _number(match)
        if found is not None:
            yield found


def equal(first: float, second: float) -> bool:
    """Whether two numbers are one, but for what arithmetic loses."""
    return isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def rounds_to(value: float, digits: int, given: float) -> bool:
    """Whether `value` with as many significant digits is `given`."""
    return value > 0 and digits > 0 and equal(float(f"{value:.{digits - 1}e}"), given)


def _number(match: re.Match[str]) -> Number | None:
    start, end = match.span()
    if match["glyph"]:
        return Number(start, end, int(match["before"] or 0) + _GLYPHS[match["glyph"][-1]], "part", figures=True)
    if match["odds"]:
        some, of = (float(one) if one.isdigit() else in_words(one) for one in (match["some"], match["all"]))
        # "Two in 1990" is no share.
        return Number(start, end, some / of, "part") if some < of <= 1000 else Number(start, end, some, "named")
    if match["ratio"]:
        bottom = int(match["bottom"])
        return Number(start, end, int(match["whole"] or 0) + int(match["top"]) / bottom, "part") if bottom else None
    if match["part"]:
        many = (match["many"] or "a").lower()
        return Number(start, end, _SMALL.get(many, _TENS.get(many, 1)) / _PARTS[match["part"].lower()], "part")
    if match["nth"]:
        return Number(
            start, end, _TENS.get((match["tens"] or "").lower(), 0) + _ORDINALS[match["nth"].lower()], "ordinal"
        )
    if match["named"]:
        return Number(start, end, _NAMED[match["named"].lower()], "named")
    return _counted(match)


def _counted(match: re.Match[str]) -> Number:
    start, end = match.span()
    written = (match["figures"] or "").replace(",", "")
    value = float(written) if written else float(in_words(match["words"]))
    if match["ordinal"]:
        return Number(start, end, value, "ordinal", figures=bool(written))
    scale = (match["scale"] or match["short"] or "").lower()
    by = _SCALES.get(scale) or _SHORT_SCALES.get(scale) or (12 if scale == "dozen" else 1)
    value = (value + (0.5 if match["half"] else 0.0)) * by
    digits = len(written.replace(".", "").lstrip("0")) if written and by > 1 else 0
    return Number(start, end, value, "rounded" if digits else "exact", digits, bool(written))


def in_words(text: str) -> int:
    """The value of a number in words: "twelve hundred", "two million three hundred and five", "nineteen eighty-four"."""
    total, part = 0, 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _SCALES:
            scale = _SCALES[word]
            if scale == 100:
                part = (part or 1) * 100
            else:
                total, part = total + (part or 1) * scale, 0
        elif word in _SMALL or word in _TENS:
            value = _SMALL.get(word, _TENS.get(word, 0))
            # "nineteen eighty-four" and "seven thirty": what cannot be added stands behind.
            pairs = part % 100 and (value >= 10 or (part % 10 and value < 10) or 10 <= part % 100 < 20)
            part = part * 100 + value if pairs else part + value
    return total + part
