"""Finds a claim's quantities, codes and identifiers that its evidence lacks in every form.

Verifiers read "5 mg" and "50 mg" as nearly the same. But a wrong veto is a false alarm: amounts that can be counted, computed,
rounded or paraphrased are not required. Evidence with the claim's words and another figure counts against the claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, pairwise

from vista_guard.judges.embedded.english.words import DETERMINERS, PRONOUNS, STEM, content_words, word_stems
from vista_guard.judges.embedded.quantities import (
    NUMERIC_DATE,
    SECONDS_A_MONTH,
    SET_ASIDE,
    UNITS,
    Amount,
    amounts,
    days,
    equal,
    missing_day,
    rounds_to,
)

COUNTABLE = 12
"""Whole numbers up to this one, without a unit, can be counted from a text that does not contain them."""
CONVERTED = 0.03
"""Relative tolerance between units of one dimension: people round converted amounts."""
NEAR = 1 / 3
"""Largest difference, as a share of the larger, between an estimate and the amount that it stands for."""
COMPUTED = 8
"""Most amounts of evidence to combine; with more, sums, differences and products give nearly any number."""

_HEDGED = re.compile(
    r"\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|circa|c\.|some|over|under|above|below|beyond|up to"
    r"|(?:more|less|fewer|greater|higher|lower|older|younger|longer|shorter|larger|smaller|later|earlier) than|at (?:least|most)"
    r"|within|upwards of|minimum of|maximum of|just|close to|exceed(?:s|ing)?|between|since|before|after|until|by|~|≈|>|<)\s*$",
    re.IGNORECASE,
)
_ESTIMATE = re.compile(
    r"\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|circa|close to)\s[$€£¥₹]?$", re.IGNORECASE
)
_ROUGH = re.compile(r"\b(?:or (?:more|less|so|older|younger|over|under)|ish|plus|s\b)|\+|-(?:something|odd)")
_IDENTIFIER = re.compile(
    r"(?<![\w/@.#-])(?=[\w./#-]*\d)(?=[\w./#-]*[A-Za-z])[A-Za-z0-9][\w./#-]*\w"
    r"|\b[a-z]+_[a-z_0-9]+\b|\b[a-z]+[A-Z]\w+\b|(?<!\w)--[a-z][\w-]+|\b[\w.+-]+@[\w-]+\.\w+|\b\d+(?:\.\d+){2,}\b"
)
_NO_IDENTIFIER = re.compile(
    rf"\d[\d.,:]*(?:[ap]m|st|nd|rd|th|[a-z][a-z]+|[sx]|{'|'.join(sorted(filter(str.isalpha, UNITS), key=len, reverse=True))})?"
    r"(?:[-/][A-Za-z\d]+)*|[a-z]+(?:-[a-z]+)*-\d{1,4}[a-z]?|[A-Za-z]+-\d{4}s?|[A-Za-z]*\d+s|[QH][1-4]|[1-4][QH]",
    re.IGNORECASE,
)
_NAME = re.compile(r"([A-Za-z]{4,})-?\d{1,2}")
_COMPUTED = re.compile(
    r"\b(?:total(?:s|l?ing)?|altogether|combined|in all|average|mean|median|difference|sum)\b", re.IGNORECASE
)
_EXAMPLE = re.compile(r"[- ](?:year|month|week)s?[- ]old")
_FOLD = re.compile(r"[\s\-‐-―_./]+")


def lacking(claim: str, evidence: str) -> str | None:
    """The claim's first quantity or identifier that the evidence lacks in every form, as written; None for none."""
    for code in _identifiers(claim):
        name = _NAME.fullmatch(code)  # "COVID-19" may be just "COVID".
        if _fold(name[1] if name else code) not in _fold(evidence):
            return code
    given = amounts(evidence)
    stated = amounts(claim)
    wanted = [amount for amount in stated if _is_asked_for(claim, amount)]
    for amount in wanted:
        written = claim[amount.start : amount.end]
        readings = [one for one in wanted if (one.start, one.dimension) == (amount.start, amount.dimension)]
        if (
            not any(_is_same_amount(one, other) for one in readings for other in given)
            and not _is_computed(amount, given)
            and not _encloses(claim, amount, stated, given)
            and not _appears(written, evidence)
        ):
            return written
    return _far_off(claim, given)


