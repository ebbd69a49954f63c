"""Verifiers side by side on development files: ``python -m training.compare a/verifier.onnx b/final.pt``.

One table: a row a figure, a column a verifier. Files joined by a comma are judged by their mean probability. Everything
pair-wise, P(supported) the largest over the stretches that a claim is read against, supported from 0.5 on.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from training.comparison import labelled, sets
from training.comparison.scorers import Scorer, mean_scorer, scorer
from training.comparison.sets import THREE, Item
from training.data import data_argument
from training.suites import arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

Figures = dict[str, float]


@dataclass(frozen=True)
class Scored:
    """An item with the probabilities of its pieces; without a piece nothing supports it."""

    item: Item
    rows: NDArray[np.float32]

    @property
    def support(self) -> float:
        return float(self.rows[:, 0].max()) if len(self.rows) else 0.0

    @property
    def right(self) -> bool:
        return (self.support >= 0.5) == self.item.supported

    @property
    def label(self) -> str:
        return THREE[int(self.rows.max(0).argmax())]


def scored(items: Sequence[Item], score: Scorer) -> list[Scored]:
    """All items in one go."""
    rows = score([(piece, item.claim) for item in items for piece in item.pieces])
    ends = np.cumsum([len(item.pieces) for item in items])
    return [Scored(item, rows[end - len(item.pieces) : end]) for item, end in zip(items, ends, strict=True)]


def share(rights: Sequence[bool]) -> float:
    """Percentage."""
    return 100 * float(np.mean(rights)) if rights else float("nan")


def support_figures(name: str, found: Sequence[Scored]) -> Iterator[tuple[str, float]]:
    """Supported or not: accuracy, and the area under the curve."""
    yield f"{name}: supported or not", share([one.right for one in found])
    yield f"{name}: AUC", 100 * arrays.auc([one.item.supported for one in found], [one.support for one in found])


def three_way(name: str, found: Sequence[Scored]) -> Iterator[tuple[str, float]]:
    """The likeliest of three labels."""
    yield f"{name}: three labels", share([one.label == one.item.gold for one in found])


def pair_figures(name: str, found: Sequence[Scored], by_kind: bool = True) -> Iterator[tuple[str, float]]:
    """Supported or not, true ones found, false ones let through, both members, the order of the two; then by kind."""
    pairs: dict[str, list[Scored]] = defaultdict(list)
    for one in found:
        pairs[one.item.group].append(one)
    yield f"{name}: supported or not", share([one.right for one in found])
    yield f"{name}: true ones supported", share([one.right for one in found if one.item.supported])
    yield f"{name}: false ones supported", share([not one.right for one in found if not one.item.supported])
    yield f"{name}: pairs right", share([all(one.right for one in pair) for pair in pairs.values()])
    yield f"{name}: pairs in order", share([in_order(pair) for pair in pairs.values() if mixed(pair)])
    yield f"{name}: AUC", 100 * arrays.auc([one.item.supported for one in found], [one.support for one in found])
    against = [one for one in found if one.item.gold == THREE[1]]
    yield f"{name}: false ones contradicted", share([one.label == THREE[1] for one in against])
    for kind in sorted({one.item.kind for one in found}) if by_kind else ():
        chosen = [pair for pair in pairs.values() if pair[0].item.kind == kind]
        yield f"{name}, {kind} ({len(chosen)}): right", share([one.right for pair in chosen for one in pair])
        yield f"{name}, {kind} ({len(chosen)}): pairs in order", share([in_order(p) for p in chosen if mixed(p)])


def mixed(pair: Sequence[Scored]) -> bool:
    """Whether there is a supported and an unsupported member."""
    return len({one.item.supported for one in pair}) == 2


def in_order(pair: Sequence[Scored]) -> bool:
    """Whether every true member has more support than every false one."""
    good = [one.support for one in pair if one.item.supported]
    bad = [one.support for one in pair if not one.item.supported]
    return bool(good and bad) and min(good) > max(bad)


def twin_figures(name: str, found: Sequence[Scored]) -> Iterator[tuple[str, float]]:
    """Both members of a twin, order, AUC and three labels, not by kind."""
    yield from pair_figures(name, found, by_kind=False)
    yield from three_way(name, found)


def mixed_figures(name: str, found: Sequence[Scored]) -> Iterator[tuple[str, float]]:
    """Supported or not, AUC, three labels."""
    yield from support_figures(name, found)
    yield from three_way(name, found)


def summary_figures(name: str, found: Sequence[Scored]) -> Iterator[tuple[str, float]]:
    """SummEdits: whole summaries by their weakest and by their mean sentence; balanced accuracy, thresholds crossed."""
    for how, fold in (("weakest", np.min), ("mean", np.mean)):
        summaries: dict[tuple[str, str], list[Scored]] = defaultdict(list)
        for one in found:
            summaries[one.item.kind, one.item.group].append(one)
        table = {
            key: (rows[0].item.supported, float(fold([r.support for r in rows]))) for key, rows in summaries.items()
        }
        domains = {kind: [cell for (k, _), cell in table.items() if k == kind] for kind, _ in table}
        yield f"{name}, {how} sentence: AUC", 100 * float(np.mean([auc_of(rows) for rows in domains.values()]))
        yield f"{name}, {how} sentence: balanced accuracy", 100 * crossed(list(domains.values()))


def auc_of(rows: Sequence[tuple[bool, float]]) -> float:
    """Of gold and score."""
    return arrays.auc([gold for gold, _ in rows], [score for _, score in rows])


def crossed(domains: Sequence[Sequence[tuple[bool, float]]]) -> float:
    """Mean balanced accuracy; each domain's threshold is the best of the others."""
    results = []
    for place, rows in enumerate(domains):
        others = [row for other, more in enumerate(domains) if other != place for row in more]
        limits = sorted({score for _, score in others})
        best = max(limits, key=lambda limit: balanced(others, limit))
        results.append(balanced(rows, best))
    return float(np.mean(results))


