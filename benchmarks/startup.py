"""A fresh interpreter's start-up time for the package and for the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.measure import Row, timed, timing_row

IMPORT_MS = 150.0
LOAD_MS = 300.0

_LOAD = """
from time import perf_counter
from vista_guard import Guard
import numpy
started = perf_counter()
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
judge = EmbeddedJudge.load(embedder := OnnxEmbedder())
verifier = perf_counter()
embedder.embed(["ready"])
print((verifier - started) * 1000, (perf_counter() - verifier) * 1000)
"""


def rows(runs: int) -> Iterator[Row]:
    """Imports, net of a bare interpreter that was started next to them; `vista-guard --help`; and loading the judge."""
    processes = max(runs // 10, 5)
    package, door, bare, help_times = [], [], [], []
    for _ in range(processes):
        bare.append(_python("-c", "pass"))
        package.append(_python("-c", "import vista_guard") - bare[-1])
        door.append(_python("-c", "from vista_guard import Guard") - bare[-1])
        help_times.append(_python("-m", "vista_guard", "--help"))
    yield Row("import vista_guard, net", median(package), "ms p50", target=IMPORT_MS, runs=processes)
    yield Row("from vista_guard import Guard, net", median(door), "ms p50", runs=processes)
    yield timing_row("vista-guard --help", help_times, note=f"a bare interpreter: {median(bare):.0f} ms")
    loads = [_load() for _ in range(processes)]
    yield timing_row("judge, loaded in a fresh process", [judge for judge, _ in loads], target=LOAD_MS)
    yield timing_row("  embedder, loaded by its first text", [embedder for _, embedder in loads])


def _load() -> tuple[float, float]:
    done = subprocess.run([sys.executable, "-c", _LOAD], check=True, capture_output=True, text=True)
    judge, embedder = map(float, done.stdout.split())
    return judge, embedder


def _python(*arguments: str) -> float:
    return timed(lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True))
