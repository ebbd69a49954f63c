"""Streams of the guarded OpenAI client: in time, in order, closed, cut off."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import openai
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from tests.conftest import guard_with
from tests.integrations.openai.ways import (
    ASKED,
    EVERY_STREAM,
    LIE,
    TRUTH,
    ask,
    async_client,
    closed_clients,
    museum_judge,
    sync_client,
)
from tests.pace import PATIENCE_S
from vista_guard import Blocked
from vista_guard.integrations.openai import guarded, report_of
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import Fault, ScriptedChatServer
from vista_guard.testing.server import Loopback

__all__ = ["closed_clients"]  # a fixture


class Upstream:
    """A server that sends these chunks, then waits until the caller has gone, if it is to `linger`."""

    def __init__(self, *deltas: dict[str, Any], linger: bool = False) -> None:
        self._deltas, self._linger = deltas, linger
        self.left = threading.Event()

    async def answer(self, request: Request) -> StreamingResponse:
        return StreamingResponse(self._body(), media_type="text/event-stream")

    async def _body(self) -> AsyncIterator[str]:
        try:
            for delta in self._deltas:
                choice = {"index": 0, "finish_reason": None, **delta}
                chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
                yield f"data: {json.dumps(chunk)}\n\n"
            while self._linger:
                await asyncio.sleep(0.01)
                yield ": still here\n\n"
            yield "data: [DONE]\n\n"
        finally:
            self.left.set()


@contextmanager
def serving(upstream: Upstream) -> Iterator[str]:
    loopback = Loopback(Starlette(routes=[Route("/v1/chat/completions", upstream.answer, methods=["POST"])]))
    try:
        yield f"http://127.0.0.1:{loopback.port}/v1"
    finally:
        loopback.stop()


def said(text: str, **choice: Any) -> dict[str, Any]:
    return {"delta": {"content": text}, **choice}


def stream_of(url: str, knowledge: MemoryKnowledge, **options: Any) -> Any:
    over: Any = guarded(sync_client(url), guard_with(museum_judge(), knowledge), **options)
    return over.chat.completions.create(model="m", messages=ASKED, stream=True)


@EVERY_STREAM
async def test_a_stream_that_breaks_off_raises_the_clients_error_after_what_was_released(
    way: Any, knowledge: MemoryKnowledge
) -> None:
    with ScriptedChatServer([Fault.cut(f"{TRUTH} {TRUTH} {LIE}", share=0.75)]) as server:
        heard = await ask(way, server, guard_with(museum_judge(), knowledge))
    assert isinstance(heard.error, openai.APIConnectionError)
    assert heard.shown.startswith(TRUTH)
    assert "Zubrowka" not in "".join(heard.objects)
    assert heard.told == []


class TestClosing:
    """Upstream is closed with the stream."""

    @pytest.mark.parametrize("read", [0, 1, 2])
    def test_a_sync_stream(self, read: int, knowledge: MemoryKnowledge) -> None:
        upstream = Upstream({"delta": {"role": "assistant"}}, said(f"{TRUTH} And"), linger=True)
        with serving(upstream) as url:
            stream = stream_of(url, knowledge)
            shown = [next(stream).choices[0].delta.content for _ in range(read)]
            stream.close()
            assert shown == [None, TRUTH][:read]  # the sentence is out, although upstream is not at its end
            assert upstream.left.wait(PATIENCE_S)
            with pytest.raises(StopIteration):
                next(stream)

    def test_a_sync_stream_that_is_dropped(self, knowledge: MemoryKnowledge) -> None:
        upstream = Upstream({"delta": {"role": "assistant"}}, linger=True)
        with serving(upstream) as url:
            assert next(stream_of(url, knowledge)).choices[0].delta.role == "assistant"
            gc.collect()
            assert upstream.left.wait(PATIENCE_S)

    @pytest.mark.parametrize("read", [0, 1, 2])
    async def test_an_async_stream(self, read: int, knowledge: MemoryKnowledge) -> None:
        upstream = Upstream({"delta": {"role": "assistant"}}, said(f"{TRUTH} And"), linger=True)
        with serving(upstream) as url:
            async with async_client(url) as client:
                over: Any = guarded(client, guard_with(museum_judge(), knowledge))
                stream = await over.chat.completions.create(model="m", messages=ASKED, stream=True)
                shown = [(await anext(stream)).choices[0].delta.content for _ in range(read)]
                await stream.close()
                assert shown == [None, TRUTH][:read]  # the sentence is out, although upstream is not at its end
                assert await asyncio.to_thread(upstream.left.wait, PATIENCE_S)
                with pytest.raises(StopAsyncIteration):
                    await anext(stream)

    async def test_a_task_that_is_cancelled(self, knowledge: MemoryKnowledge) -> None:
        upstream = Upstream({"delta": {"role": "assistant"}}, linger=True)
        with serving(upstream) as url:
            async with async_client(url) as client:
                over: Any = guarded(client, guard_with(museum_judge(), knowledge))

                async def read() -> None:
                    async for _ in await over.chat.completions.create(model="m", messages=ASKED, stream=True):
                        begun.set()

                begun = asyncio.Event()
                task = asyncio.create_task(read())
                await begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await asyncio.to_thread(upstream.left.wait, PATIENCE_S)

    @pytest.mark.parametrize("on_block", ["raise", "replace"])
    def test_a_block(self, on_block: str, knowledge: MemoryKnowledge) -> None:
        upstream = Upstream(said(f"{TRUTH} "), said(f"{LIE} And then"), linger=True)
        shown, finish = "", None
        with serving(upstream) as url:
            stream = stream_of(url, knowledge, on_block=on_block)
            with pytest.raises(Blocked) if on_block == "raise" else nullcontext():
                for chunk in stream:
                    shown += chunk.choices[0].delta.content or ""
                    finish = chunk.choices[0].finish_reason
            assert upstream.left.wait(PATIENCE_S)
        told = (TRUTH, None) if on_block == "raise" else (f"{TRUTH}\n\n{MESSAGE}", "content_filter")
        assert (shown, finish) == told


class TestChunksOfOtherServers:
    """What is no text keeps its place among the text; what repeats the text does not get past it."""

    def test_everything_in_one_chunk(self, knowledge: MemoryKnowledge) -> None:
        tokens: Any = [{"token": TRUTH, "bytes": None, "logprob": -0.1, "top_logprobs": []}]
        delta = {"role": "assistant", "content": TRUTH, "reasoning_content": "Let me see."}
        with serving(Upstream({"delta": delta, "logprobs": {"content": tokens}, "finish_reason": "stop"})) as url:
            role, text, end = stream_of(url, knowledge)
        assert role.choices[0].to_dict() == {
            "index": 0,
            "finish_reason": None,
            "logprobs": None,
            "delta": {"role": "assistant", "reasoning_content": "Let me see."},
        }
        assert (text.choices[0].delta.content, text.choices[0].logprobs.content[0].token) == (TRUTH, TRUTH)
        assert (end.choices[0].finish_reason, end.choices[0].logprobs, end.choices[0].delta.content) == (
            "stop",
            None,
            None,
        )

    def test_log_probabilities_of_withheld_text_are_withheld(self, knowledge: MemoryKnowledge) -> None:
        def scored(text: str) -> dict[str, Any]:
            return said(text, logprobs={"content": [{"token": text, "bytes": None, "logprob": -1, "top_logprobs": []}]})

        with serving(Upstream(scored(f"{TRUTH} "), scored(LIE), {"delta": {}, "finish_reason": "stop"})) as url:
            chunks = list(stream_of(url, knowledge, on_block="replace"))
        assert not any("Zubrowka" in chunk.model_dump_json() for chunk in chunks)
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == f"{TRUTH}\n\n{MESSAGE}"

    def test_tool_calls_after_text_stay_after_it(self, knowledge: MemoryKnowledge) -> None:
        call = {"index": 0, "id": "t1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
        parts = (said(TRUTH), {"delta": {"tool_calls": [call]}}, {"delta": {}, "finish_reason": "tool_calls"})
        with serving(Upstream({"delta": {"reasoning_content": "hm"}}, *parts)) as url:
            stream = stream_of(url, knowledge)
            kinds = [
                next((key for key, value in chunk.choices[0].delta.to_dict().items() if value), None)
                or chunk.choices[0].finish_reason
                for chunk in stream
            ]
        assert kinds == ["reasoning_content", "content", "tool_calls", "tool_calls"]
        report = report_of(stream)
        assert report is not None
        assert report.response == TRUTH

    def test_a_thousand_chunks_keep_their_order(self, knowledge: MemoryKnowledge) -> None:
        text = " ".join([TRUTH] * 20)
        with serving(Upstream(*(said(letter) for letter in text), {"delta": {}, "finish_reason": "stop"})) as url:
            shown = [chunk.choices[0].delta.content or "" for chunk in stream_of(url, knowledge)]
        assert "".join(shown) == text
