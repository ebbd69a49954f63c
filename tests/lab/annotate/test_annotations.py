"""Annotation: tasks, drafts, who sees whose work, consensus."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest
import sqlalchemy as sql

from tests.raising import raises
from tests.stores.reviews.conftest import Write
from vista_guard.errors import InputError
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.database import make_engine
from vista_guard.stores.reports.tables import PEOPLE_ON_A_REPORT
from vista_guard.stores.reviewed import ConsensusClaim, Op
from vista_guard.stores.reviews.queue import Reviews, Word, words
from vista_guard.types import Label, Span
from vista_lab.annotate.batches import Batches, Condition
from vista_lab.annotate.forms import Answers
from vista_lab.annotate.tables import ANSWERS, CONSENSUS, ITEMS
from vista_lab.metrics.agreement import Method

PIER = {"handling": "confirm", "label": "verifiable"}
LONG = {"handling": "edit", "new_text": "It is long. 🦊"}
NEW = {"handling": "add", "new_text": "It is made of wood.", "label": "lacking evidence"}
DONE = Answers({}, {"t1.c1": PIER})


def test_from_task_to_consensus(url: str, write: Write) -> None:
    names = [write(f"talk {number}", minutes=number).id for number in range(2)]
    batches = Batches(url)
    assert batches.create_of_turns("pilot", [*names, names[0]], wanted=2, who="ada") == 2
    assert batches.create_of_turns("pilot", names, wanted=3, who="ada") == 0
    first = batches.tasks("pilot", "ben")[0]
    assert (first.report_id, first.wanted, first.submitted, first.mine) == (names[0], 2, 0, "free")
    known = [part.id for part in first.item.parts]
    assert known[0] == "t1.c1"
    others = {name: {"handling": "delete"} for name in known[1:]}
    for who in ("ben", "eve"):
        mine = batches.start(first.id, who)
        assert (mine.version, mine.answers, mine.condition) == (0, Answers({}, {}), Condition.BLIND)
        begun = Answers({"notes": "hm"}, {"t1.c1": LONG, **others, "new 1": NEW}, {"new 1": (3, 9)})
        mine = batches.save(mine, begun, seconds=12.5)
        assert batches.start(first.id, who) == mine
        assert (mine.version, mine.seconds, mine.answers) == (1, 12.5, begun)
        with raises(InputError, "t1.c1", "label"):
            batches.save(mine, begun, submit=True)
        parts = {**begun.parts, "t1.c1": {**LONG, "label": "out of scope"}}
        mine = batches.save(mine, replace(begun, parts=parts), seconds=3)
        assert mine.seconds == 12.5
        assert batches.complete("pilot") == ()
        assert batches.save(mine, mine.answers, submit=True).submitted
    assert [task.mine for task in batches.tasks("pilot", "zoe")] == ["full", "free"]
    assert batches.tasks("pilot", "ben")[0].mine == "submitted"
    (done,) = batches.complete("pilot")
    assert (done.id, [one.annotator for one in done.drafts]) == (first.id, ["ben", "eve"])
    long, *_, wood = done.claims["ben"]
    assert (long.text, long.label, long.source_claim_id) == ("It is long. 🦊", Label.OUT_OF_SCOPE, "t1.c1")
    assert (wood.op, wood.source_claim_id, wood.span) == (Op.ADD, None, Span(start=3, end=9))
    agreed = ConsensusClaim(text="The pier opened in 1911.", label=Label.VERIFIED, source_claim_id="t1.c1")
    settled = batches.settle(first.id, [agreed], who="ada")
    assert (settled.claims, settled.method, settled.by) == ((agreed,), "discussion", "ada")
    again = batches.settle(first.id, [], method=Method.MAJORITY, who="ada")
    assert batches.complete(task=first.id)[0].consensus == again
    (found,) = batches.all()
    assert (found.name, found.items, found.complete, found.settled, found.wanted) == ("pilot", 2, 1, 1, 2)
    assert found.of_turns
    batches.close()


def test_a_draft_that_was_saved_elsewhere_is_not_overwritten(url: str, write: Write) -> None:
    batches = Batches(url)
    batches.create_of_turns("pilot", [write().id], wanted=1, who="ada")
    task = batches.tasks("pilot", "ben")[0]
    begun = batches.start(task.id, "ben")
    whole = Answers({}, {part.id: PIER for part in task.item.parts})
    batches.save(begun, whole)
    for submit in (False, True):
        with raises(InputError, "submitted"):
            batches.save(begun, whole, submit=submit)
    mine = batches.save(batches.start(task.id, "ben"), whole, submit=True)
    with raises(InputError, "submitted"):
        batches.save(mine, Answers({}, {}))
    assert batches.start(task.id, "ben").answers == whole
    batches.close()


def test_what_was_seen_of_the_judge_is_not_unseen(url: str, write: Write) -> None:
    batches = Batches(url)
    batches.create_of_turns("pilot", [write().id], wanted=1, who="ada")
    mine = batches.start(batches.tasks("pilot", "ben")[0].id, "ben")
    mine = batches.save(mine, DONE, condition=Condition.SUGGESTIONS)
    assert batches.save(mine, DONE, condition=Condition.BLIND).condition is Condition.SUGGESTIONS
    batches.close()


def test_two_who_want_the_last_place(url: str, write: Write) -> None:
    batches = Batches(url)
    batches.create_of_turns("pilot", [write().id], wanted=2, who="ada")
    task = batches.tasks("pilot", "x")[0].id
    people = [f"person {number}" for number in range(5)]
    start = Barrier(len(people))

    def begin(who: str) -> str:
        own = Batches(url)  # as a process of its own has it
        start.wait()
        try:
            return own.start(task, who).annotator
        except InputError as exc:
            return str(exc)
        finally:
            own.close()

    with ThreadPoolExecutor(len(people)) as pool:
        answers = list(pool.map(begin, people))
    assert len([answer for answer in answers if answer in people]) == 2
    assert len([answer for answer in answers if "has the 2 annotators that it wants" in answer]) == 3
    batches.close()


def test_refused(url: str, write: Write) -> None:
    name = write(tenant="north").id
    batches = Batches(url)
    with raises(InputError, "0"):
        batches.create_of_turns("pilot", [name], wanted=0, who="ada")
    with raises(InputError, "nobody"):
        batches.create_of_turns("pilot", [name, "nobody"], who="ada")
    with pytest.raises(InputError):
        batches.create_of_turns(" ", [name], who="ada")
    assert batches.all() == ()
    with raises(InputError, "77"):
        batches.start(77, "ben")
    batches.create_of_turns("pilot", [name], who="ada")
    task = batches.tasks("pilot", "ben")[0].id
    with pytest.raises(InputError):
        batches.settle(task, [], who="ada")
    mine = batches.start(task, "ben")
    with raises(InputError, "500"):
        batches.save(mine, Answers({}, {f"new {number}": NEW for number in range(501)}))
    south = Batches(url, tenants=["south"])
    assert (south.all(), south.tasks("pilot", "ben"), south.complete()) == ((), (), ())
    with pytest.raises(InputError):
        south.save(mine, DONE)
    batches.close()
    south.close()


def test_people_have_a_word_on_the_turns_that_they_see(url: str, write: Write) -> None:
    name = write("talk", tenant="north").id
    batches = Batches(url)
    for batch, label in (("oldest", Label.VERIFIED), ("newest", Label.CONTRADICTED)):
        batches.create_of_turns(batch, [name], wanted=1, who="ada")
        (task,) = batches.tasks(batch, "ben")
        whole = Answers({}, {part.id: PIER for part in task.item.parts})
        batches.save(batches.start(task.id, "ben"), whole, submit=True)
        settled = ConsensusClaim(text="The pier opened in 1911.", label=label, source_claim_id="t1.c1")
        batches.settle(task.id, [settled], method=Method.UNANIMOUS, who="ada")
    reviews = Reviews(url)
    assert words(reviews.of_tenants(["north"])) == words(reviews) == {name: Word(name, True, {"t1.c1": True})}
    assert words(reviews.of_tenants(["south"])) == {}
    batches.close()
    reviews.close()


def test_forget_reaches_every_table(url: str, write: Write) -> None:
    names = [write("gone").id, write("stays").id]
    batches, store = Batches(url), SqlReports(url)
    batches.create_of_turns("pilot", names, wanted=1, who="ada")
    for task in batches.tasks("pilot", "ben"):
        whole = Answers({}, {part.id: PIER for part in task.item.parts})
        batches.save(batches.start(task.id, "ben"), whole, submit=True)
        batches.settle(task.id, [], method=Method.UNANIMOUS, who="ada")
    engine = make_engine(url)

    def counts() -> list[int]:
        with engine.connect() as connection:
            return [
                connection.execute(sql.select(sql.func.count()).select_from(table)).scalar_one()
                for table in (*(table for table, _ in PEOPLE_ON_A_REPORT), ITEMS, ANSWERS, CONSENSUS)
            ]

    assert counts() == [2, 2, 2, 2, 2]

    async def forget() -> None:
        await store.forget("gone")
        await store.aclose()

    asyncio.run(forget())
    assert counts() == [1, 1, 1, 1, 1]
    assert [task.report_id for task in batches.tasks("pilot", "ben")] == [names[1]]
    (found,) = batches.all()
    assert (found.items, found.complete, found.settled, found.wanted) == (1, 1, 1, 1)
    engine.dispose()
    batches.close()
