"""Rows of the table, and how they are timed."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any

from vista_guard import __version__


@dataclass(frozen=True)
class Row:
    """One measurement. `value` is what the target is about; `target` is the most that it may be, or
    the least where `more_is_better`, or None."""

    name: str
    value: float
    unit: str
    target: float | None = None
    p95: float | None = None
    p99: float | None = None
    runs: int = 1
    note: str = ""
    more_is_better: bool = False

    @property
    def met(self) -> bool | None:
        """True if the target is met; None without one."""
        if self.target is None:
            return None
        return self.value >= self.target if self.more_is_better else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        """The row with `met`."""
        return {**asdict(self), "met": self.met}


def timed(call: Callable[[], object]) -> float:
    """Milliseconds that one call takes."""
    started = perf_counter()
    call()
    return (perf_counter() - started) * 1000


def timing_row(name: str, samples: Sequence[float], *, target: float | None = None, note: str = "") -> Row:
    """Median, 95th and 99th percentile of samples in milliseconds."""
    cuts = quantiles(samples, n=100, method="inclusive")
    return Row(name, median(samples), "ms p50", target=target, p95=cuts[94], p99=cuts[98], runs=len(samples), note=note)


def machine() -> dict[str, Any]:
    """The machine that the numbers hold for."""
    load = os.getloadavg() if hasattr(os, "getloadavg") else ()
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "threads": os.environ.get("VISTA_GUARD_THREADS", "all"),
        "load": [round(value, 1) for value in load],
        "system": platform.platform(),
        "python": platform.python_version(),
        "vista-guard": __version__,
        **{package: version(package) for package in ("onnxruntime", "chromadb", "langgraph")},
    }


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )
