"""A node of a LangGraph with a sync and an async door."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig

State = TypeVar("State", contravariant=True)
Update = TypeVar("Update", covariant=True)


class Node(Runnable[State, Update]):
    """Calls one of two functions with the state and the run's settings.

    LangGraph takes a function as a sync or as an async node, not as both, and `RunnableLambda`, which is both, inspects
    signatures and opens a run of its own at each call: measured, that was half of the engine's time.
    """

    def __init__(
        self,
        name: str,
        sync: Callable[[State, RunnableConfig], Update],
        asynchronous: Callable[[State, RunnableConfig], Coroutine[Any, Any, Update]],
    ) -> None:
        self.name = name
        self._sync = sync
        self._asynchronous = asynchronous

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: object) -> Update:
        """The state update."""
        return self._sync(input, config or {})

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **kwargs: object) -> Update:
        """The state update."""
        return await self._asynchronous(input, config or {})
