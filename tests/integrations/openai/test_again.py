"""The guarded OpenAI client with a policy that regenerates: what the API is sent, what the caller gets, what is left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.integrations.openai.ways import (
    ASKED,
    ASYNC,
    EVERY_WAY,
    NOTES,
    SYNC,
    TRUTH,
    Script,
    ask,
    closed_clients,
    sync_client,
)
from tests.pace import held
from tests.proxy.serving import serving
from tests.proxy.test_again import RESPONSES, ROOF, ROOFS, SEARCH, Spoken
from vista_guard import Action, Guard, TurnReport
from vista_guard.integrations.openai import guarded, report_of
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import Fault, ScriptedChatServer, ScriptedJudge, Verdict, count_tokens
from vista_guard.testing.server import Loopback
from vista_guard.types import Label, RepairMode

__all__ = ["closed_clients"]  # a fixture

RUMOUR = "Pirates once slept in it."
GATES = pytest.mark.parametrize("gate", ["sentence", "turn"])
STREAMS = [way for way in (*SYNC, *ASYNC) if way.__name__.endswith(("stream", "helper"))]
WHOLE = [way for way in (*SYNC, *ASYNC) if way not in STREAMS]
EVERY_GATE = pytest.mark.parametrize(
    ("way", "gate"),
    [*((way, "turn") for way in WHOLE), *((way, gate) for way in STREAMS for gate in ("sentence", "turn"))],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)


class Kept:
    """A sink that keeps reports."""

    def __init__(self) -> None:
        self.reports: list[TurnReport] = []

    async def write(self, report: TurnReport) -> None:
        self.reports.append(report)


def strict(knowledge: MemoryKnowledge, sink: Kept | None = None, **policy: Any) -> Guard:
    """Knows when the hall opened, and that nothing is known about pirates."""
    judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(RUMOUR, Label.LACKING_EVIDENCE)))
    return Guard(judge, build_policy("strict", policy), knowledge=knowledge, sinks=[sink] if sink else [])


def is_chat(way: Callable[..., Any]) -> bool:
    return "chat" in way.__name__


def sent(server: ScriptedChatServer, place: int) -> dict[str, Any]:
    return dict(server.requests[place].body)


@EVERY_GATE
async def test_the_api_is_asked_again_and_the_caller_gets_what_holds_up(
    way: Any, gate: Any, knowledge: MemoryKnowledge
) -> None:
    sink = Kept()
    more = {"temperature": 0.5, "metadata": {"team": "museum"}}
    with ScriptedChatServer([RUMOUR, TRUTH]) as server:
        heard = await ask(way, server, strict(knowledge, sink), gate=gate, conversation_id="c", more=more)
        server.assert_accepted()
        first, second = sent(server, 0), sent(server, 1)
        keys = {request.headers["authorization"] for request in server.requests}
    assert (heard.error, heard.shown, heard.finish) == (None, TRUTH, "stop")
    assert not any("Pirate" in shown for shown in heard.objects)

    name = "messages" if is_chat(way) else "input"
    asked, (draft, note) = second[name][:-2], second[name][-2:]
    assert (asked, draft) == (first[name], {"role": "assistant", "content": RUMOUR})
    assert note["role"] == "user"
    assert f"- {RUMOUR} (not supported by the sources)" in note["content"]
    assert {key: value for key, value in second.items() if key != name} == {
        key: value for key, value in first.items() if key != name
    }
    assert keys == {"Bearer k"}

    (attempt,) = heard.report.attempts
    assert (attempt.repair, [outcome.claim.text for outcome in attempt.outcomes]) == (RepairMode.REGENERATE, [RUMOUR])
    assert (heard.report.response, heard.report.decision.action) == (TRUTH, Action.REPAIR)
    assert [report.response for report in sink.reports] == [TRUTH]
    recalled = await knowledge.recall("c", persona=None, query="", limit=100)
    assert [passage.text for passage in recalled] == [TRUTH]
    assert len(await knowledge.delivered("c")) == 1


@EVERY_GATE
async def test_after_the_last_attempt_the_fallback_is_taken(way: Any, gate: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer([RUMOUR, f"{RUMOUR} {TRUTH}"]) as server:
        heard = await ask(way, server, strict(knowledge), gate=gate)
        server.assert_accepted()
        assert server.calls == 2
    assert (heard.error, heard.shown, heard.finish, len(heard.report.attempts)) == (None, TRUTH, "stop", 1)
    assert not any("Pirate" in shown for shown in heard.objects)


@EVERY_GATE
async def test_a_policy_may_ask_more_often(way: Any, gate: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer([RUMOUR, RUMOUR, TRUTH]) as server:
        heard = await ask(way, server, strict(knowledge, max_attempts=2), gate=gate)
        third = server.requests[2]
    assert (heard.shown, len(heard.report.attempts)) == (TRUTH, 2)
    assert [role for role, _ in third.messages] == ["user", "assistant", "user"]  # each time the caller's own request


@EVERY_GATE
@pytest.mark.parametrize(
    "fault", [Fault.http(500), Fault.cut("", share=0.0), Fault.empty()], ids=["500", "cut", "empty"]
)
async def test_an_api_that_fails_then_leaves_the_fallback(
    way: Any, gate: Any, fault: Fault, knowledge: MemoryKnowledge
) -> None:
    with ScriptedChatServer(
        lambda _: f"{RUMOUR} {TRUTH}", faults=lambda call: fault if call.number > 1 else None
    ) as server:
        heard = await ask(way, server, strict(knowledge), gate=gate)
    assert (heard.error, heard.shown, heard.finish) == (None, TRUTH, "stop")
    assert heard.report.attempts == ()
    assert heard.report.warnings[0].startswith("the agent was asked again and ")
    assert not any("Pirate" in shown for shown in heard.objects)


@EVERY_GATE
async def test_what_is_withheld_in_the_end_is_withheld(way: Any, gate: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer([RUMOUR, RUMOUR]) as server:
        heard = await ask(way, server, strict(knowledge), gate=gate, on_block="replace")
    assert (heard.shown, heard.finish, len(heard.report.attempts)) == (MESSAGE, "content_filter", 1)
    assert not any("Pirate" in shown for shown in heard.objects)


@pytest.mark.parametrize("way", STREAMS, ids=lambda way: way.__name__)
async def test_text_that_is_out_stands(way: Any, knowledge: MemoryKnowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    guard: Any = strict(knowledge)
    monkeypatch.setattr(Loopback, "pause", held(count_tokens(TRUTH) + 3, lambda: guard.parts.judge.evidence))
    with ScriptedChatServer([f"{TRUTH} {RUMOUR} {TRUTH}"], tokens_per_second=400) as server:
        heard = await ask(way, server, guard, gate="sentence")
        assert server.calls == 1
    assert (heard.error, heard.shown, heard.report.attempts) == (None, f"{TRUTH} {TRUTH}", ())


@EVERY_WAY
async def test_a_policy_that_never_asks_again_does_not(way: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer([RUMOUR]) as server:
        heard = await ask(way, server, strict(knowledge, max_attempts=0), on_block="replace")
        assert server.calls == 1
    assert heard.shown == MESSAGE


class TestWhatIsNotAskedAgain:
    @pytest.mark.parametrize("stream", [False, True])
    def test_several_choices(self, stream: bool, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(f"{RUMOUR} {TRUTH}") as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge))
            answer = over.chat.completions.create(model="m", messages=ASKED, n=2, stream=stream)
            told = [report_of(answer, index) for index in range(2)] if not stream or list(answer) else []
            assert server.calls == 1
        assert [report and report.response for report in told] == [TRUTH, TRUTH]

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_conversation_that_openai_keeps(self, stream: bool, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer(f"{RUMOUR} {TRUTH}") as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge))
            answer = over.responses.create(model="m", input=[*ASKED], conversation="conv_1", stream=stream)
            events = list(answer) if stream else []
            text = events[-1].response.output_text if stream else answer.output_text
            assert server.calls == 1
        assert text == TRUTH

    @GATES
    @pytest.mark.parametrize("stream", [False, True])
    def test_text_beside_a_tool_call_is_judged_all_the_same(
        self, stream: bool, gate: Any, knowledge: MemoryKnowledge
    ) -> None:
        call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        with upstream(f"{RUMOUR} {TRUTH}", [call]) as (url, asked):
            over: Any = guarded(sync_client(url), strict(knowledge), gate=gate)
            answer = over.chat.completions.create(model="m", messages=ASKED, stream=stream)
            if stream:
                deltas = [chunk.choices[0].delta for chunk in answer]
                text = "".join(delta.content or "" for delta in deltas)
                calls = [made.id for delta in deltas for made in delta.tool_calls or ()]
            else:
                text, calls = (
                    answer.choices[0].message.content,
                    [made.id for made in answer.choices[0].message.tool_calls],
                )
            report = report_of(answer)
        assert (text, calls, len(asked)) == (TRUTH, ["t1"], 1)
        assert report is not None
        assert (report.decision.action, report.response) == (Action.REPAIR, TRUTH)


class TestTheResponsesApi:
    def test_a_text_for_input_and_what_openai_keeps(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer([RUMOUR, TRUTH], extra_parameters={"documents"}) as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge))
            more = {"previous_response_id": "resp_0", "instructions": "Be brief.", "extra_body": {"documents": [NOTES]}}
            response = over.responses.create(model="m", input="When did it open?", **more)
            server.assert_accepted()
            second = sent(server, 1)
        assert (response.id, response.output_text) == ("resp_2", TRUTH)
        assert second["previous_response_id"] == "resp_0"
        assert second["instructions"] == "Be brief."
        assert [item["content"] for item in second["input"]][:2] == ["When did it open?", RUMOUR]

    def test_later_requests_know_what_was_delivered_and_not_the_draft(self, knowledge: MemoryKnowledge) -> None:
        told: list[TurnReport] = []
        with ScriptedChatServer([RUMOUR, TRUTH, TRUTH]) as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge), on_report=told.append)
            first = over.responses.create(model="m", input=[*ASKED])
            over.responses.create(model="m", input=[*ASKED], previous_response_id=first.id)
        assert [report.turn_index for report in told] == [1, 3]

    @GATES
    def test_a_stream_is_that_of_the_answer_that_is_delivered(self, gate: Any, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer([RUMOUR, TRUTH]) as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge), gate=gate)
            events = list(over.responses.create(model="m", input=[*ASKED], stream=True))
        with ScriptedChatServer(TRUTH) as server:
            plain = list(sync_client(server.base_url).responses.create(model="m", input="When?", stream=True))
        assert [event.sequence_number for event in events] == list(range(len(events)))
        kinds = [event.type for event in plain if event.type != "response.output_text.delta"]
        assert [event.type for event in events if event.type != "response.output_text.delta"] == kinds
        assert {event.response.id for event in events if hasattr(event, "response")} == {"resp_2"}


class TestUsage:
    """Is what all answers together cost, as far as the API said it."""

    def test_of_whole_answers(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer([RUMOUR, TRUTH, RUMOUR, TRUTH]) as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge))
            chat = over.chat.completions.create(model="m", messages=ASKED).usage
            one, two = (request.usage for request in server.requests)
            response = over.responses.create(model="m", input=[*ASKED]).usage
            three, four = (request.usage for request in server.requests[2:])
        assert one is not None
        assert two is not None
        assert three is not None
        assert four is not None
        assert (chat.prompt_tokens, chat.completion_tokens) == (
            one.input_tokens + two.input_tokens,
            one.output_tokens + two.output_tokens,
        )
        assert chat.total_tokens == chat.prompt_tokens + chat.completion_tokens
        assert chat.prompt_tokens_details.cached_tokens == one.cached_tokens + two.cached_tokens
        assert (response.input_tokens, response.output_tokens) == (
            three.input_tokens + four.input_tokens,
            three.output_tokens + four.output_tokens,
        )

    def test_of_a_stream_that_was_held_whole(self, knowledge: MemoryKnowledge) -> None:
        with ScriptedChatServer([RUMOUR, TRUTH]) as server:
            over: Any = guarded(sync_client(server.base_url), strict(knowledge), gate="turn")
            asked = {"model": "m", "messages": ASKED, "stream": True, "stream_options": {"include_usage": True}}
            chunks = list(over.chat.completions.create(**asked))
            one, two = (request.usage for request in server.requests)
        assert one is not None
        assert two is not None
        assert chunks[-1].usage.prompt_tokens == one.input_tokens + two.input_tokens


class TestEvidenceOnTheWay:
    """What OpenAI's own tools find between the texts of a stream."""

    @GATES
    @pytest.mark.parametrize("policy", ["strict", "balanced"])
    def test_grounds_what_is_said_then(self, policy: str, gate: Any, knowledge: MemoryKnowledge) -> None:
        told: list[TurnReport] = []
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(ROOF, needs="Orvane")))
        guard = Guard(judge, policy, knowledge=knowledge)
        answer = Spoken(RESPONSES, [TRUTH, SEARCH, ROOF])
        with serving(answer.app) as url:
            over: Any = guarded(sync_client(f"{url}/v1"), guard, gate=gate, on_report=told.append)
            events = list(over.responses.create(model="m", input=[*ASKED], stream=True))
        shown = "".join(event.delta for event in events if event.type == "response.output_text.delta")
        assert shown == f"{TRUTH}{ROOF}"
        assert [report.decision.action for report in told] == [Action.ALLOW]  # a response is one turn, as in the proxy
        assert [finding.evidence[0].quote for report in told for finding in report.findings] == [NOTES, ROOFS]

    @GATES
    def test_counts_for_the_text_that_is_being_said(self, gate: Any, knowledge: MemoryKnowledge) -> None:
        """The results come in the middle of a text, as servers that run tools beside the model may send them."""
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(ROOF, needs="Orvane")))
        answer = Spoken(RESPONSES, [f"{TRUTH} {ROOF}", SEARCH], inside=len(TRUTH))
        with serving(answer.app) as url:
            over: Any = guarded(sync_client(f"{url}/v1"), Guard(judge, "strict", knowledge=knowledge), gate=gate)
            events = list(over.responses.create(model="m", input=[*ASKED], stream=True))
            report = report_of(events[-1])
        assert report is not None
        assert (report.response, report.decision.action, len(answer.asked)) == (f"{TRUTH} {ROOF}", Action.ALLOW, 1)


