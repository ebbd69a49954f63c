"""False alarms: reference answers that people wrote from passages (MTRAG-UN), through the guard; none should be withheld.

    python -m training.suites.faithful --data FOLDER [--policy balanced] [--part dev] [--twins FILE]
    python -m training.suites.faithful --data FOLDER --part inscit --final

One table of all presets, or of the named ones; the answers are judged once, because policies are pure. With a file of
falsified twins, JSON lines of `task_id` and `text`, it also reports how many of these are flagged, and how well the turn's
risk tells an answer from a twin. Answers of conversations whose id ends in 0 to 4 are for development, the others for
training. `inscit` is a test set instead (INSCIT's direct answers), opened once. Needs the extra `evaluation`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from training.suites.unseen import inscit
from vista_guard.errors import InputError
from vista_guard.guard import Guard
from vista_guard.policy.label_policy import PRESETS, SEVERITY, LabelPolicy
from vista_guard.policy.turn_risk import HELD_AGAINST, TurnRisk
from vista_guard.types import Action, Conversation, Finding, Role, TurnReport
from vista_lab.datasets.files import answer, whole
from vista_lab.datasets.sets.mtrag import GenerationTask, tasks
from vista_lab.metrics.intervals import Share

WITHOUT_RISK = "balanced, each alarm flags"
"""`balanced` as it is for a judge without a fitted risk."""
HEADER = ("| turns | n | policy | flagged or withheld | of all withheld |", "|---|---:|---|---:|---:|")


def policies(risk: TurnRisk | None) -> Mapping[str, LabelPolicy]:
    """The presets fitted to this risk; if there is one, also `balanced` without it."""
    fitted = {name: preset.fitted_to(risk) for name, preset in PRESETS.items()}
    return {**fitted, WITHOUT_RISK: PRESETS["balanced"].fitted_to(None)} if risk else fitted


def action(report: TurnReport, policy: LabelPolicy) -> Action:
    """The policy's action on a turn, from a report of the same judge."""
    return policy.weigh(report.outcomes, evidence_missing=report.evidence_missing, risk=report.risk).action


def reaches(report: TurnReport, policy: LabelPolicy, least: Action) -> bool:
    """True when the policy acts at least as strictly as `least`."""
    return SEVERITY[action(report, policy)] >= SEVERITY[least]


def lines(turns: str, reports: Sequence[TurnReport], chosen: Mapping[str, LabelPolicy]) -> Iterator[str]:
    """A line of the table for each policy: shares of these turns, with Wilson's intervals. Repaired ones are withheld."""
    for name, policy in chosen.items():
        flagged, withheld = (
            Share.of(reaches(report, policy, least) for report in reports) for least in (Action.FLAG, Action.REPAIR)
        )
        yield f"| {turns} | {len(reports)} | {name} | {flagged} | {withheld} |"


def held_against(report: TurnReport) -> list[float]:
    """Confidences of the findings held against a turn."""
    return [one.confidence for one in report.outcomes if isinstance(one, Finding) and one.label in HELD_AGAINST]


def claims_held(reports: Sequence[TurnReport]) -> Share:
    """Share of judged claims that are held against their turns."""
    judged = sum(isinstance(outcome, Finding) for report in reports for outcome in report.outcomes)
    return Share(sum(len(held_against(report)) for report in reports), judged)


REFERENCE = Path("train") / "mtragun" / "reference.jsonl.gz"
INSCIT = Path("eval") / "inscit" / "dev.json.gz"


def answerable(path: Path, part: str = "dev") -> Iterator[Conversation]:
    """Conversations that end with an answer which its passages carry."""
    return map(conversation_of, _answerable(path, part))


def falsified_twins(path: Path, twins: Path, part: str = "dev") -> Iterator[Conversation]:
    """The same conversations with the answers of a file of twins in place of their own; those that it lacks are left out.

    Raises:
        InputError: a line of the file is something else.
    """
    answers = dict(_read_twins(twins))
    for task in _answerable(path, part):
        if task.task in answers:
            yield conversation_of(replace(task, answer=answers[task.task]))


