"""The review queue: what comes in, who has it, what is decided, who sees it."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest

from tests.raising import raises
from tests.stores.reviews.conftest import Write
from vista_guard.errors import InputError
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.store import SAMPLE, Reason, is_sampled, reason_of, urgency
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict
from vista_guard.types import Action, Decision, Finding, JudgeInfo, TurnReport


def sure(report: TurnReport, confidence: float) -> tuple[Finding, ...]:
    """The report's findings, so sure."""
    return tuple(one.model_copy(update={"confidence": confidence}) for one in report.findings)


def names_of(count: int) -> list[str]:
    return [f"{number:032x}" for number in range(count)]


def test_reasons(write: Write) -> None:
    plain = write(action=Action.ALLOW)
    of_ensemble = {"judge": JudgeInfo(name="ensemble:a,b", version="1")}
    apart, in_the_sample = "0" * 32, next(name for name in names_of(1000) if is_sampled(name))
    assert not is_sampled(apart)
    allowed = plain.model_copy(update={"outcomes": sure(plain, 0.9), "id": apart})
    assert reason_of(write(action=Action.BLOCK)) is Reason.BLOCKED
    assert reason_of(plain) is Reason.LOW_CONFIDENCE
    assert reason_of(allowed) is None
    assert reason_of(allowed.model_copy(update=of_ensemble)) is Reason.DISAGREEMENT
    assert reason_of(allowed.model_copy(update={**of_ensemble, "outcomes": sure(plain, 1.0)})) is None
    assert reason_of(allowed.model_copy(update={"id": in_the_sample})) is Reason.SAMPLE
    flagged = {"decision": Decision(action=Action.FLAG, reason="a hint")}
    assert reason_of(allowed.model_copy(update=flagged)) is Reason.FLAGGED
    assert reason_of(plain.model_copy(update={**flagged, **of_ensemble, "id": apart})) is Reason.FLAGGED
    assert reason_of(allowed.model_copy(update={**flagged, "id": in_the_sample})) is Reason.SAMPLE


def test_one_in_a_hundred() -> None:
    share = sum(map(is_sampled, names_of(20_000))) / 20_000
    assert share == pytest.approx(1 / SAMPLE, rel=0.2)


def test_a_turn_from_the_queue_to_its_verdict(url: str, write: Write) -> None:
    first, second = write("a"), write("b", minutes=1)
    reviews = Reviews(url)
    assert [one.report_id for one in reviews.queue().rows] == [first.id, second.id]
    assert reviews.counts() == {Reason.BLOCKED: 2}
    taken = reviews.take_next("ada")
    assert taken is not None
    assert (taken.report_id, taken.assignee) == (first.id, "ada")
    decided = reviews.decide(first.id, "ada", ReviewVerdict.OVERTURNED, " The leaflet says so. ")
    assert (decided.open, decided.verdict, decided.verdict_reason) == (False, "overturned", "The leaflet says so.")
    assert [one.report_id for one in reviews.queue().rows] == [second.id]
    assert [one.report_id for one in reviews.queue(open=False).rows] == [first.id]
    trail = [(event.who, event.what, event.text) for event in reviews.trail(first.id)]
    assert trail == [
        ("vista-guard", "queued", "blocked"),
        ("ada", "reserved", ""),
        ("ada", "overturned", "The leaflet says so."),
    ]
    reviews.close()


def test_who_has_a_turn_has_it_alone_until_their_time_is_over(url: str, write: Write) -> None:
    name = write().id
    reviews = Reviews(url)
    reviews.reserve(name, "ada")
    with raises(InputError, "ada"):
        reviews.reserve(name, "ben")
    with raises(InputError, "ada"):
        reviews.decide(name, "ben", ReviewVerdict.UPHELD, "right")
    reviews.release(name, "ben")
    assert reviews.take_next("ben") is None
    reviews.reserve(name, "ada", time=timedelta(seconds=-1))
    assert reviews.reserve(name, "ben").assignee == "ben"
    reviews.release(name, "ben")
    assert reviews.decide(name, "ada", ReviewVerdict.UPHELD, "right").decided_by == "ada"
    with raises(InputError, "ada", "upheld"):
        reviews.reserve(name, "ben")
    reviews.close()


