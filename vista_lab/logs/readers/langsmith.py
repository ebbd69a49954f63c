"""LangSmith's runs: `Run` objects as its SDK writes them, one a line or in a list, and the Parquet of its bulk export.

A run is a span: `id`, `trace_id`, `parent_run_id`, `run_type`, `inputs`, `outputs`, `start_time`, `extra.metadata`. Its
`session_id` is the project. The thread is in the metadata, as `thread_id`, `session_id` or `conversation_id`. In Parquet,
inputs, outputs and extra are JSON in a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import decode_json, documents_in, input_messages, output_messages, tool_documents
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue
from vista_lab.logs.threads import Kind, Span, conversations, missing, moment, spans_of

THREAD_KEYS = ("thread_id", "session_id", "conversation_id")
"""Keys of a run's metadata that name its thread (LangSmith, "Configure threads")."""

KINDS = {"llm": Kind.MODEL, "chat_model": Kind.MODEL, "retriever": Kind.RETRIEVER, "tool": Kind.TOOL}


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a run, or a page of runs."""
    return Likeness.EXACT if "run_type" in content or isinstance(content.get("runs"), list) else Likeness.NONE


def read(found: Iterable[LogValue | BrokenEntry], source: str) -> Iterator[LoggedConversation | BrokenEntry]:
    """Reads the threads of runs, in any order, as conversations; `source` names the file in errors."""
    return conversations(spans_of(found, source, _runs, _span))


def _runs(content: object) -> Iterator[object]:
    if isinstance(content, Mapping) and "run_type" not in content and isinstance(content.get("runs"), list):
        for run in content["runs"]:
            yield from _runs(run)
        return
    yield content
    if isinstance(content, Mapping) and isinstance(children := decode_json(content.get("child_runs")), list):
        for child in children:
            yield from _runs(child)


def _span(run: object, value: LogValue, source: str) -> Span:
    if not isinstance(run, Mapping) or "run_type" not in run:
        raise InputError("is not a run; expected a mapping with id, trace_id, run_type, inputs and outputs")
    identity = run.get("id")
    if not identity:
        raise InputError("is a run without an id")
    kind = KINDS.get(str(run["run_type"]).lower(), Kind.OTHER)
    outputs = decode_json(run.get("outputs"))
    documents = _documents(kind, outputs)
    what = f"a run of type {run['run_type']}"
    return Span(
        id=str(identity),
        trace=str(run.get("trace_id") or identity),
        parent=_parent(run),
        thread=_thread(run),
        kind=kind,
        start=moment(run.get("start_time")),
        inputs=input_messages(run.get("inputs")),
        outputs=output_messages(outputs),
        documents=documents,
        source=f"{source} {value.place}",
        line=value.line,
        omissions=missing(what, f"run {identity}", kind, run.get("inputs"), outputs, documents),
    )


def _parent(run: Mapping[str, Any]) -> str | None:
    parents = decode_json(run.get("parent_run_ids"))
    parent = run.get("parent_run_id") or (parents[-1] if isinstance(parents, list) and parents else None)
    return None if parent is None else str(parent)


def _thread(run: Mapping[str, Any]) -> str | None:
    extra = decode_json(run.get("extra"))
    inner = decode_json(extra.get("metadata")) if isinstance(extra, Mapping) else None
    for metadata in (inner, decode_json(run.get("metadata"))):
        if isinstance(metadata, Mapping):
            thread = next((metadata[key] for key in THREAD_KEYS if metadata.get(key)), None)
            if thread is not None:
                return str(thread)
    return str(run["thread_id"]) if run.get("thread_id") else None


def _documents(kind: Kind, outputs: object) -> list[object]:
    if kind is Kind.RETRIEVER:
        return documents_in(outputs)
    return tool_documents(outputs) if kind is Kind.TOOL else []


FORMAT = LogFormat("langsmith", looks, gather=read)
