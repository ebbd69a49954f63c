"""Makes a risk table of reports and people's labels: the judge's objections to fine turns, with their confidences.

A label is a line of JSON. It speaks of a turn, or of one claim of it, by id or by text:

    {"conversation_id": "visit-7", "turn_index": 3, "fine": true}
    {"conversation_id": "visit-7", "turn_index": 5, "claim": "The hall opened in 1850.", "fine": false}
    {"conversation_id": "visit-7", "turn_index": 5, "claim_id": "t5.c2", "fine": true}

A turn is fine when it should be delivered as it is, and so are then all of its claims. A turn whose claims are all fine is
fine; one claim that is not makes it not fine. What this leaves open is not counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from vista_guard.errors import ConfigError, InputError
from vista_guard.policy.labels import FineLabel, TurnName, turn_name
from vista_guard.policy.risk import ALARMS, Level, Reliability, RiskGroup, RiskTable, alarms, reliability
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Finding, Outcome, TurnReport
from vista_lab.files import reading
from vista_lab.metrics.turn_risk import Fit, RatedTurn, fit, why_not

Line = TypeVar("Line", bound=BaseModel)


@dataclass(frozen=True)
class LabelledTurn:
    """A judged turn with its labels: whether it is fine (None: unknown), and whether its claims are, by id."""

    outcomes: tuple[Outcome, ...]
    fine: bool | None
    claims: dict[str, bool]
    own: frozenset[str] = frozenset()
    """Claims that were labelled themselves, not by a label of their turn."""


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration."""

    table: RiskTable
    missed: RiskGroup | None
    """The same for what is not fine: its `loss` is the share that a threshold catches. None when all is fine."""
    reliability: Reliability | None
    """Over the findings whose own claim was labelled. None when none was."""
    unknown: int
    """Turns or claims, as the level is, that have a report and no label."""
    unmatched: int
    """Labels of turns or claims that have no report."""
    fit: Fit | None = None
    """The turn's risk, fitted to the labelled turns."""
    unfitted: str | None = None
    """Reason that there is no `fit`."""


@dataclass
class _Words:
    turn: bool | None = None
    claims: dict[str, bool] = field(default_factory=dict)
    """By id and by text: no id reads like a text that somebody would claim."""
    used: set[str | None] = field(default_factory=set)
    """Labels that match a report; None is the turn's own."""

    @property
    def count(self) -> int:
        return len(self.claims) + (self.turn is not None)


def calibrate(reports: Path, labels: Path, *, level: Level, source: str, today: date) -> Calibration:
    """Joins reports that `replay` wrote with labels; `level` is what is counted, `source` says what the turns are.

    Raises InputError: a file that is something else, labels that contradict each other, reports of two judges or of turns
    that were rewritten, or nothing that is labelled fine.
    """
    words = _by_turn(labels)
    turn_reports = list(_read_reports(reports))
    if not turn_reports:
        raise InputError(f"{reports} has no report; write some with: vista-guard replay LOG --out {reports}")
    turns = [_label_turn(labels, report, words.get(_name(report), _Words())) for report in turn_reports]
    group = fine_group(turns, level, source)
    if group is None:
        total = sum(one.count for one in words.values())
        matched = sum(len(one.used) for one in words.values())
        named = f"{matched:,} of {total:,} labels name a reported turn or claim. Check conversation_id and turn_index"
        raise InputError(f"no turn of {reports} is labelled fine in {labels} (level {level}): {named}")
    fitted, unfitted = _fit(turn_reports, turns, source)
    return Calibration(
        table=RiskTable(
            judge=turn_reports[0].judge,
            level=level,
            created=today,
            groups=(group,),
            turn_risk=fitted.risk if fitted else None,
            turns=fitted.groups if fitted else (),
        ),
        missed=_group(turns, level, source, fine=False),
        reliability=_reliability(turns),
        unknown=_unknown_labels(turns, level),
        unmatched=sum(turn_words.count - len(turn_words.used) for turn_words in words.values()),
        fit=fitted,
        unfitted=unfitted,
    )


def fine_group(turns: Sequence[LabelledTurn], level: Level, source: str) -> RiskGroup | None:
    """The judge's objections to fine turns. None when no turn is fine."""
    return _group(turns, level, source, fine=True)


def _fit(reports: Sequence[TurnReport], turns: Sequence[LabelledTurn], source: str) -> tuple[Fit | None, str | None]:
    known = ((report, turn.fine) for report, turn in zip(reports, turns, strict=True) if turn.fine is not None)
    named = ((one.outcomes, one.evidence_missing, fine, one.conversation_id or "") for one, fine in known)
    rated = [RatedTurn(*own, source) for own in named]
    why = why_not(rated)
    if why is not None:
        return None, why
    try:
        return fit(rated, source), None
    except ConfigError as exc:
        return None, str(exc)


