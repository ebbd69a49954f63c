"""Reading requests and replies of hosts, and putting a text back."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompt_values import ChatPromptValue

from vista_guard import Document, Guard, InputError, Role, Turn
from vista_guard.graph.host_objects import ReplyDraft, read_reply, read_request, replace_text, with_feedback
from vista_guard.testing import ScriptedJudge, Verdict

USER = Turn(role=Role.USER, text="When?")
SYSTEM = Turn(role=Role.SYSTEM, text="Be brief.")
EARLIER = Turn(role=Role.ASSISTANT, text="Hello.")


@pytest.mark.parametrize(
    ("request_", "turns"),
    [
        ("When?", (USER,)),
        ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "When?"}], (SYSTEM, USER)),
        ([SystemMessage("Be brief."), HumanMessage("When?")], (SYSTEM, USER)),
        ([("human", "When?")], (USER,)),
        (ChatPromptValue(messages=[HumanMessage("When?")]), (USER,)),
        (HumanMessage("When?"), (USER,)),
        ({"messages": [HumanMessage("When?")]}, (USER,)),
        ({"question": "When?", "chat_history": [AIMessage("Hello.")]}, (EARLIER, USER)),
        ({"input": "When?"}, (USER,)),
    ],
)
def test_requests(request_: Any, turns: tuple[Turn, ...]) -> None:
    assert read_request(request_).turns == turns


NOTES = Document(id="notes", text="It opened in 1925.")
FOUND = LangChainDocument(page_content=NOTES.text, id="notes")
ASKED = {"messages": [HumanMessage("When?")]}
CALL = AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "call-1"}])


@pytest.mark.parametrize(
    ("reply", "draft"),
    [
        ("In 1925.", ReplyDraft("In 1925.")),
        (AIMessage("In 1925."), ReplyDraft("In 1925.")),
        (AIMessage([{"type": "text", "text": "In 1925."}]), ReplyDraft("In 1925.")),
        ({"role": "assistant", "content": "In 1925.", "documents": [NOTES.model_dump()]}, ReplyDraft("In 1925.", (NOTES,))),
        ({"answer": "In 1925.", "context": [FOUND]}, ReplyDraft("In 1925.", (NOTES,))),
        (
            {"messages": [*ASKED["messages"], CALL, ToolMessage(NOTES.text, tool_call_id="call-1"), AIMessage("In 1925.")]},
            ReplyDraft("In 1925.", (Document(id="tool:call-1", text="It opened in 1925.", title="search"),)),
        ),
        (
            {
                "messages": [
                    *ASKED["messages"],
                    CALL,
                    ToolMessage("1 hit", tool_call_id="call-1", artifact=[FOUND]),
                    AIMessage("In 1925."),
                ]
            },
            ReplyDraft("In 1925.", (NOTES,)),
        ),
        ({"messages": [*ASKED["messages"], CALL]}, ReplyDraft(None)),
        (AIMessage(""), ReplyDraft(None)),
        (Turn(role=Role.ASSISTANT, text="In 1925.", documents=(NOTES,)), ReplyDraft("In 1925.", (NOTES,))),
    ],
)  # fmt: skip
def test_replies(reply: Any, draft: ReplyDraft) -> None:
    found = read_reply(ASKED, reply)
    assert (found.text, [d.model_dump() for d in found.documents]) == (
        draft.text,
        [d.model_dump() for d in draft.documents],
    )


@pytest.mark.parametrize("reply", [42, None, b"In 1925.", {"said": "In 1925."}, [AIMessage("In 1925.")]])
def test_what_is_not_understood_is_refused(reply: Any) -> None:
    with pytest.raises(InputError):
        read_reply("When?", reply)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("draft", "said"),
        ({"role": "assistant", "content": "draft"}, {"role": "assistant", "content": "said"}),
        ({"answer": "draft", "context": []}, {"answer": "said", "context": []}),
        ({"answer": "draft", "raw": "<b>draft</b>", "n": 1}, {"answer": "said", "raw": "said", "n": 1}),
        ({"output": AIMessage("draft", id="m")}, {"output": AIMessage("said", id="m")}),
        (
            {"answer": AIMessage("draft"), "steps": ["look", "a draft"], "trace": {"raw": AIMessage("draft", id="m")}},
            {"answer": AIMessage("said"), "steps": ["look", "said"], "trace": {"raw": AIMessage("said", id="m")}},
        ),
        ({"answer": "draft", "parsed": Turn(role=Role.USER, text="draft")}, {"answer": "said", "parsed": None}),
        (
            {
                "messages": [AIMessage("draft")],
                "answer": "draft",
                "summary": "other words",
                "context": ["draft"],
                "n": 1,
            },
            {"messages": [AIMessage("said")], "answer": "said", "context": ["draft"], "n": 1},
        ),
        (
            {"messages": [HumanMessage("When?"), AIMessage("draft", id="m", additional_kwargs={"reasoning": "draft"})]},
            {"messages": [HumanMessage("When?"), AIMessage("said", id="m")]},
        ),
    ],
)
def test_a_replaced_text_leaves_the_rest_and_the_id(reply: Any, expected: Any) -> None:
    assert replace_text(reply, "said") == expected


def test_a_replaced_state_keeps_what_the_agent_was_given() -> None:
    tenant, plan = {"name": "Tern"}, ["draft"]
    request = {"messages": [HumanMessage("When?")], "tenant": tenant, "plan": []}
    reply = {"messages": [HumanMessage("When?"), AIMessage("draft")], "tenant": tenant, "plan": plan}

    expected = {"messages": [HumanMessage("When?"), AIMessage("said")], "tenant": tenant}
    assert replace_text(reply, "said", request) == expected


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("When?", "When?\n\nnote"),
        ({"question": "When?"}, {"question": "When?\n\nnote"}),
        ([HumanMessage("When?")], [HumanMessage("When?"), AIMessage("draft"), HumanMessage("note")]),
        (
            [{"role": "user", "content": "When?"}],
            [
                {"role": "user", "content": "When?"},
                {"role": "assistant", "content": "draft"},
                {"role": "user", "content": "note"},
            ],
        ),
    ],
)
def test_feedback_comes_in_the_requests_own_form(request_: Any, expected: Any) -> None:
    assert with_feedback(request_, "draft", "note") == expected


def test_documents_of_the_users_message_and_of_tools_since_ground_the_draft() -> None:
    note = {"id": "n", "text": "The whale hall opened in 1925."}
    old = {"id": "old", "text": "The mill burnt down."}
    talk: list[Any] = [
        {"role": "user", "content": "And the mill?", "documents": [old]},
        {"role": "assistant", "content": "It burnt down."},
        {"role": "user", "content": "When did it open?", "documents": [note]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "Entry is free."},
    ]
    for request in (talk, {"messages": talk}):
        read = read_reply(request, "It opened in 1925.")
        assert [document.text for document in read.documents] == ["The whale hall opened in 1925.", "Entry is free."]


TEXT_PART = {"type": "text", "text": "Berths cost 90."}


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ({"type": "text-plain", "text": "Berths cost 90.", "mime_type": "text/plain"}, "Berths cost 90."),
        (
            {"type": "document", "source": {"type": "text", "data": "Berths cost 90."}},
            "Berths cost 90.",
        ),
        (
            {"type": "document", "source": {"type": "content", "content": [TEXT_PART]}, "title": "Fares"},
            "Fares\nBerths cost 90.",
        ),
        (
            {"type": "search_result", "source": "https://tern.example/f", "title": "Fares", "content": [TEXT_PART]},
            "Fares\nhttps://tern.example/f\nBerths cost 90.",
        ),
        ({"type": "json", "json": {"berth": 90}}, "berth: 90"),
    ],
)
def test_parts_of_a_tools_answer_are_evidence(part: dict[str, Any], text: str) -> None:
    talk = [HumanMessage("How much?"), CALL, ToolMessage([part], tool_call_id="call-1")]
    (document,) = read_reply(talk, "90.").documents
    assert document.text == text


@pytest.mark.parametrize(
    "part",
    [
        {"type": "video", "base64": "AAAA", "mime_type": "video/mp4"},
        {"type": "audio", "url": "https://tern.example/a.wav"},
        {"type": "file", "url": "https://tern.example/a.pdf"},
        {"type": "media", "mime_type": "application/pdf", "data": "AAAA"},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AAAA"}},
        {"cachePoint": {"type": "default"}},
    ],
)
def test_parts_that_are_no_text_are_left_out(part: dict[str, Any]) -> None:
    talk = [
        HumanMessage(["When?", part]),
        CALL,
        ToolMessage(["At ten.", part], tool_call_id="call-1"),
        AIMessage("Ten."),
    ]
    *_, asked, answer = read_request(talk).turns
    assert (asked.text, answer.text, [document.text for document in answer.documents]) == ("When?", "Ten.", ["At ten."])


@pytest.mark.parametrize("said", [{"role": "assistant", "content": "Hello."}, ("ai", "Hello."), AIMessage("Hello.")])
def test_a_graphs_agent_may_answer_in_any_form_that_langchain_reads(said: Any) -> None:
    guard = Guard(ScriptedJudge({"Hello.": [Verdict("Hello.")]}), "monitor")
    state = guard.graph(lambda _: {"messages": [said]}).invoke({"messages": [("user", "Hi.")]})
    assert state["messages"][-1].content == "Hello."
