"""Every data set that can be evaluated, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache

from vista_guard.errors import InputError
from vista_lab.datasets.files import DataSet, Entry, sample_balanced
from vista_lab.datasets.opening import Counts, DataFolder, OpenedDataSet, count_entries, open_dataset
from vista_lab.datasets.published.describing import PART, UNTRIED
from vista_lab.datasets.published.describing import data_sets as published_sets
from vista_lab.datasets.sets import (
    ais,
    begin,
    bingcheck,
    coconot,
    dialfact,
    factscore,
    fade,
    faithdial,
    felm,
    mtrag,
    rgm,
    summedits,
    vista,
)
from vista_lab.logs.source import Task
from vista_lab.registry import additions, load

SAMPLE, SEED = 250, 13
"""Of Tables 5, 20 and 21: so many of each kind. The seed is ours."""

DISJOINT = "-disjoint"
"""Ends the name of a test set without the topics that the other model's training split has."""

_GITHUB = "https://raw.githubusercontent.com"
NOT_TRIED = UNTRIED
_LIKE_OTHERS = "read as the others are, not tried on its file"
_SAME_SIZE = f"{SAMPLE} + {SAMPLE} as in the paper, drawn by seed {SEED}: the paper's own rows are not known"


@cache
def all_datasets() -> Mapping[str, DataSet]:
    """Every data set by its name, in alphabetical order.

    Examples:
        >>> all_datasets()["fade"].task.value
        'unverifiable'
    """
    every = (*_begin(), *_faithdial(), *_ais(), *_talk(), *_rgm(), *_coconot(), *_dialfact(), *_summedits(), *_mtrag(),
             *_dad(), *published_sets(), *_of_tasks())  # fmt: skip
    return {dataset.name: dataset for dataset in sorted(every, key=lambda dataset: dataset.name)}


def find(name: str) -> DataSet:
    """The data set of a name; `NAME:PART` is one of its parts.

    Examples:
        >>> find("begin-dev-wow").licence
        'CC BY 4.0'
        >>> find("ragbench-test:covidqa").files
        ('ragbench/covidqa/test-00000-of-00001.parquet',)

    Raises:
        InputError: there is none; suggests similar names, or lists the parts.
    """
    known = all_datasets()
    whole, colon, part = name.partition(PART)
    if whole in known:
        parts = known[whole].parts
        if not colon:
            return known[whole]
        if part not in parts:
            has = f"its parts are {', '.join(parts)}" if parts else "it has no parts"
            raise InputError(f"data set {whole} has no part {part!r}; {has}")
        return parts[part]
    near = get_close_matches(name.lower(), known, n=3, cutoff=0.0)
    raise InputError(f"data set {name!r} is unknown; did you mean {', '.join(near)}? vista-guard datasets lists all")


def _of_tasks() -> Iterator[DataSet]:
    for task in additions():
        for reference in task.data_sets:
            yield from load(reference)()


def _begin() -> Iterator[DataSet]:
    folders = {"wow": "wow", "cmu": "cmu-dog", "tc": "topicalchat"}
    paper = "the paper has 500 of this kind, by GPT-2 and T5, of an unnamed split"
    for split in ("dev", "test"):
        for source, folder in folders.items():
            file = f"begin_{split}_{source}.tsv"
            yield DataSet(
                name=f"begin-{split}-{source}",
                title=f"BEGIN, {source}",
                source="github.com/google/BEGIN-dataset; Dziri et al. 2022",
                licence="CDLA-Sharing-1.0" if source == "tc" else "CC BY 4.0",
                split=split,
                files=(file,),
                read=begin.read,
                test=split == "test",
                sample=f"all rows; Generic ones have no gold; {paper if source == 'wow' else 'not in the paper'}"
                + (f"; {_LIKE_OTHERS}" if split == "test" and source != "wow" else ""),
                origins={file: f"{_GITHUB}/google/BEGIN-dataset/main/{folder}/{file}"},
            )


