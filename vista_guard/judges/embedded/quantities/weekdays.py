"""Weekdays of a claim that its evidence lacks, and days that are open in one and closed in the other.

"Closed on Mondays" and "open on Mondays" share all but one word, too little for a verifier.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

WEEK = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ALL, _WORKING, _END = frozenset(range(7)), frozenset(range(5)), frozenset((5, 6))
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_DAY = r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)days?|Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)(?!\w)\.?"
_TOKENS = re.compile(
    rf"(?P<range>\b{_DAY}\s*(?:-|–|—|/|to|through|thru|till|until|and)\s*{_DAY})|(?P<day>\b{_DAY})"
    r"|(?P<every>\b(?i:daily|every ?day|each day|any day|all week|every (?:single )?day|(?:seven|7) days(?: a week)?|24/7)\b)"
    r"|(?P<working>\b(?i:weekdays?|(?:working|business|week) days?)\b)|(?P<end>\b(?i:weekends?)\b)"
    r"|(?P<others>\b(?i:(?:all |every )?other days?|(?:the )?rest of the week|otherwise)\b)"
    r"|(?P<except>\b(?i:except|excluding|but not|other than|apart from)\b)"
    r"|(?P<shut>\b(?i:closed|shut|(?:not|never|isn't|aren't) open(?:ed)?)\b)|(?P<open>\b(?i:open(?:s|ed)?)\b"
    r"|\d{1,2}(?:[:.]\d\d)?\s*(?:[ap]\.?m\.?)?\s*(?:-|–|—|to|until|till)\s*\d{1,2}(?:[:.]\d\d)?)"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])|\n")
_OTHER_FORMS = re.compile(
    rf"\b(?i:today|tomorrow|yesterday|tonight|(?:{_MONTHS})\.?\s+\d|\d{{1,2}}(?:st|nd|rd|th)?\.?\s+(?:of\s+)?(?:{_MONTHS})"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b"
)


class DayState(Enum):
    """States of a day, such as open and closed."""

    OPEN = auto()
    CLOSED = auto()


@dataclass(frozen=True)
class Days:
    """The days that a text names, and what it says of those that it calls open or closed."""

    named: frozenset[int]
    states: Mapping[int, frozenset[DayState]]

    def say(self, state: DayState) -> bool:
        """True if any day has the state."""
        return any(state in found for found in self.states.values())


def missing_day(claim: str, evidence: str) -> str | None:
    """The first weekday of the claim that the evidence has in no form, or of which it says the opposite; None for none.

    Ranges, "weekdays", "daily" and short forms count. A date stands for any day, and a day that is not among those a place is
    open on is one on which it is closed.
    """
    said, asked = days(claim), [number for number, day in enumerate(WEEK) if re.search(rf"\b{day}s?\b", claim)]
    if not asked:
        return None
    given = days(evidence)
    dated = _OTHER_FORMS.search(evidence) is not None
    for number in sorted({*asked, *(said.named - _implied_days(claim))}):
        if number in given.named:
            states, found = said.states.get(number, frozenset()), given.states.get(number, frozenset())
            if states and found and not states & found:
                return WEEK[number]
        elif not dated and not (DayState.CLOSED in said.states.get(number, ()) and given.say(DayState.OPEN)):
            return WEEK[number]
    return None


@lru_cache(maxsize=1024)
def days(text: str) -> Days:
    """The days of a text."""
    told = [one for sentence in _SENTENCE.split(text) for one in _day_states(sentence)]
    stated = [(found, state) for found, state in told if state and found]
    # "Open daily. Closed on Mondays.": what is said of a day by its name stands against what is said of many.
    widths = {
        number: min(len(found) for found, _ in stated if number in found) for found, _ in stated for number in found
    }
    states = defaultdict[int, frozenset[DayState]](frozenset)
    for found, state in stated:
        for number in found:
            states[number] |= {state} if min(len(found), 2) == min(widths[number], 2) else frozenset()
    return Days(frozenset().union(*(found for found, _ in told), frozenset()), dict(states))


def _implied_days(text: str) -> frozenset[int]:
    """Days of "daily", "weekdays" and the like: these words need not be told day by day."""
    return frozenset().union(
        *(_days_of(token) for token in _TOKENS.finditer(text) if token.lastgroup not in ("day", "range")), frozenset()
    )


def _day_states(sentence: str) -> Iterator[tuple[frozenset[int], DayState | None]]:
    """Days and what is said of them: by the word before where the sentence begins with what is said, else by the one behind."""
    tokens = list(_TOKENS.finditer(sentence))
    stated = [index for index, token in enumerate(tokens) if token.lastgroup in ("shut", "open")]
    named = [index for index, token in enumerate(tokens) if _days_of(token) or token.lastgroup == "others"]
    behind_first = bool(stated and named) and named[0] < stated[0]
    earlier = frozenset[int]()
    kept = list[tuple[frozenset[int], DayState | None]]()
    for index in named:
        before = [_state(tokens[one]) for one in stated if one < index]
        after = [_state(tokens[one]) for one in stated if one > index]
        order = [*after[:1], *before[-1:]] if behind_first else [*before[-1:], *after[:1]]
        state = order[0] if order else None
        found = _days_of(tokens[index]) or _ALL - earlier
        if index and tokens[index - 1].lastgroup == "except":
            kept = [(one - found, held) for one, held in kept]
            state = _opposite(kept[-1][1] if kept else state)
        kept.append((found, state))
        earlier |= found
    yield from kept


def _days_of(token: re.Match[str]) -> frozenset[int]:
    kind = token.lastgroup
    if kind == "range":
        first, last, *_ = (_number(day) for day in re.findall(_DAY, token[0]))
        if re.search(r"/|\band\b", token[0]):
            return frozenset((first, last))
        return frozenset((first + step) % 7 for step in range((last - first) % 7 + 1))
    if kind == "day":
        return frozenset((_number(token[0]),))
    return {"every": _ALL, "working": _WORKING, "end": _END}.get(kind or "", frozenset())


def _number(day: str) -> int:
    return next(number for number, name in enumerate(WEEK) if name[:3] == day[:3])


def _state(token: re.Match[str]) -> DayState:
    return DayState.CLOSED if token.lastgroup == "shut" else DayState.OPEN


def _opposite(state: DayState | None) -> DayState | None:
    return {DayState.OPEN: DayState.CLOSED, DayState.CLOSED: DayState.OPEN}[state] if state else None
