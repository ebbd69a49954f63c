"""What tracing costs a turn: without an SDK, and with one that sends batches, each beside a turn with no telemetry at all.

`python -m benchmarks.telemetry [--turns N]` prints ratios. Each turn makes four claims over 150 tokens, as in
`benchmarks.checking`. Turns are taken in threes, one of each kind in an order that changes, so that whatever else the machine
does falls on all of them alike; what counts is the median of the ratios.
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from unittest import mock

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, InMemoryLogRecordExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from benchmarks.measure import timed
from benchmarks.turns import turn
from vista_guard import Conversation, Guard, Telemetry
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.turn import stages
from vista_guard.turn.work import Emit, Parts, Work


def sending() -> Telemetry:
    """An SDK that batches and drops its data in its own thread."""
    tracers, loggers = TracerProvider(), LoggerProvider()
    tracers.add_span_processor(BatchSpanProcessor(InMemorySpanExporter()))
    exporter = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    loggers.add_log_record_processor(BatchLogRecordProcessor(exporter))
    meters = MeterProvider([InMemoryMetricReader()])
    return Telemetry(tracer_provider=tracers, logger_provider=loggers, meter_provider=meters)


async def _bare(name: stages.StageName, work: Work, parts: Parts, emit: Emit) -> Work:
    """A stage as it ran before there was telemetry."""
    return await stages._run_metered(name, work, parts, emit)


@contextmanager
def without_telemetry() -> Iterator[None]:
    """Runs stages as before there was any telemetry."""
    with mock.patch.object(stages, "run", _bare):
        yield


def main() -> None:
    """Prints the medians and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="turns of each kind")
    turns = parser.parse_args().turns
    embedder = OnnxEmbedder()
    judge = EmbeddedJudge.load(embedder)
    off = Guard(judge, knowledge=MemoryKnowledge(embedder))
    on = Guard(judge, knowledge=MemoryKnowledge(embedder), telemetry=sending())
    numbers = count()

    def before() -> None:
        with without_telemetry():
            off.check(next_turn())

    def next_turn() -> Conversation:
        # Worded anew each time: no cache of an earlier turn helps.
        return turn(next(numbers), given=False)

    kinds: dict[str, Callable[[], object]] = {
        "before": before,
        "off": lambda: off.check(next_turn()),
        "on": lambda: on.check(next_turn()),
    }
    for call in kinds.values():
        call()
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    for _ in range(turns):
        for kind in random.sample(list(kinds), len(kinds)):
            took[kind].append(timed(kinds[kind]))
    print(f"{turns} turns of each kind; median of a turn before: {statistics.median(took['before']):.1f} ms")
    for kind in ("off", "on"):
        ratios = [now / then for now, then in zip(took[kind], took["before"], strict=True)]
        middle, spread = statistics.median(ratios), statistics.quantiles(ratios, n=4)
        print(
            f"{kind:4} x {middle:.3f} (quartiles {spread[0]:.3f} to {spread[2]:.3f}); ratio of medians "
            f"{statistics.median(took[kind]) / statistics.median(took['before']):.3f}"
        )


if __name__ == "__main__":
    main()