def _far_off(claim: str, given: Sequence[Amount]) -> str | None:
    """The claim's estimate ("about 90 minutes") that the only amount of its kind does not come near, or its limit ("over 100
    euros") that this amount is beyond; None for none."""
    for amount in amounts(claim):
        alike = {other.value for other in given if other.dimension == amount.dimension}
        if len(alike) != 1 or _LIMIT_DENIED.search(claim[: amount.start]):
            continue
        (known,) = alike
        limit = _limit(claim, amount)
        is_estimate = amount.dimension and _ESTIMATE.search(claim[: amount.start])
        is_beyond = known > amount.value if limit == "most" else limit == "least" and known < amount.value
        if is_beyond or (is_estimate and not _is_near(amount.value, known)):
            return claim[amount.start : amount.end]
    return None


def _is_near(estimate: float, given: float) -> bool:
    return abs(estimate - given) <= NEAR * max(abs(estimate), abs(given))


def dropped_figure(text: str, other: str) -> str | None:
    """The first figure of a text that a text on the same matter leaves out, as written; None for none. "One" is no figure."""
    given = amounts(other)
    for amount in amounts(text):
        number, written = amount.number, text[amount.start : amount.end]
        plain = number is not None and (number.kind in ("ordinal", "named", "part") or number.value in (0, 1))
        if (not plain or any(map(str.isdigit, written))) and not any(_is_same_amount(amount, one) for one in given):
            return written
    return None


def _is_asked_for(text: str, amount: Amount) -> bool:
    """True if the claim states exactly this amount: no bound, no estimate, nothing that it denies or that can be counted."""
    if not amount.sure and amount.dimension not in ("clock", "date"):
        return False
    before, behind = text[: amount.start].rstrip(" $€£¥₹("), text[amount.end : amount.end + 14]
    number = amount.number
    if SET_ASIDE.search(before + " "):
        return False
    if _HEDGED.search(before + " ") and amount.dimension not in ("clock", "date"):
        return False
    if number is None:
        return True
    if re.search(r"[A-Za-z]-$", text[: amount.start]) or (not amount.dimension and behind[:1].isalpha()):
        return False  # part of a name: "COVID-19", "the 49ers"
    if _EXAMPLE.match(behind) or _COMPUTED.search(text):
        return False
    if _ROUGH.match(behind.lstrip()) or number.kind in ("ordinal", "named", "part"):
        return False
    if not amount.dimension and number.value <= COUNTABLE and number.value == int(number.value):
        return False
    # "One day", "a day's notice": single units can be counted, too.
    return not (amount.dimension in ("time", "months") and number.value in (0, 1))


def _is_same_amount(wanted: Amount, given: Amount) -> bool:
    if wanted.dimension in ("clock", "date") or given.dimension in ("clock", "date"):
        return _is_same_time(wanted, given)
    if wanted.dimension == given.dimension:
        return equal(wanted.value, given.value) or _is_close(wanted, given)
    if {wanted.dimension, given.dimension} == {"time", "months"}:
        return _is_same_duration(wanted, given)
    if {wanted.dimension, given.dimension} == {"celsius", "fahrenheit"}:
        celsius, fahrenheit = (wanted, given) if wanted.dimension == "celsius" else (given, wanted)
        return abs(celsius.value * 1.8 + 32 - fahrenheit.value) <= 1
    if "share" in (wanted.dimension, given.dimension) and "" in (wanted.dimension, given.dimension):
        return equal(wanted.value, given.value) or _is_same_number(wanted, given)
    if {wanted.dimension, given.dimension} == {"length", "area"}:  # "150 km", with the ² lost
        return _is_same_number(wanted, given)
    # The unit may be elsewhere: in a header, a heading, the sentence before.
    return "" in (wanted.dimension, given.dimension) and _is_same_number(wanted, given)