async def test_a_hundred_at_once_ask_again_for_their_own(knowledge: MemoryKnowledge) -> None:
    def answer(request: Any) -> str:
        number = request.messages[0][1].split()[-1]
        return f"Hall {number} opened in 1925." if len(request.messages) > 1 else f"Pirates slept in {number}."

    verdicts = [Verdict(f"Hall {number} opened in 1925.", needs="1925") for number in range(100)]
    rumours = [Verdict(f"Pirates slept in {number}.", Label.LACKING_EVIDENCE) for number in range(100)]
    guard = Guard(ScriptedJudge(Script(*verdicts, *rumours)), "strict", knowledge=knowledge)
    with ScriptedChatServer(answer) as server:
        client = openai.AsyncOpenAI(
            base_url=server.base_url, api_key="k", http_client=openai.DefaultAsyncHttpxClient(verify=False)
        )
        async with client:
            over: Any = guarded(client, guard)

            async def one(number: int) -> str:
                asked = [{"role": "user", "content": f"Hall {number}", "documents": [NOTES]}]
                stream = await over.chat.completions.create(model="m", messages=asked, stream=True)
                return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

            told = await asyncio.gather(*(one(number) for number in range(100)))
    assert told == [f"Hall {number} opened in 1925." for number in range(100)]


@contextmanager
def upstream(text: str, calls: list[Any]) -> Any:
    """A server that says a text and calls tools in one message; its URL, and the requests."""
    asked: list[Any] = []

    async def answer(request: Request) -> Response:
        body = await request.json()
        asked.append(body)
        frame = {"id": "c1", "created": 1, "model": "m"}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text, "tool_calls": [{**call, "index": None} for call in calls]}
            choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
            return JSONResponse({**frame, "object": "chat.completion", "choices": [choice]})

        async def events() -> AsyncIterator[str]:
            deltas: list[Any] = [{"role": "assistant", "tool_calls": calls}, {"content": text}, {}]
            for delta in deltas:
                choice = {"index": 0, "delta": delta, "finish_reason": None if delta else "tool_calls"}
                yield f"data: {json.dumps({**frame, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    loopback = Loopback(Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])]))
    try:
        yield f"http://127.0.0.1:{loopback.port}/v1", asked
    finally:
        loopback.stop()