def balanced(rows: Sequence[tuple[bool, float]], limit: float) -> float:
    """Balanced accuracy at a threshold."""
    recalls = [np.mean([(score >= limit) == gold for gold, score in rows if gold == side]) for side in (True, False)]
    return float(np.mean(recalls))


Measure = tuple[Callable[[], list[Item]], Callable[[str, Sequence[Scored]], Iterator[tuple[str, float]]]]


def measures(data: Path, challenge: Path | None, worlds: int) -> dict[str, Measure]:
    """Every set and what is said of it."""
    from vista_guard.stores.entries import OnnxEmbedder

    embedder = OnnxEmbedder()
    table: dict[str, Measure] = {
        "worlds": (lambda: sets.worlds(worlds), pair_figures),
        "BEGIN dev wow": (lambda: sets.begin(data), support_figures),
        "FEVER dev": (lambda: sets.fever(data), three_way),
        "VISTA dev": (lambda: sets.vista(data, embedder), support_figures),
        "DNLI dev": (lambda: sets.dnli(data), three_way),
        "RTE negated": (lambda: sets.rte(data), support_figures),
        "MED": (lambda: sets.med(data), support_figures),
        "SummEdits": (
            lambda: [item for domain in ("podcast", "ectsum") for item in sets.summedits(data, domain)],
            summary_figures,
        ),
    }
    table["written dev"] = (partial(labelled.development, data, "written"), twin_figures)
    table["MTRAG-UN dev"] = (partial(labelled.mtrag, data), support_figures)
    for name in ("condaqa", "infotabs", "cad", "students", "vitaminc"):
        table[f"{name} dev"] = (partial(labelled.development, data, name), mixed_figures)
    for name in ("paws", "defacto", "realsumm"):
        table[f"{name} dev"] = (partial(labelled.development, data, name), support_figures)
    if challenge and any(challenge.glob("*.jsonl")):
        for reading in ("gold", "sentences", "windows"):
            figures = partial(pair_figures, by_kind=reading != "sentences")
            table[f"challenge, {reading}"] = (partial(sets.challenge, challenge, embedder, reading), figures)
    return table


def measured(table: dict[str, Measure], score: Scorer, known: dict[str, list[Item]]) -> Figures:
    """All figures of one verifier; the sets are read once for all."""
    figures: Figures = {}
    for name, (read, figure) in table.items():
        began = time.monotonic()
        if name not in known:
            known[name] = read()
        figures |= dict(figure(name, scored(known[name], score)))
        print(f"{name}: {len(known[name])} items, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return figures


def markdown(columns: dict[str, Figures]) -> str:
    """The table; a figure that a verifier lacks stays empty."""
    names = list(dict.fromkeys(name for figures in columns.values() for name in figures))
    lines = [f"| figure | {' | '.join(columns)} |", "|---|" + "---:|" * len(columns)]
    for name in names:
        cells = (f"{figures[name]:.1f}" if name in figures else "" for figures in columns.values())
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data_argument(parser)
    parser.add_argument(
        "verifiers", nargs="+", help="checkpoints, exported files, or A.pt,B.pt; NAME=FILE names a column"
    )
    parser.add_argument("--challenge", type=Path, help="folder with the development half of the challenge")
    parser.add_argument("--worlds", type=int, default=3000, help="pairs of small worlds")
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names of sets")
    parser.add_argument("--keep", type=Path, help="JSON file: columns that it has are not measured again")
    args = parser.parse_args()
    table = measures(args.data, args.challenge, args.worlds)
    table = {
        n: m for n, m in table.items() if not args.only or n.lower().startswith(tuple(o.lower() for o in args.only))
    }
    columns: dict[str, Figures] = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    known: dict[str, list[Item]] = {}
    for verifier in args.verifiers:
        name, _, files = verifier.rpartition("=")
        paths = [Path(part) for part in files.split(",")]
        score = scorer(paths[0]) if len(paths) == 1 else mean_scorer(paths)
        columns[name or files] = columns.get(name or files, {}) | measured(table, score, known)
        if args.keep:
            args.keep.write_text(json.dumps(columns, indent=1) + "\n")
    print(markdown(columns))


if __name__ == "__main__":
    main()
