"""Langfuse's exports: traces, sessions and observations.

A trace or a session as JSON, tables of traces or observations (CSV, JSON, JSON lines), and the blob storage's files. Names come
in two spellings, `sessionId` in JSON and `session_id` in the blob storage. An observation is a span of the trace `traceId`; a
trace may have an input and output of its own, which are then those of the whole exchange.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import decode, decode_json, documents_in, input_messages, output_messages, tool_documents
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, Omission
from vista_lab.logs.threads import Kind, Span, broken_span, conversations, missing, moment

TYPES = frozenset(
    ["SPAN", "GENERATION", "EVENT", "EMBEDDING", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "GUARDRAIL"]
)
"""Types of observations."""

KINDS = {"GENERATION": Kind.MODEL, "RETRIEVER": Kind.RETRIEVER, "TOOL": Kind.TOOL}

SPAN_KINDS = {"LLM": Kind.MODEL, "RETRIEVER": Kind.RETRIEVER, "TOOL": Kind.TOOL}
"""Kinds by OpenInference's attribute."""
TOOL_NAMES = ("gen_ai.tool.name", "tool.name")
"""Attributes of a tool's span."""
SIDES = {
    "input": ("gen_ai.input.messages", "input.value"),
    "output": ("gen_ai.output.messages", "output.value", "pydantic_ai.all_messages", "all_messages_events"),
}
"""Attributes of an observation that has no input or output itself."""


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a session, a trace or an observation."""
    content = _unquote(content)
    if isinstance(content.get("traces"), list) or isinstance(decode_json(content.get("observations")), list):
        return Likeness.EXACT
    session = "sessionId" in content or "session_id" in content
    is_trace = session and "input" in content and "output" in content
    return Likeness.EXACT if is_trace or _is_observation(content) else Likeness.NONE


def read(found: Iterable[LogValue | BrokenEntry], source: str) -> Iterator[LoggedConversation | BrokenEntry]:
    """Reads sessions as conversations; a trace without one is a conversation of its own. Rows come in any order."""
    return conversations(_spans(found, source))


def _spans(items: Iterable[LogValue | BrokenEntry], source: str) -> Iterator[Span | BrokenEntry]:
    for value in items:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        try:
            yield from list(_value_spans(value.content, value, source, None))
        except (InputError, RecursionError) as exc:
            row = value.content
            yield broken_span(_unquote(row) if isinstance(row, Mapping) else row, source, value, exc)


def _value_spans(content: object, value: LogValue, source: str, thread: str | None) -> Iterator[Span]:
    if not isinstance(content, Mapping):
        raise InputError(f"is {str(content)[:80]!r}; expected a trace, an observation or a session")
    content = _unquote(content)
    if isinstance(content.get("traces"), list):
        session = content["session"] if isinstance(content.get("session"), Mapping) else content
        for trace in content["traces"]:
            whole = _with_observations(trace, content.get("observations"))
            yield from _value_spans(whole, value, source, _text(session, "id") or thread)
    elif _is_observation(content):
        yield _span(content, value, source, thread, trace=None)
    else:
        yield from _trace_spans(content, value, source, thread)


def _with_observations(trace: object, observations: object) -> object:
    """A trace with those of the observations beside the traces that are its own."""
    beside = decode_json(observations)
    if not isinstance(trace, Mapping) or not isinstance(beside, list) or "observations" in trace:
        return trace
    own = [one for one in beside if isinstance(one, Mapping) and one.get("traceId") == trace.get("id")]
    return {**trace, "observations": own}


def _trace_spans(content: Mapping[str, Any], value: LogValue, source: str, thread: str | None) -> Iterator[Span]:
    trace = content["trace"] if isinstance(content.get("trace"), Mapping) else content
    identity = _text(trace, "id")
    if identity is None:
        raise InputError(f"is a trace without an id; it has the keys {', '.join(map(str, trace))[:80]}")
    session = _text(trace, "sessionId", "session_id") or thread
    inner = decode_json(content.get("observations", trace.get("observations")))
    observations = [one for one in inner if isinstance(one, Mapping)] if isinstance(inner, list) else []
    root = _span(trace, value, source, session, trace=identity)
    whole = bool(root.inputs or root.outputs) or not observations
    ids = len(inner) - len(observations) if isinstance(inner, list) else 0
    if whole and ids:
        what = "observations are ids only; export the trace with its observations"
        root = replace(root, omissions=[Omission(what, f"trace {identity}")])
    if whole:
        yield root
    for observation in observations:
        span = _span(observation, value, source, session, trace=identity)
        # Observations without a parent are children of the trace, if it has messages itself.
        yield span if span.parent or not whole else replace(span, parent=root.id)


def _span(row: Mapping[str, Any], value: LogValue, source: str, thread: str | None, *, trace: str | None) -> Span:
    identity = _text(row, "id")
    trace_id = trace or _text(row, "traceId", "trace_id")
    if identity is None or trace_id is None:
        raise InputError("is an observation without id and traceId")
    attributes = _attributes(row)
    kind = _kind(row, attributes)
    given, output = _side(row, attributes, "input"), _side(row, attributes, "output")
    documents = _documents(kind, output)
    name = str(row.get("type") or "").upper()
    told = missing(f"an observation of type {name}", f"observation {identity}", kind, given, output, documents)
    return Span(
        id=identity,
        trace=trace_id,
        parent=_text(row, "parentObservationId", "parent_observation_id"),
        thread=_text(row, "sessionId", "session_id") or thread,
        kind=kind,
        start=moment(next((row[key] for key in ("startTime", "start_time", "timestamp") if row.get(key)), None)),
        inputs=input_messages(given),
        outputs=output_messages(output),
        documents=documents,
        source=f"{source} {value.place}",
        line=value.line,
        omissions=told if trace is None or name else (),
    )


def _attributes(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of an OpenTelemetry span, which Langfuse keeps in an observation's metadata."""
    metadata = decode_json(row.get("metadata"))
    attributes = decode_json(metadata.get("attributes")) if isinstance(metadata, Mapping) else None
    return attributes if isinstance(attributes, Mapping) else {}