def _faithdial() -> Iterator[DataSet]:
    for split in ("train", "valid", "test"):
        file = f"faithdial/{split}.json"
        yield DataSet(
            name=f"faithdial-{split}",
            title="FaithDial",
            source="huggingface.co/datasets/McGill-NLP/FaithDial; Dziri et al. 2022",
            licence="MIT",
            split=split,
            files=(file,),
            read=faithdial.read,
            test=split == "test",
            sample="every wizard's turn with BEGIN labels, its original response; the paper has 2,229 annotated turns "
            f"of an unnamed split; {NOT_TRIED}",
            origins={file: f"hf:McGill-NLP/FaithDial/data/{split}.json"},
        )


def _ais() -> Iterator[DataSet]:
    source = "github.com/google-research-datasets/AIS; Rashkin et al. 2023"
    common = "flagged rows are skipped, answers that cannot be understood have no gold; the paper's 500 are a sample"
    wizard, questions, texts = "wizard_of_wikipedia/test_random_split.json", "qrecc_test.json", "qrecc_passages.jsonl"
    yield DataSet(
        name="ais-wow",
        title="AIS, Wizard of Wikipedia",
        source=source,
        licence="CC BY 4.0; the dialogues: their publisher's",
        split="test",
        files=("ann_wow.csv", wizard),
        read=ais.read_wow,
        test=True,
        sample=f"{common} of this and QReCC; the join is {NOT_TRIED}",
        origins={
            "ann_wow.csv": "ann_wow.csv of github.com/google-research-datasets/AIS",
            wizard: "http://parl.ai/downloads/wizard_of_wikipedia/wizard_of_wikipedia.tgz (unpack it into a folder of that name)",
        },
    )
    yield DataSet(
        name="ais-qrecc",
        title="AIS, QReCC",
        source=source,
        licence="CC BY 4.0; QReCC: its publisher's",
        split="test",
        files=("ann_qrecc.csv", questions, texts),
        read=ais.read_qrecc,
        test=True,
        sample=f"{common} of this and Wizard of Wikipedia; the join is {NOT_TRIED}",
        origins={
            "ann_qrecc.csv": "ann_qrecc.csv of github.com/google-research-datasets/AIS",
            questions: "github.com/scai-conf/SCAI-QReCC-21 or github.com/apple/ml-qrecc",
            texts: "of passages.zip of zenodo.org/record/5760304 the lines that doc-url names (docs/datasets.md says how)",
        },
    )


def _talk() -> Iterator[DataSet]:
    yield DataSet(
        name="fade",
        title="FADE, verified by people",
        source="Das et al. 2022",
        licence="MIT",
        split="human-verified",
        files=("human_verified_500.csv",),
        read=fade.read,
        sample="500 rows, one response each, 419 of them corrupted; the paper has 639 turns of the observed subset",
    )
    yield DataSet(
        name="vista-human-dev",
        title="VISTA, human evaluation",
        source="the paper's human evaluation (VISTA §5)",
        licence="none stated: evaluation only",
        split="dev",
        files=("human_eval_dev.json",),
        read=vista.read,
        sample="70 of the paper's 140 conversations (113 of 227 turns, 453 of 888 claims), chosen with more abstentions "
        "and contradictions than there are",
    )


def _rgm() -> Iterator[DataSet]:
    models = ("blender3-30B", "blender3-3B", "opt-60B")
    for name, read, sample in (
        ("rgm", rgm.read, "all rows of the three models that are released"),
        (f"rgm-{2 * SAMPLE}", sample_balanced(rgm.read, SAMPLE, SEED), _SAME_SIZE),
    ):
        yield DataSet(
            name=name,
            title="RGM-Contradictions, in-domain",
            source="github.com/shiki-sato/rgm-contradiction (build_dataset.py makes the files); Sato et al. 2024",
            licence="contexts CC BY; responses of models: research only",
            split="test",
            task=Task.CONTRADICTS,
            files=tuple(f"indomain_test_{model}.jsonl" for model in models),
            read=read,
            test=True,
            sample=sample,
        )