def _answerable(path: Path, part: str) -> Iterator[GenerationTask]:
    return (task for task in whole(tasks(path)) if task.is_supported and task.development == (part == "dev"))


def _read_twins(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            twin = json.loads(line)
            yield str(twin["task_id"]), str(twin["text"])
        except (ValueError, KeyError, TypeError) as exc:
            raise InputError(f'{path}, line {number}: {exc}. A line is {{"task_id": …, "text": …}}') from exc


def risk_auc(faithful: Sequence[TurnReport], twins: Sequence[TurnReport]) -> float:
    """Area under the ROC curve of the turn's risk, twins against faithful answers, in [0, 1]."""
    from training.suites.arrays import auc

    return auc([False] * len(faithful) + [True] * len(twins), [report.risk or 0.0 for report in (*faithful, *twins)])


def conversation_of(task: GenerationTask) -> Conversation:
    """The task's question, and its answer with the passages that it was written from."""
    # What was said before is the topic and no evidence: earlier answers come without the passages that they were written from.
    question = [turn for turn in task.said if turn.role is Role.USER][-1:]
    return Conversation(turns=(*question, answer(task.answer, task.documents)))


async def judge(guard: Guard, conversations: Sequence[Conversation]) -> list[TurnReport]:
    return [await guard.acheck(conversation) for conversation in conversations]


def objections_text(name: str, reports: Sequence[TurnReport]) -> str:
    """The objections to these turns, in a line."""
    held, unchecked = claims_held(reports), sum(len(report.unchecked) for report in reports)
    return f"{len(reports)} {name}: claims held against them {held} of {held.n}, {unchecked} unchecked"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--policy", action="append", choices=PRESETS, help="may be repeated; all without it")
    parser.add_argument("--part", choices=("dev", "train", "inscit"), default="dev")
    parser.add_argument("--final", action="store_true", help="needed to open inscit, a test set")
    parser.add_argument("--limit", type=int, help="the first answers only")
    parser.add_argument("--twins", type=Path, metavar="FILE", help="falsified twins of the answers, to be flagged")
    args = parser.parse_args()
    test = args.part == "inscit"
    if test and (args.twins or not args.final):
        parser.error("inscit is for the final number and has no twins: add --final, leave out --twins")
    answers = inscit(args.data / INSCIT) if test else answerable(args.data / REFERENCE, args.part)
    groups = {"faithful answers": list(answers)[: args.limit]}
    if args.twins:
        groups["falsified twins"] = list(falsified_twins(args.data / REFERENCE, args.twins, args.part))[: args.limit]
    began = time.monotonic()
    with Guard.from_settings(policy="monitor", store="memory", retrieve=False) as guard:
        info, risk = guard.parts.judge.info, guard.parts.turn_risk
        reports = {name: asyncio.run(judge(guard, conversations)) for name, conversations in groups.items()}
    seconds = time.monotonic() - began
    print(f"{'INSCIT' if test else f'MTRAG-UN, {args.part}'}, {info.name} {info.version}; {seconds:.0f} s\n")
    print("\n".join(table(reports, policies(risk), args.policy)))


def table(
    found: Mapping[str, Sequence[TurnReport]], known: Mapping[str, LabelPolicy], chosen: Sequence[str] | None = None
) -> Iterator[str]:
    """Lines for people: actions of each policy by kind of turn, claims held against them, and how well the risk ranks them."""
    yield from HEADER
    for name, reports in found.items():
        yield from lines(name, reports, {key: known[key] for key in chosen or known})
    yield ""
    yield from (objections_text(name, reports) for name, reports in found.items())
    if len(found) == 2:
        yield f"AUC of the turn's risk, {' against '.join(found)}: {risk_auc(*found.values()):.3f}"


if __name__ == "__main__":
    main()
