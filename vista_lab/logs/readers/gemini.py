"""Gemini's requests and answers, as its API, its batches and its data for tuning have them.

    {"contents": [{"role": "user", "parts": [{"text": "…"}]}], "candidates": [{"content": {"role": "model", "parts": […]}}]}
    {"request": {"contents": […], "systemInstruction": {…}}, "response": {"candidates": […]}}

Without candidates the last of the contents is the answer. Responses of functions ground it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import decode_json, evidence, input_messages, output_messages
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import LoggedConversation, LogValue
from vista_lab.logs.talks import logged

DOCUMENTS = ("documents", "context")
"""Keys of evidence beside the contents."""


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises contents of parts."""
    contents = decode_json(_request(content).get("contents"))
    items = contents if isinstance(contents, list) else [contents]
    return Likeness.EXACT if any(isinstance(item, Mapping) and "parts" in item for item in items) else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one request and its answer as a conversation. Raises InputError without contents, or if they have no text."""
    content = value.content if isinstance(value.content, Mapping) else {}
    request = _request(content)
    if "contents" not in request:
        raise InputError('is not in this format; expected {"contents": […], "candidates": […]}')
    response = decode_json(content.get("response"))
    answered = response if isinstance(response, Mapping) else content
    messages = [*input_messages(request), *output_messages({"candidates": answered.get("candidates")})]
    identity = value.first_id(content.get("id"), content.get("key"), answered.get("responseId"))
    documents = [one for key in DOCUMENTS for one in evidence(content.get(key), key)]
    return logged(messages, identity, value.line, documents=documents)


def _request(content: Mapping[str, Any]) -> Mapping[str, Any]:
    request = decode_json(content.get("request"))
    return request if isinstance(request, Mapping) else content


FORMAT = LogFormat("gemini", looks, parse)
