"""The official OpenAI clients, guarded, and unguarded in front of the proxy."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import openai

from tests.integrations.matrix.talk import Driver, Heard, Mode, Say, Site, Talk
from tests.integrations.openai import ways as ways
from vista_guard.integrations.openai import guarded
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings

Way = Callable[..., Any]
"""Asks a client in one way; see `openai_ways`."""

WAYS: tuple[tuple[Mode, str, Way], ...] = (
    ("sync", "chat", ways.chat),
    ("sync", "responses", ways.responses),
    ("stream", "chat", ways.chat_stream),
    ("stream", "responses", ways.responses_stream),
    ("async", "chat", ways.achat),
    ("async", "responses", ways.aresponses),
    ("astream", "chat", ways.achat_stream),
    ("astream", "responses", ways.aresponses_stream),
)
ASYNC: tuple[Mode, ...] = ("async", "astream")


def _sync_client(url: str) -> openai.OpenAI:
    """On loopback; what certificates it trusts does not matter, and takes long to load."""
    http = openai.DefaultHttpxClient(verify=False)
    return openai.OpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)


def _async_client(url: str) -> openai.AsyncOpenAI:
    http = openai.DefaultAsyncHttpxClient(verify=False)
    return openai.AsyncOpenAI(base_url=url, api_key="k", max_retries=0, http_client=http)


def _asked(api: str, talk: Talk) -> list[dict[str, Any]]:
    """The request as chat messages, or as the items of the responses API."""
    if api == "chat":
        return talk.messages
    return [item for message in talk.messages for item in _items(message)]


def _items(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    calls = [
        {"type": "function_call", "call_id": call["id"], **call["function"]} for call in message.get("tool_calls", ())
    ]
    return calls or [message]


@asynccontextmanager
async def _client(api: str, way: Way, site: Site) -> AsyncIterator[Say]:
    with _sync_client(site.upstream.server.base_url) as own:
        client = guarded(own, site.guard, **site.options)

        def say(talk: Talk, heard: Heard) -> None:
            way(client, heard, _asked(api, talk), metadata={"conversation_id": talk.id})

        yield say


@asynccontextmanager
async def _aclient(api: str, way: Way, site: Site) -> AsyncIterator[Say]:
    async with _async_client(site.upstream.server.base_url) as own:
        client = guarded(own, site.guard, **site.options)

        async def say(talk: Talk, heard: Heard) -> None:
            await way(client, heard, _asked(api, talk), metadata={"conversation_id": talk.id})

        yield say


def _body(talk: Talk) -> dict[str, Any]:
    """What a caller of the proxy sends beside the messages."""
    return {"metadata": {"conversation_id": talk.id}, "extra_body": {"documents": list(talk.documents)}}


@asynccontextmanager
async def _proxy(api: str, way: Way, site: Site) -> AsyncIterator[Say]:
    app = build_app(site.guard, ProxySettings(upstream=site.upstream.server.base_url))
    with site.proxy.mounted(app) as url, _sync_client(f"{url}/v1") as client:

        def say(talk: Talk, heard: Heard) -> None:
            way(client, heard, _asked(api, talk), **_body(talk))

        yield say


@asynccontextmanager
async def _aproxy(api: str, way: Way, site: Site) -> AsyncIterator[Say]:
    app = build_app(site.guard, ProxySettings(upstream=site.upstream.server.base_url))
    with site.proxy.mounted(app) as url:
        async with _async_client(f"{url}/v1") as client:

            async def say(talk: Talk, heard: Heard) -> None:
                await way(client, heard, _asked(api, talk), **_body(talk))

            yield say


def _driver(surface: str, mode: Mode, api: str, way: Way, sync: Any, asynchronous: Any, **more: Any) -> Driver:
    opening = partial(asynchronous if mode in ASYNC else sync, api, way)
    return Driver(surface, mode, api, opening, "sentence" if mode.endswith("stream") else "turn", **more)


DRIVERS = (
    *(_driver("OpenAI client", mode, api, way, _client, _aclient) for mode, api, way in WAYS),
    *(_driver("proxy", mode, api, way, _proxy, _aproxy, owner="default/") for mode, api, way in WAYS),
)
