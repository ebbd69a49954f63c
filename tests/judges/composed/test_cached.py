"""The cache through its front door: real folders, real processes."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.judges.answering import HALL, Answering, AnsweringTurns, check, claim, finding
from tests.pace import auntil, others
from tests.raising import raises
from vista_guard.errors import JudgeError, StoreError
from vista_guard.guard import Guard
from vista_guard.judges.composed.stored import StoredJudge
from vista_guard.judges.contract import measure
from vista_guard.protocols import TurnJudge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.types import Check, EvidenceSet, JudgeInfo, Label, Span, Unchecked, Usage

LABELS = {
    "It opened.": (Label.VERIFIED, 0.9),
    "It is red.": (Label.OUT_OF_SCOPE, 0.8),
    "It is old.": (Label.VERIFIED, 0.7),
}
OPENED, RED, OLD = claim("It opened.", "c1"), claim("It is red.", "c2"), claim("It is old.", "c3")


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def damage(folder: Path) -> None:
    for file in folder.glob("cache.db*"):
        file.write_bytes(b"no database " * 1000)


async def test_only_what_was_not_asked_before_is_asked(tmp_path: Path) -> None:
    inner = Answering(LABELS)
    judge = StoredJudge.cached(inner, tmp_path)
    assert isinstance(judge, TurnJudge)
    assert judge.info == inner.info
    first = await judge.verify([OPENED, RED], HALL)
    with measure() as meter:
        second = await judge.verify([OLD, RED, OPENED], HALL)
    assert first == [check(OPENED, True), check(RED, False, 0.8)]
    assert second == [check(OLD, True, 0.7), check(RED, False, 0.8), check(OPENED, True)]
    assert inner.verified == [["It opened.", "It is red."], ["It is old."]]
    assert meter.usage == Usage(calls=1, input_tokens=10)
    await judge.aclose()
    assert inner.closed == 1


async def test_a_check_with_support_is_the_same_question_as_before_there_was_support(tmp_path: Path) -> None:
    inner = Answering(LABELS)
    judge = StoredJudge.cached(inner, tmp_path)
    before = check(RED, False, 0.8)
    first = await judge.categorize([before], HALL)
    assert await judge.categorize([before.model_copy(update={"support": 0.3})], HALL) == first
    assert len(inner.categorized) == 1
    await judge.aclose()


async def test_a_later_process_reads_what_an_earlier_one_kept_and_pays_nothing(tmp_path: Path) -> None:
    turn, history = assistant("It opened. It is red."), [user("And?")]
    for times in range(2):
        inner = Answering(LABELS)
        judge = StoredJudge.cached(inner, tmp_path)
        with measure() as meter:
            claims = await judge.decompose(turn, history)
            checks = await judge.verify(claims, HALL)
            found = await judge.categorize(
                [one for one in checks if isinstance(one, Check) and not one.supported], HALL
            )
        await judge.aclose()
        assert [one.text for one in claims] == ["It opened.", "It is red."]
        assert found == [finding(claims[1], Label.OUT_OF_SCOPE, 0.8)]
        assert meter.usage.calls == (0 if times else 3)
        assert inner.decomposed == ([] if times else [turn.text])


async def test_a_kept_answer_is_about_the_claim_that_asks(tmp_path: Path) -> None:
    inner = Answering(LABELS)
    judge = StoredJudge.cached(inner, tmp_path)
    await judge.verify([OPENED], HALL)
    again = OPENED.model_copy(update={"id": "t9.c4", "span": Span(start=3, end=9)})
    assert await judge.verify([again, OPENED], HALL) == [check(again, True), check(OPENED, True)]
    assert await judge.categorize([check(RED, False)], HALL) == [finding(RED, Label.OUT_OF_SCOPE, 0.8)]
    other = RED.model_copy(update={"id": "t9.c5"})
    assert await judge.categorize([check(other, False)], HALL) == [finding(other, Label.OUT_OF_SCOPE, 0.8)]
    assert (inner.verified, inner.categorized) == ([["It opened."]], [["It is red."]])
    await judge.aclose()


@pytest.mark.parametrize("part", ["judge", "evidence", "claim", "method"])
async def test_any_other_question_is_another_question(tmp_path: Path, part: str) -> None:
    judge = StoredJudge.cached(Answering(LABELS), tmp_path)
    await judge.verify([RED], HALL)
    await judge.aclose()
    inner = Answering(LABELS, info=JudgeInfo(name="answering", version="2" if part == "judge" else "1"))
    other = StoredJudge.cached(inner, tmp_path)
    if part == "method":
        await other.categorize([check(RED, False)], HALL)
    else:
        await other.verify([OLD if part == "claim" else RED], EvidenceSet() if part == "evidence" else HALL)
    assert len(inner.verified) + len(inner.categorized) == 1
    await other.aclose()


async def test_what_was_not_judged_is_asked_again(tmp_path: Path) -> None:
    inner = Answering({"It opened.": (Label.VERIFIED, 0.9)})
    judge = StoredJudge.cached(inner, tmp_path)
    for _ in range(2):
        assert await judge.verify([OPENED, RED], HALL) == [check(OPENED, True), Unchecked(claim=RED, error="no answer")]
    assert inner.verified == [["It opened.", "It is red."], ["It is red."]]
    failing = Answering({"It is old.": JudgeError("it is down")})
    down = StoredJudge.cached(failing, tmp_path)
    for _ in range(2):
        with pytest.raises(JudgeError):
            await down.verify([OLD], HALL)
    assert failing.verified == [["It is old."]] * 2
    wrong = Answering({"It is old.": (Label.VERIFIED, 0.9)})
    mistaken = StoredJudge.cached(wrong, tmp_path)
    for _ in range(2):
        await mistaken.categorize([check(OLD, False)], HALL)
    assert wrong.categorized == [["It is old."]] * 2
    for one in (judge, down, mistaken):
        await one.aclose()


async def test_one_by_one_a_claim_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    inner = Answering({**LABELS, "It is red.": JudgeError("it is down")}, claims_per_call=1)
    judge = StoredJudge.cached(inner, tmp_path)
    wanted = [check(OPENED, True), Unchecked(claim=RED, error="it is down"), check(OLD, True, 0.7)]
    for _ in range(2):
        assert await judge.verify([OPENED, RED, OLD], HALL) == wanted
    assert sorted(inner.verified) == [["It is old."], ["It is red."], ["It is red."], ["It opened."]]
    await judge.aclose()


@pytest.mark.parametrize("one_by_one", [None, 1])
async def test_what_is_asked_at_the_same_time_is_asked_once(tmp_path: Path, one_by_one: int | None) -> None:
    inner = Answering(LABELS, claims_per_call=one_by_one)
    judge = StoredJudge.cached(inner, tmp_path)
    with measure() as meter:
        first, second, third = await asyncio.gather(
            judge.verify([OPENED, RED], HALL), judge.verify([RED, OLD], HALL), judge.verify([OLD, OPENED], HALL)
        )
    assert first == [check(OPENED, True), check(RED, False, 0.8)]
    assert second == [check(RED, False, 0.8), check(OLD, True, 0.7)]
    assert third == [check(OLD, True, 0.7), check(OPENED, True)]
    assert sorted(text for call in inner.verified for text in call) == ["It is old.", "It is red.", "It opened."]
    assert meter.usage.calls == len(inner.verified)
    await judge.aclose()


async def test_one_who_waits_asks_itself_when_the_other_was_cancelled(tmp_path: Path) -> None:
    inner = Answering(LABELS, wait=600)
    judge = StoredJudge.cached(inner, tmp_path)
    asking = asyncio.create_task(judge.verify([OPENED], HALL))
    await auntil(lambda: inner.verified)
    leaving, waiting = (asyncio.create_task(judge.verify([OPENED], HALL)) for _ in range(2))
    await others()
    leaving.cancel()
    await others()
    inner.wait = 0
    asking.cancel()
    assert await waiting == [check(OPENED, True)]
    assert inner.verified == [["It opened."]] * 2
    await judge.aclose()


async def test_warnings_are_told_again_with_a_kept_answer(tmp_path: Path) -> None:
    inner = Answering(LABELS, warning="judged without d9, which was too long")
    judge = StoredJudge.cached(inner, tmp_path)
    for _ in range(2):
        with measure() as meter:
            await judge.verify([OPENED], HALL)
        assert meter.warnings == ("judged without d9, which was too long",)
    assert len(inner.verified) == 1
    await judge.aclose()


async def test_whole_turns_are_kept_when_every_claim_was_judged(tmp_path: Path) -> None:
    inner = AnsweringTurns(LABELS)
    judge = StoredJudge.cached(inner, tmp_path)
    for text, asked in (("It opened. It is old.", 1), ("It opened. It is new.", 2)):
        inner.verified.clear()
        answers = [await judge.judge_turn(assistant(text), [], HALL) for _ in range(2)]
        assert answers[0] is not None
        assert list(answers[0]) == list(answers[1] or [])
        assert len(inner.verified) == asked
    stage_by_stage = StoredJudge.cached(Answering(LABELS), tmp_path)
    assert await stage_by_stage.judge_turn(assistant("It opened."), [], HALL) is None
    await judge.aclose()
    await stage_by_stage.aclose()


async def test_half_characters_are_kept_like_any_text(tmp_path: Path) -> None:
    broken = claim("It \ud800 opened.")
    inner = Answering({broken.text: (Label.VERIFIED, 0.9)})
    judge = StoredJudge.cached(inner, tmp_path)
    assert await judge.verify([broken], HALL) == await judge.verify([broken], HALL) == [check(broken, True)]
    assert len(inner.verified) == 1
    await judge.aclose()


async def test_the_cache_stays_below_its_size(tmp_path: Path) -> None:
    texts = [f"Claim {number}: {os.urandom(2000).hex()}." for number in range(300)]
    inner = Answering(dict.fromkeys(texts, (Label.VERIFIED, 0.9)))
    judge = StoredJudge.cached(inner, tmp_path, max_bytes=300_000)
    for text in texts:
        await judge.verify([claim(text)], HALL)
    await judge.aclose()
    assert size(tmp_path) < 600_000
    judge = StoredJudge.cached(inner, tmp_path, max_bytes=300_000)
    await judge.verify([claim(texts[-1])], HALL)
    assert len(inner.verified) == 300
    await judge.aclose()


def test_a_folder_that_cannot_be_a_cache_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with raises(StoreError, "cache"):
        StoredJudge.cached(Answering(LABELS), tmp_path / "file")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "cache.db").write_text("no database " * 1000)
    with raises(StoreError, "cache"):
        StoredJudge.cached(Answering(LABELS), tmp_path / "cache")


async def test_a_cache_that_breaks_while_judging_is_passed_by_with_a_warning(tmp_path: Path) -> None:
    inner = Answering(LABELS)
    judge = StoredJudge.cached(inner, tmp_path)
    damage(tmp_path)
    for _ in range(2):
        with measure() as meter:
            assert await judge.verify([OPENED], HALL) == [check(OPENED, True)]
        assert [warning.split(" failed")[0] for warning in meter.warnings][:1] == [f"the judge's cache {tmp_path}"]
    await judge.aclose()


def test_a_guard_gives_the_same_report_from_the_cache(tmp_path: Path) -> None:
    text = "The hall opened in 1925. It is lovely."
    script = {text: [Verdict("The hall opened in 1925.", needs="1925"), Verdict("It is lovely.", Label.OUT_OF_SCOPE)]}
    talk = conversation(user("When?"), assistant(text, "The hall opened in 1925."))
    reports = []
    scripted = [ScriptedJudge(script), ScriptedJudge(script)]
    for inner in scripted:
        guard = Guard(StoredJudge.cached(inner, tmp_path), "strict", knowledge=MemoryKnowledge(WordEmbedder()))
        reports.append(guard.check(talk).model_dump(exclude={"id", "timings", "created_at"}))
        guard.close()
    assert reports[0] == reports[1]
    assert [inner.asked for inner in scripted] == [[text], []]


PROCESS = """
import asyncio, json, sys
from pathlib import Path
from tests.judges.answering import HALL, Answering, claim
from vista_guard.judges.composed.stored import StoredJudge
from vista_guard.types import Label

