"""The guarded OpenAI client against a server: what is judged, what passes, and that nothing else changes."""

from __future__ import annotations

import asyncio
import json
import runpy
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from tests.conftest import guard_with
from tests.integrations.openai.ways import (
    ASKED,
    EVERY_WAY,
    LIE,
    NOTES,
    SOME_WAYS,
    TRUTH,
    UNGROUNDED,
    Script,
    ask,
    async_client,
    chat,
    chat_stream,
    closed_clients,
    museum_judge,
    sync_client,
)
from tests.pace import PATIENCE_S
from tests.raising import raises
from vista_guard import Blocked, ConfigError, Conversation, Document, Guard, TurnReport
from vista_guard.integrations.openai import guarded, report_of
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.reading.chat_json import to_conversation, to_document
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import Answer, Fault, ScriptedChatServer, ScriptedJudge, Verdict

__all__ = ["closed_clients"]  # a fixture

BOTH = f"{TRUTH} {LIE}"


def timeless(report: TurnReport) -> dict[str, Any]:
    """All of a report but its times."""
    return report.model_dump(exclude={"id", "gate", "timings", "created_at"})


def own(server: ScriptedChatServer) -> openai.OpenAI:
    return sync_client(server.base_url)


@EVERY_WAY
@pytest.mark.parametrize("text", [TRUTH, LIE])
async def test_the_report_is_that_of_a_check(way: Any, text: str, knowledge: MemoryKnowledge) -> None:
    talk = to_conversation([*ASKED, {"role": "assistant", "content": text}], conversation_id="c")
    checked = await guard_with(museum_judge(), knowledge).acheck(talk)
    await knowledge.forget("c")
    with ScriptedChatServer(text) as server:
        options = {"on_block": "replace", "conversation_id": "c"}
        heard = await ask(way, server, guard_with(museum_judge(), knowledge), **options)
        server.assert_accepted()
    assert timeless(heard.report) == timeless(checked)
    assert heard.shown == checked.response


@EVERY_WAY
async def test_a_repaired_answer_replaces_the_text(way: Any, knowledge: MemoryKnowledge) -> None:
    policy = build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}, "repair": "redact"})
    guard = Guard(museum_judge(), policy, knowledge=knowledge)
    with ScriptedChatServer(BOTH) as server:
        heard = await ask(way, server, guard, gate="turn")
    assert (heard.error, heard.shown, heard.finish, heard.report.response) == (None, TRUTH, "stop", TRUTH)
    assert not any("Zubrowka" in shown for shown in heard.objects)


@EVERY_WAY
@pytest.mark.parametrize(
    "answer",
    [Answer(LIE, function="look_up"), Answer(""), Answer(None), Answer("  \n")],
    ids=["tool call", "empty", "null", "blank"],
)
async def test_what_is_no_text_is_not_judged(way: Any, answer: Answer, knowledge: MemoryKnowledge) -> None:
    judge = museum_judge()
    with ScriptedChatServer([answer]) as server:
        heard = await ask(way, server, guard_with(judge, knowledge, "strict"))
    assert (heard.error, heard.told, judge.asked) == (None, [], [])
    assert ("whal" in "".join(heard.objects)) == (answer.text == LIE)


