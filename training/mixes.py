"""Join the old sources with the new: ``python -m training.mixes --data DIR --mix worlds --out pairs.jsonl``.

A mix says how many pairs come from the benchmark sources of ``training.data``, from texts that people wrote and
labelled (``sources``), from small worlds and from real text under edits. Twins stay together and are never lowered alone.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from training import data as benchmarks
from training import duplicates
from training.pairs import Pair
from training.sources import catalogue, dstc9, grounded, mtragun, nli, summedits
from training.sources import written as written_claims
from vista_guard.errors import InputError

Row = dict[str, object]
_OTHERS = (name for source in (dstc9, grounded, mtragun, nli, summedits) for name in source.FILES)
FILES = tuple(sorted({*benchmarks.TRAIN_FILES, *catalogue.FILES, *_OTHERS}))
"""Every file that a mix is made from, inside the data folder."""
_LOWERED = 0.06
"""Share of the new groups that are in lower case as a whole; of the old sources a quarter is."""


@dataclass(frozen=True)
class Mix:
    """How much of what: ``old`` scales mixes of ``training.data``, the others count pairs.

    ``kinds`` multiplies the share of single kinds; kinds that it does not name count once.
    """

    old: Mapping[str, float]
    people: Mapping[str, int]
    worlds: int = 0
    rewriters: int = 0
    kinds: Mapping[str, float] | None = None


_PEOPLE = {"begin": 800, "wice": 374, "negation": 3000, "help": 3500, "dstc9": 7000, "mtragun": 2500, "summedits": 5000}
MIXES = {
    "first": Mix({"finish": 0.35}, _PEOPLE),
    "joined": Mix({"finish": 1.0}, _PEOPLE, worlds=45000, rewriters=32000),
    "wide": Mix({"finish": 0.62}, _PEOPLE, worlds=30000, rewriters=22000, kinds={"fever_minimal": 0.35}),
    "long": Mix(
        {"broad": 0.4, "finish": 0.9},
        {**_PEOPLE, "begin": 3200, "dstc9": 14000, "mtragun": 5000, "summedits": 10000},
        worlds=70000,
        rewriters=60000,
        kinds={"fever_minimal": 0.35},
    ),
    "replay": Mix(
        {"broad": 0.35, "talk": 0.6, "finish": 0.9},
        {**_PEOPLE, "begin": 4800, "dstc9": 14000, "mtragun": 5000, "summedits": 10000},
        worlds=60000,
        rewriters=55000,
        kinds={"fever_minimal": 0.35},
    ),
    # More of what fell first when other text came in: chat responses and long documents.
    "dialogue": Mix({"talk": 0.5}, {"begin": 4800, "summedits": 8000, "mtragun": 4000, "dstc9": 4000, "wice": 374}),
    # What people labelled and what was written for this project: half as much as `replay`, and trained beside it.
    "labelled": Mix(
        {},
        catalogue.SHARES,
    ),
    "late": Mix({"broad": 0.16, "finish": 0.12}, {**_PEOPLE, "begin": 1600}, worlds=16000, rewriters=12000),
}


def more_often(mix: Mix, times: Iterable[str]) -> Mix:
    """The mix with single quotas of ``people`` multiplied: ``SOURCE=N``."""
    factors = {name: float(factor) for name, _, factor in (one.partition("=") for one in times)}
    if unknown := factors.keys() - mix.people.keys():
        raise InputError(f"--times names {', '.join(sorted(unknown))}; this mix has {', '.join(sorted(mix.people))}")
    return replace(mix, people={name: round(factors.get(name, 1) * count) for name, count in mix.people.items()})


def people_pairs(
    data: Path, rng: random.Random, known: set[int], dropped: Counter[str]
) -> Mapping[str, Callable[[], Iterable[Pair]]]:
    """Readers of the sources that people wrote and labelled; ``known`` are runs of words of test texts."""

    def labelled(read: catalogue.Reader) -> Iterator[Pair]:
        return duplicates.without_test_texts(read(data, "train"), known, dropped)

    return {
        "begin": lambda: grounded.begin(data),
        "wice": lambda: grounded.wice(data),
        "negation": lambda: nli.negation(data),
        "help": lambda: nli.helped(data),
        "dstc9": lambda: dstc9.labelled(data, rng),
        "mtragun": lambda: mtragun.labelled(data, rng),
        "summedits": lambda: summedits.labelled(data),
        **{name: partial(labelled, read) for name, read in catalogue.READERS.items()},
    }


def grouped(rows: Iterable[Row]) -> list[list[Row]]:
    """Rows of twins together, in order of appearance."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for number, row in enumerate(rows):
        groups[str(row.get("twin", "")) or f"#{number}"].append(row)
    return list(groups.values())


