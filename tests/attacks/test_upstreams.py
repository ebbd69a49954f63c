"""A hostile upstream: whatever place it puts its words in, the reader sees none that was not judged."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import socketserver
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.attacks.answers import ANSWERS, LIE, SECRET, TRUTH, Answer, completion, events, message, response
from tests.integrations.openai.ways import NOTES, Script
from tests.proxy.serving import Kept, serving
from tests.raising import raises
from vista_guard import Blocked, Guard, InputError, Label
from vista_guard.integrations.openai import guarded, unjudged_of
from vista_guard.openai_api.fields import Sifting, sift_completion, sift_response
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

ASKED = [{"role": "user", "content": "When did the whale hall open?", "documents": [NOTES]}]
BY_NAME = {f"a{number}": answer for number, answer in enumerate(ANSWERS)}
KINDS: dict[str, dict[str, Answer]] = {}
for _name, _answer in BY_NAME.items():
    KINDS.setdefault(str(_answer).removesuffix(f"-{_answer.name}"), {})[_name] = _answer
LOST = [answer for answer in ANSWERS if not answer.true and not answer.words and "sound" not in answer.name]
"""Answers whose words stand in no known place."""


class Museum:
    """A hostile upstream behind the proxy and behind the client, which share a guard."""

    client: openai.OpenAI

    def __init__(self) -> None:
        self.knowledge, self.sink = MemoryKnowledge(WordEmbedder()), Kept()
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(SECRET, Label.CONTRADICTED, 0.99)))
        self.guard = Guard(judge, "strict", knowledge=self.knowledge, sinks=[self.sink])
        self.proxy = self.held = self.upstream = ""
        self.balanced = Guard(judge, "balanced", knowledge=self.knowledge, sinks=[self.sink])
        self.odd: dict[str, Response] = {}
        self.http = httpx2.Client(verify=False, timeout=30)

    async def answer(self, request: Request) -> Response:
        """What is named by the model that is asked for."""
        name = (await request.json())["model"]
        if name in self.odd:
            return self.odd[name]
        answer = BY_NAME[name]
        if answer.events is None:
            return Response(json.dumps(answer.body), media_type="application/json")
        raw = "".join(f"data: {json.dumps(event)}\n\n" for event in answer.events)
        return Response(f"{raw}data: [DONE]\n\n", media_type="text/event-stream")

    def post(self, api: str, model: str, proxy: str | None = None, **more: Any) -> httpx2.Response:
        """Asks through the proxy, or another one."""
        path, said = ("chat/completions", "messages") if api == "chat" else ("responses", "input")
        body = {"model": model, said: ASKED, "metadata": {"conversation_id": model}, **more}
        return self.http.post(f"{proxy or self.proxy}/v1/{path}", json=body)

    def asking(self) -> openai.OpenAI:
        """A client of upstream's, not guarded yet."""
        http = openai.DefaultHttpxClient(verify=False)
        return openai.OpenAI(base_url=f"{self.upstream}/v1", api_key="k", max_retries=0, http_client=http)

    def remembered(self, name: str) -> str:
        """What is known of a conversation."""
        known = asyncio.run(self.knowledge.recall(name, persona=None, query="", limit=99))
        return "\n".join(passage.text for passage in known)


@pytest.fixture(scope="module")
def museum() -> Iterator[Museum]:
    it = Museum()
    app = Starlette(routes=[Route("/{path:path}", it.answer, methods=["POST"])])
    with serving(app) as it.upstream:
        proxy = ProxySettings(upstream=f"{it.upstream}/v1")
        held = build_app(it.balanced, ProxySettings(upstream=f"{it.upstream}/v1", gate="turn"))
        with (
            serving(build_app(it.guard, proxy)) as it.proxy,
            serving(held) as it.held,
            it.http,
            it.asking() as it.client,
        ):
            yield it


