"""The assertion as promptfoo's Python wrapper calls it: from a file, with JSON, and nothing but JSON goes back."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.raising import raises
from vista_guard import ConfigError, InputError
from vista_guard.integrations.evals import promptfoo

HALL = "The whale hall opened in 1925."
ASKED = "When did the whale hall open?"
TRUE = "The whale hall opened in 1925."
FALSE = "The whale hall opened in 1850."
HELLO = "Hello! How can I help you?"
LINE = "from vista_guard.integrations.evals.promptfoo import get_assert\n"


def called(folder: Path, output: Any, **context: Any) -> dict[str, Any]:
    """What promptfoo reads: it writes [output, context] as JSON, loads the user's file by its path, calls `get_assert`, and takes
    JSON back."""
    script = folder / "grounded.py"
    script.write_text(LINE, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("grounded", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    whole = {"prompt": ASKED, "vars": {}, "test": {}, "logProbs": None, "config": None, "provider": None, **context}
    arguments = json.loads(json.dumps([output, whole]))
    found: dict[str, Any] = json.loads(json.dumps(module.get_assert(*arguments)))
    assert isinstance(found["pass"], bool)
    assert isinstance(found["score"], float)
    assert isinstance(found["reason"], str)
    return found


@pytest.mark.parametrize(
    ("output", "passes", "score", "named"),
    [
        (TRUE, True, 1.0, {"vista_score": 1.0, "vista_not_judged": 0.0}),
        (FALSE, False, 0.0, {"vista_score": 0.0, "vista_not_judged": 0.0}),
        (HELLO, False, 0.0, {"vista_not_judged": 1.0}),
    ],
)
def test_a_result_has_its_claims_as_components(
    output: str, passes: bool, score: float, named: dict[str, float], tmp_path: Path
) -> None:
    found = called(tmp_path, output, vars={"context": HALL})
    assert (found["pass"], found["score"], found["namedScores"]) == (passes, score, named)
    assert [(one["pass"], one["score"]) for one in found["componentResults"]] == (
        [] if output == HELLO else [(passes, score)]
    )
    assert found["reason"].startswith("not judged: no claim" if output == HELLO else f"VISTA score {score:.2f}")
    assert passes or output == HELLO or f'"{HALL}"' in found["componentResults"][0]["reason"]


def test_cases_know_nothing_of_each_other(tmp_path: Path) -> None:
    assert called(tmp_path, TRUE, vars={"context": HALL})["score"] == 1.0
    assert called(tmp_path, TRUE)["score"] == 0.0


def test_the_config_names_policy_documents_and_a_least_score(tmp_path: Path) -> None:
    answer = f"{TRUE} The roof of the hall is made of glass."
    config = {"documents": [HALL], "min_score": 0.5, "policy": "strict"}
    loose, firm = called(tmp_path, answer, config=config), called(tmp_path, answer, config={**config, "min_score": 1})
    assert (loose["pass"], firm["pass"], loose["score"]) == (True, False, 0.5)


def test_a_chat_prompt_brings_its_history_and_tools(tmp_path: Path) -> None:
    chat = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": {"name": "look"}}]},
        {"role": "tool", "tool_call_id": "c1", "content": HALL},
    ]
    assert called(tmp_path, TRUE, prompt=json.dumps(chat))["score"] == 1.0


GUIDE = {"text": HALL, "title": "Guide"}


@pytest.mark.parametrize(
    "context",
    [
        {"vars": {"documents": GUIDE}},
        {"vars": {"documents": [GUIDE, {"text": "Tickets cost 12 euros."}]}},
        {"vars": {"documents": json.dumps([GUIDE])}},  # a file in JSON
        {"vars": {"documents": json.dumps([HALL])}},  # a file in YAML
        {"vars": {"documents": "Tickets cost 12 euros.", "context": HALL}},
        {"metadata": {"documents": [HALL]}},
        {"metadata": {"context": HALL}},
        {"config": {"documents": GUIDE}, "vars": {"documents": "", "context": None}},
    ],
)
def test_evidence_from_wherever_promptfoo_has_it(context: dict[str, Any], tmp_path: Path) -> None:
    assert called(tmp_path, TRUE, **context)["score"] == 1.0


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ({"vars": {"context": 1925}}, ("context in vars", "int")),
        ({"metadata": {"documents": [[HALL]]}}, ("documents in metadata",)),
        (
            {"config": {"documents": ["file://hall.txt"]}},
            ("documents", "config", "file://hall.txt"),
        ),
        (
            {"vars": {"documents": [{"text": " {{hall}} "}]}},
            ("documents in vars", "'{{hall}}'"),
        ),
    ],
)
def test_evidence_that_cannot_be_read_is_refused(
    context: dict[str, Any], said: tuple[str, ...], tmp_path: Path
) -> None:
    with raises(InputError, *said):
        called(tmp_path, TRUE, **context)


def test_a_text_about_files_and_templates_is_evidence(tmp_path: Path) -> None:
    told = "The address is file://hall.txt, the template is {{hall}}. " + HALL
    assert called(tmp_path, TRUE, vars={"context": told})["score"] == 1.0


def test_a_conversation_may_be_written_as_json(tmp_path: Path) -> None:
    said = [(ASKED, FALSE), ("Sure?", TRUE)]
    talk = [
        {"role": role, "content": text} for turn in said for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    given = {"vars": {"context": HALL}}
    assert called(tmp_path, json.dumps(talk), **given)["score"] == 0.5
    assert called(tmp_path, json.dumps(talk), **given, config={"turns": "last"})["score"] == 1.0


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"treshold": 1}, ("treshold",)),
        ({"policy": "stern"}, ("policy", "stern")),
        (
            {"policy": {"preset": "strict"}},
            ("policy", "preset", "strict"),
        ),
        ({"judge": 4}, ("judge", "4")),
        (
            {"judge": "gpt"},
            ("judge", "gpt"),
        ),
        ({"turns": "first"}, ("turns", "first")),
        ({"min_score": "0.5"}, ("min_score", "0.5")),
        ({"min_score": 50}, ("min_score", "50")),
        ({"min_score": True}, ("min_score", "True")),
    ],
)
def test_a_wrong_config_is_named_in_one_line(config: dict[str, Any], said: tuple[str, ...], tmp_path: Path) -> None:
    with raises(ConfigError, *said) as raised:
        called(tmp_path, HELLO, config=config)
    assert "\n" not in str(raised.value)


def test_what_is_null_in_a_config_is_not_given(tmp_path: Path) -> None:
    empty = dict.fromkeys(("judge", "policy", "documents", "turns", "min_score"))
    assert called(tmp_path, TRUE, vars={"context": HALL}, config=empty)["pass"]


def test_an_answer_of_another_kind_is_refused(tmp_path: Path) -> None:
    with raises(InputError, "int"):
        called(tmp_path, 5)


def run(*arguments: str, folder: Path, requests: str = "") -> subprocess.CompletedProcess[str]:
    """The module as a program."""
    command = [sys.executable, "-m", promptfoo.__name__, *arguments]
    return subprocess.run(
        command, cwd=folder, input=requests, capture_output=True, encoding="utf-8", check=False, timeout=120
    )


def test_one_process_answers_for_many_cases(tmp_path: Path) -> None:
    asked: list[dict[str, Any]] = [
        {"id": 1, "output": TRUE, "context": {"prompt": ASKED, "vars": {"context": HALL}}},
        {"id": 2, "output": TRUE, "context": {"prompt": ASKED}},  # knows nothing of the first
        {"id": 3, "output": FALSE, "context": {"vars": {"context": HALL}, "config": {"policy": "strict"}}},
        {"id": 4, "output": TRUE, "context": {"config": {"judge": "gpt"}}},
        {"id": 5, "context": {"vars": {"context": "Café"}}},
        {"id": 6, "output": HELLO, "context": "nonsense"},
    ]
    ran = run("--serve", folder=tmp_path, requests="".join(f"{json.dumps(one)}\n" for one in asked))
    told = {reply.pop("id"): reply for reply in map(json.loads, ran.stdout.splitlines())}
    assert (ran.returncode, sorted(told)) == (0, [1, 2, 3, 4, 5, 6])
    assert [(told[id]["result"]["pass"], told[id]["result"]["score"]) for id in (1, 2, 3)] == [
        (True, 1.0),
        (False, 0.0),
        (False, 0.0),
    ]
    assert told[3]["result"]["reason"].endswith("policy strict")
    assert told[4]["error"].startswith("ConfigError: judge is 'gpt', which does not exist.")
    assert told[5]["error"].startswith("InputError: ")
    assert told[6]["error"].startswith("AttributeError: ")  # and its traceback is on stderr, for us to hear of
    assert "Traceback" in ran.stderr


def test_the_assertion_in_javascript_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    assert run("grounded.mjs", folder=tmp_path).returncode == 0
    text = (tmp_path / "grounded.mjs").read_text("utf-8")
    assert f'"{promptfoo.__name__}"' in text
    assert "export default function grounded(output, context)" in text
    ran = run(folder=tmp_path)
    assert ran.returncode == 1
    assert ran.stderr.strip() == f"name the file to write: python -m {promptfoo.__name__} grounded.mjs"
