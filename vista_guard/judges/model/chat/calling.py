"""The `ChatModel` protocol, and a base class for endpoints: concurrency, rates, budgets, circuit breaker, prices.

The user's prices come first, then those of genai-prices. Prices are never looked up on the network.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Generic, Literal, Protocol, TypeVar

from vista_guard._aio import through
from vista_guard.errors import BudgetError, ConfigError, JudgeError
from vista_guard.judges.contract import meter, seconds_left
from vista_guard.judges.model.chat.faults import EndpointError, read_fault, to_error
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.settings.model import BudgetOptions, ModelOptions, Price, Spend
from vista_guard.telemetry.spans import ModelCall
from vista_guard.types import Usage


class Budget:
    """Adds up a run's usage and enforces its limits, and those of a turn. Thread-safe."""

    def __init__(self, limits: BudgetOptions) -> None:
        self._limits = limits
        self._spent = Usage()
        self._lock = Lock()

    @property
    def spent(self) -> Usage:
        """Usage of the run so far."""
        return self._spent

    @property
    def why_exhausted(self) -> str | None:
        """Why the run may make no more calls, and what to do; None while it may."""
        return _why_exceeded("run", self._limits.run, self._spent)

    def add(self, spent: Usage) -> None:
        """Adds to the usage."""
        with self._lock:
            self._spent = self._spent + spent

    def check(self, turn: Usage) -> None:
        """Raises if the run or the turn, with this usage so far, may make no more calls.

        Raises:
            BudgetError: the run's or the turn's budget is spent; says which and how to raise it.
        """
        why = self.why_exhausted or _why_exceeded("turn", self._limits.turn, turn)
        if why is not None:
            raise BudgetError(why)


def _why_exceeded(whose: str, limits: Spend, spent: Usage) -> str | None:
    tokens = spent.input_tokens + spent.output_tokens
    if limits.calls is not None and spent.calls >= limits.calls:
        return _spent_message(whose, "calls", f"{limits.calls} calls", f"{spent.calls} made")
    if limits.tokens is not None and tokens >= limits.tokens:
        return _spent_message(whose, "tokens", f"{limits.tokens} tokens", f"{tokens} used")
    if limits.cost is not None and spent.cost >= limits.cost:
        return _spent_message(whose, "cost", f"${limits.cost:g}", f"${spent.cost:.4g} used")
    return None


def _spent_message(whose: str, field: str, limit: str, used: str) -> str:
    return f"the {whose}'s budget of {limit} is spent ({used}); raise budget.{whose}.{field} to go on"


T = TypeVar("T")


class OnLoop(Generic[T]):
    """An object that belongs to the event loop that first uses it; another loop gets a new one.

    The first is made eagerly, so that no turn waits for it. A process has one background loop. A forked child has its own,
    and must leave its parent's objects alone: to close or even to drop a connection would end it for the parent too. So
    they are kept.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._unused: T | None = make()
        self._here: tuple[asyncio.AbstractEventLoop, T] | None = None
        self._left_behind: list[T] = []

    def get(self) -> T:
        """The running loop's object."""
        loop = asyncio.get_running_loop()
        if self._here is None or self._here[0] is not loop:
            if self._here is not None:
                self._left_behind.append(self._here[1])
            unused, self._unused = self._unused, None
            self._here = (loop, self._make() if unused is None else unused)
        return self._here[1]

    def take(self) -> T | None:
        """Removes and returns the running loop's object, or the unused one; None if there is none."""
        value, self._unused = self._unused, None
        if self._here is not None and self._here[0] is asyncio.get_running_loop():
            value, self._here = self._here[1], None
        return value


class Gate:
    """Limits the calls to one endpoint, which its errors name. Belongs to the loop that first uses it."""

    def __init__(self, endpoint: str, options: ModelOptions) -> None:
        from aiolimiter import AsyncLimiter
        from purgatory import AsyncCircuitBreakerFactory

        self._endpoint = endpoint
        self.places = asyncio.Semaphore(options.concurrency)
        self._requests = AsyncLimiter(options.requests_per_minute) if options.requests_per_minute else None
        self._tokens = AsyncLimiter(options.tokens_per_minute) if options.tokens_per_minute else None
        self._owed = 0
        self._breakers = AsyncCircuitBreakerFactory(
            options.breaker.failures,
            options.breaker.cool_down_s,
            exclude=[(BaseException, lambda exc: not (isinstance(exc, EndpointError) or _is_overdue(exc)))],
        )
        self._last_failure = ""

    async def turn_to_send(self, tokens: int) -> None:
        """Waits until the rates allow a call of about this many tokens."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None:
            tokens, self._owed = tokens + self._owed, 0
            # A prompt above the rate waits for the full rate: more would never be available.
            await self._tokens.acquire(min(max(tokens, 0), self._tokens.max_rate))

    def settle(self, estimated: int, used: int) -> None:
        """Charges the estimate's error to the next call."""
        if used:
            self._owed += used - estimated

    @asynccontextmanager
    async def circuit(self) -> AsyncIterator[None]:
        """Counts the endpoint's failures, and refuses calls while the circuit is open. Silence until the turn's time is over is
        one; a reader who leaves is none.

        Raises:
            JudgeError: the circuit is open; says until when, and why.
        """
        from purgatory.domain.model import OpenedState

        breaker = await self._breakers.get_breaker(self._endpoint)
        try:
            async with breaker:
                try:
                    yield
                except BaseException as exc:
                    if isinstance(exc, EndpointError):
                        self._last_failure = str(exc)
                    elif _is_overdue(exc):
                        self._last_failure = "no answer within the turn's time (limits.judge_seconds)"
                    raise
        except OpenedState as opened:
            wait = max(opened.opened_at + breaker.context.ttl - time.time(), 0.0)
            opened.__traceback__ = None  # the library raises the same object each time, and tracebacks would pile up
            raise JudgeError(
                f"{self._endpoint} failed {breaker.context.threshold} times in a row; calls resume in {wait:.0f} s; "
                f"the last failure: {self._last_failure}"
            ) from None


