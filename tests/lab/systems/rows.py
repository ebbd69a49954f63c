"""A labelled set, made here: a museum's guide says what its leaflet says, or something else."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence

from vista_guard.policy.turn_risk import SAFE
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Finding, Label, TurnReport
from vista_lab.logs.source import LoggedConversation, Task, TurnGold
from vista_lab.systems.protocol import POSITIVE, System

PLACES = ("mill", "barn", "tower", "chapel", "forge", "quay", "bridge", "school")


def museum(conversations: int, turns: int = 2, task: Task = Task.UNVERIFIABLE) -> list[LoggedConversation]:
    """Conversations of so many assistant turns each; every third turn is what the task looks for."""
    return [_conversation(number, turns, task) for number in range(conversations)]


def _conversation(number: int, turns: int, task: Task) -> LoggedConversation:
    said, gold = [], {}
    for turn in range(turns):
        place, year = f"{PLACES[turn % len(PLACES)]} {number}-{turn}", 1700 + (number * 7 + turn) % 200
        positive = (number * turns + turn) % 3 == 0
        answer = f"The {place} was built in {year}."
        if positive:
            answer += f" Its owner in {year} was {place} Ltd."
        said += [user(f"When was the {place} built?"), assistant(answer, f"The {place}: built in {year}, open daily.")]
        gold[2 * turn + 1] = TurnGold("positive" if positive else "negative", positive)
    return LoggedConversation(conversation(*said, id=f"{task}-{number}"), {}, gold=gold)


def gold_of(entries: Iterable[LoggedConversation], task: Task = Task.UNVERIFIABLE) -> dict[str, Label]:
    """What the scripted server is told of the turns."""
    return {
        entry.conversation.turns[index].text: POSITIVE[task] if gold.positive else Label.VERIFIED
        for entry in entries
        for index, gold in entry.gold.items()
    }


def run(
    system: System,
    entries: Sequence[LoggedConversation],
    done: Sequence[TurnReport] = (),
    turns: Collection[int] | None = None,
) -> list[TurnReport]:
    """All reports, several conversations at once, and the system closed."""

    async def one(entry: LoggedConversation) -> list[TurnReport]:
        own = [report for report in done if report.conversation_id == entry.conversation.id]
        wanted = list(entry.gold) if turns is None else turns
        return [report async for report in system.judge(entry, wanted, own)]

    async def all_of_them() -> list[TurnReport]:
        try:
            found = await asyncio.gather(*map(one, entries))
        finally:
            await system.aclose()
        return [report for part in found for report in part]

    return asyncio.run(all_of_them())


def found(report: TurnReport, task: Task) -> bool | None:
    """Whether the turn is said to be what the task looks for; None when nothing, or not all, was judged."""
    if not report.outcomes or report.unchecked:
        return None
    labels = {outcome.label for outcome in report.outcomes if isinstance(outcome, Finding)}
    return not labels <= SAFE if task is Task.UNVERIFIABLE else POSITIVE[task] in labels


def verdicts(reports: Sequence[TurnReport]) -> list[tuple[object, ...]]:
    """All that judging found, without ids and times."""
    return [
        (report.conversation_id, report.turn_index, report.outcomes, report.decision, report.remembered, report.judge)
        for report in reports
    ]