def _appears(written: str, evidence: str) -> bool:
    """True if the evidence has it verbatim: "2:22" of a psalm is no time."""
    return not written.isdigit() and re.search(rf"(?<![\w.,]){re.escape(written)}(?![\w]|[.,]\d)", evidence) is not None


def _is_same_time(wanted: Amount, given: Amount) -> bool:
    if wanted.dimension == given.dimension == "clock":
        apart = abs(wanted.value - given.value) % 1440
        return apart == 0 or (apart == 720 and not (wanted.sure and given.sure))
    if wanted.dimension == "clock" and given.dimension == "" and given.number is not None:
        return equal(given.value * 60 % 720, wanted.value % 720) or equal(
            given.value, wanted.value // 60 * 100 + wanted.value % 60
        )
    return wanted.dimension == given.dimension and equal(wanted.value, given.value)


def _is_close(wanted: Amount, given: Amount) -> bool:
    number, other = wanted.number, given.number
    if number is None or other is None or not wanted.value:
        return False
    if number.kind == "rounded" and rounds_to(given.value, number.digits, wanted.value):
        return True
    converted = bool(wanted.dimension) and not equal(number.value / wanted.value, other.value / (given.value or 1))
    return converted and abs(given.value / wanted.value - 1) <= CONVERTED


def _is_same_duration(wanted: Amount, given: Amount) -> bool:
    seconds = [amount.value * (SECONDS_A_MONTH if amount.dimension == "months" else 1) for amount in (wanted, given)]
    return bool(seconds[0]) and abs(seconds[1] / seconds[0] - 1) <= CONVERTED


def _is_same_number(wanted: Amount, given: Amount) -> bool:
    mine = wanted.number.value if wanted.number else wanted.value
    other = given.number.value if given.number else given.value
    return equal(mine, other)


def _is_computed(wanted: Amount, given: tuple[Amount, ...]) -> bool:
    """True if two amounts of the evidence give the claim's: by a sum, a difference, a product or a ratio."""
    if wanted.dimension == "time" and sum(amount.dimension == "clock" for amount in given) > 1:
        return True  # nine to five is eight hours
    if wanted.dimension == "clock":  # a quarter past ten and half an hour
        times = [
            replace(one, value=one.value + lasting.value / 60)
            for one in given
            for lasting in given
            if (one.dimension, lasting.dimension) == ("clock", "time")
        ]
        return any(_is_same_time(wanted, one) for one in times)
    countable = [amount for amount in given if amount.dimension not in ("clock", "date")]
    pairs = combinations(countable, 2) if len(countable) <= COMPUTED else ()
    return any(_gives(first, second, wanted) for first, second in pairs)


_BETWEEN = re.compile(r"\bbetween (?P<low>[^,;]{1,20}) and\s[$€£¥₹]?$", re.IGNORECASE)


def _encloses(claim: str, high: Amount, stated: Sequence[Amount], given: Sequence[Amount]) -> bool:
    """True for the end of a range in which all amounts of the evidence lie: "between 70 and 80 °C", of 71.2 and 79.1."""
    match = _BETWEEN.search(claim[: high.start])
    low = [one.value for one in stated if match and match.start("low") <= one.start < match.end("low")]
    alike = [one.value for one in given if one.dimension == high.dimension]
    return bool(low and alike) and all(low[0] <= value <= high.value for value in alike)


def _gives(first: Amount, second: Amount, wanted: Amount) -> bool:
    kinds = {first.dimension, second.dimension}
    values = list[float]()
    if kinds <= {"", wanted.dimension}:
        values += (first.value + second.value, abs(first.value - second.value))
    if kinds & {"", "share"} and wanted.dimension in (*kinds, ""):
        values += _products(first.value, second.value)
    if wanted.dimension == "months" and kinds == {""}:  # "For 62 years", of 1925 and 1987.
        values.append(abs(first.value - second.value) * 12)
    return any(equal(value, wanted.value) for value in values)


