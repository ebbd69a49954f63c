"""Who judges next on a cluster, without one."""

from __future__ import annotations

import asyncio

from vista_lab.runs.cluster import Places, Slot


async def test_places_are_handed_out_in_turn_and_waited_for() -> None:
    first, second = Slot(0), Slot(1)
    places = Places([first, second], each=2)
    assert [await places.take() for _ in range(4)] == [first, second, first, second]
    waiting = asyncio.ensure_future(places.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    await places.give_back(second)
    assert await waiting is second


async def test_a_slot_that_spent_its_share_is_not_handed_out_and_the_last_one_ends_the_run() -> None:
    first, second = Slot(0, share=2.0), Slot(1, share=2.0)
    places = Places([first, second], each=1)
    assert await places.take() is first
    first.spent, first.why_retired = 2.5, "2 turns are spent"
    assert first.left == 0.0
    await places.give_back(first)
    assert places.why_exhausted is None
    assert await places.take() is second
    waiting = asyncio.ensure_future(places.take())
    await asyncio.sleep(0)
    second.why_lost = "nobody came"
    await places.give_back(second)
    assert await waiting is None
    # A run that has spent what it had can be gone on with: that says more than a worker that is gone.
    assert [places.why_exhausted, places.why_lost] == ["2 turns are spent", None]


async def test_a_run_whose_workers_are_all_lost_says_why() -> None:
    slot = Slot(0)
    places = Places([slot], each=1)
    assert await places.take() is slot
    slot.why_lost = "nobody came"
    await places.give_back(slot)
    assert await places.take() is None
    assert [places.why_exhausted, places.why_lost] == [None, "nobody came"]
    assert slot.left is None


async def test_a_place_whose_worker_is_still_to_come_is_passed_over_and_waited_for() -> None:
    first, second = Slot(0, away=True), Slot(1)
    places = Places([first, second], each=1)
    assert await places.take() is second
    waiting = asyncio.ensure_future(places.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    await places.arrived(first)
    assert await waiting is first
