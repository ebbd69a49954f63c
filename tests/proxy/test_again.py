"""The proxy with a policy that regenerates, and evidence that comes while upstream answers."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.pace import held, until
from tests.proxy.serving import (
    ASIDE,
    ASKED,
    LIE,
    TRUTH,
    Served,
    chunks,
    document,
    known,
    proxy,
    said,
    serving,
)
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.testing import Fault, ReceivedRequest, ScriptedChatServer, Verdict, count_tokens
from vista_guard.testing.server import Loopback
from vista_guard.types import Action, RepairMode

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
BOTH = pytest.mark.parametrize("path", [CHAT, RESPONSES], ids=["chat", "responses"])
GATES = pytest.mark.parametrize("gate", ["sentence", "turn"])
WAYS = pytest.mark.parametrize(("stream", "gate"), [(False, "turn"), (True, "sentence"), (True, "turn")])


def ask(served: Served, path: str, stream: bool, **more: Any) -> httpx2.Response:
    asked = {"input": ASKED[0]["content"]} if path == RESPONSES else {"messages": ASKED}
    body = {"model": "any", "stream": stream, "documents": [document()], **asked, **more}
    return served.post(path, body, authorization="Bearer caller-key", **{"x-conversation-id": "talk"})


def text_of(response: httpx2.Response) -> str:
    """What was said, whatever was asked for."""
    if not response.headers["content-type"].startswith("text/event-stream"):
        answer = response.json()
        if "choices" in answer:
            return str(answer["choices"][0]["message"]["content"])
        return "".join(part["text"] for item in answer["output"] for part in item.get("content", ()))
    told = chunks(response)
    if "choices" in told[0]:
        return said(told)
    return "".join(event["delta"] for event in told if event["type"] == "response.output_text.delta")


def verdict_of(response: httpx2.Response) -> dict[str, Any]:
    told = [response.json()] if response.headers["content-type"] == "application/json" else chunks(response)
    last = next(event for event in reversed(told) if "usage" not in event or event.get("choices") != [])
    found: dict[str, Any] = last.get("response", last)["vista_guard"]
    return found


class TestAskedAgain:
    @BOTH
    @WAYS
    def test_upstream_is_and_the_caller_gets_what_holds_up(self, path: str, stream: bool, gate: str) -> None:
        with ScriptedChatServer([ASIDE, TRUTH]) as upstream, proxy(upstream, policy="strict", gate=gate) as served:
            response = ask(served, path, stream, temperature=0.5)
            upstream.assert_accepted()
            first, second = upstream.requests
            remembered = asyncio.run(served.knowledge.recall("default/talk", persona=None, query="", limit=100))
        assert (response.status_code, text_of(response)) == (200, TRUTH)
        assert ASIDE not in response.text

        name = "messages" if path == CHAT else "input"
        asked, (draft, note) = second.body[name][:-2], second.body[name][-2:]
        assert asked == (ASKED if path == CHAT else [{"role": "user", "content": ASKED[0]["content"]}])
        assert draft == {"role": "assistant", "content": ASIDE}
        assert note["role"] == "user"
        assert f"- {ASIDE} (not supported by the sources)" in note["content"]
        assert {**first.body, name: None} == {**second.body, name: None}
        assert second.headers["authorization"] == first.headers["authorization"] == "Bearer caller-key"
        assert not any(header.startswith(("x-vista", "x-conversation")) for header in second.headers)

        (report,) = served.sink.reports
        (attempt,) = report.attempts
        assert (attempt.repair, [outcome.claim.text for outcome in attempt.outcomes]) == (
            RepairMode.REGENERATE,
            [ASIDE],
        )
        assert (report.response, report.decision.action) == (TRUTH, Action.REPAIR)
        assert verdict_of(response)["action"] == "REPAIR"
        assert [passage.text for passage in remembered] == [TRUTH]

    @BOTH
    @WAYS
    def test_after_the_last_attempt_the_fallback_is_taken(self, path: str, stream: bool, gate: str) -> None:
        with (
            ScriptedChatServer([ASIDE, f"{ASIDE} {TRUTH}"]) as upstream,
            proxy(upstream, policy="strict", gate=gate) as served,
        ):
            response = ask(served, path, stream)
            assert upstream.calls == 2
        assert (text_of(response), len(served.report.attempts)) == (TRUTH, 1)
        assert ASIDE not in response.text

    @BOTH
    @WAYS
    @pytest.mark.parametrize(
        ("fault", "code"),
        [
            (Fault.http(500), "upstream_status"),
            (Fault.html(200), None),
            (Fault.reset(), None),
            (Fault.cut(share=0.5), None),
            (Fault.hang(), "upstream_timeout"),
        ],
        ids=lambda fault: fault.kind if isinstance(fault, Fault) else None,
    )
    def test_an_upstream_that_fails_then_leaves_the_fallback(
        self, path: str, stream: bool, gate: str, fault: Fault, code: str | None
    ) -> None:
        def fails(request: ReceivedRequest) -> Fault | None:
            if request.number == 2 and fault.kind == "hang":
                served.clock.turn(3600)
            return fault if request.number == 2 else None

        with (
            ScriptedChatServer(lambda _: f"{ASIDE} {TRUTH}", faults=fails) as upstream,
            proxy(upstream, policy="strict", gate=gate) as served,
        ):
            response = ask(served, path, stream)
            assert upstream.calls == 2
        assert (response.status_code, text_of(response)) == (200, TRUTH)
        assert ASIDE not in response.text
        (warning,) = served.report.warnings
        assert warning.startswith("the agent was asked again and failed (")
        assert code is None or code in warning
        assert served.report.attempts == ()

    @BOTH
    @WAYS
    def test_what_is_withheld_in_the_end_is_withheld(self, path: str, stream: bool, gate: str) -> None:
        with ScriptedChatServer([ASIDE, LIE]) as upstream, proxy(upstream, policy="strict", gate=gate) as served:
            response = ask(served, path, stream)
        assert (text_of(response), served.report.decision.action) == (MESSAGE, Action.BLOCK)
        assert not any(word in response.text for word in (ASIDE, "Zubrowka"))

    @BOTH
    def test_text_that_is_out_stands(self, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Loopback, "pause", held(count_tokens(TRUTH) + 3, lambda: served.judge.evidence))
        with (
            ScriptedChatServer([f"{TRUTH} {ASIDE}"], tokens_per_second=200) as upstream,
            proxy(upstream, policy="strict") as served,
        ):
            response = ask(served, path, True)
            assert upstream.calls == 1
        assert (text_of(response), served.report.attempts) == (TRUTH, ())

    @WAYS
    def test_the_response_that_is_delivered_can_be_gone_on_with(self, stream: bool, gate: str) -> None:
        with ScriptedChatServer([ASIDE, TRUTH]) as upstream, proxy(upstream, policy="strict", gate=gate) as served:
            response = ask(served, RESPONSES, stream, previous_response_id="resp_0")
            assert upstream.requests[1].body["previous_response_id"] == "resp_0"
        told = [{"response": response.json()}] if not stream else chunks(response)
        assert {event["response"]["id"] for event in told if "response" in event} == {"resp_2"}
        if stream:
            assert [event["sequence_number"] for event in told] == list(range(len(told)))
            assert [event["type"] for event in told].count("response.created") == 1

    def test_a_caller_who_goes_away_cancels_it(self) -> None:
        with (
            ScriptedChatServer([ASIDE], faults={2: Fault.hang()}) as upstream,
            proxy(upstream, policy="strict") as served,
        ):
            for stream in (False, True):
                upstream.reset()
                asked = {"model": "any", "messages": ASKED, "stream": stream, "documents": [document()]}
                with served.calling(CHAT, asked):
                    until(lambda: upstream.calls == 2)
                until(lambda: upstream.requests[1].ended is not None)
            assert served.sink.reports == []


class TestNotAskedAgain:
    @pytest.mark.parametrize(
        ("path", "more"), [(CHAT, {"n": 2}), (RESPONSES, {"conversation": "conv_1"})], ids=["choices", "conversation"]
    )
    def test_what_cannot_be(self, path: str, more: Any) -> None:
        with ScriptedChatServer(f"{ASIDE} {TRUTH}") as upstream, proxy(upstream, policy="strict") as served:
            response = ask(served, path, False, **more)
            assert upstream.calls == 1
        assert text_of(response) == TRUTH

    def test_by_a_policy_that_only_blocks(self) -> None:
        policy = build_policy("strict", {"rules": {"LACKING_EVIDENCE": {"action": "BLOCK"}}})
        with ScriptedChatServer(ASIDE) as upstream, proxy(upstream, policy=policy) as served:
            assert text_of(ask(served, CHAT, True)) == MESSAGE
            assert upstream.calls == 1

    @BOTH
    @WAYS
    def test_text_beside_a_call_is_judged_all_the_same(self, path: str, stream: bool, gate: str) -> None:
        upstream = Spoken(path, [call(path), f"{ASIDE} {TRUTH}"])
        with serving(upstream.app) as url, proxy(f"{url}/v1", policy="strict", gate=gate) as served:
            response = ask(served, path, stream)
        assert (text_of(response), served.report.response, len(upstream.asked)) == (TRUTH, TRUTH, 1)
        assert "look_up" in response.text
        assert ASIDE not in response.text


class TestUsage:
    @pytest.mark.parametrize("gate", ["sentence", "turn"])
    def test_of_chat_completions_is_that_of_all_answers_that_told_it(self, gate: str) -> None:
        with ScriptedChatServer([ASIDE, TRUTH] * 2) as upstream, proxy(upstream, policy="strict", gate=gate) as served:
            whole = ask(served, CHAT, False).json()["usage"]
            streamed = chunks(ask(served, CHAT, True, stream_options={"include_usage": True}))[-1]["usage"]
            one, two, three, four = (request.usage.input_tokens for request in upstream.requests if request.usage)
        assert whole["prompt_tokens"] == one + two
        assert streamed["prompt_tokens"] == (three + four if gate == "turn" else four) or gate == "sentence"

    @pytest.mark.parametrize("stream", [False, True])
    def test_of_responses(self, stream: bool) -> None:
        with ScriptedChatServer([ASIDE, TRUTH]) as upstream, proxy(upstream, policy="strict", gate="turn") as served:
            response = ask(served, RESPONSES, stream)
            one, two = (request.usage.input_tokens for request in upstream.requests if request.usage)
        told = chunks(response)[-1]["response"] if stream else response.json()
        assert told["usage"]["input_tokens"] == one + two


ROOF = "The roof was made in Orvane."
ROOFS = "Archive: the roof was made in Orvane, of glass."
SEARCH = {
    "type": "file_search_call",
    "id": "fs_1",
    "status": "completed",
    "queries": ["roof"],
    "results": [{"file_id": "f1", "filename": "roofs.txt", "text": ROOFS}],
}
TOOL = {"type": "mcp_call", "id": "mcp_1", "name": "archive", "arguments": "{}", "server_label": "a", "output": ROOFS}


class TestEvidenceOnTheWay:
    """What upstream's own tools find after the first words grounds what is said then."""

    @GATES
    @pytest.mark.parametrize("item", [SEARCH, TOOL], ids=["file search", "MCP"])
    def test_of_a_stream(self, gate: str, item: Any) -> None:
        script = known((ROOF, [Verdict(ROOF, needs="Orvane")]))
        policy = build_policy("strict", {"rules": {"LACKING_EVIDENCE": {"action": "BLOCK"}}})
        upstream = Spoken(RESPONSES, [f"{TRUTH} Let me look.", item, ROOF])
        with serving(upstream.app) as url, proxy(f"{url}/v1", script=script, policy=policy, gate=gate) as served:
            response = ask(served, RESPONSES, True)
            streamed = served.report
            whole = ask(served, RESPONSES, False)
        assert text_of(response) == f"{TRUTH} Let me look.{ROOF}"
        assert streamed.decision.action is Action.ALLOW
        assert [finding.evidence[0].quote for finding in streamed.findings] == [document()["text"], ROOFS]
        assert (streamed.outcomes, streamed.response) == (served.report.outcomes, served.report.response)
        assert whole.status_code == 200
        places = [event["output_index"] for event in chunks(response) if event["type"] == "response.output_item.done"]
        assert places == [0, 1, 2]

    def test_that_contradicts_what_was_said(self) -> None:
        script = known((ROOF, [Verdict(ROOF, needs="Orvane")]))
        upstream = Spoken(RESPONSES, [ROOF, SEARCH])
        policy = build_policy("strict", {"rules": {"LACKING_EVIDENCE": {"action": "BLOCK"}}})
        with serving(upstream.app) as url, proxy(f"{url}/v1", script=script, policy=policy) as served:
            response = ask(served, RESPONSES, True)
        assert (text_of(response), served.report.decision.action) == (ROOF, Action.ALLOW)


