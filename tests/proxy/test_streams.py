"""The proxy's streams."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.node import run_node
from tests.pace import PATIENCE_S
from tests.proxy.serving import (
    ASIDE,
    ASKED,
    LIE,
    NOTES,
    TRUTH,
    Sentencewise,
    Served,
    chunks,
    document,
    known,
    proxy,
    said,
    serving,
)
from vista_guard import JudgeError
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.testing import Answer, Fault, ScriptedChatServer
from vista_guard.types import Action, EvidenceSet

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
DRAFT = f"{TRUTH} {ASIDE}"
HALF_A_LIE = f"{TRUTH} {LIE} {ASIDE}"
WITHHELD = f"{TRUTH}\n\n{MESSAGE}"

BOTH = pytest.mark.parametrize("path", [CHAT, RESPONSES], ids=["chat", "responses"])
GATES = pytest.mark.parametrize("gate", ["sentence", "turn"])


def stream(served: Served, path: str, **more: Any) -> httpx2.Response:
    """The whole stream of an answer to the same question, at either API."""
    asked = {"input": ASKED[0]["content"]} if path == RESPONSES else {"messages": ASKED}
    return served.post(path, {"model": "any", "stream": True, "documents": [document()], **asked, **more})


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    return chunks(response)


def text_of(path: str, told: Sequence[dict[str, Any]]) -> str:
    if path == CHAT:
        return said(told)
    return "".join(event["delta"] for event in told if event["type"] == "response.output_text.delta")


def verdict_of(path: str, told: Sequence[dict[str, Any]]) -> dict[str, Any]:
    last = told[-1] if path == CHAT else told[-1]["response"]
    found: dict[str, Any] = last["vista_guard"]
    return found


class TestDelivered:
    @BOTH
    @GATES
    def test_the_text_is_upstreams_and_the_report_is_that_of_a_whole_answer(self, path: str, gate: str) -> None:
        with ScriptedChatServer(lambda _: DRAFT) as upstream, proxy(upstream, gate=gate) as served:
            response = stream(served, path)
            whole = stream(served, path, stream=False)
            upstream.assert_accepted()
            streamed, other = served.sink.reports
        told = events(response)
        assert text_of(path, told) == DRAFT
        moving = {"id", "gate", "timings", "created_at"}
        assert streamed.model_dump(exclude=moving) == other.model_dump(exclude=moving)
        assert verdict_of(path, told) == whole.json()["vista_guard"]
        assert response.headers["content-type"] == "text/event-stream; charset=utf-8"

    def test_chunks_keep_their_form(self) -> None:
        with ScriptedChatServer(DRAFT) as upstream, proxy(upstream) as served:
            response = stream(served, CHAT, stream_options={"include_usage": True})
        first, *text, finish, usage = events(response)
        assert first["choices"][0]["delta"] == {"role": "assistant", "content": "", "refusal": None}
        assert said(text) == DRAFT
        assert all(set(chunk["choices"][0]["delta"]) == {"content"} for chunk in text)
        assert (finish["choices"][0]["finish_reason"], finish["choices"][0]["delta"]) == ("stop", {})
        assert finish["vista_guard"]["action"] == "FLAG"
        assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 13)
        assert {chunk["id"] for chunk in (first, *text, finish, usage)} == {"chatcmpl-1"}
        assert response.text.endswith("data: [DONE]\n\n")

    def test_events_of_a_response_keep_their_form(self) -> None:
        with ScriptedChatServer(DRAFT) as upstream, proxy(upstream) as served:
            told = events(stream(served, RESPONSES))
        kinds = [event["type"].removeprefix("response.") for event in told]
        begun = ["created", "in_progress", "output_item.added", "content_part.added"]
        ended = ["output_text.done", "content_part.done", "output_item.done", "completed"]
        assert (kinds[:4], kinds[-4:], set(kinds[4:-4])) == (begun, ended, {"output_text.delta"})
        assert [event["sequence_number"] for event in told] == list(range(len(told)))
        assert told[-4]["text"] == told[-3]["part"]["text"] == told[-2]["item"]["content"][0]["text"] == DRAFT
        assert told[-1]["response"]["output"][0]["content"][0]["text"] == DRAFT
        assert told[-1]["response"]["usage"]["output_tokens"] == 13

    @BOTH
    def test_a_sentence_is_shown_before_the_next_one_is_written(self, path: str) -> None:
        released = threading.Event()

        async def pieces() -> AsyncIterator[bytes]:
            yield delta(path, f"{TRUTH} {ASIDE[:5]}")
            yield b": keep waiting\n\n"
            await asyncio.to_thread(released.wait, 20)
            yield delta(path, ASIDE[5:])
            yield ending(path)

        with serving(streaming(path, pieces)) as upstream, proxy(upstream) as served, httpx2.Client() as client:
            asked = {"input": "?"} if path == RESPONSES else {"messages": ASKED}
            body = {"model": "any", "stream": True, "documents": [document()], **asked}
            with client.stream("POST", f"{served.url}{path}", json=body) as response:
                seen = ""
                for line in response.iter_lines():
                    seen += line
                    if TRUTH in seen:
                        released.set()  # only now upstream goes on
        assert ASIDE in seen

    def test_the_official_client(self) -> None:
        with ScriptedChatServer(lambda _: DRAFT) as upstream, proxy(upstream) as served, served.client as client:
            more = {"documents": [document()]}
            with client.chat.completions.stream(model="any", messages=ASKED, extra_body=more) as chat:  # type: ignore[arg-type]
                completion = chat.get_final_completion()
            with client.responses.stream(model="any", input="When?", extra_body=more) as events:
                response = events.get_final_response()
        assert (completion.choices[0].message.content, response.output_text) == (DRAFT, DRAFT)

    async def test_the_official_async_client(self) -> None:
        with ScriptedChatServer(HALF_A_LIE) as upstream, proxy(upstream) as served:
            async with served.aclient as client:
                more = {"documents": [document()]}
                asked: Any = ASKED
                told = await client.chat.completions.create(model="any", messages=asked, stream=True, extra_body=more)
                seen = [
                    (choice.delta.content, choice.finish_reason) async for chunk in told for choice in chunk.choices
                ]
        assert "".join(text or "" for text, _ in seen) == WITHHELD
        assert seen[-1][1] == "content_filter"

    def test_the_official_node_client(self, tmp_path: Path) -> None:
        with ScriptedChatServer(lambda request: request.user) as upstream, proxy(upstream) as served:
            ran = run_node(NODE, tmp_path, f"{served.url}/v1")
        assert ran.stderr == ""
        assert json.loads(ran.stdout) == [
            [DRAFT, "stop", "FLAG"],
            [WITHHELD, "content_filter", "BLOCK"],
            [DRAFT, "completed", "FLAG"],
            [WITHHELD, "incomplete", "BLOCK"],
        ]


NODE = f"""
import OpenAI from "openai"
const client = new OpenAI({{ baseURL: process.argv[2], apiKey: "unused" }})
const seen = []
for (const text of {json.dumps([DRAFT, HALF_A_LIE])}) {{
  const asked = {{ model: "any", stream: true, documents: [{json.dumps(NOTES)}] }}
  let said = "", last
  for await (const chunk of await client.chat.completions.create(
    {{ ...asked, messages: [{{ role: "user", content: text }}] }})) {{
    said += chunk.choices[0]?.delta?.content ?? ""
    last = chunk
  }}
  seen.push([said, last.choices[0].finish_reason, last.vista_guard.action])
}}
for (const text of {json.dumps([DRAFT, HALF_A_LIE])}) {{
  const asked = {{ model: "any", stream: true, documents: [{json.dumps(NOTES)}] }}
  let said = "", last
  for await (const event of await client.responses.create({{ ...asked, input: text }})) {{
    if (event.type === "response.output_text.delta") said += event.delta
    last = event
  }}
  seen.push([said, last.response.status, last.response.vista_guard.action])
}}
console.log(JSON.stringify(seen))
"""


class TestWithheld:
    @BOTH
    @pytest.mark.parametrize(("gate", "shown"), [("sentence", WITHHELD), ("turn", MESSAGE)])
    def test_nothing_of_a_false_sentence_or_after_it_is_shown(self, path: str, gate: str, shown: str) -> None:
        with ScriptedChatServer(HALF_A_LIE) as upstream, proxy(upstream, gate=gate) as served:
            response = stream(served, path)
        told = events(response)
        assert text_of(path, told) == shown == served.report.response
        assert "Zubrowka" not in response.text
        assert "glass" not in response.text
        assert verdict_of(path, told)["action"] == "BLOCK"
        if path == CHAT:
            assert told[-1]["choices"][0]["finish_reason"] == "content_filter"
        else:
            last = told[-1]
            assert (last["type"], last["response"]["status"]) == ("response.incomplete", "incomplete")
            assert last["response"]["incomplete_details"] == {"reason": "content_filter"}
            assert [part["text"] for item in last["response"]["output"] for part in item["content"]] == [shown]
            done = next(event for event in told if event["type"] == "response.output_item.done")
            assert done["item"] == last["response"]["output"][0]

    @BOTH
    def test_a_first_sentence(self, path: str) -> None:
        with ScriptedChatServer(LIE) as upstream, proxy(upstream) as served:
            response = stream(served, path)
        assert text_of(path, events(response)) == MESSAGE
        assert "Zubrowka" not in response.text

    @BOTH
    def test_a_redacted_sentence_is_nowhere(self, path: str) -> None:
        policy = build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}, "repair": "redact"})
        with ScriptedChatServer(HALF_A_LIE) as upstream, proxy(upstream, policy=policy) as served:
            response = stream(served, path)
        told = events(response)
        assert text_of(path, told) == f"{TRUTH} {ASIDE}" == served.report.response
        assert "Zubrowka" not in response.text
        assert verdict_of(path, told)["action"] == "REPAIR"

    def test_tokens_do_not_spell_what_was_withheld(self) -> None:
        draft = HALF_A_LIE

        async def pieces() -> AsyncIterator[bytes]:
            for token in tokens(draft):
                yield delta(CHAT, token, logprobs={"content": [{"token": token, "logprob": -0.1}], "refusal": None})
            yield ending(CHAT)

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream) as served:
            response = stream(served, CHAT)
        spelled = "".join(
            entry["token"]
            for chunk in events(response)
            for entry in (chunk["choices"][0]["logprobs"] or {}).get("content", ())
        )
        assert TRUTH.startswith(spelled)
        assert "Zub" not in response.text


class TestNotJudged:
    @BOTH
    def test_a_refusal_is_judged_as_text(self, path: str) -> None:
        with ScriptedChatServer(lambda _: Answer(refusal=LIE)) as upstream, proxy(upstream) as served:
            response = stream(served, path)
        assert (text_of(path, events(response)), LIE in response.text) == (MESSAGE, False)

    @BOTH
    def test_calls_pass_untouched_and_are_told(self, path: str) -> None:
        answer = Answer('{"x": 1}', function="look_up")
        with ScriptedChatServer(lambda _: answer) as upstream, proxy(upstream) as served:
            response = stream(served, path)
            with httpx2.Client() as client:
                asked = {"input": ASKED[0]["content"]} if path == RESPONSES else {"messages": ASKED}
                body = {"model": "any", "stream": True, **asked}
                plain = client.post(f"{upstream.base_url}{path.removeprefix('/v1')}", json=body)
        assert served.judge.asked == []
        told = events(response)
        last = told[-1] if path == CHAT else told[-1]["response"]
        assert last.pop("vista_guard") == {"unjudged": ["tools"]}
        assert _unmoving(told) == _unmoving(chunks(plain))

    def test_reasoning_and_calls_keep_their_places_beside_the_text(self) -> None:
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}

        async def pieces() -> AsyncIterator[bytes]:
            yield delta(CHAT, None, role="assistant", reasoning_content=LIE)
            yield delta(CHAT, TRUTH)
            yield delta(CHAT, None, tool_calls=[call])
            yield ending(CHAT, "tool_calls")

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream) as served:
            told = events(stream(served, CHAT))
        deltas = [chunk["choices"][0]["delta"] for chunk in told]
        assert deltas == [
            {"role": "assistant", "reasoning_content": LIE},
            {"content": TRUTH},
            {"tool_calls": [call]},
            {},
        ]
        assert (told[-1]["choices"][0]["finish_reason"], told[-1]["vista_guard"]["action"]) == ("tool_calls", "ALLOW")

    def test_log_probabilities_go_with_their_text(self) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            for token in tokens(DRAFT):
                yield delta(CHAT, token, logprobs={"content": [{"token": token, "logprob": -0.1}], "refusal": None})
            yield ending(CHAT)

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream) as served:
            told = events(stream(served, CHAT))
        entries = [entry for chunk in told for entry in (chunk["choices"][0]["logprobs"] or {}).get("content", ())]
        assert entries == [{"token": token, "logprob": -0.1} for token in tokens(DRAFT)]

    def test_several_parts_are_one_turn_and_stay_apart(self) -> None:
        texts = [TRUTH, ASIDE]

        async def pieces() -> AsyncIterator[bytes]:
            for event in two_parts(texts):
                yield frame(event)

        with serving(streaming(RESPONSES, pieces)) as upstream, proxy(upstream) as served:
            told = events(stream(served, RESPONSES))
        assert served.report.response == f"{TRUTH}\n{ASIDE}"
        shown = {
            index: "".join(
                event["delta"]
                for event in told
                if event["type"] == "response.output_text.delta" and event["output_index"] == index
            )
            for index in (0, 1)
        }
        assert shown == {0: TRUTH, 1: ASIDE}
        output = told[-1]["response"]["output"]
        assert [item["content"][0]["text"] for item in output] == texts


class TestBoundaries:
    TEXT = "Der Walsaal öffnete 1925. 鯨の間は1925年に開館した。 🐋‍👩🏽‍🚀 It is 3.5 m high, e.g. here. " + TRUTH

    @pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 64, 1000])
    def test_every_split_of_the_bytes_gives_the_same_text(self, size: int) -> None:
        raw = b"".join([*(delta(CHAT, token, ascii=False) for token in tokens(self.TEXT)), ending(CHAT)])

        async def pieces() -> AsyncIterator[bytes]:
            for start in range(0, len(raw), size):
                yield raw[start : start + size]
                await asyncio.sleep(0)

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream) as served:
            told = events(stream(served, CHAT))
        assert said(told) == self.TEXT
        assert verdict_of(CHAT, told)["labels"] == {"VERIFIED": 1}

    async def test_the_parser_at_every_single_split(self) -> None:
        from vista_guard.proxy.routes import received_events

        wanted = ["é", "鯨🐋", "\r\n", "e\u0301 x"]
        raw = (
            b"\xef\xbb\xbf: hello\r\n\r\n"
            + b"".join(delta(CHAT, text, ascii=False) for text in wanted)
            + b"data: [DONE]\n\n"
        )
        raw = raw.replace(b"\n\n", b"\r\n\r\n", 2).replace(b"data: {", b"data:{", 1)

        async def read(parts: Iterable[bytes]) -> list[Any]:
            async def content() -> AsyncIterator[bytes]:
                for part in parts:
                    yield part

            response = httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=content())
            response.request = httpx2.Request("POST", "http://127.0.0.1/")
            return [event async for event in received_events(response, most=10_000)]

        whole = await read([raw])
        assert [event["choices"][0]["delta"]["content"] for event in whole[:-1]] == wanted
        for place in range(1, len(raw)):
            assert await read([raw[:place], raw[place:]]) == whole
        assert await read([bytes([byte]) for byte in raw]) == whole


class TestFailures:
    @BOTH
    def test_an_error_before_the_stream_is_a_status(self, path: str) -> None:
        with ScriptedChatServer([Fault.http(503, message="Busy.")]) as upstream, proxy(upstream) as served:
            response = stream(served, path)
        assert (response.status_code, response.json()["error"]["message"]) == (503, "Busy.")

    @BOTH
    @pytest.mark.parametrize("clean", [True, False])
    def test_a_stream_that_breaks_off_ends_with_an_error(self, path: str, clean: bool) -> None:
        fault = Fault.cut(f"{DRAFT} {TRUTH}", share=0.6, clean=clean)
        with ScriptedChatServer([fault]) as upstream, proxy(upstream) as served:
            response = stream(served, path)
        *_, last = events(response)
        told = last["error"] if path == CHAT else last
        assert (told["code"], told["message"]) == ("upstream_broken", "upstream closed the stream early")
        assert "[DONE]" not in response.text
        assert "127.0.0.1" not in response.text
        assert served.sink.reports == []

    def test_the_official_client_raises_it(self) -> None:
        with ScriptedChatServer([Fault.cut(DRAFT)]) as upstream, proxy(upstream) as served, served.client as client:
            told = client.chat.completions.create(model="any", messages=ASKED, stream=True)  # type: ignore[arg-type]
            with pytest.raises(openai.APIError, match="upstream closed the stream early"):
                list(told)

    @BOTH
    def test_silence_ends_the_stream(self, path: str) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield delta(path, TRUTH)
            await asyncio.Event().wait()

        with serving(streaming(path, pieces)) as upstream, proxy(upstream, stream_idle_timeout_s=0.5) as served:
            *_, last = events(stream(served, path))
        assert (last["error"] if path == CHAT else last)["code"] == "upstream_timeout"

    def test_of_upstreams_own_error_the_kind_is_passed_on(self) -> None:
        error = {"error": {"message": f"Cannot parse: {LIE}", "type": "server_error", "code": "rate"}}

        async def pieces() -> AsyncIterator[bytes]:
            yield delta(CHAT, f"{TRUTH} {LIE[:20]}")
            yield frame(error)

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream) as served:
            response = stream(served, CHAT)
        told = {"message": "upstream reported an error inside its answer", "type": "server_error", "param": None}
        assert events(response)[-1] == {"error": {**told, "code": "rate"}}
        assert "Zub" not in response.text

    def test_a_failed_response_does_not_bring_its_output(self) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            output = [{"type": "message", "content": [{"type": "output_text", "text": LIE}]}]
            yield delta(RESPONSES, LIE[:20])
            yield frame({"type": "response.failed", "response": {"status": "failed", "output": output}})

        with serving(streaming(RESPONSES, pieces)) as upstream, proxy(upstream) as served:
            response = stream(served, RESPONSES)
        assert events(response)[-1] == {"type": "response.failed", "response": {"status": "failed", "output": []}}
        assert "Zub" not in response.text

    def test_what_is_no_event(self) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield b"data: <html>\n\n"

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream) as served:
            response = stream(served, CHAT)
        assert events(response)[-1]["error"]["code"] == "upstream_unreadable"
        assert "html" not in response.text

    @pytest.mark.parametrize("when", ["judging", "reading"])
    def test_a_caller_who_goes_away_cancels_upstream_and_the_judge(self, when: str) -> None:
        judging, stopped, closed = threading.Event(), threading.Event(), threading.Event()

        class Slow(Sentencewise):
            async def verify(self, claims: Any, evidence: EvidenceSet) -> Any:
                judging.set()
                try:
                    await (asyncio.Event().wait() if when == "judging" else asyncio.sleep(0))
                except asyncio.CancelledError:
                    stopped.set()
                    raise
                return await super().verify(claims, evidence)

        async def pieces() -> AsyncIterator[bytes]:
            try:
                yield delta(CHAT, f"{TRUTH} {ASIDE}", role="assistant")
                await asyncio.Event().wait()
            finally:
                closed.set()

        with serving(streaming(CHAT, pieces)) as upstream, proxy(upstream, judge=Slow(known())) as served:
            body = {"model": "any", "stream": True, "messages": ASKED, "documents": [document()]}
            with (
                httpx2.Client() as client,
                client.stream("POST", f"{served.url}{CHAT}", json=body) as response,
            ):
                lines = response.iter_lines()
                next(lines)
                assert judging.wait(PATIENCE_S)
            assert closed.wait(PATIENCE_S)
            assert when == "reading" or stopped.wait(PATIENCE_S)
            assert served.sink.reports == []

    @pytest.mark.parametrize("stream", [True, False])
    def test_what_the_end_of_the_server_cuts_off_says_so(self, stream: bool) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield delta(CHAT, f"{TRUTH} {ASIDE}", role="assistant")
            await asyncio.Event().wait()

        reached = threading.Event()

        async def silent(_: Request) -> Response:
            reached.set()
            await asyncio.Event().wait()
            raise AssertionError

        whole = Starlette(routes=[Route(CHAT, silent, methods=["POST"])])
        with serving(streaming(CHAT, pieces) if stream else whole) as upstream, proxy(upstream) as served:
            body = {"model": "any", "stream": stream, "messages": ASKED, "documents": [document()]}

            def stop() -> None:
                for task in asyncio.all_tasks():
                    if "run_asgi" in repr(task.get_coro()):
                        task.cancel()  # as uvicorn does when the time for open requests is over

            def stop_once_asked() -> None:
                assert reached.wait(PATIENCE_S)
                served.clock.loop.call_soon_threadsafe(stop)

            threading.Thread(target=stop_once_asked).start()
            with httpx2.Client() as client, client.stream("POST", f"{served.url}{CHAT}", json=body) as response:
                lines = response.iter_lines()
                first = next(lines, "") if stream else ""
                reached.set()
                last = [line for line in lines if line][-1]
        assert (response.status_code, TRUTH in first) == ((200, False) if stream else (503, False))
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "guard_stopping"


class TestTheSevenFailures:
    """DESIGN §6 in streams."""

    @BOTH
    def test_1_no_evidence_is_said(self, path: str) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, policy="strict") as served:
            told = events(stream(served, path, documents=[]))
        assert (text_of(path, told), verdict_of(path, told)["evidence_missing"]) == (MESSAGE, True)

    @BOTH
    @GATES
    @pytest.mark.parametrize(("policy", "shown"), [("balanced", TRUTH), ("strict", MESSAGE)])
    def test_2_a_failing_judge_is_no_clean_pass(self, path: str, gate: str, policy: str, shown: str) -> None:
        script = known((TRUTH, JudgeError("the model is at http://10.0.0.7")))
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, script=script, policy=policy, gate=gate) as served:
            response = stream(served, path)
        told = events(response)
        assert (text_of(path, told), verdict_of(path, told)["labels"]) == (shown, {"UNCHECKED": 1})
        assert verdict_of(path, told)["action"] != "ALLOW"

    @BOTH
    @GATES
    def test_3_nothing_unchecked_is_shown(self, path: str, gate: str) -> None:
        with ScriptedChatServer(HALF_A_LIE) as upstream, proxy(upstream, gate=gate) as served:
            assert "Zubrowka" not in stream(served, path).text

    @BOTH
    def test_4_a_withheld_turn_leaves_only_what_was_delivered(self, path: str) -> None:
        with ScriptedChatServer(HALF_A_LIE) as upstream, proxy(upstream) as served:
            stream(served, path, metadata={"conversation_id": "talk"})
            kept = asyncio.run(served.knowledge.recall("default/talk", persona=None, query="", limit=9))
        assert [passage.text for passage in kept] == [claim.text for claim in served.report.remembered]
        assert all("Zubrowka" not in passage.text for passage in kept)

    @BOTH
    def test_5_earlier_turns_are_neither_flagged_nor_believed(self, path: str) -> None:
        past = [*ASKED, {"role": "assistant", "content": LIE}, {"role": "user", "content": "And the hall?"}]
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            told = events(stream(served, path, **{"messages" if path == CHAT else "input": past}))
        assert verdict_of(path, told)["labels"] == {"VERIFIED": 1}

    async def test_6_a_hundred_streams_at_once_do_not_mix(self) -> None:
        def tell(request: Any) -> str:
            return f"{TRUTH} I was asked about {request.user}. {LIE if request.user.endswith('7') else ASIDE}"

        with ScriptedChatServer(tell, tokens_per_second=200) as upstream, proxy(upstream) as served:
            async with served.aclient as client:

                async def talk(number: int) -> str:
                    told = await client.chat.completions.create(
                        model="any",
                        messages=[{"role": "user", "content": f"ticket {number}"}],
                        stream=True,
                        extra_body={"documents": [document()]},
                    )
                    return "".join([chunk.choices[0].delta.content or "" async for chunk in told if chunk.choices])

                shown = await asyncio.gather(*(talk(number) for number in range(100)))
        for number, text in enumerate(shown):
            asked = f"{TRUTH} I was asked about ticket {number}."
            assert text == (f"{asked}\n\n{MESSAGE}" if number % 10 == 7 else f"{asked} {ASIDE}")

    @BOTH
    @GATES
    def test_7_a_block_blocks(self, path: str, gate: str) -> None:
        with ScriptedChatServer(LIE) as upstream, proxy(upstream, gate=gate) as served:
            told = events(stream(served, path))
        assert (text_of(path, told), served.report.decision.action) == (MESSAGE, Action.BLOCK)


def tokens(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def frame(event: dict[str, Any], *, ascii: bool = True) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=ascii)}\n\n".encode()


def delta(path: str, text: str | None, *, logprobs: Any = None, ascii: bool = True, **more: Any) -> bytes:
    if path == RESPONSES:
        place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
        return frame({"type": "response.output_text.delta", **place, "delta": text, "logprobs": []})
    content = {} if text is None else {"content": text}
    choice = {"index": 0, "delta": {**more, **content}, "logprobs": logprobs, "finish_reason": None}
    return frame({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}, ascii=ascii)


def ending(path: str, finish: str = "stop") -> bytes:
    if path == RESPONSES:
        return frame({"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": []}})
    choice = {"index": 0, "delta": {}, "finish_reason": finish}
    return frame({"id": "c1", "object": "chat.completion.chunk", "choices": [choice]}) + b"data: [DONE]\n\n"


def two_parts(texts: Sequence[str]) -> list[dict[str, Any]]:
    """The events of a response with two messages."""
    told: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "r1", "output": []}}]
    items = []
    for index, text in enumerate(texts):
        place = {"item_id": f"msg_{index}", "output_index": index, "content_index": 0}
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        item = {"type": "message", "id": f"msg_{index}", "role": "assistant", "content": [part], "status": "completed"}
        items.append(item)
        told += [
            {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}},
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            *(
                {"type": "response.output_text.delta", **place, "delta": token, "logprobs": []}
                for token in tokens(text)
            ),
            {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": "response.output_item.done", "output_index": index, "item": item},
        ]
    return [*told, {"type": "response.completed", "response": {"id": "r1", "status": "completed", "output": items}}]


def streaming(path: str, pieces: Any) -> Starlette:
    """An upstream that streams these bytes."""

    async def answer(request: Request) -> Response:
        await request.body()
        return StreamingResponse(pieces(), media_type="text/event-stream")

    return Starlette(routes=[Route(path, answer, methods=["POST"])])


def _unmoving(told: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    text = json.dumps(told).replace("chatcmpl-2", "chatcmpl-1").replace("_2", "_1")
    found: list[dict[str, Any]] = json.loads(text)
    for event in found:
        event.pop("created", None)
        event.get("response", {}).pop("created_at", None)
    return found
