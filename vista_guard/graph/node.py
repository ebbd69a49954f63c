"""A node of a LangGraph with a sync and an async door."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from langchain_core.runnables import Runnable, RunnableConfig


class Node(Runnable[Any, Any]):
    """Calls one of two functions with the state and the run's settings.

    LangGraph takes a function as a sync or as an async node, not as both, and `RunnableLambda`, which is both, inspects
    signatures and opens a run of its own at each call: measured, that was half of the engine's time.
    """

    def __init__(
        self,
        name: str,
        sync: Callable[[Any, RunnableConfig], Any],
        asynchronous: Callable[[Any, RunnableConfig], Coroutine[Any, Any, Any]],
    ) -> None:
        self.name = name
        self._sync = sync
        self._asynchronous = asynchronous

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The state update."""
        return self._sync(input, config or {})

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """The state update."""
        return await self._asynchronous(input, config or {})
