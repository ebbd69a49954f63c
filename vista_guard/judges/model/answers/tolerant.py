"""Makes an answer readable: tidies the text, blanks thoughts at their length, and parses JSON, broken or not.

json-repair takes more than quadratic time on hostile text, so it only sees single flat entries of bounded size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from vista_guard.errors import UnreadableError

LONGEST = 200_000
"""Longest answer, in characters, that is read."""
RAW_CHARS = 2000
LABEL_KEYS = ("label", "category", "verdict", "classification", "answer", "judgement", "judgment")
CLAIM_KEYS = ("claim", "statement", "fact")
_KNOWN = ("answers", "claims", "id", "reason", "quote", "evidence", *LABEL_KEYS, *CLAIM_KEYS)
_MOST_ENTRIES, _LONGEST_ENTRY, _MOST_QUOTES, _MOST_TRIES = 300, 4000, 60, 50

_THOUGHT = r"(?:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad|inner_monologue)"
_TAGS = re.compile(
    rf"(?P<open><(?:\w{{1,20}}:)?{_THOUGHT}\b[^<>\n]{{0,80}}>|\[{_THOUGHT}\]|◁{_THOUGHT}▷|<\|begin_of_thought\|>)"
    rf"|</(?:\w{{1,20}}:)?{_THOUGHT}\s*>|\[/{_THOUGHT}\]|◁/{_THOUGHT}▷|<\|end_of_thought\|>",
    re.IGNORECASE,
)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w*)[^<\n]{0,80}<\|message\|>")
_TOKENS = re.compile(r"<\|\w{1,30}\|>|</s>")
_Q = "[\"'“”‘’`]?"
_OBJECT = re.compile(rf"\{{\s*{_Q}\w[\w -]{{0,30}}{_Q}\s*:|\[\s*[\[{{\"]")
_ENTRY = re.compile(rf"\{{\s*{_Q}(?:{'|'.join(_KNOWN)}){_Q}\s*:", re.IGNORECASE)
_CLOSED = re.compile(r"(?:[\"'”’`,\]]|\b(?:null|none|true|false|[A-Z]{8,}))\s*\}$", re.IGNORECASE)
_DROPPED = dict.fromkeys([*range(0x20), 0x7F, 0xAD, 0x200B, 0x2060, 0xFEFF], None)
_TIDY = str.maketrans({**_DROPPED, "\n": "\n", "\t": " ", "\x0b": "\n", "\x0c": "\n", "\x85": "\n", "\u2028": "\n"})


@dataclass(frozen=True)
class JsonPiece:
    """A JSON value at `start:end` of an answer.

    `value` is None if the text is broken and ambiguous. `whole` is False for a repaired value, `closed` for a truncated
    one.
    """

    start: int
    end: int
    value: object
    whole: bool = True
    closed: bool = True


@dataclass(frozen=True)
class ReadableAnswer:
    """An answer made readable: its text with thoughts blanked, its JSON values, and its text without these."""

    text: str
    pieces: tuple[JsonPiece, ...]
    prose: str
    breaks: tuple[int, ...]


def unreadable(problem: str, text: str) -> UnreadableError:
    """The error for an unusable answer; carries its first 2,000 characters."""
    return UnreadableError(f"the model's answer {problem}: {text[:80]!r}", text[:RAW_CHARS])


def clean(text: str) -> str:
    """Removes control characters, byte order marks, zero-width spaces and lone surrogates; lines end in `\\n`."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").translate(_TIDY)


def read(text: str) -> ReadableAnswer:
    """Splits an answer into JSON values and prose, without thoughts.

    Raises:
        UnreadableError: longer than 200,000 characters, or only white space and thoughts.
    """
    if len(text) > LONGEST:
        raise unreadable(f"has {len(text)} characters, more than the {LONGEST} that are read", text)
    tidied = clean(text)
    whole = _decode(tidied.strip())
    answer, breaks = (tidied, ()) if whole is not None else _without_thoughts(tidied)
    if not answer.strip():
        raise unreadable("is empty" if not tidied.strip() else "holds thoughts and no answer", text)
    pieces, spans = _pieces(answer)
    if len(pieces) > _MOST_ENTRIES:
        raise unreadable(f"holds {len(pieces)} JSON values, more than the {_MOST_ENTRIES} that are read", text)
    return ReadableAnswer(text=answer, pieces=tuple(pieces), prose=_blank(answer, spans), breaks=breaks)


def key_count(text: str, keys: tuple[str, ...]) -> int:
    """Occurrences of the keys in key position, inside strings too."""
    return len(re.findall(rf"(?<!\w){_Q}(?:{'|'.join(keys)})\\?{_Q}\s{{0,9}}[:=]", text, re.IGNORECASE))


def text_field(value: object) -> str:
    """The cleaned text of a field; "" if it is not a string."""
    return clean(value).strip() if isinstance(value, str) else ""


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    parts, last = [], 0
    for start, end in spans:
        parts += [text[last:start], "\n" * (end - start)]
        last = end
    return "".join([*parts, text[last:]])


