"""Facts about the chat itself that people add: the table, and how a guard reads it for each turn.

They stand beside the setting `channel`, in the database of the reports: that is what a dashboard and the guards it shows share.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime

import sqlalchemy as sql

from vista_guard._aio import after_fork, in_daemon_thread
from vista_guard.errors import InputError
from vista_guard.reading.visible import storable
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import same_columns
from vista_guard.stores.reports.tables import CHANNEL, EVENTS, TURNS
from vista_guard.types import ANONYMOUS

LONGEST_FACT = 500
"""Most characters of a fact."""
MOST_FACTS = 500
"""Most facts of a tenant."""

_PATIENCE_S, _OPENING_S = 0.5, 5.0
"""Longest that a turn waits for the facts, and a process's first turns, while tables are created."""

logger = logging.getLogger("vista_guard")


@dataclass(frozen=True)
class ChatFact:
    """A fact about the chat of `tenant` ("" for none).

    `report_id` is the report it was added for, and `claim_key` the key of its claim (`FINDINGS`), where it was one.
    """

    id: int
    tenant: str
    text: str
    who: str
    at: datetime
    report_id: str | None = None
    claim_key: str | None = None


def clean_fact(text: str) -> str:
    """The text on one line.

    Raises:
        InputError: it is empty, or too long.

    Example:
        >>> clean_fact("There is a button \\n below the chat. ")
        'There is a button below the chat.'
    """
    line = " ".join(storable(text).split())
    if not line:
        raise InputError(
            "the fact about the chat is empty; write one sentence, such as: There is a button below the chat."
        )
    if len(line) > LONGEST_FACT:
        raise InputError(f"the fact about the chat has {len(line):,} characters; give at most {LONGEST_FACT}")
    return line


def read_facts(connection: sql.Connection, tenants: Sequence[str] | None) -> tuple[ChatFact, ...]:
    """The facts of these tenants, of all for None, the oldest first."""
    query = sql.select(CHANNEL).order_by(CHANNEL.c.id)
    if tenants is not None:
        query = query.where(CHANNEL.c.tenant.in_(list(tenants)))
    return tuple(ChatFact(**same_columns(row, ChatFact)) for row in connection.execute(query))


def add_fact(
    connection: sql.Connection,
    tenant: str,
    text: str,
    who: str,
    *,
    report_id: str | None = None,
    claim: str | None = None,
) -> int | None:
    """Adds a fact and returns its number; None when the tenant has it already. `claim` is the text of the claim that it is for.

    Raises:
        InputError: the tenant has too many.
    """
    own = CHANNEL.c.tenant == tenant
    if connection.execute(sql.select(CHANNEL.c.id).where(own, CHANNEL.c.text_key == digest(text))).first():
        return None
    if connection.execute(sql.select(sql.func.count()).where(own)).scalar_one() >= MOST_FACTS:
        raise InputError(
            f"{MOST_FACTS} facts about the chat are kept already; remove some, or list them in vista-guard.toml as channel"
        )
    row = {"tenant": tenant, "text": text, "text_key": digest(text), "who": who, "at": datetime.now(UTC)}
    claim_key = None if claim is None else digest(claim)
    added = connection.execute(sql.insert(CHANNEL).values(**row, report_id=report_id, claim_key=claim_key))
    return int((added.inserted_primary_key or (0,))[0])


def remove_facts(connection: sql.Connection, facts: Sequence[int], who: str, tenants: Sequence[str] | None) -> int:
    """Removes these facts of these tenants, notes it in the trail of their reports, and returns their number."""
    found = [fact for fact in read_facts(connection, tenants) if fact.id in facts]
    for fact in found:
        connection.execute(sql.delete(CHANNEL).where(CHANNEL.c.id == fact.id))
        number = connection.execute(sql.select(TURNS.c.id).where(TURNS.c.report_id == fact.report_id)).scalar()
        if number is not None:
            event = {"report": number, "at": datetime.now(UTC), "who": who, "what": "removed", "text": fact.text}
            connection.execute(sql.insert(EVENTS).values(**event))
    return len(found)


class LatestFacts:
    """Reads a tenant's facts for each turn, in a thread of its own, and waits no longer for it than a moment.

    While the database is late or fails, turns are verified against the facts that were read last: with fewer of them more is
    flagged, and never less.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reset()
        after_fork(self._reset)  # the thread is the parent's

    def _reset(self) -> None:
        self._reading: dict[str, Future[tuple[ChatFact, ...]]] = {}
        self._known: dict[str, tuple[str, ...]] = {}
        self._failed = False

    async def of(self, tenant: str) -> Sequence[str]:
        """The texts of the tenant's facts, the oldest first; behind a proxy without keys, those of no tenant among them."""
        reading = self._reading.get(tenant)
        if reading is None or reading.done():
            reading = self._reading[tenant] = in_daemon_thread(self._read, tenant)
        answer = asyncio.wrap_future(reading)
        answer.add_done_callback(lambda done: done.exception())  # one that comes too late is nobody's
        wait_s = _PATIENCE_S if self._known or self._failed else _OPENING_S
        await asyncio.wait([answer], timeout=wait_s)
        failure = answer.exception() if answer.done() else f"no answer in {wait_s:g} s"
        if failure is None:
            self._known[tenant] = tuple(fact.text for fact in answer.result())
        elif not self._failed:
            logger.warning("facts about the chat that people added are not read anew: %s", failure)
        self._failed = failure is not None
        return self._known.get(tenant, ())

    def _read(self, tenant: str) -> tuple[ChatFact, ...]:
        tenants = [tenant, ""] if tenant == ANONYMOUS else [tenant]
        return self._database.run("read facts about the chat", lambda connection: read_facts(connection, tenants))
