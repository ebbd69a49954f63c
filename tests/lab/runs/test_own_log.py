"""A log of one's own in which people spoke of some turns and some claims: what is judged, and figures counted by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vista_guard.cli import app
from vista_lab.evaluate.vista.tables import table_2
from vista_lab.metrics.detection import Reading
from vista_lab.runs.summary import summarise
from vista_lab.tables.runs import read_measured

WORDS = {"verifiable": "VERIFIED", "contradicted": "CONTRADICTED", "lacking evidence": "LACKING_EVIDENCE"}
PIER = "The pier is 310 metres long."
MOON = "Castles float upon clouds."
TURNS: list[tuple[str | None, list[tuple[str, str | None]] | None]] = [
    ("faithful", [(PIER, "verifiable")]),
    ("hallucinated", [(MOON, "lacking evidence")]),
    ("faithful", [(MOON, "contradicted")]),
    (None, [(PIER, "verifiable"), (MOON, "lacking evidence")]),
    ("Generic", [(PIER, "out of scope")]),
    ("hallucinated", [(PIER, "verifiable"), (MOON, None)]),
    ("hallucinated", [(MOON, "contradicted"), (PIER, None)]),
    ("faithful", [(PIER, None)]),
    ("faithful", [(PIER, "out of scope"), (PIER, None)]),
    (None, None),
]
"""The data set's word, and claims with people's."""


@pytest.fixture
def log(tmp_path: Path) -> Path:
    talks = []
    for first in range(0, len(TURNS), 2):
        talk: list[dict[str, object]] = []
        for word, claims in TURNS[first : first + 2]:
            said = " ".join(text for text, _ in claims or [(PIER, None)])
            turn: dict[str, object] = {"role": "assistant", "utterance": said, "retrieved_document": PIER}
            if word is not None:
                turn["original_dataset_label"] = word
            if claims is not None:
                turn["human_claims"] = [{"claim_text": text, "human_judgement": label} for text, label in claims]
            talk += [{"role": "user", "utterance": "Tell me.", "conversation_id": first}, turn]
        talks.append(talk)
    path = tmp_path / "own.json"
    path.write_text(json.dumps(talks), encoding="utf-8")
    return path


def evaluated(log: Path, claims: str) -> Path:
    out = log.with_name(f"run-{claims}")
    done = CliRunner().invoke(
        app, ["eval", str(log), "--system", "overlap", "--claims", claims, "--out", str(out)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    return out


def some(labels: Iterable[str | None], wanted: set[str]) -> bool | None:
    known = list(labels)
    return True if wanted & {label for label in known if label} else (None if None in known else False)


def by_hand(out: Path, reading: str) -> Counter[str]:
    unsafe = {"CONTRADICTED", "LACKING_EVIDENCE"}
    wanted = unsafe if reading == "safe" else {*unsafe, "OUT_OF_SCOPE", "ABSTENTION"}
    lines = (out / "reports.jsonl").read_text(encoding="utf-8").splitlines()
    said = {
        (one["conversation_id"], one["turn_index"]): [outcome.get("label") for outcome in one["outcomes"]]
        for one in map(json.loads, lines)
    }
    counted: Counter[str] = Counter()
    for place, (word, claims) in enumerate(TURNS):
        labels = [WORDS.get(label, "OUT_OF_SCOPE") if label else None for _, label in claims or ()]
        gold = some(labels, wanted) if labels else None
        if reading == "original":
            gold = {"faithful": False, "hallucinated": True}.get(word or "")
        name = (str(place // 2 * 2), 1 if place % 2 == 0 else 3)
        if gold is not None and name in said:
            found = some(said[name], wanted)
            counted[("tp" if found else "fn") if gold else ("fp" if found else "tn")] += 1
    return counted


@pytest.mark.parametrize("claims", ["given", "judge"])
def test_summary_and_tables_say_what_is_counted_by_hand(log: Path, claims: str) -> None:
    out = evaluated(log, claims)
    figures, run = summarise(out), read_measured(out)
    assert figures.turns == figures.judged == (9 if claims == "given" else 10)
    for reading in Reading:
        told, met, expected = figures.readings[reading], run.detection(reading), by_hand(out, reading)
        assert met is not None
        assert (told.tp, told.fp, told.fn, told.tn) == tuple(expected[key] for key in ("tp", "fp", "fn", "tn"))
        assert (met.tp, met.fp, met.fn, met.tn) == (told.tp, told.fp, told.fn, told.tn)
        assert told.interval == run.accuracy_interval(reading)
    # A turn of which a claim has no label is gold only where the others decide it.
    assert (figures.readings[Reading.STRICT].turns, figures.readings[Reading.SAFE].turns) == (7, 6)
    assert figures.readings[Reading.ORIGINAL].turns == 7
    heads = [column.group for sheet in table_2([run]) for column in sheet.columns]
    assert heads == ["", "own.json (n = 7)"]


def test_a_replay_judges_each_turn_whatever_people_said_of_some(tmp_path: Path) -> None:
    log = tmp_path / "talks.csv"
    rows = ["conversation,role,content,label", "a,user,How long?,", f"a,assistant,{PIER},good"]
    log.write_text("\n".join([*rows, "a,user,And?,", f"a,assistant,{MOON},", ""]), encoding="utf-8")
    out = tmp_path / "reports.jsonl"
    done = CliRunner().invoke(app, ["replay", str(log), "--out", str(out)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert [json.loads(line)["turn_index"] for line in out.read_text(encoding="utf-8").splitlines()] == [1, 3]
