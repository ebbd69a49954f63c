"""Concurrent work on many items that may cost money, with budgets, unreachable endpoints and stopping.

A worker stores the result of an item before it takes the next one, so that a run can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Self, TypeVar, cast

from vista_guard.errors import BudgetError, JudgeError, VistaGuardError

FAILURES = 8
"""The work stops after this many unanswered items in a row; it can be resumed when the endpoint is back."""

T = TypeVar("T")


@dataclass
class WorkDone:
    """Progress of the work on items."""

    done: int = 0
    unasked: int = 0
    """Items that no endpoint answered; the next run asks about them again."""
    fault: str = ""
    """Error of the last of them."""
    stopped: str = ""
    """Reason why the work ended early; empty if it did not."""

    @property
    def complete(self) -> bool:
        """True if no item is left for another run, unless the user stopped this one."""
        return not (self.stopped or self.unasked)


async def work_through(
    items: Iterable[T],
    do: Callable[[T], Awaitable[None]],
    *,
    at_once: int,
    stop: asyncio.Event | None = None,
    noun: str = "items",
    aside: bool = False,
    told: Callable[[int], None] = lambda done: None,
) -> WorkDone:
    """Works on the items, `at_once` of them at the same time.

    Args:
        items: read one by one, when a worker is free.
        do: works on one item and stores the result. A `JudgeError` means that no answer came, a `BudgetError` that
            the budget is spent; the latter ends the work. Any other exception ends it and is raised.
        at_once: number of workers, at least 1.
        stop: set to end after the items in progress.
        noun: name of the items in messages.
        aside: reads items in a thread, where reading one takes a while.
        told: called with 1 after each item, however it ended.

    Returns:
        The progress; `stopped` is the reason for an early end.
    """
    work, halt = WorkDone(), stop or asyncio.Event()
    left, in_a_row = _Queue(iter(items), aside), 0

    async def worker() -> None:
        nonlocal in_a_row
        async for item in left:
            if halt.is_set() or work.stopped:
                return
            try:
                await do(item)
            except BudgetError as exc:
                work.stopped = work.stopped or str(exc)
                return
            except JudgeError as exc:
                work.unasked += 1
                work.fault = str(exc)
                in_a_row += 1
                if in_a_row >= FAILURES:
                    work.stopped = work.stopped or f"{FAILURES} {noun} in a row got no answer: {exc}"
                continue
            finally:
                told(1)
            in_a_row = 0
            work.done += 1

    await run_all(worker() for _ in range(max(1, at_once)))
    return work


class _Queue(Generic[T]):
    def __init__(self, items: Iterator[T], aside: bool) -> None:
        self._items, self._aside, self._reading = items, aside, asyncio.Lock()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        if self._aside:
            async with self._reading:
                item = await asyncio.to_thread(next, self._items, _END)
        else:
            item = next(self._items, _END)
        if item is _END:
            raise StopAsyncIteration
        return cast("T", item)


_END = object()


async def run_all(workers: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs all workers to the end; if one fails, cancels the others and raises its error."""
    try:
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
    except BaseExceptionGroup as failed:
        known, unknown = failed.split(VistaGuardError)
        if unknown is not None or known is None:
            raise
        raise known.exceptions[0] from None
