"""Every private part of LangChain and LangGraph that this package needs, in one module.

Neither has a public way to keep an agent's words out of the host's streams before they are judged, or the guard's runs out of the
host's traces. `tests/graph/test_vendor_private.py` checks the installed versions; `make test-oldest` uses the oldest allowed.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, closing, nullcontext
from contextvars import Context, copy_context
from typing import Any, TypeVar, cast

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config, set_config_context, var_child_runnable_config
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langchain_core.tracers.base import BaseTracer
from langchain_core.tracers.langchain import LangChainTracer
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.state import CompiledStateGraph

from vista_guard._aio import holding
from vista_guard.errors import InputError

Request = TypeVar("Request", contravariant=True)
Reply = TypeVar("Reply", covariant=True)

StreamHandler = _StreamingCallbackHandler
"""Base of the callback handlers by which `stream_mode="messages"` and `astream_events` hear tokens."""

STREAM_KEY = "__pregel_stream"
"""LangGraph's key by which a graph inside a graph streams to the outer one."""

DURABILITY_KEY = "__pregel_durability"
"""LangGraph's key for when a graph inside a graph writes checkpoints; `exit`: only when it is interrupted or fails."""

NOSTREAM_TAGS = frozenset({TAG_NOSTREAM, "langsmith:nostream"})
"""Tags on models that do not speak to the user: LangGraph 1.x reads the first, the second comes from before it."""

HOST_KEY = "__vista_guard_host_callbacks"
"""Our key for the host's callbacks while the guard runs. LangChain keeps keys that begin with `__` out of metadata."""

_END: Any = object()


def has_stream_handler(callbacks: Callbacks) -> bool:
    """True if the host streams tokens."""
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or []
    return any(isinstance(handler, StreamHandler) for handler in handlers)


def context_of(config: RunnableConfig) -> Context:
    # A copy: LangChain resets the config in its own context on exit.
    with set_config_context(config) as context:
        return context.run(copy_context)


entered_context = set_config_context
"""LangChain's own context for a run with a config, as long as the block lasts."""


def silent_config(config: RunnableConfig) -> RunnableConfig:
    """The config for the agent, without what would show its words before they are judged. Tracers stay.

    Token handlers go, and the channel by which a graph inside a graph streams its states.
    """
    config = host_config(config)
    configurable = {key: value for key, value in (config.get("configurable") or {}).items() if key != STREAM_KEY}
    configurable[DURABILITY_KEY] = "exit"
    callbacks = _select(config.get("callbacks"), lambda handler: not isinstance(handler, StreamHandler))
    return {**config, "configurable": configurable, "callbacks": callbacks}


def untraced_config(config: RunnableConfig | None) -> RunnableConfig:
    """The config for the guard's own run: stream handlers stay, tracers go, the host's callbacks are kept for the agent."""
    run = ensure_config(config)
    configurable = run.get("configurable") or {}
    if HOST_KEY in configurable:  # a run of the guard inside another
        return run
    callbacks = run.get("callbacks")
    streams = _select(callbacks, lambda handler: isinstance(handler, StreamHandler), _SilentTracer())
    return {**run, "callbacks": streams, "configurable": {**configurable, HOST_KEY: callbacks}}


def host_config(config: RunnableConfig) -> RunnableConfig:
    """The config with the host's callbacks back, for the agent."""
    configurable = dict(config.get("configurable") or {})
    if HOST_KEY not in configurable:
        return config
    callbacks: Callbacks = configurable.pop(HOST_KEY)
    return {**config, "callbacks": callbacks, "configurable": configurable}


def host_callbacks(config: RunnableConfig) -> dict[str, Any]:
    configurable = config.get("configurable") or {}
    return {HOST_KEY: configurable[HOST_KEY]} if HOST_KEY in configurable else {}


def _select(
    callbacks: Callbacks, keep: Callable[[BaseCallbackHandler], bool], *further: BaseCallbackHandler
) -> Callbacks:
    def select(handlers: Sequence[BaseCallbackHandler]) -> list[BaseCallbackHandler]:
        return [*filter(keep, handlers), *further]

    if not isinstance(callbacks, BaseCallbackManager):
        return select(callbacks or [])
    manager = callbacks.copy()
    manager.handlers = select(manager.handlers)
    manager.inheritable_handlers = select(manager.inheritable_handlers)
    return manager


class _SilentTracer(LangChainTracer):
    """Keeps LangChain from adding LangSmith's tracer, which it does only where none is set. Sends nothing."""

    ignore_llm = ignore_retry = ignore_agent = ignore_chain = True
    ignore_chat_model = ignore_retriever = ignore_custom_event = True

    def __init__(self) -> None:
        BaseTracer.__init__(self)  # LangSmith's own would make a client, with a thread

    def copy_with_metadata_defaults(self, **_: object) -> _SilentTracer:
        """Itself: it has no metadata."""
        return self


