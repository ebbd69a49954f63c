"""The proxy as it runs: on a real server, in front of a scripted model, behind a scripted judge."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import uvicorn

from tests.pace import PATIENCE_S, Clock, until
from vista_guard import Guard, Label
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict, WordEmbedder
from vista_guard.testing.server import prompt_server
from vista_guard.types import Document, TurnReport

NOTES = "The whale hall of the tide museum opened in 1925."
TRUTH = "The whale hall opened in 1925."
LIE = "The whale hall opened under Queen Zubrowka."
ASIDE = "It has a glass roof."
ASKED = [{"role": "user", "content": "When did the whale hall open?"}]

FINE = [Verdict(TRUTH, needs="1925")]
FALSE = [Verdict(LIE, Label.CONTRADICTED, confidence=0.99)]
LOOSE = [Verdict(ASIDE, Label.LACKING_EVIDENCE)]


class Sentencewise(ScriptedJudge):
    """Knows sentences: a turn's claims are the scripted sentences that it holds, so a turn may come in parts or whole."""

    async def decompose(self, turn: Any, history: Any) -> Any:
        found = [verdict for text in self.script for verdict in self._scripted(text) if text in turn.text]
        self.asked.append(turn.text)
        found.sort(key=lambda verdict: turn.text.find(verdict.text))
        claims = [self._claim(turn, len(history), number, verdict) for number, verdict in enumerate(found, 1)]
        self._verdicts.update({(claim.id, claim.text): verdict for claim, verdict in zip(claims, found, strict=True)})
        return claims

    def _scripted(self, text: str) -> Sequence[Verdict]:
        verdicts = self.script[text]
        if isinstance(verdicts, Exception):
            raise verdicts
        return verdicts


class Kept:
    """A sink that keeps reports."""

    def __init__(self) -> None:
        self.reports: list[TurnReport] = []

    async def write(self, report: TurnReport) -> None:
        """Keeps it."""
        self.reports.append(report)


@dataclass
class Served:
    """A running proxy, and what stands around it."""

    url: str
    judge: ScriptedJudge
    knowledge: MemoryKnowledge
    sink: Kept
    guard: Guard
    clock: Clock

    @property
    def client(self) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{self.url}/v1", api_key="caller-key", max_retries=0)

    @property
    def aclient(self) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(base_url=f"{self.url}/v1", api_key="caller-key", max_retries=0)

    def post(self, path: str, body: Mapping[str, Any], **headers: str) -> httpx2.Response:
        with httpx2.Client(timeout=PATIENCE_S) as client:
            return client.post(f"{self.url}{path}", json=body, headers=headers)

    @contextmanager
    def calling(self, path: str, body: Mapping[str, Any]) -> Iterator[None]:
        """A caller who hangs up at the end of the block, without reading the answer."""
        url, content = httpx2.URL(self.url), json.dumps(body).encode()
        head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
        with socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S) as connection:
            connection.sendall(f"{head}\r\n\r\n".encode() + content)
            yield

    @property
    def report(self) -> TurnReport:
        return self.sink.reports[-1]


def known(*more: tuple[str, list[Verdict] | Exception]) -> dict[str, Any]:
    """A script for the judge."""
    return {TRUTH: FINE, LIE: FALSE, ASIDE: LOOSE, **dict(more)}


@contextmanager
def proxy(
    upstream: ScriptedChatServer | str,
    *,
    script: Mapping[str, Any] | None = None,
    policy: Any = "balanced",
    judge: ScriptedJudge | None = None,
    guarding: Mapping[str, Any] | None = None,
    sinks: Sequence[Any] = (),
    **settings: Any,
) -> Iterator[Served]:
    """The proxy in front of `upstream`, until the end of the block."""
    judge = judge or Sentencewise(script if script is not None else known())
    knowledge, sink = MemoryKnowledge(WordEmbedder()), Kept()
    guard = Guard(judge, policy, knowledge=knowledge, sinks=[sink, *sinks], **(guarding or {}))
    url = upstream if isinstance(upstream, str) else upstream.base_url
    app = build_app(guard, ProxySettings(upstream=url, **settings))
    loop = asyncio.new_event_loop()
    clock = Clock(loop)
    with serving(app, loop=loop) as served:
        yield Served(served, judge, knowledge, sink, guard, clock)


@contextmanager
def serving(
    app: Any,
    prepare: Callable[[socket.socket], object] = lambda _: None,
    loop: asyncio.AbstractEventLoop | None = None,
) -> Iterator[str]:
    """Runs an application on loopback; its URL. `prepare` is given the socket that listens."""
    listening = socket.create_server(("127.0.0.1", 0))
    prepare(listening)
    quiet: dict[str, Any] = {"access_log": False, "log_config": None, "log_level": "critical"}
    config = uvicorn.Config(app, ws="none", lifespan="on", timeout_graceful_shutdown=5, **quiet)
    stopping, loop = asyncio.Event(), loop or asyncio.new_event_loop()
    server = prompt_server(config, stopping)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(server.serve(sockets=[listening]))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    until(lambda: server.started or not thread.is_alive())
    assert server.started, "the proxy did not start"
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        with suppress(RuntimeError):  # the thread has ended, and its loop is closed
            loop.call_soon_threadsafe(stopping.set)
        thread.join(PATIENCE_S)
        listening.close()
        assert not thread.is_alive(), "the proxy did not stop"


def chunks(response: httpx2.Response) -> list[dict[str, Any]]:
    """The events of a stream of chat completions, without `[DONE]`."""
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def said(events: Sequence[Mapping[str, Any]]) -> str:
    """The text of a stream of chat completions."""
    deltas = [choice["delta"].get("content") for event in events for choice in event.get("choices", ())]
    return "".join(delta for delta in deltas if delta)


def document(text: str = NOTES) -> dict[str, Any]:
    """A document as a request brings it."""
    return Document(id="notes", text=text, title="Museum notes").model_dump()
