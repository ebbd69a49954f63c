"""`python -m benchmarks`: measures, prints a table, and writes it as JSON where asked to."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import callers, checking, engine, memory, replaying, startup
from benchmarks.measure import Row, machine

BENCHES: Mapping[str, Callable[[int], Iterator[Row]]] = {
    "startup": startup.rows,
    "engine": engine.rows,
    "check": checking.rows,
    "readers": checking.readers,
    "callers": callers.rows,
    "replay": replaying.rows,
    "memory": memory.rows,
}


def main() -> None:
    """Parses the arguments and runs the benches, one after the other."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows as JSON")
    parser.add_argument("--runs", type=int, default=200, help="timed runs of a turn (default: %(default)s)")
    parser.add_argument("--only", choices=BENCHES, action="append", help="run this bench; may be repeated")
    chosen = parser.parse_args()
    console, where = Console(highlight=False), machine()
    console.print(
        f"{where['cpu']}, {where['cores']} cores, load {where['load']}, Python {where['python']}", style="dim"
    )
    rows: list[Row] = []
    for name in chosen.only or BENCHES:
        with console.status(name):
            rows += BENCHES[name](chosen.runs)
    console.print(_table(rows))
    console.print("Times are noisy and hold for this machine and this load only; ratios travel better.", style="dim")
    if chosen.out is not None:
        content = {"machine": where, "rows": [row.as_json() for row in rows]}
        chosen.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _table(rows: Sequence[Row]) -> Table:
    table = Table("measured")
    for column in ("value", "p95", "p99", "target", "runs"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in rows:
        target = "" if row.target is None else f"{'≥' if row.more_is_better else '≤'} {_number(row.target)}"
        met = {None: "", True: "[green]met[/]", False: "[red]not met[/]"}[row.met]
        value = f"{_number(row.value)} {row.unit}"
        tails = (_number(tail) for tail in (row.p95, row.p99))
        table.add_row(row.name, value, *tails, target, str(row.runs), " ".join(filter(None, (met, row.note))))
    return table


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


main()
