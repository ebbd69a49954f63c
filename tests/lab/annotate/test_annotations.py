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
from vista_guard.errors import InputError, StoreError
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.database import make_engine
from vista_guard.stores.reports.tables import PEOPLE_ON_A_REPORT
from vista_guard.stores.reviewed import ConsensusClaim, Op
from vista_guard.stores.reviews.queue import Reviews, Word, words
from vista_guard.types import Label, Span
from vista_lab.annotate.annotations import AnnotationBatch, Annotations, Condition
from vista_lab.annotate.tables import ANNOTATION_CLAIMS, ANNOTATIONS, TASKS
from vista_lab.metrics.agreement import AnnotatedClaim, Method

PIER = AnnotatedClaim(
    text="The pier opened in 1911.", label=Label.VERIFIED, source_claim_id="t1.c1", span=Span(start=0, end=24)
)
LONG = AnnotatedClaim(text="It is long. 🦊", op=Op.EDIT, source_claim_id="t1.c2")
GONE = AnnotatedClaim(text="It.", op=Op.DELETE, source_claim_id="t1.c3")
NEW = AnnotatedClaim(text="It is made of wood.", op=Op.ADD, label=Label.LACKING_EVIDENCE)


def test_from_task_to_consensus(url: str, write: Write) -> None:
    names = [write(f"talk {number}", minutes=number).id for number in range(2)]
    annotations = Annotations(url)
    assert annotations.create("pilot", [*names, names[0]], wanted=2, who="ada") == 2
    assert annotations.create("pilot", names, wanted=3, who="ada") == 0
    first = annotations.tasks("pilot", "ben")[0]
    assert (first.report_id, first.wanted, first.submitted, first.mine) == (names[0], 2, 0, "free")
    for who in ("ben", "eve"):
        mine = annotations.start(first.id, who)
        assert (mine.version, mine.claims, mine.condition) == (0, (), Condition.BLIND)
        mine = annotations.save(mine, [PIER, LONG, GONE], notes=" hm ", seconds=12.5)
        assert annotations.start(first.id, who) == mine
        assert (mine.version, mine.notes, mine.seconds, mine.claims) == (1, "hm", 12.5, (PIER, LONG, GONE))
        with raises(InputError, "2"):
            annotations.submit(mine)
        said = LONG.model_copy(update={"label": Label.OUT_OF_SCOPE})
        mine = annotations.save(mine, [PIER, said, GONE, NEW], notes="hm", seconds=3)
        assert (mine.seconds, mine.kept) == (12.5, (PIER, said, NEW))
        assert annotations.complete("pilot") == ()
        assert annotations.submit(mine).submitted
    assert [task.mine for task in annotations.tasks("pilot", "zoe")] == ["full", "free"]
    assert annotations.tasks("pilot", "ben")[0].mine == "submitted"
    done = annotations.complete("pilot")
    assert [(task.id, [one.annotator for one in task.annotations]) for task in done] == [(first.id, ["ben", "eve"])]
    agreed = ConsensusClaim(text=PIER.text, label=Label.VERIFIED, source_claim_id="t1.c1", span=PIER.span)
    settled = annotations.settle(first.id, [agreed], method=Method.DISCUSSION, who="ada")
    assert (settled.claims, settled.method, settled.by, settled.report_id) == ((agreed,), "discussion", "ada", names[0])
    again = annotations.settle(first.id, [], method=Method.MAJORITY, who="ada")
    assert annotations.complete(task=first.id)[0].consensus == again
    assert annotations.batches() == (AnnotationBatch("pilot", tasks=2, complete=1, settled=1, wanted=2),)
    annotations.close()


def test_a_label_of_a_newer_version_is_named(url: str, write: Write) -> None:
    annotations = Annotations(url)
    annotations.create("pilot", [write().id], wanted=1, who="ada")
    task = annotations.tasks("pilot", "ben")[0].id
    annotations.save(annotations.start(task, "ben"), [PIER], notes="", seconds=1)
    engine = make_engine(url)
    with engine.begin() as connection:
        connection.execute(sql.update(ANNOTATION_CLAIMS).values(label="SUPERSEDED"))
    engine.dispose()
    with raises(StoreError, "SUPERSEDED"):
        annotations.start(task, "ben")
    annotations.close()


def test_a_draft_that_was_saved_elsewhere_is_not_overwritten(url: str, write: Write) -> None:
    annotations = Annotations(url)
    annotations.create("pilot", [write().id], wanted=1, who="ada")
    begun = annotations.start(annotations.tasks("pilot", "ben")[0].id, "ben")
    annotations.save(begun, [PIER])
    with raises(InputError, "submitted"):
        annotations.save(begun, [NEW])
    with raises(InputError, "submitted"):
        annotations.submit(begun)
    mine = annotations.submit(annotations.start(begun.task, "ben"))
    with raises(InputError, "submitted"):
        annotations.save(mine, [NEW])
    assert annotations.start(begun.task, "ben").claims == (PIER,)
    annotations.close()