def _products(first: float, second: float) -> Iterator[float]:
    yield first * second
    if second:
        yield first / second
    if first:
        yield second / first


def _identifiers(claim: str) -> list[str]:
    identifiers = (match.group().rstrip(".-/") for match in _IDENTIFIER.finditer(claim))
    return [
        code
        for code in identifiers
        if (code.count(".") > 1 or not _NO_IDENTIFIER.fullmatch(code)) and not NUMERIC_DATE.fullmatch(code)
    ]


@lru_cache(maxsize=1024)
def _fold(text: str) -> str:
    return _FOLD.sub("", text).casefold()


_WORDS = re.compile(r"[a-z][a-z'-]*")
_LETTERS = re.compile(r"[^\W\d_]+")
_IDLE = frozenset({"only", "just", "exactly", "also", "still", "now"})


SAME_MATTER = 2 / 3
"""Minimum share of the claim's other content words in a sentence whose figure replaces the claim's."""


def other_figure(claim: str, evidence: str) -> bool:
    """True if the evidence has most content words of the claim, but another figure of the same kind.

    Args:
        claim: folded.
        evidence: one sentence; with two figures of the kind, none replaces the claim's.
    """
    missing = replaced_figure(claim, evidence)
    if missing is None:
        return False
    return _of_same_matter(claim, missing, evidence) and not _HEDGED.search(claim[: claim.find(missing)])


def replaced_limit(claim: str, evidence: str) -> bool:
    """True if the evidence, one sentence, has most content words of the claim, but its limit only with other figures."""
    missing = other_limit(claim, evidence)
    return missing is not None and _of_same_matter(claim, missing, evidence)


def _of_same_matter(claim: str, figure: str, evidence: str) -> bool:
    """True if a sentence has most content words that the claim has beside a figure."""
    place = claim.find(figure)
    context = f"{claim[:place]} {claim[place + len(figure) :]}".lower()
    words = [word for word in _WORDS.findall(context) if word not in _IDLE]
    content, known = content_words(context), word_stems(evidence)
    shared = [word[:STEM] in known for word in words if word in content]
    # "The small pool" is another one: a missing word in front of a shared one.
    narrowed = any(
        {word, behind} <= content and word[:STEM] not in known and behind[:STEM] in known
        for word, behind in pairwise(words)
    )
    return bool(shared) and sum(shared) >= SAME_MATTER * len(shared) and not narrowed


def replaced_figure(claim: str, evidence: str) -> str | None:
    """The claim's figure that the evidence replaces with exactly one other of its kind, which the claim has not; else None."""
    missing, stated = lacking(claim, evidence), amounts(claim)
    place = claim.find(missing) if missing else -1
    kinds = {_kind(amount) for amount in stated if amount.start <= place < amount.end}
    given = [amount for amount in amounts(evidence) if _kind(amount) in kinds]
    # "£12 an hour, £30 for half a day" and a cell with £30 agree.
    return missing if len(given) == 1 and not any(_is_same_amount(one, given[0]) for one in stated) else None


def other_day(claim: str, evidence: str) -> bool:
    """True if the evidence has most content words of the claim, but only other weekdays."""
    day = missing_day(claim, evidence)
    content = content_words(claim.replace(day, " ")) if day and days(evidence) else frozenset()
    known = word_stems(evidence)
    return bool(content) and sum(word[:STEM] in known for word in content) >= SAME_MATTER * len(content)


_CAPITALISED = r"[A-Z][a-zà-ÿ]+(?:-[A-Z][a-zà-ÿ]+)*"
_NAMES = re.compile(rf"(?<![\w'-]){_CAPITALISED}(?: (?:(?:of|de|da|van|von) )?{_CAPITALISED})*(?![\w-])")
_NEXT_WORD, _LAST_WORDS = re.compile(r"[\s,]*(\w+)"), re.compile(r"(?:(\w+)\s+(?=by\b))?(\w+)[\s,]*$")
_LEAST_SHARED = 2
"""Fewest words that claim and sentence share beside a name, if a lone capital at a sentence's beginning is that name."""


