"""False alarms: reference answers that people wrote from passages (MTRAG-UN), through the guard; none of them should be held up.

    python -m vista_guard.evaluation.suites.faithful --data FOLDER [--policy balanced] [--part dev]

Answers of conversations whose id ends in 0 to 4 are for development, the others for training.
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

from vista_guard.guard import Guard
from vista_guard.types import Action, Conversation, Document, Finding, Label, Role, Turn, TurnReport

REFERENCE = Path("train") / "mtragun" / "reference.jsonl.gz"
HELD_AGAINST = (Label.CONTRADICTED, Label.LACKING_EVIDENCE)
_SPEAKERS = {"user": Role.USER, "agent": Role.ASSISTANT}


@dataclass(frozen=True)
class FalseAlarms:
    """What happened to answers that are faithful. Shares are in [0, 1]."""

    answers: int
    claims: int
    held_against: int
    unchecked: int
    actions: Counter[Action]

    @classmethod
    def count(cls, reports: Sequence[TurnReport]) -> FalseAlarms:
        """Adds up reports on faithful answers."""
        findings = [outcome for report in reports for outcome in report.outcomes if isinstance(outcome, Finding)]
        return cls(
            answers=len(reports),
            claims=len(findings),
            held_against=sum(finding.label in HELD_AGAINST for finding in findings),
            unchecked=sum(len(report.unchecked) for report in reports),
            actions=Counter(report.decision.action for report in reports),
        )

    def __str__(self) -> str:
        share = self.held_against / max(1, self.claims)
        actions = ", ".join(f"{action} {self.actions[action] / max(1, self.answers):.1%}" for action in Action)
        return (
            f"{self.answers} faithful answers: {actions}; claims held against them {share:.1%} of {self.claims}, "
            f"{self.unchecked} unchecked"
        )


def answerable(path: Path, part: str = "dev") -> Iterator[Conversation]:
    """Conversations that end with an answer which its passages carry."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row["answerability"] == ["ANSWERABLE"] and row["contexts"] and is_development(row) == (part == "dev"):
                yield conversation_of(row)


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
    args = parser.parse_args()
    conversations = list(answerable(args.data / REFERENCE, args.part))[: args.limit]
    with Guard.from_settings(policy=args.policy, store="memory") as guard:
        reports = asyncio.run(judge(guard, conversations))
    print(f"policy {args.policy}, {args.part}: {FalseAlarms.count(reports)}", file=sys.stdout)


if __name__ == "__main__":
    main()
