"""False alarms: reference answers that people wrote from passages (MTRAG-UN), through the guard; none of them should be held up.

    python -m vista_guard.evaluation.suites.faithful --data FOLDER [--policy balanced] [--part dev] [--twins FILE]

With a file of falsified twins, JSON lines of `task_id` and `text`, it says too how many of these are flagged, and how well the
turn's risk tells an answer from a twin (needs the extra evaluation). Answers of conversations whose id ends in 0 to 4 are for
development, the others for training.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.guard import Guard
from vista_guard.policy.turn_risk import HELD_AGAINST
from vista_guard.types import Action, Conversation, Document, Finding, Role, Turn, TurnReport

REFERENCE = Path("train") / "mtragun" / "reference.jsonl.gz"
_SPEAKERS = {"user": Role.USER, "agent": Role.ASSISTANT}


@dataclass(frozen=True)
class FalseAlarms:
    """What happened to answers that are faithful. Shares are in [0, 1]."""

    answers: int
    claims: int
    held_against: int
    unchecked: int
    actions: Counter[Action]

    what: str = "faithful answers"

    @classmethod
    def count(cls, reports: Sequence[TurnReport], what: str = "faithful answers") -> FalseAlarms:
        """Adds up reports on faithful answers, or on others, by name."""
        findings = [outcome for report in reports for outcome in report.outcomes if isinstance(outcome, Finding)]
        return cls(
            answers=len(reports),
            claims=len(findings),
            held_against=sum(finding.label in HELD_AGAINST for finding in findings),
            unchecked=sum(len(report.unchecked) for report in reports),
            actions=Counter(report.decision.action for report in reports),
            what=what,
        )

    def __str__(self) -> str:
        share = self.held_against / max(1, self.claims)
        actions = ", ".join(f"{action} {self.actions[action] / max(1, self.answers):.1%}" for action in Action)
        return (
            f"{self.answers} {self.what}: {actions}; claims held against them {share:.1%} of {self.claims}, "
            f"{self.unchecked} unchecked"
        )


def answerable(path: Path, part: str = "dev") -> Iterator[Conversation]:
    """Conversations that end with an answer which its passages carry."""
    return (conversation_of(row) for row in _answerable_rows(path, part))


def falsified(path: Path, twins: Path, part: str = "dev") -> Iterator[Conversation]:
    """The same conversations with the answers of a file of twins in place of their own; those that it lacks are left out.

    Raises:
        InputError: a line of the file is something else.
    """
    told = dict(_read_twins(twins))
    for row in _answerable_rows(path, part):
        if row["task_id"] in told:
            yield conversation_of({**row, "targets": [{"text": told[row["task_id"]]}]})


def _answerable_rows(path: Path, part: str) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["answerability"] == ["ANSWERABLE"] and row["contexts"] and is_development(row) == (part == "dev"):
                yield row


def _read_twins(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            twin = json.loads(line)
            yield str(twin["task_id"]), str(twin["text"])
        except (ValueError, KeyError, TypeError) as exc:
            raise InputError(f'{path}, line {number}: {exc}. A line is {{"task_id": …, "text": …}}') from exc


def risk_auc(faithful: Sequence[TurnReport], twins: Sequence[TurnReport]) -> float:
    """How often the turn's risk of a twin is above that of a faithful answer: area under the ROC curve, in [0, 1]."""
    from vista_guard.evaluation.metrics.arrays import auc

    return auc([False] * len(faithful) + [True] * len(twins), [report.risk or 0.0 for report in (*faithful, *twins)])


def is_development(row: Mapping[str, Any]) -> bool:
    """Whether the row's conversation is one to look at, and not one to learn from."""
    return str(row["conversation_id"])[-1] in "01234"


def conversation_of(row: Mapping[str, Any]) -> Conversation:
    """The row's last question, and its answer with the passages that it was written from."""
    documents = tuple(
        Document(id=passage["document_id"], text=passage["text"], title=passage.get("title") or None)
        for passage in {passage["document_id"]: passage for passage in row["contexts"]}.values()
    )
    # What was said before is the topic and no evidence: earlier answers come without the passages that they were written from.
    asked = [message for message in row["input"] if message["speaker"] == "user"][-1:]
    past = tuple(Turn(role=_SPEAKERS[message["speaker"]], text=message["text"]) for message in asked)
    answer = Turn(role=Role.ASSISTANT, text=row["targets"][0]["text"], documents=documents)
    return Conversation(turns=(*past, answer))


async def judge(guard: Guard, conversations: Sequence[Conversation]) -> list[TurnReport]:
    """A report on each, in order."""
    return [await guard.acheck(conversation) for conversation in conversations]


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--policy", default="balanced")
    parser.add_argument("--part", choices=("dev", "train"), default="dev")
    parser.add_argument("--limit", type=int, help="the first answers only")
    parser.add_argument("--twins", type=Path, metavar="FILE", help="falsified twins of the answers, to be flagged")
    args = parser.parse_args()
    conversations = list(answerable(args.data / REFERENCE, args.part))[: args.limit]
    with Guard.from_settings(policy=args.policy, store="memory") as guard:
        reports = asyncio.run(judge(guard, conversations))
        print(f"policy {args.policy}, {args.part}: {FalseAlarms.count(reports)}", file=sys.stdout)
        if args.twins:
            made = list(falsified(args.data / REFERENCE, args.twins, args.part))[: args.limit]
            twins = asyncio.run(judge(guard, made))
            print(FalseAlarms.count(twins, "falsified twins"), file=sys.stdout)
            print(f"AUC of the turn's risk, answers against twins: {risk_auc(reports, twins):.3f}", file=sys.stdout)


if __name__ == "__main__":
    main()
