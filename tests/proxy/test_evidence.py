"""What a request brings to be judged against."""

from __future__ import annotations

from typing import Any

import pytest

from tests.proxy.serving import ASKED, NOTES, TRUTH, document, proxy
from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.openai_api.wire import ReadRequest, as_list, found_documents, read_chat, read_responses
from vista_guard.proxy.settings import ProxySettings
from vista_guard.reading.chat_json import BY_USER, to_document
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.stream.source import join_documents
from vista_guard.testing import ScriptedChatServer, WordEmbedder
from vista_guard.types import Document, Role, Turn

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
PATTERNS = ProxySettings(upstream="http://127.0.0.1/v1").context_patterns
OTHER = "The cafe closes at six."


def chat(*messages: dict[str, Any], **more: Any) -> ReadRequest:
    return read_chat({"model": "any", "messages": list(messages), **more}, PATTERNS, user_context=True)


def first_sent(asked: ReadRequest) -> Any:
    return as_list(asked.sent["messages"])[0]


def texts(asked: ReadRequest) -> list[str]:
    return [document.text for document in asked.grounds()]


class TestDocuments:
    def test_of_the_body_are_taken_out(self) -> None:
        asked = chat({"role": "user", "content": "When?"}, documents=[document(), OTHER])
        assert asked.sent == {"model": "any", "messages": [{"role": "user", "content": "When?"}]}
        assert asked.grounds() == (Document(id="notes", text=NOTES, title="Museum notes"), to_document(OTHER))

    def test_of_a_message_are_taken_out(self) -> None:
        asked = chat({"role": "user", "content": "When?", "documents": [NOTES]})
        assert asked.sent["messages"] == [{"role": "user", "content": "When?"}]
        assert texts(asked) == [NOTES]

    def test_of_the_body_ground_the_next_turn_only(self) -> None:
        past = [
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": "c"},
        ]
        asked = chat(*past, documents=[NOTES])
        assert [turn.documents for turn in asked.conversation().turns] == [(), (), ()]
        assert texts(asked) == [NOTES]

    def test_tool_messages(self) -> None:
        call = {"id": "call_1", "type": "function", "function": {"name": "archive", "arguments": "{}"}}
        asked = chat(
            {"role": "user", "content": "When?"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": NOTES},
        )
        assert asked.grounds() == (Document(id="tool:call_1", text=NOTES, title="archive"),)


class TestTaggedBlocks:
    @pytest.mark.parametrize("said", [f"<context>{NOTES}</context>", f"Context:\n{NOTES}"])
    def test_of_a_user_are_text_unless_the_operator_asks_for_them(self, said: str) -> None:
        asked = read_chat({"messages": [{"role": "user", "content": said}]}, PATTERNS)
        assert asked.grounds() == ()
        assert asked.conversation().turns[0].text == said

    def test_of_a_user_say_whose_they_are(self) -> None:
        (found,) = chat({"role": "user", "content": f"<context>{NOTES}</context>"}).grounds()
        assert found.metadata == {BY_USER: True}

    @pytest.mark.parametrize("head", ["Context:", "## Documents:", "SOURCES:", "**Reference:**"])
    def test_a_line_that_names_them_opens_one(self, head: str) -> None:
        said = f"Be kind.\n{head}\n{NOTES}\n\n{OTHER}"
        asked = read_chat({"messages": [{"role": "system", "content": f"{said}\n\nQuestion: When?"}]}, PATTERNS)
        assert [document.text for document in asked.grounds()] == [f"{NOTES}\n\n{OTHER}"]
        assert asked.conversation().turns[0].text == "Be kind.\n\n\nQuestion: When?"

    @pytest.mark.parametrize("role", ["system", "developer", "user"])
    @pytest.mark.parametrize("tag", ["context", "documents"])
    def test_become_documents_and_leave_the_turns(self, role: str, tag: str) -> None:
        text = f"Use this:\n<{tag}>\n{NOTES}\n</{tag}>\nBe kind."
        asked = chat({"role": role, "content": text}, {"role": "user", "content": "When?"})
        turns = asked.conversation().turns
        assert (turns[0].text, turns[1].text) == ("Use this:\n\nBe kind.", "When?")
        assert first_sent(asked)["content"] == text
        grounded = chat({"role": role, "content": text}) if role == "user" else asked
        assert texts(grounded) == [NOTES]

    def test_in_parts(self) -> None:
        content = [{"type": "text", "text": f"<context>{NOTES}</context>When?"}, {"type": "image_url", "image_url": {}}]
        asked = chat({"role": "user", "content": content})
        assert asked.conversation().turns == (Turn(role=Role.USER, text="When?", documents=()),)
        assert texts(asked) == [NOTES]
        assert first_sent(asked)["content"] == content

    def test_several_and_empty_ones(self) -> None:
        text = f"<context>{NOTES}</context> and <context> </context><documents>{OTHER}</documents>"
        assert texts(chat({"role": "user", "content": text})) == [NOTES, OTHER]

    def test_of_an_assistant_are_its_own_words(self) -> None:
        asked = chat({"role": "assistant", "content": f"<context>{NOTES}</context>"}, {"role": "user", "content": "?"})
        assert (texts(asked), NOTES in asked.conversation().turns[0].text) == ([], True)

    def test_of_an_earlier_question_do_not_ground_the_next_answer(self) -> None:
        asked = chat(
            {"role": "user", "content": f"<context>{NOTES}</context>When?"},
            {"role": "assistant", "content": TRUTH},
            {"role": "user", "content": f"<context>{OTHER}</context>And the cafe?"},
        )
        assert [[found.text for found in turn.documents] for turn in asked.conversation().turns] == [[], [NOTES], []]
        assert texts(asked) == [OTHER]

    def test_own_patterns(self) -> None:
        body = {"messages": [{"role": "system", "content": f"Quelle [1]: {NOTES}\nQuelle [2]: {OTHER}\n"}]}
        asked = read_chat(body, [r"Quelle \[\d+\]: ([^\n]+)\n"])
        assert texts(asked) == [NOTES, OTHER]

    def test_unclosed_tags_cost_no_time(self) -> None:
        # With a regular expression this would take hours.
        asked = chat({"role": "user", "content": "<context>" * 200_000 + "</documents>" * 200_000})
        assert texts(asked) == []


class TestResponsesInput:
    def test_everything_that_speaks_becomes_a_message(self) -> None:
        found = {"file_id": "file_1", "filename": "notes.txt", "text": NOTES, "score": 0.9}
        items = [
            {"role": "user", "content": [{"type": "input_text", "text": "When?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "file_search_call", "id": "fs_1", "queries": ["when"], "status": "completed", "results": [found]},
            {"type": "function_call", "call_id": "call_1", "name": "clock", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "noon"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TRUTH}]},
            {"type": "item_reference", "id": "msg_9"},
            {"role": "user", "content": "And now?"},
        ]
        asked = read_responses({"input": items, "instructions": f"Be brief. <context>{OTHER}</context>"}, PATTERNS)
        notes = Document(id="file_1", text=NOTES, title="notes.txt")
        clock = Document(id="tool:call_1", text="noon", title="clock")
        assert asked.conversation().turns == (
            Turn(role=Role.SYSTEM, text="Be brief."),
            Turn(role=Role.USER, text="When?"),
            Turn(role=Role.ASSISTANT, text=TRUTH, documents=(notes, clock)),
            Turn(role=Role.USER, text="And now?"),
        )
        assert texts(asked) == [OTHER]
        assert asked.sent["input"] == items

    def test_results_in_the_output(self) -> None:
        search = {
            "type": "file_search_call",
            "results": [{"file_id": "f", "text": NOTES}, {"file_id": "f", "text": OTHER}],
        }
        tool = {"type": "mcp_call", "id": "mcp_1", "name": "archive", "output": "noon"}
        found = found_documents([search, tool, {"type": "file_search_call", "results": None}, "?"])
        asked = read_responses({"input": "When?"}, PATTERNS)
        assert join_documents(asked.grounds(), found) == (
            Document(id="f", text=NOTES),
            Document(id="f#2", text=OTHER),
            Document(id="tool:mcp_1", text="noon", title="archive"),
        )

    @pytest.mark.parametrize("given", [None, 7, {}])
    def test_without_input_there_is_only_what_is_asked_for(self, given: Any) -> None:
        assert read_responses({"input": given}, PATTERNS).conversation().turns == ()


class TestThroughTheDoor:
    @pytest.mark.parametrize(
        ("path", "more"),
        [
            (CHAT, {"messages": ASKED, "documents": [NOTES]}),
            (CHAT, {"messages": [{"role": "system", "content": f"<context>{NOTES}</context>"}, *ASKED]}),
            (CHAT, {"messages": [{"role": "user", "content": f"<documents>{NOTES}</documents> When?"}]}),
            (RESPONSES, {"input": "When?", "documents": [{"text": NOTES}]}),
            (RESPONSES, {"input": "When?", "instructions": f"<context>{NOTES}</context>"}),
        ],
        ids=["body", "system", "user", "responses body", "instructions"],
    )
    def test_the_answer_is_held_against_it_and_upstream_takes_the_request(
        self, path: str, more: dict[str, Any]
    ) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, user_context=True) as served:
            served.post(path, {"model": "any", **more})
            upstream.assert_accepted()
        assert [passage.text for passage in served.judge.evidence[0].documents] == [NOTES]
        assert [finding.label.value for finding in served.report.findings] == ["VERIFIED"]

    async def test_else_the_document_store_is_asked(self) -> None:
        store = MemoryDocuments(WordEmbedder())
        await store.add([Document(id="notes", text=NOTES)])
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, guarding={"documents": store}) as served:
            served.post(CHAT, {"model": "any", "messages": ASKED})
        assert [passage.text for passage in served.judge.evidence[0].documents] == [NOTES]

    def test_too_much_is_refused_before_upstream_is_asked(self) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            response = served.post(
                CHAT, {"model": "any", "messages": ASKED, "documents": ["x"] * 1 + [f"x{n}" for n in range(200)]}
            )
            assert (response.status_code, upstream.calls) == (413, 0)
        assert "limits.documents is 200" in response.json()["error"]["message"]


def test_a_message_that_is_none() -> None:
    with raises(InputError, "hello"):
        read_chat({"messages": ["hello"]}, PATTERNS)
