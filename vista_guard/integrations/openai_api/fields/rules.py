"""How one value is held against the table. Whatever a rule does not know does not pass."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Final

from vista_guard.integrations.openai_api.fields.sifting import Place, Sifting, Unjudged

DROPPED: Final = object()
"""Stands for a value that does not pass."""

Rule = Callable[[object, Sifting], object]
"""Gives the value as it passes, or `DROPPED`."""

_UNTOLD = frozenset({"obfuscation", "billing"})
"""Fields of OpenAI's own that do not pass, and that nobody needs to be told of."""

_TOKEN = re.compile(r"[!-~]{1,200}")
_LINE = 200
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_URL = re.compile(r"https?://[!-~]{1,2000}")


def token(value: object, _: Sifting) -> object:
    """An id or a name: at most 200 visible ASCII characters, without a space."""
    return value if isinstance(value, str) and _TOKEN.fullmatch(value) else DROPPED


def line(value: object, _: Sifting) -> object:
    """A title or a file's name: at most 200 characters of one line."""
    return value if isinstance(value, str) and len(value) <= _LINE and value.isprintable() else DROPPED


def url(value: object, _: Sifting) -> object:
    """An address on the web."""
    return value if isinstance(value, str) and _URL.fullmatch(value) else DROPPED


def words(value: object, _: Sifting) -> object:
    """Any text: it is judged, or listed as unjudged."""
    return value if isinstance(value, str) else DROPPED


def encoded(value: object, _: Sifting) -> object:
    """Bytes in base 64."""
    return value if isinstance(value, str) and _BASE64.fullmatch(value) else DROPPED


def integer(value: object, _: Sifting) -> object:
    """A whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else DROPPED


def number(value: object, _: Sifting) -> object:
    """A finite number."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) else DROPPED


def flag(value: object, _: Sifting) -> object:
    """True or false."""
    return value if isinstance(value, bool) else DROPPED


def anything(value: object, _: Sifting) -> object:
    """The value, whatever it is: only for what passes unjudged by design, and is listed so."""
    return value


def one_of(*names: str) -> Rule:
    """One of these words."""
    known = frozenset(names)
    return lambda value, _: value if isinstance(value, str) and value in known else DROPPED


def either(first: Rule, second: Rule) -> Rule:
    """What the first rule passes, else what the second does."""

    def read(value: object, sifting: Sifting) -> object:
        passed = first(value, sifting)
        return second(value, sifting) if passed is DROPPED else passed

    return read


def repeated(name: str, otherwise: object = DROPPED) -> Rule:
    """What the request said under this name; `otherwise` in place of everything else."""
    return lambda value, sifting: value if name in sifting.asked and value == sifting.asked[name] else otherwise


def unjudged(kind: Unjudged, rule: Rule) -> Rule:
    """What passes by this rule is noted as passed without being judged."""

    def read(value: object, sifting: Sifting) -> object:
        passed = rule(value, sifting)
        if passed is not DROPPED and passed not in (None, "", [], {}):
            sifting.unjudged.add(kind)
        return passed

    return read


def each(place: Place, rule: Rule) -> Rule:
    """A list of what passes of its items."""

    def read(value: object, sifting: Sifting) -> object:
        if not isinstance(value, list):
            return DROPPED
        passed = [rule(item, sifting) for item in value]
        for item, given in zip(passed, value, strict=True):
            if item is DROPPED:
                sifting.drop(place, value=given)
        return [item for item in passed if item is not DROPPED]

    return read


def fields(place: Place, rules: Mapping[str, Rule]) -> Rule:
    """An object with those of its fields that pass; a known field may be null."""

    def read(value: object, sifting: Sifting) -> object:
        if not isinstance(value, dict):
            return DROPPED
        kept: dict[str, object] = {}
        for name, item in value.items():
            passed = _held(rules.get(name), item, sifting)
            if passed is not DROPPED:
                kept[name] = passed
            elif item not in (None, "", [], {}) and name not in _UNTOLD:
                sifting.drop(place, name, item)
        return kept

    return read


def _held(rule: Rule | None, item: object, sifting: Sifting) -> object:
    if rule is None:
        return DROPPED
    return None if item is None else rule(item, sifting)
