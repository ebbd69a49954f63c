"""Batches concurrent requests to the models: a bounded, fair queue before a few worker threads.

Requests are not merged into one tensor. The shipped models quantise activations by the range of the whole tensor, so a pair's
scores would depend on its neighbours: `docs/design/batching.md` has the measurement. Each pass holds one input instead.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Condition, Event, Thread
from typing import Any, TypeVar

from vista_guard._aio import after_fork, load_once
from vista_guard.errors import ConfigError

T = TypeVar("T")
R = TypeVar("R")

REQUESTS = 16
"""Most requests that take turns; further callers wait, in the order in which they came."""
THREADS = "VISTA_GUARD_THREADS"
"""Environment variable: how many passes may run at once. 0, or none given, is one for each core of this process."""


class _Request:
    """A caller's passes: those to come, and the results of the others."""

    def __init__(self, call: Callable[[Any], Any], inputs: Sequence[Any]) -> None:
        self.call = call
        self.inputs = inputs
        self.waiting = deque(range(len(inputs)))
        self.results: list[Any] = [None] * len(inputs)
        self.left = len(inputs)
        self.error: BaseException | None = None
        self.done = Event()


class Passes:
    """Runs the passes of concurrent requests, at most `workers` at once. Safe to share between threads.

    A request that finds nobody before it starts at once, its first pass on the caller's own thread: there is no timer.
    Otherwise requests take turns, one pass each, so that a short turn does not wait for a long one. At most `requests` take
    turns; the next caller blocks until one is done. The workers are daemon threads, started by the first request: none keeps a
    process from ending. A forked child starts its own.
    """

    def __init__(self, workers: int, *, requests: int = REQUESTS) -> None:
        self._workers = workers
        self._most = requests
        self._reset()
        after_fork(self._reset)

    def _reset(self) -> None:
        # In a forked child the threads are gone, and the lock may be held by one of them for ever.
        self._changed = Condition()
        self._line: deque[_Request] = deque()
        self._running = 0
        self._inside = 0
        self._outside: deque[Event] = deque()
        self._threads: list[Thread] = []

    def run(self, call: Callable[[T], R], inputs: Sequence[T]) -> list[R]:
        """Returns `call` of each of `inputs`, in order, and starts them in that order.

        Raises:
            Exception: what the first failing call raised; calls of this request that had not started are dropped.
        """
        if not inputs:
            return []
        with self._place():
            request = _Request(call, inputs)
            with self._changed:
                self._start()
                self._line.append(request)
                self._changed.notify(len(inputs) - 1)
            try:
                while (index := self._own(request)) is not None:
                    self._pass(request, index)
                request.done.wait()
            finally:
                with self._changed:
                    self._drop(request)  # a caller that was interrupted waits for nothing more
        if request.error is not None:
            raise request.error
        return request.results

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Holds one of the places for requests. A place that becomes free goes to the longest waiting."""
        with self._changed:
            gate = Event() if self._inside >= self._most else None
            if gate is None:
                self._inside += 1
            else:
                self._outside.append(gate)
        try:
            if gate is not None:
                gate.wait()
            yield
        finally:
            with self._changed:
                if gate is not None and gate in self._outside:
                    self._outside.remove(gate)  # interrupted before it had a place
                elif self._outside:
                    self._outside.popleft().set()
                else:
                    self._inside -= 1

    def _start(self) -> None:
        while len(self._threads) < self._workers:
            name = f"vista-guard-model-{len(self._threads)}"
            self._threads.append(Thread(target=self._work, name=name, daemon=True))
            self._threads[-1].start()

    def _work(self) -> None:
        while True:
            request, index = self._next()
            self._pass(request, index)
            del request  # a worker that waits must not keep what was asked last

    def _own(self, request: _Request) -> int | None:
        """A pass for the caller's own thread, while nobody else waits, which saves a handover."""
        with self._changed:
            if self._running < self._workers and len(self._line) == 1 and self._line[0] is request:
                return self._take()[1]
            self._wake()  # the workers were notified of one pass less
            return None

    def _next(self) -> tuple[_Request, int]:
        with self._changed:
            while not self._line or self._running >= self._workers:
                self._changed.wait()
            return self._take()

    def _take(self) -> tuple[_Request, int]:
        """The next pass of the request whose turn it is, which then goes to the end of the line."""
        request = self._line.popleft()
        index = request.waiting.popleft()
        if request.waiting:
            self._line.append(request)
        self._running += 1
        return request, index

    def _pass(self, request: _Request, index: int) -> None:
        try:
            request.results[index] = request.call(request.inputs[index])
        except BaseException as exc:  # it belongs to the caller, who waits for it; a worker lives on
            request.error = request.error or exc
        with self._changed:
            self._running -= 1
            request.left -= 1
            if request.error is not None:
                self._drop(request)
            if request.left == 0:
                request.done.set()
            self._wake()

    def _wake(self) -> None:
        if self._line:  # a worker that wakes for nothing takes time from whoever runs
            self._changed.notify()

    def _drop(self, request: _Request) -> None:
        request.left -= len(request.waiting)
        request.waiting.clear()
        if request in self._line:
            self._line.remove(request)


@load_once
def shared_passes() -> Passes:
    """The process's queue for all its models, which together use no more cores than there are.

    Raises:
        ConfigError: `VISTA_GUARD_THREADS` is no whole number from 0 on.
    """
    value = os.environ.get(THREADS, "0")
    if not value.isdecimal():
        raise ConfigError(f"{THREADS} is {value!r}; it must be a whole number: 0 for all cores, or how many to use")
    return Passes(int(value) or usable_cores())


def usable_cores() -> int:
    """Cores that this process may use: a container or `taskset` may leave it fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
