"""The table of the responses API: a whole response, and the items of its output."""

from __future__ import annotations

from typing import Final

from vista_guard.integrations.openai_api.fields.common import CITATION, MODEL, TIER, USAGE, part_words, spelled
from vista_guard.integrations.openai_api.fields.errors import scrubbed_error
from vista_guard.integrations.openai_api.fields.rules import (
    DROPPED,
    Rule,
    anything,
    each,
    either,
    fields,
    flag,
    integer,
    number,
    one_of,
    repeated,
    token,
    unjudged,
    words,
)
from vista_guard.integrations.openai_api.fields.sifting import Sifting
from vista_guard.integrations.openai_api.requests import Json

_STATUS: Final = one_of("completed", "in_progress", "incomplete", "failed", "cancelled", "queued", "searching")
_KNOWN: Final[dict[str, Rule]] = {"type": token, "id": token, "status": token, "call_id": token}

_TOOL_FIELDS: Final = {
    "function_call": "arguments name namespace async_ caller",
    "function_call_output": "output name namespace caller created_by",
    "custom_tool_call": "input name namespace async_ caller",
    "custom_tool_call_output": "output caller created_by",
    "file_search_call": "queries results",
    "web_search_call": "action",
    "computer_call": "action actions pending_safety_checks",
    "computer_call_output": "output acknowledged_safety_checks created_by",
    "code_interpreter_call": "code container_id outputs",
    "image_generation_call": "result action background output_format quality size revised_prompt",
    "local_shell_call": "action",
    "local_shell_call_output": "output",
    "shell_call": "action environment caller created_by",
    "shell_call_output": "output max_output_length caller created_by",
    "apply_patch_call": "operation caller created_by",
    "apply_patch_call_output": "output caller created_by",
    "mcp_call": "arguments name server_label approval_request_id error output",
    "mcp_list_tools": "server_label tools error",
    "mcp_approval_request": "arguments name server_label",
    "mcp_approval_response": "approval_request_id approve reason",
    "tool_search_call": "arguments execution created_by",
    "tool_search_output": "execution tools created_by",
    "program": "code fingerprint",
    "program_output": "result",
    "additional_tools": "role tools",
}
"""What tools are called with, and answer: passed unjudged by design, and listed so."""

THOUGHT: Final = unjudged(
    "reasoning", fields("part", {"type": one_of("summary_text", "reasoning_text"), "text": words})
)
_THOUGHTS: Final = each("part", THOUGHT)


def part(value: object, sifting: Sifting) -> object:
    """A part of a message: its words, as text to be judged, and what points into them."""
    text = part_words(value)
    if text is DROPPED:
        return DROPPED
    given: Json = value if isinstance(value, dict) else {}
    kept: Json = {"type": "output_text", "text": text}
    if given.get("type") == "refusal":
        refused: Json = {"type": "refusal", "refusal": text}
        return refused if sifting.structured else {**kept, "annotations": [], "logprobs": []}
    if "annotations" in given:
        cited = _CITATIONS(given["annotations"], sifting)
        kept["annotations"] = cited if isinstance(cited, list) else []
    if "logprobs" in given:
        kept["logprobs"] = spelled(text, given["logprobs"], sifting)
    return kept


_CITATIONS: Final = unjudged("citations", each("citation", CITATION))


def _content(value: object, sifting: Sifting) -> object:
    return _PARTS(value if isinstance(value, list) else [value], sifting)


_PARTS: Final = each("part", part)


_ITEMS: Final[dict[str, Rule]] = {
    "message": fields(
        "item",
        {
            "type": one_of("message"),
            "id": token,
            "role": one_of("assistant"),
            "status": _STATUS,
            "phase": one_of("commentary", "final_answer"),
            "content": _content,
        },
    ),
    "reasoning": fields("item", {**_KNOWN, "summary": _THOUGHTS, "content": _THOUGHTS, "encrypted_content": words}),
    "compaction": fields("item", {**_KNOWN, "encrypted_content": words}),
    **{
        kind: unjudged("tools", fields("item", {**_KNOWN, **dict.fromkeys(names.split(), anything)}))
        for kind, names in _TOOL_FIELDS.items()
    },
}


def item(value: object, sifting: Sifting) -> object:
    """An item of an output. One that speaks without saying what it is, is a message."""
    if not isinstance(value, dict):
        return DROPPED
    kind = value.get("type", "message" if "content" in value else None)
    rule = _ITEMS.get(kind) if isinstance(kind, str) else None
    return DROPPED if rule is None else rule({**value, "type": kind}, sifting)


_OUTPUT: Final = each("item", item)


def _error(value: object, _: Sifting) -> object:
    error = scrubbed_error(value)
    return {"code": error["code"] or "server_error", "message": error["message"]}


_FORMAT: Final = fields("response", {"type": one_of("text", "json_schema", "json_object")})
_EFFORT: Final = one_of("none", "minimal", "low", "medium", "high", "xhigh", "auto", "concise", "detailed")

RESPONSE: Final = fields(
    "response",
    {
        "id": token,
        "object": one_of("response"),
        **dict.fromkeys(("created_at", "completed_at", "temperature", "top_p"), number),
        **dict.fromkeys(("presence_penalty", "frequency_penalty"), number),
        "status": _STATUS,
        "error": _error,
        "incomplete_details": fields("response", {"reason": one_of("max_output_tokens", "content_filter")}),
        "model": MODEL,
        "output": _OUTPUT,
        "output_text": words,
        "usage": USAGE,
        "service_tier": TIER,
        **dict.fromkeys(("parallel_tool_calls", "background", "store"), flag),
        **dict.fromkeys(("max_output_tokens", "max_tool_calls", "top_logprobs"), integer),
        "truncation": one_of("auto", "disabled"),
        "previous_response_id": token,
        "conversation": fields("response", {"id": token}),
        "text": either(
            repeated("text"), fields("response", {"format": _FORMAT, "verbosity": one_of("low", "medium", "high")})
        ),
        "reasoning": fields("response", dict.fromkeys(("effort", "summary", "generate_summary"), _EFFORT)),
        "tool_choice": either(one_of("auto", "none", "required"), repeated("tool_choice", "auto")),
        "tools": repeated("tools", []),
        "metadata": repeated("metadata", {}),
        "prompt_cache_retention": one_of("in-memory", "in_memory", "24h"),
        **{
            name: repeated(name, None)
            for name in ("instructions", "prompt", "prompt_cache_key", "safety_identifier", "user")
        },
    },
)


def sift_response(answer: Json, sifting: Sifting) -> Json:
    """What passes of a response: its words, to be judged, and what is known to hold none."""
    kept = RESPONSE(answer, sifting)
    response: Json = kept if isinstance(kept, dict) else {}
    if "output_text" in response:
        given, response["output_text"] = response["output_text"], _texts(response.get("output"))
        if given and not response["output_text"]:
            sifting.drop("response", "output_text", given)
    return response


def _texts(output: object) -> str:
    """The words of an output, as `output_text` repeats them."""
    items = output if isinstance(output, list) else []
    contents = [item["content"] for item in items if item.get("type") == "message" and item.get("content")]
    return "".join(part.get("text", "") for content in contents for part in content)