def other_name(claim: str, evidence: str, *, shared: float = SAME_MATTER) -> str | None:
    """The claim's name where a sentence says the same of another: "Ana leads the tour" is not about Rui; None for none.

    Args:
        claim: folded.
        evidence: sentences. With one that has all names of the claim, nothing is replaced.
        shared: minimum share of the claim's other content words in the sentence.
    """
    dates = [amount for amount in amounts(claim) if amount.dimension == "date"]
    names = [
        match
        for match in _NAMES.finditer(claim)
        if (match.start() or " " in match[0])
        and not (days(match[0]) or any(date.start <= match.start() < date.end for date in dates))
    ]
    if not names:
        return None
    sentences = [sentence for sentence in re.split(r"(?<=[.!?])\s+", evidence) if sentence]
    if any(all(_has_name(sentence, name[0]) for name in names) for sentence in sentences):
        return None
    return next((name[0] for name in names if any(_is_renamed(claim, name, one, shared) for one in sentences)), None)


def _has_name(sentence: str, name: str) -> bool:
    """True if a sentence has a word of the name, or its initials."""
    words = set(_LETTERS.findall(sentence.lower()))
    own = _LETTERS.findall(name)
    return (
        any(word[0].isupper() and word.lower() in words for word in own)
        or "".join(word[0] for word in own if word[0].isupper()).lower() in words
    )


def _is_renamed(claim: str, name: re.Match[str], sentence: str, least: float) -> bool:
    """True if a sentence has another name in the place of this one."""
    if _has_name(sentence, name[0]):
        return False
    content = content_words(f"{claim[: name.start()]} {claim[name.end() :]}") - _IDLE
    known = word_stems(sentence)
    shared = [word for word in content if word[:STEM] in known]
    if not shared or len(shared) < least * len(content):
        return False
    beside = _beside(claim, name)
    return any(
        not _has_name(claim, other[0])
        and other[0].lower() not in PRONOUNS | DETERMINERS
        and beside & _beside(sentence, other)
        and (other.start() or " " in other[0] or len(shared) >= _LEAST_SHARED)
        for other in _NAMES.finditer(sentence)
    )


def _beside(text: str, name: re.Match[str]) -> set[str]:
    """The words right before and behind a name, other than articles and conjunctions; the participle before a "by", too."""
    before, behind = _LAST_WORDS.search(text[: name.start()]), _NEXT_WORD.match(text[name.end() :])
    found = {word.lower() for match in (before, behind) if match for word in match.groups() if word}
    return found - {"the", "a", "an", "and", "or", "who", "which", "that"}


def _kind(amount: Amount) -> str:
    """The amount's dimension; "year" for a plain number that may be one."""
    is_year = not amount.dimension and amount.value in range(1000, 2101)
    return "year" if is_year else amount.dimension


