"""Score a decomposer's claims against the human ones: ``python -m training.decomposition --data DIR [--decomposer NAME]``.

Reads the development half of the VISTA human evaluation, prints a markdown table and, with ``--show``, the turns whose
claims lie furthest from the human ones.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from training.data import data_argument
from vista_guard.judges.decomposers.named import build_decomposer
from vista_guard.protocols import Decomposer
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Claim, Role, Turn
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets import vista
from vista_lab.metrics.claim_sets import DecompositionScore, easiness, score

DEV = "vista-human/human_eval_dev.json"


@dataclass(frozen=True)
class Case:
    """An annotated turn: its text and the one before, the judge's claims and the human's."""

    before: str
    text: str
    predicted: tuple[str, ...]
    reference: tuple[str, ...]


def cases(path: Path, decomposer: Decomposer) -> Iterator[Case]:
    """The annotated assistant turns of the file, each decomposed with the turns before it as history."""
    for entry in whole(vista.read((path,))):
        turns = entry.conversation.turns
        for index, turn in enumerate(turns):
            if turn.role is Role.ASSISTANT and turn.claims is not None:
                predicted = asyncio.run(_claims(decomposer, turn, turns[:index]))
                yield Case(
                    turns[index - 1].text if index else "",
                    turn.text,
                    tuple(claim.text for claim in predicted),
                    tuple(claim.text for claim in turn.claims),
                )


async def _claims(decomposer: Decomposer, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
    return await decomposer.decompose(turn, history)


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
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="print the N worst turns")
    parser.add_argument("--decomposer", default="shipped", metavar="NAME", help="as in the settings")
    args = parser.parse_args()
    decomposer = build_decomposer(args.decomposer, OnnxEmbedder())
    assert decomposer is not None  # it has a name
    found = list(cases(args.data / DEV, decomposer))
    total = score((case.predicted, case.reference) for case in found)
    if total is None:
        parser.error(f"{args.data / DEV} has no annotated turn")
    print(*table(total), *worst(found, args.show), sep="\n")


if __name__ == "__main__":
    main()
