"""Amounts, times, dates, identifiers and weekdays in any written form: in figures and words, fractions, units, ranges."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from functools import lru_cache
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
"""Number words that count in evidence, but are not required of a claim."""

_UNIT_WORDS = "|".join(sorted((*_SMALL, *_TENS), key=len, reverse=True))
_SCALE_WORDS = "|".join(_SCALES)
_ANY_WORD = rf"(?:{_UNIT_WORDS}|{_SCALE_WORDS})"
_WORDS = (
    rf"(?:an? (?=(?:{_SCALE_WORDS})\b))?\b{_ANY_WORD}(?:(?:[ -]| and (?=(?:{_UNIT_WORDS})\b)){_ANY_WORD}\b){{0,15}}"
)
"""At most sixteen words, so that no number is too large for a float; more words begin another number."""
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
    """A number and its place in a text. `kind`: "exact", "rounded" (with a scale), "ordinal", "part" or "named"."""

    start: int
    end: int
    value: float
    kind: str
    digits: int = 0
    """Significant digits of a rounded number."""
    figures: bool = False


def numbers(text: str) -> Iterator[Number]:
    """Numbers in order, without overlaps."""
    for match in _NUMBER.finditer(text):
        number = _number(match)
        if number is not None:
            yield number


def equal(first: float, second: float) -> bool:
    """True if two numbers are equal up to floating-point error."""
    return isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)


def rounds_to(value: float, digits: int, given: float) -> bool:
    """True if `value`, rounded to `digits` significant digits, is `given`."""
    return value > 0 and digits > 0 and equal(float(f"{value:.{digits - 1}e}"), given)


def _number(match: re.Match[str]) -> Number | None:
    start, end = match.span()
    if match["glyph"]:
        return Number(start, end, int(match["before"] or 0) + _GLYPHS[match["glyph"][-1]], "part", figures=True)
    if match["odds"]:
        some, of = (
            float(word) if word.isdigit() else parse_number_words(word) for word in (match["some"], match["all"])
        )
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
    return _number_in_words(match)


def _number_in_words(match: re.Match[str]) -> Number:
    start, end = match.span()
    written = (match["figures"] or "").replace(",", "")
    value = float(written) if written else float(parse_number_words(match["words"]))
    if match["ordinal"]:
        return Number(start, end, value, "ordinal", figures=bool(written))
    scale = (match["scale"] or match["short"] or "").lower()
    by = _SCALES.get(scale) or _SHORT_SCALES.get(scale) or (12 if scale == "dozen" else 1)
    value = (value + (0.5 if match["half"] else 0.0)) * by
    digits = len(written.replace(".", "").lstrip("0")) if written and by > 1 else 0
    return Number(start, end, value, "rounded" if digits else "exact", digits, bool(written))


def parse_number_words(text: str) -> int:
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
            # "nineteen eighty-four" and "seven thirty": values that cannot be added are appended.
            pairs = part % 100 and (value >= 10 or (part % 10 and value < 10) or 10 <= part % 100 < 20)
            part = part * 100 + value if pairs else part + value
    return total + part


_TABLE: dict[str, dict[float, str]] = {
    "time": {
        1e-3: "ms millisecond milliseconds",
        1: "s sec secs second seconds",
        60: "min mins minute minutes minuted",
        3600: "h hr hrs hour hours hourly",
        86400: "day days daily",
        604800: "week weeks weekly wk wks",
        1209600: "fortnight fortnights fortnightly",
    },
    "months": {1: "month months monthly", 3: "quarterly", 12: "year years yr yrs yearly annual annually annum",
               120: "decade decades", 1200: "century centuries"},
    "length": {1e-3: "mm millimetre millimetres millimeter millimeters", 0.01: "cm centimetre centimetres centimeter centimeters",
               1: "m metre metres meter meters", 1000: "km kilometre kilometres kilometer kilometers",
               0.0254: "inch inches", 0.3048: "ft foot feet", 0.9144: "yd yard yards", 1609.344: "mi mile miles"},
    "mass": {1e-9: "mcg µg microgram micrograms", 1e-6: "mg milligram milligrams", 1e-3: "g gram grams gramme grammes",
             1: "kg kgs kilo kilos kilogram kilograms", 1000: "tonne tonnes", 0.45359237: "lb lbs pound-weight",
             0.028349523: "oz ounce ounces", 907.18474: "ton tons"},
    "volume": {1e-3: "ml millilitre millilitres milliliter milliliters", 0.01: "cl centilitre centilitres",
               1: "l litre litres liter liters", 3.785411784: "gallon gallons", 0.473176473: "pint pints"},
    "area": {1: "m² sqm", 1e4: "ha hectare hectares", 4046.8564224: "acre acres", 1e6: "km²"},
    "bytes": {1e3: "kb kilobyte kilobytes", 1e6: "mb megabyte megabytes", 1e9: "gb gigabyte gigabytes",
              1e12: "tb terabyte terabytes"},
    "power": {1: "w watt watts", 1e3: "kw kilowatt kilowatts", 1e6: "mw megawatt megawatts"},
    "energy": {1: "wh", 1e3: "kwh", 1e6: "mwh"},
    "speed": {1: "mph", 0.621371192: "km/h kph kmh"},
    "celsius": {1: "°c celsius centigrade"},
    "fahrenheit": {1: "°f fahrenheit"},
    "share": {0.01: "% percent pct percentage"},
    "EUR": {1: "€ euro euros eur", 0.01: "cent-euro"},
    "USD": {1: "$ us$ dollar dollars usd bucks", 0.01: "¢ cent cents"},
    "GBP": {1: "£ pound pounds gbp sterling quid", 0.01: "pence p"},
    "JPY": {1: "¥ yen jpy"},
    "INR": {1: "₹ rupee rupees inr"},
    "CHF": {1: "chf franc francs"},
    "money": {1: "crown crowns krone kroner guilder guilders"},
}  # fmt: skip

UNITS = {
    name: (dimension, factor)
    for dimension, units in _TABLE.items()
    for factor, names in units.items()
    for name in names.split()
}
"""(dimension, factor to its base unit) by name in lower case."""

SIGNS = "$€£¥₹"
"""Currency signs before their amount."""

SECONDS_A_MONTH = 30.44 * 86400
"""Seconds of an average month."""

_MONTH_OF = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
    "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    re.compile(rf"\b{_DAY}(?: of)? {_MONTH}\b", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\.? (?:the )?{_DAY}\b(?![.:]?\d)", re.IGNORECASE),
    # The other end of "12 to 15 June" and of "June 12-15".
    re.compile(rf"\b{_DAY}(?=\s?(?:-|–|—|to|and)\s?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}\b)", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\.? \d{{1,2}}(?:st|nd|rd|th)?\s?(?:-|–|—|to|and)\s?{_DAY}\b(?![.:]?\d)", re.IGNORECASE),
    re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b"),
)
NUMERIC_DATE = re.compile(r"\b(?P<one>\d{1,2})(?P<mark>[./-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})\b")
_HALF = r"(?:am|pm|a\.m\.?|p\.m\.?)"
_CLOCK = re.compile(
    rf"\b(?P<hour>\d{{1,2}})(?:[:.h](?P<minute>[0-5]\d))\s?(?P<half>{_HALF})?(?![\w:%])"
    rf"|\b(?P<bare>\d{{1,2}})\s?(?P<bare_half>{_HALF})(?!\w)"
    r"|\b(?P<oclock>\w+) o'?clock(?:\s(?P<oclock_half>in the (?:morning|afternoon|evening)))?"
    r"|\b(?P<named>noon|midday|midnight)\b"
    r"|\b(?P<part>half|quarter) (?P<side>past|to) (?P<of>\w+)",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:\s?[-–]?\s?(?:square |cubic |calendar |working |business |consecutive |full |whole )?)"
    r"(?P<unit>%|°\s?[CFcf]|[A-Za-zµ€$£¥¢][A-Za-z²/$]*)"
)
_RANGE = re.compile(r"\s?(?:-|–|—|to|and|or)\s?", re.IGNORECASE)
_AND_HALF = re.compile(r"\b(?:an?|one) (?P<unit>[a-z]+) and a (?P<part>half|quarter)\b", re.IGNORECASE)
_PART_OF = re.compile(r"\b(?P<part>half|(?:a |three[ -])quarters?)[ -](?:of )?(?:an? )?(?P<unit>hour|day|year|kilo|mile|litre)\b",
                      re.IGNORECASE)  # fmt: skip
_LONE = re.compile(r"\b(?:an?|per|each|every) (?P<unit>hour|minute|day|week|month|year|decade|century|fortnight)\b"
                   r"|\b(?P<every>hourly|daily|weekly|monthly|quarterly|yearly|annual|annually)\b", re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """A number with its unit. `dimension` is empty without a unit; `value` is in the dimension's base unit.

    A time of day is in minutes; a date is 100 times the month plus the day.
    """

    start: int
    end: int
    dimension: str
    value: float
    number: Number | None = None
    sure: bool = True
    """For a time of day: whether am or pm is known."""


@lru_cache(maxsize=2048)
def amounts(text: str) -> tuple[Amount, ...]:
    """All amounts of a text, unordered. Times and dates contain no plain numbers."""
    fixed = [*_dates(text), *_clocks(text)]
    taken = bytearray(len(text))
    for amount in fixed:
        taken[amount.start : amount.end] = b"\1" * (amount.end - amount.start)
    free = [number for number in numbers(text) if not any(taken[number.start : number.end])]
    return (*fixed, *_lone_units(text), *_amounts_with_unit(text, free))


_YEAR = re.compile(r"(?:,| of)? (?P<year>\d{4})\b")
_MONTH_NAMES = {number: name.title() for name, number in reversed(_MONTH_OF.items())}
_LARGE = 1000
"""Least value of a number that people write in several forms: "1.4 million" and "1,400,000"."""


def in_one_form(evidence: str, claim: str) -> tuple[str, str]:
    """Both texts, with the dates, times and large numbers that they share in the same form; unchanged without any.

    A verifier takes "2021-06-17" and "17 June 2021" for two days.

    >>> in_one_form("It was signed on 17 June 2021.", "Signed: 2021-06-17.")
    ('It was signed on 17 June 2021.', 'Signed: 17 June 2021.')
    """
    ours, theirs = _written_dates(claim), _written_dates(evidence)
    differing = {day for day in ours.keys() & theirs.keys() if ours[day] != theirs[day]}
    if differing:
        evidence, claim = _with_long_dates(evidence, differing), _with_long_dates(claim, differing)
    changes = dict[tuple[int, int], str]()
    for wanted in amounts(claim):
        written = claim[wanted.start : wanted.end]
        for given in amounts(evidence):
            if _is_in_another_form(wanted, given) and evidence[given.start : given.end].lower() != written.lower():
                changes[given.start, given.end] = written
    for (start, end), written in sorted(changes.items(), reverse=True):
        evidence = evidence[:start] + written + evidence[end:]
    return evidence, claim


def _is_in_another_form(wanted: Amount, given: Amount) -> bool:
    """True if both are the same time of day, or the same large number, whose form is the number alone."""
    if wanted.dimension != given.dimension:
        return False
    if wanted.dimension == "clock":
        apart = abs(wanted.value - given.value)
        return apart == 0 or (apart == 720 and not (wanted.sure and given.sure))
    first, second = wanted.number, given.number
    return bool(first and second and first.value >= _LARGE and equal(first.value, second.value))


def _written_dates(text: str) -> dict[float, str]:
    """The dates of a text as they are written; ends of a range like "June 12-15" are left out."""
    dates = [one for one in amounts(text) if one.dimension == "date"]
    whole = [
        one
        for one in dates
        if not any(
            other.start < one.end and one.start < other.end and (other.start, other.end) != (one.start, one.end)
            for other in dates
        )
    ]
    return {one.value: text[one.start : one.end].lower() for one in whole}


def _with_long_dates(text: str, chosen: Set[float]) -> str:
    """The text with these dates as day, month and, where it is given, year."""
    known = amounts(text)
    years = {one.start: f"{one.value:.0f}" for one in known if not one.dimension}
    dates = {one.start: one for one in known if one.dimension == "date" and one.value in chosen}
    for start, one in sorted(dates.items(), reverse=True):
        month, day = divmod(int(one.value), 100)
        behind = _YEAR.match(text, one.end)
        year = behind["year"] if behind else years.get(start, "")
        before, rest = text[:start].removesuffix("the "), text[behind.end() if behind else one.end :]
        text = before + f"{day} {_MONTH_NAMES[month]} {year}".rstrip() + rest
    return text


def _dates(text: str) -> Iterator[Amount]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            groups = match.groupdict()
            month = _MONTH_OF[groups["month"].lower()] if groups.get("month") else int(groups["number"])
            yield Amount(match.start(), match.end(), "date", month * 100 + int(match["day"]))
            if groups.get("year"):
                yield Amount(match.start(), match.end(), "", float(groups["year"]))
    for match in NUMERIC_DATE.finditer(text):
        one, two = int(match["one"]), int(match["two"])
        for month, day in ((one, two), (two, one)):
            if 1 <= month <= 12 and 1 <= day <= 31:
                yield Amount(
                    match.start(), match.end(), "date", month * 100 + day, sure=one == two or max(one, two) > 12
                )
        year = int(match["year"])
        yield Amount(match.start(), match.end(), "", float(year if year > 99 else 2000 + year))


def _clocks(text: str) -> Iterator[Amount]:
    for match in _CLOCK.finditer(text):
        clock = _clock(match, text)
        if clock is not None:
            yield clock


def _clock(match: re.Match[str], text: str) -> Amount | None:
    start, end = match.span()
    if match["named"]:
        return Amount(start, end, "clock", 0 if match["named"].lower() == "midnight" else 720)
    if match["part"] or match["oclock"]:
        hour = next((number.value for number in numbers(match["of"] or match["oclock"])), None)
        if hour is None or hour > 24:
            return None
        by = {"half": 30, "quarter": 15}[match["part"].lower()] if match["part"] else 0
        sign = -1 if (match["side"] or "").lower() == "to" else 1
        return Amount(start, end, "clock", (hour * 60 + sign * by) % 1440, sure=False)
    half = (match["half"] or match["bare_half"] or "").lower()[:1]
    hour, minute = int(match["hour"] or match["bare"]), int(match["minute"] or 0)
    if hour > 24 or (half and hour > 12):
        return None
    # "7.30" is a time in a text about times, and a price or a size elsewhere.
    if (
        not half
        and "." in match.group()
        and not re.search(r"\b(?:at|from|until|till|by|before|after|o'clock|opens?|closes?)\s$", text[:start])
    ):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return Amount(start, end, "clock", (hour * 60 + minute) % 1440, sure=bool(half) or hour > 12 or hour == 0)


def _lone_units(text: str) -> Iterator[Amount]:
    for match in _AND_HALF.finditer(text):
        unit = UNITS.get(match["unit"].lower())
        if unit:
            part = 1.5 if match["part"].lower() == "half" else 1.25
            yield Amount(match.start(), match.end(), unit[0], part * unit[1])
    for match in _PART_OF.finditer(text):
        part = {"h": 0.5, "a": 0.25, "t": 0.75}[match["part"][0].lower()]
        dimension, factor = UNITS[match["unit"].lower()]
        yield Amount(match.start(), match.end(), dimension, part * factor, sure=False)
    for match in _LONE.finditer(text):
        unit = UNITS.get((match["unit"] or match["every"]).lower())
        if unit:
            # An implied one ("an hour") counts in evidence, but is not required of it: `sure` is False.
            yield Amount(match.start(), match.end(), unit[0], unit[1], sure=False)


def _amounts_with_unit(text: str, bare: list[Number]) -> Iterator[Amount]:
    """Numbers with their units; both ends of a range share one."""
    units = [_unit(text, number) for number in bare]
    for index in range(len(bare) - 1, 0, -1):
        between = text[bare[index - 1].end : bare[index].start]
        if units[index] and not units[index - 1] and _RANGE.fullmatch(between):
            units[index - 1] = units[index]
        elif (
            units[index - 1]
            and not units[index]
            and _RANGE.fullmatch(between)
            and text[bare[index - 1].start - 1] in SIGNS
        ):
            units[index] = units[index - 1]
    for number, unit in zip(bare, units, strict=True):
        dimension, factor = unit or ("", 1.0)
        yield Amount(number.start, number.end, dimension, number.value * factor, number)


def _unit(text: str, number: Number) -> tuple[str, float] | None:
    before = text[max(0, number.start - 1) : number.start]
    if before and before in SIGNS:
        return UNITS[before]
    behind = _UNIT.match(text, number.end)
    if behind is None or (number.kind == "ordinal"):
        return None
    name = behind["unit"].lower().replace(" ", "")
    if name in ("s", "p") and text[number.end : number.end + 1].isspace():
        return None
    if name == "m":
        return ("length", 1.0)
    return UNITS.get(name) or UNITS.get(name.split("/")[0])


WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ALL, _WORKING, _END = frozenset(range(7)), frozenset(range(5)), frozenset((5, 6))
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?!\w)\.?"
_SPANS = re.compile(
    rf"(?P<range>\b{_WEEKDAY}\s*(?:-|–|—|/|to|through|thru|till|until|and)\s*{_WEEKDAY})|(?P<day>\b{_WEEKDAY})"
    r"|(?P<all>\b(?i:daily|every ?day|each day|any day|all week|every (?:single )?day|(?:seven|7) days(?: a week)?|24/7"
    r"|(?:all |every )?other days?|(?:the )?rest of the week|otherwise)\b)"
    r"|(?P<working>\b(?i:weekdays?|(?:working|business|week) days?)\b)|(?P<end>\b(?i:weekends?)\b)"
)
_SHUT = re.compile(r"\b(?:closed|shut|(?:not|never|isn't|aren't) open(?:ed)?)\b", re.IGNORECASE)
_OPEN = re.compile(r"\bopen(?:s|ed)?\b|\d\s*(?:[-–—]|to|until|till)\s*\d", re.IGNORECASE)
_OTHER_FORMS = re.compile(
    rf"\b(?i:today|tomorrow|yesterday|tonight|(?:{_MONTHS})\.?\s+\d|\d{{1,2}}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(?:{_MONTHS})"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b"
)


SET_ASIDE = re.compile(
    r"(?:(?:,|\b(?:and|but)) not|\binstead of|\brather than) (?:(?:at|on|for|from|in|the) )?$", re.IGNORECASE
)
"""The words before a figure or a day that a claim says is not so: "It lasts 12 minutes, not 15"."""


def missing_day(claim: str, evidence: str) -> str | None:
    """The claim's first weekday that the evidence names in no form; None for none.

    Ranges, "weekdays", "daily" and short forms count. A date stands for any day, and a day that is not listed as open is closed.
    """
    known = days(evidence) | days(evidence.title())  # "sun cream" has the "Sun" of "Sun cream"
    if not known and not any(re.search(rf"\b{day}s?\b", claim) for day in WEEK):
        return None  # "Sun" and "Sat" alone may be no days
    if _OTHER_FORMS.search(evidence) or (_SHUT.search(claim) and _OPEN.search(evidence)):
        return None
    named = (
        _days_of(token)
        for token in _SPANS.finditer(claim)
        if token.lastgroup in ("day", "range") and not SET_ASIDE.search(claim[: token.start()])
    )
    missing = frozenset().union(*named) - known
    return WEEK[min(missing)] if missing else None


@lru_cache(maxsize=1024)
def days(text: str) -> frozenset[int]:
    """The days that a text names, 0 for Monday."""
    return frozenset().union(*map(_days_of, _SPANS.finditer(text)))


def _days_of(token: re.Match[str]) -> frozenset[int]:
    kind = token.lastgroup
    if kind == "range":
        first, last, *_ = (_number_of_day(day) for day in re.findall(_WEEKDAY, token[0]))
        if re.search(r"/|\band\b", token[0]):
            return frozenset((first, last))
        return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
    if kind == "day":
        return frozenset((_number_of_day(token[0]),))
    return {"working": _WORKING, "end": _END}.get(kind or "", _ALL)


def _number_of_day(day: str) -> int:
    return next(number for number, name in enumerate(WEEK) if name[:3] == day[:3])
