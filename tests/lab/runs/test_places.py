"""Who judges next on a cluster, without one."""

from __future__ import annotations

import asyncio

from vista_lab.runs.cluster import Places, Slot


def seated(*slots: Slot, each: int) -> Places:
    """Places of slots whose workers are all there."""
    for slot in slots:
        slot.away = False
    return Places(slots, each)


async def waiting_for(places: Places) -> asyncio.Task[Slot | None]:
    task = asyncio.ensure_future(places.take())
    await asyncio.sleep(0)
    assert not task.done()
    return task


async def test_places_are_handed_out_in_turn_and_waited_for() -> None:
    first, second = Slot(0), Slot(1)
    places = seated(first, second, each=2)
    assert [await places.take() for _ in range(4)] == [first, second, first, second]
    waiting = await waiting_for(places)
    places.give_back(second)
    assert await waiting is second


async def test_a_slot_that_spent_its_share_is_not_handed_out_and_the_last_one_ends_the_run() -> None:
    first, second = Slot(0, share=2.0), Slot(1, share=2.0)
    places = seated(first, second, each=1)
    assert await places.take() is first
    first.spent, first.exhausted = 2.5, "2 turns are spent"
    assert first.left == 0.0
    places.give_back(first)
    assert places.why_exhausted is None
    assert await places.take() is second
    waiting = [await waiting_for(places) for _ in range(3)]
    second.lost = "nobody came"
    places.give_back(second)
    assert await asyncio.gather(*waiting) == [None, None, None]
    # A run that has spent what it had can be gone on with: that says more than a worker that is gone.
    assert [places.why_exhausted, places.why_lost] == ["2 turns are spent", None]


async def test_a_run_whose_workers_are_all_lost_says_why() -> None:
    slot = Slot(0)
    places = seated(slot, each=1)
    assert await places.take() is slot
    slot.lost = "nobody came"
    places.give_back(slot)
    assert await places.take() is None
    assert [places.why_exhausted, places.why_lost] == [None, "nobody came"]
    assert slot.left is None


async def test_a_slot_whose_worker_is_still_to_come_is_passed_over_and_waited_for() -> None:
    first, second = Slot(0), Slot(1)
    places = seated(first, second, each=1)
    first.away = True
    assert await places.take() is second
    waiting = await waiting_for(places)
    first.away = False
    places.tell()
    assert await waiting is first