def test_two_who_reserve_at_once(url: str, write: Write) -> None:
    names = {write(f"talk {number}", minutes=number).id for number in range(8)}
    reviews = Reviews(url)
    people = [f"person {number}" for number in range(4)]
    start = Barrier(len(people))

    def work(who: str) -> list[str]:
        own = Reviews(url)  # as a process of its own has it
        start.wait()
        taken = [own.take_next(who) for _ in range(3)]
        own.close()
        return [one.report_id for one in taken if one is not None]

    with ThreadPoolExecutor(len(people)) as pool:
        taken = [name for own in pool.map(work, people) for name in own]
    assert sorted(taken) == sorted(names)
    one = names.pop()
    reviews.release(one, next(who for who in people if (found := reviews.get(one)) and found.assignee == who))
    start = Barrier(2)

    def reserve(who: str) -> bool:
        own = Reviews(url)
        start.wait()
        try:
            return bool(own.reserve(one, who))
        except InputError:
            return False
        finally:
            own.close()

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(reserve, ("ada", "ben"))) == [False, True]
    reviews.close()


def test_a_complaint_opens_what_was_decided_and_queues_what_was_not(url: str, write: Write) -> None:
    blocked = write("a")
    fine = write("b", action=Action.REPAIR, outcomes=())
    reviews = Reviews(url)
    assert reviews.get(fine.id) is None
    reviews.decide(blocked.id, "ada", ReviewVerdict.UPHELD, "it is wrong")
    for name in (blocked.id, fine.id):
        found = reviews.complain(name, "That is on the poster.", "a visitor")
        assert (found.reason, found.open, found.verdict, found.decided_by) == (Reason.COMPLAINT, True, None, None)
    assert [event.what for event in reviews.trail(blocked.id)] == ["queued", "upheld", "complaint"]
    assert reviews.counts() == {Reason.COMPLAINT: 2}
    reviews.comment(fine.id, "ada", "Which poster?")
    assert reviews.trail(fine.id)[-1].text == "Which poster?"
    reviews.close()


@pytest.mark.parametrize(
    "odd", ["<script>alert(1)</script>", "**bold** é漢字🦊", "nul\x00", "\ud83d", "'; DROP TABLE x;--"]
)
def test_texts_may_hold_anything(url: str, write: Write, odd: str) -> None:
    name = write().id
    reviews = Reviews(url)
    reviews.complain(name, odd)
    kept = reviews.trail(name)[-1].text
    assert kept == odd.replace("\x00", "�").replace("\ud83d", "?")
    reviews.close()


def test_what_is_refused(url: str, write: Write) -> None:
    name = write("a", tenant="north").id
    reviews = Reviews(url)
    for who in ("", "  ", "x" * 201, "a\nb"):
        with pytest.raises(InputError):
            reviews.reserve(name, who)
    with pytest.raises(InputError):
        reviews.decide(name, "ada", ReviewVerdict.UPHELD, " ")
    with raises(InputError, "10,000"):
        reviews.complain(name, "x" * 10_001)
    with raises(InputError, "nobody"):
        reviews.complain("nobody", "why")
    with pytest.raises(InputError):
        reviews.reserve(write("b", action=Action.REPAIR, outcomes=()).id, "ada")
    reviews.close()


def test_tenants_see_their_own(url: str, write: Write) -> None:
    north, south = write("a", tenant="north"), write("b", tenant="south")
    everyone = Reviews(url)
    mine = everyone.of_tenants(["north"])
    assert [one.report_id for one in mine.queue().rows] == [north.id]
    assert mine.counts() == {Reason.BLOCKED: 1}
    assert (mine.get(south.id), mine.trail(south.id)) == (None, ())
    with pytest.raises(InputError):
        mine.complain(south.id, "mine")
    assert mine.take_next("ada") is not None
    assert mine.take_next("ada") is None
    assert everyone.queue(tenant="south").rows[0].report_id == south.id
    everyone.close()


def test_pages_of_the_queue(url: str, write: Write) -> None:
    names = [write(f"talk {number}", minutes=number).id for number in range(5)]
    reviews = Reviews(url)
    first = reviews.queue(limit=2)
    second = reviews.queue(limit=2, after=first.next)
    last = reviews.queue(limit=2, after=second.next)
    assert [one.report_id for page in (first, second, last) for one in page.rows] == names
    assert last.next is None
    for name in names:
        reviews.decide(name, "ada", ReviewVerdict.UPHELD, "right")
    done = reviews.queue(open=False, limit=3)
    rest = reviews.queue(open=False, limit=3, after=done.next)
    assert [one.report_id for page in (done, rest) for one in page.rows] == names[::-1]
    assert reviews.queue(Reason.SAMPLE, open=False).rows == ()
    reviews.close()