def take(groups: Sequence[list[Row]], count: int, rng: random.Random) -> Iterator[Row]:
    """Whole groups until ``count`` rows are reached, at most three times over; now and then one in lower case."""
    taken, order = 0, [i for _ in range(3) for i in rng.sample(range(len(groups)), len(groups))]
    for place, index in enumerate(order):
        if taken >= count:
            return
        low, again = rng.random() < _LOWERED, place // max(1, len(groups))
        for row in groups[index]:
            taken += 1
            yield (lowered(row) if low else row) | ({"twin": f"{row['twin']}~{again}"} if row.get("twin") else {})


def lowered(row: Row) -> Row:
    """The row in lower case."""
    return row | {"premise": str(row["premise"]).lower(), "hypothesis": str(row["hypothesis"]).lower()}


def words_of(row: Row) -> int:
    """Words of both sides."""
    return len(f"{row['premise']} {row['hypothesis']}".split())


def by_kind(rows: Iterable[list[Row]], weights: Mapping[str, float], count: int, rng: random.Random) -> Iterator[Row]:
    """Groups by kind, each kind in its share."""
    kinds: dict[str, list[list[Row]]] = defaultdict(list)
    for group in rows:
        kinds[str(group[0]["kind"])].append(group)
    shares = {kind: weights.get(kind, 1.0) * sum(map(len, groups)) for kind, groups in sorted(kinds.items())}
    for kind, share in shares.items():
        yield from take(kinds[kind], round(count * share / sum(shares.values())), rng)


def generated(package: str, count: int, seed: int, data: Path) -> Iterable[Pair]:
    """Pairs that a generator makes; loading the rewriters takes seconds."""
    if package == "worlds":
        from training import worlds

        return worlds.build(None, count, seed, "train")
    from training import rewriters

    return rewriters.build(data, count, seed)


def build(data: Path, mix: Mix, scale: float, seed: int, files: Mapping[str, Path | None]) -> list[Row]:
    """All rows of one run, shuffled; the trainer puts twins together again. ``files`` spares making pairs anew."""
    rng = random.Random(seed)
    rows: list[Row] = [
        asdict(pair) for name, part in mix.old.items() for pair in benchmarks.build(data, name, scale * part, seed)
    ]
    dropped: Counter[str] = Counter()
    known = duplicates.test_grams(data) if catalogue.READERS.keys() & mix.people.keys() else set()
    readers = people_pairs(data, rng, known, dropped)
    for name, count in mix.people.items():
        rows.extend(take(grouped(map(asdict, readers[name]())), round(scale * count), rng))
    for package in ("worlds", "rewriters"):
        count = round(scale * getattr(mix, package))
        if count:
            file = files.get(package)
            made = () if file else generated(package, round(1.1 * count), seed, data)
            found = map(json.loads, file.open(encoding="utf-8")) if file else map(asdict, made)
            rows.extend(by_kind(grouped(found), mix.kinds or {}, count, rng))
    print(f"left out, since test texts have them: {dict(dropped)}")
    rng.shuffle(rows)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    benchmarks.data_argument(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mix", choices=MIXES, default="joined")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every quota")
    parser.add_argument(
        "--times", nargs="*", default=[], metavar="SOURCE=N", help="N times a source's quota: written=3"
    )
    parser.add_argument("--longest", type=int, help="leave out pairs of more words: 64 is about what 96 tokens hold")
    parser.add_argument("--worlds", type=Path, help="file of training.worlds, instead of making the pairs")
    parser.add_argument("--rewriters", type=Path, help="file of training.rewriters, instead of making the pairs")
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    mix = more_often(MIXES[args.mix], args.times)
    rows = build(args.data, mix, args.scale, args.seed, {"worlds": args.worlds, "rewriters": args.rewriters})
    rows = [row for row in rows if not args.longest or words_of(row) <= args.longest]
    with args.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    args.out.with_suffix(".sha256").write_text(
        benchmarks.fingerprint(args.data, FILES, sorted(written_claims.FOLDER.glob("*.txt.gz"))) + "\n"
    )
    for (source, kind, allowed), count in sorted(
        Counter((str(r["source"]), str(r.get("kind", "")), str(r["allowed"])) for r in rows).items()
    ):
        print(f"{source:18} {kind:24} {allowed:8} {count:6}")


if __name__ == "__main__":
    main()
