"""Build the verifier's training pairs: ``python -m training.data --data DIR --out pairs.jsonl``.

Only files marked *train* are read. A pair's target is a set of allowed labels, because several sources say only
"entailed or not": the loss is the negative log of the allowed labels' total probability.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import random
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import asdict, replace
from pathlib import Path

from training.fever_pairs import Fever, dialogue_pairs, falsified_pairs, fever_pairs, identity_pairs, mismatch_pairs
from training.other_pairs import docnli_pairs, faithdial_pairs, nli_pairs, persona_pairs, prosecco_pairs, wice_pairs
from training.pairs import Pair
from training.suites.loaders import read_fever
from training.talk import talk_pairs
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

TRAIN_FILES = (
    "train/fever/train.jsonl.gz",
    "train/docnli/binary-fever-nli.dev.tsv.gz",
    "train/docnli/binary-fever-nli.test.tsv.gz",
    "train/docnli/binary-mnli.dev.tsv.gz",
    "train/docnli/binary-mnli.test.tsv.gz",
    "train/conjnli/adversarial_train_15k.tsv.gz",
    "train/dnli/train_1.tsv.gz",
    "train/dnli/train_3.tsv.gz",
    *(f"train/faithdial-audit/{name}.csv" for name in (
        "CTRL/ctrl_processed_cmu", "CTRL/ctrl_processed_topicalchat", "DoHA/doha_processed_cmu", "DoHA/doha_processed_topical",
        "GPT2/gpt2_processed_cmu", "GPT2/gpt2_processed_topical", "gold/cmu", "gold/topical",
    )),
    "train/prosecco/ProSeCCo_final.csv",
    "train/wice/non_supported_tokens.train.jsonl.gz",
)  # fmt: skip
# Pairs of each source, one mix a stage of training: all kinds, then the benchmark of facts in depth, then talk.
_ROWS = list(csv.DictReader(Path(__file__).with_name("mixes.csv").read_text(encoding="utf-8").splitlines()))
MIXES = {
    mix: {row["source"]: int(row[mix]) for row in _ROWS if row[mix]} for mix in ("broad", "facts", "talk", "finish")
}


def take(pairs: Iterable[Pair], count: int, rng: random.Random) -> list[Pair]:
    """``count`` pairs, shuffled; a small source is repeated."""
    pool = list(pairs)
    rng.shuffle(pool)
    return [pool[i % len(pool)] for i in range(count)]


def build(data: Path, mix: str, scale: float, seed: int, without: Collection[str] = ()) -> list[Pair]:
    """All pairs of one run, shuffled, a quarter of them in lower case; `without` names the sources that are left out."""
    rng = random.Random(seed)
    n = Counter({source: round(count * scale) for source, count in MIXES[mix].items() if source not in without})
    files = [data / name for name in TRAIN_FILES]
    fever = Fever(read_fever(files[0]), rng)
    wrong = fever.sample(SUPPORTED_CLASS, 2 * n["fever_mismatch"])
    wrong += fever.sample(CONTRADICTED_CLASS, n["fever_mismatch"])
    pools: dict[str, Iterable[Pair]] = {
        "fever_supports": fever_pairs(fever, SUPPORTED_CLASS, n["fever_supports"], "fever_supports"),
        "fever_refutes": fever_pairs(fever, CONTRADICTED_CLASS, n["fever_refutes"], "fever_refutes"),
        "fever_nei": mismatch_pairs(fever, fever.sample(NOT_ENOUGH_CLASS, n["fever_nei"]), "fever_nei"),
        "fever_mismatch": mismatch_pairs(fever, wrong, "fever_mismatch"),
        "fever_falsified": falsified_pairs(fever, round(1.2 * n["fever_falsified"])),
        "identity": identity_pairs(fever, n["identity"]),
        "dialogue": dialogue_pairs(fever, n["dialogue"]),
        "docnli_fever": docnli_pairs(files[1:3], "docnli_fever"),
        "docnli_mnli": docnli_pairs(files[3:5], "docnli_mnli"),
        "conjnli": nli_pairs(files[5], "conjnli"),
        "dnli": [*nli_pairs(files[6], "dnli"), *nli_pairs(files[7], "dnli")],
        "faithdial": faithdial_pairs(files[8:16]),
        "prosecco": prosecco_pairs(files[16]),
        "wice": wice_pairs(files[17]),
        "persona": persona_pairs(n["persona"], rng),
        "talk": talk_pairs(n["talk"], rng),
    }
    pairs = [pair for source, pool in pools.items() for pair in take(pool, n[source], rng)]
    rng.shuffle(pairs)
    return [  # a quarter of the benchmarks' dialogue is in lower case
        replace(pair, premise=pair.premise.lower(), hypothesis=pair.hypothesis.lower()) if rng.random() < 0.25 else pair
        for pair in pairs
    ]


def fingerprint(data: Path, files: Iterable[str] = TRAIN_FILES, own: Iterable[Path] = ()) -> str:
    """SHA-256 over the training files' names and contents; ``own`` are files of this repository."""
    digest = hashlib.sha256()
    for name, path in (*((name, data / name) for name in files), *((path.name, path) for path in own)):
        digest.update(name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def data_argument(parser: argparse.ArgumentParser) -> None:
    """The ``--data`` option that every step shares."""
    default = os.environ.get("VISTA_GUARD_DATA")
    parser.add_argument(
        "--data", type=Path, default=default, required=default is None, help="data folder (env VISTA_GUARD_DATA)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--mix", choices=MIXES, default="broad", help="how many pairs of each source")
    parser.add_argument(
        "--without", nargs="*", default=[], choices=MIXES["talk"], help="sources to leave out (ablations)"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies every quota")
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    pairs = build(args.data, args.mix, args.scale, args.seed, args.without)
    with args.out.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(asdict(pair)) + "\n" for pair in pairs)
    args.out.with_suffix(".sha256").write_text(fingerprint(args.data) + "\n")
    for (source, allowed), count in sorted(Counter((p.source, p.allowed) for p in pairs).items()):
        print(f"{source:16} {allowed!s:10} {count:6}")


if __name__ == "__main__":
    main()
