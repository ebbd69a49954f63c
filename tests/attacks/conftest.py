"""What every attack may lean on: the shipped judge behind the strictest policy."""

from __future__ import annotations

import pytest

from vista_guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge


@pytest.fixture(scope="module")
def embedded() -> Guard:
    """A guard over the shipped judge, policy `strict`, with knowledge in memory."""
    embedder = OnnxEmbedder()
    return Guard(EmbeddedJudge.load(embedder), "strict", knowledge=MemoryKnowledge(embedder))
