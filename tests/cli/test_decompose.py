"""`vista-guard decompose show`: sentences, steps and claims."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.judges.decomposers.scripted import STOPPED, output, script
from vista_guard.cli import app
from vista_guard.testing import ScriptedChatServer

TEXT = "The hall, which opened in 1925, has a cafe. I love it.\n"


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answer.txt").write_text(TEXT, encoding="utf-8")


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["decompose", "show", *arguments], input=stdin)


def test_rules_show_their_steps() -> None:
    result = run("answer.txt", "--decomposer", "steps:embedded")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "  | STEP 3: Relationships: time." in result.stdout
    assert "  - The hall opened in 1925.\n  - The hall has a cafe.\n" in result.stdout
    assert "  - The assistant loves it.\n  (as it stands: of who speaks)" in result.stdout


def test_the_default_shows_its_claims_by_sentence() -> None:
    lines = [json.loads(line) for line in run("-", "--json", stdin=TEXT).stdout.splitlines()]
    assert [line["sentence"] for line in lines] == ["The hall, which opened in 1925, has a cafe.", "I love it."]
    assert lines[0]["claims"] == ["The hall opened in 1925.", "The hall has a cafe."]


def test_a_chat_model_is_asked_with_the_question() -> None:
    first = "The hall, which opened in 1925, has a cafe."
    with ScriptedChatServer(script({first: output("The hall opened in 1925."), "I love it.": STOPPED})) as server:
        named = f"steps:openai:m@{server.base_url}"
        result = run("answer.txt", "--decomposer", named, "--question", "What of the hall?", "--json")
        assert all("<question>\nWhat of the hall?\n" in one.user for one in server.requests)
    one, other = map(json.loads, result.stdout.splitlines())
    assert one["thoughts"] == "STEP 1 to 4."
    assert one["claims"] == ["The hall opened in 1925."]
    assert (other["status"], other["note"]) == ("as it stands", "No verifiable claim")


def test_the_last_assistant_turn_of_a_conversation() -> None:
    said = [{"role": "user", "content": "Open?"}, {"role": "assistant", "content": "Yes. It opened in 1925."}]
    Path("talk.json").write_text(json.dumps(said), encoding="utf-8")
    result = run("talk.json", "--decomposer", "sentence", "--json")
    assert [json.loads(line)["sentence"] for line in result.stdout.splitlines()][-1] == "It opened in 1925."
    assert run("talk.json", "--question", "Who?").exit_code == 2


@pytest.mark.parametrize("name", ["nope", "steps:", "steps:nope", "steps:openai:"])
def test_an_unknown_form_is_told_with_those_that_there_are(name: str) -> None:
    result = run("answer.txt", "--decomposer", name)
    assert result.exit_code == 2
    assert name in result.stderr
    assert "steps:embedded" in result.stderr


def test_no_text_is_told() -> None:
    Path("empty.txt").write_text(" \n", encoding="utf-8")
    for file in ("empty.txt", "missing.txt"):
        result = run(file)
        assert (result.exit_code, file in result.stderr) == (2, True)
