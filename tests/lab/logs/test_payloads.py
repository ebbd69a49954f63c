"""What libraries write down of a call, as chat messages and documents."""

from __future__ import annotations

from typing import Any

import pytest

from vista_lab.logs.payloads import documents_in, input_messages, output_messages

HELLO = {"role": "user", "content": "Hello?"}
YES = {"role": "assistant", "content": "Yes."}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Hello?", [HELLO]),
        ("  ", []),
        (None, []),
        ({"question": "Hello?", "k": 3}, [HELLO]),
        ({"anything": "Hello?"}, [HELLO]),
        ({"a": "Hello?", "b": "x"}, []),
        ('{"input": "Hello?"}', [HELLO]),
        ({"messages": [["human", "Hello?"]]}, [HELLO]),
        ({"messages": [[{"type": "human", "content": "Hello?"}]]}, [HELLO]),
        ({"messages": [{"type": "HumanMessageChunk", "content": "Hello?"}]}, [HELLO]),
        ({"messages": [{"type": "human", "data": {"content": "Hello?"}}]}, [HELLO]),
        ({"prompts": ["Hello?"]}, [HELLO]),
        ({"args": ["Hello?", "en"], "kwargs": {}}, [HELLO]),
        ({"args": [], "kwargs": {"query": "Hello?"}}, [HELLO]),
        (
            {"input": "Hello?", "chat_history": [["human", "Hi."], ["ai", "Yes."]]},
            [{"role": "user", "content": "Hi."}, YES, HELLO],
        ),
    ],
)
def test_what_was_asked(given: Any, expected: list[Any]) -> None:
    assert input_messages(given) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Yes.", [YES]),
        ({"output": "Yes."}, [YES]),
        ({"output": ["Y", "es."]}, [YES]),
        ({"choices": [{"message": YES}, {"message": {"role": "assistant", "content": "No."}}]}, [YES]),
        ({"generations": [[{"text": "Yes."}, {"text": "No."}]]}, [YES]),
        ({"generations": [[{"text": "Yes.", "message": {"type": "ai", "content": "Yes."}}]]}, [YES]),
        ({"role": "assistant", "content": "Yes."}, [YES]),
        ({"documents": [], "count": 3}, []),
        (
            {"output": [{"type": "reasoning", "text": "Hm."}, {"type": "message", **YES}]},
            [YES],
        ),
        (
            {
                "output": [
                    {"type": "function_call", "call_id": "c", "name": "sky"},
                    {"type": "function_call_output", "call_id": "c", "output": "Rain."},
                ]
            },
            [
                {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "sky"}]},
                {"role": "tool", "content": "Rain.", "tool_call_id": "c"},
            ],
        ),
    ],
)
def test_what_was_answered(given: Any, expected: list[Any]) -> None:
    assert output_messages(given) == expected


def test_tools_as_anthropics_messages_have_them() -> None:
    call = {"type": "tool_use", "id": "c", "name": "sky", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": "Rain."}]}
    given = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    assert input_messages({"messages": given}) == [
        {"role": "assistant", "content": [call], "tool_calls": [call]},
        {"role": "tool", "content": "Rain.", "tool_call_id": "c"},
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"documents": [{"page_content": "Rain."}]},
        {"output": [{"document": {"text": "Rain."}, "score": 0.9}]},
        [{"node": {"text": "Rain."}}],
        {"matches": [{"content": "Rain."}]},
        ["Rain."],
        '[{"pageContent": "Rain."}]',
        [{"lc": 1, "type": "constructor", "id": ["langchain", "Document"], "kwargs": {"page_content": "Rain."}}],
    ],
)
def test_documents(given: Any) -> None:
    assert [one if isinstance(one, str) else one["text"] for one in documents_in(given)] == ["Rain."]  # type: ignore[index]


def test_what_is_no_document() -> None:
    assert documents_in({"count": 3}) == documents_in(None) == documents_in([7, {}]) == []
