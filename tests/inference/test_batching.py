"""Concurrent callers share the models: turns, places, errors, forks, and rows that depend on no stranger."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from inspect import unwrap
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest

from tests.pace import PATIENCE_S
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.inference.batching import Passes, shared_passes
from vista_guard.inference.onnx import shared_encoder
from vista_guard.inference.weights import WEIGHTS

needs_weights = pytest.mark.skipif(not (WEIGHTS / "verifier.onnx").is_file(), reason="the weights are not here")


@pytest.fixture
def callers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as threads:
        yield threads


class Gated:
    """A pass that notes what it is given, and waits to be let through."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.reached: dict[str, Event] = {}
        self.gates: dict[str, Event] = {}
        self._lock = Lock()

    def __call__(self, name: str) -> str:
        with self._lock:
            self.begun.append(name)
        self._event(self.reached, name).set()
        assert self._event(self.gates, name).wait(PATIENCE_S)
        return name.upper()

    def until(self, name: str) -> None:
        assert self._event(self.reached, name).wait(PATIENCE_S)

    def let(self, *names: str) -> None:
        for name in names:
            self._event(self.gates, name).set()

    def _event(self, events: dict[str, Event], name: str) -> Event:
        with self._lock:
            return events.setdefault(name, Event())


def asked(callers: ThreadPoolExecutor, passes: Passes, call: Callable[[Any], Any], *inputs: str) -> Future[list[Any]]:
    """A request that has joined the line, or waits before it."""
    before = len(passes._line) + len(passes._outside)
    future = callers.submit(passes.run, call, inputs)
    while len(passes._line) + len(passes._outside) == before and not future.done():
        wait([future], timeout=0.001)
    return future


def test_results_come_in_the_order_of_the_inputs(callers: ThreadPoolExecutor) -> None:
    passes, call = Passes(2), Gated()
    future = callers.submit(passes.run, call, ["a", "b", "c"])
    call.until("a")
    call.until("b")
    call.let("b", "c")
    call.until("c")
    assert sorted(call.begun[:2]) == ["a", "b"]
    call.let("a")
    assert future.result(PATIENCE_S) == ["A", "B", "C"]
    assert passes.run(str.upper, []) == []


def test_requests_take_turns_so_that_a_short_one_does_not_wait_for_a_long_one(callers: ThreadPoolExecutor) -> None:
    passes, call = Passes(1), Gated()
    long = callers.submit(passes.run, call, ["l1", "l2", "l3", "l4"])
    call.until("l1")
    short = asked(callers, passes, call, "s1")
    call.let("l1", "l2", "l3", "l4", "s1")
    assert (long.result(PATIENCE_S), short.result(PATIENCE_S)) == (["L1", "L2", "L3", "L4"], ["S1"])
    assert call.begun == ["l1", "l2", "s1", "l3", "l4"]


def test_a_full_queue_makes_callers_wait_in_the_order_in_which_they_came(callers: ThreadPoolExecutor) -> None:
    passes, call = Passes(1, requests=2), Gated()
    first = callers.submit(passes.run, call, ["a1", "a2"])
    call.until("a1")
    others = [asked(callers, passes, call, name) for name in ("b", "c", "d")]
    assert (len(passes._line), len(passes._outside)) == (2, 2)  # a2 and b take turns; c and d wait for a place
    call.let("a1", "a2")
    first.result(PATIENCE_S)
    call.until("b")
    while not passes._line:  # c takes the place that a left, before b leaves one to d
        wait(others[1:], timeout=0.001)
    call.let("b", "c", "d")
    assert [future.result(PATIENCE_S) for future in (first, *others)] == [["A1", "A2"], ["B"], ["C"], ["D"]]
    assert call.begun == ["a1", "a2", "b", "c", "d"]
    assert (passes._inside, len(passes._line), len(passes._outside)) == (0, 0, 0)


def test_an_error_reaches_its_own_request_only_and_drops_the_rest_of_it(callers: ThreadPoolExecutor) -> None:
    passes, gated = Passes(1), Gated()

    def call(name: str) -> str:
        answer = gated(name)
        if name == "bad":
            raise RuntimeError("the pass of 'bad' failed")
        return answer

    failing = callers.submit(passes.run, call, ["bad", "never"])
    gated.until("bad")
    sound = asked(callers, passes, call, "good")
    gated.let("bad", "good")
    with raises(RuntimeError, "bad"):
        failing.result(PATIENCE_S)
    assert sound.result(PATIENCE_S) == ["GOOD"]
    assert gated.begun == ["bad", "good"]
    gated.let("again")
    assert passes.run(call, ["again"]) == ["AGAIN"]


def test_many_threads_get_their_own_answers(callers: ThreadPoolExecutor) -> None:
    passes = Passes(3, requests=4)
    wanted = [[number * 100 + place for place in range(number % 7)] for number in range(200)]
    answers = list(callers.map(lambda inputs: passes.run(lambda value: -value, inputs), wanted))
    assert answers == [[-value for value in inputs] for inputs in wanted]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_works_and_the_process_ends() -> None:
    script = """
import os, threading
from vista_guard.inference.batching import Passes
passes, held, release = Passes(2), threading.Event(), threading.Event()
def hold(_): held.set(); release.wait()
assert passes.run(len, ["parent"]) == [6]
threading.Thread(target=passes.run, args=(hold, ["x"]), daemon=True).start()
held.wait()
child = os.fork()
if child == 0:
    os._exit(0 if passes.run(len, ["of the fork", "a"]) == [11, 1] else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("ends", flush=True)  # with a pass still held
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ends\n", "")


def test_a_wrong_number_of_threads_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_THREADS", "many")
    with raises(ConfigError, "VISTA_GUARD_THREADS", "many"):
        unwrap(shared_passes)()


@needs_weights
def test_a_row_of_the_real_model_depends_on_its_own_text_only(callers: ThreadPoolExecutor) -> None:
    encoder = shared_encoder("verifier", 256)
    pairs = [
        (f"The mill at Orsa{' on the river' * (number % 5)} has {number} sails.", f"The mill has {number % 4} sails.")
        for number in range(12)
    ]
    alone = np.concatenate([encoder.run([pair]) for pair in pairs])
    assert alone.shape == (12, 3)
    assert np.array_equal(encoder.run(pairs), alone)
    rotated = [[pairs[(start + place) % 12] for place in range(6)] for start in range(12)]
    for start, rows in enumerate(callers.map(encoder.run, rotated)):
        assert np.array_equal(rows, np.take(alone, range(start, start + 6), axis=0, mode="wrap"))
    assert encoder.run([]).shape[0] == 0