folder, log, wait = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
texts = [f"Claim {number}." for number in range(40)]

class Logging(Answering):
    async def verify(self, claims, evidence):
        answers = await super().verify(claims, evidence)
        with log.open("a") as lines:
            lines.write("".join(one.text + "\\n" for one in claims))
        return answers

async def main():
    inner = Logging({text: (Label.VERIFIED, 0.9) for text in texts}, wait=wait, claims_per_call=1)
    judge = StoredJudge.cached(inner, folder)
    found = []
    for start in range(0, 40, 4):
        found += await judge.verify([claim(text, text) for text in texts[start:start + 4]], HALL)
        print(len(found), flush=True)
    await judge.aclose()
    assert [one.claim.text for one in found] == texts, found

asyncio.run(main())
"""


def start(folder: Path, log: Path, wait: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROCESS, str(folder), str(log), str(wait)]
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True, env=environment)


def test_several_processes_share_a_folder(tmp_path: Path) -> None:
    processes = [start(tmp_path / "cache", tmp_path / "log", 0.0) for _ in range(3)]
    for process in processes:
        process.communicate()
    assert [process.returncode for process in processes] == [0, 0, 0]
    asked = (tmp_path / "log").read_text().splitlines()
    last = start(tmp_path / "cache", tmp_path / "log", 0.0)
    last.communicate()
    assert last.returncode == 0
    assert (tmp_path / "log").read_text().splitlines() == asked
    assert set(asked) == {f"Claim {number}." for number in range(40)}


def test_a_killed_process_loses_only_what_was_in_flight(tmp_path: Path) -> None:
    process = start(tmp_path / "cache", tmp_path / "log", 0.05)
    assert process.stdout is not None
    while int(process.stdout.readline()) < 16:
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    again = start(tmp_path / "cache", tmp_path / "log", 0.0)
    again.communicate()
    assert again.returncode == 0
    asked = (tmp_path / "log").read_text().splitlines()
    assert len(set(asked)) == 40
    # Four claims were asked about at a time: no more than those were answered and not yet kept.
    assert len(asked) - len(set(asked)) <= 4


def test_nothing_in_the_folder_is_a_pickle(tmp_path: Path) -> None:
    import sqlite3
    import zlib

    judge = StoredJudge.cached(Answering(LABELS), tmp_path)
    asyncio.run(judge.verify([OPENED], HALL))
    asyncio.run(judge.aclose())
    database = sqlite3.connect(tmp_path / "cache.db")
    [(value,)] = database.execute("SELECT value FROM Cache").fetchall()
    database.close()
    entry = json.loads(zlib.decompress(value))
    assert entry == {"answer": check(OPENED, True).model_dump(mode="json"), "warnings": []}
