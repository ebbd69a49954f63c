"""The challenge through a guard, as users run it."""

from __future__ import annotations

from collections.abc import Iterable

from vista_guard.evaluation.suites.challenge.items import Item
from vista_guard.evaluation.suites.challenge.results import Answer, JudgedPair
from vista_guard.guard import Guard


async def judge_items(guard: Guard, items: Iterable[Item]) -> list[JudgedPair]:
    """Every claim through the guard, each as a turn of its own."""
    judged = []
    for item in items:
        for pair in item.pairs:
            right, wrong = [
                Answer.read(member.label, await guard.acheck(item.saying(member.text)))
                for member in (pair.right, pair.wrong)
            ]
            judged.append(JudgedPair(pair.phenomenon, item.wording, right, wrong))
    return judged
