"""A Runnable behind the guard: asked, streamed and composed as the agent itself."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, closing
from typing import Any, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config

from vista_guard._aio.pumps import Bridged, in_task, in_thread
from vista_guard.graph.agent import call_in_run_of, call_runnable, silent_context
from vista_guard.graph.hosts import HostState, thread_id_of
from vista_guard.graph.machine import AnyGraph, GuardState
from vista_guard.graph.wrap_stream import Ask, GatedStream, named_conversation
from vista_guard.turn.work import Work

Request = TypeVar("Request", contravariant=True)
Reply = TypeVar("Reply", covariant=True)


class GuardedRunnable(Runnable[Request, Reply]):
    """A Runnable whose answers went through the guard. With the gate `turn` its stream yields the delivered answer, whole."""

    def __init__(self, agent: Runnable[Request, Reply], machine: AnyGraph, stream: GatedStream) -> None:
        self._agent, self._machine, self._stream, self._surface = agent, machine, stream, stream.surface

    def invoke(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        return self._deliver(self._machine.invoke(self._begun(input, run, kwargs), run))

    async def ainvoke(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        return self._deliver(await self._machine.ainvoke(self._begun(input, run, kwargs), run))

    def stream(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Reply]:
        """Chunks of the agent's own kind, each let out once it was judged."""

        def chunks(
            inputs: Iterator[Request], run_manager: CallbackManagerForChainRun, config: RunnableConfig
        ) -> Iterator[Reply]:
            if self._stream.gate == "turn":
                yield self.invoke(next(inputs), config, **kwargs)
                return

            def ask(asked: object) -> AsyncGenerator[object, None]:
                return in_thread(lambda: self._agent.stream(cast(Request, asked), **kwargs), silent_context(config))

            with closing(Bridged(self._gated(next(inputs), config, ask))) as pieces:
                yield from pieces

        yield from self._transform_stream_with_config(iter([input]), chunks, config, run_type="chain")

    async def astream(
        self, input: Request, config: RunnableConfig | None = None, **kwargs: Any
    ) -> AsyncIterator[Reply]:
        """As `stream`."""

        async def inputs() -> AsyncIterator[Request]:
            yield input

        async def chunks(
            inputs: AsyncIterator[Request], run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
        ) -> AsyncIterator[Reply]:
            if self._stream.gate == "turn":
                yield await self.ainvoke(await anext(inputs), config, **kwargs)
                return

            def ask(asked: object) -> AsyncGenerator[object, None]:
                return in_task(lambda: self._agent.astream(cast(Request, asked), **kwargs), silent_context(config))

            async with aclosing(self._gated(await anext(inputs), config, ask)) as pieces:
                async for piece in pieces:
                    yield piece

        async for chunk in self._atransform_stream_with_config(inputs(), chunks, config, run_type="chain"):
            yield chunk

    def _gated(self, request: Request, config: RunnableConfig, ask: Ask) -> AsyncGenerator[Reply, None]:
        conversation = named_conversation(request, thread_id_of(config))
        return cast("AsyncGenerator[Reply, None]", self._stream.run(request, conversation, ask))

    def _begun(self, request: Request, config: RunnableConfig, kwargs: HostState) -> GuardState:
        call = call_in_run_of(config, call_runnable(self._agent, **kwargs))
        return begun_turn(request, call, thread_id_of(config))

    def _deliver(self, state: HostState) -> Reply:
        return cast(Reply, self._surface.deliver(cast(Work, state["guard"])))


def begun_turn(request: object, call: object, conversation_id: str | None) -> GuardState:
    """The state that the machine starts from."""
    return {"guard": Work(conversation=named_conversation(request, conversation_id), request=request, call=call)}
