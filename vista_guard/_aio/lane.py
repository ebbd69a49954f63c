"""One thread for long work in pure Python, for all turns of the process.

Such threads do not run side by side: they take the interpreter from each other and, each for a switch interval at a time, from
the event loop. So there is one, and what waits for it waits in line; short work does not come here.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import lru_cache, partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


async def run(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """What the call returns. It runs with the caller's context variables; a caller that is cancelled leaves the line.

    Raises:
        Exception: what the call raised.
    """
    work = partial(copy_context().run, call, *args, **kwargs)
    return await asyncio.get_running_loop().run_in_executor(_thread(os.getpid()), work)


@lru_cache(maxsize=1)
def _thread(process: int) -> ThreadPoolExecutor:
    # A forked child has none of its parent's threads: it gets a thread of its own.
    return ThreadPoolExecutor(1, thread_name_prefix=f"vista-guard-long-{process}")
