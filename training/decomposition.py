"""Score claims against those that people made: ``python -m training.decomposition --data DIR [--decomposer NAME]``.

Takes the turns of a data set that bring claims of people: the development half of the VISTA human evaluation, or FActScore's
(``--dataset factscore-chatgpt-a1-validation``). Prints a markdown table and, with ``--show``, the turns whose claims lie
furthest from the human ones. With ``--cost N`` the embedded judge judges turns instead, and the table tells what that takes.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import process_time

import numpy as np
from numpy.typing import NDArray

from training.data import data_argument
from vista_guard.judges.decomposers.named import build_decomposer
from vista_guard.judges.embedded.models import Calibration, ShippedVerifier
from vista_guard.protocols import Decomposer
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Role, Turn
from vista_lab.datasets.files import whole
from vista_lab.datasets.opening import open_dataset
from vista_lab.datasets.registry import find
from vista_lab.logs.source import LoggedConversation
from vista_lab.metrics.claim_sets import DecompositionScore, easiness, score
from vista_lab.systems.catalogue import make_system

DEV = "vista-human-dev"


@dataclass(frozen=True)
class Case:
    """An annotated turn: its text and the one before, the decomposer's claims and the human's."""

    before: str
    text: str
    predicted: tuple[str, ...]
    reference: tuple[str, ...]


def cases(entries: Sequence[LoggedConversation], decomposer: Decomposer) -> Iterator[Case]:
    """The annotated assistant turns, each decomposed with the turns before it as history."""
    for entry in entries:
        turns = entry.conversation.turns
        for index, turn in enumerate(turns):
            if turn.role is Role.ASSISTANT and turn.claims is not None:
                bare = turn.model_copy(update={"claims": None})
                predicted = asyncio.run(_claims(decomposer, bare, turns[:index]))
                reference = tuple(claim.text for claim in turn.claims)
                yield Case(turns[index - 1].text if index else "", turn.text, predicted, reference)


async def _claims(decomposer: Decomposer, turn: Turn, history: Sequence[Turn]) -> tuple[str, ...]:
    return tuple(claim.text for claim in await decomposer.decompose(turn, history))


class CountingVerifier:
    """Implements `Verifier`: the shipped one, its pairs and calls counted."""

    name = "counting"

    def __init__(self) -> None:
        self._verifier = ShippedVerifier.load(Calibration.load())
        self.calls = self.pairs = 0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        self.calls, self.pairs = self.calls + 1, self.pairs + len(pairs)
        return np.asarray(self._verifier.probabilities(pairs), np.float32)


async def cost(entries: Sequence[LoggedConversation], name: str) -> Iterator[str]:
    """Markdown lines: claims, verifier calls, pairs and milliseconds of a core a turn, each turn judged by itself."""
    verifier = CountingVerifier()
    system = make_system("vista", verifier=verifier, decomposer=name)
    claims, turns, times = 0, 0, list[float]()
    for entry in [entries[0], *entries]:  # the first one loads the models
        bare = [turn.model_copy(update={"claims": None}) for turn in entry.conversation.turns]
        last = max(index for index, turn in enumerate(bare) if turn.role is Role.ASSISTANT)
        conversation = entry.conversation.model_copy(update={"turns": tuple(bare)})
        began = process_time()
        reports = [one async for one in system.judge(replace(entry, conversation=conversation), [last], [])]
        times.append(1000 * (process_time() - began))
        if turns == 0:
            verifier.calls = verifier.pairs = claims = 0
        else:
            claims += sum(len(report.outcomes) for report in reports)
        turns += 1
        await system.forget(str(entry.conversation.id))
    await system.aclose()
    n = turns - 1
    found = f"{claims / n:.2f} | {verifier.calls / n:.2f} | {verifier.pairs / n:.1f} | {np.median(times[1:]):.0f}"
    return iter(
        [
            "| decomposer | turns | claims | verifier calls | pairs | ms of a core, median |",
            "|---|---:|---:|---:|---:|---:|",
            f"| {name} | {n} | {found} |",
        ]
    )


def table(total: DecompositionScore) -> Iterator[str]:
    """Markdown lines."""
    yield "| mean over | n | easiness precision | recall | F1 | claims a turn, predicted | human |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    per_turn = f"{total.predicted_per_turn:.2f} | {total.reference_per_turn:.2f}"
    claims = round(total.predicted_per_turn * total.turns)
    for name, count, found in (("claims", claims, total.micro), ("turns", total.turns, total.macro)):
        yield f"| {name} | {count} | {found.precision:.3f} | {found.recall:.3f} | {found.f1:.3f} | {per_turn} |"


def worst(found: list[Case], count: int) -> Iterator[str]:
    """Turns with the lowest F1, lowest first."""
    ranked = sorted((easiness(case.predicted, case.reference).f1, number) for number, case in enumerate(found))
    for f1, number in ranked[:count]:
        case = found[number]
        yield f"\nturn {number}, F1 {f1:.2f}, after: {case.before}\n  {case.text}"
        yield from (f"    human: {claim}" for claim in case.reference)
        yield from (f"    judge: {claim}" for claim in case.predicted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the N worst turns")
    parser.add_argument("--decomposer", default="shipped", metavar="NAME", help="whose claims (default: %(default)s)")
    parser.add_argument("--dataset", default=DEV, metavar="NAME", help="with claims of people (default: %(default)s)")
    parser.add_argument("--cost", type=int, default=0, metavar="N", help="judge the first N conversations instead")
    args = parser.parse_args()
    entries = list(whole(open_dataset(find(args.dataset), args.data).entries()))
    if args.cost:
        print(*asyncio.run(cost(list(islice(entries, args.cost)), args.decomposer)), sep="\n")
        return
    decomposer = build_decomposer(args.decomposer, OnnxEmbedder())
    found = list(cases(entries, decomposer)) if decomposer else []
    total = score((case.predicted, case.reference) for case in found)
    if total is None:
        parser.error(f"{args.dataset} has no annotated turn")
    print(*table(total), *worst(found, args.show), sep="\n")


if __name__ == "__main__":
    main()
