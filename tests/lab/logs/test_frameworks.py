"""Traces of frameworks: the question, the last answer, and what tools returned; not the tools' definitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.frameworks import ASKED, DEFINITION, FRAMEWORKS, GUIDE, LONG, gemini, observation, packed, trace
from tests.lab.logs.rows import Said, read, run, written
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, detect, read_log

DATA = {
    "google-adk": "result: The pier is 310 m long.",
    "beeai": "description: The pier is 310 m long.\ntitle: Pier",
}
"""Tools' results that are no text, as their JSON is read."""


def spoken(said: list[Said]) -> list[Said]:
    return [one for one in said if one[0] != "system"]


@pytest.mark.parametrize("name", FRAMEWORKS)
@pytest.mark.parametrize("indent", [None, 1])
def test_a_trace_of_a_framework(tmp_path: Path, name: str, indent: int | None) -> None:
    log = tmp_path / "trace.json"
    log.write_text(json.dumps(FRAMEWORKS[name], indent=indent), encoding="utf-8")
    assert detect(log).name == "langfuse"
    ((_, said),) = read(log).items()
    assert spoken(said) == [("user", ASKED, ()), ("assistant", LONG, (DATA.get(name, GUIDE),))]


def omissions(log: Path) -> list[str]:
    (entry,) = read_log(log)
    assert isinstance(entry, LoggedConversation)
    return sorted({omission.what for omission in entry.omissions})


def test_what_observations_lack_is_told(tmp_path: Path) -> None:
    row = trace(
        ASKED,
        LONG,
        observation("o1", "TOOL", {"q": "pier"}),
        observation("o2", "SPAN"),
        observation("o3", "GENERATION"),
    )
    row["observations"].append(observation("o4", "RETRIEVER", ASKED, [{"id": 7, "score": 0.3}]))
    row["observations"].append(observation("o5", "RETRIEVER", ASKED, {"documents": []}))
    assert omissions(written(tmp_path / "log.jsonl", [row])) == [
        "an observation of type GENERATION has no output",
        "an observation of type SPAN has neither input nor output",
        "an observation of type TOOL has no output",
        "no document can be read from the output of an observation of type RETRIEVER",
    ]
    row["observations"] = ["o1", "o2"]
    (told,) = omissions(written(tmp_path / "ids.jsonl", [row]))
    assert told.startswith("observations are ids only")


def test_what_runs_and_spans_lack_is_told(tmp_path: Path) -> None:
    child = {"trace_id": "a", "parent_run_id": "a"}
    rows = [run("a", "chain", {"input": ASKED}, {"output": LONG}), run("b", "tool", {"q": 1}, None, **child)]
    assert omissions(written(tmp_path / "runs.jsonl", rows)) == ["a run of type tool has no output"]
    spans: list[dict[str, Any]] = [
        {"context": {"trace_id": "t", "span_id": name}, "span_kind": kind, "attributes": attributes}
        for name, kind, attributes in [
            ("a", "CHAIN", {"input.value": packed(ASKED, 1), "output.value": packed({"answer": LONG})}),
            ("b", "TOOL", {"input.value": "pier"}),
            ("c", "RETRIEVER", {"output.value": packed([{"page_content": GUIDE}], 1)}),
        ]
    ]
    log = written(tmp_path / "spans.jsonl", spans)
    assert omissions(log) == ["a span of kind TOOL has no output"]
    assert read(log) == {"t": [("user", ASKED, ()), ("assistant", LONG, (GUIDE,))]}


def test_inputs_of_langsmith_that_are_encoded_twice(tmp_path: Path) -> None:
    rows = [run("a", "chain", packed({"question": ASKED}), packed({"answer": LONG}))]
    assert read(written(tmp_path / "runs.jsonl", rows)) == {"a": [("user", ASKED, ()), ("assistant", LONG, ())]}


def test_tools_of_an_earlier_question_ground_an_earlier_answer(tmp_path: Path) -> None:
    history = [{"role": "user", "content": "Open?"}, {"role": "tool", "content": "Open until 19:00."}]
    history += [{"role": "assistant", "content": "Until 19:00."}, {"role": "user", "content": ASKED}]
    row = trace(ASKED, LONG, observation("o1", "GENERATION", [*history, {"role": "tool", "content": GUIDE}], LONG))
    assert read(written(tmp_path / "log.jsonl", [row])) == {"t": [("user", ASKED, ()), ("assistant", LONG, (GUIDE,))]}


CONTENTS = [gemini("user", text=ASKED), gemini("model", functionCall={"name": "guide", "args": {}})]
CONTENTS += [gemini("user", functionResponse={"name": "guide", "response": GUIDE})]
CANDIDATES = [{"content": {"role": "model", "parts": [{"text": "Hm.", "thought": True}, {"text": LONG}]}}]
TOOLS = [{"functionDeclarations": [DEFINITION]}]


@pytest.mark.parametrize(
    "row",
    [
        {"contents": CONTENTS, "tools": TOOLS, "candidates": CANDIDATES},
        {"contents": [*CONTENTS, gemini("model", text=LONG)]},
        {"request": {"contents": CONTENTS, "tools": TOOLS}, "response": {"candidates": CANDIDATES}},
        {"contents": CONTENTS[:1], "candidates": CANDIDATES, "documents": [GUIDE]},
    ],
)
def test_geminis_contents(tmp_path: Path, row: object) -> None:
    log = written(tmp_path / "log.jsonl", [row])
    assert detect(log).name == "gemini"
    assert read(log) == {"line-1": [("user", ASKED, ()), ("assistant", LONG, (GUIDE,))]}


def test_geminis_system_instruction_and_key(tmp_path: Path) -> None:
    request = {"contents": CONTENTS[:1], "systemInstruction": {"parts": [{"text": "Be brief."}]}}
    row = {"key": "r1", "request": request, "response": {"candidates": CANDIDATES}}
    assert read(written(tmp_path / "log.jsonl", [row])) == {
        "r1": [("system", "Be brief.", ()), ("user", ASKED, ()), ("assistant", LONG, ())]
    }


@pytest.mark.parametrize(
    "row", [{"contents": CONTENTS[:1], "candidates": [{"content": {"parts": [{"inlineData": {}}]}}]}]
)
def test_an_answer_of_gemini_without_text(tmp_path: Path, row: object) -> None:
    (entry,) = read_log(written(tmp_path / "log.jsonl", [row]))
    assert isinstance(entry, BrokenEntry)
    assert "message 1 (assistant)" in entry.error