def _coconot() -> Iterator[DataSet]:
    note = "without incomplete and indeterminate requests, both answers of each request"
    drawn, unknown = sample_balanced(coconot.read, SAMPLE, SEED), f"{_SAME_SIZE}, nor of which file they are"
    for name, file, split, read, sample in (
        ("coconot-pref", "coconot_pref.jsonl", "pref", coconot.read, note),
        (f"coconot-pref-{2 * SAMPLE}", "coconot_pref.jsonl", "pref", drawn, unknown),
        ("coconot-contrast-train", "coconot_contrast_train.jsonl", "train", coconot.read, f"{note}; not in the paper"),
    ):
        yield DataSet(
            name=name,
            title="CoCoNot, contrast set",
            source="github.com/allenai/noncompliance; Brahman et al. 2024",
            licence="MIT",
            split=split,
            task=Task.ABSTAINS,
            files=(file,),
            read=read,
            test=split == "pref",
            sample=sample,
        )


def _dialfact() -> Iterator[DataSet]:
    for name, split, sample in (
        ("valid_split", "valid", f"all rows; not in the paper; {_LIKE_OTHERS}"),
        ("test_split", "test", f"all rows; not in the paper; {_LIKE_OTHERS}"),
        ("testsmall", "test", "300 rows; not in the paper"),
    ):
        file = f"dialfact/{name}.jsonl"
        yield DataSet(
            name=f"dialfact-{name.removesuffix('_split')}",
            title="DialFact",
            source="github.com/salesforce/DialFact; Gupta et al. 2022",
            licence="BSD-3-Clause (repository)",
            split=split,
            files=(file,),
            read=dialfact.read,
            test=split == "test",
            sample=f"{sample}; REFUTES and NOT ENOUGH INFO are looked for",
            origins={} if name == "testsmall" else {file: f"{_GITHUB}/salesforce/DialFact/master/data/{name}.jsonl"},
        )


def _summedits() -> Iterator[DataSet]:
    splits = {"podcast": "dev", "ectsum": "dev", "qmsumm": "train", "sales_email": "train", "scitldr": "train"}
    for domain in summedits.DOMAINS:
        file = summedits.file_name(domain)
        yield DataSet(
            name=f"summedits-{domain.replace('_', '-')}",
            title=f"SummEdits, {domain}",
            source="github.com/salesforce/factualNLG; Laban et al. 2023",
            licence="Apache-2.0 (repository)",
            split=splits.get(domain, "test"),
            files=(file,),
            read=summedits.read,
            test=domain not in splits,
            sample="all rows; the publisher has no splits, these are ours; not in the paper"
            + ("" if domain in splits else f"; {_LIKE_OTHERS}"),
            origins={file: f"{_GITHUB}/salesforce/factualNLG/master/data/summedits/{file}"},
        )


def _mtrag() -> Iterator[DataSet]:
    faithful = (
        "answers that people wrote from their passages: none is unfaithful, false alarms are counted; not in the paper"
    )
    human = f"models' answers by the median of people's faithfulness; not in the paper; {NOT_TRIED}"
    un, tasks = "mtragun/reference.jsonl", "mtrag-human/reference.jsonl"
    people = "reference_subset_with_human_evaluations.json"
    folders = {
        un: "mtragun-human/generation_tasks",
        tasks: "mtrag-human/generation_tasks",
        people: "mtrag-human/evaluations",
    }
    for name, title, paper, split, file, read, sample in (
        ("mtragun-dev", "MTRAG-UN", "Rosenthal et al. 2026", "dev", un, mtrag.read_development, faithful),
        ("mtragun-train", "MTRAG-UN", "Rosenthal et al. 2026", "train", un, mtrag.read_training, faithful),
        ("mtrag", "MTRAG", "Katsis et al. 2025", "all", tasks, mtrag.read, f"{faithful}; {NOT_TRIED}"),
        ("mtrag-human", "MTRAG, human evaluation", "Katsis et al. 2025", "all", people, mtrag.read_human, human),
    ):
        yield DataSet(
            name=name,
            title=title,
            source=f"github.com/IBM/mt-rag-benchmark; {paper}",
            licence="Apache-2.0",
            split=split,
            files=(file,),
            read=read,
            test=split == "all",
            sample=sample,
            origins={file: f"{_GITHUB}/IBM/mt-rag-benchmark/main/{folders[file]}/{file.rpartition('/')[2]}"},
        )


