"""Reports in a database: what a write costs, and how fast lists, filters and roll-ups are when there are many.

    python -m benchmarks.reports --count 20000
    python -m benchmarks.reports --count 20000 --url postgresql+psycopg://user@host/name

Writing is timed beside the one insert of version 0.2.0, write by write. What is measured on a busy machine is the ratio.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any

import sqlalchemy as sql

from benchmarks.measure import timed
from vista_guard.stores.reports import ATTENTION, ReportFilter, ReportReader
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.rows import report_row
from vista_guard.stores.reports.store import insert, insert_derived_rows
from vista_guard.stores.reports.tables import REPORTS
from vista_guard.types import (
    Action,
    Claim,
    Decision,
    Evidence,
    Finding,
    JudgeInfo,
    Label,
    SourceKind,
    Span,
    Timings,
    TurnReport,
    TurnTexts,
)

START = datetime(2026, 3, 1, tzinfo=UTC)
TRENDS: Any = {"keys": ("action", "reason"), "claim_keys": ("label",)}
"""The query of the dashboard's page."""
SENTENCE = "The harbour ferry of Port Selma leaves every forty minutes from the eastern pier."


def reports(count: int, seed: int = 7) -> Iterator[TurnReport]:
    """Made-up reports over sixty days: five claims each, one in ten turns withheld or repaired."""
    chance = random.Random(seed)
    for number in range(count):
        labels = chance.choices(list(Label), weights=(70, 15, 3, 10, 2), k=5)
        action = chance.choices(list(Action), weights=(80, 10, 5, 5))[0]
        yield TurnReport(
            conversation_id=f"talk {number // 8}",
            turn_index=2 * (number % 8) + 1,
            response=f"{SENTENCE} " * 5,
            outcomes=tuple(_finding(n, label, chance.random()) for n, label in enumerate(labels)),
            decision=Decision(action=action, reason="made up"),
            score=0.8,
            risk=chance.random(),
            evidence_missing=chance.random() < 0.05,
            judge=JudgeInfo(name="embedded", version="1.2.0"),
            policy=chance.choice(("balanced", "strict")),
            gate="turn",
            tenant=chance.choice(("acme", "zoo", "pier")),
            timings=Timings(verify=20.0, total=chance.expovariate(1 / 60)),
            created_at=START + timedelta(days=60) * number / count,
        )


def _finding(n: int, label: Label, confidence: float) -> Finding:
    claim = Claim(
        id=f"t1.c{n}", text=SENTENCE, span=Span(start=n * (len(SENTENCE) + 1), end=(n + 1) * len(SENTENCE) + n)
    )
    quote = Evidence(source=SourceKind.DOCUMENT, source_id="timetable", quote=SENTENCE, score=confidence)
    return Finding(claim=claim, label=label, confidence=confidence, evidence=(quote,), reason="made up")


def fill(database: Database, count: int, batch: int = 500) -> float:
    """Writes them in batches, as an upgrade does; seconds."""
    started, generated = perf_counter(), reports(count)
    while many := list(islice(generated, batch)):
        database.write("fill", partial(_batch, many=many))
    return perf_counter() - started


def _batch(connection: sql.Connection, many: list[TurnReport]) -> None:
    rows = [report_row(report) for report in many]
    statement = sql.insert(REPORTS).returning(REPORTS.c.id, sort_by_parameter_order=True)
    numbers = connection.execute(statement, rows).scalars().all()
    turn_texts = (TurnTexts(user_text=f"When does ferry {number} leave for Port Selma?") for number in numbers)
    for number, report, texts in zip(numbers, many, turn_texts, strict=True):
        insert_derived_rows(connection, number, report, texts)


def writing(database: Database, count: int = 300) -> dict[str, float]:
    """Medians of single writes, in milliseconds, before and now in alternation."""
    before, now = [], []
    for report in reports(count, seed=8):
        row, renamed = report_row(report), report.model_copy(update={"id": f"again {report.id}"[:64]})
        before.append(timed(lambda row=row: database.write("w", lambda c: c.execute(sql.insert(REPORTS).values(row)))))  # type: ignore[misc]
        now.append(timed(lambda one=renamed: database.write("w", lambda c: insert(c, one, None, None))))  # type: ignore[misc]
    one, other = statistics.median(before), statistics.median(now)
    return {"write before, ms": one, "write now, ms": other, "ratio": other / one}


