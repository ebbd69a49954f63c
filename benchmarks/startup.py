"""What a fresh interpreter pays for the package and for the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks.measure import Row, timed, timing_row

IMPORT_MS = 150.0


def rows(runs: int) -> Iterator[Row]:
    """Imports, net of a bare interpreter that was started next to them; and `vista-guard --help`."""
    processes = max(runs // 10, 5)
    package, door, bare, helped = [], [], [], []
    for _ in range(processes):
        bare.append(_python("-c", "pass"))
        package.append(_python("-c", "import vista_guard") - bare[-1])
        door.append(_python("-c", "from vista_guard import Guard") - bare[-1])
        helped.append(_python("-m", "vista_guard.cli", "--help"))
    yield Row("import vista_guard, net", median(package), "ms p50", target=IMPORT_MS, runs=processes)
    yield Row("from vista_guard import Guard, net", median(door), "ms p50", runs=processes)
    yield timing_row("vista-guard --help", helped, note=f"a bare interpreter: {median(bare):.0f} ms")


def _python(*arguments: str) -> float:
    return timed(lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True))
