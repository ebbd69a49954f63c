"""`vista-guard reports`, `db` and `forget`, on a file and on Postgres."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from tests.proxy.test_admin import postgres
from tests.stores.test_reports_contract import report
from tests.stores.test_schema import server
from vista_guard import Document, TurnReport, TurnTexts
from vista_guard.cli import app
from vista_guard.stores.reports import ReportReader, SqlReports

__all__ = ["postgres", "server"]  # fixtures


def run(*arguments: str | Path) -> Result:
    """The command, on the file in the folder `data`."""
    return CliRunner().invoke(app, [*map(str, arguments), "--data-dir", "data"])


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.delenv("VISTA_GUARD_DATA_DIR")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def filled(url: str = "sqlite:///data/reports.sqlite") -> list[TurnReport]:
    """Two conversations of a tenant and one of nobody's, with texts."""
    Path("data").mkdir(exist_ok=True)

    async def write() -> list[TurnReport]:
        store = SqlReports(url, record="full")
        made = [report("acme/a", 1, 0, tenant="acme"), report("acme/b", 1, 1, tenant="acme"), report("c", 1, 2)]
        for each in made:
            texts = TurnTexts(user_text="How long?", draft="Half \ud83d", documents=(Document(id="d", text="Long."),))
            await store.write_turn(each, texts)
        await store.aclose()
        return made

    return asyncio.run(write())


def test_reports_are_exported_as_lines() -> None:
    made = filled()
    done = run("reports", "export", "all.jsonl")
    assert (done.exit_code, done.stderr) == (0, "wrote 3 reports to all.jsonl\n")
    lines = Path("all.jsonl").read_text("utf-8").splitlines()
    assert [TurnReport.model_validate_json(line) for line in lines] == made[::-1]
    assert run("reports", "export", "all.jsonl").exit_code == 2
    for name in ("all.csv", "all.XLSX", "all.parquet"):  # a file that its name's program could not open
        refused = run("reports", "export", name)
        assert (refused.exit_code, "all.jsonl" in refused.stderr, Path(name).exists()) == (2, True, False)
    run("reports", "export", "some.jsonl", "--tenant", "acme", "--texts", "--action", "flag", "--label", "UNCHECKED")
    (newest, _) = [json.loads(line) for line in Path("some.jsonl").read_text("utf-8").splitlines()]
    assert (newest["report"]["conversation_id"], newest["texts"]["user_text"]) == ("acme/b", "How long?")


def test_reports_are_exported_as_parquet() -> None:
    made = filled()
    assert run("reports", "export", "all.parquet", "--format", "parquet", "--texts").exit_code == 0
    table = pyarrow.parquet.read_table("all.parquet").to_pylist()
    assert [row["id"] for row in table] == [each.id for each in made[::-1]]
    assert (table[0]["action"], table[0]["user_text"], table[0]["draft"]) == ("FLAG", "How long?", "Half ?")
    assert [claim["label"] for claim in table[0]["claims"]] == ["VERIFIED", "UNCHECKED"]
    assert table[0]["created_at"] == made[2].created_at


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("reports", "export", "x.jsonl"), "there are no reports yet: "),
        (("db", "status"), "there are no reports yet: "),
        (("db", "prune"), "there are no reports yet: "),
        (("forget",), "forget what? Give --conversation ID, or --tenant NAME"),
    ],
)
def test_what_is_missing_is_said(arguments: tuple[str, ...], told: str) -> None:
    done = run(*arguments)
    assert done.exit_code in (1, 2)
    assert done.stderr.startswith(f"error: {told}")
    assert not Path("x.jsonl").exists()


def test_a_label_that_there_is_none_of() -> None:
    filled()
    done = run("reports", "export", "x.jsonl", "--label", "WRONG")
    assert (done.exit_code, "unknown label 'WRONG'; the labels are VERIFIED" in done.stderr) == (2, True)


