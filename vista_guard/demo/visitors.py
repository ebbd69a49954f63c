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
from vista_guard.demo.museum import VISIT, Topic

if TYPE_CHECKING:
    from vista_guard.guard import Guard
    from vista_guard.protocols import Judge


TOPICS: tuple[Topic, ...] = (
    *VISIT,
    Topic("When do you open in the morning?", ("The museum opens at ten.",), ("hours",)),
    Topic(
        "When does the last tour start?",
        ("The last tour starts at six in the evening.", "The last tour starts at four."),
        ("hours",),
    ),
    Topic("Do children pay?", ("Children under twelve enter free. Tickets are sold at the door.",), ("tickets",)),
    Topic(
        "Can I buy tickets online?",
        ("Tickets are sold at the door. You can also buy them on our website.",),
        ("tickets",),
    ),
    Topic(
        "What is the oldest clock?",
        ("The oldest clock is a water clock made of bronze. It was found in a well.",),
        ("collection",),
    ),
    Topic(
        "Who winds all these clocks?", ("Most of the clocks are wound by hand every Monday morning.",), ("collection",)
    ),
    Topic(
        "What is the Moon Clock made of?",
        ("The Moon Clock is made of silver and oak.", "The Moon Clock is made of walnut and brass."),
        ("moon-clock",),
    ),
    Topic(
        "Where do I find the Moon Clock?",
        ("The Moon Clock stands in the tower room on the second floor. It shows the phases of the moon.",),
        ("moon-clock",),
    ),
    Topic("What was this building before?", ("The building was a sail loft before it became a museum.",), ("history",)),
    Topic(
        "Was it founded by the town?",
        ("The museum was founded by the mayor in 1950.", "The museum was founded in 1950 by the mayor."),
        ("history",),
    ),
    Topic(
        "Which clock should I not miss?",
        ("I think the Moon Clock is the most beautiful one. You should see it.",),
        ("moon-clock",),
    ),
    Topic("Is there a café?", ("I don't know whether there is a café nearby.",), ("hours",)),
)
"""Each can be asked in any order; some answers are wrong, some only at first, some unsupported."""


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
