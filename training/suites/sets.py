"""Every set of the table: its file, its protocol and its targets. Test files are opened with ``--final`` only."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from training.suites import evalsets, loaders, protocols, tasks, unseen
from training.suites.product import FEVER_DEV, Bench, Target, TaskAnswers

DEV, TEST = "dev", "test"
BEGIN_TARGET = Target("accuracy", 0.86, 0.90)
FEVER_TARGET = Target("accuracy", 0.84, 0.89)
GUARDED_ROWS = 3000
"""Rows of the largest sets that go through the guard, evenly spaced: all would take longer than every other set together."""

ANLI = "eval/anli/test.jsonl.gz"

Protocol = Callable[[Bench, Path], Iterator[TaskAnswers]]


@dataclass(frozen=True)
class Benchmark:
    """One file (or folder) below the data folder, and how it is put to the judge."""

    name: str
    split: str
    path: str
    protocol: Protocol


def _begin(name: str, split: str, target: Target | None = None) -> Iterator[Benchmark]:
    path = f"begin/{name}.tsv"
    yield Benchmark(name, split, path, protocols.whole_response(evalsets.begin, target))
    yield Benchmark(name, split, path, protocols.own_claims(loaders.begin, target))


def _nli(name: str, path: str, load: protocols.LoadGiven) -> Iterator[Benchmark]:
    yield Benchmark(name, TEST, path, protocols.pair_three_way(evalsets.joined(load)))
    yield Benchmark(name, TEST, path, protocols.given_claims(load))


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("vista_human_dev", DEV, "vista-human/human_eval_dev.json", tasks.vista_protocol),
    *_begin("begin_dev_wow", DEV),
    *_begin("begin_dev_cmu", DEV),
    *_begin("begin_dev_tc", DEV),
    Benchmark("faithdial_wow", DEV, "train/faithdial-audit", protocols.whole_response(evalsets.faithdial_wow)),
    Benchmark("fever_dev", DEV, FEVER_DEV, protocols.pair_three_way(evalsets.fever)),
    Benchmark("fever_dev", DEV, FEVER_DEV, protocols.fever_guarded),
    Benchmark("dnli_dev_3", DEV, "train/dnli/dev_3.tsv.gz", protocols.pair_three_way(evalsets.nli)),
    Benchmark("decode_sample", DEV, tasks.DECODE, tasks.decode_protocol),
    Benchmark("coconot_contrast_train", DEV, "coconot/coconot_contrast_train.jsonl", tasks.train_protocol),
    *_begin("begin_test_wow", TEST, BEGIN_TARGET),
    Benchmark("fever_test", TEST, "train/fever/test.jsonl.gz", protocols.pair_three_way(evalsets.fever, FEVER_TARGET)),
    Benchmark("fever_test", TEST, "train/fever/test.jsonl.gz", protocols.given_claims(loaders.fever, GUARDED_ROWS)),
    Benchmark("rgm", TEST, "rgm", tasks.rgm_protocol),
    Benchmark("coconot_pref", TEST, "coconot/coconot_pref.jsonl", tasks.test_protocol),
    Benchmark("dialfact", TEST, "dialfact/testsmall.jsonl", protocols.given_claims(loaders.dialfact)),
    Benchmark("kqa_nli", TEST, "kqa/NLI_medical_annotator.csv", protocols.given_claims(loaders.kqa)),
    Benchmark("bingcheck", TEST, "bingcheck/bingcheck.jsonl.gz", protocols.given_claims(loaders.bingcheck)),
    *_nli("anli_r1", ANLI, unseen.anli(1)),
    *_nli("anli_r2", ANLI, unseen.anli(2)),
    *_nli("anli_r3", ANLI, unseen.anli(3)),
    *_nli("control", "eval/control/test.jsonl.gz", unseen.control),
    *_nli("glue_diagnostic", "eval/glue-diagnostic/diagnostic-full.tsv.gz", unseen.glue_diagnostic),
    *_nli("nan_nli", "eval/nan-nli/nan.csv.gz", unseen.nan_nli),
    *_nli("gqnli", "eval/gqnli/gqnli-1.0.zip", unseen.gqnli),
    Benchmark("fm2", TEST, "eval/fm2/test.jsonl.gz", protocols.given_support(unseen.fm2)),
    Benchmark("defacto", TEST, "eval/defacto/test.jsonl.gz", protocols.given_support(unseen.defacto)),
    Benchmark("factscore", TEST, "eval/factscore-evidence", protocols.given_support(unseen.factscore, GUARDED_ROWS)),
    Benchmark("apt", TEST, "eval/apt/test.gz", unseen.paraphrases),
)
