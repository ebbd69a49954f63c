"""An endpoint on loopback, and a key in the environment, for every test here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.judges.model.endpoint import KEY, REQUEST, Endpoint, serving
from vista_guard.errors import JudgeError
from vista_guard.judges.model.chat.calling import ChatRequest
from vista_guard.judges.model.chat.openai import OpenAIChat
from vista_guard.settings.model import ModelOptions


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def _own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    # A developer's own key and endpoint must neither be used nor be shown.
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


Make = Callable[..., OpenAIChat]


@pytest.fixture
async def make(endpoint: Endpoint) -> AsyncIterator[Make]:
    made: list[OpenAIChat] = []

    def chat(client: AsyncOpenAI | None = None, url: str | None = None, model: str = "m", **options: Any) -> OpenAIChat:
        where = url or (None if client else endpoint.url)
        made.append(OpenAIChat(model, base_url=where, client=client, options=ModelOptions.model_validate(options)))
        return made[-1]

    yield chat
    for one in made:
        await one.aclose()


async def failure(chat: OpenAIChat, request: ChatRequest = REQUEST) -> JudgeError:
    """The error of a call that must fail, without the key in any part of it."""
    with pytest.raises(JudgeError) as caught:
        await chat.complete(request)
    assert KEY not in f"{caught.value!r} {caught.value.__cause__!r}"
    return caught.value
