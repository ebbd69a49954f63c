"""The review queue, annotations and consensus, on SQLite and on Postgres."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
import pytest_asyncio

from tests.proxy.test_admin import postgres
from tests.stores.test_reports_contract import START, report
from tests.stores.test_schema import file, server
from vista_guard import Action, Decision, InputError, Label, Span
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reviews import AnnotatedClaim, Annotations, Consensus, ReviewQueue

__all__ = ["file", "postgres", "server"]  # fixtures

BLOCKED = Decision(action=Action.BLOCK, reason="contradicted")
CLAIM = AnnotatedClaim(op="confirm", text="The pier opened in 1911.", label=Label.VERIFIED, source_claim_id="t1.c1")
ADDED = AnnotatedClaim(op="add", text="It is long.", label=Label.OUT_OF_SCOPE, span=Span(start=25, end=36))


@pytest_asyncio.fixture(params=["file", "server"])
async def database(request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    """With ten reports of two tenants: r0 to r9, every third of them blocked."""
    url = str(request.getfixturevalue(request.param))
    store = SqlReports(url)
    for n in range(10):
        tenant = "acme" if n % 2 else "zoo"
        blocked = {"decision": BLOCKED} if n % 3 == 0 else {}
        await store.write(report(f"{tenant}/talk", n, n, id=f"r{n}", tenant=tenant, **blocked))
    await store.aclose()
    opened = Database(url)
    yield opened
    opened.close()


def test_the_queue_is_filled_once_and_with_what_deserves_it(database: Database) -> None:
    queue = ReviewQueue(database)
    span = START, START + timedelta(hours=1)
    assert queue.fill(*span, low_confidence=0.2, share=0.0) == 4
    assert queue.fill(*span, low_confidence=0.2, share=0.0) == 0
    assert sorted(one.report_id for one in queue.queue()) == ["r0", "r3", "r6", "r9"]
    assert queue.counts() == {"blocked": 4, "overdue": 0}
    assert queue.fill(*span, low_confidence=0.5, share=0.0) == 10
    assert {one.tenant for one in ReviewQueue(database, tenant="acme").queue()} == {"acme"}


def test_a_complaint_comes_first_and_says_what_was_wrong(database: Database) -> None:
    queue = ReviewQueue(database)
    queue.add("r3", "blocked")
    assert queue.add("r3", "blocked").id == queue.add("r3", "blocked").id
    made = queue.add("r4", "complaint", note="The pier did open then.", claim_id="t4.c1", by="ada")
    assert queue.queue()[0] == made
    assert (made.note, made.claim_id, made.asked_by, made.tenant) == ("The pier did open then.", "t4.c1", "ada", "zoo")
    assert [one.reason for one in queue.of_report("r3")] == ["blocked"]
    with pytest.raises(InputError, match="there is no report 'r4' here"):
        ReviewQueue(database, tenant="acme").add("r4", "complaint")


def test_a_reservation_is_one_persons_until_it_ends(database: Database) -> None:
    queue = ReviewQueue(database)
    first, second = queue.add("r0", "blocked"), queue.add("r3", "blocked")
    assert queue.reserve("ada") == queue.get(first.id)
    taken = queue.reserve("ben")
    assert taken is not None
    assert (taken.id, queue.reserve("cy")) == (second.id, None)
    assert queue.reserve("cy", review_id=first.id) is None
    with pytest.raises(InputError, match=rf"review {first.id} is reserved by ada"):
        queue.decide(first.id, "cy", "upheld", "It says so.")
    assert queue.reserve("ada", review_id=first.id, minutes=-1) is not None
    given = queue.reserve("cy")
    assert given is not None
    assert (given.id, given.assignee) == (first.id, "cy")
    queue.release(first.id, "cy")
    assert queue.reserve("ben", review_id=first.id) is not None


def test_a_verdict_has_a_reason_and_is_given_once(database: Database) -> None:
    queue = ReviewQueue(database)
    made = queue.add("r0", "blocked")
    with pytest.raises(InputError, match="needs a reason"):
        queue.decide(made.id, "ada", "overturned", " ")
    done = queue.decide(made.id, "ada", "overturned", "The document says it, in other words.")
    assert (done.verdict, done.decided_by, done.assignee) == ("overturned", "ada", None)
    with pytest.raises(InputError, match="was decided by ada already: overturned"):
        queue.decide(made.id, "ben", "upheld", "No.")
    assert (queue.queue(), queue.queue(open_only=False)) == ((), (done,))


def test_ten_people_at_once_get_ten_reviews(database: Database) -> None:
    queue = ReviewQueue(database)
    for n in range(10):
        queue.add(f"r{n}", "sample")
    with ThreadPoolExecutor(10) as pool:
        taken = list(pool.map(lambda n: queue.reserve(f"person {n}"), range(10)))
    # Who found every row locked by others may go away with none and asks again: nobody gets another's.
    numbers = [one.id for one in taken if one is not None]
    assert len(numbers) == len(set(numbers)) >= 1


def test_people_are_blind_until_they_submitted(database: Database) -> None:
    annotations = Annotations(database)
    assert annotations.create(["r0", "r1", "gone"], "pilot", wanted=2) == 2
    assert annotations.create(["r0", "r1"], "pilot") == 0
    task = annotations.next_task("pilot", "ada")
    assert task is not None
    begun = annotations.open(task.id, "ada")
    assert (begun.version, begun.state, begun.condition, begun.claims) == (0, "draft", "blind", ())
    saved = annotations.save(task.id, "ada", [CLAIM, ADDED], version=0, seconds=12.5, notes="Odd.")
    assert (saved.version, saved.claims, saved.seconds, saved.notes) == (1, (CLAIM, ADDED), 12.5, "Odd.")
    assert annotations.open(task.id, "ben").claims == ()
    annotations.save(task.id, "ben", [CLAIM], version=0, seconds=3)
    assert [one.annotator for one in annotations.of_task(task.id, "ben")] == ["ben"]
    annotations.submit(task.id, "ada")
    assert [one.annotator for one in annotations.of_task(task.id, "ben")] == ["ben"]
    annotations.submit(task.id, "ben")
    assert [one.annotator for one in annotations.of_task(task.id, "ben")] == ["ben", "ada"]
    assert [one.annotator for one in annotations.of_task(task.id, "cy", adjudicating=True)] == ["ada", "ben"]
    following = [annotations.next_task("pilot", who) for who in ("ada", "cy")]
    assert [one and one.report_id for one in following] == ["r1", "r1"]
    (batch,) = annotations.batches()
    assert (batch.name, batch.tasks, batch.wanted, batch.submitted, batch.agreed) == ("pilot", 2, 4, 2, 0)
    assert len(annotations.submitted("pilot")) == 2


def test_nothing_is_saved_over_another_windows_work(database: Database) -> None:
    annotations = Annotations(database)
    annotations.create(["r0"], "pilot")
    task = annotations.tasks("pilot")[0]
    annotations.open(task.id, "ada")
    annotations.save(task.id, "ada", [CLAIM], version=0, seconds=1)
    with pytest.raises(InputError, match="saved in another window"):
        annotations.save(task.id, "ada", [], version=0, seconds=1)
    unsure = CLAIM.model_copy(update={"label": None})
    annotations.save(task.id, "ada", [unsure], version=1, seconds=1)
    with pytest.raises(InputError, match="1 claims have no label yet, the first is 'The pier opened"):
        annotations.submit(task.id, "ada")


def test_a_consensus_is_kept_and_read_as_gold(database: Database) -> None:
    Annotations(database).create(["r0", "r1"], "pilot")
    consensus, (task, other) = Consensus(database), Annotations(database).tasks("pilot")
    consensus.put(task.id, [CLAIM], method="majority", by="ada")
    consensus.put(task.id, [CLAIM, ADDED], method="adjudicated", by="cy")
    (agreed,) = consensus.of_batch("pilot")
    assert (agreed.report_id, agreed.claims, agreed.method) == ("r0", (CLAIM, ADDED), "adjudicated")
    assert (consensus.get(other.id), consensus.of_report("r0")) == (None, (agreed,))
    assert Consensus(database, tenant="acme").of_batch("pilot") == ()


async def test_forget_takes_reviews_and_annotations_along(database: Database) -> None:
    queue, annotations, consensus = ReviewQueue(database), Annotations(database), Consensus(database)
    for name in ("r0", "r1"):
        queue.add(name, "complaint", note="SECRET")
    annotations.create(["r0", "r1"], "pilot")
    for task in annotations.tasks("pilot"):
        annotations.open(task.id, "ada")
        annotations.save(task.id, "ada", [CLAIM], version=0, seconds=1)
        consensus.put(task.id, [CLAIM], method="majority", by="ada")
    store = SqlReports(database.engine)
    assert await store.forget("zoo/talk") == 5
    assert [one.report_id for one in queue.queue()] == ["r1"]
    assert [one.report_id for one in annotations.tasks("pilot")] == ["r1"]
    assert [one.report_id for one in consensus.of_batch("pilot")] == ["r1"]
    assert await store.forget_tenant("acme") == 5
    assert (queue.queue(), annotations.batches(), store.reader.choices()["tenant"]) == ((), (), ("zoo",))
    await store.aclose()
