"""`python -m training.suites.known`: whole answers of kinds that were judged wrongly in use, in pairs of a right and a wrong one.

182 answers by one writer who saw no verdict: prices and "free", agreement and refusal, scope, bare yes and no, bare figures, bare
names, dates in other forms, worth, headings, namesakes, rows of tables, promises, roles and order, numbers said otherwise. No
model and no threshold is chosen on them; rules were mended after some dates, numbers and short answers of them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from vista_guard.guard import Guard
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Action, TurnReport


class KnownCase(BaseModel):
    """An answer, what it is held against, and whether it must pass unmarked or must not."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    question: str | None
    documents: tuple[str, ...]
    answer: str
    right: Literal["pass", "stop"]


def read_cases() -> Iterator[KnownCase]:
    """All cases, in pairs."""
    text = (files("training.suites") / "pairs" / "known.jsonl").read_text(encoding="utf-8")
    return (KnownCase.model_validate(json.loads(line)) for line in text.splitlines())


def passes(report: TurnReport, *, labels: bool) -> bool:
    """True if the turn went out unmarked; with `labels`, if every claim of it is safe, whatever the policy does."""
    return all(one.label in SAFE for one in report.findings) if labels else report.decision.action is Action.ALLOW


def table(guard: Guard, *, labels: bool) -> Iterator[str]:
    """A line for each kind: right ones that pass, wrong ones that are stopped; last the sums."""
    counts = Counter[tuple[str, str]]()
    right = Counter[tuple[str, str]]()
    for case in read_cases():
        report = guard.check_answer(case.answer, documents=case.documents, question=case.question)
        for kind in (case.kind, "all"):
            counts[kind, case.right] += 1
            right[kind, case.right] += passes(report, labels=labels) == (case.right == "pass")
    yield f"{'kind':12}{'pass':>10}{'stop':>10}"
    for kind in sorted({kind for kind, _ in counts}, key=lambda kind: (kind == "all", kind)):
        cells = (f"{right[kind, side]} of {counts[kind, side]}" for side in ("pass", "stop"))
        yield f"{kind:12}" + "".join(f"{cell:>10}" for cell in cells)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.suites.known", description=__doc__)
    parser.add_argument("--judge", default="embedded", help="as in the settings")
    parser.add_argument("--policy", default="balanced")
    parser.add_argument(
        "--labels", action="store_true", help="by the labels of the claims, not by what the policy does"
    )
    args = parser.parse_args()
    with Guard.from_settings(judge=args.judge, policy=args.policy, store="memory", retrieve=False) as guard:
        judge = guard.parts.judge.info
        rows = "\n".join(table(guard, labels=args.labels))
    sys.stdout.write(f"known kinds, {judge.name} {judge.version}, policy {args.policy}\n{rows}\n")


if __name__ == "__main__":
    main()
