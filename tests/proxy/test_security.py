"""Keys, tenants, limits and errors, on an app that does nothing else."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI, Request
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from starlette.background import BackgroundTask
from starlette.responses import Response, StreamingResponse
from starlette.testclient import TestClient

from tests.conftest import guard_with
from tests.raising import raises
from vista_guard import Guard
from vista_guard.errors import ConfigError, InputError, JudgeError, StoreError
from vista_guard.proxy import metrics
from vista_guard.proxy.identity import own_report, scoped, unscoped
from vista_guard.proxy.security import Keyring, check_documents, check_exposure, install, key_hash, new_key
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryDocuments, MemoryKnowledge
from vista_guard.telemetry.config import Telemetry
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

UPSTREAM = "http://127.0.0.1:1/v1"
ACME, ACME_SECOND, ZOO = new_key(), new_key(), new_key()
LOCAL = "http://127.0.0.1"
"""Without keys nobody may call a loopback proxy by another name."""

KEYS = {"acme": (key_hash(ACME), key_hash(ACME_SECOND)), "zoo": (key_hash(ZOO),)}
OWNED = st.tuples(st.text("ab1-_", min_size=1, max_size=4), st.text("ab1/-_ é", min_size=1, max_size=6))


class Named(BaseModel):
    name: str


def app_with(**options: Any) -> FastAPI:
    """An app that tells what reached it."""
    app = FastAPI()

    @app.api_route("/v1/echo", methods=["GET", "POST"])
    async def echo(request: Request) -> dict[str, Any]:
        seen = {name: value for name, value in request.headers.items() if name.startswith(("x-", "auth"))}
        return {"tenant": request.state.tenant, "headers": seen, "bytes": len(await request.body())}

    @app.post("/named")
    async def named(body: Named) -> str:
        return body.name

    @app.get("/healthz")
    async def alive() -> str:
        return "ok"

    install(app, ProxySettings(upstream=UPSTREAM, **options))
    metrics.install(app, Telemetry())
    return app


@pytest.fixture
def guarded() -> Iterator[TestClient]:
    """An app with two tenants."""
    with TestClient(app_with(keys=KEYS), base_url=LOCAL) as client:
        yield client


@settings(deadline=None)
@given(one=OWNED, other=OWNED)
def test_stored_ids_never_collide(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (scoped(*one) == scoped(*other)) is (one == other)
    assert unscoped(one[0], scoped(*one)) == one[1]


@pytest.mark.parametrize("stored", ["zoo/acme/c1", "acme", "acmex/c1", "c1"])
def test_another_tenants_id_is_not_read(stored: str) -> None:
    with raises(ValueError, "tenant"):
        unscoped("acme", stored)


def test_an_empty_id_is_refused() -> None:
    with pytest.raises(InputError):
        scoped("acme", "")


def test_a_report_is_shown_to_its_tenant_only(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(ScriptedJudge({"Hi.": []}), knowledge)
    talk = guard.session(scoped("acme", "c/1"))
    report = talk.assistant("Hi.")
    assert own_report("acme", report) == report.model_copy(update={"conversation_id": "c/1"})
    with raises(ValueError, "tenant"):
        own_report("zoo", report)
    anonymous = report.model_copy(update={"conversation_id": None})
    assert own_report("zoo", anonymous) == anonymous


def test_a_shown_report_names_no_addresses(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(
        ScriptedJudge({"Hi.": [Verdict("Hi.", error="401 from http://judge-7:8000/v1; give a key")]}), knowledge
    )
    stored = guard.session(scoped("acme", "c1")).assistant("Hi.")
    cause = "the report was not stored: cannot write a report in postgresql://db-3/guard: refused"
    shown = own_report("acme", stored.model_copy(update={"warnings": (cause,)}))
    assert shown.warnings == ("the report was not stored",)
    assert [outcome.error for outcome in shown.unchecked] == ["401 from (address); give a key"]


def test_keys_are_unlike_and_only_their_hash_is_kept() -> None:
    assert len({new_key() for _ in range(100)}) == 100
    ring = Keyring(KEYS)
    callers = [ring.caller(key.encode()) for key in (ACME, ACME_SECOND, ZOO)]
    assert [caller and caller.tenant for caller in callers] == ["acme", "acme", "zoo"]
    assert [ring.caller(key) for key in (b"", ACME.encode()[:-1], key_hash(ACME).encode())] == [None, None, None]
    assert ACME not in repr(ring.__dict__)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"authorization": f"Basic {ACME}"},
        {"authorization": ACME},
        {"x-api-key": key_hash(ACME)},
        {"x-vista-guard-key": ""},
        {"x-vista-guard-key": ACME, "x-api-key": ZOO},
    ],
)
def test_without_a_key_of_one_tenant_nothing_is_answered(guarded: TestClient, headers: dict[str, str]) -> None:
    answer = guarded.post("/v1/echo", headers=headers)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json() == {
        "error": {
            "message": "this guard needs its own API key, in Authorization: Bearer KEY, x-api-key or x-vista-guard-key",
            "type": "invalid_request_error",
            "param": None,
            "code": "invalid_api_key",
        }
    }


@pytest.mark.parametrize("path", ["/metrics", "/openapi.json", "/nowhere", "/healthz/"])
def test_every_other_path_needs_a_key_too(guarded: TestClient, path: str) -> None:
    assert guarded.get(path, follow_redirects=False).status_code == 401


@pytest.mark.parametrize(
    ("headers", "passed_on"),
    [
        ({"authorization": f"Bearer {ACME}"}, {}),
        ({"authorization": f"bearer  {ACME_SECOND} "}, {}),
        ({"x-api-key": ACME}, {}),
        ({"x-vista-guard-key": ACME}, {}),
        ({"x-vista-guard-key": ACME, "authorization": "Bearer sk-up"}, {"authorization": "Bearer sk-up"}),
        ({"authorization": f"Bearer {ACME}", "x-api-key": "sk-up"}, {"x-api-key": "sk-up"}),
        ({"authorization": f"Bearer {ACME}", "x-api-key": ACME_SECOND}, {}),
        ({"authorization": f"Bearer {ACME}", "x-vista-guard-key": "other"}, {}),
    ],
)
def test_a_key_names_the_tenant_and_goes_no_further(
    guarded: TestClient, headers: dict[str, str], passed_on: dict[str, str]
) -> None:
    answer = guarded.post("/v1/echo", headers=headers, content=b"12345")
    assert answer.json() == {"tenant": "acme", "headers": passed_on, "bytes": 5}


def test_probes_need_no_key(guarded: TestClient) -> None:
    assert guarded.get("/healthz").json() == "ok"
    with TestClient(app_with(keys=KEYS, open_metrics=True), base_url=LOCAL) as client:
        assert client.get("/metrics").status_code == 200


def test_without_keys_everybody_is_one_tenant_and_upstreams_key_passes() -> None:
    with TestClient(app_with(), base_url=LOCAL) as client:
        answer = client.post("/v1/echo", headers={"authorization": "Bearer sk-up", "x-vista-guard-key": "any"})
    assert answer.json() == {"tenant": "default", "headers": {"authorization": "Bearer sk-up"}, "bytes": 0}


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1", 200),
        ("http://[::1]:5173", 200),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("null", 403),
        ("http://[", 403),
    ],
)
def test_without_keys_no_foreign_web_page_may_call(origin: str, status: int) -> None:
    with TestClient(app_with(), base_url=LOCAL) as client:
        assert client.post("/v1/echo", headers={"origin": origin}).status_code == status
    for options in ({"keys": KEYS}, {"host": "0.0.0.0"}):
        with TestClient(app_with(**options), base_url=LOCAL) as client:
            answer = client.post("/v1/echo", headers={"origin": origin, "x-api-key": ACME})
        assert answer.status_code == 200


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_is_read_up_to_the_limit(chunked: bool) -> None:
    def content(size: int) -> Any:
        return (b"x" for _ in range(size)) if chunked else b"x" * size

    with TestClient(app_with(max_body_bytes=1000), base_url=LOCAL) as client:
        assert client.post("/v1/echo", content=content(1000)).json()["bytes"] == 1000
        refused = client.post("/v1/echo", content=content(1001))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "request_too_large")
    assert refused.json()["error"]["message"] == "the request has more than 1,000 bytes; send less at once"


async def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    app = app_with(body_timeout_s=0.05)
    scope = {"type": "http", "method": "POST", "path": "/v1/echo", "headers": [], "client": ("127.0.0.1", 9)}
    sent: list[Any] = []

    async def receive() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    assert sent[0]["status"] == 408


async def test_a_client_may_have_so_many_requests_open_and_no_more() -> None:
    started, go_on = asyncio.Event(), asyncio.Event()
    app = app_with(keys=KEYS, streams_per_client=1)

    @app.get("/v1/stream")
    async def stream() -> StreamingResponse:
        async def pieces() -> AsyncIterator[str]:
            yield "data: 1\n\n"
            started.set()
            await go_on.wait()
            yield "data: 2\n\n"

        return StreamingResponse(pieces(), media_type="text/event-stream")

    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url=LOCAL) as client:
        acme, zoo = {"x-api-key": ACME}, {"x-api-key": ZOO}
        first = asyncio.create_task(client.get("/v1/stream", headers=acme))
        await started.wait()
        refused = await client.get("/v1/echo", headers=acme)
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert refused.json()["error"]["code"] == "too_many_streams"
        others = [
            await client.get("/v1/echo", headers=zoo),
            await client.get("/v1/echo", headers={"x-api-key": ACME_SECOND}),
            await client.get("/healthz"),
        ]
        assert [answer.status_code for answer in others] == [200, 200, 200]
        assert "vista_guard_streams_open 1.0" in (await client.get("/metrics", headers=acme)).text
        go_on.set()
        assert (await first).text == "data: 1\n\ndata: 2\n\n"
        assert (await client.get("/v1/echo", headers=acme)).status_code == 200
        assert "vista_guard_streams_open 0.0" in (await client.get("/metrics", headers=acme)).text


async def test_who_has_read_an_answer_to_its_end_may_ask_again_at_once() -> None:
    app = app_with(streams_per_client=1)
    ended, go_on = asyncio.Event(), asyncio.Event()

    async def clear_up() -> None:
        ended.set()
        await go_on.wait()

    @app.get("/v1/slow")
    async def slow() -> Response:
        return Response("all of it", background=BackgroundTask(clear_up))

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=LOCAL) as client:
        first = asyncio.create_task(client.get("/v1/slow"))
        await ended.wait()
        again = [(await client.get("/v1/echo")).status_code for _ in range(3)]
        go_on.set()
        assert ((await first).text, again) == ("all of it", [200, 200, 200])
        assert (await client.get("/v1/echo")).status_code == 200


async def test_a_cancelled_request_gives_its_place_back() -> None:
    app = app_with(streams_per_client=1)
    started = asyncio.Event()

    @app.get("/v1/slow")
    async def slow() -> None:
        started.set()
        await asyncio.Event().wait()

    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url=LOCAL) as client:
        waiting = asyncio.create_task(client.get("/v1/slow"))
        await started.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await client.get("/v1/echo")).status_code == 200


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (InputError("message 3 has the role 'x'"), 400, "message 3 has the role 'x'"),
        (
            InputError("turn 1 has 9 documents; limits.documents is 3"),
            413,
            "turn 1 has 9 documents; limits.documents is 3",
        ),
        (StoreError("/srv/secret is full"), 503, "the guard cannot judge or remember right now; try again"),
        (JudgeError("no answer from host-7"), 503, "the guard cannot judge or remember right now; try again"),
        (RuntimeError("/srv/secret"), 500, "something went wrong inside the guard; its log says what"),
    ],
)
def test_errors_tell_nothing_about_the_inside(error: Exception, status: int, message: str) -> None:
    app = app_with()

    @app.get("/v1/fail")
    async def fail() -> None:
        raise error

    with TestClient(app, base_url=LOCAL, raise_server_exceptions=False) as client:
        answer = client.get("/v1/fail")
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)


def test_wrong_requests_get_the_same_kind_of_error() -> None:
    with TestClient(app_with(), base_url=LOCAL) as client:
        answers = [client.post("/named", json={"name": 7}), client.get("/nowhere"), client.get("/named")]
    assert [(answer.status_code, answer.json()["error"]["message"]) for answer in answers] == [
        (400, "name: Input should be a valid string"),
        (404, "Not Found"),
        (405, "Method Not Allowed"),
    ]


def test_no_key_is_ever_logged(guarded: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    guarded.post("/v1/echo", headers={"authorization": f"Bearer {ACME}", "x-api-key": "sk-upstream"})
    guarded.post("/v1/echo", headers={"authorization": "Bearer vg_wrong"})
    shown = caplog.text + repr(ProxySettings(upstream=UPSTREAM, upstream_key="sk-upstream"))
    assert not [secret for secret in (ACME, "sk-upstream", "vg_wrong") if secret in shown]


@pytest.mark.parametrize(
    ("method", "path", "body", "allowed"),
    [
        ("POST", "/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}, True),
        ("POST", "/v1/responses", {"input": "Hi", "metadata": {"conversation_id": "c1"}}, True),
        ("POST", "/v1/chat/completions", {"tools": [{"parameters": {"properties": {"file_id": {}}}}]}, True),
        ("POST", "/v1/responses", {"input": "Hi", "metadata": {"file_id": "mine"}}, True),
        ("POST", "/v1/embeddings", {"input": "Hi"}, True),
        ("GET", "/v1/models", None, True),
        ("GET", "/v1/models/any", None, True),
        ("GET", "/guard/conversations/c1", None, True),
        ("GET", "/metrics", None, True),
        ("POST", "/v1/responses", {"input": "Hi", "previous_response_id": "resp_1"}, False),
        ("POST", "/v1//Responses", {"input": "Hi", "conversation": "conv_1"}, False),
        ("POST", "/v1/responses", {"input": [{"type": "item_reference", "id": "msg_1"}]}, False),
        (
            "POST",
            "/v1/responses",
            {"input": "Hi", "tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
            False,
        ),
        (
            "POST",
            "/v1/chat/completions",
            {"messages": [{"content": [{"type": "file", "file": {"file_id": "f1"}}]}]},
            False,
        ),
        ("GET", "/v1/files/f1/content", None, False),
        ("GET", "/v1/responses/resp_1/input_items", None, False),
        ("DELETE", "/v1/models/any", None, False),
        ("POST", "/v1/threads", {}, False),
        ("GET", "/v1/guard/x", None, False),
    ],
)
def test_what_upstream_keeps_for_all_tenants_is_out_of_reach(method: str, path: str, body: Any, allowed: bool) -> None:
    account = {"upstream_key": "sk-up"}
    statuses = []
    for options in ({"keys": KEYS, **account}, {"keys": KEYS}, {"keys": {"acme": KEYS["acme"]}, **account}):
        app = app_with(**options)

        @app.api_route("/{rest:path}", methods=["GET", "POST", "DELETE"])
        async def anything() -> str:
            return "reached"

        with TestClient(app, base_url=LOCAL) as client:
            statuses.append(client.request(method, path, json=body, headers={"x-api-key": ACME}).status_code)
    assert statuses == [200 if allowed else 403, 200, 200]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"])
def test_loopback_needs_no_keys(host: str) -> None:
    check_exposure(ProxySettings(upstream=UPSTREAM, host=host), allow_anonymous=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "guard.example", "localhost.example"])
def test_other_machines_need_keys(host: str) -> None:
    open_to_all = ProxySettings(upstream=UPSTREAM, host=host)
    with raises(ConfigError, "keys", "--allow-anonymous"):
        check_exposure(open_to_all, allow_anonymous=False)
    check_exposure(open_to_all, allow_anonymous=True)
    check_exposure(ProxySettings(upstream=UPSTREAM, host=host, keys=KEYS), allow_anonymous=False)


def test_tenants_share_documents_only_when_they_may(knowledge: MemoryKnowledge) -> None:
    guard = Guard(ScriptedJudge({}), knowledge=knowledge, documents=MemoryDocuments(WordEmbedder()))
    with raises(ConfigError, "acme", "zoo"):
        check_documents(guard, ProxySettings(upstream=UPSTREAM, keys=KEYS))
    check_documents(guard, ProxySettings(upstream=UPSTREAM, keys=KEYS, shared_documents=True))
    check_documents(guard, ProxySettings(upstream=UPSTREAM, keys={"acme": KEYS["acme"]}))
    check_documents(Guard(ScriptedJudge({}), knowledge=knowledge), ProxySettings(upstream=UPSTREAM, keys=KEYS))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({}, "proxy.upstream is missing; give --upstream URL"),
        ({"upstream": "example.com"}, "must look like https://api.example.com/v1"),
        ({"upstream": "https://me:s3cret@example.com"}, "holds a user name or password"),
        ({"upstream": UPSTREAM, "port": "http"}, "proxy.port is 'http': "),
        ({"upstream": UPSTREAM, "port": 99999}, "proxy.port is 99999: "),
        ({"upstream": UPSTREAM, "gate": "sentense"}, "proxy.gate is 'sentense': "),
        ({"upstream": UPSTREAM, "pass_paths": "GET models"}, "proxy.pass_paths: give a list, for example ["),
        ({"upstream": UPSTREAM, "keys": "keys.toml"}, "below the line [proxy.keys]"),
        ({"upstream": UPSTREAM, "keys": {"acme": ACME}}, "proxy.keys.acme: give a list, for example ["),
        ({"upstream": UPSTREAM, "prot": 1}, "there is no setting 'proxy.prot'"),
        ({"upstream": UPSTREAM, "keys": {"acme": [ACME]}}, "a key of tenant 'acme' is not a hash"),
        ({"upstream": UPSTREAM, "keys": {"acme": []}}, "tenant 'acme' has no key"),
        ({"upstream": UPSTREAM, "keys": {"a/b": KEYS["zoo"]}}, "'a/b' cannot be a tenant's name"),
        ({"upstream": UPSTREAM, "keys": {"default": KEYS["zoo"]}}, "'default' cannot be a tenant's name"),
        ({"upstream": UPSTREAM, "keys": {"a": KEYS["zoo"], "b": KEYS["zoo"]}}, "'a' and 'b' have the same key"),
        ({"upstream": UPSTREAM, "context_patterns": ["<a>.*</a>"]}, "has 0 groups"),
        ({"upstream": UPSTREAM, "conversation_header": "a b"}, "not the name of a header"),
        ({"upstream": UPSTREAM, "trusted_proxies": ["10.0.0.0/40"]}, "not an address or a network"),
    ],
)
def test_wrong_settings_are_named_and_keys_in_them_are_not_shown(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ProxySettings.load(**wrong)
    assert message in str(raised.value)
    assert not [
        secret for secret in (ACME, "s3cret") if secret in repr(raised.value) + repr(raised.value.__cause__)[:9]
    ]


def test_every_setting_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "deployment.md").read_text(encoding="utf-8")
    assert [name for name in ProxySettings.model_fields if f"`{name}`" not in page] == []


def test_settings_come_from_arguments_then_environment_then_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "vista-guard.toml"
    file.write_text(
        'policy = "strict"\n[proxy]\nupstream = "http://file/v1/"\nport = 1\ngate = "turn"\n'
        f'[proxy.keys]\nacme = ["{KEYS["zoo"][0]}"]\n'
    )
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(file))
    monkeypatch.setenv("VISTA_GUARD_PROXY__PORT", "2")
    monkeypatch.setenv("VISTA_GUARD_PROXY__GATE", "none")
    loaded = ProxySettings.load(port=3)
    assert (loaded.upstream, loaded.port, loaded.gate, loaded.keys) == (
        "http://file/v1",
        3,
        "none",
        {"acme": KEYS["zoo"]},
    )
