"""Every guarded way to ask the OpenAI client, each as one function, and what was heard."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import openai
import pytest

from vista_guard import Guard, Label, TurnReport
from vista_guard.integrations.openai import guarded, report_of
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict

LIE = "The whale hall opened under Queen Zubrowka."
TRUTH = "The whale hall opened in 1925."
NOTES = "The whale hall of the tide museum opened in 1925."
ASKED = [{"role": "user", "content": "When did it open?", "documents": [NOTES]}]
UNGROUNDED = [{"role": "user", "content": "When did it open?"}]


class Script(Mapping[str, Sequence[Verdict] | Exception]):
    """Verdicts on the claims that are in a turn, however far it has been written."""

    def __init__(self, *verdicts: Verdict) -> None:
        self._verdicts = verdicts

    def __getitem__(self, text: str) -> list[Verdict]:
        return [verdict for verdict in self._verdicts if verdict.text in text]

    def __contains__(self, text: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter([verdict.text for verdict in self._verdicts])

    def __len__(self) -> int:
        return len(self._verdicts)


def museum_judge() -> ScriptedJudge:
    """Knows the whale hall."""
    return ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(LIE, Label.CONTRADICTED, 0.97)))


@dataclass
class Heard:
    """What reached the caller: every text of every object, the last state, and how it ended."""

    shown: str = ""
    finish: str | None = None
    result: Any = None
    error: Exception | None = None
    objects: list[str] = field(default_factory=list)
    told: list[TurnReport] = field(default_factory=list)

    @property
    def report(self) -> TurnReport:
        (report,) = self.told
        return report

    def take(self, item: Any, shown: str | None = None) -> None:
        self.objects.append(item.model_dump_json(warnings=False))
        self.shown += shown or ""

    def end(self, result: Any, finish: str | None) -> None:
        self.result, self.finish = result, finish
        if hasattr(result, "model_dump_json"):
            self.objects.append(result.model_dump_json(warnings=False))
        assert report_of(result) == (self.told[0] if self.told else None)


Ask = Callable[..., Awaitable[Heard]]


def _choice(heard: Heard, chunk: Any) -> str | None:
    if not chunk.choices:
        return None
    heard.finish = chunk.choices[0].finish_reason or heard.finish
    text: str | None = chunk.choices[0].delta.content
    return text


def _reason(response: Any) -> str:
    return response.incomplete_details.reason if response.status == "incomplete" else "stop"


def _input(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [{**message} for message in messages]


def chat(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    completion = client.chat.completions.create(model="m", messages=messages, **more)
    heard.take(completion, completion.choices[0].message.content)
    heard.end(completion, completion.choices[0].finish_reason)


def chat_parse(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    completion = client.chat.completions.parse(model="m", messages=messages, **more)
    heard.take(completion, completion.choices[0].message.content)
    heard.end(completion, completion.choices[0].finish_reason)


def chat_stream(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    with client.chat.completions.create(model="m", messages=messages, stream=True, **more) as stream:
        for chunk in stream:
            heard.take(chunk, _choice(heard, chunk))
    heard.end(stream, heard.finish)


def chat_helper(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    with client.chat.completions.stream(model="m", messages=messages, **more) as stream:
        for event in stream:
            heard.take(event, event.delta if event.type == "content.delta" else None)
        completion = stream.get_final_completion()
    heard.end(completion, completion.choices[0].finish_reason)


def responses(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    response = client.responses.create(model="m", input=_input(messages), **more)
    heard.take(response, response.output_text)
    heard.end(response, _reason(response))


def responses_stream(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    for event in client.responses.create(model="m", input=_input(messages), stream=True, **more):
        heard.take(event, event.delta if event.type == "response.output_text.delta" else None)
    heard.end(event.response, _reason(event.response))


def responses_helper(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    with client.responses.stream(model="m", input=_input(messages), **more) as stream:
        for event in stream:
            heard.take(event, event.delta if event.type == "response.output_text.delta" else None)
        response = stream.get_final_response()
    assert response.output_text == heard.shown
    heard.end(response, _reason(response))


async def achat(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    completion = await client.chat.completions.create(model="m", messages=messages, **more)
    heard.take(completion, completion.choices[0].message.content)
    heard.end(completion, completion.choices[0].finish_reason)


async def achat_stream(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    async with await client.chat.completions.create(model="m", messages=messages, stream=True, **more) as stream:
        async for chunk in stream:
            heard.take(chunk, _choice(heard, chunk))
    heard.end(stream, heard.finish)


async def achat_helper(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    async with client.chat.completions.stream(model="m", messages=messages, **more) as stream:
        async for event in stream:
            heard.take(event, event.delta if event.type == "content.delta" else None)
        completion = await stream.get_final_completion()
    heard.end(completion, completion.choices[0].finish_reason)


async def aresponses(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    response = await client.responses.create(model="m", input=_input(messages), **more)
    heard.take(response, response.output_text)
    heard.end(response, _reason(response))


async def aresponses_stream(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    async for event in await client.responses.create(model="m", input=_input(messages), stream=True, **more):
        heard.take(event, event.delta if event.type == "response.output_text.delta" else None)
    heard.end(event.response, _reason(event.response))


async def aresponses_helper(client: Any, heard: Heard, messages: Any, **more: Any) -> None:
    async with client.responses.stream(model="m", input=_input(messages), **more) as stream:
        async for event in stream:
            heard.take(event, event.delta if event.type == "response.output_text.delta" else None)
        response = await stream.get_final_response()
    assert response.output_text == heard.shown
    heard.end(response, _reason(response))


SYNC = (chat, chat_parse, chat_stream, chat_helper, responses, responses_stream, responses_helper)
ASYNC = (achat, achat_stream, achat_helper, aresponses, aresponses_stream, aresponses_helper)
STREAMS = tuple(way for way in (*SYNC, *ASYNC) if way.__name__.endswith(("stream", "helper")))


async def ask(
    way: Callable[..., Any], server: ScriptedChatServer, guard: Guard, messages: Any = ASKED, **options: Any
) -> Heard:
    """Asks once, in this way; options of `guarded`, and `more` for the request."""
    heard, more = Heard(), options.pop("more", {})
    options = {"on_report": heard.told.append, **options}
    try:
        if way in ASYNC:
            async with guarded(async_client(server.base_url), guard, **options) as client:
                await way(client, heard, messages, **more)
        else:
            with guarded(sync_client(server.base_url), guard, **options) as over:
                await asyncio.to_thread(way, over, heard, messages, **more)
    except Exception as exc:
        heard.error = exc
    return heard


def sync_client(url: str) -> openai.OpenAI:
    """On loopback; what certificates it trusts does not matter, and takes long to load."""
    client = openai.OpenAI(base_url=url, api_key="k", http_client=openai.DefaultHttpxClient(verify=False))
    _opened.append(client)
    return client


_opened: list[openai.OpenAI] = []


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    """Closes the sync clients of a test; to be imported by the tests that open some."""
    yield
    while _opened:
        _opened.pop().close()


def async_client(url: str) -> openai.AsyncOpenAI:
    """As `sync_client`."""
    return openai.AsyncOpenAI(base_url=url, api_key="k", http_client=openai.DefaultAsyncHttpxClient(verify=False))


EVERY_WAY = pytest.mark.parametrize("way", [*SYNC, *ASYNC], ids=lambda way: way.__name__)
EVERY_STREAM = pytest.mark.parametrize("way", STREAMS, ids=lambda way: way.__name__)
SOME_WAYS = pytest.mark.parametrize(
    "way", [chat, achat_stream, aresponses, responses_stream], ids=lambda way: way.__name__
)
