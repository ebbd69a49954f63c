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
from vista_guard.inference.onnx import EXACT_PRODUCTS, Encoder, shared_encoder
from vista_guard.inference.weights import weights_file
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.models import Calibration
from vista_guard.protocols import KnowledgeStore
from vista_guard.stores.entries import MAX_TOKENS, OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge

WARM_UP = 20
READ_AGAIN = 3.0
"""Target for the time of a turn with both readers over that with the quick one."""
P50_MS, P99_MS = 25.0, 60.0
"""Targets for a turn of four claims."""
LONG_MS = 250.0
"""Target for the same turn against a long document."""
RATIO = 1.3
"""Target for the guard's time over that of the bare model calls."""


class Recorder:
    """Stands before an onnxruntime session and keeps the inputs of the last turn, to run them again bare.

    The bare runs have a session of their own, whose threads share a pass, as a plain script's do.
    """

    def __init__(self, session: Any, name: str) -> None:
        self._session = session
        self._bare = bare_session(name)
        self.inputs: list[Any] = []
        self._whole: Any = None

    def run(self, outputs: Any, inputs: Any) -> Any:
        """Like the session's own; records the inputs."""
        self.inputs.append(inputs)
        return self._session.run(outputs, inputs)

    def again(self) -> None:
        """Runs onnxruntime alone: all inputs of the turn in one batch, as in a plain script."""
        self._bare.run(None, self._whole)

    def ready(self) -> None:
        """Puts the recorded inputs together."""
        width = max(inputs["input_ids"].shape[1] for inputs in self.inputs)
        self._whole = {
            name: np.concatenate(
                [np.pad(batch[name], ((0, 0), (0, width - batch[name].shape[1]))) for batch in self.inputs]
            )
            for name in self.inputs[0]
        }

    def size(self) -> str:
        """The last turn's size, in words."""
        width, height = self._whole["input_ids"].shape[1], self._whole["input_ids"].shape[0]
        return f"{height} pairs, {int(self._whole['attention_mask'].sum())} tokens, {width * height} padded"


def bare_session(name: str) -> Any:
    """The shipped model with a thread for each core, and the guard's exact products: without VNNI wrong ones are quicker.

    Its idle threads do not spin: they would slow the guard's next turn.
    """
    from onnxruntime import InferenceSession, SessionOptions

    options = SessionOptions()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry(*EXACT_PRODUCTS)
    options.enable_cpu_mem_arena = False
    return InferenceSession(weights_file(f"{name}.onnx"), options, providers=["CPUExecutionProvider"])


def rows(runs: int) -> Iterator[Row]:
    """Both stores, claims given or not; then a long document."""
    for store in ("memory", "chroma"):
        for given in (True, False):
            claims = "claims given" if given else "own decomposition"
            yield from _measure(f"check, {claims}, {store}", runs, store, given=given)
    long = long_document()
    yield from _measure(
        "check, 2,000-token document, chroma", max(runs // 4, 10), "chroma", document=long, target=LONG_MS
    )


def readers(runs: int) -> Iterator[Row]:
    """Both readers beside the quick one alone, turn by turn: four claims that are read again, and two of four."""
    for name, settled in (("four of four", 0), ("two of four", 2)):
        times: list[list[float]] = [[], []]
        judges = EmbeddedJudge.load(OnnxEmbedder()), EmbeddedJudge.load(OnnxEmbedder(), quick=True)
        guards = [Guard(judge, knowledge=MemoryKnowledge(OnnxEmbedder())) for judge in judges]
        for number in range(WARM_UP + runs):
            for guard, samples in zip(guards, times, strict=True):
                conversation = turn(number, given=True, settled=settled)
                samples.append(timed(lambda guard=guard, said=conversation: guard.check(said)))  # type: ignore[misc]
        both, quick = (samples[WARM_UP:] for samples in times)
        yield timing_row(f"both readers, {name} claims read again", both)
        yield timing_row("  the quick reader alone", quick)
        yield Row("  both / quick", _ratio(both, quick), "ratio", target=READ_AGAIN, runs=runs)


def _measure(
    name: str, runs: int, store: str, *, given: bool = False, document: str = FACTS, target: float = P50_MS
) -> Iterator[Row]:
    whole, pairs, models = [], [], []
    with _recorder("verifier") as verifier, _recorder("embedder") as embedder, _knowledge(store) as knowledge:
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
        note = verifier.size()
    row = timing_row(name, whole, target=target)
    yield row
    if target == P50_MS:
        yield Row("  p99", row.p99 or 0.0, "ms p99", target=P99_MS, runs=runs)
    yield timing_row("  bare onnxruntime, the same pairs in one batch", pairs, note=note)
    yield Row("  guard / bare", _ratio(whole, pairs), "ratio", target=RATIO, runs=runs)
    yield Row("  guard / bare, embeddings counted as bare", _ratio(whole, models), "ratio", runs=runs)


def _ratio(whole: Sequence[float], bare: Sequence[float]) -> float:
    """Median of the ratios of neighbours: what slows the machine down slows both down."""
    return median(one / other for one, other in zip(whole, bare, strict=True))


@contextmanager
def _recorder(name: str) -> Iterator[Recorder]:
    length = Calibration.load().max_length if name == "verifier" else MAX_TOKENS
    encoder: Encoder = shared_encoder(name, length)
    session = encoder._session
    recorder = Recorder(session, name)
    encoder._session = recorder  # nothing but run is called
    try:
        yield recorder
    finally:
        encoder._session = session


@contextmanager
def _knowledge(store: str) -> Iterator[KnowledgeStore]:
    if store == "memory":
        yield MemoryKnowledge(OnnxEmbedder())
        return
    from vista_guard.stores.chroma.client import chroma_client
    from vista_guard.stores.chroma.knowledge import ChromaKnowledge

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        knowledge = ChromaKnowledge(chroma_client(Path(folder)), OnnxEmbedder())
        yield knowledge
        asyncio.run(knowledge.aclose())