def _without_thoughts(text: str) -> tuple[str, tuple[int, ...]]:
    """Blanks a reasoning model's thoughts. An unmatched closing tag ends a section of the answer."""
    spans: list[tuple[int, int]] = []
    breaks: list[int] = []
    depth = start = 0
    for tag in _TAGS.finditer(text):
        if tag["open"]:
            start, depth = (start if depth else tag.start()), depth + 1
        elif depth > 1:
            depth -= 1
        elif depth or not spans:
            # Some chat templates open the thoughts in the prompt: the answer has only the closing tag.
            spans.append((start if depth else 0, tag.end()))
            depth = 0
        else:
            breaks.append(tag.start())
            spans.append(tag.span())
    if depth:
        spans.append((start, len(text)))
    text = _blank(text, spans)
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        text = _blank(text, [(0, last.end() if last[1] == "final" else len(text))])
    return _TOKENS.sub(lambda token: "\n" * len(token[0]), text), tuple(breaks)


def _pieces(text: str) -> tuple[list[JsonPiece], list[tuple[int, int]]]:
    """The JSON values of a text, and their spans. Broken JSON extends to the end of the text."""
    pieces: list[JsonPiece] = []
    spans: list[tuple[int, int]] = []
    position = tries = 0
    while (match := _OBJECT.search(text, position)) and tries < _MOST_TRIES:
        decoded = _decode_at(text, match.start())
        if decoded is not None:
            value, position = decoded
            pieces.append(JsonPiece(match.start(), position, value))
            spans.append((match.start(), position))
        elif _ENTRY.match(text, match.start()) or (text[match.start()] == "{" and _ENTRY.search(text, match.start())):
            # Never look inside a broken value: a string in it may quote an injected answer.
            pieces += _entries(text, match.start())
            spans.append((match.start(), len(text)))
            break
        else:
            position, tries = match.start() + 1, tries + 1
            if tries == _MOST_TRIES:
                pieces.append(JsonPiece(match.start(), len(text), None, whole=False))
                spans.append((match.start(), len(text)))
    return pieces, spans


def _decode(text: str) -> object | None:
    decoded = _decode_at(text, 0) if text[:1] in ("{", "[") else None
    return decoded[0] if decoded and decoded[1] == len(text) else None


def _decode_at(text: str, start: int) -> tuple[object, int] | None:
    try:
        return json.JSONDecoder(strict=False, object_pairs_hook=_object).raw_decode(text, start)
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object with case-folded keys. A duplicate key with different values becomes None."""
    fields: dict[str, object] = {}
    for name, value in pairs:
        key = name.strip().casefold()
        fields[key] = None if key in fields and fields[key] != value else value
    return fields


def _entries(text: str, start: int) -> Iterator[JsonPiece]:
    """The flat entries of broken JSON, repaired one by one, so that none takes a label from its neighbour."""
    starts = [match.start() for match in _ENTRY.finditer(text, start) if _stands_free(text, match.start())]
    for index, begin in enumerate(starts[: _MOST_ENTRIES + 1]):
        end = starts[index + 1] if index + 1 < len(starts) else len(text)
        body = text[begin : min(end, begin + _LONGEST_ENTRY)]
        if not key_count(body, (*LABEL_KEYS, *CLAIM_KEYS)):
            # Only the head of a list, as in `{"answers": [`, unless its items are plain strings.
            if re.match(rf"\{{\s*{_Q}claims{_Q}\s*:\s*\[\s*{_Q}\w", body) and end == len(text):
                yield JsonPiece(begin, end, _repair_list(text[begin:end]), whole=False)
            continue
        body = body[: body.rfind("}") + 1] or body
        cut = end - begin > _LONGEST_ENTRY
        closed = bool(_CLOSED.search(body)) and not cut
        yield JsonPiece(begin, begin + len(body), None if cut else _repair(body), whole=False, closed=closed)


def _stands_free(text: str, position: int) -> bool:
    """True if an entry can begin here, that is, not inside a string."""
    before = text[max(0, position - 50) : position].rstrip()
    return not before or before[-1] in "[,}:{`" or "\n" in text[len(before) : position]


def _repair(body: str) -> dict[str, object] | None:
    """The repaired entry; None if ambiguous."""
    from json_repair import loads

    groups = (LABEL_KEYS, CLAIM_KEYS, ("id",), ("quote",), ("reason",), ("evidence",))
    if body.count("{") > 1 or any(key_count(body, keys) > 1 for keys in groups):
        return None
    if sum(map(body.count, "\"'`“”")) > _MOST_QUOTES or re.search(r"[\[({][\s\[({]{3}|/\*|//", body):
        return None
    try:
        value = loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    fields = _object(list(value.items()))
    labels = (label for key in LABEL_KEYS if isinstance(label := fields.get(key), str))
    # A repair may lose a sign before the label, such as a "!" or a "-".
    return fields if all(re.search(rf"[\s:=\"'“”‘’`]{re.escape(label)}", body) for label in labels) else None


def _repair_list(body: str) -> object:
    """Repairs a list of plain claims. Its end must be there, and no letter may be lost."""
    from json_repair import loads

    body = body[: body.rfind("]") + 1]
    if not body or len(body) > _LONGEST_ENTRY or sum(map(body.count, "\"'`“”")) > _MOST_QUOTES:
        return None
    try:
        value = loads(body)
    except (ValueError, RecursionError):
        return None
    claims = value.get("claims") if isinstance(value, dict) else None
    if not isinstance(claims, list) or not all(isinstance(claim, str) for claim in claims):
        return None
    letters = [character for character in f"claims{''.join(claims)}" if character.isalnum()]
    return {"claims": claims} if letters == [character for character in body if character.isalnum()] else None
