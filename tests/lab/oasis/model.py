"""A chat model in the process that answers as the script does, and counts what it was asked."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from html import unescape
from typing import Any

from tests.lab.oasis.scripted import House, scripted_answer
from tests.pace import others
from vista_guard.judges.model import ChatRequest, Reply


class ScriptedModel:
    """Implements `ChatModel`."""

    name = "scripted"
    parameters: Mapping[str, Any] = {}
    why_exhausted = None

    def __init__(self, known: Sequence[House], together: int = 0) -> None:
        """The first answers wait until so many are asked for."""
        self._known = {house.name: house for house in known}
        self._pattern = re.compile("|".join(map(re.escape, self._known)))
        self._together, self._there = together, asyncio.Event()
        self.asked: Counter[str] = Counter()
        self.underway = self.most = 0

    async def complete(self, request: ChatRequest) -> Reply:
        found = self._pattern.search(unescape(request.messages[-1].content))
        assert found is not None
        self.asked[found.group()] += 1
        self.underway += 1
        self.most = max(self.most, self.underway)
        if not self._there.is_set() and self.most >= self._together:
            await others()  # whatever more is asked for at once
            self._there.set()
        await self._there.wait()
        self.underway -= 1
        house = self._known[found.group()]
        text = scripted_answer(house, request.schema)
        return Reply(text, {"refusal": "refusal", "cut": "length"}.get(house.fault, "stop"))  # type: ignore[arg-type]

    async def aclose(self) -> None:
        """Has nothing to close."""
