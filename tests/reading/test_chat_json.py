"""Chat JSON as conversations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.reading.chat_json import ROLES, read_json, to_conversation, to_document
from vista_guard.types import Conversation, Document, Role, Turn

TIDE = {"id": "tides", "text": "High water is at 14:20.", "title": "Tide table", "url": "https://example.org/tides"}
TIDE_DOCUMENT = Document(
    id="tides", text="High water is at 14:20.", title="Tide table", url="https://example.org/tides"
)


def test_roles_become_turns() -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": "At 14:20."},
    ]
    assert to_conversation(messages, conversation_id="pier") == Conversation(
        id="pier",
        turns=(
            Turn(role=Role.SYSTEM, text="Be brief."),
            Turn(role=Role.SYSTEM, text="Be kind."),
            Turn(role=Role.USER, text="When is high water?"),
            Turn(role=Role.ASSISTANT, text="At 14:20."),
        ),
    )


def test_tool_answers_ground_every_assistant_turn_up_to_the_next_user_message() -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "tide_table", "arguments": "{}"}}
    other = {"id": "call_2", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "When is high water?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": "14:20"},
        {"role": "assistant", "content": "At 14:20. I look at the weather too.", "tool_calls": [other]},
        {"role": "tool", "tool_call_id": "call_2", "content": [{"type": "text", "text": "Rain"}]},
        {"role": "assistant", "content": "It will rain."},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "You are welcome."},
    ]
    table = Document(id="tool:call_1", text="14:20", title="tide_table")
    weather = Document(id="tool:call_2", text="Rain", title="weather")
    assert to_conversation(messages).turns == (
        Turn(role=Role.USER, text="When is high water?"),
        Turn(role=Role.ASSISTANT, text="At 14:20. I look at the weather too.", documents=(table,)),
        Turn(role=Role.ASSISTANT, text="It will rain.", documents=(table, weather)),
        Turn(role=Role.USER, text="Thanks."),
        Turn(role=Role.ASSISTANT, text="You are welcome."),
    )


def test_a_tool_message_without_call_id_is_named_after_its_place() -> None:
    messages = [{"role": "function", "name": "clock", "content": "noon"}, {"role": "assistant", "content": "Noon."}]
    clock = Document(id="tool:0", text="noon", title="clock")
    assert to_conversation(messages).turns == (Turn(role=Role.ASSISTANT, text="Noon.", documents=(clock,)),)


def test_documents_of_messages_and_of_the_conversation() -> None:
    own, asked, shared, system = (Document(id=name, text=f"The {name} text.") for name in "abcd")
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind.", "documents": [system.model_dump()]},
        {"role": "user", "content": "?", "documents": [asked.model_dump()]},
        {"role": "assistant", "content": "One.", "documents": [own.model_dump()]},
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": "Two."},
    ]
    turns = to_conversation(messages, documents=[shared]).turns
    assert [turn.documents for turn in turns] == [(), (), (own, asked, shared, system), (), (shared, system)]


def test_blocks_of_system_messages_ground_what_follows_and_users_none() -> None:
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind.\n<context>The deck is oak.</context>"},
        {"role": "user", "content": "<context>The deck is iron.</context> Is it?"},
        {"role": "assistant", "content": "One."},
        {"role": "developer", "content": [{"type": "text", "text": "Now.\nContext:\nThe rail is brass."}]},
        {"role": "assistant", "content": "Two. <context>No.</context>"},
    ]
    turns = to_conversation(messages).turns
    assert [turn.text for turn in turns] == ["Be kind.", messages[1]["content"], "One.", "Now.", messages[4]["content"]]
    found = [[document.text for document in turn.documents] for turn in turns]
    assert found == [[], [], ["The deck is oak."], [], ["The deck is oak.", "The rail is brass."]]
    plain = to_conversation(messages, patterns=None).turns
    assert (plain[0].text, plain[2].documents) == (messages[0]["content"], ())
    own = to_conversation(messages, patterns=[r"<kb>(.*?)</kb>"]).turns
    assert [len(turn.documents) for turn in own] == [0, 0, 0, 0, 1]


@pytest.mark.parametrize("levels", [101, 300, 950, 2000, 100_000])
def test_json_has_a_depth(levels: int) -> None:
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        with raises(ValueError, "100", "levels"):
            read_json(opening * levels + "1" + closing * levels)
    assert read_json("[" * 100 + "]" * 100) is not None


def test_documents_stay_traceable_when_ids_repeat() -> None:
    messages = [
        {
            "role": "assistant",
            "content": "One.",
            "documents": [{"id": 1, "text": "x"}, {"id": 1, "text": "y"}, {"id": 1, "text": "x"}],
        }
    ]
    assert to_conversation(messages).turns[0].documents == (
        Document(id="1", text="x"),
        Document(id="1#2", text="y"),
    )


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None}, ""),
        ({}, ""),
        ({"content": []}, ""),
        ({"content": None, "refusal": "I cannot say."}, "I cannot say."),
        ({"content": [{"type": "refusal", "refusal": "I cannot say."}]}, "I cannot say."),
        ({"content": [{"type": "text", "text": "One."}, {"type": "output_text", "text": "Two."}]}, "One.\nTwo."),
        (
            {"content": [{"type": "image_url", "image_url": {"url": "x"}}, {"type": "text", "text": "A pier."}]},
            "A pier.",
        ),
        ({"content": ["One.", {"type": "thinking", "thinking": "…"}]}, "One."),
    ],
)
def test_content(message: dict[str, Any], text: str) -> None:
    assert to_conversation([{"role": "assistant", **message}]).turns == (Turn(role=Role.ASSISTANT, text=text),)


@pytest.mark.parametrize(
    "calls",
    [
        {"tool_calls": [{"id": "1"}]},
        {"function_call": {"name": "clock"}},
        {"tool_calls": [{"name": "clock", "args": {}}]},
    ],
)
def test_an_assistant_message_that_only_calls_tools_is_no_turn(calls: dict[str, Any]) -> None:
    assert to_conversation([{"role": "assistant", "content": "\n", **calls}]).turns == ()


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        (
            [{"role": "user", "content": "?"}, {"role": "narrator", "content": "x"}],
            f"message 1 has the role 'narrator'; the roles are {', '.join(ROLES)}",
        ),
        ([{"content": "x"}], f"message 0 has the role None; the roles are {', '.join(ROLES)}"),
        ([{"role": ["user"], "content": "x"}], f"message 0 has the role ['user']; the roles are {', '.join(ROLES)}"),
        (["hello"], "message 0 is 'hello'; expected a mapping with role and content"),
        (
            [{"role": "user", "content": 7}],
            "message 0 has the content 7; expected a text, null or a list of content parts",
        ),
        ([{"role": "user", "content": [7]}], "message 0 has the content part 7; expected a mapping with type"),
        ([{"role": "assistant", "content": "", "tool_calls": 7}], "tool_calls is 7; expected a list"),
        ([{"role": "user", "content": "", "documents": "x"}], "message 0: documents is 'x'; expected a list"),
        ({"role": "user"}, "messages is {'role': 'user'}; expected a list"),
    ],
)
def test_what_is_no_chat(messages: Any, error: str) -> None:
    with pytest.raises(InputError) as raised:
        to_conversation(messages)
    assert str(raised.value) == error


@pytest.mark.parametrize("key", ["text", "content", "page_content"])
def test_documents_under_each_name(key: str) -> None:
    fields = {name: value for name, value in TIDE.items() if name != "text"}
    assert to_document({**fields, key: TIDE["text"]}) == TIDE_DOCUMENT
    assert to_document(TIDE_DOCUMENT) is TIDE_DOCUMENT


def test_a_document_without_id_is_named_after_its_text() -> None:
    made = to_document("Low water is at 20:31.")
    assert made == Document(id="Low water is at 20:31. #ad957f47", text="Low water is at 20:31.")
    assert to_document({"text": "Low water is at 20:31.", "metadata": {"page": 3}}) == made.model_copy(
        update={"metadata": {"page": 3}}
    )


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (7, "a document is 7; expected a text or a mapping with text, content, page_content"),
        (
            {"id": "x", "body": "…"},
            "a document has the keys id, body; it needs its text under one of text, content, page_content",
        ),
        ({"id": "x", "text": "…", "title": 7}, "document 'x': title is 7: Input should be a valid string"),
        ({"id": "x", "text": "…", "metadata": 7}, "document 'x': metadata is 7: Input should be a valid dictionary"),
    ],
)
def test_what_is_no_document(value: object, error: str) -> None:
    with pytest.raises(InputError) as raised:
        to_document(value)
    assert str(raised.value) == error


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
KEYS = (
    "role",
    "content",
    "tool_calls",
    "tool_call_id",
    "documents",
    "refusal",
    "name",
    "text",
    "type",
    "id",
    "metadata",
)
MESSAGE = st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(sorted(ROLES)), max_size=5)


@given(st.lists(MESSAGE.map(lambda message: {"role": "assistant", **message}), max_size=4))
def test_any_json_is_a_conversation_or_an_input_error(messages: list[dict[str, Any]]) -> None:
    try:
        conversation = to_conversation(messages)
    except InputError:
        return
    assert Conversation.model_validate(conversation.model_dump()) == conversation
