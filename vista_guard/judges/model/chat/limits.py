"""Limits of an endpoint and of a run: concurrency, calls and tokens a minute, a circuit breaker, and budgets.

Prices are the user's first, then those of genai-prices. No price is ever looked up on the network.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from threading import Lock
from typing import Generic, TypeVar

from vista_guard.errors import BudgetError, JudgeError
from vista_guard.settings.model import BudgetOptions, ModelOptions, Price, Spend
from vista_guard.types import Usage


class Budget:
    """Adds up what a run spends and says when it, or a turn, may spend no more. Safe to share between threads."""

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
        """Why the run may make no further call, and what to do; None while it may."""
        return _why_over("run", self._limits.run, self._spent)

    def add(self, spent: Usage) -> None:
        """Counts what was used."""
        with self._lock:
            self._spent = self._spent + spent

    def check(self, turn: Usage) -> None:
        """Lets a call through or not, given what its turn used so far.

        Raises:
            BudgetError: the run's or the turn's budget is spent; says which and how to raise it.
        """
        why = self.why_exhausted or _why_over("turn", self._limits.turn, turn)
        if why is not None:
            raise BudgetError(why)


def _why_over(whose: str, limits: Spend, spent: Usage) -> str | None:
    tokens = spent.input_tokens + spent.output_tokens
    if limits.calls is not None and spent.calls >= limits.calls:
        return _spent(whose, "calls", f"{limits.calls} calls", f"{spent.calls} made")
    if limits.tokens is not None and tokens >= limits.tokens:
        return _spent(whose, "tokens", f"{limits.tokens} tokens", f"{tokens} used")
    if limits.cost is not None and spent.cost >= limits.cost:
        return _spent(whose, "cost", f"${limits.cost:g}", f"${spent.cost:.4g} used")
    return None


def _spent(whose: str, field: str, limit: str, used: str) -> str:
    return f"the {whose}'s budget of {limit} is spent ({used}); raise budget.{whose}.{field} to go on"


T = TypeVar("T")


class EndpointError(JudgeError):
    """The endpoint failed, by no fault of the request. Enough of these in a row, and it is left alone for a while."""


class OnLoop(Generic[T]):
    """Something that belongs to the event loop on which it is first used, and is made anew on another loop.

    The first is made at once, because it may take a moment that no turn should wait for. There is one background loop in
    a process. A forked child has its own, and must leave its parent's things alone: to close or even to drop a connection
    would end it for the parent too. So they are kept.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._unused: T | None = make()
        self._here: tuple[asyncio.AbstractEventLoop, T] | None = None
        self._left_behind: list[T] = []

    def get(self) -> T:
        """The running loop's own."""
        loop = asyncio.get_running_loop()
        if self._here is None or self._here[0] is not loop:
            if self._here is not None:
                self._left_behind.append(self._here[1])
            unused, self._unused = self._unused, None
            self._here = (loop, self._make() if unused is None else unused)
        return self._here[1]

    def take(self) -> T | None:
        """The running loop's own, or what no loop has used yet, for the last time; None when there is none."""
        mine, self._unused = self._unused, None
        if self._here is not None and self._here[0] is asyncio.get_running_loop():
            mine, self._here = self._here[1], None
        return mine


class Gate:
    """Lets calls through to one endpoint. Belongs to the loop on which it is first used.

    Args:
        endpoint: as it is named in errors; nothing secret.
        options: concurrency, rates and breaker.
    """

    def __init__(self, endpoint: str, options: ModelOptions) -> None:
        from aiolimiter import AsyncLimiter
        from purgatory import AsyncCircuitBreakerFactory

        self._endpoint = endpoint
        self._places = asyncio.Semaphore(options.concurrency)
        self._requests = AsyncLimiter(options.requests_per_minute) if options.requests_per_minute else None
        self._tokens = AsyncLimiter(options.tokens_per_minute) if options.tokens_per_minute else None
        self._owed = 0
        self._breakers = AsyncCircuitBreakerFactory(
            options.breaker.failures,
            options.breaker.cool_down_s,
            exclude=[(BaseException, lambda exc: not isinstance(exc, EndpointError))],
        )
        self._last_failure = ""

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """One of the places at the endpoint, waited for."""
        async with self._places:
            yield

    async def turn_to_send(self, tokens: int) -> None:
        """Waits until the rates allow a call of about so many tokens."""
        if self._requests is not None:
            await self._requests.acquire()
        if self._tokens is not None:
            tokens, self._owed = tokens + self._owed, 0
            # A prompt above the rate waits for all of it: to wait for more would be to wait for ever.
            await self._tokens.acquire(min(max(tokens, 0), self._tokens.max_rate))

    def settle(self, estimated: int, used: int) -> None:
        """Makes good, with the next call, what the estimate of one missed."""
        if used:
            self._owed += used - estimated

    @asynccontextmanager
    async def circuit(self) -> AsyncIterator[None]:
        """Counts the endpoint's failures, and refuses at once while it is left alone.

        Raises:
            JudgeError: it is left alone; says until when, and why.
        """
        from purgatory.domain.model import OpenedState

        breaker = await self._breakers.get_breaker(self._endpoint)
        try:
            async with breaker:
                try:
                    yield
                except EndpointError as exc:
                    self._last_failure = str(exc)
                    raise
        except OpenedState as opened:
            wait = max(opened.opened_at + breaker.context.ttl - time.time(), 0.0)
            opened.__traceback__ = None  # the library raises the same object each time, and tracebacks would pile up
            raise JudgeError(
                f"{self._endpoint} failed {breaker.context.threshold} times in a row; calls resume in {wait:.0f} s; "
                f"the last failure: {self._last_failure}"
            ) from None


class PriceTable:
    """Prices of one model behind one endpoint.

    Args:
        model: its name.
        overrides: prices by model name, which go before the table's.
        url: the endpoint, which tells the provider. A provider that the table does not know is not priced: the same
            weights cost nothing on one's own machine.
        provider: the provider's name, in place of a URL.
    """

    def __init__(
        self, model: str, overrides: Mapping[str, Price], *, url: str | None = None, provider: str | None = None
    ) -> None:
        self._model = model
        self._own = overrides.get(model)
        self._url = url
        self._provider = provider
        # Asked here once: the table takes a moment to load, and no turn should wait for it.
        self.known = self._own is not None or self._from_table(0, 0, 0) is not None

    def cost(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
        """US dollars; `cached_tokens` are among `input_tokens`. None when the price is not known."""
        if not self.known:
            return None
        cached_tokens = min(cached_tokens, input_tokens)
        if self._own is None:
            return self._from_table(input_tokens, output_tokens, cached_tokens)
        cached_price = self._own.input if self._own.cached_input is None else self._own.cached_input
        fresh = input_tokens - cached_tokens
        return (fresh * self._own.input + cached_tokens * cached_price + output_tokens * self._own.output) / 1e6

    def _from_table(self, input_tokens: int, output_tokens: int, cached_tokens: int) -> float | None:
        if self._url is None and self._provider is None:
            return None
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=input_tokens, output_tokens=output_tokens, cache_read_tokens=cached_tokens)
        try:
            if self._url is not None:
                price = calc_price(usage, self._model, provider_api_url=self._url)
            else:
                price = calc_price(usage, self._model, provider_id=self._provider)
        except (LookupError, ValueError):  # unknown provider or model; a kind of token that has no price
            return None
        return float(price.total_price)
