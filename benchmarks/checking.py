"""`guard.check`, side by side with the bare model calls that it made: same process, same inputs, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import Row, timed, timing_row
from benchmarks.turns import FACTS, known_claims, long_document, turn
from vista_guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.calibration import Calibration
from vista_guard.onnx import Encoder, shared_encoder
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.embeddings import MAX_TOKENS, OnnxEmbedder

WARM_UP = 20
P50_MS = 50.0
"""Target for a turn of four claims."""
RATIO = 1.5
"""Target for the guard's time over that of the bare model calls."""


class Recorder:
    """Stands before an onnxruntime session and keeps the inputs of the last turn, to run them again bare."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self.inputs: list[Any] = []
        self._whole: Any = None

    def run(self, outputs: Any, inputs: Any) -> Any:
        """As the session's own."""
        self.inputs.append(inputs)
        return self._session.run(outputs, inputs)

    def again(self) -> None:
        """Nothing but onnxruntime: all inputs of the turn in one batch, as a plain script would run them."""
        self._session.run(None, self._whole)

    def ready(self) -> None:
        """Puts the recorded inputs together."""
        width = max(inputs["input_ids"].shape[1] for inputs in self.inputs)
        self._whole = {
            name: np.concatenate([np.pad(one[name], ((0, 0), (0, width - one[name].shape[1]))) for one in self.inputs])
            for name in self.inputs[0]
        }


def rows(runs: int) -> Iterator[Row]:
    """Both stores, claims given or not; then a long document."""
    for store in ("memory", "chroma"):
        for given in (True, False):
            claims = "claims given" if given else "own decomposition"
            yield from _measure(f"check, {claims}, {store}", runs, store, given=given)
    long = long_document()
    yield from _measure("check, 2,000-token document, chroma", max(runs // 4, 10), "chroma", document=long, target=None)


def _measure(
    name: str, runs: int, store: str, *, given: bool = False, document: str = FACTS, target: float | None = P50_MS
) -> Iterator[Row]:
    whole, pairs, models = [], [], []
    with _recorded("verifier") as verifier, _recorded("embedder") as embedder, _knowledge(store) as knowledge:
        guard = Guard(EmbeddedJudge.load(OnnxEmbedder()), knowledge=knowledge)
        for number in range(WARM_UP + runs):
            conversation = turn(number, given=given, document=document)
            asyncio.run(knowledge.remember(conversation.id or "", "earlier", known_claims()))
            verifier.inputs, embedder.inputs = [], []
            spent = timed(lambda conversation=conversation: guard.check(conversation))  # type: ignore[misc]
            verifier.ready()
            embedder.ready()
            bare, vectors = timed(verifier.again), timed(embedder.again)
            if number >= WARM_UP:
                whole.append(spent)
                pairs.append(bare)
                models.append(bare + vectors)
        note = _size(verifier.inputs)
    yield timing_row(name, whole, target=target)
    yield timing_row("  bare onnxruntime, the same pairs in one batch", pairs, note=note)
    yield Row("  guard / bare", _ratio(whole, pairs), "ratio", target=RATIO if target else None, runs=runs)
    yield Row("  guard / bare, embeddings counted as bare", _ratio(whole, models), "ratio", runs=runs)


def _size(batches: Sequence[Any]) -> str:
    pairs = sum(len(inputs["input_ids"]) for inputs in batches)
    tokens = sum(int(inputs["attention_mask"].sum()) for inputs in batches)
    padded = sum(inputs["input_ids"].size for inputs in batches)
    return f"{pairs} pairs, {tokens} tokens, {padded} padded"


def _ratio(whole: Sequence[float], bare: Sequence[float]) -> float:
    """Median of the ratios of neighbours: what slows the machine down slows both down."""
    return median(one / other for one, other in zip(whole, bare, strict=True))


@contextmanager
def _recorded(name: str) -> Iterator[Recorder]:
    length = Calibration.load().max_length if name == "verifier" else MAX_TOKENS
    encoder: Encoder = shared_encoder(name, length)
    session = encoder._session
    recorder = Recorder(session)
    encoder._session = recorder  # it is asked for nothing but run
    try:
        yield recorder
    finally:
        encoder._session = session


@contextmanager
def _knowledge(store: str) -> Iterator[KnowledgeStore]:
    if store == "memory":
        from vista_guard.stores.knowledge_memory import MemoryKnowledge

        yield MemoryKnowledge(OnnxEmbedder())
        return
    from vista_guard.stores.knowledge_chroma import ChromaKnowledge, chroma_client

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        knowledge = ChromaKnowledge(chroma_client(Path(folder)), OnnxEmbedder())
        yield knowledge
        asyncio.run(knowledge.aclose())
