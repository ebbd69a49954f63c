"""One question and its answer as the tracers of thirteen frameworks leave them in Langfuse; and a place for each that is our own.

Langfuse stores what it is sent: texts that are JSON, encoded once or several times over, or mappings as Python prints them.
"""

from __future__ import annotations

import json
from typing import Any

ASKED, LONG, GUIDE = "How long is the pier?", "It is 310 m long.", "The pier is 310 m long."
CALL = {"id": "c1", "type": "function", "function": {"name": "guide", "arguments": {"topic": "pier"}}}
DEFINITION = {
    "name": "guide",
    "description": "Looks into the guide of Halden.",
    "parameters": {"type": "object", "properties": {}},
}


def packed(value: object, times: int = 2) -> str:
    """JSON in a text in a text."""
    for _ in range(times):
        value = json.dumps(value)
    return str(value)


def trace(given: object, output: object, *observations: dict[str, Any], **more: object) -> dict[str, Any]:
    whole = {
        "id": "t",
        "timestamp": "2026-11-02T09:00:00.000Z",
        "sessionId": None,
        "input": given,
        "output": output,
        "scores": [],
    }
    return {"trace": {**whole, **more}, "observations": list(observations)}


def observation(name: str, kind: str, given: Any = None, output: Any = None, **attributes: object) -> dict[str, Any]:
    """One of the trace; the number in its name is its second."""
    return {
        "id": name,
        "traceId": "t",
        "type": kind,
        "parentObservationId": None if name == "o0" else "o0",
        "startTime": f"2026-11-02T09:00:0{name[1]}.000Z",
        "input": given,
        "output": output,
        "metadata": {"attributes": {key.replace("__", "."): value for key, value in attributes.items()}},
    }


def message(role: str, **parts: Any) -> dict[str, Any]:
    return {"role": role, **parts}


def gemini(role: str, **part: object) -> dict[str, Any]:
    return {"role": role, "parts": [part]}


def langchain(kind: str, content: object, **more: object) -> dict[str, Any]:
    return {"content": content, "additional_kwargs": {}, "response_metadata": {}, "type": kind, "name": None, **more}


QUESTION, ANSWER = message("user", content=ASKED), message("assistant", content=LONG)
CALLED = message("assistant", content=None, tool_calls=[CALL])
RETURNED = message("tool", content=GUIDE, tool_call_id="c1")
DEFINED = message("tool", content={"type": "function", "function": DEFINITION})