def test_there_are_many() -> None:
    assert len(ANSWERS) >= 300
    assert len({str(answer) for answer in ANSWERS}) == len(ANSWERS)


def each(kind: str, check: Callable[[str, Answer], None]) -> None:
    """Checks every answer of a kind; names all that fail."""
    failed = []
    for name, answer in KINDS[kind].items():
        try:
            check(name, answer)
        except AssertionError as exc:
            failed.append(f"{answer}: {exc}")
    assert failed == []


def leaks(museum: Museum, conversation: str, shown: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Places where the secret is now."""
    places = {"shown": shown, "log": caplog.text, "knowledge": museum.remembered(conversation)}
    caplog.clear()
    return [place for place, text in places.items() if SECRET in text]


@pytest.mark.parametrize("kind", KINDS)
def test_the_proxy_shows_nothing_of_it(museum: Museum, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "vista_guard")

    def check(name: str, answer: Answer) -> None:
        given = museum.post(answer.api, name, stream=answer.events is not None)
        shown = given.text + str(given.headers)
        assert given.status_code in (200, 502)
        assert leaks(museum, f"default/{name}", shown, caplog) == []
        assert "1850" not in shown.replace(name, "")
        if answer.words:
            assert '"BLOCK"' in shown.replace(" ", "")
        elif answer.true:
            assert TRUTH in given.text
        else:
            assert '"ALLOW"' not in shown.replace(" ", "") or TRUTH in given.text
        if answer in LOST:  # an error, and no answer that says nothing
            empty = given.status_code == 200 and '"error"' not in given.text
            assert not empty or any(told in given.text for told in (TRUTH, '"unjudged"', '"content_filter"'))

    each(kind, check)


@pytest.mark.parametrize("kind", KINDS)
def test_the_client_shows_nothing_of_it(museum: Museum, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "vista_guard")

    def check(name: str, answer: Answer) -> None:
        shown = heard(guarded(museum.client, museum.guard), answer, name)
        assert leaks(museum, f"client-{name}", shown, caplog) == []
        if answer.words:
            assert "Blocked" in shown
        elif answer.true:
            assert TRUTH in shown

    each(kind, check)


def heard(client: Any, answer: Answer, name: str) -> str:
    """All that a caller of the client can see, exceptions and what they came from included."""
    seen: list[str] = []
    asked: Any = {"model": name, "metadata": {"conversation_id": f"client-{name}"}}
    asked |= {"messages": ASKED} if answer.api == "chat" else {"input": ASKED}
    create = client.chat.completions.create if answer.api == "chat" else client.responses.create
    try:
        if answer.events is None:
            seen.append(create(**asked).model_dump_json(warnings=False))
        else:
            seen.extend(item.model_dump_json(warnings=False) for item in create(**asked, stream=True))
    except (Blocked, InputError, openai.APIError) as exc:
        cause: BaseException | None = exc
        while cause is not None:
            seen += [type(cause).__name__, str(cause), repr(cause), str(getattr(cause, "body", ""))]
            cause = cause.__cause__ or cause.__context__
    return "\n".join(seen)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.endswith("streamed")])
def test_a_turn_that_is_held_whole_shows_nothing_of_it(
    museum: Museum, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "vista_guard")

    def check(name: str, answer: Answer) -> None:
        given = museum.post(answer.api, name, museum.held, stream=True)
        shown = given.text + str(given.headers)
        assert leaks(museum, f"default/{name}", shown, caplog) == []
        if answer.words:
            assert '"BLOCK"' in shown.replace(" ", "")
        elif answer.true:
            assert TRUTH in given.text

    each(kind, check)


class TestWordsInNoKnownPlace:
    """What is left of such an answer is empty. That is an error, and no answer that says nothing."""

    def test_there_are_some(self) -> None:
        assert len(LOST) >= 60

    @pytest.mark.parametrize("stream", [False, True])
    def test_an_answer_that_says_nothing_anywhere_is_one(self, museum: Museum, stream: bool) -> None:
        told: Any = {"role": "assistant", "content": "", "note": 5}
        choice: Any = {"index": 0, "delta" if stream else "message": told, "finish_reason": "length"}
        body = json.dumps({"id": "c1", "x_groq": {"id": "req 1"}, "choices": [choice]})
        raw = f"data: {body}\n\ndata: [DONE]\n\n" if stream else body
        museum.odd["empty"] = Response(raw, media_type="text/event-stream" if stream else "application/json")
        given = museum.post("chat", "empty", stream=stream)
        assert (given.status_code, '"error"' in given.text, '"length"' in given.text.replace(" ", "")) == (
            200,
            False,
            True,
        )

    @pytest.mark.parametrize("stream", [False, True])
    def test_the_client_says_so(self, museum: Museum, stream: bool) -> None:
        told: Any = {"role": "assistant", "content": None, "answer": LIE}
        choice: Any = {"index": 0, "delta" if stream else "message": told, "finish_reason": "stop"}
        body = json.dumps({"id": "c1", "choices": [choice]})
        raw = f"data: {body}\n\ndata: [DONE]\n\n" if stream else body
        museum.odd["lost"] = Response(raw, media_type="text/event-stream" if stream else "application/json")
        client: Any = guarded(museum.client, museum.guard)
        with raises(InputError, "API"):
            list(client.chat.completions.create(model="lost", messages=ASKED, stream=stream))


PLAIN = json.dumps(completion(LIE))
TOLD = f'{{"choices":[{{"index":0,"message":{{"content":"{TRUTH}"}}}}],'
ODD_BYTES: dict[str, tuple[bytes | str, str, int]] = {
    "content twice": (PLAIN.replace('"content"', f'"content": "{TRUTH}", "content"'), "application/json", 200),
    "escaped": (PLAIN.replace("SECRET", "\\u0053ECRET"), "application/json", 200),
    "half a character": (PLAIN.replace("they", "\\ud800"), "application/json", 200),
    "half a character in a name": (f'{TOLD}"\\ud800{SECRET}":"x"}}', "application/json", 200),
    "no number": (f'{TOLD}"usage":{{"total_tokens":NaN,"{SECRET}":1e999}}}}', "application/json", 200),
    "a mark before it": (f"\ufeff{PLAIN}", "application/json", 200),
    "sixteen bits": (PLAIN.encode("utf-16"), "application/json", 200),
    "deep": (f'{{"x":"{SECRET}","choices":{"[" * 5000}{"]" * 5000}}}', "application/json", 200),
    "a text": (LIE, "text/plain", 200),
    "a page": (f"<p>{LIE}</p>", "text/html", 200),
    "a stream that is told to be none": (f"data: {PLAIN}\n\n", "application/json", 200),
    "created": (PLAIN, "application/json", 201),
    "a part of it": (PLAIN, "application/json", 206),
    "comments": (f": {SECRET}\nevent: {SECRET}\nid: {SECRET}\ndata: [DONE]\n\n", "text/event-stream", 200),
    "lines": (f"{PLAIN}\n{PLAIN}\n", "application/x-ndjson", 200),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", ODD_BYTES)
def test_odd_bytes(museum: Museum, name: str, stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "vista_guard")
    body, kind, status = ODD_BYTES[name]
    museum.odd["bytes"] = Response(body, status, media_type=kind)
    given = museum.post("chat", "bytes", stream=stream)
    assert given.status_code in (status, 502)
    assert "1850" not in given.text + str(given.headers) + caplog.text


def parsed() -> Iterator[tuple[str, dict[str, Any]]]:
    """Whole answers that name a field as the SDK names what it parsed."""
    for reach in ("answer", "choice", "message"):
        body = completion(TRUTH)
        choice = body["choices"][0]
        {"answer": body, "choice": choice, "message": choice["message"]}[reach]["parsed"] = {"text": LIE}
        yield f"chat: {reach}", body
    yield "responses: response", response(parsed=LIE)
    yield "responses: item", response(message(parsed=LIE))
    yield "responses: thoughts", response(message(), {"type": "reasoning", "id": "r", "summary": [], "parsed": LIE})
    part = {"type": "output_text", "text": TRUTH, "annotations": [], "parsed": LIE}
    yield "responses: part", response(message(content=[part]))


@pytest.mark.parametrize(("name", "body"), [*parsed()], ids=[name for name, _ in parsed()])
def test_what_upstream_calls_parsed_is_not_shown(museum: Museum, name: str, body: dict[str, Any]) -> None:
    museum.odd["parsed"] = Response(json.dumps(body), media_type="application/json")
    client: Any = guarded(museum.client, museum.guard)
    if name.startswith("chat"):
        answer = client.chat.completions.parse(model="parsed", messages=ASKED)
    else:
        answer = client.responses.parse(model="parsed", input=ASKED)
    shown = answer.model_dump_json(warnings=False) + repr(answer)
    assert (TRUTH in shown, SECRET in shown) == (True, False)


CALL = {"id": "t1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}


def spoken(text: str, **more: Any) -> Response:
    """A completion as bytes."""
    said = {"role": "assistant", "content": text, **more}
    body = {"id": "c1", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}
    return Response(json.dumps(body), media_type="application/json")


class TestWhatPassesUnjudged:
    """Said in a header and a field; by `unjudged_of` where the client was asked."""

    def test_it_is_told_of_a_whole_answer(self, museum: Museum) -> None:
        museum.odd["calls"] = spoken(TRUTH, tool_calls=[CALL], reasoning_content="Hm.")
        given = museum.post("chat", "calls")
        assert given.headers["x-vista-guard-unjudged"] == "reasoning,tools"
        assert given.json()["vista_guard"]["unjudged"] == ["reasoning", "tools"]
        assert given.json()["vista_guard"]["action"] == "ALLOW"

    def test_nothing_of_it_is_left_of_a_withheld_answer(self, museum: Museum) -> None:
        museum.odd["withheld"] = spoken(LIE, tool_calls=[CALL], reasoning_content="Hm.")
        given = museum.post("chat", "withheld")
        assert "x-vista-guard-unjudged" not in given.headers
        assert set(given.json()["choices"][0]["message"]) == {"role", "content", "refusal"}
        assert "look_up" not in given.text

    def test_it_is_told_at_the_end_of_a_stream(self, museum: Museum) -> None:
        deltas: list[dict[str, Any]] = [{"reasoning_content": "Hm."}, {"content": TRUTH}]
        ends: list[tuple[dict[str, Any], str | None]] = [*((delta, None) for delta in deltas), ({}, "stop")]
        told = [{"choices": [{"index": 0, "delta": delta, "finish_reason": end}]} for delta, end in ends]
        raw = "".join(f"data: {json.dumps(event)}\n\n" for event in told)
        museum.odd["stream"] = Response(f"{raw}data: [DONE]\n\n", media_type="text/event-stream")
        *_, last = [line for line in museum.post("chat", "stream", stream=True).text.split("\n\n") if "{" in line]
        assert json.loads(last.removeprefix("data: "))["vista_guard"]["unjudged"] == ["reasoning"]

    @pytest.mark.parametrize("kind", ["reasoning", "compaction"])
    @pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
    def test_words_that_are_called_encrypted_are_told(self, museum: Museum, kind: str, stream: bool) -> None:
        more: dict[str, Any] = {"summary": []} if kind == "reasoning" else {}
        told = events()
        told[-1]["response"]["output"].insert(0, {"type": kind, "id": "r", "encrypted_content": LIE, **more})
        raw = "".join(f"data: {json.dumps(event)}\n\n" for event in told)
        raw, media = (raw, "text/event-stream") if stream else (json.dumps(told[-1]["response"]), "application/json")
        museum.odd["coded"] = Response(raw, media_type=media)
        given = museum.post("responses", "coded", stream=stream)
        assert ('"unjudged":["reasoning"]' in given.text.replace(" ", ""), given.text.count(LIE)) == (True, 1)
        client: Any = guarded(museum.client, museum.guard)
        if not stream:
            assert unjudged_of(client.responses.create(model="coded", input=ASKED)) == ("reasoning",)

    def test_the_client_tells_it(self, museum: Museum) -> None:
        museum.odd["client"] = spoken(TRUTH, tool_calls=[CALL])
        client: Any = guarded(museum.client, museum.guard)
        answer = client.chat.completions.create(model="client", messages=ASKED)
        assert unjudged_of(answer) == ("tools",)
        assert answer.choices[0].message.tool_calls[0].function.name == "look_up"


@pytest.mark.parametrize("status", [400, 404, 429, 500, 502, 529])
def test_a_failure_brings_no_choices_and_a_broken_server_no_words(museum: Museum, status: int) -> None:
    told = {"message": f"cannot parse: {LIE}" if status >= 500 else "Slow down.", "draft": LIE}
    body = {"error": told, "choices": [{"message": {"content": LIE}}], "detail": LIE}
    museum.odd["failing"] = Response(json.dumps(body), status, media_type="application/json")
    given = museum.post("chat", "failing")
    assert (given.status_code, SECRET in given.text) == (status, False)
    assert ("Slow down." in given.text) == (status < 500)


def test_headers_of_an_answer_pass_by_a_list(museum: Museum) -> None:
    museum.odd["headers"] = spoken(TRUTH)
    for name, value in (
        ("x-draft", LIE),
        ("x-request-id", "abc"),
        ("openai-model", LIE * 9),
        ("set-cookie", f"a={SECRET}"),
    ):
        museum.odd["headers"].headers[name] = value
    museum.odd["headers"].headers["x-vista-guard-action"] = "ALLOW"
    given = museum.post("chat", "headers")
    assert (given.headers["x-request-id"], SECRET in str(given.headers)) == ("abc", False)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.endswith("whole")])
def test_what_passes_passes_again(kind: str) -> None:
    """A second look finds nothing to take away: what the table gives is what the table knows."""

    def check(_: str, answer: Answer) -> None:
        sift = sift_completion if answer.api == "chat" else sift_response
        once, twice = Sifting(), Sifting()
        passed = sift(answer.body, once)
        assert sift(json.loads(json.dumps(passed)), twice) == passed
        assert twice.dropped == 0

    each(kind, check)


class RawUpstream(socketserver.ThreadingTCPServer):
    """Answers every request with `status`, one more header, and a completion; keeps what it was asked."""

    allow_reuse_address, daemon_threads = True, True
    status, header = 200, b""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), RawAnswer)
        self.asked: list[bytes] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class RawAnswer(socketserver.BaseRequestHandler):
    server: RawUpstream

    def handle(self) -> None:
        asked = self.request.recv(65_536)
        while b"\r\n\r\n" not in asked:
            asked += self.request.recv(65_536)
        self.server.asked.append(asked)
        body = b"" if asked.startswith(b"HEAD") else json.dumps(completion(TRUTH)).encode()
        self.request.sendall(
            b"HTTP/1.1 %d Caf\xe9\r\n%s\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            % (self.server.status, self.server.header or b"x-none: 1", len(body))
            + body
        )


@pytest.fixture(scope="module")
def raw(museum: Museum) -> Iterator[tuple[RawUpstream, str]]:
    """An upstream of raw bytes, and the proxy in front of it."""
    with RawUpstream() as upstream:
        thread = threading.Thread(target=upstream.serve_forever, args=(0.01,))
        thread.start()
        things = [f"{method} things" for method in ("GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH")]
        with serving(build_app(museum.guard, ProxySettings(upstream=upstream.url, pass_paths=things))) as url:
            yield upstream, url
        upstream.shutdown()
        thread.join()


HEADERS = [
    *(
        b"%s: \xe9" % name
        for name in (b"x-title", b"x-request-id", b"retry-after", b"via", b"vary", b"server", b"date")
    ),
    *(b"%s: \xff\xfe" % name for name in (b"content-type", b"content-encoding", b"content-language", b"connection")),
    *(b"%s: a=\xe6\x97\xa5" % name for name in (b"set-cookie", b"link", b"www-authenticate", b"x-ratelimit-limit-a")),
    *(b"%s: \x85\xa0" % name for name in (b"location", b"content-disposition", b"x-ms-region", b"openai-model")),
    b"x-caf\xe9: 1",
    b"transfer-encoding: \xe9",
    b"content-length: \xb2",
]


def every_way(url: str) -> list[httpx2.Response]:
    """A judged request, and requests that pass."""
    body = {"model": "any", "messages": ASKED}
    known: Any = {"verify": False, "timeout": 20}  # and no client of its own, which would send such cookies back
    judged = httpx2.post(f"{url}/v1/chat/completions", json=body, **known)
    return [judged, *(httpx2.request(method, f"{url}/v1/things", **known) for method in ("GET", "HEAD", "POST"))]


@pytest.mark.parametrize("header", HEADERS, ids=ascii)
def test_a_header_of_any_bytes_is_no_error_of_ours(raw: tuple[RawUpstream, str], header: bytes) -> None:
    upstream, url = raw
    for status in (200, (302, 404, 503)[HEADERS.index(header) % 3]):  # fuzzed headers come with every status
        upstream.status, upstream.header = status, header
        for answer in every_way(url):
            assert answer.status_code in (status, 502)
            if answer.status_code != status and answer.content:
                assert answer.json()["error"]["code"].startswith("upstream_")


def test_bytes_of_a_header_pass_as_they_are(raw: tuple[RawUpstream, str]) -> None:
    upstream, url = raw
    upstream.status, upstream.header = 200, b"x-title: Caf\xe9 \xe6\x97\xa5"
    _, *passed = every_way(url)
    assert [dict(answer.headers.raw)[b"x-title"] for answer in passed] == [b"Caf\xe9 \xe6\x97\xa5"] * 3


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from([b"x-a", b"set-cookie", b"content-type", b"location", b"cache-control", b"content-encoding"]),
    value=st.binary(max_size=30).map(lambda value: re.sub(rb"[\r\n]", b"", value)),
    status=st.integers(200, 999),
)
def test_fuzzed_headers(raw: tuple[RawUpstream, str], name: bytes, value: bytes, status: int) -> None:
    upstream, url = raw
    upstream.status, upstream.header = status, b"%s: %s" % (name, value)
    assert {answer.status_code for answer in every_way(url)} <= {status, 502}


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS", "POST", "PUT", "PATCH"])
def test_only_methods_with_a_body_bring_one(raw: tuple[RawUpstream, str], method: str) -> None:
    upstream, url = raw
    upstream.status, upstream.header = 200, b""
    assert httpx2.request(method, f"{url}/v1/things", content=b"smuggled", timeout=20).status_code == 200
    head = upstream.asked[-1].partition(b"\r\n\r\n")[0].lower()
    assert (b"content-length: 8" in head) is (method in ("POST", "PUT", "PATCH"))
    assert (b"content-length" in head) is (method in ("POST", "PUT", "PATCH"))


def test_the_client_reads_a_failure_with_any_header(raw: tuple[RawUpstream, str], museum: Museum) -> None:
    upstream, _ = raw
    upstream.status, upstream.header = 503, b"x-title: \xe9\xff"
    client = guarded(openai.OpenAI(base_url=upstream.url, api_key="k", max_retries=0), museum.guard)
    with client, pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="any", messages=[{"role": "user", "content": "x"}])