def call(path: str) -> dict[str, Any]:
    """A call of the caller's tool, as the API has it."""
    if path == RESPONSES:
        return {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look_up", "arguments": "{}"}
    return {"index": 0, "id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


class Spoken:
    """An upstream that answers in parts: texts and calls. With `inside`, calls come that far into the text of a stream."""

    def __init__(self, path: str, parts: Sequence[str | Mapping[str, Any]], inside: int | None = None) -> None:
        self._path, self._parts, self._inside = path, parts, inside
        self.asked: list[Any] = []
        self.app = Starlette(routes=[Route(path, self._answer, methods=["POST"])])
        self.left = threading.Event()

    async def _answer(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        if not body.get("stream"):
            return JSONResponse(self._completion() if self._path == CHAT else self._response("completed"))
        return StreamingResponse(self._events(), media_type="text/event-stream")

    def _completion(self) -> dict[str, Any]:
        text = "".join(part for part in self._parts if isinstance(part, str))
        calls = [part for part in self._parts if not isinstance(part, str)]
        message = {"role": "assistant", "content": text, "tool_calls": calls}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    def _items(self) -> list[dict[str, Any]]:
        return [
            {
                "type": "message",
                "id": f"msg_{index}",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": part, "annotations": []}],
            }
            if isinstance(part, str)
            else dict(part)
            for index, part in enumerate(self._parts)
        ]

    def _response(self, status: str) -> dict[str, Any]:
        output = self._items() if status == "completed" else []
        return {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": output}

    async def _events(self) -> AsyncIterator[str]:
        for event in self._chat_events() if self._path == CHAT else self._response_events():
            yield f"data: {json.dumps(event)}\n\n"
            await asyncio.sleep(0)
        if self._path == CHAT:
            yield "data: [DONE]\n\n"

    def _chat_events(self) -> list[dict[str, Any]]:
        deltas: list[Any] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": part} if isinstance(part, str) else {"tool_calls": [part]} for part in self._parts]
        frame = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
        told = [{**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        return [*told, {**frame, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]

    def _response_events(self) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = [{"type": "response.created", "response": self._response("in_progress")}]
        for index, item in enumerate(self._items()):
            empty: dict[str, Any] = {"content": []} if "content" in item else {"results": None}
            opened = {**item, "status": "in_progress", **empty}
            told.append({"type": "response.output_item.added", "output_index": index, "item": opened})
            if "content" in item:
                place = {"item_id": item["id"], "output_index": index, "content_index": 0}
                (part,) = item["content"]
                told.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
                told += [
                    {"type": "response.output_text.delta", **place, "delta": part["text"][start : start + 5]}
                    for start in range(0, len(part["text"]), 5)
                ]
                told.append({"type": "response.output_text.done", **place, "text": part["text"]})
                told.append({"type": "response.content_part.done", **place, "part": part})
            told.append({"type": "response.output_item.done", "output_index": index, "item": item})
        if self._inside is not None:
            calls = [event for event in told if event.get("item", {}).get("type") == "file_search_call"]
            told = [event for event in told if event not in calls]
            first = next(place for place, event in enumerate(told) if event["type"] == "response.output_text.delta")
            told[first + self._inside // 5 : first + self._inside // 5] = calls
        return [*told, {"type": "response.completed", "response": self._response("completed")}]
