"""Which conversation a request belongs to, and what of its history is judged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.proxy.serving import ASIDE, ASKED, LIE, NOTES, TRUTH, Served, chunks, document, known, proxy
from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.openai_api.wire import read_header, write_header
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.proxy.identity import Conversations, Identity, given_name
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, Verdict

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
AGAIN = "As I said, the whale hall opened in 1925."
LEANS = {**known(), AGAIN: [Verdict(AGAIN, needs=TRUTH)]}
"""The second answer holds only if what the first one established is known."""

MORE = {"role": "user", "content": "Are you sure?"}


def turn(served: Served, messages: list[dict[str, Any]], *, stream: bool = False, **more: Any) -> str:
    """One turn of a chat; returns what was said."""
    body = {"model": "any", "messages": messages, "stream": stream, **more}
    response = served.post(CHAT, body)
    if stream:
        return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks(response))
    return str(response.json()["choices"][0]["message"]["content"])


def labels(served: Served) -> list[str]:
    return [finding.label.value for finding in served.report.findings]


class TestNames:
    @pytest.mark.parametrize(
        ("headers", "body", "name"),
        [
            ({}, {}, None),
            ({"x-conversation-id": "a"}, {"metadata": {"conversation_id": "b"}, "conversation": "c"}, "a"),
            ({}, {"metadata": {"conversation_id": "b"}, "conversation": "c"}, "b"),
            ({}, {"metadata": None, "conversation": "c"}, "c"),
            ({}, {"conversation": {"id": "c"}}, "c"),
        ],
    )
    def test_where_they_are_looked_for(self, headers: dict[str, str], body: dict[str, Any], name: str | None) -> None:
        assert given_name(headers, body, "x-conversation-id") == name

    @pytest.mark.parametrize(
        "name", ["Zoë's 2nd talk", "Überblick", "今日は", "зал 17", "100%", "%41", "a'b'c", "utf-8''x"]
    )
    def test_a_header_carries_a_name_in_any_script(self, name: str) -> None:
        as_bytes = name.encode().decode("latin-1")
        for value in (write_header(name), *([] if name.startswith("utf-8") else [as_bytes])):
            assert value == as_bytes or value.isascii()
            assert given_name({"x-conversation-id": value}, {}, "x-conversation-id") == name

    @pytest.mark.parametrize("value", [7, "", " ", "a\nb", "x" * 513, ["a"]])
    def test_what_is_no_name(self, value: Any) -> None:
        with raises(InputError, "metadata.conversation_id", "512"):
            given_name({}, {"metadata": {"conversation_id": value}}, "x-conversation-id")

    def test_a_tenant_is_part_of_the_stored_id(self) -> None:
        assert Identity("acme", "talk").stored == "acme/talk"
        assert Identity("acme").stored is None

    async def test_tenants_share_no_memory_of_anonymous_conversations(self, knowledge: MemoryKnowledge) -> None:
        from tests.conftest import guard_with
        from vista_guard.testing import ScriptedJudge

        conversations = Conversations(guard_with(ScriptedJudge({}), knowledge), ProxySettings(upstream="http://x"))
        pasts = {id(conversations.guard(name).parts.past) for name in ("acme", "bolt", "acme")}
        assert len(pasts) == 2
        assert conversations.guard("acme") is conversations.guard("acme")


class TestAnonymous:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    def test_a_delivered_turn_is_known_when_it_comes_back_and_not_judged_again(self, stream: bool) -> None:
        with ScriptedChatServer([TRUTH, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            said = turn(served, ASKED, stream=stream, documents=[document()])
            again = [*ASKED, {"role": "assistant", "content": said}, MORE]
            assert turn(served, again, stream=stream) == AGAIN
        assert labels(served) == ["VERIFIED"]
        assert [text for text in served.judge.asked if AGAIN not in text] == [TRUTH]

    def test_an_edited_history_is_judged(self) -> None:
        with ScriptedChatServer([ASIDE, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            turn(served, ASKED, documents=[document()])
            turn(served, [*ASKED, {"role": "assistant", "content": TRUTH}, MORE])
        assert TRUTH in served.judge.asked
        # Without a document of its own the edit is not believed.
        assert labels(served) == ["LACKING_EVIDENCE"]

    def test_a_history_with_tools_is_recognised(self) -> None:
        call = {"id": "call_1", "type": "function", "function": {"name": "archive", "arguments": "{}"}}
        past: list[dict[str, Any]] = [
            *ASKED,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": NOTES},
        ]
        with ScriptedChatServer([TRUTH, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            turn(served, past)
            turn(served, [*past, {"role": "assistant", "content": TRUTH}, MORE])
        assert labels(served) == ["VERIFIED"]
        assert served.judge.asked == [TRUTH, AGAIN]

    def test_context_that_changes_with_every_request_does_not_change_the_history(self) -> None:
        def system(text: str) -> dict[str, str]:
            return {"role": "system", "content": f"Answer from this: <context>{text}</context>"}

        with ScriptedChatServer([TRUTH, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            turn(served, [system(NOTES), *ASKED])
            turn(served, [system("Something else."), *ASKED, {"role": "assistant", "content": TRUTH}, MORE])
        assert labels(served) == ["VERIFIED"]
        assert served.judge.asked == [TRUTH, AGAIN]

    def test_a_withheld_turn_comes_back_as_the_message(self) -> None:
        with ScriptedChatServer([LIE, ASIDE]) as upstream, proxy(upstream) as served:
            assert turn(served, ASKED, documents=[document()]) == MESSAGE
            turn(served, [*ASKED, {"role": "assistant", "content": MESSAGE}, MORE])
        assert served.judge.asked == [LIE, ASIDE]

    def test_choices_are_known_by_the_one_that_is_taken(self) -> None:
        with ScriptedChatServer([TRUTH, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            turn(served, ASKED, n=2, documents=[document()], metadata={"conversation_id": "talk"})
            turn(served, [*ASKED, {"role": "assistant", "content": TRUTH}, MORE])
        assert labels(served) == ["VERIFIED"]


class TestNamed:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    def test_what_was_established_is_known_without_the_history(self, stream: bool) -> None:
        named: dict[str, Any] = {"metadata": {"conversation_id": "talk"}}
        with ScriptedChatServer([TRUTH, AGAIN, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            turn(served, ASKED, stream=stream, documents=[document()], **named)
            turn(served, [MORE], stream=stream, **named)
            assert (served.report.conversation_id, labels(served)) == ("default/talk", ["VERIFIED"])
            turn(served, [MORE], stream=stream, metadata={"conversation_id": "other"})
            assert labels(served) == ["LACKING_EVIDENCE"]

    def test_a_delivered_turn_is_not_judged_again(self) -> None:
        named: dict[str, Any] = {"metadata": {"conversation_id": "talk"}}
        with ScriptedChatServer([TRUTH, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            turn(served, ASKED, documents=[document()], **named)
            turn(served, [*ASKED, {"role": "assistant", "content": TRUTH}, MORE], **named)
        assert served.judge.asked == [TRUTH, AGAIN]

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    @pytest.mark.parametrize("name", ["Überblick", "今日は", "talk 1"])
    def test_a_name_in_any_script_comes_back_so_that_it_can_be_sent_again(self, name: str, stream: bool) -> None:
        body = {"model": "any", "messages": ASKED, "stream": stream}
        with ScriptedChatServer([TRUTH, TRUTH, TRUTH]) as upstream, proxy(upstream) as served:
            told = served.post(CHAT, {**body, "metadata": {"conversation_id": name}})
            given = told.headers["x-vista-guard-conversation"]
            served.post(CHAT, body, **{"x-conversation-id": given})
            raw: Any = {"x-conversation-id": name.encode()}
            served.post(CHAT, body, **raw)
        assert read_header(given) == name
        assert [report.conversation_id for report in served.sink.reports] == [f"default/{name}"] * 3

    def test_the_header_is_not_sent_on(self) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, conversation_header="x-chat") as served:
            response = served.post(CHAT, {"model": "any", "messages": ASKED}, **{"x-chat": "talk"})
            assert "x-chat" not in upstream.requests[0].headers
        assert response.headers["x-vista-guard-conversation"] == "talk"


class TestResponses:
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    def test_a_chain_of_responses_is_one_conversation(self, stream: bool) -> None:
        with ScriptedChatServer([TRUTH, ASIDE, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            chain: list[dict[str, Any]] = [
                {"documents": [document()]},
                {"previous_response_id": "resp_1"},
                {"previous_response_id": "resp_2"},
            ]
            for number, more in enumerate(chain):
                body = {"model": "any", "input": f"Question {number}", "stream": stream, **more}
                assert served.post(RESPONSES, body).status_code == 200
        assert [report.conversation_id for report in served.sink.reports] == [None, "default/resp_1", "default/resp_1"]
        assert labels(served) == ["VERIFIED"]

    def test_conversation(self) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            for given in ("conv_1", {"id": "conv_1"}):
                served.post(RESPONSES, {"model": "any", "input": "When?", "conversation": given})
        assert [report.conversation_id for report in served.sink.reports] == ["default/conv_1"] * 2

    def test_a_resent_history_is_recognised(self) -> None:
        asked = {"role": "user", "content": "When?"}
        with ScriptedChatServer([TRUTH, AGAIN]) as upstream, proxy(upstream, script=LEANS) as served:
            first = served.post(
                RESPONSES, {"model": "any", "input": [asked], "documents": [document()], "store": False}
            )
            served.post(RESPONSES, {"model": "any", "input": [asked, *first.json()["output"], MORE], "store": False})
        assert labels(served) == ["VERIFIED"]
        assert served.judge.asked == [TRUTH, AGAIN]
