"""Lists whose parts hold one by one: "It stars Ada Vale and Bo Lind" is two claims, "It is made of flour and water" one."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
"""Longest claim, in characters, that is looked at."""
_COMMA = re.compile(r",? and |, ")


def each(said: str) -> Iterator[str]:
    """`said` once for each part of a list that may be told apart; as it is when there is none."""
    match = _KINDS.fullmatch(said) or _NAMES.fullmatch(said) if len(said) <= _MAX_CLAIM else None
    if not match:
        yield said
        return
    kinds = match.re is _KINDS
    for part in _COMMA.split(match["parts"]):
        yield f"{match['before']} {_with_article(part) if kinds else part}{match['after']}"


def _with_article(noun: str) -> str:
    if re.match(r"an? ", noun):
        return noun
    return f"{'an' if noun[0].lower() in 'aeiou' else 'a'} {noun}"
