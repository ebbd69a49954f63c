"""Weeks of traffic, made by hand: two judges, two policies, a price, reasons for what was not judged, people's words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from tests.dashboard import seeded
from vista_guard.policy.label_policy import PRESETS, rules_key
from vista_guard.policy.turn_risk import vista_score
from vista_guard.types import (
    Action,
    Claim,
    Decision,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    Outcome,
    SourceKind,
    Timings,
    TurnReport,
    Unchecked,
    Usage,
)

OLD, NEW = JudgeInfo(name="model", version="small"), JudgeInfo(name="model", version="large")
WEIGHTS = {
    Label.VERIFIED: 60,
    Label.OUT_OF_SCOPE: 15,
    Label.LACKING_EVIDENCE: 14,
    Label.CONTRADICTED: 8,
    Label.ABSTENTION: 3,
}
THINGS = ("lighthouse", "harbour", "pier", "boathouse", "ferry", "mole", "chandlery", "slipway")
REASONS = ("the endpoint answered 503", "no answer within 20 s", "the answer names no label: 'perhaps'")


def traffic(
    turns: int = 240, hours: float = 160.0, *, now: datetime | None = None, seed: int = 7
) -> Iterator[TurnReport]:
    """Turns spread evenly over so many hours before now, the oldest first; judge and policy change half-way."""
    chance, end = Random(seed), now or datetime.now(UTC)
    for number in range(turns):
        later = number >= turns // 2
        at = end - timedelta(hours=hours * (turns - number) / turns)
        outcomes = tuple(_outcome(chance, number, place) for place in range(chance.randint(1, 5)))
        policy = PRESETS["strict" if later else "balanced"].fitted_to(None)
        decision = policy(outcomes, evidence_missing=False)
        if decision.action is Action.REPAIR:  # nobody could be asked again
            decision = Decision(action=Action.BLOCK, reason=decision.reason, claim_ids=decision.claim_ids)
        yield TurnReport(
            id=f"{number:032x}",
            conversation_id=f"visit-{number // 6}",
            turn_index=2 * (number % 6) + 1,
            response=" ".join(one.claim.text for one in outcomes)
            if decision.action is not Action.BLOCK
            else policy.message,
            outcomes=outcomes,
            decision=decision,
            score=vista_score(outcomes),
            evidence_missing=False,
            judge=NEW if later else OLD,
            policy=policy.name,
            rules=rules_key(policy),
            gate="sentence" if number % 3 == 0 else "turn",
            tenant=("museum", "harbour office")[number % 2],
            turn_key=f"{number:016x}",
            timings=Timings(verify=20 * chance.lognormvariate(1, 0.7), total=40 * chance.lognormvariate(1, 0.8)),
            usage=Usage(calls=2, input_tokens=900 + number, output_tokens=60, cost=0.0004 * (3 if later else 1)),
            created_at=at,
        )


def write(file: Path, turns: int = 240) -> str:
    """A database with that traffic; its URL."""
    return seeded.write(file, *((report, None) for report in traffic(turns)))


def _outcome(chance: Random, number: int, place: int) -> Outcome:
    thing = chance.choice(THINGS)
    claim = Claim(id=f"t{number}.c{place}", text=f"The {thing} was built in {1700 + chance.randint(0, 250)}.")
    if chance.random() < 0.04:
        return Unchecked(claim=claim, error=chance.choice(REASONS))
    label = chance.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
    known = Evidence(source=SourceKind.KNOWLEDGE, source_id=f"{number - 1:016x}:c0", quote="So it was said.", score=0.9)
    evidence = (known,) if number % 6 and chance.random() < 0.3 else ()
    return Finding(
        claim=claim,
        label=label,
        confidence=chance.betavariate(6, 2),
        evidence=evidence,
        reason=f"says the {thing}'s page",
    )
