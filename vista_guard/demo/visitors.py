"""Endless conversations of the museum guide, for the dashboard's demo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from vista_guard.demo import museum
from vista_guard.demo.museum import TOPICS, VISIT, Topic

if TYPE_CHECKING:
    from vista_guard.guard import Guard
    from vista_guard.protocols import Judge


def guide(messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return museum.guide(messages, TOPICS)


def guarded(folder: Path, judge: Judge | str = "embedded") -> Guard:
    """Builds the demo's guard, which keeps reports with all texts in `folder`/reports.sqlite."""
    from vista_guard.demo import museum_guard

    return museum_guard(folder, judge, store="memory", reports="sqlite", record="full")


def conversations(seed: int = 7) -> Iterator[tuple[str, tuple[Topic, ...]]]:
    """Yields ids and topics without end. The first conversation is the demo's own visit."""
    chance = Random(seed)
    yield "visit-1", TOPICS[: len(VISIT)]
    for number in count(2):
        yield f"visit-{number}", tuple(chance.sample(TOPICS, chance.randint(3, 7)))


def talk(
    guard: Guard, wait: Event, *, at_once: int = 3, seconds: float = 2.0, visits: int | None = None, seed: int = 7
) -> None:
    """Holds conversations until `wait` is set, or until `visits` were held: the first `at_once` without a pause, to fill the
    dashboard, then with `seconds` between two turns.
    """
    answer = guard.wrap(guide)
    for number, (name, topics) in enumerate(islice(conversations(seed), visits)):
        messages: list[dict[str, str]] = []
        for topic in topics:
            if wait.wait(0 if number < at_once else seconds):
                return
            messages.append({"role": "user", "content": topic.question})
            reply = answer(messages, conversation_id=name)
            messages.append({"role": "assistant", "content": reply["answer"]})


@contextmanager
def visiting(folder: Path, *, judge: Judge | str = "embedded", seconds: float = 2.0) -> Iterator[None]:
    """Runs visitors in a thread while the block runs."""
    guard, end = guarded(folder, judge), Event()
    visitors = Thread(target=talk, args=(guard, end), kwargs={"seconds": seconds}, name="visitors", daemon=True)
    visitors.start()
    try:
        yield
    finally:
        end.set()
        visitors.join()
        guard.close()
