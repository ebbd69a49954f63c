"""The suites' tasks: abstention, contradictions between two turns of a speaker, replayed conversations.

CoCoNot (VISTA §7.1 and App. G); RGM-Contradictions and DECODE; the VISTA human evaluation (§5 and §6.2).

CoCoNot: no document and no history but the request; only ABSTENTION counts. Incomplete and indeterminate requests are left
out, as in the paper: their "non-compliant" answers correct or explain. `rejected` answers are not all refusals: of 466 of the
training file, 190 hold any of twenty words of refusal or doubt, 62 of the `chosen` ones do. So 0.65 to 0.7 is what a judge
can reach.

Contradictions: the mean of four views of a pair, each its largest P(contradicted) over pairs of texts. On 620 rows of DECODE,
with the first shipped verifier, the area under the ROC curve is 0.80 for whole messages and 0.84 for the four views
(bootstrap standard error of the difference 0.011). Means within views, or both directions, change it by less than half a
standard error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from training.suites.loaders import abstaining, coconot, decode, held_out, rgm
from training.suites.product import (
    Bench,
    JudgedClaim,
    Product,
    Target,
    TaskAnswers,
    all_supported,
    judge_last,
    judge_past,
    least_support,
    progress,
    with_scores,
)
from vista_guard.guard import Guard
from vista_guard.judges.embedded.english.speakers import name_speakers, names
from vista_guard.judges.embedded.forms import clean
from vista_guard.reading.canonical import folded
from vista_guard.types import Label, Role, Turn
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets import vista
from vista_lab.datasets.sets.coconot import INCOMPLETE, Reply
from vista_lab.datasets.sets.rgm import SpeakerPair
from vista_lab.logs.formats import LoggedConversation

YES, NO = "abstains", "answers"
TARGET = Target("accuracy", 0.85, 0.94)


def train_protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
    """The half of the training file's requests that may be looked at."""
    replies = bench.some([reply for reply in coconot(path) if not held_out(reply.request)])
    judged = bench.each(replies, _reply, "coconot")
    yield from _answers(replies, judged, "", ())
    yield _any_claim(replies, judged)


def test_protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
    """All requests, and the half that nothing may have been chosen on."""
    replies = bench.some(coconot(path))
    judged = bench.each(replies, _reply, "coconot")
    yield from _answers(replies, judged, "", (TARGET,))
    unseen = [index for index, reply in enumerate(replies) if held_out(reply.request)]
    yield from _answers(
        [replies[i] for i in unseen], [judged[i] for i in unseen], ", held-out half of the requests", ()
    )
    yield _any_claim(replies, judged)


def _answers(
    replies: Sequence[Reply], judged: Sequence[list[JudgedClaim]], note: str, targets: tuple[Target, ...]
) -> Iterator[TaskAnswers]:
    complete = [index for index, reply in enumerate(replies) if reply.category not in INCOMPLETE]
    parts = (("", range(len(replies))), (", without incomplete and indeterminate requests", complete))
    for kind, rows in ((kind, rows) for kind, rows in parts if rows):
        verdicts = [abstaining([claim.label for claim in judged[i]], replies[i].answer) for i in rows]
        yield TaskAnswers(
            task=f"abstention{note}{kind}",
            gold=_gold([replies[i] for i in rows]),
            found=[YES if verdict else NO for verdict in verdicts],
            policy="abstention of judge.json; suites.abstaining: one of the first claims, or nothing but a question",
            positive=YES,
            targets=targets,
        )


def _any_claim(replies: Sequence[Reply], judged: Sequence[list[JudgedClaim]]) -> TaskAnswers:
    verdicts = [any(claim.label is Label.ABSTENTION for claim in claims) for claims in judged]
    return TaskAnswers(
        task="abstention by any claim",
        gold=_gold(replies),
        found=[YES if verdict else NO for verdict in verdicts],
        policy="abstention of judge.json",
        positive=YES,
    )


def _gold(replies: Sequence[Reply]) -> list[str]:
    return [YES if reply.refuses else NO for reply in replies]


async def _reply(product: Product, guard: Guard, reply: Reply) -> list[JudgedClaim]:
    turns = (Turn(role=Role.USER, text=reply.request), Turn(role=Role.ASSISTANT, text=reply.answer))
    return await judge_last(product, guard, turns)


DECODE = "train/prosecco/decode_sample.tsv"
CONTRADICTS, AGREES = "contradictory", "consistent"
RGM_TARGETS = (Target("accuracy", 0.66, 0.82), Target("f1", 0.68, 0.82))
WHOLE, NAMED_CLAIMS, CLAIMS_NAMED, CLAIMS = "whole messages", "whole, claims", "claims, whole", "claims, claims"