def questions(reader: ReportReader) -> dict[str, Callable[[], Any]]:
    """The pages' queries."""
    middle = START + timedelta(days=30)
    deep = next(iter(reader.page(ReportFilter(end=middle), limit=1).rows)).cursor
    name = reader.page(limit=1).rows[0].id
    return {
        "newest 50": lambda: reader.page(),
        "50 behind the middle": lambda: reader.page(after=deep),
        "not ALLOW": lambda: reader.page(ReportFilter(actions=ATTENTION)),
        "conversations with three words": lambda: reader.conversations(ReportFilter(words="ferry port selma")),
        "conversations with words that none has": lambda: reader.conversations(ReportFilter(words="submarine ferry")),
        "one conversation by a word": lambda: reader.conversations(ReportFilter(words="17")),
        "one tenant": lambda: reader.page(ReportFilter(tenant="zoo")),
        "CONTRADICTED, BLOCK": lambda: reader.page(ReportFilter(labels=("CONTRADICTED",), actions=(Action.BLOCK,))),
        "no evidence, strict": lambda: reader.page(ReportFilter(evidence_missing=True, policy="strict")),
        "claims CONTRADICTED": lambda: reader.findings(ReportFilter(labels=("CONTRADICTED",))),
        "50 conversations": lambda: reader.conversations(),
        "conversations with BLOCK": lambda: reader.conversations(ReportFilter(actions=(Action.BLOCK,))),
        "trends, 60 days by day": lambda: reader.rollup(START, START + timedelta(days=60), "day", **TRENDS),
        "trends, 7 days by hour": lambda: reader.rollup(START, START + timedelta(days=7), **TRENDS),
        "makers, 60 days by day": lambda: reader.makers(START, START + timedelta(days=60), "day"),
        "makers, 7 days by hour": lambda: reader.makers(START, START + timedelta(days=7)),
        "most contradicted": lambda: reader.sources(ReportFilter(labels=("CONTRADICTED",))),
        "summary of an hour": lambda: reader.summary(ReportFilter(start=middle, end=middle + timedelta(hours=1))),
        "one report": lambda: reader.get(name),
    }


def reading(reader: ReportReader, times: int = 7) -> dict[str, float]:
    """Medians of the questions, in milliseconds."""
    queries = questions(reader)
    return {what: statistics.median(timed(ask) for _ in range(times)) for what, ask in queries.items()}


def plans(database: Database) -> dict[str, list[str]]:
    """How the database finds the rows of each question: the lines of its plans that name a table or an index."""
    engine, statements = database.engine, []

    def note(_connection: Any, _cursor: Any, statement: str, parameters: Any, _context: Any, _many: bool) -> None:
        if statement.startswith("SELECT"):
            statements.append((statement, parameters))

    queries, plan_lines = questions(ReportReader(database)), {}
    explain = "EXPLAIN QUERY PLAN " if database.is_sqlite else "EXPLAIN "
    for what, ask in queries.items():
        statements.clear()
        sql.event.listen(engine, "before_cursor_execute", note)
        ask()
        sql.event.remove(engine, "before_cursor_execute", note)
        with engine.connect() as connection:
            lines = [
                str(row[-1]).strip(" ->")
                for statement, parameters in statements
                for row in connection.exec_driver_sql(explain + statement, parameters)
            ]
        plan_lines[what] = [line.partition("  (")[0] for line in lines if re.search(r"\b(Scan|SCAN|SEARCH)\b", line)]
    return plan_lines


def measure(url: str, count: int, *, filled: bool = False, explain: bool = False) -> dict[str, Any]:
    """All of it, on a database that is filled first."""
    database = Database(url)
    try:
        seconds = 0.0 if filled else fill(database, count)
        database.engine.dispose()
        with database.engine.begin() as connection:
            connection.exec_driver_sql("ANALYZE")
        figures = {"reports": float(count), "filled, s": seconds, **reading(ReportReader(database))}
        return {**figures, **writing(database), **({"plans": plans(database)} if explain else {})}
    finally:
        database.close()


def main() -> None:
    """Prints a table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reports", description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="reports to fill the database with")
    parser.add_argument("--url", help="an empty database; a SQLite file of its own when not given")
    parser.add_argument("--filled", action="store_true", help="the database at --url holds such reports already")
    parser.add_argument("--plans", action="store_true", help="print how the database finds the rows, too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = options.url or f"sqlite:///{Path(folder) / 'reports.sqlite'}"
        figures = measure(url, options.count, filled=options.filled, explain=options.plans)
    if options.json:
        print(json.dumps(figures))
        return
    explained = figures.pop("plans", {})
    for name, value in figures.items():
        print(f"{name:28} {value:12,.2f}")
    for name, lines in explained.items():
        print(f"{name}: {'; '.join(lines)}")


if __name__ == "__main__":
    main()