LLAMAINDEX = trace(
    packed(ASKED, 1),
    packed(LONG, 1),
    observation("o0", "SPAN"),
    observation("o1", "RETRIEVER", ASKED, [{"node": {"text": GUIDE, "id_": "n1"}, "score": 0.8}]),
    observation("o2", "GENERATION", {"args": [ASKED]}, LONG, openinference__span__kind="LLM"),
)
RUN = {"id": "run_1", "object": "thread.run", "status": "queued", "instructions": "Answer briefly.", "tools": []}
OPENAI_ASSISTANTS = trace(
    packed({"args": [ASKED], "kwargs": {}}),
    packed(LONG),
    observation("o1", "SPAN", {"args": ["asst_1", ASKED], "kwargs": {}}, [RUN, {"id": "thread_1", "object": "thread"}]),
    observation("o2", "SPAN", {"args": ["thread_1", "run_1"], "kwargs": {}}, [LONG, RUN]),
    observation("o3", "GENERATION", [message("assistant", content="Hello."), QUESTION], LONG),
    observation("o4", "TOOL", {"q": "pier"}, packed({"output": GUIDE}, 1)),
)
AUTOGEN = trace(
    packed(ASKED, 1),
    packed(LONG, 1),
    observation("o0", "SPAN"),
    observation("o1", "GENERATION", f"system: Use your tools.\nuser: {ASKED}", LONG),
    observation("o2", "SPAN", {"q": "pier"}, GUIDE, gen_ai__operation__name="execute_tool"),
)
PYDANTIC_AI = trace(
    packed({"args": ["pier"], "kwargs": {"question": ASKED}}),
    packed(LONG, 1),
    observation(
        "o1",
        "SPAN",
        pydantic_ai__all_messages=[
            {"role": "system", "parts": [{"type": "text", "content": "Answer briefly."}]},
            {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
            {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "guide", "arguments": {}}]},
            {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "guide", "result": GUIDE}]},
            {"role": "assistant", "parts": [{"type": "text", "content": LONG}], "finish_reason": "stop"},
        ],
    ),
)
SAID_BY_AGNO = [
    message("system", content="Use markdown."),
    QUESTION,
    CALLED,
    {**RETURNED, "tool_name": "guide"},
    ANSWER,
]
AGNO = trace(
    packed({"run_messages": f"RunMessages(messages=[Message(role='user', content='{ASKED}')])", "message": ASKED}),
    packed(
        {
            "content": LONG,
            "content_type": "str",
            "messages": SAID_BY_AGNO,
            "tools": [{"tool_name": "guide", "result": GUIDE}],
        }
    ),
    observation("o1", "TOOL", {"topic": "pier"}, GUIDE),
)
GOOGLE_ADK = trace(
    packed({"user_id": "u", "session_id": "s", "new_message": gemini("user", text=ASKED), "state_delta": None}),
    packed({"content": gemini("model", text=LONG), "finish_reason": "STOP", "author": "guide_agent", "id": "e1"}),
    observation("o0", "CHAIN", {"new_message": gemini("user", text=ASKED)}, {"content": gemini("model", text=LONG)}),
    observation(
        "o1",
        "GENERATION",
        {
            "model": "gemini",
            "config": {"system_instruction": "Answer briefly.", "tools": [{"function_declarations": [DEFINITION]}]},
            "contents": [
                gemini("user", text=ASKED),
                gemini("model", function_call={"name": "guide", "args": {}}),
                gemini("user", function_response={"name": "guide", "response": {"result": GUIDE}}),
            ],
        },
        {"content": gemini("model", text=LONG), "finish_reason": "STOP"},
    ),
)
GOOGLE_GEMINI = trace(
    packed({"model": "gemini", "contents": ASKED}),
    packed(
        {"candidates": [{"content": gemini("model", text=LONG), "index": 0}], "automatic_function_calling_history": []}
    ),
    observation("o1", "TOOL", {"topic": "pier"}, packed(GUIDE, 1)),
)
STATE = [langchain("human", ASKED), langchain("ai", "", tool_calls=[{"name": "guide", "args": {}, "id": "c1"}])]
STATE += [langchain("tool", GUIDE, tool_call_id="c1"), langchain("ai", LONG)]
LANGGRAPH = trace(
    packed({"messages": STATE[:1]}),
    packed({"messages": STATE}),
    observation("o1", "GENERATION", [QUESTION, RETURNED, DEFINED], message("assistant", content=LONG)),
    observation("o2", "SPAN", "{'topic': 'pier'}", langchain("tool", GUIDE, tool_call_id="c1")),
)
BEEAI = trace(
    packed(ASKED, 1),
    packed(str({"role": "assistant", "text": LONG}), 1),
    observation("o1", "AGENT", None, [{"description": GUIDE, "title": "Pier"}], tool__name="Guide"),
    observation("o2", "SPAN"),
)
PARTS = [
    message("assistant", parts=[{"type": "tool_call", "id": ["run_1", "c1"], "name": "guide", "arguments": {}}]),
    message("tool", parts=[{"type": "tool_call_response", "id": ["run_1", "c1"], "response": packed(GUIDE, 1)}]),
    message("assistant", parts=[{"type": "text", "content": LONG}]),
]
MICROSOFT_AGENT = trace(
    packed([message("user", parts=[{"type": "text", "content": ASKED}])]),
    packed(PARTS),
    observation(
        "o1",
        "GENERATION",
        PARTS[:2],
        PARTS[2:],
        gen_ai__tool__definitions=[{"type": "function", "function": DEFINITION}],
    ),
)
OPENAI_AGENTS = trace(
    None,
    None,
    observation("o0", "AGENT"),
    observation(
        "o1",
        "GENERATION",
        [
            QUESTION,
            {"type": "function_call", "call_id": "c1", "name": "guide", "arguments": {}},
            {"type": "function_call_output", "call_id": "c1", "output": GUIDE},
        ],
        {
            "object": "response",
            "instructions": "Answer briefly.",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LONG}]}],
            "text": {"format": {"type": "text"}},
            "tools": [{"type": "function", **DEFINITION}],
        },
    ),
)
KOOG = trace(
    None,
    None,
    observation("o0", "AGENT"),
    observation("o1", "SPAN", {"topic": "pier"}, GUIDE, gen_ai__tool__name="guide"),
    observation(
        "o2", "GENERATION", [QUESTION, message("tool", content=[CALL]), message("tool", content=GUIDE)], [ANSWER]
    ),
)
VERTEX = {
    "traces": [{"id": "t", "timestamp": "2026-11-02T09:00:00.000Z", "sessionId": None}],
    "observations": [
        observation(
            "o0",
            "GENERATION",
            [QUESTION, CALLED, RETURNED, DEFINED],
            langchain("AIMessageChunk", LONG, tool_calls=[], invalid_tool_calls=[]),
        )
    ],
}
FRAMEWORKS: dict[str, dict[str, Any]] = {
    "llamaindex": LLAMAINDEX,
    "openai-assistants": OPENAI_ASSISTANTS,
    "autogen": AUTOGEN,
    "pydantic-ai": PYDANTIC_AI,
    "agno": AGNO,
    "google-adk": GOOGLE_ADK,
    "google-gemini": GOOGLE_GEMINI,
    "langgraph": LANGGRAPH,
    "beeai": BEEAI,
    "microsoft-agent": MICROSOFT_AGENT,
    "openai-agents": OPENAI_AGENTS,
    "koog": KOOG,
    "vertex": VERTEX,
}
