"""Facts about the chat that reviewers add: who has them, what is decided with them, and what takes them away."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.raising import raises
from tests.stores.reviews.conftest import Write
from vista_guard.errors import InputError
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.channel import LONGEST_FACT
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict, words
from vista_guard.types import Action

FACT = "There is a button below the chat to make an appointment."


def known_to(url: str, tenant: str | None) -> list[str]:
    """The facts that a guard of this tenant reads for its next turn."""

    async def read() -> list[str]:
        store = SqlReports(url)
        try:
            return list(await store.chat_facts(tenant))
        finally:
            await store.aclose()

    return asyncio.run(read())


def test_a_fact_decides_its_turn_and_equal_drafts_and_undo_takes_all_back(url: str, write: Write) -> None:
    first, second = write("a"), write("b", minutes=1)
    (claim,) = {finding.claim.text for finding in first.findings[:1]}
    reviews = Reviews(url)
    added = reviews.add_facts([first.id, second.id], "ada", {claim: f" {FACT}\n"}, verdict=ReviewVerdict.OVERTURNED)
    assert added.decided == (first.id, second.id)
    assert [(fact.text, fact.who, fact.report_id) for fact in reviews.facts()] == [(FACT, "ada", first.id)]
    assert [(event.what, event.who) for event in reviews.trail(first.id)][1:] == [
        ("channel", "ada"),
        ("overturned", "ada"),
    ]
    ids = {finding.claim.id for finding in first.findings if finding.claim.text == claim}
    for word in words(reviews).values():
        assert (word.fine, word.claims) == (True, dict.fromkeys(ids, True))
    assert known_to(url, None) == [FACT]
    assert reviews.undo(added.decided, "ada", facts=added.facts) == 2
    assert (reviews.facts(), words(reviews), known_to(url, None)) == ((), {}, [])
    assert [event.what for event in reviews.trail(first.id)][-2:] == ["removed", "reopened"]
    reviews.close()


def test_without_a_verdict_the_turn_stays_open_and_is_the_reviewers(url: str, write: Write) -> None:
    turn = write()
    reviews = Reviews(url)
    added = reviews.add_facts([turn.id], "ada", {"a claim": FACT})
    found = reviews.get(turn.id)
    assert found is not None
    assert (added.decided, found.open, found.assignee) == ((), True, "ada")
    with raises(InputError, "ada"):
        reviews.add_facts([turn.id], "ben", {"a claim": "Prices may change."})
    assert reviews.add_facts([turn.id], "ada", {"another": FACT}).facts == ()  # known already
    reviews.close()


def test_each_tenant_has_its_own(url: str, write: Write) -> None:
    north, south = write("north/a", tenant="north"), write("south/a", tenant="south", minutes=1)
    reviews = Reviews(url)
    added = reviews.add_facts([north.id, south.id], "ada", {"a": FACT}, verdict=ReviewVerdict.OVERTURNED)
    assert added.decided == (north.id,)
    assert [known_to(url, tenant) for tenant in ("north", "south", None)] == [[FACT], [], []]
    of_south = reviews.of_tenants(["south"])
    assert (of_south.facts(), of_south.remove_facts(added.facts, "ben")) == ((), 0)
    with raises(InputError, "north", "south"):
        of_south.add_fact(FACT, "ben", "north")
    assert of_south.add_fact(FACT, "ben", "south")
    assert not of_south.add_fact(FACT, "ben", "south")
    store = SqlReports(url)
    asyncio.run(store.forget_tenant("south"))
    asyncio.run(store.aclose())
    assert [fact.tenant for fact in reviews.facts()] == ["north"]
    reviews.close()


def test_a_fact_outlives_its_conversation(url: str, write: Write) -> None:
    turn = write("a")
    reviews = Reviews(url)
    reviews.add_facts([turn.id], "ada", {"a": FACT}, verdict=ReviewVerdict.OVERTURNED)
    store = SqlReports(url)
    asyncio.run(store.forget("a"))
    asyncio.run(store.aclose())
    (fact,) = reviews.facts()
    assert reviews.remove_facts([fact.id], "ada") == 1
    reviews.close()


@pytest.mark.parametrize("text", ["", " \n", "a" * (LONGEST_FACT + 1)])
def test_what_is_no_sentence_is_refused_and_decides_nothing(url: str, write: Write, text: str) -> None:
    turn = write(action=Action.FLAG)
    reviews = Reviews(url)
    with raises(InputError, "fact"):
        reviews.add_facts([turn.id], "ada", {"a": text}, verdict=ReviewVerdict.OVERTURNED)
    with raises(InputError, "sentence"):
        reviews.add_facts([turn.id], "ada", {})
    found = reviews.get(turn.id)
    assert found is not None
    assert (found.open, reviews.facts()) == (True, ())
    reviews.close()


def test_while_the_database_fails_the_last_known_facts_hold(tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"

    async def read() -> list[list[str]]:
        store = SqlReports(f"sqlite:///{file}")
        seen = [list(await store.chat_facts(None))]
        reviews = Reviews(f"sqlite:///{file}")
        reviews.add_fact(FACT, "ada")
        reviews.close()
        seen.append(list(await store.chat_facts(None)))
        with store._database.engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE vista_guard_channel")
        seen.append(list(await store.chat_facts(None)))
        await store.aclose()
        return seen

    assert asyncio.run(read()) == [[], [FACT], [FACT]]
