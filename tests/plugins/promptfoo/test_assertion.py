"""The assertions in promptfoo's own `eval`: in Python, anew for each case, and in JavaScript, with one process for all."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.evals.page import blocks
from tests.plugins.promptfoo.running import JAVASCRIPT, PYTHON, answering, evaluated, promptfoo, written

HALL = "The whale hall opened in 1925."
FALSE = "The whale hall opened in 1850."
GLASS = "The roof of the hall is made of glass."
HELLO = "Hello! How can I help you?"

AGENT = """
import json

HALL = "The whale hall opened in 1925."
TALK = [
    {"role": "user", "content": "When did the hall open?"},
    {"role": "assistant", "content": "The whale hall opened in 1850."},
    {"role": "user", "content": "Sure?"},
    {"role": "assistant", "content": HALL},
]
TOOLS = [
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": {"name": "look"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": HALL},
    {"role": "assistant", "content": HALL},
]
ANSWERS = {
    "mapping": {"output": {"answer": HALL, "documents": [HALL]}},
    "metadata": {"output": HALL, "metadata": {"documents": [HALL]}},
    "message": {"output": {"role": "assistant", "content": HALL}},
    "tools": {"output": TOOLS},
    "talk": {"output": TALK},
    "talk in JSON": {"output": json.dumps(TALK)},
    "talk in metadata": {"output": HALL, "metadata": {"messages": TALK}},
}


def call_api(prompt, options, context):
    return ANSWERS[context["vars"]["kind"]]