def test_the_status_of_a_database() -> None:
    filled()
    first, *others = run("db", "status").stdout.splitlines()
    own, newest = first.rpartition("schema ")[2].split(", newest ")
    assert ("reports.sqlite: schema" in first, own) == (True, newest)
    assert others == ["3 reports"]
    assert run("db", "upgrade").stdout == "up to date\n"


def test_tables_are_created_by_the_command(server: str) -> None:
    first, second = run("db", "status", "--reports", server).stdout.splitlines()
    assert (first.rpartition("schema ")[2][:16], second) == ("none yet, newest", "run: vista-guard db upgrade")
    assert run("db", "upgrade", "--reports", server).exit_code == 0
    assert run("db", "status", "--reports", server).stdout.splitlines()[1:] == ["0 reports"]


def test_what_is_past_its_time_is_deleted_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    filled()
    days = (datetime.now(UTC) - datetime(2026, 5, 1, 12, 1, 30, tzinfo=UTC)) / timedelta(days=1)
    monkeypatch.setenv("VISTA_GUARD_REPORT_RETENTION_DAYS", str(days))
    done = run("db", "prune")
    assert (done.exit_code, done.stdout) == (0, "deleted 2 reports and the texts of 0\n")
    assert [row.conversation_id for row in ReportReader("sqlite:///data/reports.sqlite").page().rows] == ["c"]
    monkeypatch.delenv("VISTA_GUARD_REPORT_RETENTION_DAYS")
    assert "report_retention_days" in run("db", "prune").stderr


def test_a_tenants_conversation_is_found_by_its_own_id_and_by_the_stored_one() -> None:
    made = filled()
    for tenant, name in (("acme", "b"), ("acme", "acme/b")):
        listed = run("reports", "list", "--tenant", tenant, "--conversation", name)
        assert [line.split()[0] for line in listed.stdout.splitlines()] == [made[1].id]
    assert run("reports", "export", "b.jsonl", "--tenant", "acme", "--conversation", "b").exit_code == 0
    assert TurnReport.model_validate_json(Path("b.jsonl").read_text("utf-8")) == made[1]
    assert run("reports", "list", "--tenant", "zoo", "--conversation", "b").stdout == ""


@pytest.mark.parametrize("arguments", [("a",), ("a", "--tenant", "default"), ("default/a",)])
def test_a_conversation_behind_a_proxy_without_keys_is_forgotten_by_its_own_name(arguments: tuple[str, ...]) -> None:
    filled()

    async def write() -> None:
        store = SqlReports("sqlite:///data/reports.sqlite")
        await store.write(report("default/a", tenant="default"))
        await store.aclose()

    asyncio.run(write())
    done = run("forget", "--conversation", *arguments)
    assert (done.exit_code, done.stdout) == (0, "forgot 1 reports and 0 claims of knowledge\n")
    with closing(ReportReader("sqlite:///data/reports.sqlite")) as reader:
        assert {row.conversation_id for row in reader.page().rows} == {"acme/a", "acme/b", "c"}


def test_a_conversation_of_which_nothing_is_kept_is_told_with_the_next_step() -> None:
    filled()
    done = run("forget", "--conversation", "a")
    assert (done.exit_code, done.stdout) == (0, "forgot 0 reports and 0 claims of knowledge\n")
    assert "'a'" in done.stderr
    assert "--tenant" in done.stderr


def test_a_conversation_and_a_tenant_are_forgotten() -> None:
    filled()
    one = run("forget", "--tenant", "acme", "--conversation", "a")
    assert "VISTA_GUARD_CHROMA_URL" in one.stderr  # no knowledge lies here
    assert (one.exit_code, one.stdout) == (0, "forgot 1 reports and 0 claims of knowledge\n")
    reader = ReportReader("sqlite:///data/reports.sqlite")
    assert [row.conversation_id for row in reader.page().rows] == ["c", "acme/b"]
    assert run("forget", "--tenant", "acme").stdout.startswith("forgot 1 reports")
    assert [row.conversation_id for row in reader.page().rows] == ["c"]
    reader.close()
