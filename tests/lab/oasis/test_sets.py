"""LLM-OASIS's six sets, as the hub has them: what each row becomes, and rows and files that are something else."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.raising import raises
from vista_guard.cli import app
from vista_guard.errors import InputError
from vista_guard.types import Label
from vista_lab.datasets.registry import all_datasets, count_entries, find, open_dataset
from vista_lab.logs.source import BrokenEntry, LoggedConversation

pyarrow = pytest.importorskip("pyarrow")

MILL = {"title": "Mill", "text": "The mill was built in 1702. It grinds rye."}
ROWS: Mapping[str, Sequence[dict[str, Any]]] = {
    "extraction": [{**MILL, "claims": ["The mill was built in 1702.", "The mill grinds rye."]}, {**MILL, "claims": []}],
    "falsification": [
        {**MILL, "factual_claim": ["The mill grinds rye."], "unfactual_claim": ["The mill presses oil."]},
        {**MILL, "factual_claim": ["The mill grinds rye."], "unfactual_claim": []},
    ],
    "paraphrases": [{**MILL, "claims": ["The mill grinds rye."], "paraphrase": "Rye is ground in the mill of 1702."}],
    "unfactual": [
        {**MILL, "claims": ["The mill grinds rye."], "unfactual_text": "Oil is pressed in the mill of 1702."}
    ],
}
GOLD = {
    "task1": [{"id": "t-1", "text": "Rye is ground."}, {"id": "t-2", "text": "Oil is pressed."}],
    "task2": [{"id": "c-1", "claim": "The mill presses oil.", "evidence": "Rye is ground in the mill."}],
}


def write(folder: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> Path:
    """The set's file where a snapshot of the hub has it."""
    from pyarrow import Table
    from pyarrow.parquet import write_table

    owner, _, file = find(name).files[0].partition("/")
    path = folder / owner / "data" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(Table.from_pylist([dict(row) for row in rows]), path)
    return path


def read(folder: Path, name: str) -> tuple[list[LoggedConversation], list[BrokenEntry]]:
    entries = list(open_dataset(find(name), folder).entries())
    return (
        [one for one in entries if isinstance(one, LoggedConversation)],
        [one for one in entries if isinstance(one, BrokenEntry)],
    )


def test_six_sets_are_listed_with_their_licence() -> None:
    ours = [one for name, one in all_datasets().items() if name.startswith("oasis-")]
    assert len(ours) == 10
    assert len({one.files[0].partition("/")[0] for one in ours}) == 6
    assert all("CC BY-NC-SA 4.0" in one.licence for one in ours)
    assert {one.name for one in ours if one.test} == {"oasis-gold-task1", "oasis-gold-task2"}
    sizes = ("67,426", "13,849", "42,749", "9,641", "1,708", "2,656")
    assert all(any(size in one.sample for one in ours) for size in sizes)


@pytest.mark.parametrize(
    ("name", "texts", "positive"),
    [
        ("extraction", ["The mill was built in 1702. The mill grinds rye."], [False]),
        ("falsification", ["The mill grinds rye.", "The mill presses oil."], [False, True]),
        ("paraphrases", ["Rye is ground in the mill of 1702."], [False]),
        ("unfactual", ["Oil is pressed in the mill of 1702."], [True]),
    ],
)
def test_a_step_is_texts_with_their_passage(tmp_path: Path, name: str, texts: list[str], positive: list[bool]) -> None:
    path = write(tmp_path, f"oasis-{name}-train", ROWS[name])
    found, broken = read(tmp_path, f"oasis-{name}-train")
    assert [one.conversation.turns[0].text for one in found] == texts
    assert [one.gold[0].positive for one in found] == positive
    assert {one.gold[0].group for one in found} == {"Mill"}
    assert {one.conversation.turns[0].documents[0].text for one in found} == {MILL["text"]}
    assert len({one.conversation.id for one in found}) == len(found)
    assert [one.source for one in broken] == ([f"{path} row 2"] if len(ROWS[name]) > 1 else [])