"""


def vars_of(answer: str, **more: Any) -> dict[str, Any]:
    return {"vars": {"answer": answer, **more}}


@pytest.mark.parametrize("assertion", [PYTHON, JAVASCRIPT], ids=["python", "javascript"])
def test_what_promptfoo_writes_of_a_verdict(assertion: dict[str, Any], tmp_path: Path) -> None:
    told = [vars_of(answer, context=HALL) for answer in (HALL, FALSE, HELLO, f"{HALL} {GLASS}")]
    found = evaluated(tmp_path, answering(*told, vars_of(HALL), assertion=assertion), "--output", "out.html")
    results = found["results"]
    assert [(one["success"], one["score"]) for one in results] == [
        (True, 1),
        (False, 0),
        (False, 0),
        (False, 0.5),
        (False, 0),  # no evidence: what another case verified is not known here
    ]
    assert [one["namedScores"] for one in results[:3]] == [
        {"vista_score": 1, "vista_not_judged": 0},
        {"vista_score": 0, "vista_not_judged": 0},
        {"vista_not_judged": 1},
    ]
    assert results[1]["error"].startswith("VISTA score 0.00: 0 of 1 judged claims safe; turn 1: BLOCK")
    assert results[2]["error"].startswith("not judged: no claim was found")
    whole, *claims = results[3]["gradingResult"]["componentResults"]
    assert (whole["score"], [(claim["pass"], claim["score"]) for claim in claims]) == (0.5, [(True, 1), (False, 0)])
    assert claims[0]["reason"].endswith(f'"{HALL}"')
    metrics = found["prompts"][0]["metrics"]
    assert metrics["namedScores"]["vista_score"] == 1.5
    assert metrics["namedScoresCount"] == {
        "vista_score": 4,
        "vista_not_judged": 5,
    }  # an average leaves out the greeting
    assert f"CONTRADICTED 0.92  {FALSE}" in (tmp_path / "out.html").read_text("utf-8")


def test_one_process_judges_all_cases(tmp_path: Path) -> None:
    started = tmp_path / "started"
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho "$@" >> "{started}"\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    cases = [vars_of(f"The whale hall opened in {year}.", context=HALL) for year in range(1916, 1936)]
    found = evaluated(tmp_path, answering(*cases), PROMPTFOO_PYTHON=str(python))
    assert [one["vars"]["answer"] for one in found["results"] if one["success"]] == [HALL]
    assert found["stats"]["errors"] == 0
    assert started.read_text("utf-8").splitlines() == ["-m vista_guard.integrations.evals.promptfoo --serve"]


def test_evidence_as_promptfoo_brings_it(tmp_path: Path) -> None:
    (tmp_path / "hall.txt").write_text(HALL, encoding="utf-8")
    (tmp_path / "documents.json").write_text(json.dumps([{"text": HALL, "title": "Guide"}]), encoding="utf-8")
    (tmp_path / "documents.yaml").write_text(f"- {HALL}\n- Tickets cost 12 euros.\n", encoding="utf-8")
    guide = {"text": HALL, "title": "Guide"}
    read = [
        vars_of(HALL, documents=guide),
        vars_of(HALL, documents=[guide, {"text": "Tickets cost 12 euros."}]),
        vars_of(HALL, documents="file://documents.json"),
        vars_of(HALL, documents="file://documents.yaml"),
        vars_of(HALL, context="file://hall.txt"),
        vars_of(HALL, hall="The whale hall", context="{{hall}} opened in 1925."),
        {**vars_of(HALL), "assert": [{**JAVASCRIPT, "config": {"documents": [guide]}}]},
        {**vars_of(HALL, documents=["Tickets cost 12 euros.", HALL]), "options": {"disableVarExpansion": True}},
    ]
    unread = [
        vars_of(HALL, context=1925),
        vars_of(HALL, documents=[{"text": "file://hall.txt"}]),
        {**vars_of(HALL, hall=HALL), "assert": [{**JAVASCRIPT, "config": {"documents": "{{hall}}"}}]},
    ]
    results = evaluated(tmp_path, answering(*read, *unread))["results"]
    assert [one["score"] for one in results] == [1] * len(read) + [0] * len(unread)
    assert "“Guide”" in results[2]["gradingResult"]["componentResults"][1]["reason"]
    assert [one["error"].strip() for one in results[len(read) :]] == [
        "Error: InputError: context in vars: documents is int; give a text, a Document, a mapping with text, or a list",
        "Error: InputError: documents in vars is 'file://hall.txt', which promptfoo has not read; make it the whole value of the "
        "test's var `documents` or `context`",
        "Error: InputError: documents in the assertion's config is '{{hall}}', which promptfoo has not read; make it the whole "
        "value of the test's var `documents` or `context`",
    ]


def test_a_list_of_texts_is_a_case_each(tmp_path: Path) -> None:
    """Which is promptfoo's way, and what the page warns of."""
    found = evaluated(tmp_path, answering(vars_of(HALL, documents=[HALL, "Tickets cost 12 euros."])))
    assert [one["score"] for one in found["results"]] == [1, 0]


