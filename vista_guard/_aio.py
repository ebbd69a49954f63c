"""Sync and async under one roof: a background loop, a thread for long work, streams that cross threads and loops.

The background loop outlives a call, so pooled async clients do too. Long pure-Python work has one thread only: more
would take the interpreter from each other and from the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context
from functools import lru_cache, partial, wraps
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, Generic, ParamSpec, TypeVar, TypeVarTuple
from weakref import WeakMethod

P = ParamSpec("P")
R = TypeVar("R")


async def run_long(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs the call in the thread for long work, with the caller's context variables; a cancelled caller leaves the queue."""
    work = partial(copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread(os.getpid()), work)


SHORT = 2000
"""Characters of text that are a hundredth of a second of work or less."""
_LONG = 100_000


async def off_loop(chars: int, call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs work on so many characters of text: short work at once, more in a thread, long work in its one thread."""
    if chars <= SHORT:
        return call(*args, **kwargs)
    run = asyncio.to_thread if chars <= _LONG else run_long
    return await run(call, *args, **kwargs)


def in_daemon_thread(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Future[R]:
    """Runs a call that may hang in a thread of its own: it takes no place from other work and holds up no exit."""
    future: Future[R] = Future()

    def work() -> None:
        try:
            future.set_result(call(*args, **kwargs))
        except BaseException as exc:
            future.set_exception(exc)

    future.set_running_or_notify_cancel()  # nobody can cancel what has begun
    Thread(target=work, name="vista-guard-daemon", daemon=True).start()
    return future


@lru_cache(maxsize=1)
def _thread(process: int) -> ThreadPoolExecutor:
    # A forked child has none of its parent's threads: it gets a thread of its own.
    return ThreadPoolExecutor(1, thread_name_prefix=f"vista-guard-long-{process}")


Key = TypeVarTuple("Key")


def load_once(load: Callable[[*Key], R]) -> Callable[[*Key], R]:
    """Keeps what `load` returns for its arguments. Callers that come meanwhile wait; of a failure each gets its own."""
    kept: dict[Any, R] = {}
    lock = Lock()

    def renew() -> None:
        nonlocal lock
        lock = Lock()

    @wraps(load)
    def once(*key: *Key) -> R:
        if key not in kept:
            with lock:
                if key not in kept:
                    kept[key] = load(*key)
        return kept[key]

    if hasattr(os, "register_at_fork"):  # the thread that was loading stays behind, and would hold the lock for ever
        os.register_at_fork(after_in_child=renew)
    return once


def after_fork(renew: Callable[[], object]) -> None:
    """Calls a bound method in each process that is forked from this one while its object lives: threads and locks stay behind."""
    if hasattr(os, "register_at_fork"):
        method = WeakMethod(renew)
        os.register_at_fork(after_in_child=lambda: (alive := method()) and alive())


T = TypeVar("T")


@contextlib.contextmanager
def holding(variable: ContextVar[Any], value: T) -> Iterator[T]:
    """Sets a context variable while the block lasts, and yields its value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)


@lru_cache(maxsize=1)
def _background() -> tuple[asyncio.AbstractEventLoop, Thread]:
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="vista-guard", daemon=True)
    thread.start()
    return loop, thread


if hasattr(os, "register_at_fork"):
    # A web server may load the guard before it forks: the loop's thread stays behind, and the child starts its own.
    os.register_at_fork(after_in_child=_background.cache_clear)


