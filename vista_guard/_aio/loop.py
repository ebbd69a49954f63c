"""One background event loop for sync callers, and one thread for long pure-Python work, both shared by the process.

The loop outlives a call, so pooled async clients do too. Long work has one thread only: more would not run side by side, but
take the interpreter from each other and from the event loop. Short work does not come here.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache, partial
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


async def run_long(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Runs the call in the thread for long work, with the caller's context variables; a cancelled caller leaves the queue.

    Raises:
        Exception: what the call raised.
    """
    work = partial(copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread(os.getpid()), work)


@lru_cache(maxsize=1)
def _thread(process: int) -> ThreadPoolExecutor:
    # A forked child has none of its parent's threads: it gets a thread of its own.
    return ThreadPoolExecutor(1, thread_name_prefix=f"vista-guard-long-{process}")


T = TypeVar("T")


class _BackgroundLoop:
    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vista-guard", daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError(
                "a sync call was made from vista-guard's own event loop, which would deadlock; await the async version"
            )
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:  # Ctrl-C in the caller must stop the work, not only the waiting
            future.cancel()
            raise

    async def through(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if asyncio.get_running_loop() is self._loop:
            return await coroutine
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(coroutine, self._loop))


@lru_cache(maxsize=1)
def _background() -> _BackgroundLoop:
    return _BackgroundLoop()


if hasattr(os, "register_at_fork"):
    # A web server may load the guard before it forks: the loop's thread stays behind, and the child starts its own.
    os.register_at_fork(after_in_child=_background.cache_clear)


async def through(coroutine: Coroutine[Any, Any, T]) -> T:
    """Awaits a coroutine that runs on the background loop, from any loop: for clients that belong to one loop.

    Context variables are those of the caller; cancelling the caller cancels the coroutine.
    """
    return await _background().through(coroutine)


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine to its end on the background loop, from any other thread.

    Raises:
        RuntimeError: called from the background loop itself.
    """
    return _background().run(coroutine)
