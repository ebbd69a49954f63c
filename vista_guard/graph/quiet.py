"""The guard's own runs as the host's tracers see them: not at all. Their input is the turn on its way.

LangChain gives every run to the tracers of the run around it, and to LangSmith's where the environment or a surrounding
`langsmith.evaluate` says so. The agent inside is the host's, and keeps its tracers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing, closing, contextmanager, nullcontext
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, var_child_runnable_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.graph.state import CompiledStateGraph

_HOST = "__vista_guard_host_callbacks"
"""Where the callbacks of the host wait for the agent. LangChain copies no key that begins so into metadata."""


_END: Any = object()


class UntracedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose runs no tracer of the host hears of. Its streams are those of any graph."""

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        """As a graph's own."""
        run = untraced_config(config)
        chunks = super().stream(input, run, **options)
        with closing(chunks) if isinstance(chunks, Generator) else nullcontext():
            with _surrounded_by(run):
                first = next(chunks, _END)
            if first is not _END:
                yield first
                yield from chunks

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        """As a graph's own."""
        run = untraced_config(config)
        async with aclosing(cast("AsyncGenerator[Any, None]", super().astream(input, run, **options))) as chunks:
            with _surrounded_by(run):
                first = await anext(chunks, _END)
            if first is not _END:
                yield first
                async for chunk in chunks:
                    yield chunk


@contextmanager
def _surrounded_by(run: RunnableConfig) -> Iterator[None]:
    """LangGraph adds the callbacks of the surrounding run, which it looks for when the first chunk is asked for."""
    token = var_child_runnable_config.set(run)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)


def untraced(graph: CompiledStateGraph[Any, Any, Any, Any]) -> UntracedGraph:
    """The same graph, untraced."""
    return UntracedGraph(**graph.__dict__)  # as its own `copy` does


def untraced_config(config: RunnableConfig | None) -> RunnableConfig:
    """The run's settings without what would tell of it, the host's callbacks kept for the agent. Streams are no tracers."""
    run = ensure_config(config)
    configurable = run.get("configurable") or {}
    if _HOST in configurable:  # a run of the guard inside of another
        return run
    callbacks = run.get("callbacks")
    return {**run, "callbacks": _streams_of(callbacks), "configurable": {**configurable, _HOST: callbacks}}


def host_config(config: RunnableConfig) -> RunnableConfig:
    """The run's settings with the callbacks of the host, for what is the host's."""
    configurable = dict(config.get("configurable") or {})
    if _HOST not in configurable:
        return config
    callbacks: Callbacks = configurable.pop(_HOST)
    return {**config, "callbacks": callbacks, "configurable": configurable}


def kept_for_agent(config: RunnableConfig) -> dict[str, Any]:
    """What of the run's `configurable` is for `host_config`: it goes with the agent wherever it is asked."""
    configurable = config.get("configurable") or {}
    return {_HOST: configurable[_HOST]} if _HOST in configurable else {}


def _streams_of(callbacks: Callbacks) -> Callbacks:
    if not isinstance(callbacks, BaseCallbackManager):
        return [*_streaming(callbacks or []), _Silence()]
    manager, silence = callbacks.copy(), _Silence()
    manager.handlers = [*_streaming(manager.handlers), silence]
    manager.inheritable_handlers = [*_streaming(manager.inheritable_handlers), silence]
    return manager


def _streaming(handlers: list[BaseCallbackHandler]) -> list[BaseCallbackHandler]:
    return [handler for handler in handlers if isinstance(handler, _StreamingCallbackHandler)]


class _Silence(LangChainTracer):
    """Stands where LangChain would put LangSmith's tracer, which it adds only where there is none. Sends nothing."""

    ignore_llm = ignore_retry = ignore_agent = ignore_chain = True
    ignore_chat_model = ignore_retriever = ignore_custom_event = True

    def __init__(self) -> None:
        BaseTracer.__init__(self)  # LangSmith's own would make a client, with a thread

    def copy_with_metadata_defaults(self, **_: object) -> _Silence:
        """Itself: it has no metadata."""
        return self
