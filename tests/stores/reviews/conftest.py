"""Databases with reports in them: a SQLite file, and Postgres."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from tests.proxy.test_admin import postgres
from tests.stores.test_reports_contract import report
from vista_guard.stores.reports import SqlReports
from vista_guard.stores.reports.database import VERSION_TABLE, make_engine
from vista_guard.stores.reports.tables import METADATA
from vista_guard.types import Action, Decision, TurnReport
from vista_lab.annotate.tables import METADATA as ANNOTATIONS

__all__ = ["postgres"]  # a fixture

Write = Callable[..., TurnReport]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'reports.sqlite'}"
        return
    address = str(request.getfixturevalue("postgres"))
    engine = make_engine(address)
    METADATA.drop_all(engine)
    ANNOTATIONS.drop_all(engine)
    with engine.begin() as connection:
        connection.execute(sql.text(f"DROP TABLE IF EXISTS {VERSION_TABLE}"))
    engine.dispose()
    yield address


@pytest.fixture
def write(url: str) -> Iterator[Write]:
    """Writes a report, made with these changes, and returns it; the first makes the tables."""
    store = SqlReports(url)

    def write_one(conversation: str | None = "a", action: Action = Action.BLOCK, **changes: Any) -> TurnReport:
        decision = Decision(action=action, reason="as the test wants it")
        made = report(conversation, decision=decision, **changes)
        asyncio.run(store.write(made))
        return made

    yield write_one
    asyncio.run(store.aclose())
