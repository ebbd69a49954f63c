"""Reads what decomposers answer: `<think>...</think><output>[...]</output>`, or a stop phrase in place of the list (DAD, K.1).

An answer may be anything: a list as JSON, as a Python literal, numbered or bulleted, in a fence. An `<output>` among the
thoughts is none, and of several the last one counts: an earlier one may be quoted from the sentence, i.e. injected.
"""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass

from vista_guard.judges.model.answers import labels
from vista_guard.judges.model.answers.parsing import claims_of
from vista_guard.judges.model.answers.tolerant import CLAIM_KEYS, clean, read, strings, unreadable

NO_CLAIM, NO_CONTEXT = STOP_PHRASES = ("No verifiable claim", "Cannot be decontextualized")
"""Phrases that stand in place of a list: step 1 found no claim, step 2 could not make the sentence stand alone (K.1)."""

_OUTPUT = re.compile(r"<output>(.*?)(?:</output>|\Z)", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"\A(?:`{3,}|~{3,})[\w-]*\n?(.*?)\n?(?:`{3,}|~{3,})\Z", re.DOTALL)
_BETWEEN = re.compile(r"""(?<=[.!?])['"]\s*,\s*['"]""")
_QUOTED = re.compile(r"""\[\s*(['"])(.*[.!?])\1\s*,?\s*\]""", re.DOTALL)
_LONGEST = 50_000


@dataclass(frozen=True)
class Output:
    """The claims of an answer, or the stop phrase that stands there instead; neither for an empty list."""

    claims: tuple[str, ...] = ()
    stopped: str | None = None


def read_output(text: str) -> Output:
    """The claims of a decomposer's answer, each once.

    Raises:
        UnreadableError: no output, one that is neither a list nor a stop phrase, or a list with something else than texts.

    Examples:
        >>> read_output('<think>One fact.</think><output>["The hall seats 90."]</output>').claims
        ('The hall seats 90.',)
        >>> read_output("<think>An opinion.</think><output>No verifiable claim</output>").stopped
        'No verifiable claim'
    """
    answer = read(text).text
    found = _OUTPUT.findall(answer)
    body = _unfenced(found[-1] if found else answer)
    if len(body) > _LONGEST:
        raise unreadable(f"has an output of {len(body)} characters", text)
    stopped = stop_phrase(body)
    if stopped is not None:
        return Output(stopped=stopped)
    listed = _listed(body)
    if listed is None:
        raise unreadable("has no list of claims", text)
    claims = tuple(dict.fromkeys(claim for one in listed if any(map(str.isalnum, claim := strings(one)))))
    if len(claims) == 1 and (stopped := stop_phrase(claims[0])):
        return Output(stopped=stopped)
    return Output(claims)


def stop_phrase(body: str) -> str | None:
    """The stop phrase that a text is, quotes and full stop aside."""
    bare = body.strip(" \n\"'.`*[]").casefold()
    return next((phrase for phrase in STOP_PHRASES if bare == phrase.casefold()), None)


def literal(body: str) -> object:
    """The value of a text that is JSON or a Python literal, ... for any other."""
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(body)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return ...


def thoughts(text: str) -> str:
    """The words of an answer before its last output."""
    text = clean(text)
    return re.sub(
        r"</?think>", "", text[: text.lower().rfind("<output>")] if "<output>" in text.lower() else ""
    ).strip()


def _unfenced(body: str) -> str:
    body = body.strip()
    fenced = _FENCE.match(body)
    return (fenced[1] if fenced else body).strip()


def _listed(body: str) -> list[object] | None:
    value = literal(body)
    if value is ...:
        return _quoted(body) or list(labels.items(body)) or None
    if isinstance(value, tuple):
        value = list(value)
    found = value if value == [] else claims_of(value, bare=True)
    if found is None:
        return None
    texts = [one if isinstance(one, str) else _text(one) for one in found]
    return None if None in texts else list(texts)


def _text(entry: object) -> str | None:
    """The claim of an object such as {"claim": "..."}."""
    found = [entry[key] for key in CLAIM_KEYS if key in entry] if isinstance(entry, dict) else []
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _quoted(body: str) -> list[object] | None:
    """A list whose quotes are not escaped, as in ['Ford's mother sang.', 'She danced.']: each item is a sentence."""
    inside = _QUOTED.fullmatch(body)
    return list(_BETWEEN.split(inside[2])) if inside else None
