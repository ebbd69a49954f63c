"""Runs a process's first turn through one way in, and prints what its event loop's thread loaded meanwhile, as JSON.

Run as `python -m tests.first_turns NAME`: whatever else ran in this process may have loaded what the first turn would.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from vista_guard import Guard, to_conversation, to_document
from vista_guard.inference import onnx
from vista_guard.inference.weights import WEIGHTS, weights_file
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryDocuments

NOTES = "The whale hall opened in 1925. Entry is free on Sundays."
TEXT = "The whale hall opened in 1850. I love it, and entry costs 12 dollars on weekdays."
"""Its claims need every model: verifier, embedder, head and the identifier of languages."""
ASKED = [{"role": "user", "content": "When did the whale hall open?"}]
TALK = to_conversation([*ASKED, {"role": "assistant", "content": TEXT}], documents=[NOTES])

Turn = Callable[[], Awaitable[object]]


class Watch:
    """Notes what a thread imports and opens, and where models are loaded."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.here = list[str]()
        self.models = list[tuple[str, bool]]()
        """Names of what was loaded, and whether the watched thread loaded it."""
        load, read = onnx.Encoder.load, onnx._read_tokenizer

        def load_encoder(name: str, **options: Any) -> onnx.Encoder:
            self.models.append((name, threading.get_ident() == self.thread))
            return load(name, **options)

        def read_tokenizer(*folder: Any) -> Any:
            self.models.append(("tokenizer", threading.get_ident() == self.thread))
            return read(*folder)

        onnx.Encoder.load = load_encoder  # type: ignore[method-assign]
        onnx._read_tokenizer = read_tokenizer  # type: ignore[assignment]
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if event in ("import", "open") and threading.get_ident() == self.thread:
            self.here.append(str(given[0]))


def guard(**parts: Any) -> Guard:
    return Guard.from_settings(store="memory", **parts)


async def two_at_once() -> Turn:
    judging = guard()
    return lambda: asyncio.gather(judging.acheck(TALK), judging.acheck(TALK))


async def documents() -> Turn:
    """The first text that is embedded is that of a stored document."""
    store = MemoryDocuments(OnnxEmbedder())
    judging = guard(documents=store)

    async def turn() -> None:
        await store.add([to_document(NOTES)])
        await judging.acheck_answer(TEXT)

    return turn


async def events() -> Turn:
    judging = guard()

    async def turn() -> None:
        assert [event async for event in judging.stream(TALK)]

    return turn


async def stream() -> Turn:
    judging = guard()

    async def words() -> AsyncIterator[str]:
        for word in TEXT.split():
            yield f"{word} "

    async def turn() -> None:
        assert [item async for item in judging.gated(TALK.up_to(0), words(), documents=[NOTES])]

    return turn


async def session() -> Turn:
    talk = guard().session("visitor")
    return lambda: talk.aassistant(TEXT, [NOTES])


async def middleware() -> Turn:
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage

    from vista_guard.integrations.langchain import VistaGuardMiddleware

    model = GenericFakeChatModel(messages=iter([AIMessage(TEXT)]))
    agent: Any = create_agent(model, middleware=[VistaGuardMiddleware(guard(), documents=[NOTES])])
    return lambda: agent.ainvoke({"messages": ASKED})


async def without_embedder() -> Turn:
    """Two turns at once, whose model is missing."""
    loading: Any = onnx

    def lost(name: str, folder: Any = WEIGHTS) -> Any:
        return weights_file(name, folder / "gone" if name == "embedder.onnx" else folder)

    loading.weights_file = lost
    judging = guard()
    return lambda: asyncio.gather(judging.acheck(TALK), judging.acheck(TALK))


def proxy(watch: Watch) -> None:
    """Modules that the proxy's loop loads for its first request, after its start."""
    import httpx2

    from tests.proxy.serving import serving
    from vista_guard.proxy.app import build_app
    from vista_guard.proxy.settings import ProxySettings
    from vista_guard.testing import ScriptedChatServer

    with ScriptedChatServer(TEXT) as upstream:
        app = build_app(guard(), ProxySettings(upstream=upstream.base_url))

        @app.middleware("http")
        async def find_thread(request: Any, call: Any) -> Any:
            watch.thread = threading.get_ident()
            return await call(request)

        with serving(app) as url, httpx2.Client(timeout=60) as client:
            watch.models.clear()
            asked = {"model": "m", "messages": ASKED, "documents": [NOTES]}
            client.post(f"{url}/v1/chat/completions", json=asked).raise_for_status()


async def run(name: str, watch: Watch) -> object:
    turn = await globals()[name]()
    watch.thread = threading.get_ident()
    try:
        return await turn()
    finally:
        watch.thread = None


if __name__ == "__main__":
    watched = Watch()
    answer: object = None
    if sys.argv[1] == "proxy":
        proxy(watched)
    else:
        answer = asyncio.run(run(sys.argv[1], watched))
    errors = (
        [getattr(outcome, "error", None) for report in answer for outcome in report.outcomes]
        if isinstance(answer, list)
        else []
    )
    print(json.dumps({"here": watched.here, "models": watched.models, "errors": errors}))
