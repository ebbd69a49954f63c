"""Work on many items at once, each of which may cost money: budgets, endpoints that are gone, and stopping.

Whoever works writes down what came of an item before it takes the next one, so that a run can be resumed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from vista_guard.errors import BudgetError, JudgeError, VistaGuardError

FAILURES = 8
"""So many items in a row that no endpoint answers, and the work stops: it can be resumed when the endpoint is back."""

T = TypeVar("T")


@dataclass
class WorkDone:
    """How far the work on items has come."""

    done: int = 0
    unasked: int = 0
    """Items that no endpoint answered; the next run asks about them again."""
    fault: str = ""
    """Why the last of them got no answer."""
    stopped: str = ""
    """Why the work ended before all items were taken; empty where it did not."""

    @property
    def complete(self) -> bool:
        """True if nothing is left for another run, unless the user stopped this one."""
        return not (self.stopped or self.unasked)


async def work_through(
    items: Iterable[T],
    do: Callable[[T], Awaitable[None]],
    *,
    at_once: int,
    stop: asyncio.Event | None = None,
    noun: str = "items",
) -> WorkDone:
    """Does something with each item, with so many of them at the same time.

    Args:
        items: taken one after the other, when a worker is free.
        do: works on one item, and writes down what came of it. A `JudgeError` says that no answer came, a `BudgetError` that
            nothing is left to spend; the latter ends the work. Any other exception ends it and is raised.
        at_once: number of workers, at least 1.
        stop: set to end after the items that are being worked on.
        noun: what the items are called in messages.

    Returns:
        What was done; `stopped` says why it ended early.
    """
    found, halt = WorkDone(), stop or asyncio.Event()
    left, in_a_row = iter(items), 0

    async def worker(left: Iterator[T]) -> None:
        nonlocal in_a_row
        for item in left:
            if halt.is_set() or found.stopped:
                return
            try:
                await do(item)
            except BudgetError as exc:
                found.stopped = found.stopped or str(exc)
                return
            except JudgeError as exc:
                found.unasked += 1
                found.fault = str(exc)
                in_a_row += 1
                if in_a_row >= FAILURES:
                    found.stopped = found.stopped or f"{FAILURES} {noun} in a row got no answer: {exc}"
                continue
            in_a_row = 0
            found.done += 1

    await run_all(worker(left) for _ in range(max(1, at_once)))
    return found


async def run_all(workers: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs them to the end; when one fails, the others are cancelled and its error is raised as it was."""
    try:
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
    except BaseExceptionGroup as failed:
        known, unknown = failed.split(VistaGuardError)
        if unknown is not None or known is None:
            raise
        raise known.exceptions[0] from None