def _is_overdue(exc: BaseException) -> bool:
    """True if a call was cancelled because the turn's time is over."""
    return isinstance(exc, asyncio.CancelledError) and seconds_left() == 0


class PriceTable:
    """Prices of one model behind one endpoint; `overrides`, by model name, take precedence over the table.

    The endpoint's `url`, or `provider`, identifies the provider. Unknown providers have no price: the same weights cost
    nothing on your own machine.
    """

    def __init__(
        self, model: str, overrides: Mapping[str, Price], *, url: str | None = None, provider: str | None = None
    ) -> None:
        self._model = model
        self._own = overrides.get(model)
        self._where: Any = {"provider_id": provider} if url is None else {"provider_api_url": url}
        self._sold = url is not None or provider is not None
        # Loads the table, so that no turn waits for it.
        self.known = self._own is not None or self._from_table(0, 0, 0) is not None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
        """US dollars; `input_tokens` include `cached_tokens`. None if the price is unknown."""
        if not self.known:
            return None
        cached_tokens = min(cached_tokens, input_tokens)
        if self._own is None:
            return self._from_table(input_tokens, output_tokens, cached_tokens)
        cached_price = self._own.input if self._own.cached_input is None else self._own.cached_input
        fresh = input_tokens - cached_tokens
        return (fresh * self._own.input + cached_tokens * cached_price + output_tokens * self._own.output) / 1e6

    def _from_table(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
        if not self._sold:
            return None
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens)
        try:
            price = calc_price(usage, self._model, **self._where)
        except (LookupError, ValueError):  # unknown provider or model; a kind of token that has no price
            return None
        return float(price.total_price)


Finish = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True)
class Message:
    """One message of a prompt. Constant parts come first, for the provider's prefix cache."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One call. `stage` is its purpose: `turn` asks for one verdict on a whole turn (LLM-as-Judge), `generate` for a text.

    `schema` is the JSON schema of the answer, in the subset that strict structured output takes.
    """

    messages: tuple[Message, ...]
    stage: Stage | Literal["turn", "generate"]
    schema: Mapping[str, Any] | None = None
    alternatives: int = 0
    """Likely tokens to return at each position, with probabilities. Not every endpoint supports it."""
    sampling: Mapping[str, float] = field(default_factory=dict)
    """`temperature` and `top_p` of this call, overriding the model's; the call has no seed, so that asking again can give
    another answer."""
    most_tokens: int | None = None
    """Longest answer that is worth waiting for, where `max_output_tokens` is not set. It does not count a reasoning model's
    thoughts: where they use it up, the endpoint's own limit applies."""


@dataclass(frozen=True)
class Reply:
    """The model's answer. `length`: cut off at the token limit. `refusal`: the model or its filter declined."""

    text: str
    finish: Finish = "stop"
    first: Mapping[str, float] = field(default_factory=dict)
    """Likely first tokens (the first that is not blank) with log-probabilities, if requested and supported."""
    reasoning: str = ""
    """A reasoning model's thoughts, if its endpoint returns them separately."""


class ChatModel(Protocol):
    """A model behind an endpoint. Calls report their usage to `contract.meter()`."""

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
        """Why this run makes no more calls (its budget is spent); None while it does."""
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
"""Libraries of the extra `model` that an `EndpointChat` needs."""


