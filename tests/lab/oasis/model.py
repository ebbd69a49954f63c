"""A chat model in the process that answers as the script does, and counts what it was asked."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

from tests.lab.oasis.scripted import House, scripted_answer
from vista_guard.judges.model import ChatRequest, Reply


class ScriptedModel:
    """Implements `ChatModel`."""

    name = "scripted"
    parameters: Mapping[str, Any] = {}
    why_exhausted = None

    def __init__(self, known: Sequence[House], seconds: float = 0.0) -> None:
        self._known = {house.name: house for house in known}
        self._pattern = re.compile("|".join(map(re.escape, self._known)))
        self._seconds = seconds
        self.asked: Counter[str] = Counter()
        self.underway = self.most = 0

    async def complete(self, request: ChatRequest) -> Reply:
        found = self._pattern.search(unescape(request.messages[-1].content))
        assert found is not None
        self.asked[found.group()] += 1
        self.underway += 1
        self.most = max(self.most, self.underway)
        await asyncio.sleep(self._seconds)
        self.underway -= 1
        house = self._known[found.group()]
        text = scripted_answer(house, request.schema)
        return Reply(text, {"refusal": "refusal", "cut": "length"}.get(house.fault, "stop"))  # type: ignore[arg-type]

    async def aclose(self) -> None:
        """Has nothing to close."""
