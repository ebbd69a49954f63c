"""Replayed conversations: the VISTA human evaluation (VISTA §5 and §6.2), claims given and own claims.

As in `vista-guard replay`, with claims given only turns that carry claims are judged and establish something; else every turn of
the assistant does. `--ablate knowledge` repeats the tasks with nothing established.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.evaluation.datasets import LoggedConversation
from vista_guard.evaluation.datasets.published.files import whole
from vista_guard.evaluation.datasets.published.sets import vista
from vista_guard.evaluation.suites.answers import Answers, Target
from vista_guard.evaluation.suites.bench import Bench
from vista_guard.evaluation.suites.judged import Judged, all_supported, judged, weakest
from vista_guard.evaluation.suites.product import progress
from vista_guard.guard import Guard
from vista_guard.types import Label

VERIFIED, UNVERIFIABLE, REST = "verified", "unverifiable", "not verified"
SUPPORT_TARGET = Target("accuracy", 0.90, 0.93)
LABEL_TARGETS = (Target("accuracy", 0.78, 0.85), Target("macro_f1", 0.62, 0.72))
GIVEN_TURN_TARGET = Target("accuracy", 0.95, 0.97)
OWN_TURN_TARGET = Target("accuracy", 0.89, 0.95)
POLICY = "judge.json; abstention and opinion were chosen on this set"


@dataclass(frozen=True)
class HumanTurn:
    """An annotated turn: the human's labels of its claims, and what the judge made of the turn."""

    gold: tuple[Label, ...]
    claims: list[Judged]

    @property
    def verdict(self) -> str:
        """Of the human: a turn is unverifiable when any claim is not VERIFIED."""
        return VERIFIED if all(label is Label.VERIFIED for label in self.gold) else UNVERIFIABLE


def vista_protocol(bench: Bench, path: Path) -> Iterator[Answers]:
    """Claims given and own claims, with what is known; each without, when asked for."""
    log = read_conversations(bench, path)
    for knowledge in (True, False) if bench.without_knowledge else (True,):
        note = "" if knowledge else ", without known claims"
        given, own = (asyncio.run(replay(bench, log, own=own, knowledge=knowledge)) for own in (False, True))
        yield from _claim_answers(given, note, knowledge)
        yield _turn_answers(given, f"turn verifiable or not, claims given{note}", knowledge and GIVEN_TURN_TARGET)
        yield _turn_answers(own, f"turn verifiable or not, own claims{note}", knowledge and OWN_TURN_TARGET)


def _claim_answers(turns: Sequence[HumanTurn], note: str, targets: bool) -> Iterator[Answers]:
    gold = [label for turn in turns for label in turn.gold]
    claims = [claim for turn in turns for claim in turn.claims]
    yield Answers(
        task=f"supported or not, claims given{note}",
        gold=[VERIFIED if label is Label.VERIFIED else REST for label in gold],
        found=[VERIFIED if claim.supported else REST for claim in claims],
        policy="supported of judge.json, chosen on BEGIN dev wow, FaithDial wow and this set",
        positive=VERIFIED,
        scores=[claim.measured.supported for claim in claims],
        calibrated=True,
        targets=(SUPPORT_TARGET,) if targets else (),
    )
    yield Answers(
        task=f"five labels, claims given{note}",
        gold=[str(label) for label in gold],
        found=[str(claim.label or "UNCHECKED") for claim in claims],
        policy=POLICY,
        targets=LABEL_TARGETS if targets else (),
    )


def _turn_answers(turns: Sequence[HumanTurn], task: str, target: Target | bool) -> Answers:
    return Answers(
        task=task,
        gold=[turn.verdict for turn in turns],
        found=[VERIFIED if all_supported(turn.claims) else UNVERIFIABLE for turn in turns],
        policy="judge.json; any claim that is not VERIFIED, or no claim at all, makes a turn unverifiable",
        positive=UNVERIFIABLE,
        scores=[1.0 - weakest(turn.claims) for turn in turns],
        targets=(target,) if isinstance(target, Target) else (),
    )


def read_conversations(bench: Bench, path: Path) -> list[LoggedConversation]:
    """The file's conversations, as many as the bench takes."""
    return bench.some(list(whole(vista.read((path,)))))


async def replay(bench: Bench, log: Sequence[LoggedConversation], *, own: bool, knowledge: bool) -> list[HumanTurn]:
    """The annotated turns of the conversations, judged with the human's claims or with the judge's own."""
    guard = bench.product.guard(knowledge=knowledge)
    task = f"vista, {'own' if own else 'given'} claims{'' if knowledge else ', no knowledge'}"
    return [turn for entry in progress(log, task) for turn in await _conversation(bench, guard, entry, own)]


async def _conversation(bench: Bench, guard: Guard, entry: LoggedConversation, own: bool) -> list[HumanTurn]:
    turns = entry.conversation.turns
    human = {index: turn.claims for index, turn in enumerate(turns) if turn.claims}
    asked = [turn.model_copy(update={"claims": None}) if own else turn for turn in turns]
    conversation = entry.conversation.model_copy(update={"turns": tuple(asked)})
    bench.product.judge.measured.clear()
    found = []
    async for report in guard.areplay(conversation, turns=None if own else set(human)):
        if report.turn_index in human:
            gold = tuple(entry.labels[claim.id] for claim in human[report.turn_index])
            found.append(HumanTurn(gold, judged(bench.product, report.outcomes)))
    return found
