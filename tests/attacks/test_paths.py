"""Spellings of paths: none that gives out a model's words passes unjudged, and what is known to hold none does."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.attacks.answers import LIE, SECRET
from tests.integrations.openai.ways import Script
from tests.proxy.serving import serving
from vista_guard import ConfigError, Guard, Label
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

BODY = {"model": "m", "messages": [{"role": "user", "content": "When?"}], "input": "When?", "prompt": "When?"}


class _Plain(http.client.HTTPConnection):
    """Sends a path as it is: this caller is hostile."""

    def _validate_path(self, url: str) -> None:
        pass


class Door:
    """A proxy in front of an upstream that answers everything with the secret, in the form of every API at once."""

    def __init__(self) -> None:
        self.url = ""
        self.reached: list[tuple[str, str]] = []

    async def answer(self, request: Request) -> Response:
        """The secret, wherever one asks."""
        self.reached.append((request.method, request.url.path))
        message = {"role": "assistant", "content": LIE}
        item = {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": LIE}]}
        choices = [{"index": 0, "message": message, "text": LIE, "finish_reason": "stop"}]
        return JSONResponse({"id": "x", "choices": choices, "output": [item], "content": LIE})

    def ask(self, method: str, path: str, **headers: str) -> tuple[int, str]:
        """Status and body of the answer; the path goes out letter by letter."""
        connection = _Plain(urlsplit(self.url).netloc, timeout=30)
        try:
            body = json.dumps(BODY) if method not in ("GET", "HEAD", "OPTIONS", "TRACE") else None
            connection.request(method, path, body, {"content-type": "application/json", **headers})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()


def _doors(**settings: Any) -> Iterator[Door]:
    door = Door()
    judge = ScriptedJudge(Script(Verdict(SECRET, Label.CONTRADICTED, 0.99)))
    guard = Guard(judge, "strict", knowledge=MemoryKnowledge(WordEmbedder()))
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    app = Starlette(routes=[Route("/{path:path}", door.answer, methods=methods)])
    with (
        serving(app) as upstream,
        serving(build_app(guard, ProxySettings(upstream=f"{upstream}/v1", **settings))) as url,
    ):
        door.url = url
        yield door


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    yield from _doors()


@pytest.fixture(scope="module")
def opened() -> Iterator[Door]:
    yield from _doors(pass_paths=["POST images/generations", "threads/*/runs", "deep/**"])


REFUSED = """
POST /v1/messages
POST /v1/messages/batches
POST /v1/completions
POST /v1/engines/large/completions
POST /v1/openai/deployments/d/completions
POST /v1/completion
POST /completion
POST /infill
POST /generate
POST /v1/generate
POST /generate_stream
POST /api/generate
POST /api/chat
POST /v1/edits
POST /v1/threads
POST /v1/threads/t1/runs
POST /v1/threads/runs
GET /v1/threads/t1/messages
POST /v1/assistants
POST /v1/batches
GET /v1/batches/b1
GET /v1/files/f1/content
POST /v1/files/f1/content
GET /v1/vector_stores/v1/files/f1/content
POST /v1/vector_stores/v1/search
GET /v1/containers/c1/files/f1/content
POST /v1/images/generations
POST /v1/images/edits
POST /v1/audio/transcriptions
POST /v1/audio/translations
POST /v1/realtime/sessions
GET /v1/realtime
POST /v1/models/gemini:generateContent
POST /v1/models/m/invoke
POST /invocations
POST /v1/chat/completions/c1
GET /v1/chat/completions
GET /v1/chat/completions/c1
GET /v1/chat/completions/c1/messages
PUT /v1/chat/completions
PATCH /v1/chat/completions
DELETE /v1/chat/completions
GET /v1/responses
GET /v1/responses/r1
GET /v1/responses/r1/input_items
POST /v1/responses/r1
POST /v1/responses/r1/cancel
POST /v1/responses/compact
PUT /v1/responses
GET /v1/conversations/c1
GET /v1/conversations/c1/items
POST /v1/conversations
POST /v1/chat/completions%20
POST /v1/chat/completions%09
POST /v1/chat/completions%00
POST /v1/chat/completions%0a
POST /v1/chat/completions.
POST /v1/chat/completions;x=1
POST /v1/chat/completions%3Bx
POST /v1/chat/completions%3F
POST /v1/chat/completions%23
POST /v1/chat%252fcompletions
POST /v1/chat%255ccompletions
POST /v1/chat%5Ccompletions
POST /v1/%63hat%25%32%66completions
POST /v1/%2e%2e/chat/completions
POST /v1/./chat/completions
POST /v1/models/../chat/completions
POST /v1/models/..%2fchat/completions
POST /v1/models%2f..%2fchat%2fcompletions
POST /v1/embeddings/../completions
GET /v1/models/../responses/r1
GET /v1/models/%2e%2e/responses/r1
GET /v1/files/%2e%2e/responses/r1
POST /v1/%EF%BD%83hat/completions
POST /v1/chat/completion%C5%BF
POST /v1/chat%C0%AFcompletions
POST /v1/chat/completions%E2%80%8B
POST /v1/chat/completions%FF
POST /v1/chat/completions%22
POST /v1/chat/completions|x
POST /v1/embeddings/x
POST /v1/moderations/../completions
POST /v1/audio/speech/../transcriptions
POST /v1/models
PUT /v1/models/m
TRACE /v1/chat/completions
PROPFIND /v1/responses/r1
"""

JUDGED = """
POST /v1/chat/completions
POST /chat/completions
POST //v1//chat//completions//
POST /v1/v1/chat/completions
POST /v1/CHAT/Completions
POST /v1/ch%61t/completions
POST /v1/chat%2fcompletions
POST /v1/chat%2Fcompletions/
POST /%76%31/chat/completions
POST /v1/chat/completions?stream=true
POST /v1/chat/completions?path=/v1/completions
POST /v1/chat/completions?_method=GET&n=2
POST /v1/engines/large/chat/completions
POST /openai/deployments/d/chat/completions?api-version=1
POST /v1/responses
POST /v1/Responses/
POST /v1/%72esponses
POST /openai/v1/responses
POST /v1/threads/t1/responses
"""

PASSING = """
GET /v1/models
GET /v1/models/
GET /models
GET /v1/Models
GET /v1/models/llama3:8b
GET /v1/models/org%2Fname
POST /v1/embeddings
POST /openai/deployments/d/embeddings?api-version=1
POST /v1/moderations
POST /v1/audio/speech
POST /v1/responses/input_tokens
GET /v1/files
GET /v1/files/f1
POST /v1/files
DELETE /v1/files/f1
POST /v1/vector_stores
GET /v1/vector_stores/v/files/f
DELETE /v1/responses/r1
"""


def _lines(table: str) -> list[str]:
    return table.strip().splitlines()


def test_there_are_many() -> None:
    assert len(_lines(REFUSED)) + len(_lines(JUDGED)) >= 100


@pytest.mark.parametrize("line", _lines(REFUSED))
def test_what_is_not_known_is_refused(door: Door, line: str) -> None:
    method, path = line.split(" ", 1)
    door.reached.clear()
    status, body = door.ask(method, path)
    assert (status in (404, 405), SECRET in body, door.reached) == (True, False, [])


@pytest.mark.parametrize("line", _lines(JUDGED))
def test_what_means_a_judged_path_is_judged(door: Door, line: str) -> None:
    status, body = door.ask(*line.split(" ", 1))
    assert (status, SECRET in body, '"BLOCK"' in body) == (200, False, True)


@pytest.mark.parametrize("line", _lines(PASSING))
def test_what_holds_no_words_passes(door: Door, line: str) -> None:
    door.reached.clear()
    status, _ = door.ask(*line.split(" ", 1))
    assert (status, len(door.reached)) == (200, 1)


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses", "/v1/models", "/v1/files/f1"])
@pytest.mark.parametrize("method", ["OPTIONS", "HEAD"])
def test_methods_that_only_ask_bring_no_body(door: Door, method: str, path: str) -> None:
    assert SECRET not in door.ask(method, path)[1]


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-Method-Override", "X-Original-URL", "X-Rewrite-URL"])
def test_headers_that_mean_another_path_do_not_reach_upstream(name: str) -> None:
    seen: list[dict[str, str]] = []

    async def answer(request: Request) -> Response:
        seen.append(dict(request.headers))
        return JSONResponse({})

    judge = ScriptedJudge({})
    guard = Guard(judge, "strict", knowledge=MemoryKnowledge(WordEmbedder()))
    app = Starlette(routes=[Route("/{path:path}", answer)])
    with serving(app) as upstream, serving(build_app(guard, ProxySettings(upstream=upstream))) as url:
        door = Door()
        door.url = url
        assert door.ask("GET", "/v1/models", **{name: "/v1/completions", "x-kept": "1"})[0] == 200
    assert [(name.lower() in headers, headers["x-kept"]) for headers in seen] == [(False, "1")]


def test_the_refusal_says_what_to_set(door: Door) -> None:
    status, body = door.ask("POST", "/v1/messages")
    error = json.loads(body)["error"]
    assert (status, error["code"], error["type"]) == (404, "path_not_passed", "invalid_request_error")
    assert "pass_paths in [proxy]" in error["message"]


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("POST /v1/images/generations", 200),
        ("GET /v1/images/generations", 404),
        ("POST /v1/images/edits", 404),
        ("POST /v1/threads/t1/runs", 200),
        ("GET /v1/threads/t1/runs", 200),
        ("POST /v1/threads/t1/x/runs", 404),
        ("POST /v1/threads/runs", 404),
        ("GET /v1/deep/a/b/c", 200),
        ("GET /v1/deep", 404),
        ("POST /v1/deep/../completions", 404),
    ],
)
def test_the_operator_opens_paths_one_by_one(opened: Door, line: str, status: int) -> None:
    assert opened.ask(*line.split(" ", 1))[0] == status


def test_a_judged_path_is_judged_whatever_is_opened(opened: Door) -> None:
    assert SECRET not in opened.ask("POST", "/v1/deep/chat/completions")[1]


@pytest.mark.parametrize("pattern", ["", "post x", "/v1/x", "a b c", "a/**/b", "x/", "..", "x?y", "http://x/y"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(ConfigError):
        ProxySettings.load(upstream="http://127.0.0.1:9/v1", pass_paths=[pattern])
