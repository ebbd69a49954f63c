"""Hostile answers in LangChain's messages: the secret in one odd place each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from tests.attacks.answers import LIE, TRUTH

CALL: Any = {"name": "look_up", "args": {}, "id": "call-1", "type": "tool_call"}


@dataclass(frozen=True)
class Said:
    """What a hostile agent answers, in the messages of one turn."""

    name: str
    messages: tuple[BaseMessage, ...]

    def __str__(self) -> str:
        return self.name


def _one(named: str, content: Any = "", **more: Any) -> Said:
    return Said(named, (AIMessage(content, **more),))


def _part(kind: Any, **held: Any) -> dict[str, Any]:
    return {"type": kind, **held}


def _contents() -> Iterator[Said]:
    yield _one("a lie", LIE)
    yield _one("behind the truth", f"{TRUTH} {LIE}")
    yield _one("in a fence", f"```\n{LIE}\n```")
    yield _one("in an open fence behind the truth", f"{TRUTH}\n\n~~~text\n{LIE}")
    yield _one("in a comment", f"{TRUTH}\n<!-- {LIE} -->")
    yield _one("as texts", [TRUTH, f" {LIE}"])
    for kind in (
        "text",
        "output_text",
        "markdown",
        "refusal",
        "image",
        "json",
        "input_text",
        "text-plain",
        ["text"],
        None,
    ):
        field = "refusal" if kind == "refusal" else "text"
        yield _one(f"a part {kind!r}", [_part(kind, **{field: LIE})])
        yield _one(f"a part {kind!r} behind the truth", [_part("text", text=f"{TRUTH} "), _part(kind, **{field: LIE})])
    yield _one("a refusal", additional_kwargs={"refusal": LIE})
    yield _one("a refusal beside the truth", TRUTH, additional_kwargs={"refusal": LIE})
    yield _one("a transcript", additional_kwargs={"audio": {"id": "a", "data": "AAAA", "transcript": LIE}})
    yield _one("a transcript beside the truth", TRUTH, additional_kwargs={"audio": {"id": "a", "transcript": LIE}})


def _beside() -> Iterator[Said]:
    """A lie in the text, and what else could repeat it."""
    yield _one("with metadata", LIE, response_metadata={"draft": LIE, "logprobs": {"content": [{"token": LIE}]}})
    yield _one("with a name", LIE, name=LIE)
    yield _one("with broken calls", LIE, invalid_tool_calls=[{"name": LIE, "args": LIE, "id": "1", "error": LIE}])
    yield _one("with an old call", LIE, additional_kwargs={"function_call": {"name": "f", "arguments": LIE}})


def _thought() -> Iterator[Said]:
    yield _one("with thoughts as a part", [_part("thinking", thinking=LIE), _part("text", text=LIE)])
    yield _one("with reasoning as a part", [_part("reasoning", reasoning=LIE), _part("text", text=LIE)])
    yield _one("with a part of no kind", [_part("text", text=LIE), _part("non_standard", value={"text": LIE})])
    yield _one("with reasoning", LIE, additional_kwargs={"reasoning_content": LIE, "thoughts": LIE})


TALKS: tuple[Said, ...] = (*_contents(), *_beside())
"""Single messages of which the secret is to be judged, and withheld with all that comes with it."""

THOUGHT: tuple[Said, ...] = tuple(_thought())
"""As `TALKS`, with reasoning, which passes in a stream, and goes with a whole answer that is withheld."""

BESIDE_CALLS: tuple[Said, ...] = tuple(
    _one(name, content, tool_calls=[CALL], **more)
    for name, content, more in (
        ("a lie", LIE, {}),
        ("in a fence", f"```\n{LIE}\n```", {}),
        ("as parts", [_part("text", text=LIE), _part("tool_use", id="call-1", name="look_up", input={})], {}),
        ("a part of no known kind", [_part("markdown", text=LIE)], {}),
        ("a refusal", "", {"additional_kwargs": {"refusal": LIE}}),
        ("behind the truth", f"{TRUTH} {LIE}", {}),
    )
)
"""Words beside a harmless call of a tool."""

STRANGERS: tuple[Said, ...] = tuple(
    Said(type(message).__name__, (message,))
    for message in (
        HumanMessage(LIE),
        SystemMessage(LIE),
        ToolMessage(LIE, tool_call_id="t"),
        FunctionMessage(content=LIE, name="f"),
    )
)
"""A model that speaks as somebody else."""

ROLES = (Said("a role", (ChatMessage(content=LIE, role="assistant"),)),)
"""A model whose integration says by a role only that it is the assistant."""

SEVERAL: tuple[Said, ...] = (
    Said("the lie first", (AIMessage(LIE), AIMessage(TRUTH))),
    Said("the lie last", (AIMessage(TRUTH), AIMessage(LIE))),
    Said("then silence", (AIMessage(LIE), AIMessage(""))),
    Said("silence first", (AIMessage(""), AIMessage(LIE))),
    Said("three", (AIMessage(TRUTH), AIMessage(LIE), AIMessage(TRUTH))),
    Said("a refusal, then the truth", (AIMessage("", additional_kwargs={"refusal": LIE}), AIMessage(TRUTH))),
    Said("a role first", (ChatMessage(content=LIE, role="assistant"), AIMessage(TRUTH))),
)
"""Several messages of one turn, in a host's graph."""


def chunks_of(message: BaseMessage, size: int) -> Sequence[AIMessageChunk]:
    """The message as a model streams it: its text in pieces, all else with the last of them."""
    if not isinstance(message, AIMessage):
        return [AIMessageChunk(content=message.content)]
    text = message.content if isinstance(message.content, str) else ""
    pieces = [AIMessageChunk(content=text[start : start + size]) for start in range(0, len(text), size)]
    calls = [{"name": call["name"], "args": "{}", "id": call["id"], "index": 0} for call in message.tool_calls]
    last: Any = {"additional_kwargs": message.additional_kwargs, "tool_call_chunks": calls}
    rest = AIMessageChunk(content="" if text else message.content, **last)
    return [*pieces, rest]
