"""The two tasks that generated pairs are tests for, as logs in the reference format (LLM-OASIS, §4.2).

Task 1, end to end: is a text factual? F is, U is not; passages themselves are left out, as models may know them by heart. It
brings no documents: they are retrieved. Task 2, with evidence: does F carry the claim? It carries c_i and not its falsified
version. Both name the document that a turn is of, so that intervals draw documents.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from vista_guard.types import Label
from vista_lab.oasis.records import GeneratedPair, Record

TASK_1, TASK_2 = "task1.json", "task2.json"
"""Names of the logs."""

JUDGEMENTS = {Label.VERIFIED: "verifiable", Label.CONTRADICTED: "contradicted"}
"""Words of the reference format."""


def text_log(records: Iterable[Record]) -> str:
    """Task 1: each factual and each unfactual text as the one turn of a conversation. Records without a pair are left out."""
    return _log(line for record, pair in _pairs(records) for line in _texts(record, pair))


def claim_log(records: Iterable[Record]) -> str:
    """Task 2: each falsified claim and its original as one turn each, with the factual text as its document.

    The turn brings itself as its one claim, with a label, for `--claims given`.
    """
    return _log(line for record, pair in _pairs(records) for line in _claims(record, pair))


def _pairs(records: Iterable[Record]) -> Iterator[tuple[Record, GeneratedPair]]:
    return ((record, record.pair) for record in records if record.pair is not None)


def _texts(record: Record, pair: GeneratedPair) -> Iterator[dict[str, Any]]:
    yield _turn(record, "factual", pair.factual, true=True)
    yield _turn(record, "unfactual", pair.unfactual, true=False)


def _claims(record: Record, pair: GeneratedPair) -> Iterator[dict[str, Any]]:
    for name, claim, label in (
        ("original", pair.original, Label.VERIFIED),
        ("falsified", pair.falsified, Label.CONTRADICTED),
    ):
        claims = [{"claim_text": claim, "human_judgement": JUDGEMENTS[label]}]
        turn = _turn(record, name, claim, true=label is Label.VERIFIED)
        yield {**turn, "retrieved_document": pair.factual, "human_claims": claims}


def _turn(record: Record, name: str, text: str, *, true: bool) -> dict[str, Any]:
    label = "faithful" if true else "hallucinated"
    place = {"conversation_id": f"{record.passage.id}/{name}", "original_dataset_label": label}
    return {"role": "assistant", "utterance": text, **place, "group": record.passage.document}


def _log(turns: Iterable[dict[str, Any]]) -> str:
    lines = ",\n".join(json.dumps([turn], ensure_ascii=False) for turn in turns)
    return f"[\n{lines}\n]\n"
