"""Sentence vectors from the shipped model, each text embedded once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING

from vista_guard.inference.onnx import shared_encoder
from vista_guard.stores.entries import storable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSION = 384

MAX_TOKENS = 128
"""What the model reads of a text; it was trained on no more."""

_MAX_CHARS = 4096
"""What the tokenizer reads of a text: far above `MAX_TOKENS`, and it saves tokenising megabytes to drop them."""


class OnnxEmbedder:
    """The shipped sentence encoder behind a cache of the `cache_size` texts used last (1.6 kB each).

    The model is loaded with the first text. Safe to share between threads.
    """

    def __init__(self, *, cache_size: int = 8192) -> None:
        self._cache_size = cache_size
        self._vectors: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors, shape (texts, 384), in order. Only the first 128 tokens of a text count.

        Raises:
            ConfigError: the weights are missing or damaged.
        """
        import numpy as np

        wanted = {_key(text): text for text in texts}
        vectors = self._from_cache(wanted)
        missing = [key for key in wanted if key not in vectors]
        if missing:
            rows = shared_encoder("embedder", MAX_TOKENS).run([storable(wanted[key][:_MAX_CHARS]) for key in missing])
            fresh = {key: row.copy() for key, row in zip(missing, rows, strict=True)}
            self._keep(fresh)
            vectors |= fresh
        return np.stack([vectors[_key(text)] for text in texts]) if texts else np.empty((0, DIMENSION), np.float32)

    def _from_cache(self, keys: dict[bytes, str]) -> dict[bytes, NDArray[np.float32]]:
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
            for key in found:
                self._vectors.move_to_end(key)
            return found

    def _keep(self, vectors: dict[bytes, NDArray[np.float32]]) -> None:
        with self._lock:
            self._vectors.update(vectors)
            while len(self._vectors) > self._cache_size:
                self._vectors.popitem(last=False)


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
