"""The proxy's answers that are not streamed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import httpx2
import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

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
from tests.raising import raises
from vista_guard import ConfigError, JudgeError
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.proxy import metrics
from vista_guard.proxy.settings import ProxySettings
from vista_guard.settings.sources import Limits
from vista_guard.testing import Answer, Fault, ScriptedChatServer, Verdict
from vista_guard.types import Claim, EvidenceSet, PartFailure, TurnReport, TurnTexts

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"


def ask(served: Served, path: str, **more: Any) -> httpx2.Response:
    """The same question, at either API."""
    asked = {"input": ASKED[0]["content"]} if path == RESPONSES else {"messages": ASKED}
    return served.post(path, {"model": "any", "documents": [document()], **asked, **more})


def text_of(answer: Any) -> str:
    if "choices" in answer:
        return str(answer["choices"][0]["message"]["content"])
    return "".join(part["text"] for item in answer["output"] for part in item["content"])


BOTH = pytest.mark.parametrize("path", [CHAT, RESPONSES], ids=["chat", "responses"])


class TestDelivered:
    @BOTH
    def test_a_true_answer_is_upstreams_own_with_the_verdict_beside_it(self, path: str) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            asked = {"model": "any", "messages": ASKED} if path == CHAT else {"model": "any", "input": "When?"}
            with httpx2.Client() as client:
                plain = client.post(f"{upstream.base_url}{path.removeprefix('/v1')}", json=asked).json()
            response = served.post(path, {**asked, "documents": [document()]}, **{"x-conversation-id": "talk-1"})
            answer = response.json()
            upstream.assert_accepted()
        told = answer.pop("vista_guard")
        for moving in ("id", "created", "created_at", "output"):
            plain.pop(moving, None), answer.pop(moving, None)
        assert answer == plain
        assert response.headers["x-vista-guard-action"] == "ALLOW"
        assert response.headers["x-vista-guard-score"] == "1.0000"
        assert response.headers["x-vista-guard-conversation"] == "talk-1"
        claim = told.pop("claims")[0]
        evidence = {"source": "document", "title": "Museum notes", "quote": NOTES, "score": 1.0}
        assert claim == {
            "id": "t1.c1",
            "text": TRUTH,
            "span": {"start": 0, "end": len(TRUTH)},
            "label": "VERIFIED",
            "confidence": 1.0,
            "evidence": [evidence],
        }
        assert told == {
            "action": "ALLOW",
            "reason": "every claim is supported or needs no support",
            "score": 1.0,
            "risk": 0.0,
            "risk_calibrated": False,
            "conversation_id": "talk-1",
            "turn_index": 1,
            "evidence_missing": False,
            "labels": {"VERIFIED": 1},
            "judge": {"name": "scripted", "version": "1"},
            "policy": "balanced",
        }

    def test_the_official_client(self) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served, served.client as client:
            more = {"documents": [document()]}
            chat = client.chat.completions.create(model="any", messages=ASKED, extra_body=more)  # type: ignore[arg-type]
            response = client.responses.create(model="any", input="When?", extra_body=more)
            assert (chat.choices[0].message.content, response.output_text) == (TRUTH, TRUTH)
            assert chat.model_extra is not None
            assert chat.model_extra["vista_guard"]["action"] == "ALLOW"
            assert client.models.list().data[0].id == "scripted"
            upstream.assert_accepted()

    async def test_the_official_async_client(self) -> None:
        with ScriptedChatServer([LIE, TRUTH]) as upstream, proxy(upstream) as served:
            async with served.aclient as client:
                blocked = await client.chat.completions.create(model="any", messages=ASKED)  # type: ignore[arg-type]
                assert blocked.choices[0].message.content == MESSAGE
                assert blocked.choices[0].finish_reason == "content_filter"


class TestBlocked:
    @BOTH
    def test_nothing_of_the_draft_is_left(self, path: str) -> None:
        with ScriptedChatServer(LIE) as upstream, proxy(upstream) as served:
            response = ask(served, path)
        answer = response.json()
        assert response.status_code == 200
        assert text_of(answer) == MESSAGE
        assert "Zubrowka" not in response.text
        assert response.headers["x-vista-guard-action"] == "BLOCK"
        if path == CHAT:
            message = {"role": "assistant", "content": MESSAGE, "refusal": None}
            assert answer["choices"] == [
                {"index": 0, "message": message, "finish_reason": "content_filter", "logprobs": None}
            ]
        else:
            assert (answer["status"], answer["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})

    @BOTH
    def test_a_mended_answer_is_no_refusal(self, path: str) -> None:
        policy = build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}, "repair": "redact"})
        with ScriptedChatServer(f"{TRUTH} {LIE}") as upstream, proxy(upstream, policy=policy) as served:
            response = ask(served, path)
        assert text_of(response.json()) == TRUTH
        assert "Zubrowka" not in response.text
        finish = response.json()["choices"][0]["finish_reason"] if path == CHAT else response.json()["status"]
        assert finish in ("stop", "completed")

    @pytest.mark.parametrize(("policy", "decision"), [("monitor", "FLAG"), ("strict", "BLOCK")])
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    def test_an_answer_over_a_limit_is_for_the_policy_to_decide(self, policy: str, decision: str, stream: bool) -> None:
        limits = Limits(turn_chars=50)
        with (
            ScriptedChatServer(f"{TRUTH} {ASIDE}") as upstream,
            proxy(upstream, policy=policy, guarding={"limits": limits}) as served,
        ):
            response = ask(served, CHAT, stream=stream)
        assert response.status_code == 200
        assert served.report.decision.action.value == decision
        assert (ASIDE in response.text) == (policy == "monitor")

    def test_a_gate_that_holds_nothing_needs_a_policy_that_withholds_nothing(self) -> None:
        with (
            raises(ConfigError, "proxy.gate", "none", "policy", "balanced"),
            proxy("http://127.0.0.1:9/v1", gate="none"),
        ):
            pass
        with ScriptedChatServer(LIE) as upstream, proxy(upstream, gate="none", policy="monitor") as served:
            response = ask(served, CHAT, stream=True)
        assert (said(chunks(response)), served.report.decision.action.value) == (LIE, "FLAG")

    def test_every_choice_is_judged(self) -> None:
        with ScriptedChatServer(LIE) as upstream, proxy(upstream) as served:
            answer = ask(served, CHAT, n=2).json()
        assert [choice["message"]["content"] for choice in answer["choices"]] == [MESSAGE, MESSAGE]

    def test_an_unspoken_stream_is_judged_too(self) -> None:
        # Some servers answer whole although a stream was asked for.
        async def chat(request: Request) -> Response:
            message = {"role": "assistant", "content": LIE}
            return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

        app = Starlette(routes=[Route("/v1/chat/completions", chat, methods=["POST"])])
        with serving(app) as upstream, proxy(f"{upstream}/v1") as served:
            response = ask(served, CHAT, stream=True)
        assert text_of(response.json()) == MESSAGE


class TestNotJudged:
    @BOTH
    @pytest.mark.parametrize(
        ("answer", "unjudged"), [(Answer(LIE, function="look_up"), ["tools"]), (Answer(None), [])], ids=["call", "null"]
    )
    def test_calls_pass_untouched_and_are_told(self, path: str, answer: Answer, unjudged: list[str]) -> None:
        with ScriptedChatServer([answer]) as upstream, proxy(upstream) as served:
            response = ask(served, path)
        assert response.status_code == 200
        assert response.json().get("vista_guard", {"unjudged": []}) == {"unjudged": unjudged}
        assert response.headers.get("x-vista-guard-unjudged", "") == ",".join(unjudged)
        assert "x-vista-guard-action" not in response.headers
        assert served.judge.asked == []

    @BOTH
    def test_a_refusal_is_judged_as_text(self, path: str) -> None:
        with ScriptedChatServer([Answer(refusal=LIE)]) as upstream, proxy(upstream) as served:
            response = ask(served, path)
        assert (text_of(response.json()), response.headers["x-vista-guard-action"]) == (MESSAGE, "BLOCK")
        assert LIE not in response.text

    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    def test_structured_output_passes_untouched_and_is_told(self, stream: bool) -> None:
        with ScriptedChatServer('{"a": 1}') as upstream, proxy(upstream) as served:
            wanted = {"response_format": {"type": "json_object"}, "stream": stream}
            response = ask(served, CHAT, messages=[{"role": "user", "content": "As json."}], **wanted)
        told = chunks(response) if stream else [response.json()]
        assert (said(told) if stream else text_of(told[0])) == '{"a": 1}'
        assert told[-1]["vista_guard"] == {"unjudged": ["structured"]}
        assert response.headers["x-vista-guard-unjudged"] == "structured"
        assert served.judge.asked == []


class TestPassedThrough:
    def test_models_and_unknown_routes(self) -> None:
        async def echo(request: Request) -> Response:
            told = {"path": request.url.path, "query": request.url.query, "body": (await request.body()).decode()}
            return JSONResponse({**told, "headers": dict(request.headers)}, 418, headers={"x-kept": "1"})

        app = Starlette(routes=[Route("/{path:path}", echo, methods=["GET", "POST", "PUT"])])
        with (
            serving(app) as upstream,
            proxy(f"{upstream}/base", pass_paths=["PUT files/**"]) as served,
            httpx2.Client() as client,
        ):
            sent = {"authorization": "Bearer caller", "connection": "keep-alive, x-hop", "x-hop": "1", "te": "trailers"}
            response = client.put(f"{served.url}/v1/files/a%2Fb?x=1&y=", content=b"body", headers=sent)
        told = response.json()
        assert response.status_code == 418
        assert response.headers["x-kept"] == "1"
        assert (told["path"], told["query"], told["body"]) == ("/base/files/a/b", "x=1&y=", "body")
        assert told["headers"]["authorization"] == "Bearer caller"
        assert not {"x-hop", "te"} & set(told["headers"])

    def test_upstreams_key_can_be_the_servers(self) -> None:
        with (
            ScriptedChatServer(TRUTH, key="server-key") as upstream,
            proxy(upstream, upstream_key="server-key") as served,
            served.client as client,
        ):
            assert client.models.list().data[0].id == "scripted"

    @BOTH
    def test_that_upstream_refuses_the_servers_key_is_no_fault_of_the_callers(
        self, path: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        with ScriptedChatServer(TRUTH, key="other") as upstream, proxy(upstream, upstream_key="sk-server") as served:
            response = ask(served, path)
            models = httpx2.get(f"{served.url}/v1/models")
        assert [(answer.status_code, answer.json()["error"]["code"]) for answer in (response, models)] == [
            (502, "upstream_key_refused")
        ] * 2
        assert "refuses proxy.upstream_key" in caplog.text
        assert "sk-server" not in caplog.text + response.text

    def test_cookies_of_one_caller_never_go_out_with_anothers_request(self) -> None:
        async def cookie(request: Request) -> Response:
            response = JSONResponse(dict(request.cookies))
            response.set_cookie("who", "first")
            return response

        app = Starlette(routes=[Route("/v1/cookie", cookie)])
        with serving(app) as upstream, proxy(upstream, pass_paths=["cookie"]) as served:
            seen = [httpx2.get(f"{served.url}/v1/cookie").json() for _ in range(2)]
        assert seen == [{}, {}]

    def test_redirects_are_not_followed(self) -> None:
        async def away(request: Request) -> Response:
            return RedirectResponse("http://127.0.0.1:9/elsewhere", 307)

        app = Starlette(routes=[Route("/{path:path}", away, methods=["GET", "POST"])])
        with serving(app) as upstream, proxy(upstream) as served:
            answers = [ask(served, CHAT), httpx2.get(f"{served.url}/v1/models")]
        assert [(answer.status_code, answer.json()["error"]["code"]) for answer in answers] == [
            (502, "upstream_redirect")
        ] * 2
        assert all("location" not in answer.headers and "elsewhere" not in answer.text for answer in answers)

    @pytest.mark.parametrize(
        "path",
        [
            "/v1//chat/completions",
            "/v1/chat/completions/",
            "/v1/chat%2Fcompletions",
            "/v1/Chat/Completions",
            "/chat/completions",
            "//v1/chat/completions",
            "/v1/engines/large/chat/completions",
        ],
    )
    def test_no_spelling_of_a_path_leads_around_the_guard(self, path: str) -> None:
        async def anything(request: Request) -> Response:
            message = {"role": "assistant", "content": LIE}
            return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

        app = Starlette(routes=[Route("/{path:path}", anything, methods=["POST"])])
        with serving(app) as upstream, proxy(upstream) as served:
            response = ask(served, path)
        assert text_of(response.json()) == MESSAGE

    @pytest.mark.parametrize(
        ("method", "path", "status"),
        [
            ("POST", "/v1/completions", 404),
            ("GET", "/v1/responses/resp_1", 404),
            ("GET", "/v1/chat/completions/chat_1", 404),
            ("GET", "/v1/conversations/conv_1/items", 404),
            ("POST", "/v1/responses/resp_1/cancel", 404),
            ("POST", "/v1/%2e%2e/chat/completions;x", 404),
        ],
    )
    def test_what_would_give_out_unjudged_text_does_not_pass(self, method: str, path: str, status: int) -> None:
        with ScriptedChatServer(LIE) as upstream, proxy(upstream) as served:
            response = httpx2.request(method, f"{served.url}{path}")
            assert upstream.calls == 0
        assert response.status_code == status


class TestFailures:
    @BOTH
    def test_upstreams_errors_are_passed_on(self, path: str) -> None:
        fault = Fault.http(429, message="Slow down.", retry_after=7)
        with ScriptedChatServer([fault]) as upstream, proxy(upstream) as served:
            response = ask(served, path)
        assert (response.status_code, response.headers["retry-after"]) == (429, "7")
        assert response.json()["error"]["message"] == "Slow down."

    @pytest.mark.parametrize(
        ("fault", "status", "code"),
        [
            (Fault.html(502), 502, "upstream_status"),
            (Fault.html(200), 502, "upstream_unreadable"),
            (Fault.reset(), 502, "upstream_broken"),
            (Fault.cut("A long enough answer."), 502, "upstream_broken"),
            (Fault.cut("A long enough answer.", clean=True), 502, "upstream_unreadable"),
            (Fault.hang(), 504, "upstream_timeout"),
        ],
        ids=["page", "page with 200", "reset", "cut", "cut cleanly", "hang"],
    )
    def test_a_broken_upstream_tells_nothing_about_the_inside(self, fault: Fault, status: int, code: str) -> None:
        seconds = 0.5 if code == "upstream_timeout" else 60.0
        with (
            ScriptedChatServer([fault]) as upstream,
            proxy(upstream, request_timeout_s=seconds, host="0.0.0.0") as served,
        ):
            response = ask(served, CHAT)
        assert (response.status_code, response.json()["error"]["code"]) == (status, code)
        assert not any(word in response.text for word in ("127.0.0.1", "Traceback", "httpx", "<html>", "A long"))

    @pytest.mark.parametrize(
        ("status", "key", "failed"),
        [
            *((status, "sk", 0) for status in (400, 404, 422)),
            *((status, None, 0) for status in (400, 401, 403)),
            *((status, "sk", 1) for status in (403, 402, 429)),
            *((status, None, 1) for status in (408, 429, 500)),
        ],
    )
    @BOTH
    def test_a_request_that_upstream_refuses_is_no_failure_of_upstream(
        self, path: str, status: int, key: str | None, failed: int
    ) -> None:
        class Failures(list[PartFailure]):
            async def write(self, report: TurnReport, texts: TurnTexts | None = None) -> None: ...

            async def write_failure(self, failure: PartFailure) -> None:
                self.append(failure)

        kept, before = Failures(), metrics.upstream_errors()
        with (
            ScriptedChatServer([Fault.http(status, message="No such model.")]) as upstream,
            proxy(upstream, sinks=[kept], upstream_key=key) as served,
        ):
            response = ask(served, path)
        assert response.status_code == status
        assert metrics.upstream_errors() - before == failed
        assert [failure.kind for failure in kept] == ["status"] * failed

    def test_an_unreachable_upstream_is_named_to_callers_on_this_machine(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        with proxy("http://127.0.0.1:9/s3cret/v1") as served:
            response = ask(served, CHAT)
            ready = httpx2.get(f"{served.url}/readyz").json()
        assert (response.status_code, response.json()["error"]["code"]) == (502, "upstream_unreachable")
        told = "upstream http://127.0.0.1:9 cannot be reached; is it running, and is --upstream right?"
        assert (response.json()["error"]["message"], ready["upstream"]) == (told, "http://127.0.0.1:9")
        assert "upstream http://127.0.0.1:9 failed: ConnectError" in caplog.text
        assert "s3cret" not in caplog.text

    @pytest.mark.parametrize("reach", [{"host": "0.0.0.0"}, {"trusted_proxies": ("127.0.0.1",)}], ids=str)
    def test_an_unreachable_upstream_is_named_only_in_the_log_where_others_can_call(
        self, reach: dict[str, Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        with proxy("http://127.0.0.1:9/s3cret/v1", **reach) as served:
            response = ask(served, CHAT)
            ready = httpx2.get(f"{served.url}/readyz").json()
        assert (response.json()["error"]["message"], "upstream" in ready) == ("upstream cannot be reached", False)
        assert "upstream http://127.0.0.1:9 failed: ConnectError" in caplog.text

    def test_a_silent_upstream_is_named(self, caplog: pytest.LogCaptureFixture) -> None:
        with ScriptedChatServer([Fault.hang()]) as upstream, proxy(upstream, request_timeout_s=0.5) as served:
            response = ask(served, CHAT)
            address = upstream.base_url.removesuffix("/v1")
        assert response.json()["error"]["message"] == f"upstream {address} did not answer in time"
        assert f"upstream {address} did not answer in time" in caplog.text

    @pytest.mark.parametrize(
        ("url", "address"),
        [
            ("https://api.example.com/tenant-s3cret/v1", "https://api.example.com:443"),
            ("http://[::1]:8000/v1", "http://[::1]:8000"),
            ("http://model", "http://model:80"),
        ],
    )
    def test_the_address_of_upstream_has_no_path(self, url: str, address: str) -> None:
        assert ProxySettings(upstream=url).upstream_address == address

    @pytest.mark.parametrize(
        ("path", "body", "part"),
        [
            (CHAT, {"messages": "hello"}, "messages is missing or not a list"),
            (CHAT, {"messages": [{"role": "narrator", "content": "x"}]}, "message 0 has the role 'narrator'"),
            (CHAT, {"messages": ASKED, "documents": "x"}, "documents is not a list"),
            (CHAT, {"messages": ASKED, "documents": [{"id": "x"}]}, "it needs its text under one of"),
            (CHAT, {"messages": ASKED, "stream": True, "n": 2}, "n is 2 in a stream"),
            (CHAT, {"messages": ASKED, "metadata": {"conversation_id": 7}}, "metadata.conversation_id is '7'"),
            (RESPONSES, {"input": [7]}, "an input item is '7'"),
            (RESPONSES, {"input": "x", "background": True}, "background is set"),
        ],
    )
    def test_what_cannot_be_read_never_reaches_upstream(self, path: str, body: dict[str, Any], part: str) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            response = served.post(path, body)
            assert upstream.calls == 0
        assert response.status_code == 400
        assert part in response.json()["error"]["message"]

    @pytest.mark.parametrize(
        ("path", "more"),
        [
            (CHAT, {"messages": [{"role": ["user"], "content": "x"}]}),
            (CHAT, {"messages": [{"role": "user", "content": {"a": 1}}]}),
            (CHAT, {"messages": [{"role": "user", "content": [{"type": [], "text": 5}]}], "metadata": []}),
            (CHAT, {"messages": [{"role": "user", "content": "x", "documents": 5}]}),
            (CHAT, {"messages": [], "response_format": {"type": ["json_object"]}, "stream": "yes", "n": "2"}),
            (CHAT, {"messages": ASKED, "conversation": 5}),
            (RESPONSES, {"input": [{"type": ["message"]}], "text": {"format": 5}}),
            (RESPONSES, {"input": [{"type": "file_search_call", "results": 5}], "previous_response_id": "x"}),
            (RESPONSES, {"input": "x", "previous_response_id": 7}),
        ],
    )
    def test_odd_requests_are_no_failures_of_the_server(self, path: str, more: dict[str, Any]) -> None:
        async def wrong(_: Request) -> Response:
            return JSONResponse({"error": {"message": "no"}}, 400)

        app = Starlette(routes=[Route("/{path:path}", wrong, methods=["POST"])])
        with serving(app) as upstream, proxy(upstream) as served:
            assert served.post(path, more).status_code == 400

    def test_what_was_judged_is_what_upstream_reads(self) -> None:
        body = b'{"model": "any", "messages": [], "messages": [{"role": "user", "content": "When?"}], "documents": []}'
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            assert httpx2.post(f"{served.url}{CHAT}", content=body).status_code == 200
            (request,) = upstream.requests
        assert request.body == {"model": "any", "messages": [{"role": "user", "content": "When?"}]}

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[1]",
            b"{",
            b'{"messages": NaN}',
            b'{"messages": [], "top_p": 1e999}',
            b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
            b"[" * 100_000,
        ],
        ids=["empty", "list", "half", "NaN", "infinite", "half a character", "deep"],
    )
    def test_what_is_no_json_object(self, body: bytes) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream) as served:
            response = httpx2.post(f"{served.url}{CHAT}", content=body)
            assert (response.status_code, upstream.calls) == (400, 0)

    def test_a_caller_who_goes_away_cancels_upstream_and_the_judge(self) -> None:
        judging, stopped = threading.Event(), threading.Event()

        class Slow(Sentencewise):
            async def verify(self, claims: Any, evidence: EvidenceSet) -> Any:
                judging.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    stopped.set()
                    raise

        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, judge=Slow(known())) as served:
            with served.calling(CHAT, {"model": "any", "messages": ASKED}):
                assert judging.wait(PATIENCE_S)
            assert stopped.wait(PATIENCE_S)
            assert served.sink.reports == []


class TestTheSevenFailures:
    """DESIGN §6, as far as complete answers can have them; streams are in `test_streams`."""

    def test_1_no_evidence_is_said(self) -> None:
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, policy="strict") as served:
            response = served.post(CHAT, {"model": "any", "messages": ASKED})
        assert (text_of(response.json()), response.json()["vista_guard"]["evidence_missing"]) == (MESSAGE, True)

    @pytest.mark.parametrize(("policy", "told"), [("balanced", TRUTH), ("strict", MESSAGE)])
    def test_2_a_failing_judge_is_no_clean_pass(self, policy: str, told: str) -> None:
        script = known((TRUTH, JudgeError("the model is at http://10.0.0.7")))
        with ScriptedChatServer(TRUTH) as upstream, proxy(upstream, script=script, policy=policy) as served:
            response = ask(served, CHAT)
        assert (text_of(response.json()), response.json()["vista_guard"]["labels"]) == (told, {"UNCHECKED": 1})
        assert response.headers["x-vista-guard-action"] != "ALLOW"

    def test_4_a_withheld_turn_leaves_no_knowledge(self) -> None:
        with ScriptedChatServer(f"{TRUTH} {LIE}") as upstream, proxy(upstream) as served:
            ask(served, CHAT, metadata={"conversation_id": "talk"})
            known_now = asyncio.run(served.knowledge.recall("default/talk", persona=None, query="", limit=9))
        assert [passage.text for passage in known_now] == []

    def test_5_earlier_turns_are_neither_flagged_nor_believed(self) -> None:
        past = [*ASKED, {"role": "assistant", "content": LIE}, {"role": "user", "content": "And the roof?"}]
        roof = Verdict(ASIDE, needs="Zubrowka")
        with (
            ScriptedChatServer(ASIDE) as upstream,
            proxy(upstream, script={LIE: known()[LIE], ASIDE: [roof]}) as served,
        ):
            answer = ask(served, CHAT, messages=past).json()
        assert answer["vista_guard"]["labels"] == {"LACKING_EVIDENCE": 1}
        assert answer["vista_guard"]["action"] == "FLAG"

    async def test_6_concurrent_conversations_share_nothing(self) -> None:
        class Echo(Sentencewise):
            async def decompose(self, turn: Any, history: Any) -> Any:
                return [Claim(id="c1", text=turn.text)]

            async def verify(self, claims: Any, evidence: EvidenceSet) -> Any:
                for claim in claims:
                    self._verdicts[(claim.id, claim.text)] = Verdict(claim.text, needs=claim.text)
                self.evidence.append(evidence)
                await asyncio.sleep(0.01)
                return [self._check(claim, evidence) for claim in claims]

        judge = Echo({})
        with (
            ScriptedChatServer(lambda request: f"Ticket {request.user}.") as upstream,
            proxy(upstream, judge=judge) as served,
        ):
            async with served.aclient as client:

                async def talk(number: int) -> str | None:
                    text = f"Ticket {number}."
                    answer = await client.chat.completions.create(
                        model="any",
                        messages=[{"role": "user", "content": str(number)}],
                        extra_body={"documents": [text], "metadata": {"conversation_id": f"talk-{number % 10}"}},
                    )
                    assert answer.model_extra is not None
                    assert answer.model_extra["vista_guard"]["labels"] == {"VERIFIED": 1}
                    return answer.choices[0].message.content

                told = await asyncio.gather(*(talk(number) for number in range(40)))
        assert told == [f"Ticket {number}." for number in range(40)]
        for evidence in judge.evidence:
            tens = {int(passage.text[7:-1]) % 10 for passage in (*evidence.documents, *evidence.knowledge)}
            assert len(tens) == 1

    def test_7_a_block_blocks(self) -> None:
        with ScriptedChatServer(LIE) as upstream, proxy(upstream, gate="sentence") as served:
            assert text_of(ask(served, CHAT).json()) == MESSAGE


def test_errors_are_raised_by_the_official_client() -> None:
    with proxy("http://127.0.0.1:9/v1") as served, served.client as client:
        with pytest.raises(openai.InternalServerError) as raised:
            client.chat.completions.create(model="any", messages=ASKED)  # type: ignore[arg-type]
        assert raised.value.code == "upstream_unreachable"