def _group(turns: Sequence[LabelledTurn], level: Level, source: str, *, fine: bool) -> RiskGroup | None:
    units = [unit for turn in turns if (unit := _unit(turn, level, fine=fine)) is not None]
    if not units:
        return None
    by_label = {
        label: alarms(
            pair
            for unit, share in units
            for pair in _losses([finding for finding in unit if finding.label is label], level, share)
        )
        for label in ALARMS
    }
    return RiskGroup(source=source, n=len(units), alarms=by_label)


def _unit(turn: LabelledTurn, level: Level, *, fine: bool) -> tuple[list[Finding], float] | None:
    """The findings that count, and the weight of each; None when the turn does not count."""
    findings = [outcome for outcome in turn.outcomes if isinstance(outcome, Finding)]
    if level is Level.TURN:
        return (findings, 1.0) if turn.fine is fine else None
    claim_ids = {claim for claim, word in turn.claims.items() if word is fine}
    own = [finding for finding in findings if finding.claim.id in claim_ids]
    return (own, 1 / len(claim_ids)) if claim_ids else None


def _losses(findings: Sequence[Finding], level: Level, share: float) -> list[tuple[float, float]]:
    if level is Level.TURN:
        return [(max(one.confidence for one in findings), 1.0)] if findings else []
    return [(finding.confidence, share) for finding in findings]


def _reliability(turns: Iterable[LabelledTurn]) -> Reliability | None:
    judged = [
        (outcome.confidence, (outcome.label in SAFE) is turn.claims[outcome.claim.id])
        for turn in turns
        for outcome in turn.outcomes
        # The label of a turn speaks for its claims only when it is fine: counted too, they would flatter.
        if isinstance(outcome, Finding) and outcome.claim.id in turn.own
    ]
    return reliability([confidence for confidence, _ in judged], [right for _, right in judged])


def _unknown_labels(turns: Iterable[LabelledTurn], level: Level) -> int:
    if level is Level.TURN:
        return sum(turn.fine is None for turn in turns)
    return sum(len(turn.outcomes) - len(turn.claims) for turn in turns)


def _label_turn(path: Path, report: TurnReport, words: _Words) -> LabelledTurn:
    by_claim: dict[str, bool] = {}
    for outcome in report.outcomes:
        names = {outcome.claim.id, outcome.claim.text} & words.claims.keys()
        words.used |= names
        if names:
            by_claim[outcome.claim.id] = all(words.claims[name] for name in names)
    words.used |= set() if words.turn is None else {None}
    own = frozenset(by_claim)
    if words.turn and not all(by_claim.values()):
        bad = next(claim for claim, fine in by_claim.items() if not fine)
        where = turn_name(report.conversation_id, report.turn_index)
        raise InputError(f"{path}: {where} is labelled fine, and its claim {bad} is not. Correct one of them")
    if words.turn:
        by_claim = {outcome.claim.id: True for outcome in report.outcomes}
    complete = len(by_claim) == len(report.outcomes)
    derived = (True if complete and by_claim else None) if all(by_claim.values()) else False
    return LabelledTurn(report.outcomes, derived if words.turn is None else words.turn, by_claim, own)


def _name(report: TurnReport) -> TurnName:
    return (report.conversation_id or "", report.turn_index)


def _by_turn(path: Path) -> dict[TurnName, _Words]:
    by_turn: dict[TurnName, _Words] = {}
    for number, label in _lines(path, FineLabel, "labels"):
        words = by_turn.setdefault((label.conversation_id, label.turn_index), _Words())
        claim = label.claim_id if label.claim_id is not None else label.claim
        earlier = words.turn if claim is None else words.claims.get(claim)
        if earlier not in (None, label.fine):
            raise InputError(
                f"{path}, line {number} contradicts an earlier line on the same turn or claim. Keep one of them"
            )
        if claim is None:
            words.turn = label.fine
        else:
            words.claims[claim] = label.fine
    return by_turn


def _read_reports(path: Path) -> Iterator[TurnReport]:
    first: TurnReport | None = None
    seen: set[TurnName] = set()
    for number, report in _lines(path, TurnReport, "reports"):
        first = first or report
        where = f"{path}, line {number}"
        if report.judge != first.judge:
            own, earlier = (f"{one.name} {one.version}" for one in (report.judge, first.judge))
            judged = f"{where} was judged by {own}, the first line by {earlier}"
            raise InputError(f"{judged}. A risk table fits one judge: split the file")
        if report.attempts:
            raise InputError(f"{where} reports a rewritten turn. Replay the log with --policy monitor")
        if _name(report) in seen:
            raise InputError(f"{where} reports {turn_name(report.conversation_id, report.turn_index)} again. Keep one")
        seen.add(_name(report))
        yield report


def _lines(path: Path, model: type[Line], noun: str) -> Iterator[tuple[int, Line]]:
    with reading(f"{noun} {path}"), path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                with reading(f"{path}, line {number}"):
                    parsed = model.model_validate_json(line)
                yield number, parsed
