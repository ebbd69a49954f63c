"""Resident memory of a process that has guarded fifty turns with Chroma on: `python -m benchmarks.memory`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from benchmarks.measure import Row

TURNS = 50
RSS_MB = 400.0


def rows(_runs: int) -> Iterator[Row]:
    """Measures in a separate process."""
    done = subprocess.run([sys.executable, "-m", "benchmarks.memory"], check=True, capture_output=True, text=True)
    yield Row(f"resident memory after {TURNS} turns, chroma", float(done.stdout), "MB", target=RSS_MB)


def _guard_turns() -> float:
    import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the bench extra brings it, dev does not

    from benchmarks.turns import turn
    from vista_guard import Guard

    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, Guard.from_settings(data_dir=folder) as guard:
        for number in range(TURNS):
            guard.check(turn(number, given=False).model_copy(update={"id": "one conversation"}))
        return float(psutil.Process().memory_info().rss / 1e6)


if __name__ == "__main__":
    print(_guard_turns())
