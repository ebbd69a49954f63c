"""How hard an endpoint is pressed: calls at a time, calls and tokens a minute, and a pause when it keeps failing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

from vista_guard.errors import JudgeError
from vista_guard.settings.model import ModelOptions

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
    async def unbroken(self) -> AsyncIterator[None]:
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
                f"{self._endpoint} failed {breaker.context.threshold} times in a row and is left alone for {wait:.0f} s more; "
                f"the last failure: {self._last_failure}"
            ) from None
