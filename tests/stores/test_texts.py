"""What each level of `record` keeps of a turn, through the front door and in the file's own bytes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.raising import raises
from vista_guard import Conversation, Document, Guard, Label, Record, TextSink, TurnReport, TurnTexts
from vista_guard.errors import ConfigError, StoreError
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.reports import KeptTurn, SqlReports
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.retention import prune
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user

ASKED = "Tell me, says visitor Quentin, when it opened."
TRUTH = "The whale hall opened in 1925."
LIE = "The whale hall opened under Queen Zubrowka."
ASIDE = "By the way, mind the slippery stairs at the aquarium entrance."
DRAFT = f"{ASIDE} {LIE}"
NOTES = Document(id="notes", text=f"{TRUTH} The roof was mended by Ottoline in spring.", title="Notes")
LEVELS: tuple[Record, ...] = ("verdicts", "delivered", "full")


def judge() -> ScriptedJudge:
    """Finds one claim in each draft: of the aside nobody says anything."""
    said = {TRUTH: [Verdict(TRUTH, needs="1925")], DRAFT: [Verdict(LIE, Label.CONTRADICTED, 0.97)]}
    return ScriptedJudge(said)


def guard_keeping(record: Record, tmp_path: Path) -> tuple[Guard, SqlReports]:
    store = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}", record=record)
    return Guard(judge(), "strict", knowledge=MemoryKnowledge(WordEmbedder()), sinks=[store]), store


def talk(text: str, name: str | None = "c") -> Conversation:
    return conversation(user(ASKED), assistant(text, NOTES), id=name)


async def streamed(guard: Guard, text: str, gate: Any) -> TurnReport:
    async def deltas() -> AsyncIterator[str]:
        for word in text.split(" "):
            yield f"{word} "

    asked = conversation(user(ASKED), id="c")
    pieces = [piece async for piece in guard.gated(asked, deltas(), gate=gate, documents=[NOTES])]
    report = pieces[-1]
    assert isinstance(report, TurnReport)
    return report


def content(folder: Path) -> str:
    return b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file()).decode("utf-8", "replace")


def kept(store: SqlReports) -> KeptTurn:
    (row,) = store.reader.page().rows
    found = store.reader.get(row.id)
    assert found is not None
    return found


@pytest.mark.parametrize("record", LEVELS)
@pytest.mark.parametrize("gate", [None, "turn", "sentence"])
async def test_what_is_kept_of_a_withheld_turn(
    record: Record, gate: str | None, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    guard, store = guard_keeping(record, tmp_path)
    report = await (guard.acheck(talk(DRAFT)) if gate is None else streamed(guard, LIE, gate))
    assert report.blocked
    found, written = kept(store), content(tmp_path)
    assert found.report == report
    # The claim is the report's, as ever; what else was said, asked and shown is a matter of `record`.
    assert {word: word in written for word in ("Quentin", "Ottoline")} == dict.fromkeys(
        ("Quentin", "Ottoline"), record != "verdicts"
    )
    if gate is None:
        assert ("slippery stairs" in written) is (record == "full")
    if record == "verdicts":
        assert found.texts is None
    else:
        said = DRAFT if gate is None else found.texts and found.texts.draft
        assert found.texts == TurnTexts(
            user_text=ASKED, documents=(NOTES,), draft=said if record == "full" else None, evidence=()
        )
    assert not any(word in caplog.text for word in ("Quentin", "Ottoline", "slippery", "Zubrowka"))
    await guard.aclose()


@pytest.mark.parametrize("record", LEVELS)
async def test_what_is_kept_of_a_delivered_turn(record: Record, tmp_path: Path) -> None:
    guard, store = guard_keeping(record, tmp_path)
    report = await guard.acheck(talk(TRUTH))
    found = kept(store)
    assert (found.report.response, found.report.id) == (TRUTH, report.id)
    # The draft is the response: it is not kept twice.
    assert found.texts == (None if record == "verdicts" else TurnTexts(user_text=ASKED, documents=(NOTES,)))
    await guard.aclose()


async def test_knowledge_is_kept_as_it_stood_and_leads_to_the_turn_that_brought_it(tmp_path: Path) -> None:
    guard, store = guard_keeping("delivered", tmp_path)
    first = await guard.acheck(talk(TRUTH))
    again = conversation(*talk(TRUTH).turns, user("And?"), assistant(TRUTH), id="c")
    await guard.acheck(again)
    newest = store.reader.page().rows[0]
    found = store.reader.get(newest.id)
    assert found is not None
    assert found.texts is not None
    (passage,) = found.texts.evidence
    assert passage.text == TRUTH
    row = store.reader.established_by("c", passage.source_id.partition(":")[0])
    assert row is not None
    assert (row.id, row.turn_key) == (first.id, first.turn_key)
    await guard.aclose()


@pytest.mark.parametrize("record", LEVELS)
async def test_forget_leaves_nothing(record: Record, tmp_path: Path) -> None:
    guard, store = guard_keeping(record, tmp_path)
    for text in (TRUTH, DRAFT):
        await guard.acheck(talk(text))
    assert "whale hall" in content(tmp_path)
    await guard.aforget("c")
    words = ("Quentin", "Ottoline", "slippery", "whale hall")
    assert [word for word in words if word in content(tmp_path)] == []
    assert (store.reader.page().rows, store.reader.conversations().rows, store.reader.findings().rows) == ((), (), ())
    await guard.aclose()


async def test_texts_expire_before_reports(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'reports.sqlite'}"
    store = SqlReports(url, record="full", text_retention_days=1)
    guard = Guard(judge(), "strict", knowledge=MemoryKnowledge(WordEmbedder()), sinks=[store])
    await guard.acheck(talk(DRAFT))
    database, now = Database(url), datetime.now(UTC)
    days = (0, 2)
    assert all(row.question for row in store.reader.page().rows)
    gone = [database.write("prune", partial(prune, now=now + timedelta(days=day), report_days=30)) for day in days]
    assert gone == [(0, 0), (0, 1)]
    assert (kept(store).texts, kept(store).report.blocked) == (None, True)
    assert [row.question for row in store.reader.page().rows] == [None]
    last = database.write("prune", lambda c: prune(c, now + timedelta(days=31), 30))
    assert (last[0], store.reader.page().rows, store.reader.conversations().rows) == (1, (), ())
    database.close()
    await guard.aclose()


async def test_a_sink_that_writes_deletes_what_is_past_its_time(tmp_path: Path) -> None:
    store = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}", report_retention_days=7)
    guard = Guard(judge(), "strict", knowledge=MemoryKnowledge(WordEmbedder()))
    fresh = await guard.acheck(talk(TRUTH))
    old = fresh.model_copy(update={"id": "old", "created_at": fresh.created_at - timedelta(days=8)})
    await store.write(old)
    await store.write(fresh)
    assert [row.id for row in store.reader.page().rows] == [fresh.id]
    await store.aclose()


async def test_knowledge_goes_with_the_last_report_of_its_conversation(tmp_path: Path) -> None:
    url, knowledge = f"sqlite:///{tmp_path / 'reports.sqlite'}", MemoryKnowledge(WordEmbedder())
    guard, store = Guard(judge(), "strict", knowledge=knowledge), SqlReports(url)
    for name, days in (("old", (8,)), ("both", (9, 0)), ("new", (0,))):
        report = await guard.acheck(talk(TRUTH).model_copy(update={"id": name}))
        for age in days:
            made_at = report.created_at - timedelta(days=age)
            await store.write(report.model_copy(update={"id": f"{name} {age}", "created_at": made_at}))
    await store.aclose()
    store = SqlReports(url, report_retention_days=7, knowledge=knowledge)
    await store.write(report)
    assert sorted(row.id for row in store.reader.page().rows) == sorted(["both 0", "new 0", report.id])
    assert [name for name in ("old", "both", "new") if await knowledge.delivered(name)] == ["both", "new"]
    await store.aclose()


async def test_much_text_is_cut(tmp_path: Path) -> None:
    guard, store = guard_keeping("delivered", tmp_path)
    long = Document(id="long", text="Stones and shells. " * 40_000)
    await guard.acheck(conversation(user(ASKED), assistant(TRUTH, long, NOTES)))
    texts = kept(store).texts
    assert texts is not None
    assert [(one.id, len(one.text), one.metadata) for one in texts.documents] == [
        ("long", 400_000, {"kept_characters": 400_000}),
        ("notes", 0, {"kept_characters": 0}),
    ]
    await guard.aclose()


class _Everything:
    """Somebody's own sink that keeps texts."""

    record: Record = "full"

    def __init__(self) -> None:
        self.kept: list[tuple[TurnReport, TurnTexts]] = []

    async def write(self, report: TurnReport) -> None:
        raise StoreError("it is given texts, so it is not asked to write a report alone")

    async def write_turn(self, report: TurnReport, texts: TurnTexts) -> None:
        self.kept.append((report, texts))


async def test_a_sink_of_ones_own() -> None:
    own = _Everything()
    sinks: Iterable[TextSink] = (own,)
    guard = Guard(judge(), "strict", knowledge=MemoryKnowledge(WordEmbedder()), sinks=tuple(sinks))
    report = await guard.acheck(talk(DRAFT))
    assert (report.warnings, report.response) == ((), MESSAGE)
    ((written, texts),) = own.kept
    assert (written, texts.draft) == (report, DRAFT)


def test_texts_that_are_kept_nowhere_are_a_wrong_setting() -> None:
    with raises(ConfigError, "record", "reports"):
        Guard.from_settings(record="full", store="memory")