class UntracedGraph(CompiledStateGraph[Any, Any, Any, Any]):
    """A compiled graph whose runs are hidden from the host's tracers. Its streams are those of any graph.

    LangChain gives every run to the tracers of the run around it, and to LangSmith's where the environment or a surrounding
    `langsmith.evaluate` says so. The guard's input is a draft, which no trace may hold.
    """

    def stream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> Iterator[Any]:
        run = self._config(config)
        chunks = super().stream(input, run, **options)
        with closing(chunks) if isinstance(chunks, Generator) else nullcontext():
            # LangGraph adds the callbacks of the surrounding run, which it looks up when the first chunk is asked for.
            with holding(var_child_runnable_config, _bare(run)):
                first = next(chunks, _END)
            if first is not _END:
                yield first
                yield from chunks

    async def astream(self, input: Any, config: RunnableConfig | None = None, **options: Any) -> AsyncIterator[Any]:
        run = self._config(config)
        async with aclosing(cast("AsyncGenerator[Any, None]", super().astream(input, run, **options))) as chunks:
            # LangGraph adds the callbacks of the surrounding run, which it looks up when the first chunk is asked for.
            with holding(var_child_runnable_config, _bare(run)):
                first = await anext(chunks, _END)
            if first is not _END:
                yield first
                async for chunk in chunks:
                    yield chunk

    def _config(self, config: RunnableConfig | None) -> RunnableConfig:
        run = untraced_config(config)
        # LangGraph takes the host's callbacks, which are kept there, for a thread.
        if isinstance(self.checkpointer, BaseCheckpointSaver) and set(run.get("configurable") or ()) <= {HOST_KEY}:
            raise InputError(
                'a graph with a checkpointer needs a thread: pass {"configurable": {"thread_id": "…"}} as config'
            )
        return run


def untraced(graph: CompiledStateGraph[Any, Any, Any, Any]) -> UntracedGraph:
    return UntracedGraph(**graph.__dict__)  # as its own `copy` does


def untraced_run() -> AbstractContextManager[RunnableConfig]:
    """Hides what runs inside from the tracers of the surrounding run."""
    return holding(var_child_runnable_config, untraced_config(None))


def _bare(run: RunnableConfig) -> RunnableConfig:
    """The config as that around itself: with its callbacks, LangGraph would call each of them twice."""
    return {**run, "callbacks": None}


def invoke_as_run(
    runnable: Runnable[Request, Reply],
    request: Request,
    config: RunnableConfig | None,
    call: Callable[[Request, RunnableConfig], Reply],
) -> Reply:
    """The call as one traced run of the runnable: listeners, such as a history of messages, are told its outcome, no draft."""

    def run(request: Request, run_manager: object, config: RunnableConfig) -> Reply:
        return call(request, config)

    return runnable._call_with_config(run, request, config, run_type="chain")


async def ainvoke_as_run(
    runnable: Runnable[Request, Reply],
    request: Request,
    config: RunnableConfig | None,
    call: Callable[[Request, RunnableConfig], Awaitable[Reply]],
) -> Reply:

    async def run(request: Request, run_manager: object, config: RunnableConfig) -> Reply:
        return await call(request, config)

    return await runnable._acall_with_config(run, request, config, run_type="chain")


def stream_as_run(
    runnable: Runnable[Request, Reply],
    request: Request,
    config: RunnableConfig | None,
    chunks: Callable[[Request, RunnableConfig], Iterator[Reply]],
) -> Iterator[Reply]:
    """The chunks, as one traced run of the runnable."""

    def transform(inputs: Iterator[Request], run_manager: object, config: RunnableConfig) -> Iterator[Reply]:
        return chunks(next(inputs), config)

    return runnable._transform_stream_with_config(iter([request]), transform, config, run_type="chain")


def astream_as_run(
    runnable: Runnable[Request, Reply],
    request: Request,
    config: RunnableConfig | None,
    chunks: Callable[[Request, RunnableConfig], AsyncGenerator[Reply, None]],
) -> AsyncIterator[Reply]:

    async def inputs() -> AsyncIterator[Request]:
        yield request

    async def transform(
        inputs: AsyncIterator[Request], run_manager: object, config: RunnableConfig
    ) -> AsyncIterator[Reply]:
        async with aclosing(chunks(await anext(inputs), config)) as items:
            async for item in items:
                yield item

    return runnable._atransform_stream_with_config(inputs(), transform, config, run_type="chain")