def test_the_riskiest_comes_first_and_a_complaint_before_it(url: str, write: Write) -> None:
    risks = {"a": 0.3, "b": None, "c": 0.9, "d": 0.9, "e": 1.0}
    made = {name: write(name, minutes=place, risk=risk).id for place, (name, risk) in enumerate(risks.items())}
    reviews = Reviews(url)
    reviews.complain(made["b"], "It is on the poster.")
    order = [made[name] for name in "becda"]
    pages, after = [], None
    for _ in range(3):
        page = reviews.queue(limit=2, after=after)
        pages += [one.report_id for one in page.rows]
        after = page.next
    assert (pages, after) == (order, None)
    assert urgency(Reason.COMPLAINT, None) > urgency(Reason.BLOCKED, 1.0)
    taken = [reviews.take_next("ada"), reviews.take_next("ben")]
    assert [one and one.report_id for one in taken] == order[:2]
    reviews.close()


def test_a_verdict_is_taken_back_by_who_gave_it(url: str, write: Write) -> None:
    first, second = write("a"), write("b", minutes=1)
    reviews = Reviews(url)
    done = reviews.decide_all([first.id, second.id], "ada", ReviewVerdict.UPHELD, "as judged")
    assert reviews.undo(done, "ben") == 0
    assert reviews.undo(done, "ada") == 2
    assert reviews.undo(done, "ada") == 0
    found = reviews.get(first.id)
    assert found is not None
    assert (found.open, found.verdict, found.decided_by) == (True, None, None)
    assert [event.what for event in reviews.trail(first.id)] == ["queued", "upheld", "reopened"]
    assert reviews.take_next("ben") is not None
    reviews.close()


@pytest.mark.parametrize("by", ["conversation", "tenant"])
def test_what_is_forgotten_leaves_no_trace(url: str, write: Write, by: str) -> None:
    gone, stays = write("a", tenant="north"), write("b", tenant="south")
    reviews, store = Reviews(url), SqlReports(url)
    for name in (gone.id, stays.id):
        reviews.complain(name, "a word")

    async def forget() -> None:
        await (store.forget("a") if by == "conversation" else store.forget_tenant("north"))
        await store.aclose()

    asyncio.run(forget())
    assert (reviews.get(gone.id), reviews.trail(gone.id)) == (None, ())
    assert [one.report_id for one in reviews.queue().rows] == [stays.id]
    assert reviews.trail(stays.id)
    reviews.close()


def test_equal_drafts_are_decided_at_once(url: str, write: Write) -> None:
    first, second, third = write("a"), write("b", minutes=1), write("c", minutes=2)
    other = write("d", minutes=3, outcomes=sure(first, 0.5)[:1] * 2)
    reviews = Reviews(url)
    keys = reviews.draft_keys(reviews.queue().rows)
    assert keys[first.id] == keys[second.id] == keys[third.id] != keys[other.id]
    assert [one.report_id for one in reviews.equal(first.id)] == [second.id, third.id]
    on_this_page = reviews.queue(limit=1).rows  # the others are on later pages
    assert [[one.report_id for one in group] for group in reviews.grouped(on_this_page)] == [
        [first.id, second.id, third.id]
    ]
    reviews.reserve(third.id, "ben")
    assert reviews.decide_all([first.id, second.id, third.id], "ada", ReviewVerdict.UPHELD, "as judged") == (
        first.id,
        second.id,
    )
    assert {one.report_id for one in reviews.queue().rows} == {third.id, other.id}
    assert reviews.equal("nothing") == ()
    reviews.close()


def test_drafts_of_two_tenants_are_not_equal(url: str, write: Write) -> None:
    north, south = write("a", tenant="north"), write("b", tenant="south", minutes=1)
    also = write("c", tenant="north", minutes=2)
    reviews = Reviews(url)
    groups = reviews.grouped(reviews.queue().rows)
    assert [[one.report_id for one in group] for group in groups] == [[north.id, also.id], [south.id]]
    assert [one.report_id for one in reviews.equal(north.id)] == [also.id]
    reviews.close()
