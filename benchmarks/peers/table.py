"""The measurements as Markdown tables, with the targets of this package's own strategies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.peers.contenders import CONTENDERS, PER_CLAIM, Contender
from benchmarks.peers.running import Measured
from benchmarks.peers.scenarios import Scenario

RESULTS = {
    "found": "objects",
    "clean": "**passes it as clean**",
    "unknown": "says that it could not judge",
    "raised": "raises",
    "hung": "**no result**",
}
"""A verdict in words."""
SAID_LENGTH = 140


def targets(measured: Sequence[Measured]) -> Mapping[str, Mapping[str, bool]]:
    """For each contender with targets: what they are about, and whether each is met. Without faults on the server's side."""
    fine = _fine(measured)
    return {
        contender.name: met
        for contender in CONTENDERS
        if contender.name in fine and (met := _met(contender, fine[contender.name], fine.get(PER_CLAIM)))
    }


def fine_table(measured: Sequence[Measured]) -> str:
    """What a turn costs when the server answers as it should."""
    fine = _fine(measured)
    header = (
        "",
        "calls",
        "waves",
        "prompt tokens",
        "of per_claim",
        "seconds a turn",
        "targets",
        "what it says of the turn",
    )
    return _table(header, [_fine_row(one, fine.get(PER_CLAIM), targets(measured)) for one in fine.values()])


def fault_table(measured: Sequence[Measured]) -> str:
    """What becomes of a turn when the server misbehaves."""
    order = list(Scenario)
    faulty = sorted(
        (one for one in measured if one.scenario is not Scenario.FINE), key=lambda one: order.index(one.scenario)
    )
    waits = {contender.name: contender.waits for contender in CONTENDERS}
    rows = []
    for one in faulty:
        told = _said(one) + (f" (by default: {waits[one.contender]})" if one.scenario is Scenario.HANG else "")
        counts = (str(one.calls), f"{one.seconds:.1f}")
        rows.append((one.scenario.value, one.contender, RESULTS[one.verdict], *counts, told))
    return _table(("the server", "", "result", "calls", "seconds", "in its own words"), rows)


def _fine(measured: Sequence[Measured]) -> dict[str, Measured]:
    return {one.contender: one for one in measured if one.scenario is Scenario.FINE}


def _fine_row(one: Measured, per_claim: Measured | None, met: Mapping[str, Mapping[str, bool]]) -> tuple[str, ...]:
    share = f"{one.prompt_tokens / per_claim.prompt_tokens:.0%}" if per_claim is not None else ""
    kept = "; ".join(
        f"{what}: {'met' if is_met else '**not met**'}" for what, is_met in met.get(one.contender, {}).items()
    )
    seconds = f"{one.seconds:.2f} ({min(one.all_seconds):.2f}–{max(one.all_seconds):.2f})"
    counts = (str(one.calls), str(one.waves), f"{one.prompt_tokens:,}")
    return (one.contender, *counts, share, seconds, kept, _said(one))


def _met(contender: Contender, one: Measured, per_claim: Measured | None) -> dict[str, bool]:
    met = {}
    if contender.waves is not None:
        met[f"≤ {contender.waves} waves"] = one.waves <= contender.waves
    if contender.tokens is not None and per_claim is not None:
        met[f"≤ {contender.tokens:.0%} of the tokens"] = one.prompt_tokens <= contender.tokens * per_claim.prompt_tokens
    if contender.seconds is not None:
        met[f"≤ {contender.seconds} s"] = one.seconds <= contender.seconds
    return met


def _said(one: Measured) -> str:
    said = one.said if len(one.said) <= SAID_LENGTH else one.said[:SAID_LENGTH] + "…"
    return said.replace("|", "\\|").replace("<", "&lt;")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        yield "| " + " | ".join(header) + " |"
        yield "|" + "---|" * len(header)
        for row in rows:
            yield "| " + " | ".join(row) + " |"

    return "\n".join(lines())
