"""Any LangChain chat model as the model: fakes of LangChain itself, and a real integration against a local endpoint."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.fake_chat_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_openai import ChatOpenAI
from pydantic import Field

from tests.judges.model.endpoint import KEY, REQUEST, Answered, Endpoint, Received, completion, refused
from tests.raising import raises
from vista_guard import _aio
from vista_guard.errors import BudgetError, ConfigError, ContextTooLongError, JudgeError
from vista_guard.judges.contract import measure
from vista_guard.judges.model.chat.calling import Reply
from vista_guard.judges.model.chat.langchain import LangChainChat
from vista_guard.settings.model import ModelOptions
from vista_guard.types import Usage


def saying(message: AIMessage, **options: Any) -> LangChainChat:
    """A model that says this, without any endpoint."""
    return LangChainChat(FakeMessagesListChatModel(responses=[message]), options=ModelOptions.model_validate(options))


class Failing(BaseChatModel):
    """Raises these errors, one a call, then says `fine`."""

    errors: list[Exception] = Field(default_factory=list)
    seen: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "failing"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        self.seen.append(messages)
        if self.errors:
            raise self.errors.pop(0)
        return FakeListChatModel(responses=["fine"])._generate(messages)


class ServiceError(Exception):
    """An error as an integration's client raises it."""

    def __init__(self, status: int, message: str = "busy", **headers: str) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = {"message": message}
        self.response = type(
            "Response", (), {"headers": {name.replace("_", "-"): said for name, said in headers.items()}}
        )


async def test_a_call_sends_the_messages_and_reads_text_and_usage() -> None:
    model = Failing()
    assert await LangChainChat(model).complete(REQUEST) == Reply("fine")
    assert [(message.type, message.content) for message in model.seen[0]] == [
        ("system", "Answer in JSON."),
        ("human", "Is the sea salty?"),
    ]
    usage: Any = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15, "input_token_details": {"cache_read": 4}}
    with measure() as meter:
        await saying(AIMessage("fine", usage_metadata=usage)).complete(REQUEST)
    assert meter.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cached_tokens=4, unpriced_calls=1)


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        (AIMessage("fine"), Reply("fine", "stop")),
        (AIMessage("fine", response_metadata={"stop_reason": "end_turn"}), Reply("fine", "stop")),
        (AIMessage("half", response_metadata={"stop_reason": "max_tokens"}), Reply("half", "length")),
        (AIMessage("half", response_metadata={"finish_reason": "MAX_TOKENS"}), Reply("half", "length")),
        (AIMessage("", response_metadata={"finish_reason": "SAFETY"}), Reply("", "refusal")),
        (AIMessage("", additional_kwargs={"refusal": "I will not."}), Reply("I will not.", "refusal")),
        (AIMessage([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "fine"}]), Reply("fine", "stop")),
        (AIMessage("odd", response_metadata={"finish_reason": "recitation"}), Reply("odd", "other")),
    ],
)
async def test_how_an_answer_ended_is_told(message: AIMessage, reply: Reply) -> None:
    assert await saying(message).complete(REQUEST) == reply


async def test_faults_that_pass_are_tried_again() -> None:
    model = Failing(
        errors=[ServiceError(429, retry_after="0.01"), ServiceError(503, retry_after="0"), ConnectionResetError()]
    )
    with measure() as meter:
        assert await LangChainChat(model, options=ModelOptions(max_retries=3)).complete(REQUEST) == Reply("fine")
    assert (len(model.seen), meter.usage.calls) == (4, 1)


@pytest.mark.parametrize(
    ("error", "kind", "parts"),
    [
        (ServiceError(401, f"Wrong key {KEY}"), JudgeError, ["401: Wrong key ***", "a key that its endpoint takes"]),
        (ServiceError(404, "No such model"), JudgeError, ["404: No such model", "check the model's name"]),
        (ServiceError(400, "prompt is too long: 9001 tokens"), ContextTooLongError, ["fewer or shorter documents"]),
        (RuntimeError("odd"), JudgeError, ["returned an unreadable answer: RuntimeError: odd"]),
        (ConnectionRefusedError("no one there"), JudgeError, ["cannot be reached: no one there"]),
    ],
)
async def test_an_error_says_what_and_what_to_do(error: Exception, kind: type[JudgeError], parts: list[str]) -> None:
    model = Failing(errors=[error])
    with pytest.raises(JudgeError) as caught:
        await LangChainChat(model, options=ModelOptions(max_retries=0)).complete(REQUEST)
    assert isinstance(caught.value, kind)
    assert str(caught.value).startswith("langchain:failing:Failing ")
    assert [part for part in parts if part not in str(caught.value)] == []
    assert KEY not in str(caught.value)


async def test_a_budget_and_a_breaker_bound_any_model() -> None:
    with pytest.raises(ConfigError):
        saying(AIMessage("fine"), budget={"turn": {"cost": 1}})
    chat = saying(AIMessage("fine"), budget={"run": {"calls": 1}})
    await chat.complete(REQUEST)
    with pytest.raises(BudgetError):
        await chat.complete(REQUEST)
    assert chat.why_exhausted is not None

    model = Failing(errors=[ServiceError(500, "Out of memory")] * 9)
    chat = LangChainChat(model, options=ModelOptions.model_validate({"max_retries": 0, "breaker": {"failures": 1}}))
    for _ in range(2):
        with raises(JudgeError, "500"):
            await chat.complete(REQUEST)
    assert len(model.seen) == 1