def _kind(row: Mapping[str, Any], attributes: Mapping[str, Any]) -> Kind:
    """The observation's kind by its type, or by its attributes if it came as an ordinary span."""
    given = KINDS.get(str(row.get("type") or "").upper())
    if given is not None:
        return given
    if attributes.get("gen_ai.operation.name") == "execute_tool" or any(attributes.get(key) for key in TOOL_NAMES):
        return Kind.TOOL
    return SPAN_KINDS.get(str(attributes.get("openinference.span.kind")), Kind.OTHER)


def _side(row: Mapping[str, Any], attributes: Mapping[str, Any], side: str) -> object:
    """The input or output of an observation, decoded; from its attributes if it has none itself."""
    own = decode(row.get(side))
    if own not in (None, ""):
        return own
    return decode(next((attributes[key] for key in SIDES[side] if attributes.get(key)), None))


def _documents(kind: Kind, output: object) -> list[object]:
    if kind is Kind.RETRIEVER:
        return documents_in(output)
    if kind is Kind.TOOL:
        return tool_documents(output)
    # In older versions retrieval was an ordinary span: its output has a list of documents.
    return documents_in(output) if isinstance(output, Mapping) and isinstance(output.get("documents"), list) else []


def _unquote(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Decodes a row of a CSV that Langfuse's pages export: each cell is JSON, so an id is `"t1"` with its quotes."""
    identity = row.get("id")
    quoted = isinstance(identity, str) and identity[:1] == '"' and _unquote_cell(identity) != identity
    return {key: _unquote_cell(cell) for key, cell in row.items()} if quoted else row


def _unquote_cell(cell: Any) -> Any:
    if not (isinstance(cell, str) and len(cell) > 1 and cell[0] == cell[-1] == '"'):
        return cell
    try:
        return json.loads(cell)
    except ValueError:
        return cell


def _is_observation(content: Mapping[str, Any]) -> bool:
    return ("traceId" in content or "trace_id" in content) and str(content.get("type") or "").upper() in TYPES


def _text(row: Mapping[str, Any], *keys: str) -> str | None:
    return next((str(row[key]) for key in keys if row.get(key) not in (None, "")), None)


FORMAT = LogFormat("langfuse", looks, gather=read)