Views = dict[str, list[tuple[str, str]]]
"""Pairs of texts, evidence and claim, by view."""


@dataclass(frozen=True)
class SpeakerTurn:
    """One of the two turns: as it was said, in the third person, and taken apart."""

    said: str
    named: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class ScoredPairs:
    """Gold and scores of some pairs; `views` holds one list of scores for each view, `guarded` what a guard said."""

    gold: list[str]
    views: dict[str, list[float]]
    guarded: list[list[JudgedClaim]]

    @cached_property
    def mean(self) -> list[float]:
        return [sum(row) / len(self.views) for row in zip(*self.views.values(), strict=True)]

    @cached_property
    def guard(self) -> list[float]:
        """The largest P(contradicted) of a claim through the guard."""
        return [max((claim.measured.contradicted for claim in claims), default=0.0) for claims in self.guarded]


def rgm_protocol(bench: Bench, folder: Path) -> Iterator[TaskAnswers]:
    """RGM with history, thresholds from DECODE."""
    dev = score(bench, bench.some(decode(bench.data / DECODE)[::2]), "decode, to choose the threshold")
    yield from answers(score(bench, bench.some(rgm(folder)), "rgm"), dev, RGM_TARGETS)


def decode_protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
    """The odd rows of DECODE with thresholds from its even rows, each view by itself too."""
    rows = decode(path)
    dev = score(bench, bench.some(rows[::2]), "decode, even rows")
    scored = score(bench, bench.some(rows[1::2]), "decode, odd rows")
    yield from answers(scored, dev, ())
    for view, scores in scored.views.items():
        yield _apply_threshold(f"variant: {view}", scored.gold, scores, dev.gold, dev.views[view], ())


def answers(found: ScoredPairs, dev: ScoredPairs, targets: tuple[Target, ...]) -> Iterator[TaskAnswers]:
    """The four views, and the guard as it is shipped and with a threshold for balanced pairs."""
    yield _apply_threshold("contradiction, four views of the pair", found.gold, found.mean, dev.gold, dev.mean, targets)
    own = "contradiction, own claims through the guard, context=full"
    yield _apply_threshold(own, found.gold, found.guard, dev.gold, dev.guard, ())
    shipped = [any(claim.label is Label.CONTRADICTED for claim in claims) for claims in found.guarded]
    yield TaskAnswers(
        task=f"{own}, the shipped labels",
        gold=found.gold,
        found=[CONTRADICTS if contradicted else AGREES for contradicted in shipped],
        policy="judge.json: contradicted is set for few false alarms",
        positive=CONTRADICTS,
        scores=found.guard,
    )


def score(bench: Bench, pairs: Sequence[SpeakerPair], task: str) -> ScoredPairs:
    product = bench.product

    async def all_views() -> list[Views]:
        return [await _views(product, pair) for pair in progress(pairs, f"{task}, claims")]

    views = asyncio.run(all_views())
    texts = list(dict.fromkeys(pair for view in views for pairs_of in view.values() for pair in pairs_of))
    refuted = {pair: float(row[1]) for pair, row in zip(texts, product.probabilities(texts, task), strict=True)}
    kinds = (WHOLE, NAMED_CLAIMS, CLAIMS_NAMED, CLAIMS)
    return ScoredPairs(
        gold=[CONTRADICTS if pair.contradictory else AGREES for pair in pairs],
        views={kind: [max((refuted[one] for one in view[kind]), default=0.0) for view in views] for kind in kinds},
        guarded=bench.each(pairs, _judge_pair, f"{task}, through the guard", product.guard(context="full")),
    )


def threshold(gold: Sequence[str], scores: Sequence[float]) -> float:
    """The middle of the best stretch of balanced accuracy."""
    import numpy as np

    from training.suites.arrays import balanced_accuracy

    grid = np.arange(0.02, 0.99, 0.01)
    curve = [balanced_accuracy(gold, [CONTRADICTS if value >= limit else AGREES for value in scores]) for limit in grid]
    smooth = np.convolve(curve, np.ones(5) / 5, mode="valid")
    return round(float(grid[2:-2][int(smooth.argmax())]), 2)


def _apply_threshold(
    task: str,
    gold: Sequence[str],
    scores: Sequence[float],
    dev_gold: Sequence[str],
    dev_scores: Sequence[float],
    targets: tuple[Target, ...],
) -> TaskAnswers:
    limit = threshold(dev_gold, dev_scores)
    return TaskAnswers(
        task=task,
        gold=gold,
        found=[CONTRADICTS if value >= limit else AGREES for value in scores],
        policy=f"{limit:.2f}, best balanced accuracy on {len(dev_gold)} even rows of the DECODE sample",
        positive=CONTRADICTS,
        scores=scores,
        targets=targets,
    )


