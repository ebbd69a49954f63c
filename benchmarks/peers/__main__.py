"""`python -m benchmarks.peers`: one turn of five claims, two of them unsupported, judged by everybody at one scripted server."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path

from benchmarks.measure import machine
from benchmarks.peers.contenders import CONTENDERS, Contender
from benchmarks.peers.running import ROOT, Limits, Measured, measure
from benchmarks.peers.scenarios import RETRY_AFTER_S, Scenario
from benchmarks.peers.table import fault_table, fine_table, targets


def main() -> None:
    """Parses the arguments, runs the contenders one after the other, and prints Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="turns that are timed (default: %(default)s)")
    parser.add_argument("--latency", type=float, default=0.2, help="seconds of a call (default: %(default)s)")
    parser.add_argument(
        "--timeout",
        type=float,
        default=2.0,
        help="seconds that contenders are told to wait for an answer when none comes (default: %(default)s)",
    )
    parser.add_argument(
        "--patience", type=float, default=60.0, help="seconds after which a turn counts as hung (default: %(default)s)"
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="contenders with this in their name; may be repeated"
    )
    parser.add_argument("--no-faults", action="store_true", help="only the server that answers as it should")
    parser.add_argument(
        "--environments",
        type=Path,
        default=ROOT / ".venv-peers",
        help="where peers are installed (default: .venv-peers)",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write everything that was measured as JSON")
    chosen = parser.parse_args()
    limits = Limits(chosen.runs, chosen.latency, chosen.timeout, chosen.patience)
    measured = [
        result
        for contender in CONTENDERS
        if not chosen.only or any(part.lower() in contender.name.lower() for part in chosen.only)
        for result in _measure(contender, chosen.environments, limits, faults=not chosen.no_faults)
    ]
    _print(measured, limits)
    if chosen.out is not None:
        content = {
            "machine": machine(),
            "limits": vars(limits),
            "targets": targets(measured),
            "measured": [result.as_json() for result in measured],
        }
        chosen.out.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _measure(contender: Contender, environments: Path, limits: Limits, *, faults: bool) -> list[Measured]:
    if not contender.python(environments).is_file():
        print(f"{contender.name} is not installed in {environments}; run: make bench-peers", file=sys.stderr)
        return []
    print(f"{contender.name} …", file=sys.stderr, flush=True)
    scenarios = list(Scenario) if faults and contender.faults else [Scenario.FINE]
    return asyncio.run(measure(contender, environments, scenarios, limits))


def _print(measured: list[Measured], limits: Limits) -> None:
    where = machine()
    print(
        f"{where['cpu']}, {where['cores']} cores, load {where['load']}, Python {where['python']}; "
        f"{limits.latency_s * 1000:.0f} ms a call, {limits.runs} turns each\n"
    )
    print(fine_table(measured))
    print(
        f"\nWhen the server misbehaves (429: with Retry-After {RETRY_AFTER_S}; where it hangs, everybody was told to wait "
        f"{limits.timeout_s:g} s for an answer):\n"
    )
    print(fault_table(measured))
    print("\nTimes hold for this machine and this load only; calls, waves and tokens travel.")


if __name__ == "__main__":
    main()
