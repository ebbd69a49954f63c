"""The assertion as promptfoo's Python wrapper calls it: from a file, with JSON, and nothing but JSON goes back."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from vista_guard import ConfigError, InputError

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


def test_what_makes_no_sense_is_an_error_of_the_assertion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the assertion's config has treshold; vista-guard reads judge, policy"):
        called(tmp_path, TRUE, config={"treshold": 1})
    with pytest.raises(ConfigError, match="policy is 'stern'"):
        called(tmp_path, TRUE, config={"policy": "stern"})
    with pytest.raises(InputError, match="the agent answered with int"):
        called(tmp_path, 5)