_TERMS = tuple(
    (re.compile(before, re.I), re.compile(behind, re.I))
    for before, behind in (
        (r"\b(?:minus|negative)\s*$|(?:^|[\s(])[-−–]$", r"[\w°\s]{0,20}\bbelow (?:zero|freezing)"),
        (r"\b(?:twice|double|two times|2 ?[x×])(?: of| the)?\s*$", "(?!)"),
        (r"\b(?:thrice|triple|\w+ times|\d ?[x×])(?: of| the)?\s*$", "(?!)"),
        (
            r"\b(?:half|third|quarter|fifth|tenth|fraction)(?: of| the)*\s*$",
            r"(?:(?! (?:and|or|but) )[^,;.]){0,20}\b(?:more|less|higher|lower) than",
        ),
        ("(?!)", r"[\s-]?(?:sq\b|square|\w{0,4}²|sqm|hectares?|acres?)"),
        (r"\bevery\s*$", "(?!)"),
        (r"\bevery (?:other|second|third|alternate)\s*$", "(?!)"),
        ("(?!)", r"[\s-]?(?:cubic|\w{0,4}³)"),
        ("(?!)", r"[\s-]?(?:business|working|work|banking|bank|trading|school|office|court)[ -]days?"),
        ("(?!)", r"\s?(?:°\s?F\b|degrees? F(?:ahrenheit)?\b|fahrenheit)"),
    )
)
"""Modifiers before and behind a figure that change it; claim and evidence need the same."""
_BOUND = re.compile(
    r"(?:\b(?:(?:not|never)(?: to)? exceed\w*|(?P<least>over|above|at least"
    r"|(?:more|greater|higher|older|longer|no less|not less|no fewer) than|minimum(?: of)?|exceed\w*|beyond)|under|below|at most"
    r"|(?:less|fewer|lower|younger|shorter|smaller|no more|not more) than|maximum(?: of)?|up to|not quite|almost|nearly|short of)"
    r"|[<>])\s*$",
    re.I,
)
_OR_SO = re.compile(
    r"[\w°%² ]{0,20} (?:or|and) (?:(?P<least>more|over|above|older|up)|less|fewer|under|below|younger)\b", re.I
)
_BOUNDED = re.compile(
    r"\b(?:minim|min\b|maxim|max\b|least|most|from|limit|cap|up to|within|exceed|until|attain|reach)\w*|[<>+≤≥]", re.I
)
_RATE = re.compile(
    r"(?:\b(?P<by>per|each|every|an?)\s+|(?<=[\w°%²])(?P<slash>/))(?P<skip>other |second |third |alternate )?"
    r"(?:(?:[\d,.]+|two|three|four|five|six|seven|eight|nine|ten|twelve|hundred"
    r"|thousand|million|square|cubic) )?(?P<of>(?!cent\b)[^\W\d_]+)"
    r"|\b(?P<ly>hourly|daily|weekly|fortnightly|monthly|quarterly|yearly|annual(?:ly)?)\b|(?P<alternate>alternate) (?P<days>\w+)",
    re.I,
)
_SPAN = re.compile(r"\b(?:for|in|within|after) an? ", re.I)
"""Prepositions of a time span: "for a week" is no rate."""
_TIMES = re.compile(r"\b(?:twice|thrice|times|\d ?[x×])\s+(?:an?|per|each|every|daily|weekly|monthly)\b", re.I)
_OFTEN = re.compile(r"\b(?:twice|thrice|times|two|three|every \w+ hours|\d ?[x×])\b", re.I)
_ZONE = re.compile(r"[\s.)]*\b(?P<zone>[A-Z]{1,4}T\b|UTC|(?=(?:[A-Z][a-z]+ ){1,3}[Tt]ime)[A-Z][a-z]+)")


def other_terms(claim: str, evidence: str) -> str | None:
    """The claim's figure that has another operator, sign, rate or zone in the evidence; None for none.

    A figure may lose its rate, bound or zone: "20 mg" follows from "20 mg per day". It may not gain one.
    """
    given = amounts(evidence)
    for amount in amounts(claim):
        alike = [other for other in given if _is_alike(amount, other)]
        if alike and not any(_on_same_terms(claim, amount, evidence, other) for other in alike):
            return claim[amount.start : amount.end]
    known = _rates(evidence)
    counted = _rates(_SPAN.sub(" ", claim)) - known if known else ()
    gained = [unit for unit, skip in counted if unit.startswith(("time", "months"))]
    return gained[0] if gained and not any(map(str.isdigit, claim)) else None


_LIMIT = re.compile(
    r"\b(?:(?P<most>up to|at (?:the )?most|(?:no|not) (?:more|later|longer) than|less than|fewer than|under|below|within"
    r"|maximum of)|(?P<least>at (?:the )?least|(?:no|not) (?:less|fewer) than|minimum of|more than|over|above))\s*$",
    re.I,
)


_LIMIT_DENIED = re.compile(r"(?:\bnot|n't) (?:over|above|under|below|within)\s*$", re.I)