def test_prompts_and_answers_of_agents(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    history = [{"role": "assistant", "content": FALSE}, {"role": "user", "content": "{{question}}"}]
    (tmp_path / "chat.json").write_text(json.dumps(history), encoding="utf-8")
    (tmp_path / "chat.yaml").write_text('- {role: user, content: "{{question}}"}\n', encoding="utf-8")
    last = [{**JAVASCRIPT, "config": {"turns": "last", "documents": HALL}}]
    messages = [{**JAVASCRIPT, "config": {"documents": HALL}, "transform": "context.metadata.messages"}]
    tests: list[tuple[str, dict[str, Any], float]] = [
        ("mapping", {}, 1),
        ("metadata", {}, 1),
        ("message", {}, 0),
        ("tools", {}, 1),
        ("talk", {"assert": last}, 1),
        ("talk in JSON", {"vars": {"context": HALL}}, 0.5),
        ("talk in metadata", {"assert": messages}, 0.5),
    ]
    config = {
        "prompts": ["{{question}}", "file://chat.json", "file://chat.yaml"],
        "providers": ["file://agent.py"],
        "defaultTest": {"vars": {"question": "Are you sure?"}},
        "tests": [
            {"assert": [JAVASCRIPT], **more, "vars": {"kind": kind, **more.get("vars", {})}} for kind, more, _ in tests
        ],
    }
    results = evaluated(tmp_path, config)["results"]
    assert [one["score"] for one in results] == [score for _, _, score in tests for _ in range(3)]
    claim = "turn 2  VERIFIED"  # what was said before stands before it, and is not judged again
    assert [claim in one["gradingResult"]["componentResults"][0]["reason"] for one in results[:3]] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("assertion", [PYTHON, JAVASCRIPT], ids=["python", "javascript"])
def test_a_wrong_config_is_named_first(assertion: dict[str, Any], tmp_path: Path) -> None:
    wrong = {
        "the assertion's config has treshold; vista-guard reads judge, policy, ": {"treshold": 1},
        "policy is 'stern'": {"policy": "stern"},
        "judge is 'gpt', which does not exist. The judges are: | embedded the judge inside": {"judge": "gpt"},
    }
    cases = [{**vars_of(HALL, context=HALL), "assert": [{**assertion, "config": config}]} for config in wrong.values()]
    found = evaluated(tmp_path, answering(*cases))
    shown = (
        "Error: ConfigError: "
        if assertion is JAVASCRIPT
        else "Error running Python script: vista_guard.errors.ConfigError: "
    )
    assert [one["error"].startswith(shown + said) for one, said in zip(found["results"], wrong, strict=True)] == [
        True
    ] * 3
    counted = "errors" if assertion is JAVASCRIPT else "failures"
    assert found["stats"][counted] == len(wrong)


def test_min_score_threshold_and_not(tmp_path: Path) -> None:
    half = vars_of(f"{HALL} {GLASS}", context=HALL)
    loose = {**JAVASCRIPT, "config": {"min_score": 0.5}}
    tests = [
        {**half, "assert": [loose]},
        {**half, "assert": [{**JAVASCRIPT, "config": {"min_score": 0.6}}]},
        {**half, "assert": [{**loose, "metric": "grounded", "weight": 3}, {"type": "contains", "value": "whale"}]},
        {**half, "assert": [{**loose, "threshold": 0.8}]},
        {**half, "assert": [{**PYTHON, "config": {"min_score": 0.5}, "threshold": 0.8}]},
        {**vars_of(HELLO), "assert": [{**JAVASCRIPT, "type": "not-javascript"}]},
    ]
    results = evaluated(tmp_path, answering(*tests))["results"]
    assert [one["success"] for one in results] == [True, False, True, True, False, True]
    assert (results[2]["score"], results[2]["namedScores"]["grounded"]) == (0.625, 0.5)


@pytest.mark.parametrize("python", ["true", "/no/such/python"])
def test_an_interpreter_that_cannot_judge_is_named(python: str, tmp_path: Path) -> None:
    found = evaluated(tmp_path, answering(*[vars_of(HALL)] * 3), PROMPTFOO_PYTHON=python)
    said = re.compile(rf"Error: {python} .*; PROMPTFOO_PYTHON must name the interpreter that has vista-guard")
    assert [bool(said.match(one["error"])) for one in found["results"]] == [True] * 3


def test_the_example_of_the_page(tmp_path: Path) -> None:
    for name, text in zip(("grounded.py", "agent.py"), blocks("promptfoo"), strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    config, other = blocks("promptfoo", "yaml")
    (tmp_path / "promptfooconfig.yaml").write_text(config, encoding="utf-8")
    run, write = blocks("promptfoo", "bash")
    [said] = blocks("promptfoo", "text")
    command = run.splitlines()[1].split()
    assert command[0] == "promptfoo"
    assert said in promptfoo(tmp_path, *command[1:]).stdout
    assert write.split()[0] == "python"
    subprocess.run([sys.executable, *write.split()[1:]], cwd=tmp_path, check=True)
    first, found, rest = config.partition("      - type: python\n        value: file://grounded.py\n")
    assert found
    (tmp_path / "promptfooconfig.yaml").write_text(first + other + rest, encoding="utf-8")
    [failed] = written(tmp_path)["results"]
    assert failed["error"].startswith("VISTA score 0.00: 0 of 1 judged claims safe")
    assert failed["error"].endswith("policy strict")
