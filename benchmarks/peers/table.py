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
    """For each contender with targets: whether each is met when the server behaves."""
    fine = _fine(measured)
    return {
        contender.name: met
        for contender in CONTENDERS
        if contender.name in fine and (met := _met(contender, fine[contender.name], fine.get(PER_CLAIM)))
    }


def fine_table(measured: Sequence[Measured]) -> str:
    """The cost of a turn when the server answers correctly."""
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
    return _table(header, [_fine_row(result, fine.get(PER_CLAIM), targets(measured)) for result in fine.values()])


def fault_table(measured: Sequence[Measured]) -> str:
    """The result of a turn when the server misbehaves."""
    order = list(Scenario)
    faulty = sorted(
        (result for result in measured if result.scenario is not Scenario.FINE),
        key=lambda result: order.index(result.scenario),
    )
    waits = {contender.name: contender.waits for contender in CONTENDERS}
    rows = []
    for result in faulty:
        remark = _remark(result) + (
            f" (by default: {waits[result.contender]})" if result.scenario is Scenario.HANG else ""
        )
        counts = (str(result.calls), f"{result.seconds:.1f}")
        rows.append((result.scenario.value, result.contender, RESULTS[result.verdict], *counts, remark))
    return _table(("the server", "", "result", "calls", "seconds", "in its own words"), rows)


def _fine(measured: Sequence[Measured]) -> dict[str, Measured]:
    return {result.contender: result for result in measured if result.scenario is Scenario.FINE}


def _fine_row(result: Measured, per_claim: Measured | None, met: Mapping[str, Mapping[str, bool]]) -> tuple[str, ...]:
    share = f"{result.prompt_tokens / per_claim.prompt_tokens:.0%}" if per_claim is not None else ""
    target_text = "; ".join(
        f"{what}: {'met' if is_met else '**not met**'}" for what, is_met in met.get(result.contender, {}).items()
    )
    seconds = f"{result.seconds:.2f} ({min(result.all_seconds):.2f}–{max(result.all_seconds):.2f})"
    counts = (str(result.calls), str(result.waves), f"{result.prompt_tokens:,}")
    return (result.contender, *counts, share, seconds, target_text, _remark(result))


def _met(contender: Contender, result: Measured, per_claim: Measured | None) -> dict[str, bool]:
    met = {}
    if contender.waves is not None:
        met[f"≤ {contender.waves} waves"] = result.waves <= contender.waves
    if contender.tokens is not None and per_claim is not None:
        met[f"≤ {contender.tokens:.0%} of the tokens"] = (
            result.prompt_tokens <= contender.tokens * per_claim.prompt_tokens
        )
    if contender.seconds is not None:
        met[f"≤ {contender.seconds} s"] = result.seconds <= contender.seconds
    return met


def _remark(result: Measured) -> str:
    words = result.said if len(result.said) <= SAID_LENGTH else result.said[:SAID_LENGTH] + "…"
    return words.replace("|", "\\|").replace("<", "&lt;")


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def lines() -> Iterator[str]:
        yield "| " + " | ".join(header) + " |"
        yield "|" + "---|" * len(header)
        for row in rows:
            yield "| " + " | ".join(row) + " |"

    return "\n".join(lines())
