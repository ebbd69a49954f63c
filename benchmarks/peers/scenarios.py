"""Behaviours of the scripted server: correct answers, busy at first, nonsense, or no answer at all."""

from __future__ import annotations

from enum import StrEnum

from benchmarks.peers.answers import answer
from vista_guard.testing import Fault, ReceivedRequest, ScriptedChatServer

NONSENSE = "Thank you for asking! The harbour is lovely at this time of the year, and so are the gulls."
OTHER_JSON = '{"status": "done", "items": []}'
RETRY_AFTER_S = 1


class Scenario(StrEnum):
    """How the server behaves."""

    FINE = "fine"
    BUSY = "429 twice"
    NONSENSE = "nonsense"
    OTHER_JSON = "JSON of another shape"
    HANG = "hangs"


class Stage:
    """A server whose behaviour can be changed between turns, while contenders stay connected to it."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._scenario = Scenario.FINE
        self.server = ScriptedChatServer(self._say, latency=latency, faults=self._fault)

    def play(self, scenario: Scenario) -> None:
        """Plays the scenario from the next call on; resets the count of calls."""
        self._scenario = scenario
        self.server.reset()

    def _say(self, request: ReceivedRequest) -> str:
        match self._scenario:
            case Scenario.NONSENSE:
                return NONSENSE
            case Scenario.OTHER_JSON:
                return OTHER_JSON
        return answer(request)

    def _fault(self, request: ReceivedRequest) -> Fault | None:
        if self._scenario is Scenario.HANG:
            return Fault.hang()
        if self._scenario is Scenario.BUSY and request.number <= 2:
            return Fault.http(429, retry_after=RETRY_AFTER_S, latency=self._latency)
        return None