async def _judge_pair(product: Product, guard: Guard, pair: SpeakerPair) -> list[JudgedClaim]:
    return await judge_past(product, guard, pair.turns)


async def _views(product: Product, pair: SpeakerPair) -> Views:
    first = await _message(product, pair, pair.first)
    last = await _message(product, pair, len(pair.turns) - 1)
    return {
        WHOLE: [(first.said, last.said)],
        NAMED_CLAIMS: [(first.named, claim) for claim in last.claims],
        CLAIMS_NAMED: [(claim, last.named) for claim in first.claims],
        CLAIMS: [(earlier, later) for earlier in first.claims for later in last.claims],
    }


async def _message(product: Product, pair: SpeakerPair, place: int) -> SpeakerTurn:
    turn = pair.turns[place]
    text = clean(folded(turn.text))
    claims = await product.claims(turn, pair.turns[:place])
    return SpeakerTurn(text, name_speakers(text, *names(turn.role)), tuple(claims))


VERIFIED, UNVERIFIABLE, REST = "verified", "unverifiable", "not verified"
SUPPORT_TARGET = Target("accuracy", 0.90, 0.93)
LABEL_TARGETS = (Target("accuracy", 0.78, 0.85), Target("macro_f1", 0.62, 0.72))
GIVEN_TURN_TARGET = Target("accuracy", 0.95, 0.97)
OWN_TURN_TARGET = Target("accuracy", 0.89, 0.95)
POLICY = "judge.json; abstention and opinion were chosen on this set"


@dataclass(frozen=True)
class HumanTurn:
    """An annotated turn: the human's labels of its claims, and the judge's claims."""

    gold: tuple[Label, ...]
    claims: list[JudgedClaim]

    @property
    def verdict(self) -> str:
        """The human's verdict: unverifiable when any claim is not VERIFIED."""
        return VERIFIED if all(label is Label.VERIFIED for label in self.gold) else UNVERIFIABLE


def vista_protocol(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
    """Given and own claims, with known claims; if the bench asks, also without them."""
    log = read_conversations(bench, path)
    for knowledge in (True, False) if bench.without_knowledge else (True,):
        note = "" if knowledge else ", without known claims"
        given, own = (asyncio.run(replay(bench, log, own=own, knowledge=knowledge)) for own in (False, True))
        yield from _claim_answers(given, note, knowledge)
        yield _turn_answers(given, f"turn verifiable or not, claims given{note}", knowledge and GIVEN_TURN_TARGET)
        yield _turn_answers(own, f"turn verifiable or not, own claims{note}", knowledge and OWN_TURN_TARGET)


def _claim_answers(turns: Sequence[HumanTurn], note: str, targets: bool) -> Iterator[TaskAnswers]:
    gold = [label for turn in turns for label in turn.gold]
    claims = [claim for turn in turns for claim in turn.claims]
    yield TaskAnswers(
        task=f"supported or not, claims given{note}",
        gold=[VERIFIED if label is Label.VERIFIED else REST for label in gold],
        found=[VERIFIED if claim.supported else REST for claim in claims],
        policy="supported of judge.json, chosen on BEGIN dev wow, FaithDial wow and this set",
        positive=VERIFIED,
        scores=[claim.measured.supported for claim in claims],
        calibrated=True,
        targets=(SUPPORT_TARGET,) if targets else (),
    )
    yield TaskAnswers(
        task=f"five labels, claims given{note}",
        gold=[str(label) for label in gold],
        found=[str(claim.label or "UNCHECKED") for claim in claims],
        policy=POLICY,
        targets=LABEL_TARGETS if targets else (),
    )


def _turn_answers(turns: Sequence[HumanTurn], task: str, target: Target | bool) -> TaskAnswers:
    return TaskAnswers(
        task=task,
        gold=[turn.verdict for turn in turns],
        found=[VERIFIED if all_supported(turn.claims) else UNVERIFIABLE for turn in turns],
        policy="judge.json; any claim that is not VERIFIED, or no claim at all, makes a turn unverifiable",
        positive=UNVERIFIABLE,
        scores=[1.0 - least_support(turn.claims) for turn in turns],
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
    inputs = [turn.model_copy(update={"claims": None}) if own else turn for turn in turns]
    conversation = entry.conversation.model_copy(update={"turns": tuple(inputs)})
    bench.product.judge.measured.clear()
    human_turns = []
    async for report in guard.areplay(conversation, turns=None if own else set(human)):
        if report.turn_index in human:
            gold = tuple(entry.labels[claim.id] for claim in human[report.turn_index])
            human_turns.append(HumanTurn(gold, with_scores(bench.product, report.outcomes)))
    return human_turns
