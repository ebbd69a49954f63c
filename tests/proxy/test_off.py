"""The proxy switched off: everything passes unjudged and says so, and what is not about judging still holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.routing import Route

from tests.proxy import test_serve
from tests.proxy.serving import ASKED, LIE, TRUTH, chunks, document, proxy, said, serving
from vista_guard.proxy.security import key_hash, new_key
from vista_guard.testing import ScriptedChatServer

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
LITELLM = "/beta/litellm_basic_guardrail_api"


def asking(path: str, **more: Any) -> dict[str, Any]:
    """A question with all that is meant for the guard."""
    message = {**ASKED[0], "documents": [document()]}
    asked = {"input": [message]} if path == RESPONSES else {"messages": [message]}
    return {"model": "any", "documents": [document()], **asked, **more}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("path", [CHAT, RESPONSES])
def test_a_lie_passes_as_upstream_told_it_and_the_header_says_why(path: str, stream: bool) -> None:
    with ScriptedChatServer(f"{TRUTH} {LIE}") as upstream, proxy(upstream, off=True, policy="strict") as served:
        given = served.post(path, asking(path, stream=stream), **{"x-conversation-id": "c1"})
        assert (given.status_code, given.headers["x-vista-guard-action"]) == (200, "OFF")
        assert given.headers["x-vista-guard-unjudged"] == "everything"
        assert "x-vista-guard-score" not in given.headers
        assert LIE in given.text if not (stream and path == CHAT) else said(chunks(given)) == f"{TRUTH} {LIE}"
        assert '"vista_guard"' not in given.text
        upstream.assert_accepted()  # it refuses what the API doesn't know, such as documents
        (asked,) = upstream.requests
        assert "tide museum" not in str(asked.body)
        assert (served.judge.asked, served.sink.reports) == ([], [])
        assert served.post("/guard/check", {"messages": ASKED}).status_code == 400
        with httpx2.Client() as client:
            assert client.get(f"{served.url}/guard/conversations/c1").status_code == 404


def test_keys_limits_and_refused_paths_stay() -> None:
    key = new_key()
    with (
        ScriptedChatServer(LIE, key="sk-upstream") as upstream,
        proxy(
            upstream, off=True, keys={"acme": (key_hash(key),)}, upstream_key="sk-upstream", max_body_bytes=2000
        ) as it,
    ):
        assert it.post(CHAT, asking(CHAT)).status_code == 401
        assert it.post(CHAT, asking(CHAT, user="x" * 2000), **{"x-api-key": key}).status_code == 413
        assert it.post("/v1/completions", {"prompt": "Once"}, **{"x-api-key": key}).status_code == 404
        assert it.post(CHAT, {"model": "any"}, **{"x-api-key": key}).status_code == 400
        assert upstream.calls == 0
        fine = it.post(CHAT, asking(CHAT), **{"x-api-key": key})
        assert (fine.status_code, fine.json()["choices"][0]["message"]["content"]) == (200, LIE)
        assert key not in str([request.headers for request in upstream.requests])


def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(_: Request) -> RedirectResponse:
        return RedirectResponse("http://127.0.0.1:9/v1/chat/completions", 307)

    app = Starlette(routes=[Route(CHAT, elsewhere, methods=["POST"])])
    with serving(app) as url, proxy(f"{url}/v1", off=True) as served:
        given = served.post(CHAT, asking(CHAT))
    assert (given.status_code, given.json()["error"]["code"]) == (502, "upstream_redirect")


def test_litellm_is_told_to_let_everything_pass() -> None:
    body = {"input_type": "response", "texts": [LIE], "structured_messages": ASKED}
    with ScriptedChatServer(LIE) as upstream, proxy(upstream, off=True) as served:
        assert served.post(LITELLM, body).json() == {"action": "NONE"}
        assert served.judge.asked == []
    with ScriptedChatServer(LIE) as upstream, proxy(upstream) as served:
        assert served.post(LITELLM, body).json()["action"] == "BLOCKED"


def test_the_server_says_loudly_that_it_judges_nothing(tmp_path: Path) -> None:
    with ScriptedChatServer(LIE) as upstream:
        command, off = ("--upstream", upstream.base_url), {"VISTA_GUARD_PROXY__OFF": "true"}
        for runs, (arguments, environment) in enumerate([((*command, "--off"), {}), (command, off)], 1):
            with test_serve.serving(tmp_path, *arguments, **environment) as server:
                assert server.about == "OFF: NOTHING IS JUDGED; no keys: anyone who can connect may call"
                given = httpx2.post(f"{server.url}{CHAT}", json=asking(CHAT), timeout=30)
                assert (given.status_code, given.headers["x-vista-guard-action"]) == (200, "OFF")
                server.stop()
            warned = [
                line.partition(" ")[2] for line in server.log.read_text().splitlines() if "the proxy is off" in line
            ]
            assert warned == ["WARNING:  the proxy is off (proxy.off): nothing that upstream says is judged"] * runs
