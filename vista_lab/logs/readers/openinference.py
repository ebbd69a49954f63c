"""Spans by the OpenInference conventions, as Phoenix and Arize store them: JSON, JSON lines, Parquet, and OTLP's JSON.

OpenTelemetry's GenAI conventions are read, too: `gen_ai.input.messages`, `gen_ai.output.messages`, `gen_ai.retrieval.documents`.

Attributes are flat (`llm.input_messages.0.message.content`), nested, or columns of a table (`attributes.llm.input_messages`): all
are read as one tree. `session.id` or `gen_ai.conversation.id` is the conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import Message, decode_json, documents_in, input_messages, output_messages, tool_documents
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue
from vista_lab.logs.threads import Kind, Span, conversations, missing, moment, spans_of

KINDS = {
    **dict.fromkeys(("LLM", "CHAT", "TEXT_COMPLETION", "GENERATE_CONTENT"), Kind.MODEL),
    **dict.fromkeys(("RETRIEVER", "RERANKER", "RETRIEVAL"), Kind.RETRIEVER),
    **dict.fromkeys(("TOOL", "EXECUTE_TOOL"), Kind.TOOL),
}
"""Kinds by OpenInference's kind of a span, or by OpenTelemetry's name of an operation."""
KIND_AT = ("attributes.openinference.span.kind", "attributes.gen_ai.operation.name", "span_kind")
OUTPUT_AT = ("attributes.output.value", "attributes.gen_ai.tool.call.result", "attributes.gen_ai.retrieval.documents")
STARTS = ("openinference", "llm", "input", "output", "gen_ai", "session")
"""Beginnings of attributes that tell of a conversation."""


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a span, or a page of spans."""
    data = content.get("data")
    is_span = _is_span(data[0] if isinstance(data, list) and data and isinstance(data[0], Mapping) else content)
    return Likeness.EXACT if is_span else Likeness.NONE


def _is_span(content: Mapping[str, Any]) -> bool:
    if "resourceSpans" in content or "resource_spans" in content or "span_kind" in content:
        return True
    if any(str(key).startswith(("context.", "attributes.")) for key in content):
        return True
    attributes = decode_json(content.get("attributes"))
    if isinstance(attributes, list):
        attributes = {attribute.get("key"): "" for attribute in attributes if isinstance(attribute, Mapping)}
    return isinstance(attributes, Mapping) and any(str(key).startswith(STARTS) for key in attributes)


def read(found: Iterable[LogValue | BrokenEntry], source: str) -> Iterator[LoggedConversation | BrokenEntry]:
    """Reads sessions as conversations; a trace without one is a conversation of its own. Spans come in any order."""
    return conversations(spans_of(found, source, _rows, _span))


def _rows(content: object) -> Iterator[object]:
    """A span, the spans of a page, or those that OTLP groups by resource and scope, without those of web servers and the like."""
    if isinstance(content, Mapping):
        for key in ("data", "resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans"):
            if isinstance(content.get(key), list):
                for inner in content[key]:
                    yield from _rows(inner)
                return
    if not (isinstance(content, Mapping) and isinstance(content.get("attributes"), list)) or _is_span(content):
        yield content


def _span(row: object, value: LogValue, source: str) -> Span:
    if not isinstance(row, Mapping):
        raise InputError(f"is {str(row)[:80]!r}; expected a span")
    tree = unflatten({key: cell for key, cell in row.items() if key != "attributes"} | {"attributes": _attributes(row)})
    identity = _first(tree, "context.span_id", "span_id", "spanId")
    trace = _first(tree, "context.trace_id", "trace_id", "traceId")
    if identity is None or trace is None:
        raise InputError(f"is not a span: it lacks span_id and trace_id and has {', '.join(map(str, row))[:80]}")
    name = _first(tree, *KIND_AT) or "unknown"
    kind = KINDS.get(str(name).upper(), Kind.OTHER)
    given, output = _first(tree, "attributes.input.value"), _first(tree, *OUTPUT_AT)
    inputs = _chat(tree, "input") or input_messages(given)
    outputs = _chat(tree, "output") or output_messages(output)
    documents = _documents(tree, kind)
    made = outputs or documents or output
    told = missing(f"a span of kind {name}", f"span {identity}", kind, inputs or given, made, documents)
    parent = _first(tree, "parent_id", "parentSpanId", "parent_span_id")
    thread = _first(tree, "attributes.session.id", "attributes.gen_ai.conversation.id")
    return Span(
        id=str(identity),
        trace=str(trace),
        parent=None if parent is None else str(parent),
        thread=None if thread is None else str(thread),
        kind=kind,
        start=moment(_first(tree, "start_time", "startTimeUnixNano", "start_time_unix_nano")),
        inputs=inputs,
        outputs=outputs,
        documents=documents,
        source=f"{source} {value.place}",
        line=value.line,
        omissions=told,
    )