@dataclass(frozen=True)
class ModelReply:
    """A reply, and the endpoint's token counts; zeros if it gives none."""

    reply: Reply
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class EndpointChat(ABC):
    """A chat model behind an endpoint, within its limits. Calls run on the background loop.

    Raises:
        ConfigError: a cost budget for a model without a known price.
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
        self.name = name
        """As in a settings string, without anything secret: `openai:gpt-4o-mini@https://host/v1`."""
        self.prices = prices
        self._model_name, self._options = model, options
        self._provider, self._instrumented = provider, instrumented
        self._budget = Budget(limits)
        self._gate = OnLoop(lambda: Gate(name, options))

    @property
    def why_exhausted(self) -> str | None:
        """Why this run makes no more calls; None while it does."""
        return self._budget.why_exhausted

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def complete(self, request: ChatRequest) -> Reply:
        """The model's answer. Its usage goes to the turn's meter and the run's budget.

        Raises:
            JudgeError: no answer; the message names the endpoint, the cause and the next step, never a key.
            ContextTooLongError: the prompt does not fit.
            BudgetError: the run's or the turn's budget is spent.
        """
        return await through(self._call(request))

    async def _call(self, request: ChatRequest) -> Reply:
        gate = self._gate.get()
        estimate = sum(len(message.content) for message in request.messages) // CHARACTERS_A_TOKEN
        async with gate.places:
            self._budget.check(meter().usage)
            await gate.turn_to_send(estimate)
            async with gate.circuit():
                self._budget.check(meter().usage)  # others may have spent the rest in the meantime
                self._book(Usage(calls=1))
                answer = await self._trace_call(request)
        used = answer.input_tokens + answer.output_tokens
        gate.settle(estimate, used)
        cost = self.prices.cost(answer.input_tokens, answer.output_tokens, answer.cached_tokens) if used else None
        self._book(
            Usage(
                input_tokens=answer.input_tokens,
                output_tokens=answer.output_tokens,
                cached_tokens=min(answer.cached_tokens, answer.input_tokens),
                cost=cost or 0.0,
                unpriced_calls=int(cost is None),
            )
        )
        return answer.reply

    def _book(self, used: Usage) -> None:
        self._budget.add(used)
        meter().add(used)

    async def _trace_call(self, request: ChatRequest) -> ModelReply:
        call = ModelCall(self._provider, self._model_name, instrumented=self._instrumented)
        try:
            answer = await self._ask(request)
        except BaseException as exc:
            call.end(exc)
            raise
        call.used(answer.input_tokens, answer.output_tokens)
        call.end()
        return answer

    async def _ask(self, request: ChatRequest) -> ModelReply:
        kind = "structured" if request.schema is not None else "text"
        async with first_finds_out(key := (self.name, kind)):
            try:
                async with asyncio.timeout(self._options.timeout_s):
                    return await self._ask_until_taken(request, key)
            except TimeoutError as exc:
                raise self._error(exc) from None

    @abstractmethod
    async def _ask_until_taken(self, request: ChatRequest, key: tuple[str, ...]) -> ModelReply:
        """Asks without the parameters that the model behind `key` refuses, and learns new ones."""

    @property
    @abstractmethod
    def _secrets(self) -> tuple[str, ...]:
        """Strings that errors must not contain."""

    @property
    @abstractmethod
    def _key_hint(self) -> str:
        """Advice for a refused key."""

    def _error(self, exc: BaseException) -> JudgeError:
        fault = read_fault(exc, self._secrets)
        return to_error(fault, self.name, self._model_name, key=self._key_hint, timeout_s=self._options.timeout_s)


OUR_BOUND = "most_tokens"
"""Stands for a request's own bound among the parameters that a model refuses."""


def thought_too_long(reply: Reply) -> bool:
    """True if thoughts used up the tokens of an answer."""
    return reply.finish == "length" and bool(reply.reasoning or not reply.text.strip() or "<think" in reply.text[:200])


def token_count(tokens: object) -> int:
    """An endpoint's token count, which may be anything, as an integer; 0 for what no call can use."""
    if isinstance(tokens, bool) or not isinstance(tokens, int | float):
        return 0
    return int(tokens) if 0 <= tokens < 10**12 else 0


# Parameters that models refuse, per process: two objects that call one model need not both find out.
_refused: dict[tuple[str, ...], frozenset[str]] = {}
_finding_out: dict[tuple[object, ...], asyncio.Event] = {}


def refused_parameters(key: tuple[str, ...]) -> frozenset[str]:
    """The parameters that the model behind `key` is known to refuse."""
    return _refused.get(key, frozenset())


def learn(key: tuple[str, ...], more: frozenset[str]) -> None:
    """Remembers the parameters that a successful call had to omit."""
    _refused[key] = refused_parameters(key) | more


@asynccontextmanager
async def first_finds_out(key: tuple[str, ...]) -> AsyncIterator[None]:
    """Lets the first call learn what the model refuses; the others wait for it."""
    # By loop, because a forked child inherits events that nobody will ever set.
    loop_key = (asyncio.get_running_loop(), *key)
    if key in _refused:
        yield
        return
    if loop_key in _finding_out:
        await _finding_out[loop_key].wait()
        yield
        return
    event = _finding_out[loop_key] = asyncio.Event()
    try:
        yield
    finally:
        del _finding_out[loop_key]
        event.set()
