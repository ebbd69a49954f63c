"""Any JSON of a format's shape gives turns with text, or a broken entry: never an empty answer, and never nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vista_guard.types import Role
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, named, read_log
from vista_lab.logs.readers import names

WORDS = st.sampled_from(
    ["It is 310 m long.", "", " ", "Yes.", '"Quoted."', "{}", "[]", "N/A", "[1, 2]", '{"answer": "Yes."}']
)
SCALARS = st.one_of(WORDS, st.none(), st.integers(0, 9), st.booleans())
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "human", "gpt", "model", "ai"])
KINDS = st.sampled_from(
    ["text", "output_text", "image_url", "tool_use", "tool_result", "reasoning", "chart", "function"]
)


def mapping(required: dict[str, Any], **optional: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(required, optional=optional)


PARTS = mapping(
    {}, type=KINDS, text=SCALARS, value=SCALARS, content=SCALARS, name=WORDS, id=WORDS, function=mapping({}, name=WORDS)
)
CONTENT = st.one_of(WORDS, st.none(), st.lists(st.one_of(PARTS, WORDS), max_size=3), PARTS)
MESSAGES = st.lists(
    mapping({}, role=ROLES, content=CONTENT, parts=st.lists(PARTS, max_size=2), text=SCALARS, context=SCALARS),
    max_size=4,
)
SPOKEN = st.lists(mapping({"from": ROLES}, value=st.one_of(WORDS, st.none())), max_size=4)
EVIDENCE = st.one_of(
    WORDS, st.none(), st.lists(st.one_of(WORDS, st.integers(0, 9), mapping({}, text=SCALARS, id=SCALARS)), max_size=3)
)
PAYLOAD = st.one_of(
    SCALARS,
    MESSAGES,
    mapping({}, messages=MESSAGES, output=CONTENT, input=CONTENT, question=CONTENT, content=CONTENT, contents=MESSAGES),
).flatmap(lambda value: st.sampled_from([value, json.dumps(value), json.dumps(json.dumps(value))]))
TYPES = st.sampled_from(["SPAN", "GENERATION", "TOOL", "RETRIEVER", "EVENT"])
OBSERVATIONS = st.lists(
    mapping({"id": st.sampled_from("abc")}, type=TYPES, traceId=st.just("t"), input=PAYLOAD, output=PAYLOAD), max_size=3
)
SHAPES: dict[str, st.SearchStrategy[Any]] = {
    "openai": mapping({"messages": MESSAGES}, response=PAYLOAD, documents=EVIDENCE),
    "sharegpt": mapping({"conversations": SPOKEN}, chosen=SPOKEN, documents=EVIDENCE),
    "hf": mapping({}, messages=MESSAGES, prompt=PAYLOAD, completion=PAYLOAD, chosen=CONTENT, context=EVIDENCE),
    "azure": mapping({"query": PAYLOAD, "response": PAYLOAD}, context=EVIDENCE, messages=MESSAGES),
    "gemini": mapping(
        {"contents": st.one_of(MESSAGES, WORDS)}, candidates=st.lists(mapping({}, content=PAYLOAD), max_size=1)
    ),
    "csv": mapping({"question": SCALARS, "answer": SCALARS}, documents=EVIDENCE),
    "openai-evals": mapping({"item": mapping({}, input=PAYLOAD, context=EVIDENCE)}, sample=mapping({}, output=PAYLOAD)),
    "reference": st.lists(mapping({"role": ROLES, "utterance": WORDS}, retrieved_document=EVIDENCE), max_size=3),
    "langsmith": mapping(
        {"id": st.just("a"), "run_type": st.sampled_from(["chain", "llm", "tool"])}, inputs=PAYLOAD, outputs=PAYLOAD
    ),
    "langfuse": mapping(
        {"id": st.just("t"), "input": PAYLOAD, "output": PAYLOAD, "sessionId": st.none()}, observations=OBSERVATIONS
    ),
    "openinference": mapping(
        {
            "context": st.just({"trace_id": "t", "span_id": "a"}),
            "span_kind": st.sampled_from(["CHAIN", "LLM", "RETRIEVER"]),
        },
        attributes=mapping({}, **{"input.value": PAYLOAD, "output.value": PAYLOAD}),
    ),
}


def test_every_format_has_a_shape() -> None:
    assert sorted(SHAPES) == names()


@pytest.mark.parametrize("name", SHAPES)
def test_turns_with_text_or_a_broken_entry(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    log = tmp_path_factory.mktemp(name) / "log.json"
    check: Callable[[], None] = given(SHAPES[name])(lambda content: _holds(log, name, content))
    settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))(check)()


def test_a_blank_document_is_no_evidence(tmp_path: Path) -> None:
    content = {
        "messages": [],
        "response": "It is 310 m long.",
        "documents": ["", "The pier is 310 m long.", {"text": " "}],
    }
    log = tmp_path / "log.json"
    log.write_text(json.dumps([content]), encoding="utf-8")
    (entry,) = read_log(log, named("openai"))
    assert isinstance(entry, LoggedConversation)
    assert [one.text for turn in entry.conversation.turns for one in turn.documents] == ["The pier is 310 m long."]


def _holds(log: Path, name: str, content: object) -> None:
    log.write_text(json.dumps([content]), encoding="utf-8")
    entries = list(read_log(log, named(name)))
    assert entries
    for entry in entries:
        if isinstance(entry, BrokenEntry):
            assert entry.error
            assert entry.source.startswith(str(log))
        else:
            _speaks(entry)


def _speaks(entry: LoggedConversation) -> None:
    """Each answer has text; a conversation without one says so."""
    turns = entry.conversation.turns
    answers = [turn for turn in turns if turn.role is Role.ASSISTANT]
    assert turns
    assert all(turn.text.strip() for turn in answers)
    assert answers or entry.omissions
    assert all(document.text.strip() for turn in answers for document in turn.documents)
