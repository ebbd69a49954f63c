"""Callers in a closed loop: each begins its next turn when it has read the last one to its end."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from benchmarks.load.checking import Fault, Seen, fault
from benchmarks.load.talks import TURNS, Talk

if TYPE_CHECKING:
    import httpx2

TIMEOUT_S = 600.0
_SAID = b'"delta":{"content":"'


@dataclass
class Tally:
    """The results of all turns so far. Times in seconds."""

    turns: int = 0
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    faults: Counter[Fault] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    finished: list[Talk] = field(default_factory=list)


class Callers:
    """`streams` callers at once, until `turns` are begun or somebody calls `stop`.

    Args:
        client: the proxy's client; its base URL is the proxy's.
        streams: number of callers.
        turns: most turns to begin.
        off: True if the proxy is off.
        first: number of the first conversation.
        heard: called after each turn.
    """

    def __init__(
        self,
        client: httpx2.AsyncClient,
        *,
        streams: int,
        turns: int,
        off: bool = False,
        first: int = 0,
        heard: Callable[[Tally], None] = lambda _: None,
    ) -> None:
        self.tally = Tally()
        self._client = client
        self._streams = streams
        self._left = turns
        self._off = off
        self._numbers = _count(first)
        self._heard = heard

    def stop(self) -> None:
        """No further turn begins; those under way go on to their end."""
        self._left = 0

    async def run(self) -> None:
        """Returns when the last turn is read to its end."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._streams):
                group.create_task(self._caller())

    async def _caller(self) -> None:
        while self._left > 0:
            talk, good = Talk(next(self._numbers)), 0
            for turn in range(TURNS):
                if self._left <= 0:
                    return
                self._left -= 1
                good += await self._turn(talk, turn)
            if good == TURNS:
                self.tally.finished.append(talk)

    async def _turn(self, talk: Talk, turn: int) -> bool:
        import httpx2

        tally = self.tally
        try:
            seen = await self._read(talk, turn)
            problem = fault(talk, turn, seen, off=self._off)
        except httpx2.HTTPError as exc:
            problem = (Fault.ERROR, f"{type(exc).__name__}: {exc}")
        tally.turns += 1
        if problem is not None:
            tally.faults[problem[0]] += 1
            if len(tally.examples) < 10:
                tally.examples.append(f"{problem[0].value}: {problem[1]}")
        self._heard(tally)
        return problem is None

    async def _read(self, talk: Talk, turn: int) -> Seen:
        started, first, raw = perf_counter(), None, bytearray()
        headers = {"x-conversation-id": talk.code, "content-type": "application/json"}
        body = json.dumps(talk.request(turn)).encode()
        async with self._client.stream("POST", "/chat/completions", content=body, headers=headers) as response:
            async for received in response.aiter_raw():
                raw += received
                if first is None and _SAID in raw:
                    first = perf_counter() - started
        self.tally.first.append(first if first is not None else perf_counter() - started)
        self.tally.whole.append(perf_counter() - started)
        return Seen(response.status_code, response.headers, bytes(raw))


async def probe(client: httpx2.AsyncClient, waits: list[float], *, every: float = 0.5) -> None:
    """Polls the proxy's health: the time of an answer is how long its event loop keeps everybody waiting."""
    while True:
        started = monotonic()
        await client.get("/healthz")
        waits.append(monotonic() - started)
        await asyncio.sleep(every)


def _count(first: int) -> Iterator[int]:
    while True:
        yield first
        first += 1
