"""Every route of the OpenAI client is judged, known to hold no model's text, or refused before anything is sent."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any

import openai
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from tests.attacks.answers import LIE, SECRET
from tests.attacks.test_paths import Door
from tests.conftest import guard_with
from tests.integrations.openai.sdk import resources, sdk_routes
from tests.integrations.openai.ways import Script, async_client, closed_clients, sync_client
from tests.proxy.serving import serving
from tests.raising import raises
from vista_guard import Blocked, ConfigError, Guard, Label
from vista_guard.integrations.openai import guarded
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

__all__ = ["closed_clients"]  # a fixture

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the package's own, of APIs that go away

JUDGED = {("POST", "/chat/completions"), ("POST", "/responses")}
_NO_TEXT = """
DELETE /chat/completions/x
DELETE /conversations/x
DELETE /files/x
DELETE /models/x
DELETE /responses/x
DELETE /vector_stores/x
DELETE /vector_stores/x/files/x
GET /files
GET /files/x
GET /models
GET /models/x
GET /vector_stores
GET /vector_stores/x
GET /vector_stores/x/file_batches/x
GET /vector_stores/x/file_batches/x/files
GET /vector_stores/x/files
GET /vector_stores/x/files/x
POST /audio/speech
POST /embeddings
POST /files
POST /moderations
POST /responses/input_tokens
POST /uploads
POST /uploads/x/cancel
POST /uploads/x/complete
POST /uploads/x/parts
POST /vector_stores
POST /vector_stores/x
POST /vector_stores/x/file_batches
POST /vector_stores/x/file_batches/x/cancel
POST /vector_stores/x/files
POST /vector_stores/x/files/x
"""
NO_TEXT = {tuple(line.split()) for line in _NO_TEXT.strip().splitlines()}
ROUTES = sdk_routes()
BODY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "When?"}], "input": "When?"}


def strict() -> Guard:
    judge = ScriptedJudge(Script(Verdict(SECRET, Label.CONTRADICTED, 0.99)))
    return guard_with(judge, MemoryKnowledge(WordEmbedder()), "strict")


@pytest.fixture(scope="module")
def door() -> Iterator[Door]:
    """An upstream that answers everything with a lie, in the form of every API at once."""
    door = Door()
    methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
    with serving(Starlette(routes=[Route("/{path:path}", door.answer, methods=methods)])) as url:
        door.url = url
        yield door


def sends(client: Any, method: str, path: str) -> Any:
    """Asks by hand; the body is that of every API at once."""
    body = {} if method == "GET" else {"body": BODY}
    return getattr(client, method.lower())(path, cast_to=object, **body)


async def outcome(door: Door, call: Callable[[], Any]) -> tuple[str, int]:
    """`judged`, `refused` or `passed`, and how many requests went out."""
    door.reached.clear()
    try:
        answer = call()
        answer = await answer if inspect.isawaitable(answer) else answer
        assert SECRET in str(answer)
    except Blocked:
        return "judged", len(door.reached)
    except ConfigError:
        return "refused", len(door.reached)
    return "passed", len(door.reached)


def expected(route: tuple[str, str]) -> tuple[str, int]:
    return ("judged", 1) if route in JUDGED else ("passed", 1) if route in NO_TEXT else ("refused", 0)


def test_the_package_has_many_routes() -> None:
    assert len(ROUTES) > 100
    assert JUDGED.issubset(ROUTES)


async def test_every_route_of_the_package(door: Door) -> None:
    client = guarded(sync_client(f"{door.url}/v1"), strict())
    found = {route: await outcome(door, lambda route=route: sends(client, *route)) for route in ROUTES}  # type: ignore[misc]
    assert found == {route: expected(route) for route in ROUTES}


async def test_every_route_of_the_package_asynchronously(door: Door) -> None:
    async with guarded(async_client(f"{door.url}/v1"), strict()) as client:
        found = {route: await outcome(door, lambda route=route: sends(client, *route)) for route in ROUTES}  # type: ignore[misc]
    assert found == {route: expected(route) for route in ROUTES}


FILE = ("a.wav", b"RIFF")
METHODS: dict[str, Callable[[Any], Any]] = {
    "POST completions": lambda c: c.completions.create(model="m", prompt="When?"),
    "POST completions ": lambda c: c.completions.create(model="m", prompt="When?", stream=True),
    "POST assistants": lambda c: c.beta.assistants.create(model="m"),
    "GET assistants/x": lambda c: c.beta.assistants.retrieve("x"),
    "POST threads": lambda c: c.beta.threads.create(),
    "POST threads/runs": lambda c: c.beta.threads.create_and_run(assistant_id="a"),
    "POST threads/x/runs": lambda c: c.beta.threads.runs.create("x", assistant_id="a"),
    "GET threads/x/runs/r": lambda c: c.beta.threads.runs.retrieve("r", thread_id="x"),
    "GET threads/x/messages": lambda c: c.beta.threads.messages.list("x"),
    "GET threads/x/messages/m": lambda c: c.beta.threads.messages.retrieve("m", thread_id="x"),
    "GET threads/x/runs/r/steps": lambda c: c.beta.threads.runs.steps.list("r", thread_id="x"),
    "POST threads/x/runs/r/submit_tool_outputs": lambda c: c.beta.threads.runs.submit_tool_outputs(
        "r", thread_id="x", tool_outputs=[]
    ),
    "POST audio/transcriptions": lambda c: c.audio.transcriptions.create(model="m", file=FILE),
    "POST audio/transcriptions ": lambda c: c.audio.transcriptions.create(model="m", file=FILE, stream=True),
    "POST audio/translations": lambda c: c.audio.translations.create(model="m", file=FILE),
    "POST batches": lambda c: c.batches.create(
        completion_window="24h", endpoint="/v1/chat/completions", input_file_id="f"
    ),
    "GET batches/x": lambda c: c.batches.retrieve("x"),
    "GET batches": lambda c: c.batches.list(),
    "GET files/x/content": lambda c: c.files.content("x"),
    "GET containers/c/files/f/content": lambda c: c.containers.files.content.retrieve("f", container_id="c"),
    "GET vector_stores/v/files/f/content": lambda c: c.vector_stores.files.content("f", vector_store_id="v"),
    "POST vector_stores/v/search": lambda c: c.vector_stores.search("v", query="q"),
    "GET evals/e/runs/r/output_items": lambda c: c.evals.runs.output_items.list("r", eval_id="e"),
    "POST evals/e/runs": lambda c: c.evals.runs.create("e", data_source={}),
    "GET fine_tuning/jobs/x/events": lambda c: c.fine_tuning.jobs.list_events("x"),
    "POST fine_tuning/alpha/graders/run": lambda c: c.fine_tuning.alpha.graders.run(grader={}, model_sample="s"),
    "POST images/generations": lambda c: c.images.generate(prompt="p"),
    "POST images/edits": lambda c: c.images.edit(image=FILE, prompt="p"),
    "POST images/variations": lambda c: c.images.create_variation(image=FILE),
    "POST conversations": lambda c: c.conversations.create(),
    "POST conversations/x/items": lambda c: c.conversations.items.create("x", items=[]),
    "GET conversations/x/items": lambda c: c.conversations.items.list("x"),
    "GET conversations/x/items/i": lambda c: c.conversations.items.retrieve("i", conversation_id="x"),
    "GET responses/x": lambda c: c.responses.retrieve("x"),
    "GET responses/x ": lambda c: c.responses.retrieve("x", stream=True),
    "GET responses/x/input_items": lambda c: c.responses.input_items.list("x"),
    "POST responses/x/cancel": lambda c: c.responses.cancel("x"),
    "POST responses/compact": lambda c: c.responses.compact(model="m"),
    "GET chat/completions": lambda c: c.chat.completions.list(),
    "GET chat/completions/x": lambda c: c.chat.completions.retrieve("x"),
    "GET chat/completions/x/messages": lambda c: c.chat.completions.messages.list("x"),
    "POST chat/completions/x": lambda c: c.chat.completions.update("x", metadata={}),
    "POST realtime/client_secrets": lambda c: c.realtime.client_secrets.create(),
    "POST chatkit/sessions": lambda c: c.beta.chatkit.sessions.create(user="u", workflow={"id": "w"}),
    "POST videos": lambda c: c.videos.create(prompt="p"),
    "GET videos/x/content": lambda c: c.videos.download_content("x"),
    "POST chat/completions;x=1": lambda c: sends(c, "POST", "/chat/completions;x=1"),
    "GET models/../responses/x": lambda c: sends(c, "GET", "/models/%2e%2e/responses/x"),
    "POST new/route": lambda c: sends(c, "POST", "/new/route"),
    "GET new/route": lambda c: sends(c, "GET", "new/route"),
    "PATCH models/x": lambda c: sends(c, "PATCH", "/models/x"),
}
DRESSED: dict[str, Callable[[Any], Any]] = {
    "with_raw_response": lambda c: c.completions.with_raw_response.create(model="m", prompt="p"),
    "with_options": lambda c: c.with_options(timeout=3).completions.create(model="m", prompt="p"),
    "copy": lambda c: c.copy(max_retries=0).with_options(timeout=3).responses.retrieve("x"),
    "another base URL": lambda c: c.with_options(base_url=f"{c.base_url}models/").get(
        "/../completions", cast_to=object
    ),
    "polls": lambda c: c.beta.threads.create_and_run_poll(assistant_id="a"),
    "raw list": lambda c: c.batches.with_raw_response.list(),
    "beta chat": lambda c: c.beta.chat.completions.retrieve("x"),
}


@pytest.fixture(scope="module")
def both(door: Door) -> tuple[Any, Any]:
    """A sync and an async client, through which nothing is sent."""
    url = f"{door.url}/v1"
    return guarded(openai.OpenAI(base_url=url, api_key="k"), strict()), guarded(
        openai.AsyncOpenAI(base_url=url, api_key="k"), strict()
    )


@pytest.mark.parametrize("call", [*METHODS.values(), *DRESSED.values()], ids=[*METHODS, *DRESSED])
async def test_what_may_hold_a_models_text_is_refused(
    door: Door, both: tuple[Any, Any], call: Callable[[Any], Any]
) -> None:
    async def acall() -> Any:
        answer = call(both[1])
        return await answer if inspect.isawaitable(answer) else await anext(aiter(answer))

    assert await outcome(door, lambda: call(both[0])) == ("refused", 0)
    assert await outcome(door, acall) == ("refused", 0)


async def test_a_streaming_response_is_refused_too(door: Door) -> None:
    client, asking = guarded(sync_client(f"{door.url}/v1"), strict()), guarded(async_client(f"{door.url}/v1"), strict())
    door.reached.clear()
    with pytest.raises(ConfigError), client.images.with_streaming_response.generate(prompt="p"):
        pass
    with pytest.raises(ConfigError):
        async with asking.files.with_streaming_response.content("x"):
            pass
    assert door.reached == []


CHAT: dict[str, Any] = {"model": "m", "messages": BODY["messages"]}


@pytest.mark.parametrize(
    "call",
    [
        lambda c: c.chat.completions.create(**CHAT),
        lambda c: c.beta.chat.completions.create(**CHAT),
        lambda c: c.responses.create(model="m", input="When?"),
        lambda c: c.beta.responses.create(model="m", input="When?"),
        lambda c: c.with_options(timeout=9).chat.completions.with_raw_response.create(**CHAT),
        lambda c: sends(c, "POST", "/v1/responses?x=1"),
    ],
    ids=["chat", "beta chat", "responses", "beta responses", "raw", "by hand"],
)
async def test_judged_by_any_method(door: Door, call: Callable[[Any], Any]) -> None:
    client = guarded(sync_client(f"{door.url}/v1"), strict())
    assert await outcome(door, lambda: call(client)) == ("judged", 1)


def test_the_refusal_names_the_route_and_the_next_step(door: Door) -> None:
    client = guarded(sync_client(f"{door.url}/v1"), strict())
    with raises(ConfigError, "POST", "images/generations") as caught:
        client.images.generate(prompt="p")
    assert 'allow_unjudged=["POST images/generations"]' in str(caught.value)


async def test_an_opened_route_passes_and_the_log_says_so_once(door: Door, caplog: pytest.LogCaptureFixture) -> None:
    opened = ["POST images/generations", "threads/**"]
    client = guarded(sync_client(f"{door.url}/v1"), strict(), allow_unjudged=opened)
    with caplog.at_level(logging.WARNING, "vista_guard.openai"):
        for over in (client, client, client.with_options(timeout=9)):
            assert await outcome(door, lambda over=over: over.images.generate(prompt="p")) == ("passed", 1)  # type: ignore[misc]
            assert await outcome(door, lambda over=over: over.beta.assistants.retrieve("t")) == ("refused", 0)  # type: ignore[misc]
            assert await outcome(door, lambda over=over: sends(over, "GET", "/threads/t/runs/r")) == ("passed", 1)  # type: ignore[misc]
    assert [next(name for name in opened if name in record.getMessage()) for record in caplog.records] == opened
    assert await outcome(door, lambda: client.completions.create(model="m", prompt="p")) == ("refused", 0)


async def test_opening_never_opens_what_is_judged(door: Door) -> None:
    client = guarded(sync_client(f"{door.url}/v1"), strict(), allow_unjudged=["**"])
    assert await outcome(door, lambda: client.responses.create(model="m", input="When?")) == ("judged", 1)
    assert await outcome(door, lambda: client.responses.retrieve("x")) == ("passed", 1)
    assert await outcome(door, lambda: sends(client, "POST", "/chat/completions%3Bx")) == ("refused", 0)


@pytest.mark.parametrize("given", ["POST threads", [""], ["http://x/y"], ["/v1/threads"], ["a/**/b"]])
def test_what_is_no_route_is_refused(given: Any) -> None:
    with openai.OpenAI(api_key="k") as client, raises(ConfigError, "allow_unjudged"):
        guarded(client, strict(), allow_unjudged=given)


PREFIXES = ["", "/v1", "/v1/", "/gateway/team/openai", "/completions/v1", "/openai/deployments/d", "/a%20b/v1"]


@pytest.mark.parametrize("prefix", PREFIXES)
async def test_base_urls_with_prefixes(door: Door, prefix: str) -> None:
    client = guarded(sync_client(f"{door.url}{prefix}"), strict())
    assert await outcome(door, lambda: client.responses.create(model="m", input="When?")) == ("judged", 1)
    assert await outcome(door, lambda: sends(client, "GET", "/models")) == ("passed", 1)
    assert await outcome(door, lambda: sends(client, "POST", "/embeddings")) == ("passed", 1)
    assert await outcome(door, lambda: client.completions.create(model="m", prompt="p")) == ("refused", 0)


@pytest.mark.parametrize("deployment", [None, "d"])
async def test_azure(door: Door, deployment: str | None) -> None:
    http = openai.DefaultHttpxClient(verify=False)
    own = openai.AzureOpenAI(
        azure_endpoint=door.url, api_key="k", api_version="1", azure_deployment=deployment, http_client=http
    )
    with guarded(own, strict()) as client:
        assert await outcome(door, lambda: client.chat.completions.create(**{**CHAT, "model": "d"})) == ("judged", 1)
        assert door.reached == [("POST", "/openai/deployments/d/chat/completions")]
        assert await outcome(door, lambda: client.responses.create(model="m", input="When?")) == ("judged", 1)
        assert await outcome(door, lambda: sends(client, "GET", "/models")) == ("passed", 1)
        assert await outcome(door, lambda: client.post("/embeddings", cast_to=object, body={"model": "d"})) == (
            "passed",
            1,
        )
        assert await outcome(door, lambda: client.completions.create(model="d", prompt="p")) == ("refused", 0)
        assert await outcome(door, lambda: client.images.generate(prompt="p", model="d")) == ("refused", 0)


def _connects(client: Any) -> list[Any]:
    return [resource.connect for resource in resources(client) if hasattr(resource, "connect")]


def _open(connect: Any) -> Any:
    needed = [
        name for name, one in inspect.signature(connect).parameters.items() if one.default is inspect.Parameter.empty
    ]
    return connect(**dict.fromkeys(needed, "x"))


async def test_no_websocket_is_opened(door: Door) -> None:
    client = guarded(sync_client(f"{door.url}/v1"), strict()).with_options(timeout=9)
    asking = guarded(async_client(f"{door.url}/v1"), strict())
    door.reached.clear()
    assert len(_connects(client)) >= 3
    for connect in _connects(client):
        with raises(ConfigError, "WebSocket"), _open(connect):
            pass
    for connect in _connects(asking):
        with raises(ConfigError, "WebSocket"):
            await _open(connect).enter()
    assert door.reached == []


def test_a_websocket_of_azure_is_not_opened(door: Door) -> None:
    own = openai.AzureOpenAI(azure_endpoint=door.url, api_key="k", api_version="1")
    with guarded(own, strict()) as client, raises(ConfigError, "WebSocket"):
        client.realtime.connect(model="d").enter()


def test_a_guarded_client_is_not_guarded_again(both: tuple[Any, Any]) -> None:
    for client in (*both, both[0].copy()):
        with raises(ConfigError, "guarded"):
            guarded(client, strict())


def test_a_client_of_the_same_type_is_made_by_guarded_only() -> None:
    kinds: list[Any] = [type(guarded(openai.OpenAI(api_key="k"), strict()))]
    kinds += [type(guarded(openai.AsyncOpenAI(api_key="k"), strict()))]
    for kind in kinds:
        with raises(ConfigError, "guarded"):
            kind(api_key="k")


def test_the_users_own_client_keeps_its_sockets() -> None:
    with openai.OpenAI(api_key="k", websocket_base_url="wss://example.test/v1") as client:
        guarded(client, strict())
        assert str(client.websocket_base_url) == "wss://example.test/v1"


def test_the_lie_is_there_to_be_found() -> None:
    assert SECRET in LIE
