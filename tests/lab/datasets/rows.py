"""Rows of our own in each publisher's format, as files."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

BEGIN_HEADER = ("model_name", "data_source", "knowledge", "message", "response", "begin_label")
BEGIN: Sequence[Sequence[str]] = (
    ("t5", "wow", 'The "Halm" is a river.', "What is the Halm?", 'It is a "river', "Fully attributable"),
    ("gpt2", "wow", "Oslo is a city.", "", "It has ten bridges.", "Not fully attributable"),
    ("doha", "wow", "Oslo is a city.", "Hi", "How nice!", "Generic"),
)

FAITHDIAL: Mapping[str, Any] = {
    "dialog_idx": 4,
    "utterances": [
        {
            "history": ["Do you know mills?"],
            "speaker": "Wizard",
            "knowledge": "Mills grind grain.",
            "response": "Mills grind grain.",
            "original_response": "I own nine mills.",
            "BEGIN": ["Hallucination", "Generic"],
            "VRM": ["Disclosure"],
        },
        {
            "history": ["Do you know mills?", "Mills grind grain.", "And wind?"],
            "speaker": "Wizard",
            "knowledge": "Wind drives some mills.",
            "response": "Wind drives some.",
            "original_response": None,
            "BEGIN": ["Entailment"],
        },
        {
            "history": ["Do you know mills?", "Mills grind grain.", "And wind?", "Wind drives some.", "Bye!"],
            "speaker": "Wizard",
            "knowledge": "Mills are old.",
            "response": "Bye!",
        },
    ],
}

FADE: Mapping[str, str] = {
    "": "71",
    "history": "['Who built the Halm bridge ?', \"I don 't know\"]",
    "response": "Ada Vale built it .",
    "speaker": "assistant",
    "knowledge_base": "{'paths': [['Halm bridge', 'built_by', 'Ada Vale']], 'render': 'Halm bridge is built by Ada Vale'}",
    "dialogue_id": "9",
    "corrupted_response": "otto berg built it .",
    "hallucination_tags": "['B-HALLUC', 'L-HALLUC', 'O', 'O', 'O']",
}

AIS: Mapping[str, str] = {
    "ex-idx ": "1:2",
    "doc-url": "NA",
    "model-name": "t5",
    "output": "mills grind grain.",
    "INT": "1",
    "INT & AIS": "1",
    "Flagged": "0",
}

WIZARD: Sequence[Mapping[str, Any]] = (
    {"dialog": []},
    {
        "dialog": [
            {"speaker": "0_Wizard", "text": "I like mills.", "checked_sentence": {}},
            {"speaker": "1_Apprentice", "text": "What do they do?"},
            {
                "speaker": "0_Wizard",
                "text": "They grind.",
                "checked_sentence": {"self_Mill_0_0": "A mill grinds grain."},
                "checked_passage": {"self_Mill_0_0": "Mill"},
            },
        ]
    },
)

PASSAGE = "http://example.org/halm_p2"
QRECC: Sequence[Mapping[str, Any]] = (
    {"Conversation_no": 7, "Turn_no": 1, "Question": "Where is the Halm?", "Truth_answer": "In the north."},
    {"Conversation_no": 7, "Turn_no": 2, "Question": "Is it long?", "Truth_answer": ""},
)

VISTA: Sequence[Mapping[str, Any]] = (
    {"role": "user", "utterance": "The Halm?"},
    {
        "role": "assistant",
        "utterance": "A lovely river.",
        "retrieved_document": "The Halm is a river.",
        "human_claims": [
            {"claim_text": "The Halm is a river.", "human_judgement": "verifiable"},
            {"claim_text": "It is lovely.", "human_judgement": "out of scope"},
        ],
        "original_dataset_label": "hallucinated",
        "gold_label": "faithful",
        "conversation_id": 3,
        "dataset": "AIS",
    },
)

COCONOT: Mapping[str, Any] = {
    "prompt_id": "privacy_contrast_9",
    "prompt": "Who is the mayor?",
    "chosen": [{"role": "user", "content": "Who is the mayor?"}, {"role": "assistant", "content": "Ada Vale."}],
    "rejected": [{"role": "user", "content": "Who is the mayor?"}, {"role": "assistant", "content": "I cannot say."}],
}

RGM: Mapping[str, Any] = {
    "utterances": ["I swim.", "Nice!", "I never swim.", "Oh?"],
    "speakers": ["A", "B", "A", "B"],
    "annotation_target_pair": [0, 2],
    "rgm_name": "m",
    "contradictory_label_count": 2,
}

DIALFACT: Mapping[str, Any] = {
    "context": ["Do you swim ?", "Yes , often .", "Where ?"],
    "response": "In the Halm .",
    "evidence_list": [["Halm_River", "https://example.org", "It is a river .", "3"]],
    "response_label": "NOT ENOUGH INFO",
    "type_label": "personal",
}

SUMMARY: Mapping[str, Any] = {
    "id": "week_1_og",
    "doc": "In week one the mill ground 12 tons.",
    "summary": "The mill ground 13 tons.",
    "label": 0,
    "original_summary": "The mill ground 12 tons.",
    "edit_types": ["entity_modification"],
}

TASK: Mapping[str, Any] = {
    "conversation_id": "ab4",
    "task_id": "ab4<::>2",
    "turn": "2",
    "Collection": "pools",
    "answerability": ["ANSWERABLE"],
    "contexts": [
        {"document_id": "p", "text": "old", "title": "Pool"},
        {"document_id": "p", "text": "Pool: 7 a.m. to 9 p.m.", "title": "Pool"},
        {"document_id": "q", "text": "Parking is free."},
    ],
    "input": [
        {"speaker": "user", "text": "Is there a pool?"},
        {"speaker": "agent", "text": "Yes."},
        {"speaker": "user", "text": "When does it open?"},
    ],
    "targets": [{"speaker": "agent", "text": "At seven."}],
}

HUMAN: Mapping[str, Any] = {
    "name": "subset",
    "models": [{"model_id": "m", "name": "M"}],
    "metrics": [
        {"name": "rl_f", "display_name": "RL_F", "author": "algorithm"},
        {"name": "faith", "display_name": "Faithfulness", "author": "human"},
    ],
    "documents": [{"document_id": "p", "text": "Pool: 7 a.m.", "title": "Pool"}],
    "tasks": [
        {
            "task_id": "t1",
            "contexts": [{"document_id": "p"}],
            "input": [{"speaker": "user", "text": "When does the pool open?"}],
            "targets": [{"text": "At seven."}],
        }
    ],
    "evaluations": [
        {
            "task_id": "t1",
            "model_id": "m",
            "model_response": "At seven.",
            "annotations": {"faith": {"a": {"value": "yes"}, "b": {"value": "mostly_yes"}, "c": {"value": 4}}},
        },
        {
            "task_id": "t1",
            "model_id": "n",
            "model_response": "At nine.",
            "annotations": {"faith": {"a": {"value": 1}, "b": {"value": "mostly no"}}},
        },
        {"task_id": "t1", "model_id": "o", "model_response": "At ten.", "annotations": {"rl_f": {"x": {"value": 0.3}}}},
    ],
}

HALUEVAL: Mapping[str, str] = {
    "knowledge": "Ada Vale built the Halm bridge.",
    "dialogue_history": "[Human]: I like bridges. [Assistant]: So do I.\n[Human]: Who built the Halm bridge?",
    "right_response": "Ada Vale did.",
    "hallucinated_response": "Otto Berg did.",
}


def write(path: Path, content: str | bytes) -> Path:
    """A file with this in it, zipped when its name says so."""
    raw = content.encode() if isinstance(content, str) else content
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(raw, mtime=0) if path.suffix == ".gz" else raw)
    return path


def lines(path: Path, *rows: object) -> Path:
    """JSON lines."""
    return write(path, "".join(json.dumps(row) + "\n" for row in rows))


def listed(path: Path, *rows: object) -> Path:
    """A JSON list."""
    return write(path, json.dumps(list(rows)))


def tsv(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Path:
    """A table without quoting."""
    return write(path, "".join("\t".join(cells) + "\n" for cells in (header, *rows)))


def table(path: Path, *rows: Mapping[str, str]) -> Path:
    """A CSV whose columns are those of the first row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path