async def through(coroutine: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine that runs on the background loop, from any loop: for clients that belong to one loop.

    Context variables are those of the caller; cancelling the caller cancels the coroutine.
    """
    loop, _ = _background()
    if asyncio.get_running_loop() is loop:
        return await coroutine
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, loop))


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on the background loop. RuntimeError: called from that loop itself."""
    loop, thread = _background()
    if threading.current_thread() is thread:
        coroutine.close()
        raise RuntimeError(
            "a sync call was made from vista-guard's own event loop, which would deadlock; await the async version"
        )
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:  # Ctrl-C in the caller must stop the work, not only the waiting
        future.cancel()
        raise


_END: Any = object()
_Ready = asyncio.Queue[tuple[Any, BaseException | None]]
_AHEAD = 32
"""Items that may wait for the reader before making more waits too."""


class Bridged(Generic[T]):
    """Iterates over an async generator that runs, as one task, on the background loop. Starts with the first item."""

    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._taken: deque[tuple[Any, BaseException | None]] = deque()
        self._ended = False

    def __iter__(self) -> Bridged[T]:
        return self

    def __next__(self) -> T:
        if self._ended:
            raise StopIteration
        if self._task is None:
            run(self._start())
        if not self._taken:
            self._taken.extend(run(self._take()))
        item, error = self._taken.popleft()
        self._ended = item is _END
        if self._ended:
            raise StopIteration if error is None else error
        value: T = item
        return value

    @property
    def started(self) -> bool:
        """True once the first item was asked for."""
        return self._task is not None

    def close(self) -> None:
        """Ends the judging, and with it the reading."""
        self._ended = True
        if self._task is not None:
            run(self._stop())

    def __del__(self) -> None:
        # May run in any thread, the loop's own included: the task is told, not waited for.
        if self._task is not None and self._loop is not None and not self._task.done():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _start(self) -> None:
        self._ready: _Ready = asyncio.Queue(_AHEAD)
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(_pump(lambda: self._items, self._ready))

    async def _take(self) -> list[tuple[Any, BaseException | None]]:
        """All that is ready: a change of threads costs more than an item."""
        taken = [await self._ready.get()]
        while not self._ready.empty():
            taken.append(self._ready.get_nowait())
        return taken

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


async def in_task(make: Callable[[], AsyncIterator[T]], context: Context) -> AsyncGenerator[T, None]:
    """The items of an async iterator that is read by a task of its own, in the given context.

    An agent finds the settings of its run in the context, and may hold things that only the task which opened them can close.
    """
    ready: _Ready = asyncio.Queue(_AHEAD)
    task = asyncio.create_task(_pump(make, ready), context=context)
    try:
        while True:
            item, error = await ready.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        task.cancel()
        await asyncio.wait((task,))


async def in_thread(
    make: Callable[[], Iterator[T]],
    context: Context,
    *,
    close: Callable[[], object] | None = None,
    interrupt: Callable[[], object] | None = None,
) -> AsyncGenerator[T, None]:
    """The items of an iterator that is read by a thread of its own, in the given context, each when it is asked for.

    `make` gives the iterator, in the thread. `close` is called there at the end; without it the iterator is closed, where it can
    be. When the reader leaves while an item is being made, `interrupt` is called, to end the waiting for it.
    """
    requests: SimpleQueue[Future[Any] | None] = SimpleQueue()
    Thread(target=context.run, args=(_read, make, requests, close), name="vista-guard-stream", daemon=True).start()
    answer: Future[Any] = Future()
    try:
        while True:
            answer = Future()
            requests.put(answer)
            item = await asyncio.wrap_future(answer)
            if item is _END:
                return
            yield item
    finally:
        requests.put(None)
        if interrupt is not None and (not answer.done() or answer.cancelled()):
            interrupt()


def _read(
    make: Callable[[], Iterator[T]], requests: SimpleQueue[Future[Any] | None], close: Callable[[], object] | None
) -> None:
    items: Iterator[T] | None = None
    while (answer := requests.get()) is not None:
        if not answer.set_running_or_notify_cancel():
            continue
        try:
            items = iter(make()) if items is None else items
            item = next(items, _END)
        except BaseException as exc:  # Raised again where the items are read.
            answer.set_exception(exc)
        else:
            answer.set_result(item)
    close = close or getattr(items, "close", None)
    if close is not None:
        close()


async def _pump(make: Callable[[], AsyncIterator[T]], ready: _Ready) -> None:
    try:
        items = make()
        try:
            async for item in items:
                await ready.put((item, None))
        finally:
            close = getattr(items, "aclose", None)
            if close is not None:
                await close()
    except Exception as exc:  # Raised again where the items are read.
        await ready.put((_END, exc))
    else:
        await ready.put((_END, None))
