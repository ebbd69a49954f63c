"""The whole words that the shipped tokenizer knows: a cheap dictionary of English."""

from __future__ import annotations

import json
from functools import lru_cache

from vista_guard.errors import ConfigError
from vista_guard.inference.onnx import weights_file


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Words in lower case, of two letters or more.

    Raises:
        ConfigError: the tokenizer's file is missing or damaged.
    """
    path = weights_file("tokenizer.json")
    try:
        vocabulary = json.loads(path.read_bytes())["model"]["vocab"]
    except (OSError, ValueError, KeyError, TypeError) as exc:
        raise ConfigError(f"weights file {path} cannot be read ({exc}). Reinstall vista-guard") from exc
    return frozenset(word for word in vocabulary if len(word) > 1 and word.isalpha())
