"""Files of our own in the published benchmarks' forms: RAGTruth and LLM-AggreFact with figures that were counted by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.lab.datasets import rows

TRUE, FOREIGN = "The pier opened in 1911.", "Gulls nest here."
"""An answer that the sources carry word for word, and one of which they have no word: 24 and 16 characters."""

SOURCES: Sequence[Mapping[str, Any]] = (
    {
        "source_id": "11",
        "task_type": "QA",
        "source": "MARCO",
        "source_info": {
            "question": "When?",
            "passages": "passage 1:The pier opened in 1911.\n\npassage 2:It is long.\n\n",
        },
        "prompt": "Answer.",
    },
    {
        "source_id": "12",
        "task_type": "Data2txt",
        "source": "Yelp",
        "source_info": {"name": "pier", "opened": 1911, "hours": {"Monday": None}, "reviews": [{"text": "Long."}]},
        "prompt": "Describe.",
    },
    {"source_id": "13", "task_type": "Summary", "source": "CNN/DM", "source_info": TRUE, "prompt": "Summarise."},
)

KINDS = (
    {"QA": "tttfnnnp", "Data2txt": "ttnnnp", "Summary": "tffnnn"},
    {"Wice": "tttfnnnp", "Reveal": "ttfnnn", "Lfqa": "tfnnpp"},
)
"""Twenty rows of each, one letter a row: t found, f missed, p wrongly found, n rightly not found, by the overlap of words."""


def ragtruth(folder: Path) -> Path:
    """Twenty responses of the test split; one of the training split, one that was cut off and one without a source."""
    ids = {"QA": "11", "Data2txt": "12", "Summary": "13"}
    responses = [
        _response(str(number), ids[task], kind)
        for number, (task, kind) in enumerate(((task, kind) for task, kinds in KINDS[0].items() for kind in kinds), 1)
    ]
    responses += [
        {**responses[0], "id": "90", "split": "train"},
        {**responses[0], "id": "91", "quality": "truncated"},
        {**responses[0], "id": "92", "source_id": "14"},
        {**responses[0], "id": "93", "labels": [{"start": 3, "end": 99, "text": "?"}]},
    ]
    rows.lines(folder / "RAGTruth" / "dataset" / "response.jsonl", *responses)
    rows.lines(folder / "RAGTruth" / "dataset" / "source_info.jsonl", *SOURCES)
    return folder


def _response(identity: str, source: str, kind: str) -> dict[str, Any]:
    text = FOREIGN if kind in "tp" else TRUE
    start, end = (0, 5) if kind == "t" else (19, 23)
    label = {"start": start, "end": end, "text": text[start:end], "label_type": "Evident Baseless Info", "meta": ""}
    return {
        "id": identity,
        "source_id": source,
        "model": "m",
        "temperature": 0.7,
        "labels": [label] if kind in "tf" else [],
        "split": "test",
        "quality": "good",
        "response": text,
    }


def aggrefact(folder: Path, split: str = "test") -> Path:
    """Twenty claims of three of the eleven sets."""
    claims = [
        {
            "dataset": name,
            "doc": f"{TRUE} It is long, and of {name}.",
            "claim": FOREIGN if kind in "tp" else TRUE,
            "label": int(kind in "np"),
            "contamination_identifier": "x" * 64,
        }
        for name, kinds in KINDS[1].items()
        for kind in kinds
    ]
    return parquet(folder, f"LLM-AggreFact/data/{split}-00000-of-00001.parquet", claims)


def parquet(folder: Path, name: str, content: Sequence[Mapping[str, Any]]) -> Path:
    """A Parquet file; the folder is returned."""
    from pyarrow import Table
    from pyarrow.parquet import write_table

    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(Table.from_pylist([dict(row) for row in content]), path)
    return folder


def faithbench(folder: Path) -> Path:
    """A batch with a sample for each label, and fourteen empty ones."""
    notes: tuple[list[str], ...] = (
        [],
        ["Benign"],
        ["Questionable", "Benign"],
        ["Benign", "Unwanted.Instrinsic", "Unwanted"],
        ["Wrong"],
    )
    samples = [
        {
            "sample_id": number,
            "source": f"{TRUE} {'It is long.' * (number // 2)}",
            "summary": f" {TRUE}",
            "annotations": [{"annot_id": at, "annotator_id": "a", "label": [one]} for at, one in enumerate(labels)],
            "metadata": {"summarizer": "m"},
        }
        for number, labels in enumerate(notes)
    ]
    for batch in (*range(1, 13), 14, 15, 16):
        content = json.dumps({"samples": samples if batch == 1 else []})
        rows.write(folder / "FaithBench" / "data_for_release" / f"batch_{batch}.json", content)
    return folder


TRIPLETS = ("Entailment", "Contradiction", "Neutral")


def refchecker(folder: Path, setting: str, data: str, models: Sequence[str]) -> Path:
    """Three answers of each model: with three claims, with one, and with none."""
    answers = [
        {"id": "1", "response": TRUE, "claude2_response_kg": [_triplet(word) for word in TRIPLETS]},
        {"id": "2", "response": TRUE, "claude2_response_kg": [_triplet("Entailment")]},
        {"id": "3", "response": "I cannot say.", "claude2_response_kg": []},
        {"id": "4", "response": TRUE, "claude2_response_kg": [_triplet("Entailment")]},
    ]
    for model in models:
        rows.listed(folder / "human_annotations_v1" / setting / f"{data}_{model}_answers.json", *answers)
    contexts = [{"id": number, "question": "When?", "context": [TRUE, "It is long."]} for number in "123"]
    rows.listed(folder / "data" / setting / f"{data}.json", *contexts)
    return folder


def _triplet(word: str) -> dict[str, Any]:
    return {"triplet": ["pier", "opened in", "1911"], "human_label": word}