def _dad() -> Iterator[DataSet]:
    """The six settings of DAD's Table 1."""
    yield from _factscore("chatgpt", "ChatGPT", "PerplexityAI")
    yield from _factscore("perplexity", "PerplexityAI", "ChatGPT")
    yield DataSet(
        name="felm-wk",
        title="FELM, world knowledge",
        source="github.com/hkust-nlp/felm; Chen et al. 2023",
        licence="CC BY-NC-SA 4.0: evaluation only",
        split="test",
        files=("felm/wk.jsonl",),
        read=felm.read,
        test=True,
        sample="184 responses, 99 supported and 85 not, as in DAD",
        origins={"felm/wk.jsonl": "github.com/hkust-nlp/felm, or huggingface.co/datasets/hkust-nlp/felm (wk)"},
        retrieves=True,
    )
    yield DataSet(
        name="bingcheck",
        title="BingCheck (DAD's BINGCHAT)",
        source="Li et al. 2024 (Self-Checker)",
        licence="none stated: evaluation only",
        split="test",
        files=("bingcheck/bingcheck.jsonl",),
        read=bingcheck.read,
        test=True,
        sample="378 responses of DAD's 396, 197 supported (nothing refuted or not supported) and 181 not; the evidence was "
        "searched for the publisher's own claims",
        origins={
            "bingcheck/bingcheck.jsonl": "the publisher's folders, re-packed: a response a line (docs/datasets.md)"
        },
    )


def _factscore(model: str, title: str, other_title: str) -> Iterator[DataSet]:
    """Sentences and pairs of them in three splits, each test set also without topics that the other model trains on.

    Beside each: responses, supported and unsupported units.
    """
    own, other = f"factscore/{title}.jsonl", f"factscore/{other_title}.jsonl"
    sizes = {
        ("chatgpt", 1): ((95, 297, 468), (29, 80, 145), (33, 96, 153), (16, 43, 78)),
        ("chatgpt", 2): ((95, 77, 282), (29, 17, 87), (33, 19, 96), (16, 9, 48)),
        ("perplexity", 1): ((92, 561, 255), (33, 201, 88), (33, 234, 66), (17, 112, 44)),
        ("perplexity", 2): ((92, 201, 183), (33, 67, 67), (33, 87, 56), (17, 40, 36)),
    }
    placed = {
        "ChatGPT": "all 1,241 sentences are in the responses word for word",
        "PerplexityAI": "of 1,625 sentences 618 are in the responses word for word, 911 but for citation marks, 96 but for these "
        "and blanks",
    }
    for atomicity in (1, 2):
        parts = ("train", "validation", "test", f"test{DISJOINT}")
        for part, (responses, supported, unsupported) in zip(parts, sizes[model, atomicity], strict=True):
            split, disjoint = part.removesuffix(DISJOINT), part.endswith(DISJOINT)
            files = (own, other) if disjoint else (own,)
            units = "sentences" if atomicity == 1 else "pairs of sentences"
            note = f"; without topics of {other_title}'s training split" if disjoint else f"; {placed[title]}"
            yield DataSet(
                name=f"factscore-{model}-a{atomicity}-{part}",
                title=f"FActScore, {title}, atomicity {atomicity}",
                source="github.com/shmsw25/FActScore; Min et al. 2023, split as Lu et al. 2025",
                licence="MIT",
                split=split,
                files=files,
                read=factscore.reader(split, atomicity),
                test=split == "test",
                sample=f"{supported} {units} supported and {unsupported} not, in {responses} responses{note}",
                origins=dict.fromkeys(files, "the labelled data that github.com/shmsw25/FActScore links to"),
                retrieves=True,
            )


__all__ = [
    "Counts",
    "DataFolder",
    "DataSet",
    "Entry",
    "OpenedDataSet",
    "Task",
    "all_datasets",
    "count_entries",
    "find",
    "open_dataset",
]
