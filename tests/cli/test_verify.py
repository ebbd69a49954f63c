"""`vista-guard verify`: a text and a folder in, claims with quotes and a verdict out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.judges.verifiers import tiny
from vista_guard.cli import app

TRUE = "The museum\n\nThe whale hall opened in 1925. Entry costs 5 euros for adults.\n"
FALSE = "The whale hall opened in 1925.\n\nEntry costs <9> euros for adults.\n\nThe bird hall burned down in 1999.\n"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VISTA_GUARD_DATA_DIR", str(tmp_path / "data"))
    Path("docs").mkdir()
    Path("docs/halls.md").write_text("# Halls\n\nThe whale hall opened in 1925.\n", encoding="utf-8")
    Path("docs/fees.html").write_text("<title>Fees</title><p>Entry costs 5 euros for adults.</p>", encoding="utf-8")
    Path("true.md").write_text(TRUE, encoding="utf-8")
    Path("false.txt").write_text(FALSE, encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["verify", *arguments])


def test_texts_with_their_claims_quotes_and_sources() -> None:
    result = run("true.md", "false.txt", "--documents", "docs", "--json", "--html", "page.html")
    assert (result.exit_code, result.stderr) == (3, "")
    true, false = map(json.loads, result.stdout.splitlines())
    assert (true["verdict"], true["factual"], true["labels"]) == ("factual", True, {"VERIFIED": 2})
    assert (false["verdict"], false["factual"], false["complete"]) == ("not factual", False, True)
    (quote,) = true["claims"][0]["evidence"]
    assert (quote["quote"], quote["source_id"], quote["title"]) == (
        "The whale hall opened in 1925.",
        "halls.md",
        "Halls",
    )
    span = true["claims"][0]["span"]
    assert TRUE[span["start"] : span["end"]] == "The whale hall opened in 1925."
    page = Path("page.html").read_text(encoding="utf-8")
    assert "&lt;9&gt; euros" in page
    assert "<9>" not in page
    assert '<mark class="VERIFIED">The whale hall opened in 1925.</mark>' in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page


def test_the_first_false_claim_ends_a_text_and_a_run_is_resumed() -> None:
    early = run("false.txt", "--documents", "docs", "--first", "--out", "out.jsonl", "--concurrency", "1", "--json")
    full = run("false.txt", "--documents", "docs", "--out", "out.jsonl", "--json")
    assert (early.exit_code, full.exit_code) == (3, 3)
    first, whole = json.loads(early.stdout), json.loads(full.stdout)
    assert first["verdict"] == whole["verdict"] == "not factual"
    assert whole["claims"][: len(first["claims"])] == first["claims"]
    other = run("false.txt", "--documents", "docs", "--out", "out.jsonl", "--passages", "2")
    assert other.exit_code == 2
    assert "passages 6 instead of 2" in other.stderr


def test_no_claims_is_said() -> None:
    Path("hello.txt").write_text("Hello there!\n", encoding="utf-8")
    result = run("hello.txt", "--documents", "docs")
    assert result.exit_code == 0
    assert "no claims" in result.stdout


def test_a_store_that_was_filled_before() -> None:
    assert CliRunner().invoke(app, ["documents", "add", "docs", "--data-dir", "kept"]).exit_code == 0
    for place in ("kept", "kept/chroma"):
        result = run("true.md", "--documents", place, "--json")
        assert (result.exit_code, json.loads(result.stdout)["verdict"]) == (0, "factual")


def test_documents_kept_in_qdrant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_STORE", "qdrant")
    empty = run("false.txt")
    assert (empty.exit_code, "holds no documents" in empty.stderr) == (2, True)
    assert CliRunner().invoke(app, ["documents", "add", "docs"]).exit_code == 0
    result = run("false.txt", "--json")
    assert (result.exit_code, json.loads(result.stdout)["verdict"]) == (3, "not factual")


def test_algorithm_1_passes_what_no_passage_speaks_of() -> None:
    Path("bird.txt").write_text("The bird hall burned down in 1999.\n", encoding="utf-8")
    weighed = run("bird.txt", "--documents", "docs", "--json")
    first = run("bird.txt", "--documents", "docs", "--json", "--weighing", "first")
    assert (weighed.exit_code, first.exit_code) == (3, 0)
    assert "first passage decides" in json.loads(first.stdout)["judge"]


def test_models_of_one_s_own_extract_and_find() -> None:
    tiny.write_folder(Path("claims"), {"model_type": "t5", "is_encoder_decoder": True, "eos_token_id": 2})
    answer = tiny.saying("the", "hall", "opened", "in", "1925")
    tiny.write_writer(Path("claims"), tiny.table(tiny.SIZE) * 0.01, answer)
    tiny.write_folder(Path("e5-tiny"), {"model_type": "bert"})
    tiny.write_graph(Path("e5-tiny/model.onnx"), tiny.table(16), "tokens", "last_hidden_state")
    Path("docs/halls.md").write_text("the hall opened in 1925", encoding="utf-8")
    result = run("false.txt", "--documents", "docs", "--decomposer", "claims", "--embedder", "e5-tiny", "--json")
    found = json.loads(result.stdout)
    texts = [claim["text"] for claim in found["claims"]]
    assert "the hall opened in 1925" in texts
    assert any("1999" in text for text in texts)  # the model left it out
    assert found["judge"].endswith("claims by claims 5 sentences; covered")
    assert (result.exit_code, found["settings"]["embedder"]) == (3, "e5-tiny")  # for what was left out

    def other(*arguments: str) -> Result:
        return CliRunner().invoke(app, list(arguments))

    assert other("documents", "add", "docs", "--data-dir", "kept", "--embedder", "e5-tiny").exit_code == 0
    kept = ("the hall opened in 1925", "--data-dir", "kept")
    assert other("documents", "search", *kept, "--embedder", "e5-tiny").stdout.startswith("1. ")
    mixed = other("documents", "search", *kept)
    assert mixed.exit_code == 1
    assert "embedded by another model (dimension 16, not 384)" in mixed.stderr
    checked = other("check", *kept, "--embedder", "e5-tiny", "--decomposer", "claims", "--json")
    assert [one["claim"]["text"] for one in json.loads(checked.stdout)["outcomes"]] == ["the hall opened in 1925"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["true.md", "--documents", "none"], "none"),
        (["true.md", "--documents", "empty"], "empty"),
        (["true.md"], "vista-guard documents add"),
        (["gone.txt", "--documents", "docs"], "gone.txt"),
        (["docs", "--documents", "docs"], "docs is a folder"),
        (["true.md", "true.md", "--documents", "docs"], "true.md is named twice"),
        (["true.md", "--documents", "docs", "--html", "nowhere/page.html"], "nowhere/page.html"),
        (["true.md", "--documents", "docs", "--decomposer", "nope"], "decomposer is 'nope'"),
        (["true.md", "--documents", "docs", "--embedder", "nope"], "embedder is 'nope'"),
        (["true.md", "--documents", "blank"], "blank"),
    ],
)
def test_wrong_input_is_told(arguments: list[str], named: str) -> None:
    Path("empty").mkdir()
    Path("blank").mkdir()
    Path("blank/empty.txt").write_text("", encoding="utf-8")
    result = run(*arguments)
    assert result.exit_code == 2
    assert named in result.stderr
