"""Places in an entry's JSON: `traj[-1].content`, `ctxs[*].text`; and the places of an entry that hold messages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from vista_guard.errors import ConfigError, InputError
from vista_lab.logs.payloads import decode_json
from vista_lab.logs.roles import KEYS

_STEP = re.compile(r"\.?(?P<key>[^.\[\]]+)|\[(?P<index>-?\d+|\*?)\]")
DEEPEST = 6
"""Levels in which messages are looked for."""

Step = str | int | None
"""A key, an index, or None for all items of a list."""


@lru_cache(maxsize=256)
def steps(path: str) -> tuple[Step, ...]:
    """The steps of a path.

    Examples:
        >>> steps("traj[-1].content"), steps("ctxs[*].text")
        (('traj', -1, 'content'), ('ctxs', None, 'text'))

    Raises:
        ConfigError: it is no path.
    """
    found, end = list[Step](), 0
    while end < len(path):
        step = _STEP.match(path, end)
        if step is None or (not found and step["key"] is None):
            raise ConfigError(f"{path!r} is no path; write one as in answer=traj[-1].content or documents=ctxs[*].text")
        index = step["index"]
        found.append(step["key"] if index is None else int(index) if index not in ("", "*") else None)
        end = step.end()
    return tuple(found)


def value_at(content: object, path: str) -> Any:
    """The value at a path; JSON in texts is decoded on the way. Raises InputError if the entry has nothing there."""
    return _value(content, steps(path), path)


def _value(content: object, rest: Sequence[Step], path: str) -> Any:
    if not rest:
        return content
    content, step = decode_json(content), rest[0]
    if step is None and isinstance(content, list):
        return [_value(item, rest[1:], path) for item in content]
    if isinstance(step, str) and isinstance(content, Mapping) and step in content:
        return _value(content[step], rest[1:], path)
    if isinstance(step, int) and isinstance(content, list) and -len(content) <= step < len(content):
        return _value(content[step], rest[1:], path)
    keys = f"the keys {', '.join(map(str, content))[:80]}" if isinstance(content, Mapping) else ""
    there = keys or f"a {type(content).__name__}"
    there = f"{len(content)} items" if isinstance(content, list) else there
    raise InputError(f"has nothing at {path}: there is no {'item' if step is None else step!r} in {there}")


def messages_told(content: object) -> str:
    """A sentence that names the places of an entry with lists of messages, and how to have them read; empty for none."""
    places = list(dict.fromkeys(_holders(content, "", DEEPEST)))[:3]
    if not places:
        return ""
    first = places[0]
    hold = "holds" if len(places) == 1 else "hold"
    two = f"--columns question={first}[-2].content,answer={first}[-1].content two"
    return f"{', '.join(places)} {hold} messages: --columns messages={first} reads all of them, {two}"


def _holders(content: object, place: str, levels: int) -> Iterator[str]:
    content = decode_json(content) if levels else None
    if isinstance(content, list):
        if place and any(map(_is_message, content)):
            yield place
        else:
            for item in content[:3]:
                yield from _holders(item, f"{place}[*]", levels - 1)
    elif isinstance(content, Mapping):
        for key, value in content.items():
            yield from _holders(value, f"{place}.{key}".lstrip("."), levels - 1)


def _is_message(item: object) -> bool:
    return (
        isinstance(item, Mapping)
        and len(item) > 1
        and any(isinstance(item.get(key), str) for key in KEYS if key != "type")
    )
