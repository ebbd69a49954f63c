"""The `ChatModel` protocol, and one call to any of them: with a free slot, rate, budget, circuit breaker and usage."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from vista_guard.errors import ConfigError
from vista_guard.judges.contract import meter
from vista_guard.judges.model.chat.limits import Budget, Gate, OnLoop, PriceTable
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.settings.model import ModelOptions
from vista_guard.telemetry.spans import ModelCall
from vista_guard.types import Usage

Finish = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True)
class Message:
    """One message of a prompt. What comes first is what stays the same longest: a provider's prefix cache works by that."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One call. `stage` is what is asked for: `turn` is one verdict on a whole turn, by an LLM-as-Judge, `generate` a text.

    `schema` is the JSON schema that the answer should have, in the subset that strict structured output takes.
    """

    messages: tuple[Message, ...]
    stage: Stage | Literal["turn", "generate"]
    schema: Mapping[str, Any] | None = None
    alternatives: int = 0
    """How many likely tokens are wanted at each place of the answer, with their probabilities. Not every endpoint gives them."""
    sampling: Mapping[str, float] = field(default_factory=dict)
    """`temperature` and `top_p` of this call, in place of the model's own; such a call is sent without a seed, so that asking
    again can give another answer."""


@dataclass(frozen=True)
class Reply:
    """The model's words. `length`: cut off at the token limit. `refusal`: the model or its filter declined."""

    text: str
    finish: Finish = "stop"
    first: Mapping[str, float] = field(default_factory=dict)
    """What the first token that is no blank might have been, with natural logarithms of the probabilities, where they were asked
    for and given."""
    reasoning: str = ""
    """What a reasoning model thought, where its endpoint gives that apart from the answer."""


class ChatModel(Protocol):
    """A model behind an endpoint. What a call used is told to `metering.meter()`."""

    @property
    def name(self) -> str:
        """As in a settings string, without anything secret: `openai:gpt-4o-mini`."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Further request parameters such as temperature; JSON types only."""
        ...

    @property
    def why_exhausted(self) -> str | None:
        """Why no further call will be made in this run: its budget is spent. None while calls are made."""
        ...

    async def complete(self, request: ChatRequest) -> Reply:
        """The model's answer.

        Raises:
            JudgeError: no answer; the message names the endpoint, the cause and the next step, never a key.
            ContextTooLongError: the prompt does not fit.
            BudgetError: the run's or the turn's budget is spent.
        """
        ...

    async def aclose(self) -> None: ...


CHARACTERS_A_TOKEN = 4
LIBRARIES = ("aiolimiter", "genai_prices", "purgatory")
"""What a `EndpointClient` needs of the extra `model`."""


@dataclass(frozen=True)
class ModelReply:
    """A reply, and the tokens that the endpoint counted for it; zeros where it counts none."""

    reply: Reply
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class EndpointClient:
    """The way to one endpoint, shared by all who call it. Its calls run on the background loop.

    Args:
        name: as in a settings string.
        model: the model's own.
        options: limits.
        prices: of the model.
        provider: who serves it, for traces.
        instrumented: whether the client's calls are traced without us.

    Raises:
        ConfigError: a cost is to be kept that cannot be known.
    """

    def __init__(
        self,
        name: str,
        model: str,
        options: ModelOptions,
        prices: PriceTable,
        *,
        provider: str,
        instrumented: Callable[[], bool],
    ) -> None:
        limits = options.budget
        if not prices.known and (limits.run.cost is not None or limits.turn.cost is not None):
            raise ConfigError(
                f"the budget limits the cost of {name}, whose price is unknown; "
                f'set prices, for example {{"{model}": {{"input": 0.15, "output": 0.6}}}} in US dollars per million tokens'
            )
        self.budget = Budget(limits)
        self.prices = prices
        self._model, self._provider, self._instrumented = model, provider, instrumented
        self._gate = OnLoop(lambda: Gate(name, options))

    async def call(self, request: ChatRequest, ask: Callable[[], Awaitable[ModelReply]]) -> Reply:
        """Asks when it may, and tells the turn's meter and the run's budget what that used.

        Raises:
            BudgetError: nothing is left to spend.
            JudgeError: from `ask`, or because the endpoint is left alone for a while.
        """
        gate = self._gate.get()
        estimate = sum(len(message.content) for message in request.messages) // CHARACTERS_A_TOKEN
        async with gate.place():
            self.budget.check(meter().usage)
            await gate.turn_to_send(estimate)
            async with gate.circuit():
                self.budget.check(meter().usage)  # others may have spent the rest in the meantime
                self._book(Usage(calls=1))
                answer = await self._trace_call(ask)
        gate.settle(estimate, answer.input_tokens + answer.output_tokens)
        self._book(self._usage_of(answer))
        return answer.reply

    async def _trace_call(self, ask: Callable[[], Awaitable[ModelReply]]) -> ModelReply:
        call = ModelCall(self._provider, self._model, instrumented=self._instrumented)
        try:
            answer = await ask()
        except BaseException as exc:
            call.end(exc)
            raise
        call.used(answer.input_tokens, answer.output_tokens)
        call.end()
        return answer

    def _usage_of(self, answer: ModelReply) -> Usage:
        counted = answer.input_tokens + answer.output_tokens > 0
        cost = self.prices.cost(answer.input_tokens, answer.output_tokens, answer.cached_tokens) if counted else None
        return Usage(
            input_tokens=answer.input_tokens,
            output_tokens=answer.output_tokens,
            cached_tokens=min(answer.cached_tokens, answer.input_tokens),
            cost=cost or 0.0,
            unpriced_calls=int(cost is None),
        )

    def _book(self, used: Usage) -> None:
        self.budget.add(used)
        meter().add(used)


def token_count(tokens: object) -> int:
    """A number of tokens as an endpoint gives it, which may be anything."""
    return max(int(tokens), 0) if isinstance(tokens, int | float) and not isinstance(tokens, bool) else 0


# What models refuse, as long as the process lives: two objects that call one model need not both find out.
_refused: dict[tuple[str, ...], frozenset[str]] = {}
_finding_out: dict[tuple[object, ...], asyncio.Event] = {}


def refused_parameters(key: tuple[str, ...]) -> frozenset[str]:
    """The parameters that the model behind `key` is known to refuse."""
    return _refused.get(key, frozenset())


def learn(key: tuple[str, ...], more: frozenset[str]) -> None:
    """Keeps what a call that went through had to leave out."""
    _refused[key] = refused_parameters(key) | more


@asynccontextmanager
async def first_finds_out(key: tuple[str, ...]) -> AsyncIterator[None]:
    """The first of several calls goes ahead and learns what the model refuses; the others wait until it is back."""
    # By loop, because a forked child inherits events that nobody will ever set.
    mine = (asyncio.get_running_loop(), *key)
    if key in _refused:
        yield
        return
    if mine in _finding_out:
        await _finding_out[mine].wait()
        yield
        return
    event = _finding_out[mine] = asyncio.Event()
    try:
        yield
    finally:
        del _finding_out[mine]
        event.set()