@pytest.fixture
async def openai_model(endpoint: Endpoint) -> AsyncIterator[ChatOpenAI]:
    model = ChatOpenAI(model="m", base_url=endpoint.url, temperature=0, max_retries=0, timeout=30)
    yield model
    await _aio.through(model.root_async_client.close())
    model.root_client.close()


async def test_a_real_integration_is_held_to_the_schema(endpoint: Endpoint, openai_model: ChatOpenAI) -> None:
    endpoint.then(completion('{"label": "VERIFIED"}'))
    chat = LangChainChat(openai_model)
    with measure() as meter:
        assert await chat.complete(REQUEST) == Reply('{"label": "VERIFIED"}')
    assert endpoint.formats == ["json_schema"]
    assert meter.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cached_tokens=4, unpriced_calls=1)
    assert chat.name == f"langchain:openai:m@{endpoint.url}"
    assert chat.parameters == {"temperature": 0.0, "max_output_tokens": None, "structured_output": "auto"}


async def test_an_endpoint_without_structured_output_is_asked_for_text_from_then_on(
    endpoint: Endpoint, openai_model: ChatOpenAI
) -> None:
    def answer(received: Received) -> Answered:
        if "response_format" in received.body:
            return refused(400, "response_format is not supported here")
        return completion()

    endpoint.answer = answer
    chat = LangChainChat(openai_model)
    assert await asyncio.gather(*(chat.complete(REQUEST) for _ in range(4))) == [Reply("fine")] * 4
    assert endpoint.formats == ["json_schema", None, None, None, None]


@pytest.mark.parametrize(
    ("answered", "reply"),
    [
        (completion('{"label": "VER', "length"), Reply("", "length")),
        (completion("", "content_filter"), Reply("", "refusal")),
        (completion("no JSON at all"), Reply("no JSON at all")),
    ],
)
async def test_what_a_real_integration_cannot_parse_is_told(
    endpoint: Endpoint, openai_model: ChatOpenAI, answered: Answered, reply: Reply
) -> None:
    endpoint.then(answered)
    assert await LangChainChat(openai_model).complete(REQUEST) == reply


async def test_a_model_without_retries_of_its_own_is_retried(endpoint: Endpoint, openai_model: ChatOpenAI) -> None:
    endpoint.then(Answered({}, 429, {"retry-after": "0.01"}), completion())
    assert await LangChainChat(openai_model).complete(REQUEST) == Reply("fine")
    assert len(endpoint.received) == 2


async def test_the_key_of_a_model_is_in_no_error(endpoint: Endpoint, openai_model: ChatOpenAI) -> None:
    endpoint.then(refused(401, f"{KEY} is not known here"))
    with raises(JudgeError, "401"):
        await LangChainChat(openai_model).complete(REQUEST)


async def test_a_call_ends_at_its_deadline(endpoint: Endpoint, openai_model: ChatOpenAI) -> None:
    release = threading.Event()

    def answer(received: Received) -> Answered:
        release.wait()
        return completion()

    endpoint.answer = answer
    with raises(JudgeError, "0.2"):
        await LangChainChat(openai_model, options=ModelOptions(timeout_s=0.2)).complete(REQUEST)
    release.set()


async def test_a_model_is_made_of_its_name(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    chat = LangChainChat.from_name("openai:m", options=ModelOptions(max_output_tokens=9))
    assert chat.name == "langchain:openai:m"
    assert chat.parameters == {"temperature": 0.0, "max_output_tokens": 9, "structured_output": "auto"}


@pytest.mark.parametrize("name", ["nobody:m", "mistralai:m", "m"])
def test_a_model_that_cannot_be_made_is_told(name: str) -> None:
    with raises(ConfigError, "langchain", name):
        LangChainChat.from_name(name)


def test_a_key_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with raises(ConfigError, "OPENAI_API_KEY"):
        LangChainChat.from_name("openai:m")


class Listener(BaseCallbackHandler):
    """Keeps what an agent's callbacks hear of chat models."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.heard.append("start")


async def test_an_agents_callbacks_do_not_hear_the_judge() -> None:
    listener = Listener()
    chat = saying(AIMessage("fine"))

    async def node(_: str, config: RunnableConfig) -> str:
        return (await chat.complete(REQUEST)).text

    agent: RunnableLambda[Any, str] = RunnableLambda(node)
    assert await agent.ainvoke("go", {"callbacks": [listener]}) == "fine"
    assert listener.heard == []

    # The same listener does hear a model that the agent itself calls.
    def call(text: str) -> str:
        return FakeListChatModel(responses=["x"]).invoke(text).text

    own: RunnableLambda[Any, str] = RunnableLambda(call)
    await own.ainvoke("go", {"callbacks": [listener]})
    assert listener.heard == ["start"]
