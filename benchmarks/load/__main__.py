"""`python -m benchmarks.load`: the proxy under load, first guarding, then switched off; prints a Markdown table."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

from benchmarks.load import servers
from benchmarks.load.checking import Fault
from benchmarks.load.running import Outcome, Plan, run
from benchmarks.measure import machine


def main() -> None:
    """Parses the arguments, runs, prints; exits with 1 when a turn was not as it must be."""
    chosen = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # the servers must not outlive this
    plan = Plan(
        chosen.streams, chosen.seconds, chosen.turns, chosen.limit_seconds, chosen.sample, hostile=chosen.hostile
    )
    where = machine()
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, servers.upstream() as model:
        options = tuple(chosen.serve or ())
        guarded = run(Plan(**{**vars(plan), "options": options}), model, Path(folder) / "guarded")
        off = run(Plan(**{**vars(plan), "options": options, "off": True}), model, Path(folder) / "off")
    print(f"{where['cpu']}, {where['cores']} cores, load {where['load']}, Python {where['python']}\n")
    print(*_table(plan, guarded, off), sep="\n")
    print(*_notes(guarded, off), sep="\n")
    if chosen.json is not None:
        content = {"machine": where, "plan": vars(plan), "guarded": _plain(guarded), "off": _plain(off)}
        chosen.json.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    sys.exit(any(_bad(outcome) for outcome in (guarded, off)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--streams", type=int, default=200, help="at once (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="of the timed phase (default: %(default)g)")
    parser.add_argument("--turns", type=int, default=10_000, help="in all, timed ones included (default: %(default)s)")
    parser.add_argument(
        "--limit-seconds", type=float, default=1800, help="no turn begins after that (default: %(default)g)"
    )
    parser.add_argument("--sample", type=int, default=200, help="conversations to look up (default: %(default)s)")
    parser.add_argument("--serve", action="append", metavar="OPTION", help="for vista-guard serve; may be repeated")
    parser.add_argument(
        "--hostile",
        type=float,
        default=0.0,
        metavar="SHARE",
        help="callers of hostile answers beside, by the streams (default: none)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything as JSON")
    return parser


def _table(plan: Plan, guarded: Outcome, off: Outcome) -> Iterator[str]:
    rows = [_column(guarded), _column(off)]
    yield f"| {plan.streams} streams for {plan.seconds:g} s, closed loop | guarding | off |"
    yield "|---|---|---|"
    for name in rows[0]:
        yield f"| {name} | {rows[0][name]} | {rows[1].get(name, '')} |"
    yield f"| throughput, guarding over off | {guarded.rate / off.rate:.3f} | |" if off.rate else ""


def _column(outcome: Outcome) -> dict[str, str]:
    tally = outcome.tally
    rows = {
        "turns in that time": f"{outcome.timed_turns:,} ({outcome.rate:.1f} a second)",
        "first text, p50 / p99": _times(tally.first),
        "whole turn, p50 / p99": _times(tally.whole),
        "`/healthz` beside it, p50 / p99": _times(outcome.waits),
        "cores used by proxy, model, callers": ", ".join(f"{cores:.2f}" for cores in outcome.cores.values()),
        "turns in all": f"{tally.turns:,} in {outcome.seconds:.0f} s",
    }
    rows |= {fault.value: str(tally.faults[fault]) for fault in Fault}
    if outcome.looked_at:
        rows["conversations looked up; kept otherwise than delivered"] = f"{outcome.looked_at}; {len(outcome.kept)}"
    if outcome.attacks.turns:
        rows["hostile answers; of them shown unjudged"] = f"{outcome.attacks.turns}; {outcome.attacks.leaks}"
    rows["warnings and errors in the log"] = str(len(outcome.troubles))
    (_, start), (_, end) = outcome.memory[0], outcome.memory[-1]
    rows["resident memory at start → end"] = f"{start['rss_mb']:.0f} → {end['rss_mb']:.0f} MB"
    rows["threads, open files at start → end"] = (
        f"{start['threads']:.0f}, {start['files']:.0f} → {end['threads']:.0f}, {end['files']:.0f}"
    )
    return rows


def _times(seconds: list[float]) -> str:
    if len(seconds) < 2:
        return ""
    cuts = quantiles(seconds, n=100, method="inclusive")
    return (
        f"{cuts[49]:.2f} / {cuts[98]:.2f} s" if cuts[49] >= 1 else f"{cuts[49] * 1000:.0f} / {cuts[98] * 1000:.0f} ms"
    )


def _notes(*outcomes: Outcome) -> Iterator[str]:
    guarded = outcomes[0]
    series = ", ".join(f"{turns:,}: {usage['rss_mb']:.0f}" for turns, usage in guarded.memory)
    yield f"\nResident memory of the guarding proxy in MB, by turns: {series}"
    if not guarded.complete:
        yield f"\nNOT COMPLETE: stopped by --limit-seconds after {guarded.tally.turns:,} turns."
    if guarded.attacks.turns:
        yield f"\nWhat became of hostile answers: {json.dumps(dict(sorted(guarded.attacks.outcomes.items())))}"
    for outcome in outcomes:
        counts = {name: value for name, value in outcome.metrics.items() if value}
        yield f"\nThe proxy's own count: {json.dumps(counts)}"
        yield from (f"- {line}" for line in [*outcome.tally.examples, *outcome.kept[:10], *outcome.troubles[:10]])


def _bad(outcome: Outcome) -> bool:
    # The log names hostile answers: that is no trouble.
    troubles = outcome.troubles and not outcome.attacks.turns
    return bool(outcome.tally.faults or outcome.kept or troubles or outcome.attacks.leaks)


def _plain(outcome: Outcome) -> dict[str, object]:
    tally = outcome.tally
    fields = {name: value for name, value in vars(outcome).items() if name not in ("tally", "attacks")}
    fields["attacks"] = vars(outcome.attacks)
    faults = {fault.value: count for fault, count in tally.faults.items()}
    return {**fields, "turns": tally.turns, "first_s": tally.first, "whole_s": tally.whole, "faults": faults}


main()