@EVERY_WAY
async def test_a_refusal_is_judged_as_text(way: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer([Answer(refusal=LIE)]) as server:
        heard = await ask(way, server, guard_with(museum_judge(), knowledge, "strict"))
    assert isinstance(heard.error, Blocked)
    assert not any("Zubrowka" in shown for shown in heard.objects)


class Opening(BaseModel):
    text: str


@pytest.mark.parametrize("method", ["parse", "stream"])
def test_a_structured_output_passes_untouched(method: str, knowledge: MemoryKnowledge) -> None:
    judge, answer = museum_judge(), Opening(text=LIE)
    with ScriptedChatServer(answer.model_dump_json()) as server:
        client = guarded(own(server), guard_with(judge, knowledge, "strict"))
        asked: Any = {"model": "m", "messages": UNGROUNDED, "response_format": Opening}
        if method == "parse":
            completion: Any = client.chat.completions.parse(**asked)
        else:
            with client.chat.completions.stream(**asked) as stream:
                completion = stream.get_final_completion()
        response = client.responses.parse(model="m", input="When?", text_format=Opening)
    assert (completion.choices[0].message.parsed, response.output_parsed) == (answer, answer)
    assert (judge.asked, report_of(completion), report_of(response)) == ([], None, None)


@pytest.mark.parametrize("stream", [False, True])
def test_every_choice_is_judged_and_none_remembered(stream: bool, knowledge: MemoryKnowledge) -> None:
    told: list[TurnReport] = []
    with ScriptedChatServer(LIE) as server:
        guard = guard_with(museum_judge(), knowledge)
        client = guarded(own(server), guard, on_block="replace", on_report=told.append, conversation_id="c")
        asked: Any = {"model": "m", "messages": ASKED, "n": 2, "stream": stream}
        answer = client.chat.completions.create(**asked)
        texts, finishes = ["", ""], ["", ""]
        for chunk in answer if stream else []:
            for choice in chunk.choices:
                texts[choice.index] += choice.delta.content or ""
                finishes[choice.index] = choice.finish_reason
        for choice in [] if stream else answer.choices:
            texts[choice.index], finishes[choice.index] = choice.message.content, choice.finish_reason
    assert (texts, finishes) == ([MESSAGE, MESSAGE], ["content_filter"] * 2)
    assert [report_of(answer, 0), report_of(answer, 1)] == told
    assert ([report.conversation_id for report in told], len(told)) == (["c", "c"], 2)
    assert asyncio.run(knowledge.delivered("c")) == frozenset()


def test_the_report_is_not_in_the_json_of_an_answer(knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer(TRUTH) as server:
        plain = own(server).chat.completions.create(model="m", messages=UNGROUNDED)  # type: ignore[arg-type]
        client = guarded(own(server), guard_with(museum_judge(), knowledge))
        answer = client.chat.completions.create(model="m", messages=UNGROUNDED)  # type: ignore[arg-type]
    assert {**answer.to_dict(), "id": None, "created": 0} == {**plain.to_dict(), "id": None, "created": 0}
    assert type(answer) is type(plain)
    assert report_of(answer) is not None


class TestEvidence:
    """Where it comes from."""

    TOOL = (
        {"role": "user", "content": "When?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": NOTES},
    )

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize(
        ("messages", "more"),
        [(ASKED, {}), (TOOL, {}), (UNGROUNDED, {"extra_body": {"documents": [{"id": "d", "text": NOTES}]}})],
        ids=["on a message", "tool message", "extra_body"],
    )
    async def test_of_chat_completions(
        self, messages: Any, more: Any, stream: bool, knowledge: MemoryKnowledge
    ) -> None:
        with ScriptedChatServer(TRUTH, extra_parameters=["documents"]) as server:
            guard = guard_with(museum_judge(), knowledge, "strict")
            heard = await ask(chat_stream if stream else chat, server, guard, messages, more=more)
            server.assert_accepted()
        (finding,) = heard.report.findings
        assert (finding.label, finding.evidence[0].quote) == ("VERIFIED", NOTES)

    @pytest.mark.parametrize(
        "found",
        [
            {"type": "function_call_output", "call_id": "c1", "output": NOTES},
            {
                "type": "file_search_call",
                "id": "fs1",
                "status": "completed",
                "queries": ["q"],
                "results": [{"file_id": "f1", "filename": "halls.md", "text": NOTES}],
            },
        ],
        ids=["tool output", "file search"],
    )
    def test_of_responses(self, found: Any, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(TRUTH) as server:
            client = guarded(own(server), guard_with(museum_judge(), knowledge, "strict"))
            answer = client.responses.create(model="m", input=[{"role": "user", "content": "When?"}, found])
            server.assert_accepted()
        report = report_of(answer)
        assert report is not None
        assert report.findings[0].evidence[0].quote == NOTES

    @SOME_WAYS
    @pytest.mark.parametrize("finds", ["sync", "async"])
    async def test_documents_are_found(self, way: Any, finds: str, knowledge: MemoryKnowledge) -> None:
        def find(talk: Conversation) -> Sequence[Document]:
            return [to_document(NOTES)] if talk.turns[-2].text == "When did it open?" else []

        async def afind(talk: Conversation) -> Sequence[Document]:
            await asyncio.sleep(0)
            return find(talk)

        with ScriptedChatServer(TRUTH) as server:
            guard = guard_with(museum_judge(), knowledge, "strict")
            heard = await ask(way, server, guard, UNGROUNDED, documents=find if finds == "sync" else afind)
        assert (heard.error, heard.shown) == (None, TRUTH)

    @pytest.mark.parametrize(
        "documents",
        [NOTES, to_document(NOTES), [NOTES], (to_document(NOTES),), {"text": NOTES}, [{"text": NOTES}]],
        ids=repr,
    )
    def test_documents_are_given(self, documents: Any, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(TRUTH) as server:
            client = guarded(own(server), guard_with(museum_judge(), knowledge, "strict"), documents=documents)
            answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "When?"}])
        assert answer.choices[0].message.content == TRUTH

    @pytest.mark.parametrize(
        ("documents", "told"),
        [
            (7, ("documents", "int")),
            ([NOTES, 7], ("1", "int")),
        ],
    )
    def test_documents_that_are_none_are_refused(
        self, documents: Any, told: tuple[str, ...], knowledge: MemoryKnowledge
    ) -> None:
        with openai.OpenAI(api_key="k") as client, raises(ConfigError, *told):
            guarded(client, guard_with(museum_judge(), knowledge), documents=documents)


class TestTheConversation:
    """Who is talking, and what was said before."""

    @SOME_WAYS
    @pytest.mark.parametrize(
        ("options", "metadata", "named"),
        [
            ({"conversation_id": "mine"}, {"conversation_id": "other"}, "mine"),
            ({"conversation_id": lambda asked: asked["metadata"]["thread"]}, {"thread": "t7"}, "t7"),
            ({}, {"conversation_id": "m1"}, "m1"),
            ({}, {"user": "u"}, None),
        ],
        ids=["argument", "function", "metadata", "anonymous"],
    )
    async def test_its_name(
        self, way: Any, options: Any, metadata: Any, named: str | None, knowledge: MemoryKnowledge
    ) -> None:
        with ScriptedChatServer(TRUTH) as server:
            guard = guard_with(museum_judge(), knowledge)
            heard = await ask(way, server, guard, more={"metadata": metadata}, **options)
        assert heard.report.conversation_id == named

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("link", ["conversation", "previous_response_id"])
    def test_what_openai_keeps_is_known_again(self, link: str, stream: bool, knowledge: MemoryKnowledge) -> None:
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict("It is old.", needs=TRUTH)))
        with ScriptedChatServer([TRUTH, "It is old."]) as server:
            client: Any = guarded(own(server), guard_with(judge, knowledge, "strict"))
            chained: Any = {"conversation": "conv_1"} if link == "conversation" else {}
            first = client.responses.create(model="m", input=ASKED, stream=stream, **chained)
            first = list(first)[-1].response if stream else first
            chained = chained or {"previous_response_id": first.id}
            second = client.responses.create(model="m", input="And?", **chained)
            server.assert_accepted()
        report = report_of(second)
        assert report is not None
        assert (report.turn_index, report.conversation_id) == (3, chained.get("conversation"))
        assert [finding.label for finding in report.findings] == ["VERIFIED"]

    def test_an_earlier_answer_is_passed_back_as_it_came(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer([TRUTH, TRUTH, TRUTH, TRUTH]) as server:
            client: Any = guarded(own(server), guard_with(museum_judge(), knowledge))
            message = client.chat.completions.create(model="m", messages=iter(ASKED)).choices[0].message
            again = client.chat.completions.create(model="m", messages=[*ASKED, message, *UNGROUNDED])
            output = client.responses.create(model="m", input=iter(ASKED)).output
            once_more = client.responses.create(model="m", input=[*ASKED, *output, *UNGROUNDED])
            server.assert_accepted()
        assert [report_of(answer).turn_index for answer in (again, once_more)] == [3, 3]  # type: ignore[union-attr]


class TestAllElseIsTheClientsOwn:
    """By composition: the client itself stays as it was."""

    def test_it_passes_for_the_client(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(LIE) as server, own(server) as client:
            over = guarded(client, guard_with(museum_judge(), knowledge))
            assert isinstance(over, openai.OpenAI)
            assert isinstance(over.chat.completions, type(client.chat.completions))
            assert (over.base_url, over.api_key, over.max_retries) == (client.base_url, "k", 2)
            assert [model.id for model in over.models.list()] == ["scripted"]
            asked: Any = {"model": "m", "messages": UNGROUNDED}
            assert client.chat.completions.create(**asked).choices[0].message.content == LIE

    @pytest.mark.parametrize("way", ["with_raw_response", "with_streaming_response"])
    def test_raw_responses_are_judged_too(self, way: str, knowledge: MemoryKnowledge) -> None:
        def raw_of(on_block: Any) -> Any:
            over: Any = guarded(own(server), guard_with(museum_judge(), knowledge), on_block=on_block)
            made = getattr(over.chat.completions, way).create(model="m", messages=ASKED)
            return made if way == "with_raw_response" else opened.enter_context(made)

        with ScriptedChatServer([LIE, LIE, TRUTH]) as server, ExitStack() as opened:
            with pytest.raises(Blocked):
                raw_of("raise")
            withheld, shown = raw_of("replace"), raw_of("replace")
            assert server.calls == 3
            for raw, text, decision in ((withheld, MESSAGE, "BLOCK"), (shown, TRUTH, "ALLOW")):
                raw.http_response.read()
                report = report_of(raw.parse())
                assert raw.parse().choices[0].message.content == text
                assert json.loads(raw.http_response.text)["vista_guard"]["action"] == decision
                assert raw.headers["x-vista-guard-action"] == decision
                assert report is not None
                assert report.decision.action == decision
                assert "Zubrowka" not in raw.http_response.text

    def test_a_streaming_response_hands_out_what_was_judged(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(f"{TRUTH} {LIE}") as server:
            over: Any = guarded(own(server), guard_with(museum_judge(), knowledge), on_block="replace")
            asked: Any = {"model": "m", "messages": ASKED, "stream": True}
            with over.chat.completions.with_streaming_response.create(**asked) as raw:
                lines = "\n".join(raw.iter_lines())
        assert ("Zubrowka" in lines, MESSAGE in lines, "data: [DONE]" in lines) == (False, True, True)

    def test_a_path_by_hand_is_judged_too(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(LIE) as server:
            over = guarded(own(server), guard_with(museum_judge(), knowledge))
            with pytest.raises(Blocked):
                over.post("/chat/completions", cast_to=object, body={"model": "m", "messages": ASKED})
            assert server.calls == 1

    def test_what_upstream_refuses_for_now_is_sent_again_and_judged_once(self, knowledge: MemoryKnowledge) -> None:
        told: list[TurnReport] = []
        with ScriptedChatServer([Fault.http(500), Fault.reset(), TRUTH, LIE]) as server:
            guard = guard_with(museum_judge(), knowledge)
            over = guarded(own(server), guard, on_report=told.append).with_options(max_retries=3, timeout=PATIENCE_S)
            answer = over.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]
            assert (answer.choices[0].message.content, server.calls, len(told)) == (TRUTH, 3, 1)
            with pytest.raises(Blocked):
                over.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]
            assert (server.calls, len(told)) == (4, 2)

    def test_the_http_client_of_the_user_is_kept(self, knowledge: MemoryKnowledge) -> None:
        seen: list[str] = []
        hooks: Any = {"request": [lambda request: seen.append(request.headers["x-team"])]}
        http = openai.DefaultHttpxClient(verify=False, headers={"x-team": "museum"}, event_hooks=hooks)
        other = openai.DefaultHttpxClient(verify=False, headers={"x-team": "harbour"}, event_hooks=hooks)
        with ScriptedChatServer([TRUTH, LIE]) as server, http, other:
            client = openai.OpenAI(base_url=server.base_url, api_key="k", http_client=http)
            over = guarded(client, guard_with(museum_judge(), knowledge))
            over.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]
            with pytest.raises(Blocked):
                over.with_options(http_client=other).responses.create(model="m", input=ASKED)  # type: ignore[arg-type]
        assert seen == ["museum", "harbour"]

    def test_what_is_made_of_it_is_guarded_too(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(LIE) as server, own(server) as client:
            over = guarded(client, guard_with(museum_judge(), knowledge)).with_options(max_retries=7)
            assert over.max_retries == 7
            with over as entered, pytest.raises(Blocked):
                entered.copy(timeout=3).chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]
            assert client.is_closed()

    async def test_the_async_client_too(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(LIE) as server:
            client = async_client(server.base_url)
            over = guarded(client, guard_with(museum_judge(), knowledge)).with_options(max_retries=7)
            async with over as entered:
                assert isinstance(entered, openai.AsyncOpenAI)
                with pytest.raises(Blocked):
                    await entered.responses.create(model="m", input=ASKED)  # type: ignore[arg-type]
                with pytest.raises(Blocked):
                    await entered.responses.parse(model="m", input=ASKED)  # type: ignore[arg-type]

    def test_errors_of_the_api_are_the_clients_own(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(TRUTH, key="right") as server, own(server) as client:
            over = guarded(client, guard_with(museum_judge(), knowledge))
            with pytest.raises(openai.AuthenticationError):
                over.chat.completions.create(model="m", messages=ASKED)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            ({"gate": "word"}, ("gate", "word")),
            ({"on_block": "warn"}, ("on_block", "warn")),
        ],
    )
    def test_unknown_options(self, options: Any, told: tuple[str, ...], knowledge: MemoryKnowledge) -> None:
        with openai.OpenAI(api_key="k") as client, raises(ConfigError, *told):
            guarded(client, guard_with(museum_judge(), knowledge), **options)

    def test_another_client(self, knowledge: MemoryKnowledge) -> None:
        with raises(ConfigError, "client", "str"):
            guarded("client", guard_with(museum_judge(), knowledge))  # type: ignore[type-var]


def test_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path("examples/openai_client.py", run_name="example")["main"]()
    shown = capsys.readouterr().out.splitlines()
    assert "t1.c1 contradicted" in shown.pop(2)
    assert shown == [
        "The whale hall opened in 1925. Entry costs 12 euros.",
        "  ALLOW, VISTA score 1.0",
        MESSAGE,
        "  BLOCK, VISTA score 0.5, finish_reason content_filter",
    ]
