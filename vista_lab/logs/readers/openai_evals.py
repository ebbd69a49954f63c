"""Rows of OpenAI's evals, `{"item": {…}, "sample": {…}}`, and output items of a run, with `datasource_item` in the item's place.

The messages are the sample's input and output. A row without a sample has both in its item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import Message, decode_json, evidence, input_messages, output_messages
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import LoggedConversation, LogValue
from vista_lab.logs.talks import logged

DOCUMENTS = ("context", "contexts", "documents", "retrieved_documents", "reference")


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a row of an eval."""
    is_row = "datasource_item" in content or isinstance(decode_json(content.get("item")), Mapping)
    return Likeness.EXACT if is_row else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one row as a conversation. Raises InputError without an item or an answer."""
    content = value.content if isinstance(value.content, Mapping) else {}
    item = decode_json(content.get("item", content.get("datasource_item")))
    if not isinstance(item, Mapping):
        raise InputError('is not a row of an eval; expected {"item": {…}, "sample": {…}}')
    sample = decode_json(content.get("sample")) or {}
    if not isinstance(sample, Mapping):
        raise InputError(f"has the sample {str(sample)[:80]!r}; expected a mapping with input and output")
    messages = _messages(item, sample)
    documents = next((found for key in DOCUMENTS if (found := evidence(item.get(key), key))), [])
    identity = value.first_id(item.get("id"), content.get("datasource_item_id"), content.get("id"))
    return logged(messages, identity, value.line, documents=documents)


def _messages(item: Mapping[str, Any], sample: Mapping[str, Any]) -> list[Message]:
    rest = {key: value for key, value in item.items() if key not in DOCUMENTS}
    question = input_messages(sample.get("input")) or input_messages(rest)
    said = sample.get("output") or sample.get("output_text")
    answer = output_messages(said) or output_messages(item.get("output", item.get("answer")))
    if not answer:
        raise InputError(f"has no answer: its sample has the keys {', '.join(map(str, sample)) or 'none'}")
    return [*question, *answer]


FORMAT = LogFormat("openai-evals", looks, parse)