def other_limit(claim: str, evidence: str, *, counts: bool = False) -> str | None:
    """The claim's limit, if the evidence has the same kind of limit only with other figures; else None.

    "Within 10 days" is not "within 30 days". Figures without a unit are skipped unless `counts`: they may count something else.
    """
    given = amounts(evidence)
    known = {(limit, amount.dimension) for amount in given if (limit := _limit(evidence, amount))}
    for amount in amounts(claim) if known else ():
        is_other = not any(_is_same_amount(amount, other) for other in given) and not _is_computed(amount, given)
        if (amount.dimension or counts) and is_other and (_limit(claim, amount), amount.dimension) in known:
            return claim[amount.start : amount.end]
    return None


def _limit(text: str, amount: Amount) -> str | None:
    before = text[max(0, amount.start - 40) : amount.start].rstrip("$€£¥₹(")
    match = _LIMIT.search(before)
    return _side(before, match, match.lastgroup or "") if match else None


def _is_alike(amount: Amount, given: Amount) -> bool:
    if "clock" in (amount.dimension, given.dimension):
        return _is_same_time(amount, given)
    number, other = amount.number, given.number
    if number is None or other is None or number.kind in ("ordinal", "named") or number.value == 1:
        return False
    return equal(number.value, other.value)


def _on_same_terms(claim: str, amount: Amount, evidence: str, given: Amount) -> bool:
    (before, behind), (known_before, known_behind) = _context(claim, amount), _context(evidence, given)
    for first, then in _TERMS:
        ours = first.search(before) or then.match(behind)
        if bool(ours) != bool(first.search(known_before) or then.match(known_behind)):
            return False
    bound, known = _bound(before, behind), _bound(known_before, known_behind)
    zone = _ZONE.match(behind) if amount.dimension == "clock" else None
    named = re.sub(r"[SD]T\b", "T", f"{zone['zone'] if zone else ''} {evidence}")
    return not (
        (bound and bound != known and (known or not _BOUNDED.search(evidence)))
        or (zone and named.split()[0] not in re.findall(r"\w+", named)[1:])
        or (_TIMES.search(behind) and not behind.startswith(" times") and not _OFTEN.search(evidence))
        or _rates(behind)
        - (_rates(known_behind) or _rates(evidence))
        - _rates(re.sub(r" (?:of )?an? ", " per ", known_behind))
    )


def _context(text: str, amount: Amount) -> tuple[str, str]:
    """The text before and behind a figure, up to the next one."""
    behind = re.split(r"\d|[,;]", text[amount.end : amount.end + 40])[0]
    return text[max(0, amount.start - 40) : amount.start].rstrip("$€£¥₹("), behind


def _bound(before: str, behind: str) -> str:
    match = _BOUND.search(before)
    if match:
        return _side(before, match, match.lastgroup or "most")
    match = _OR_SO.match(behind)
    return "" if match is None else match.lastgroup or "most"


_FORBIDDEN = re.compile(
    r"\b(?:cannot|(?:can|may|must|should|shall|will|need) not|(?:ca|must|should|sha|wo|need)n't|not (?:allowed|permitted)"
    r"|no [\w-]+ (?:can|may|must|should|will))\b[^\d.,;:]*$",
    re.I,
)


def _side(before: str, comparison: re.Match[str], side: str) -> str:
    """The side of an amount that a comparison before it leaves open: "must not weigh more than" is a limit at the top."""
    if _FORBIDDEN.search(before[: comparison.start()]):
        return "least" if side == "most" else "most"
    return side


@lru_cache(maxsize=1024)
def _rates(text: str) -> frozenset[tuple[str, str]]:
    """The units of a text's rates, with any skip: "per day", "/kg", "every other week"."""
    rates = set[tuple[str, str]]()
    for match in _RATE.finditer(text):
        name = (match["of"] or match["ly"] or match["days"]).lower()
        skip = re.sub("second|alternate", "other", (match["skip"] or match["alternate"] or "").strip().lower())
        if name in UNITS:
            rates.add((" ".join(map(str, UNITS[name])), skip))
        elif match["slash"] or (match["by"] or "a")[0] in "peE":
            rates.add((name[:5], skip))
    return frozenset(rates)
