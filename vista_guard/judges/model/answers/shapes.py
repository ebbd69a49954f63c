"""The shapes that the JSON of an answer may have. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from vista_guard.judges.model.answers.labels import Said, exact
from vista_guard.judges.model.answers.tolerant import CLAIM_KEYS, LABEL_KEYS

_DEEPEST = 4
_WORDS = ("quote", "reason", "evidence", "explanation", "claim", "text")
"""Fields of words: whatever a model puts there, even an object, sets no label."""


def labelled(value: object, known: dict[str, str] | None = None, depth: int = 0) -> Iterator[dict[str, object]]:
    """The objects with a label, inside lists and objects; also `{"c1": "VERIFIED"}` and `{"c1": {"label": ...}}`."""
    if depth > _DEEPEST:
        return
    if isinstance(value, list):
        for one in value:
            yield from labelled(one, known, depth + 1)
    elif isinstance(value, dict):
        if any(not isinstance(value[key], (dict, list)) for key in LABEL_KEYS if key in value):
            yield value
            return
        for key, one in value.items():
            if known and key in known:
                yield {**one, "id": key} if isinstance(one, dict) else {"label": one, "id": key}
            elif key not in _WORDS:
                yield from labelled(one, known, depth + 1)


def label_of(entry: dict[str, object]) -> Said | None:
    """The one label of an entry; None when it has none, or two fields that differ."""
    said = {exact(entry[key]) for key in LABEL_KEYS if key in entry}
    return said.pop() if len(said) == 1 else None


def claims_of(value: object, *, bare: bool) -> list[object] | None:
    """The claims of a JSON answer: of `{"claims": [...]}`, of a list of objects or of one object; None for other shapes."""
    if isinstance(value, dict):
        if "claims" in value:
            claims = value["claims"]
            return claims if isinstance(claims, list) else None
        return [value] if any(key in value for key in CLAIM_KEYS) else None
    if isinstance(value, list):
        texts = bare and bool(value) and all(isinstance(one, str) for one in value)
        return value if texts or any(isinstance(one, dict) and claims_of(one, bare=False) for one in value) else None
    return None
