"""ShareGPT logs: `{"id": "…", "conversations": [{"from": "human", "value": "…"}, …]}`, one a line or in a list.

In rows of preferences the answer is beside the messages, in `chosen`: a message, messages, or a text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import LoggedConversation, LogValue
from vista_lab.logs.talks import SILENT, logged


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a chat of messages that are `from` someone."""
    turns = content.get("conversations")
    if isinstance(turns, list) and turns and isinstance(turns[0], Mapping) and "from" in turns[0]:
        return Likeness.CLOSE
    return Likeness.GUESS if "conversations" in content else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one logged chat as a conversation. Tool results ground the assistant turn after them.

    Raises InputError without conversations, or for a malformed message.
    """
    content = value.content
    if not isinstance(content, Mapping) or not isinstance(content.get("conversations"), list):
        raise InputError('is not a ShareGPT chat; expected {"conversations": [{"from": "human", "value": "…"}, …]}')
    messages = [_message(index, item) for index, item in enumerate([*content["conversations"], *_chosen(content)])]
    if isinstance(content.get("system"), str):
        messages.insert(0, {"role": "system", "content": content["system"]})
    identity = value.first_id(content.get("id"))
    return logged(messages, identity, value.line, documents=content.get("documents") or ())


def _chosen(content: Mapping[str, Any]) -> list[Any]:
    chosen = content.get("chosen")
    if isinstance(chosen, str):
        return [{"from": "gpt", "value": chosen}]
    return chosen if isinstance(chosen, list) else [] if chosen is None else [chosen]


def _message(index: int, item: object) -> dict[str, Any]:
    if isinstance(item, Mapping) and "from" not in item and "role" in item:
        item = {"from": item["role"], "value": item.get("content")}
    if not isinstance(item, Mapping) or not isinstance(item.get("value"), str | None) or "value" not in item:
        raise InputError(f"message {index} is {str(item)[:80]!r}; expected a mapping with from and value")
    if item.get("from") == "function_call":
        return SILENT
    return {"role": item.get("from"), "content": item.get("value")}


FORMAT = LogFormat("sharegpt", looks, parse)
