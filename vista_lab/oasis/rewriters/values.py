"""Values in a sentence: dates, years, times, amounts, counts and names, each with its kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from vista_guard.judges.embedded.english.words import word_set
from vista_lab.oasis.rewriters.text import tokens

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
NUMBER_WORDS = (
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty", "thirty", "forty", "fifty",
)  # fmt: skip
_MONTH = "|".join(MONTHS)
_UNITS = (
    "km|kilometres?|kilometers?|miles?|mi|metres?|meters?|feet|foot|ft|inches|cm|mm|kg|kilograms?|pounds?|lbs?"
    "|tons?|tonnes?"
    "|acres?|hectares?|litres?|liters?|gallons?|GB|MB|TB|hours?|minutes?|days?|weeks?|months?|years?|seconds?|degrees?"
)
_PATTERNS = (
    ("money", r"(?:US)?[$£€]\s?\d+(?:,\d{3})*(?:\.\d+)?(?: (?:million|billion|trillion|thousand))?(?![\w.]*\d)"),
    ("money", r"\d+(?:,\d{3})*(?:\.\d+)?(?: (?:million|billion))? (?:dollars|euros|pounds|GBP|USD|EUR)\b"),
    ("percent", r"(?<![\d.-])\d+(?:,\d{3})*(?:\.\d+)? ?(?:%|percent\b|per cent\b)"),
    ("time", r"\d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.m\.|[ap]m\b|AM\b|PM\b)|\b\d{1,2}:\d\d\b"),
    (
        "date",
        rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH}),? \d{{4}}\b|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd"
        rf"|th)?,? \d{{4}}\b",
    ),
    ("day", rf"\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?(?:{_MONTH})\b|\b(?:{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?\b(?!\s*\d)"),
    ("month_year", rf"\b(?:{_MONTH}),? \d{{4}}\b"),
    ("weekday", rf"\b(?:{'|'.join(WEEKDAYS)})s?\b"),
    ("month", r"\b(?:January|February|June|July|August|September|October|November|December)\b"),
    ("measure", rf"\b\d+(?:,\d{{3}})*(?:\.\d+)?[ -](?:{_UNITS})\b"),
    ("measure", rf"\b(?:{'|'.join(NUMBER_WORDS)})[ -](?:{_UNITS})\b"),
    ("year", r"(?<![\w.,:/-])(?:1[4-9]|20)\d\d(?![\w]|[.,:]\d|-\d)"),
    (
        "ordinal",
        r"\b(?:\d+(?:st|nd|rd|th)|second|third|fourth|fifth|sixth|seventh|eighth|ninth"
        r"|tenth)\b(?! (?:century|largest))",
    ),
    (
        "number",
        r"(?<![\w.,:/$£€#–=.-])(?<!– )(?<!# )(?<![Nn]o\. )\d+(?:,\d{3})*(?:\.\d+)?(?: (?:million|billion"
        r"|thousand))?(?![\w%–/-]|[.,:]\d| ?/| –|°)",
    ),
    ("number", rf"\b(?:{'|'.join(NUMBER_WORDS)})\b(?!-)"),
)
_COMPILED = tuple((kind, re.compile(pattern, re.IGNORECASE if kind == "number" else 0)) for kind, pattern in _PATTERNS)
NUMERIC = frozenset(kind for kind, _ in _PATTERNS)


@dataclass(frozen=True)
class Value:
    """A span of a text and its kind: a numeric kind, or "name:" with what is known of the name."""

    kind: str
    text: str
    start: int
    end: int


@lru_cache(maxsize=100_000)
def numeric_values(text: str) -> tuple[Value, ...]:
    """Dates, times, amounts and counts, the longest reading of each stretch."""
    taken = [False] * (len(text) + 1)
    values: list[Value] = []
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(text):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = [True] * (match.end() - match.start())
                if kind in {"number", "ordinal"} and part_of_name(text, match):
                    continue
                values.append(Value(kind, match.group(), match.start(), match.end()))
    return tuple(sorted(values, key=lambda v: v.start))


_COUNTS = re.compile(
    r"\b(?:has|have|had|won|received|earned|of|for|with|including|includes?|contains?|over|about|the|The|played|and"
    r"|sold|by) $"
)


def part_of_name(text: str, match: re.Match[str]) -> bool:
    """True if a number belongs to a name ("Room 93", "Eight Below") or to an era ("146 BC")."""
    before, after = text[: match.start()].split()[-1:], text[match.end() :].split()[:1]
    named = before and before[0][:1].isupper() and len(text[: match.start()].split()) > 1 and before[0].isalnum()
    first = before and before[0] in _FIRST
    counted = _COUNTS.search(text[: match.start()])
    titled = after and after[0][:1].isupper() and match.group()[0].isdigit() and not counted
    if titled or (after and after[0].lower().startswith("century")):
        return True
    opens = match.group()[:1].isupper() and (match.start() > 0 or (bool(after) and after[0][:1].isupper()))
    return bool((named and not first) or opens or (after and after[0].strip(".,") in {"BC", "AD", "BCE", "CE"}))


@lru_cache(maxsize=100_000)
def name_spans(text: str) -> tuple[Value, ...]:
    """Runs of capitalised words that are names; a single capitalised word at the start is none unless tagged so."""
    words, names, index = tokens(text), [], 0
    while index < len(words):
        last = index
        while last < len(words) and _in_name(words[last].text, last > index):
            last += 1
            if last + 1 < len(words) and words[last].lower in {"of", "the", "de", "van", "von"}:
                last += bool(words[last + 1].text[:1].isupper() and words[last + 1].text[:1].isalpha())
        if last > index:
            opens = index == 0 or words[index - 1].text in {".", ":", '"', "?", "!"}
            if not (opens and (last - index == 1 or words[index].lower in _NOT_FIRST)):
                start, end = words[index].start, words[last - 1].end
                names.append(Value("name", text[start:end], start, end))
        index = max(last, index + 1)
    numbers = numeric_values(text)
    return tuple(v for v in names if not any(n.start < v.end and v.start < n.end for n in numbers))


def _in_name(word: str, inside: bool) -> bool:
    return word[:1].isupper() and word[:1].isalpha() and (len(word) > 2 or inside) and word not in _NEVER


_NEVER = word_set("I The A An We Many They He She It You Some Most Mr Mrs Ms Dr") | {*MONTHS, *WEEKDAYS}
_FIRST = word_set("In The Of At With About Over Only There All For It")
_NOT_FIRST = word_set(
    "the a an in on at by for from after before during since it he she they his her its as with while"
)


def occurrences(text: str, value: str) -> list[tuple[int, int]]:
    """Spans of ``value`` as whole words."""
    own = re.escape(value)
    pattern = rf"(?<![\w.,]){own}(?!\w|[.,]\d)" if value[:1].isdigit() else rf"(?<!\w){own}(?!\w)"
    return [m.span() for m in re.finditer(pattern, text)]


def exchange(text: str, one: str, other: str) -> str:
    """Swaps ``one`` and ``other`` everywhere."""
    spans = sorted([(*s, other) for s in occurrences(text, one)] + [(*s, one) for s in occurrences(text, other)])
    for start, end, new in reversed(spans):
        text = text[:start] + new + text[end:]
    return text


def magnitude(text: str) -> float | None:
    """The number in a value, including number words and multipliers."""
    match = re.search(r"\d+(?:,\d{3})*(?:\.\d+)?", text)
    if match:
        number = float(match.group().replace(",", ""))
    else:
        words = [w for w in re.findall(r"[a-z]+", text.lower()) if w in NUMBER_WORDS]
        if not words:
            return None
        number = float(WORD_VALUES[words[0]])
    scale = {"thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
    return number * next((scale[w] for w in re.findall(r"[a-z]+", text.lower()) if w in scale), 1.0)


WORD_VALUES = {w: i + 2 for i, w in enumerate(NUMBER_WORDS[:19])} | {"thirty": 30, "forty": 40, "fifty": 50}


def like_numbers(one: str, other: str, ratio: float = 30.0) -> bool:
    """True if two amounts are of one order of size, so that either could be meant."""
    a, b = magnitude(one), magnitude(other)
    return a is not None and b is not None and min(a, b) > 0 and max(a, b) / min(a, b) <= ratio
