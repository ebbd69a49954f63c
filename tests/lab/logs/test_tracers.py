"""Langfuse's exports and OpenInference's spans."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import broken, read, written
from vista_lab.logs.formats import detect, named

SAID = [("user", "How long?", ()), ("assistant", "It is 310 m long.", ("The pier is 310 m long.",))]
THEN = [("user", "Open?", ()), ("assistant", "Yes.", ())]
DOCUMENTS = [{"page_content": "The pier is 310 m long.", "metadata": {}}]


def observation(name: str, kind: str, given: Any, out: Any, *, parent: str | None = None) -> dict[str, Any]:
    return {
        "id": name,
        "type": kind,
        "startTime": "2026-11-02T09:00:01.000Z",
        "traceId": "a",
        "parentObservationId": parent,
        "input": given,
        "output": out,
    }


OBSERVATIONS = [
    observation("r", "RETRIEVER", "How long?", DOCUMENTS, parent="m"),
    observation(
        "m", "GENERATION", [{"role": "user", "content": "How long?"}], {"role": "assistant", "content": SAID[1][1]}
    ),
]
TRACE = {
    "id": "a",
    "timestamp": "2026-11-02T09:00:00Z",
    "sessionId": "visit",
    "input": "How long?",
    "output": SAID[1][1],
}
LATER = {"id": "b", "timestamp": "2026-11-02T09:09:00Z", "sessionId": "visit", "input": {"question": "Open?"}}


def test_a_trace_and_a_session(tmp_path: Path) -> None:
    trace = tmp_path / "trace-a.json"
    trace.write_text(json.dumps({**TRACE, "observations": OBSERVATIONS, "scores": []}, indent=1), encoding="utf-8")
    assert detect(trace) is named("langfuse")
    assert read(trace) == {"visit": SAID}
    session = tmp_path / "session.json"
    second = {**LATER, "output": {"answer": "Yes."}}
    traces = [
        {key: one[key] for key in one if key != "sessionId"}
        for one in (second, {**TRACE, "observations": OBSERVATIONS})
    ]
    session.write_text(json.dumps({"id": "visit", "traces": traces}), encoding="utf-8")
    assert read(session) == {"visit": SAID + THEN}


def test_a_trace_that_says_nothing_itself_is_read_from_its_observations(tmp_path: Path) -> None:
    bare = {**TRACE, "input": None, "output": None, "observations": OBSERVATIONS}
    assert read(written(tmp_path / "traces.jsonl", [bare])) == {"visit": SAID}


def test_tables_of_traces(tmp_path: Path) -> None:
    second = {**LATER, "input": json.dumps(LATER["input"]), "output": json.dumps({"answer": "Yes."})}
    log = tmp_path / "traces.csv"
    with log.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(TRACE))
        table.writeheader()
        table.writerows([second, TRACE])
    assert detect(log) is named("langfuse")
    assert read(log) == {"visit": [SAID[0], (*SAID[1][:2], ()), *THEN]}


def test_the_blob_storages_observations(tmp_path: Path) -> None:
    spelled = {"traceId": "trace_id", "startTime": "start_time", "parentObservationId": "parent_observation_id"}
    rows = [{spelled.get(key, key): one for key, one in row.items()} for row in OBSERVATIONS]
    blob = [{**row, "session_id": "visit", "start_time": "2026-11-02 09:00:01.000000"} for row in rows]
    for row in blob:
        row |= {key: json.dumps(row[key]) for key in ("input", "output")}
    assert read(written(tmp_path / "observations_v2.jsonl", blob)) == {"visit": SAID}


def test_a_broken_row_of_langfuse(tmp_path: Path) -> None:
    rows = [{**TRACE, "id": None}, {**TRACE, "observations": [{"type": "SPAN"}]}, TRACE]
    assert broken(written(tmp_path / "traces.jsonl", rows), named("langfuse")) == [
        "line 1: is a trace without an id; it has the keys id, timestamp, sessionId, input, output",
        "line 2: is an observation without id and traceId",
    ]


def span(name: str, kind: str, attributes: dict[str, Any], *, parent: str | None = None, at: int = 0) -> dict[str, Any]:
    return {
        "name": kind.lower(),
        "context": {"trace_id": name[0], "span_id": name},
        "span_kind": kind,
        "parent_id": parent,
        "start_time": f"2026-11-02T09:0{at}:00+00:00",
        "end_time": f"2026-11-02T09:0{at}:09+00:00",
        "status_code": "OK",
        "attributes": {"openinference.span.kind": kind, **attributes},
    }


MODEL = {
    "session.id": "visit",
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "Be brief.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "How long?",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "It is 310 m long.",
}
RETRIEVED = {
    "retrieval.documents.0.document.id": "guide",
    "retrieval.documents.0.document.content": "The pier is 310 m long.",
    "retrieval.documents.0.document.metadata": '{"title": "Guide"}',
}
SPANS = [
    span("a1", "LLM", MODEL, parent="a0"),
    span("a2", "RETRIEVER", RETRIEVED, parent="a0"),
    span("a0", "CHAIN", {}),
    span("b0", "CHAIN", {"session.id": "visit", "input.value": '{"input": "Open?"}', "output.value": "Yes."}, at=5),
]
SPOKEN = {"visit": [("system", "Be brief.", ()), *SAID, *THEN]}


def nested(attributes: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in attributes.items():
        *path, last = key.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return tree


def test_spans_with_flat_and_with_nested_attributes(tmp_path: Path) -> None:
    flat = written(tmp_path / "spans.jsonl", SPANS)
    assert detect(flat) is named("openinference")
    assert read(flat) == SPOKEN
    page = tmp_path / "page.json"
    page.write_text(
        json.dumps({"data": [{**one, "attributes": nested(one["attributes"])} for one in SPANS]}), encoding="utf-8"
    )
    assert read(page) == SPOKEN


def test_a_table_of_spans_as_phoenix_keeps_it(tmp_path: Path) -> None:
    import pandas  # type: ignore[import-untyped]  # the stubs are a package of their own

    rows = [
        {
            "context.trace_id": one["context"]["trace_id"],
            "context.span_id": one["context"]["span_id"],
            "parent_id": one["parent_id"],
            "start_time": pandas.Timestamp(one["start_time"]),
            "attributes.openinference.span.kind": one["span_kind"],
            "attributes.session.id": one["attributes"].get("session.id"),
            "attributes.input.value": one["attributes"].get("input.value"),
            "attributes.output.value": one["attributes"].get("output.value"),
        }
        for one in SPANS
    ]
    chat = [
        {"message.role": "system", "message.content": "Be brief."},
        {"message.role": "user", "message.content": "How long?"},
    ]
    rows[0] |= {"attributes.llm.input_messages": chat}
    rows[0] |= {"attributes.llm.output_messages": [{"message.role": "assistant", "message.content": SAID[1][1]}]}
    rows[1] |= {
        "attributes.retrieval.documents": [{"document.content": "The pier is 310 m long.", "document.score": 0.9}]
    }
    log = tmp_path / "spans.parquet"
    pandas.DataFrame(rows).to_parquet(log)
    assert detect(log) is named("openinference")
    assert read(log) == SPOKEN


def test_otlp(tmp_path: Path) -> None:
    spans: list[dict[str, Any]] = [
        {
            "traceId": one["context"]["trace_id"],
            "spanId": one["context"]["span_id"],
            "parentSpanId": one["parent_id"] or "",
            "startTimeUnixNano": str(1_793_610_000_000_000_000 + index),
            "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in one["attributes"].items()],
        }
        for index, one in enumerate(SPANS)
    ]
    exported = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}
    assert read(written(tmp_path / "otlp.jsonl", [exported])) == SPOKEN
    snake = {"traceId": "trace_id", "spanId": "span_id", "parentSpanId": "parent_span_id"}
    page = [{snake.get(key, key): value for key, value in one.items()} for one in spans]
    for one in page:
        one["start_time_unix_nano"] = int(one.pop("startTimeUnixNano"))
        one["attributes"] = [
            {"key": each["key"], "value": {"array_value": None, "string_value": each["value"]["stringValue"]}}
            for each in one["attributes"]
        ]
    assert read(written(tmp_path / "page.jsonl", [{"data": page, "next_cursor": None}])) == SPOKEN


def test_a_broken_span(tmp_path: Path) -> None:
    rows = [SPANS[3], {"name": "x", "span_kind": "LLM"}, span("c0", "EMBEDDING", {"input.value": "How long?"})]
    assert broken(written(tmp_path / "spans.jsonl", rows)) == [
        "line 2: is not a span: it lacks span_id and trace_id and has name, span_kind",
        "line 3: trace c has no readable answer",
    ]


def parts(role: str, *given: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(given)}


TOLD = {"type": "tool_call_response", "id": "c1", "response": "The wind is strong."}
WINDY: list[tuple[str, dict[str, Any]]] = [
    ("invoke_agent", {"gen_ai.conversation.id": "visit"}),
    (
        "retrieval",
        {
            "gen_ai.retrieval.documents": [
                {"id": "d1", "content": "The pier is 310 m long.", "score": 0.9},
                {"id": "d2"},
            ]
        },
    ),
    ("execute_tool", {"gen_ai.tool.name": "weather", "gen_ai.tool.call.result": "The wind is strong."}),
    (
        "chat",
        {
            "gen_ai.system_instructions": [{"type": "text", "content": "Be brief."}],
            "gen_ai.input.messages": [
                parts("user", {"type": "text", "content": "How long?"}),
                parts(
                    "assistant", {"type": "reasoning", "content": "Hm."}, {"type": "tool_call", "id": "c1", "name": "w"}
                ),
                parts("tool", TOLD),
            ],
            "gen_ai.output.messages": [parts("assistant", {"type": "text", "content": "It is 310 m long."})],
        },
    ),
]
"""A trace by OpenTelemetry's GenAI conventions: each span's operation and attributes."""


def any_value(value: Any) -> dict[str, Any]:
    """A value in OTLP's JSON."""
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(one)} for key, one in value.items()]}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    return {"stringValue": value} if isinstance(value, str) else {"doubleValue": value}


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("otlp", [False, True])
def test_generative_conventions_of_opentelemetry(tmp_path: Path, *, structured: bool, otlp: bool) -> None:
    spans = []
    for index, (operation, given) in enumerate(WINDY):
        packed = {key: one if structured or isinstance(one, str) else json.dumps(one) for key, one in given.items()}
        attributes = {"gen_ai.operation.name": operation, **packed}
        place = {"traceId": "t", "spanId": str(index), "parentSpanId": "0" if index else ""}
        pairs = [{"key": key, "value": any_value(one)} for key, one in attributes.items()]
        start = 1_793_610_000_000_000_000 + index
        spans.append({**place, "startTimeUnixNano": str(start), "attributes": pairs if otlp else attributes})
    server = {"traceId": "u", "spanId": "9", "attributes": [{"key": "http.method", "value": {"stringValue": "GET"}}]}
    rows = [{"resourceSpans": [{"scopeSpans": [{"spans": [server, *spans]}]}]}] if otlp else spans
    log = written(tmp_path / "spans.jsonl", rows)
    assert detect(log) is named("openinference")
    answer = ("assistant", "It is 310 m long.", ("The pier is 310 m long.", "The wind is strong."))
    assert read(log) == {"visit": [("system", "Be brief.", ()), ("user", "How long?", ()), answer]}


def test_messages_of_early_tracers(tmp_path: Path) -> None:
    said = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "How long?"}
    said |= {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "It is 310 m long."}
    row = {"context": {"trace_id": "t", "span_id": "s"}, "start_time": "2026-11-02T09:00:00Z", "attributes": said}
    found = read(written(tmp_path / "spans.jsonl", [row]))
    assert found == {"t": [("user", "How long?", ()), ("assistant", "It is 310 m long.", ())]}