def test_what_was_seen_of_the_judge_is_not_unseen(url: str, write: Write) -> None:
    annotations = Annotations(url)
    annotations.create("pilot", [write().id], wanted=1, who="ada")
    mine = annotations.start(annotations.tasks("pilot", "ben")[0].id, "ben")
    mine = annotations.save(mine, [PIER], condition=Condition.SUGGESTIONS)
    assert annotations.save(mine, [PIER], condition=Condition.BLIND).condition is Condition.SUGGESTIONS
    annotations.close()


def test_two_who_want_the_last_place(url: str, write: Write) -> None:
    annotations = Annotations(url)
    annotations.create("pilot", [write().id], wanted=2, who="ada")
    task = annotations.tasks("pilot", "x")[0].id
    people = [f"person {number}" for number in range(5)]
    start = Barrier(len(people))

    def begin(who: str) -> str:
        own = Annotations(url)  # as a process of its own has it
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
    annotations.close()


def test_refused(url: str, write: Write) -> None:
    name = write(tenant="north").id
    annotations = Annotations(url)
    with raises(InputError, "0"):
        annotations.create("pilot", [name], wanted=0, who="ada")
    with raises(InputError, "nobody"):
        annotations.create("pilot", [name, "nobody"], who="ada")
    with pytest.raises(InputError):
        annotations.create(" ", [name], who="ada")
    assert annotations.batches() == ()
    with raises(InputError, "77"):
        annotations.start(77, "ben")
    annotations.create("pilot", [name], who="ada")
    task = annotations.tasks("pilot", "ben")[0].id
    with pytest.raises(InputError):
        annotations.settle(task, [], method=Method.DISCUSSION, who="ada")
    mine = annotations.start(task, "ben")
    with raises(InputError, "500"):
        annotations.save(mine, [PIER] * 501)
    south = Annotations(url, tenants=["south"])
    assert (south.batches(), south.tasks("pilot", "ben"), south.complete()) == ((), (), ())
    with pytest.raises(InputError):
        south.save(mine, [PIER])
    annotations.close()
    south.close()


def test_people_have_a_word_on_the_turns_that_they_see(url: str, write: Write) -> None:
    name = write("talk", tenant="north").id
    annotations = Annotations(url)
    for batch, label in (("oldest", Label.VERIFIED), ("newest", Label.CONTRADICTED)):
        annotations.create(batch, [name], wanted=1, who="ada")
        (task,) = annotations.tasks(batch, "ben")
        annotations.submit(annotations.save(annotations.start(task.id, "ben"), [PIER]))
        settled = ConsensusClaim(text=PIER.text, label=label, source_claim_id="t1.c1")
        annotations.settle(task.id, [settled], method=Method.UNANIMOUS, who="ada")
    reviews = Reviews(url)
    assert words(reviews.of_tenants(["north"])) == words(reviews) == {name: Word(name, True, {"t1.c1": True})}
    assert words(reviews.of_tenants(["south"])) == {}
    annotations.close()
    reviews.close()


def test_forget_reaches_every_table(url: str, write: Write) -> None:
    names = [write("gone").id, write("stays").id]
    annotations, store = Annotations(url), SqlReports(url)
    annotations.create("pilot", names, wanted=1, who="ada")
    for task in annotations.tasks("pilot", "ben"):
        mine = annotations.start(task.id, "ben")
        annotations.submit(annotations.save(mine, [PIER]))
        annotations.settle(task.id, [], method=Method.UNANIMOUS, who="ada")
    engine = make_engine(url)

    def counts() -> list[int]:
        with engine.connect() as connection:
            return [
                connection.execute(sql.select(sql.func.count()).select_from(table)).scalar_one()
                for table in (*(table for table, _ in PEOPLE_ON_A_REPORT), TASKS, ANNOTATIONS, ANNOTATION_CLAIMS)
            ]

    assert counts() == [2, 2, 2, 2, 2, 2]

    async def forget() -> None:
        await store.forget("gone")
        await store.aclose()

    asyncio.run(forget())
    assert counts() == [1, 1, 1, 1, 1, 1]
    assert [task.report_id for task in annotations.tasks("pilot", "ben")] == [names[1]]
    assert replace(annotations.batches()[0], name="") == AnnotationBatch("", tasks=1, complete=1, settled=1, wanted=1)
    engine.dispose()
    annotations.close()
