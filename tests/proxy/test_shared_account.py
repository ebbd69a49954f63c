"""Where tenants share one account at upstream, no spelling of a reference reaches what upstream keeps of another tenant."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.proxy.serving import ASKED, TRUTH, proxy
from vista_guard.proxy.security import key_hash, new_key
from vista_guard.proxy.shared_account import refusal
from vista_guard.testing import ScriptedChatServer

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
HI = {"role": "user", "content": "Hi"}
SAID = [{"type": "output_text", "text": "The hall is old.", "annotations": [], "logprobs": []}]


def asks(**fields: Any) -> dict[str, Any]:
    return {"input": "Hi", **fields}


def sends(*items: Any) -> dict[str, Any]:
    return {"input": [HI, *items]}


def uses(**tool: Any) -> dict[str, Any]:
    return asks(tools=[tool])


def shows(*parts: Any) -> dict[str, Any]:
    return sends({"role": "user", "content": list(parts)})


REFERENCES: dict[str, tuple[dict[str, Any], str]] = {
    "a previous response": (asks(previous_response_id="resp_1"), "previous_response_id"),
    "one that is a number": (asks(previous_response_id=7), "previous_response_id"),
    "a conversation": (asks(conversation="conv_1"), "conversation"),
    "a conversation as an object": (asks(conversation={"id": "conv_1"}), "conversation"),
    "a prompt": (asks(prompt={"id": "pmpt_1", "variables": {}}), "prompt"),
    "an item reference": (sends({"type": "item_reference", "id": "msg_1"}), "input[1].type"),
    "one of no type": (sends({"id": "msg_1"}), "input[1].id"),
    "one whose type is null": (sends({"type": None, "id": "msg_1"}), "input[1].type"),
    "one whose type is empty": (sends({"type": "", "id": "msg_1"}), "input[1].type"),
    "one whose type is a list": (sends({"type": ["item_reference"], "id": "msg_1"}), "input[1].type"),
    "a message": (sends({"type": "message", "id": "msg_1", "role": "assistant"}), "input[1].id"),
    "a message of nothing": (sends({"id": "msg_1", "role": "assistant", "content": []}), "input[1].id"),
    "a message of spaces": (sends({"id": "msg_1", "role": "assistant", "content": " \n"}), "input[1].id"),
    "a message of empty parts": (
        sends({"id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": ""}]}),
        "input[1].id",
    ),
    "reasoning": (sends({"type": "reasoning", "id": "rs_1", "summary": []}), "input[1].id"),
    "reasoning with a summary": (
        sends({"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Thinks."}]}),
        "input[1].id",
    ),
    "reasoning without its content": (
        sends({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None}),
        "input[1].id",
    ),
    "an image": (sends({"type": "image_generation_call", "id": "ig_1"}), "input[1].id"),
    "an image without its result": (
        sends({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": None}),
        "input[1].id",
    ),
    "a web search": (
        sends({"type": "web_search_call", "id": "ws_1", "action": {"type": "search", "query": "hall"}}),
        "input[1].id",
    ),
    "a file search": (sends({"type": "file_search_call", "id": "fs_1", "queries": ["hall"]}), "input[1].id"),
    "code": (
        sends({"type": "code_interpreter_call", "code": "1", "container_id": "cntr_1"}),
        "input[1].container_id",
    ),
    "a call": (sends({"type": "function_call", "id": "fc_1", "call_id": "c"}), "input[1].id"),
    "an mcp call": (sends({"type": "mcp_call", "id": "m", "name": "x", "arguments": "{}"}), "input[1].id"),
    "a tool list": (sends({"type": "mcp_list_tools", "id": "m", "server_label": "x", "tools": []}), "input[1].id"),
    "an approval": (
        sends({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True}),
        "input[1].approval_request_id",
    ),
    "compaction": (sends({"type": "compaction", "id": "cmp_1"}), "input[1].id"),
    "an item of a new type": (sends({"type": "memory_call", "text": "mem_1"}), "input[1].type"),
    "a file": (shows({"type": "input_file", "file_id": "file_1"}), "input[1].content[0].file_id"),
    "an image file": (shows({"type": "input_image", "file_id": "file_1"}), "input[1].content[0].file_id"),
    "a part with an id": (shows({"type": "input_text", "text": "Hi", "id": "part_1"}), "input[1].content[0].id"),
    "a part of a new type": (shows({"type": "stored_text", "text": "msg_1"}), "input[1].content[0].type"),
    "a file in a tool's output": (
        sends({"type": "function_call_output", "call_id": "c", "output": [{"type": "input_file", "file_id": "f"}]}),
        "input[1].output[0].file_id",
    ),
    "a screenshot": (
        sends(
            {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "file_id": "f"}}
        ),
        "input[1].output.file_id",
    ),
    "a cited file": (
        sends(
            {"role": "assistant", "content": [{**SAID[0], "annotations": [{"type": "file_citation", "file_id": "f"}]}]}
        ),
        "input[1].content[0].annotations[0].type",
    ),
    "vector stores": (uses(type="file_search", vector_store_ids=["vs_1"]), "tools[0].vector_store_ids"),
    "a container": (uses(type="code_interpreter", container="cntr_1"), "tools[0].container"),
    "a container's files": (
        uses(type="code_interpreter", container={"type": "auto", "file_ids": ["f"]}),
        "tools[0].container.file_ids",
    ),
    "a container of a shell": (
        uses(type="shell", environment={"type": "container_reference", "container_id": "cntr_1"}),
        "tools[0].environment.type",
    ),
    "a container by its id alone": (
        uses(type="shell", environment={"type": "container_auto", "container_id": "cntr_1"}),
        "tools[0].environment.container_id",
    ),
    "a skill": (
        uses(
            type="shell",
            environment={"type": "container_auto", "skills": [{"type": "skill_reference", "skill_id": "skill_1"}]},
        ),
        "tools[0].environment.skills[0].type",
    ),
    "a skill of no type": (
        uses(type="shell", environment={"type": "container_auto", "skills": [{"skill_id": "skill_1"}]}),
        "tools[0].environment.skills[0].skill_id",
    ),
    "a skill by name": (
        uses(type="shell", environment={"type": "container_auto", "skills": ["skill_1"]}),
        "tools[0].environment.skills",
    ),
    "a connector": (uses(type="mcp", server_label="x", connector_id="connector_1"), "tools[0].connector_id"),
    "a tunnel": (uses(type="mcp", server_label="x", tunnel_id="tunnel_1"), "tools[0].tunnel_id"),
    "a mask": (
        uses(type="image_generation", input_image_mask={"file_id": "f"}),
        "tools[0].input_image_mask.file_id",
    ),
    "a tool's id": (uses(type="function", name="x", id="tool_1"), "tools[0].id"),
    "a tool of a new type": (uses(type="memory", memory="mem_1"), "tools[0].type"),
    "an unknown field": (asks(memory="mem_1"), "memory"),
    "an unknown list": (asks(context=["msg_1"]), "context"),
    "an unknown object": (asks(context={"a": {"b": "msg_1"}}), "context"),
    "an unknown key of an item": (sends({**HI, "from": "msg_1"}), "input[1].from"),
    "a number under an id's name": (asks(previousResponseId=7), "previousResponseId"),
    "a number under another one": (asks(**{"previous-response-id": 7}), "previous-response-id"),
    "a number in capitals": (asks(FILE_ID=7), "FILE_ID"),
    "a tool by its name": (asks(tools=["tool_1"]), "tools"),
    "parts of a filter": (uses(type="web_search", filters="flt_1"), "tools[0].filters"),
    "a policy by its id": (
        uses(type="code_interpreter", container={"type": "auto", "network_policy": "np_1"}),
        "tools[0].container.network_policy",
    ),
    "headers of the request": (asks(headers={"Conversation": "conv_1"}), "headers"),
    "parameters of the request": (asks(parameters={"previous_response_id": "resp_1"}), "parameters"),
    "an approval inside a message": (
        shows({"type": "mcp_approval_response", "approval_request_id": "mcpr_1"}),
        "input[1].content[0].approval_request_id",
    ),
    "another case": (asks(Previous_Response_Id="resp_1"), "Previous_Response_Id"),
    "an assistant": (asks(assistant_id="asst_1"), "assistant_id"),
}
CHAT_REFERENCES: dict[str, tuple[dict[str, Any], str]] = {
    "spoken audio": ({"messages": [HI, {"role": "assistant", "audio": {"id": "audio_1"}}]}, "messages[1].audio.id"),
    "spoken audio with words": (
        {"messages": [HI, {"role": "assistant", "content": "x", "audio": {"id": "audio_1", "content": "x"}}]},
        "messages[1].audio.id",
    ),
    "a voice": ({"messages": [HI], "audio": {"format": "wav", "voice": {"id": "voice_1"}}}, "audio.voice.id"),
    "a voice by its id": ({"messages": [HI], "audio": {"format": "wav", "voice": "voice_1"}}, "audio.voice"),
    "a file": (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}]},
        "messages[0].content[0].file.file_id",
    ),
    "a file by its id": (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": "f"}]}]},
        "messages[0].content[0].file",
    ),
    "a message": ({"messages": [HI, {"role": "assistant", "id": "msg_1", "content": None}]}, "messages[1].id"),
    "a tool call": (
        {"messages": [HI, {"role": "assistant", "tool_calls": [{"id": "c"}]}]},
        "messages[1].tool_calls[0].id",
    ),
    "a file's number": (
        {"messages": [{"role": "user", "content": [{"type": "file", "file": 7}]}]},
        "messages[0].content[0].file",
    ),
    "a thread of messages": ({"messages": "thread_1"}, "messages"),
    "a stored format": ({"messages": [HI], "response_format": "fmt_1"}, "response_format"),
    "a slot": ({"messages": [HI], "id_slot": 1}, "id_slot"),
    "an unknown field": ({"messages": [HI], "thread": "thread_1"}, "thread"),
    "a stored completion": ({"messages": [HI], "completion_id": "chatcmpl_1"}, "completion_id"),
}
FINE: dict[str, dict[str, Any]] = {
    "words": asks(instructions="Be brief.", model="any", user="u", prompt_cache_key="k", metadata={"file_id": "mine"}),
    "nulls": asks(previous_response_id=None, conversation=None, prompt=None, tools=None),
    "numbers and flags": asks(
        temperature=0.2, top_k=40, store=False, max_tool_calls=3, bias=[1, 2.5], parallel_tool_calls=True
    ),
    "a resent message": sends(
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": SAID}
    ),
    "a resent call": sends(
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look_up", "arguments": "{}"},
        {"type": "function_call_output", "id": "fo_1", "call_id": "c", "output": "1925"},
    ),
    "an output in parts": sends(
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "1925"}]}
    ),
    "resent reasoning": sends({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}),
    "open reasoning": sends(
        {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}]}
    ),
    "a resent image": sends({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "iVBO"}),
    "its own approval": sends(
        {"type": "mcp_approval_request", "id": "mcpr_1", "name": "x", "arguments": "{}", "server_label": "s"},
        {"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": True},
    ),
    "a file's data": shows({"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,aa"}),
    "an image's address": shows({"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}),
    "a function": uses(
        type="function", name="x", parameters={"properties": {"file_id": {"type": "string"}}}, strict=True
    ),
    "a web search": uses(
        type="web_search",
        filters={"allowed_domains": ["example.com"]},
        user_location={"type": "approximate", "city": "Ely"},
    ),
    "a fresh container": uses(
        type="code_interpreter", container={"type": "auto", "file_ids": [], "memory_limit": "4g"}
    ),
    "an mcp server": uses(type="mcp", server_label="s", server_url="https://example.com", require_approval="never"),
    "an inline skill": uses(
        type="shell",
        environment={
            "type": "container_auto",
            "skills": [
                {
                    "type": "inline",
                    "name": "x",
                    "description": "y",
                    "source": {"type": "base64", "media_type": "application/zip", "data": "aa"},
                }
            ],
        },
    ),
    "a computer": uses(type="computer_use_preview", environment="browser", display_width=1, display_height=1),
    "a format": asks(text={"format": {"type": "json_schema", "name": "x", "schema": {"id": "y"}}, "verbosity": "low"}),
    "reasoning effort": asks(reasoning={"effort": "low", "summary": "auto"}, include=["reasoning.encrypted_content"]),
    "documents": asks(documents=[{"id": "d", "text": "The hall is old."}]),
}
CHAT_FINE: dict[str, dict[str, Any]] = {
    "a chat": {
        "messages": [{"role": "system", "content": "Be brief."}, {**HI, "documents": [{"id": "d", "text": "x"}]}]
    },
    "tools": {
        "messages": [
            HI,
            {
                "role": "assistant",
                "content": None,
                "audio": None,
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "x", "arguments": "{}"}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "1925"},
        ],
        "tools": [{"type": "function", "function": {"name": "x", "description": "y", "parameters": {"id": "z"}}}],
        "tool_choice": {"type": "function", "function": {"name": "x"}},
    },
    "a resent message": {
        "messages": [HI, {"role": "assistant", "id": "m", "content": "It is old.", "refusal": None, "annotations": []}]
    },
    "parts": {
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Hi"},
                    {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                    {"type": "input_audio", "input_audio": {"data": "aa", "format": "wav"}},
                    {"type": "file", "file": {"filename": "a.pdf", "file_data": "aa"}},
                ],
            }
        ]
    },
    "sound": {"messages": [HI], "modalities": ["text", "audio"], "audio": {"format": "wav", "voice": "alloy"}},
    "formats": {
        "messages": [HI],
        "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    },
    "sampling": {
        "messages": [HI],
        "stop": ["\n"],
        "logit_bias": {"50256": -100},
        "stop_token_ids": [1],
        "seed": 7,
        "n": 1,
    },
    "options": {
        "messages": [HI],
        "thinking": {"type": "enabled", "budget_tokens": 100},
        "cache_control": {"type": "ephemeral"},
        "stream_options": {"include_usage": True},
        "prediction": {"type": "content", "content": "x"},
    },
}


def told(path: str, body: dict[str, Any]) -> str | None:
    reason = refusal("POST", path, json.dumps(body).encode())
    return None if reason is None else reason.split()[0]


def _named(path: str, table: dict[str, Any]) -> list[Any]:
    return [pytest.param(path, value, id=f"{path} {name}") for name, value in table.items()]


@pytest.mark.parametrize(("path", "case"), _named(RESPONSES, REFERENCES) + _named(CHAT, CHAT_REFERENCES))
def test_a_reference_is_refused_by_its_place(path: str, case: tuple[dict[str, Any], str]) -> None:
    body, place = case
    assert told(path, body) == place


@pytest.mark.parametrize(("path", "body"), _named(RESPONSES, FINE) + _named(CHAT, CHAT_FINE))
def test_what_brings_its_content_passes(path: str, body: dict[str, Any]) -> None:
    assert told(path, body) is None


@pytest.mark.parametrize("path", [CHAT, RESPONSES])
@pytest.mark.parametrize("key", ["file_id", "id", "skill_id", "prompt", "conversation", "secret_ref", "x"])
@pytest.mark.parametrize("depth", [1, 3, 40])
def test_an_id_under_any_key_at_any_depth(path: str, key: str, depth: int) -> None:
    value: Any = {key: "other_1"}
    for level in range(depth):
        value = [value] if level % 2 else {"content": value}
    assert told(path, {"messages": [HI, value], "input": [HI, value]}) is not None


def test_what_cannot_be_compared_is_left_to_the_route() -> None:
    assert [refusal("POST", CHAT, body) for body in (b"not json", b"[1]", b"7")] == [None, None, None]


def test_through_the_front_door() -> None:
    keys = {name: new_key() for name in ("acme", "zoo")}
    hashes = {name: [key_hash(key)] for name, key in keys.items()}
    fine: dict[str, Any] = {"model": "any", "messages": ASKED}
    voice = {**fine, "audio": {"format": "wav", "voice": {"id": "voice_1"}}}
    asked = [(CHAT, fine), (CHAT, voice), (f"{CHAT}?api-version=1", fine), (f"{CHAT}?conversation=conv_1", fine)]
    headers = {"x-vista-guard-key": keys["zoo"], "x-session-id": "s-1", "openai-beta": "b"}
    with ScriptedChatServer(lambda _: TRUTH) as upstream, proxy(upstream, keys=hashes, upstream_key="sk-up") as served:
        answers = [served.post(path, body, **headers) for path, body in asked]
        received = [request.headers for request in upstream.requests]
    assert [answer.status_code for answer in answers] == [200, 403, 200, 403]
    assert [(sent["authorization"], sent["openai-beta"], sent.get("x-session-id")) for sent in received] == [
        ("Bearer sk-up", "b", None)
    ] * 2
    for answer, place in ((answers[1], "audio.voice.id"), (answers[3], "?conversation")):
        error = answer.json()["error"]
        assert (error["code"], place in error["message"]) == ("shared_account", True)
