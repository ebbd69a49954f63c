"""Long texts as the careful reader is given them: ``python -m training.nearest --pairs labelled.jsonl --out near.jsonl``.

The judge gives it the piece of a text that shares most words with the claim, and the sentences nearest to the claim in meaning
(`vista_guard.judges.embedded.evidence`). A pair of a mix whose text is long becomes one with these sentences for its text; its
label stays, since what was not found must not be verified. Twins keep the same text only where both find the same sentences.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from training.mixes import Row
from vista_guard.judges.embedded.evidence import choose, pool, with_nearest
from vista_guard.judges.embedded.quantities import in_one_form
from vista_guard.protocols import Embedder
from vista_guard.reading.canonical import folded
from vista_guard.reading.passages import passages
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Document, EvidenceSet

LONG = 45
"""Words of a text from which it is read in parts."""
OF_WRITTEN, OF_OTHERS = 0.55, 0.08
"""Largest shares of the written claims, and of each other source."""


def read_of(text: str, claims: Sequence[str], embedder: Embedder) -> dict[str, str]:
    """The part of a text that the careful reader is given, by claim; claims about a cell or without a piece are left out.

    Args:
        text: a document.
        claims: folded.
        embedder: of claims and sentences.
    """
    evidence = pool(EvidenceSet(documents=passages(Document(id="text", text=text))))
    chosen = choose(claims, evidence, embedder)
    first = [next(([piece] for piece in pieces if piece.is_plain), []) for pieces in chosen]
    read = with_nearest(claims, first, chosen, evidence, embedder)
    return {claim: pieces[0].text for claim, pieces in zip(claims, read, strict=True) if pieces}


def nearest(rows: Iterable[Row], most: int, rng: random.Random) -> Iterator[Row]:
    """The rows with long texts, at most so many, in an order drawn from `rng`; a pair that is there twice is read once."""
    texts: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if len(str(row["premise"]).split()) >= LONG:
            texts[str(row["premise"])].append(row)
    embedder, taken, seen = OnnxEmbedder(), Counter[str](), set[tuple[str, str]]()
    for text in rng.sample(list(texts), len(texts)):
        source = str(texts[text][0]["source"])
        if taken.total() >= most or taken[source] >= most * (OF_WRITTEN if source == "written" else OF_OTHERS):
            continue
        told = read_of(text, list(dict.fromkeys(folded(str(row["hypothesis"])) for row in texts[text])), embedder)
        for row in texts[text]:
            claim = folded(str(row["hypothesis"]))
            if claim in told and (text, claim) not in seen:
                seen.add((text, claim))
                taken[source] += 1
                premise, hypothesis = in_one_form(told[claim], claim)
                twin = {"twin": f"near-{row['twin']}"} if row.get("twin") else {}
                yield row | {"premise": premise, "hypothesis": hypothesis} | twin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True, help="files of training.mixes")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--most", type=int, default=30000, help="pairs, about (default: %(default)s; 70 a second)")
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    rows = (json.loads(line) for path in args.pairs for line in path.read_text(encoding="utf-8").splitlines())
    with args.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in nearest(rows, args.most, random.Random(args.seed)))


if __name__ == "__main__":
    main()