def test_extracted_claims_are_given_with_their_label(tmp_path: Path) -> None:
    write(tmp_path, "oasis-extraction-train", ROWS["extraction"])
    (entry,), _ = read(tmp_path, "oasis-extraction-train")
    assert [claim.text for claim in entry.conversation.turns[0].claims or ()] == ROWS["extraction"][0]["claims"]
    assert entry.labels == {"t0.c1": Label.VERIFIED, "t0.c2": Label.VERIFIED}


def test_the_gold_is_blind(tmp_path: Path) -> None:
    for task, rows in GOLD.items():
        write(tmp_path, f"oasis-gold-{task}", rows)
    (first, _), _ = read(tmp_path, "oasis-gold-task1")
    (claim,), _ = read(tmp_path, "oasis-gold-task2")
    assert (first.conversation.id, claim.conversation.id) == ("t-1", "c-1")
    assert first.conversation.turns[0].documents == ()
    assert claim.conversation.turns[0].documents[0].text == "Rye is ground in the mill."
    assert {first.gold[0].positive, claim.gold[0].positive} == {None}
    assert find("oasis-gold-task1").retrieves
    assert not find("oasis-gold-task2").retrieves


def test_rows_that_are_something_else_are_named(tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {**MILL, "claims": ["x"]},
        {**MILL, "paraphrase": " "},
        {"title": "Mill", "text": "", "paraphrase": "Rye."},
    ]
    write(tmp_path, "oasis-paraphrases-train", [{**MILL, "paraphrase": "Rye."}, *bad])
    found, broken = read(tmp_path, "oasis-paraphrases-train")
    assert len(found) == 1
    assert [one.error.partition(";")[0] for one in broken] == [
        "paraphrase is 'None'",
        "paraphrase is blank",
        "text is blank",
    ]
    path = write(tmp_path, "oasis-unfactual-train", [{**MILL, "texts": "Oil."}])
    with raises(InputError, "unfactual"):
        read(tmp_path, "oasis-unfactual-train")
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError):
        read(tmp_path, "oasis-unfactual-train")


def test_counts_and_a_run_to_submit(tmp_path: Path) -> None:
    """The blind gold through a baseline, and the lines that its publishers take."""
    for task, rows in GOLD.items():
        write(tmp_path / "data", f"oasis-gold-{task}", rows)
    assert count_entries(open_dataset(find("oasis-gold-task2"), tmp_path / "data").entries()).open == 1
    run = tmp_path / "run"
    words = ["eval", "oasis-gold-task2", "--data", str(tmp_path / "data"), "--system", "overlap", "--out", str(run)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    sent = CliRunner().invoke(app, ["oasis", "submit", str(run)])
    assert (sent.exit_code, sent.stdout) == (0, '{"id": "c-1", "factual": false}\n')
    file = tmp_path / "out.jsonl"
    assert CliRunner().invoke(app, ["oasis", "submit", str(run), "--out", str(file)]).exit_code == 0
    assert json.loads(file.read_text("utf-8")) == {"id": "c-1", "factual": False}


def test_a_submission_with_open_turns_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "oasis-gold-task2", GOLD["task2"])
    run = tmp_path / "run"
    words = ["eval", "oasis-gold-task2", "--data", str(tmp_path), "--system", "fact-check+evidence", "--out", str(run)]
    CliRunner().invoke(app, [*words, "--judge", "openai:m@http://127.0.0.1:9/v1"])
    assert (run / "reports.jsonl").read_text("utf-8").count("unchecked") > 0
    for _ in ("unchecked", "no report"):
        sent = CliRunner().invoke(app, ["oasis", "submit", str(run), "--out", str(tmp_path / "x")])
        assert sent.exit_code == 2
        assert "1 of 1 turns have no verdict, the first is c-1" in sent.stderr
        assert not (tmp_path / "x").exists()
        (run / "reports.jsonl").write_text("", encoding="utf-8")
    nothing = CliRunner().invoke(app, ["oasis", "submit", str(tmp_path / "nothing")])
    assert nothing.exit_code == 2
