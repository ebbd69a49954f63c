"""What a classifier's outputs mean, from the names that it gives them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vista_guard.errors import ConfigError
from vista_guard.settings.model import LabelName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

COLUMNS: tuple[LabelName, ...] = ("supported", "contradicted", "not_enough")
"""The columns of what a verifier answers, in order."""

_SPELLINGS: tuple[tuple[LabelName, str], ...] = (
    # The first that fits counts: "not entailed" and "unsupported" must not be read as their opposite.
    ("not_enough", r"neutral|unknown|neither|maybe|nei\b|not ?enough|insufficient|no ?info"),
    ("not_enough", r"\b(not|non|un|in) ?(entail|support|consisten|align|ground|faithful|factual)|hallucinat"),
    ("contradicted", r"contradict|refut|conflict|disagree|false\b"),
    ("supported", r"entail|support|consisten|align|ground|faithful|factual|true\b|agree|verified"),
    ("not_enough", r"^no$"),
    ("supported", r"^yes$"),
)


def labels_of(name: str, config: Mapping[str, Any]) -> tuple[LabelName, ...]:
    """What each output of a classifier means, in order, from `id2label`, whatever its spelling and its order.

    A model that tells supported from not supported alone has "not_enough" for the latter: it does not say more.

    Raises:
        ConfigError: the names do not say it; what to set instead.
    """
    told = config.get("id2label")
    names = [str(label) for _, label in sorted(told.items(), key=_number)] if isinstance(told, Mapping) else []
    found = [meaning(label) for label in names]
    known = [one for one in found if one is not None]
    if len(known) != len(names) or "supported" not in known or len(set(known)) != len(known):
        outputs = f"calls its outputs {', '.join(map(repr, names))}" if names else "names no outputs (id2label)"
        raise ConfigError(
            f"verifier {name} {outputs}, which does not say what they mean: set verifier_options.labels to the meaning of each, "
            f"in order, for example {list(COLUMNS)}, or verifier_options.family"
        )
    return tuple(known)


def meaning(label: str) -> LabelName | None:
    """What one output means, from its name; None when that does not say."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    plain = re.sub(r"[^a-z]+", " ", plain.lower()).strip()
    spaced = re.sub(r"\b(un|in)(?=(support|consisten|faithful|align|ground|factual))", r"\1 ", plain)
    return next((column for column, pattern in _SPELLINGS if re.search(pattern, spaced)), None)


def rows(logits: NDArray[np.float32], labels: Sequence[LabelName]) -> NDArray[np.float32]:
    """Logits (texts, outputs) as probabilities (texts, 3) in the order of `COLUMNS`.

    A single output is a score of support, read through the logistic function.
    """
    import numpy as np

    if logits.shape[1] == 1:
        logits = np.concatenate([logits, np.zeros_like(logits)], axis=1)
        labels = ("supported", "not_enough")
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    found = np.zeros((len(logits), len(COLUMNS)), np.float32)
    for column, label in enumerate(labels):
        found[:, COLUMNS.index(label)] += shares[:, column]
    return found


def _number(item: tuple[str, Any]) -> int:
    return int(item[0]) if str(item[0]).isdecimal() else 0
