"""The shipped sentence encoder."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from vista_guard.inference.weights import WEIGHTS
from vista_guard.stores.entries import OnnxEmbedder, nearest
from vista_guard.types import Passage, SourceKind

pytestmark = pytest.mark.skipif(not (WEIGHTS / "embedder.onnx").is_file(), reason="the weights are not here")

TEXTS = ["The pier opened in 1911.", "", "She sells fish at the market.", "港は静かだ。", "\ud83d", "x" * 100_000]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder()


def test_unit_vectors_one_for_each_text(embedder: OnnxEmbedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), 384)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-3)
    assert embedder.embed([]).shape == (0, 384)


def test_a_cached_vector_is_the_vector(embedder: OnnxEmbedder) -> None:
    first = embedder.embed(TEXTS)
    np.testing.assert_array_equal(embedder.embed(TEXTS[::-1] + TEXTS), np.concatenate([first[::-1], first]))


def test_the_cache_is_bounded_and_forgets_what_was_used_longest_ago() -> None:
    small = OnnxEmbedder(cache_size=3)
    vectors = small.embed([f"Fact {number}." for number in range(10)])
    assert vectors.shape == (10, 384)
    assert len(small._cache._vectors) == 3  # memory use has no other witness


def test_callers_cannot_change_what_is_cached(embedder: OnnxEmbedder) -> None:
    before = embedder.embed(TEXTS)
    embedder.embed(TEXTS)[:] = 0
    np.testing.assert_array_equal(embedder.embed(TEXTS), before)


def test_threads_share_one_embedder() -> None:
    shared = OnnxEmbedder(cache_size=5)
    batches = [[f"Fact {number % 7}.", f"Fact {number % 11}."] for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(shared.embed, batches))
    for batch, vectors in zip(batches, found, strict=True):
        np.testing.assert_allclose(vectors, OnnxEmbedder().embed(batch), atol=0.05)


def test_near_in_meaning_not_in_words(embedder: OnnxEmbedder) -> None:
    texts = ["My cat sleeps all day.", "I was born in Lisbon.", "The train leaves at nine."]
    known = [
        Passage(source=SourceKind.KNOWLEDGE, source_id=str(number), text=text) for number, text in enumerate(texts)
    ]
    assert nearest(embedder, "Which Portuguese city do you come from?", known, 1) == (known[1],)
    assert nearest(embedder, "Do you have a pet?", known, 1) == (known[0],)