def unflatten(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Builds a tree from dotted keys, at any depth: numbered keys become lists, JSON in texts stays a text."""
    tree: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = str(key).split(".")
        place = tree
        for part in path:
            inner = place.get(part)
            place[part] = place = inner if isinstance(inner, dict) else {}
        converted = _unflatten_value(value)
        existing = place.get(last)
        before = existing if isinstance(existing, dict) else {}
        place[last] = {**before, **converted} if isinstance(converted, dict) else converted
    return {key: _number_keys(value) for key, value in tree.items()}


def _unflatten_value(value: object) -> object:
    if isinstance(value, Mapping):
        return unflatten(value)
    return [_unflatten_value(item) for item in value] if isinstance(value, list) else value


def _number_keys(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _number_keys(child) for key, child in value.items()}
    if inner and all(key.isdecimal() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


def _attributes(row: Mapping[str, Any]) -> Mapping[str, Any]:
    attributes = decode_json(row.get("attributes"))
    if isinstance(attributes, list):  # OTLP: [{"key": …, "value": {"stringValue": …}}]
        known = (one for one in attributes if isinstance(one, Mapping) and "key" in one)
        return {str(one["key"]): _plain(one.get("value")) for one in known}
    return attributes if isinstance(attributes, Mapping) else {}


def _plain(value: object) -> object:
    """The set value among OTLP's alternatives; some writers list the others as null."""
    if not isinstance(value, Mapping):
        return value
    name, alternative = next(((key, one) for key, one in value.items() if one is not None), ("", None))
    if isinstance(alternative, Mapping) and isinstance(alternative.get("values"), list):
        if name in ("kvlistValue", "kvlist_value"):
            return {str(pair["key"]): _plain(pair.get("value")) for pair in alternative["values"]}
        return [_plain(item) for item in alternative["values"]]
    return alternative


def _chat(tree: Mapping[str, Any], side: str) -> list[Message]:
    messages = _decode(f"attributes.llm.{side}_messages", _first(tree, f"attributes.llm.{side}_messages"))
    items = [entry.get("message", entry) for entry in map(_tree, messages)] if isinstance(messages, list) else []
    return [_message(item) for item in items if isinstance(item, Mapping)] or _generative(tree, side)


def _generative(tree: Mapping[str, Any], side: str) -> list[Message]:
    """Messages by OpenTelemetry's conventions, after the system's instructions. Early tracers call them prompt and completion."""
    early = {"input": "prompt", "output": "completion"}[side]
    found = _first(tree, f"attributes.gen_ai.{side}.messages", f"attributes.gen_ai.{early}")
    if side == "output":
        return output_messages(found)
    told = decode_json(_first(tree, "attributes.gen_ai.system_instructions"))
    return [*(input_messages({"role": "system", "content": told}) if told else []), *input_messages(found)]


def _decode(what: str, value: object) -> object:
    """Decodes JSON. Lists as pandas writes them into CSV are refused, as evidence would be missing."""
    decoded = decode_json(value)
    if isinstance(decoded, str):
        how = "export it as Parquet (to_parquet) or JSON lines (to_json) instead"
        why = f"a text that is not JSON, {decoded[:60]!r}, as pandas writes lists into CSV"
        raise InputError(f"has {what} as {why}; {how}")
    return decoded


def _tree(value: object) -> Mapping[str, Any]:
    return unflatten(value) if isinstance(value, Mapping) else {}


def _message(fields: Mapping[str, Any]) -> Message:
    parts = fields.get("contents")
    trees = map(_tree, parts) if isinstance(parts, list) else ()
    texts = (str(_first(part, "message_content.text") or "") for part in trees)
    content = fields.get("content") or "\n".join(filter(None, texts))
    message = input_messages({"role": str(fields.get("role") or "user"), "content": content})[0]
    calls = fields.get("tool_calls")
    if isinstance(calls, list) and calls:
        message["tool_calls"] = [call.get("tool_call", call) for call in map(_tree, calls)]
    return {**message, **{key: fields[key] for key in ("tool_call_id", "name") if fields.get(key)}}


def _documents(tree: Mapping[str, Any], kind: Kind) -> list[object]:
    if kind is Kind.TOOL:
        return tool_documents(_first(tree, *OUTPUT_AT))
    found = _first(tree, "attributes.retrieval.documents", "attributes.reranker.output_documents")
    documents = _decode("documents", found)
    if documents is None and kind is Kind.RETRIEVER:
        return documents_in(_first(tree, *OUTPUT_AT))
    items = [entry.get("document", entry) for entry in map(_tree, documents)] if isinstance(documents, list) else []
    return [_document(item) for item in items if isinstance(item, Mapping) and str(item.get("content") or "").strip()]


def _document(fields: Mapping[str, Any]) -> object:
    metadata = decode_json(fields.get("metadata"))
    known = metadata if isinstance(metadata, Mapping) else {}
    title = fields.get("name") or known.get("title") or known.get("source")
    url = fields.get("url") if isinstance(fields.get("url"), str) else None
    name = None if title is None else str(title)
    return {"text": str(fields["content"]), "id": fields.get("id"), "title": name, "url": url}


def _first(tree: Mapping[str, Any], *paths: str) -> Any:
    """The first non-empty value at these paths."""
    for path in paths:
        place: Any = tree
        for part in path.split("."):
            place = place.get(part) if isinstance(place, Mapping) else None
        if place is not None and place != "":
            return place
    return None


FORMAT = LogFormat("openinference", looks, gather=read)
