"""Recordings: real files, recorded and replayed through the guard and by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.judges.answering import HALL, Answering, AnsweringTurns, check, claim
from tests.raising import raises
from vista_guard.errors import BudgetError, ContextTooLongError, JudgeError, RecordingError, UnreadableError
from vista_guard.guard import Guard
from vista_guard.judges.composed.ensemble import warm
from vista_guard.judges.composed.stored import StoredJudge
from vista_guard.judges.contract import measure
from vista_guard.protocols import TurnJudge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.types import EvidenceSet, Label, Unchecked, Usage

LABELS = {"It opened.": (Label.VERIFIED, 0.9), "It is red.": (Label.OUT_OF_SCOPE, 0.8)}
OPENED, RED = claim("It opened.", "c1"), claim("It is red.", "c2")
TEXT = "The hall opened in 1925. It is lovely."
SCRIPT = {TEXT: [Verdict("The hall opened in 1925."), Verdict("It is lovely.", Label.OUT_OF_SCOPE)]}
TALK = conversation(user("When?"), assistant(TEXT, "The hall opened in 1925."))


def guard(judge: StoredJudge) -> Guard:
    return Guard(judge, "strict", knowledge=MemoryKnowledge(WordEmbedder()))


def read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "calls.jsonl"


class Loading(ScriptedJudge):
    """Counts how often it was told to load."""

    loads = 0

    def warm(self) -> None:
        self.loads += 1


def test_models_behind_a_cache_or_a_recording_load_before_the_first_turn(file: Path, tmp_path: Path) -> None:
    inner = Loading(SCRIPT)
    warm(StoredJudge.recorded(inner, file), StoredJudge.cached(inner, tmp_path / "cache"))
    assert inner.loads == 2


def test_a_guarded_conversation_is_replayed_exactly(file: Path) -> None:
    inner = ScriptedJudge(SCRIPT)
    recorded, replayed = StoredJudge.recorded(inner, file), None
    before = guard(recorded).check(TALK)
    replayed = StoredJudge.replayed(file)
    after = guard(replayed).check(TALK)
    times = {"id", "timings", "created_at"}
    assert after.model_dump(exclude=times) == before.model_dump(exclude=times)
    assert inner.asked == [TEXT]
    assert replayed.info == inner.info


def test_a_miss_leaves_the_guard_as_an_error_and_names_what_was_asked(file: Path) -> None:
    guard(StoredJudge.recorded(ScriptedJudge(SCRIPT), file)).check(TALK)
    other = conversation(user("When?"), assistant("It closed.", "The hall opened in 1925."))
    with raises(RecordingError, "calls.jsonl", "It closed."):
        guard(StoredJudge.replayed(file)).check(other)
    lines = read(file).splitlines(keepends=True)
    write(file, "".join(line for line in lines if '"method": "verify"' not in line))
    with raises(RecordingError, "t1.c1 The hall opened in 1925.", "t1.c2 It is lovely."):
        guard(StoredJudge.replayed(file)).check(TALK)


async def test_calls_come_in_any_order_and_identical_ones_in_theirs(file: Path) -> None:
    inner = Answering(LABELS)
    recorded = StoredJudge.recorded(inner, file)
    await recorded.verify([OPENED], HALL)
    inner.labels = {"It opened.": (Label.VERIFIED, 0.7)}
    await recorded.verify([OPENED], HALL)
    await recorded.verify([RED], HALL)
    replay = StoredJudge.replayed(file)
    assert list(await replay.verify([RED], HALL)) == [Unchecked(claim=RED, error="no answer")]
    assert list(await replay.verify([OPENED], HALL)) == [check(OPENED, True)]
    assert list(await replay.verify([OPENED], HALL)) == [check(OPENED, True, 0.7)]
    with raises(RecordingError, "verify", "c1 It opened."):
        await replay.verify([OPENED], HALL)
    with pytest.raises(RecordingError):
        await StoredJudge.replayed(file).verify([OPENED], EvidenceSet())


async def test_usage_and_warnings_are_replayed(file: Path) -> None:
    inner = Answering(LABELS, warning="judged without d9")
    meters = []
    with measure() as meter:
        await StoredJudge.recorded(inner, file).verify([OPENED], HALL)
    meters.append((meter.usage, meter.warnings))
    with measure() as meter:
        await StoredJudge.replayed(file).verify([OPENED], HALL)
    meters.append((meter.usage, meter.warnings))
    assert meters == [(Usage(calls=1, input_tokens=10), ("judged without d9",))] * 2
    assert len(inner.verified) == 1


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (JudgeError("down"), JudgeError("down")),
        (BudgetError("spent"), BudgetError("spent")),
        (ContextTooLongError("long"), ContextTooLongError("long")),
        (UnreadableError("odd", "what?"), UnreadableError("odd", "what?")),
        (ValueError("a bug"), JudgeError("the judge failed: ValueError: a bug")),
    ],
)
async def test_errors_are_recorded_and_raised_again(file: Path, error: Exception, raised: JudgeError) -> None:
    for times in range(2):
        inner = Answering({OPENED.text: error})
        judge = StoredJudge.replayed(file) if times else StoredJudge.recorded(inner, file)
        with measure() as meter, pytest.raises(JudgeError) as caught:
            await judge.verify([OPENED], HALL)
        assert (type(caught.value), str(caught.value)) == (type(raised), str(raised))
        assert getattr(caught.value, "raw", None) == getattr(raised, "raw", None)
        assert meter.usage.calls == 1


async def test_whole_turns_are_recorded_where_the_judge_takes_them(tmp_path: Path) -> None:
    turn = assistant("It opened. It is red.")
    for number, inner in enumerate((AnsweringTurns(LABELS), Answering(LABELS))):
        path = tmp_path / f"{number}.jsonl"
        judge = StoredJudge.recorded(inner, path)
        assert isinstance(judge, TurnJudge)
        answers = await judge.judge_turn(turn, [], HALL)
        again = await StoredJudge.replayed(path).judge_turn(turn, [], HALL)
        assert (answers is None) == (number == 1)
        assert again == (answers if answers is None else tuple(answers))


async def test_a_line_shows_the_call_and_nothing_of_the_judge_but_its_name(file: Path) -> None:
    class Keyed(Answering):
        key = "sk-very-secret"

    long = claim("word " * 100)
    judge = StoredJudge.recorded(Keyed({long.text: (Label.VERIFIED, 0.9)}), file)
    await judge.verify([long], HALL)
    header, call = map(json.loads, read(file).splitlines())
    assert header == {
        "vista_guard_recording": 1,
        "judge": {"name": "answering", "version": "1"},
        "judges_turns": False,
    }
    assert set(call) == {"method", "inputs", "about", "answer", "failure", "usage", "warnings"}
    assert (call["method"], len(call["inputs"]), len(call["about"])) == ("verify", 64, 200)
    assert call["answer"] == [check(long, True).model_dump(mode="json")]
    assert "secret" not in read(file)


async def test_half_characters_are_replayed(file: Path) -> None:
    broken = claim("It \ud800 opened.")
    recorded = StoredJudge.recorded(Answering({broken.text: (Label.VERIFIED, 0.9)}), file)
    answers = await recorded.verify([broken], HALL)
    assert list(await StoredJudge.replayed(file).verify([broken], HALL)) == list(answers) == [check(broken, True)]


async def test_damage_is_named_by_its_line(file: Path) -> None:
    judge = StoredJudge.recorded(Answering(LABELS), file)
    await judge.verify([OPENED], HALL)
    await judge.verify([RED], HALL)
    whole = read(file)
    for lines, named in (
        (whole[:-40], "line 3"),
        (whole.replace('"method": "verify"', '"method": "guess"', 1), "method"),
        (whole.replace('"supported": true', '"supported": "maybe"'), "supported"),
        ("{}\n", "line 1"),
        ("", "line 1"),
        (whole.replace('"vista_guard_recording": 1', '"vista_guard_recording": 9'), "9"),
    ):
        write(file, lines)
        with raises(RecordingError, named):
            StoredJudge.replayed(file)
    with raises(RecordingError, "none.jsonl"):
        StoredJudge.replayed(file.with_name("none.jsonl"))


async def test_a_recording_is_never_written_over(file: Path, tmp_path: Path) -> None:
    inner = Answering(LABELS, why_exhausted="the budget is spent")
    judge = StoredJudge.recorded(inner, file)
    assert judge.why_exhausted == "the budget is spent"
    assert StoredJudge.replayed(file).why_exhausted is None
    with raises(RecordingError, "calls.jsonl"):
        StoredJudge.recorded(inner, file)
    with pytest.raises(RecordingError):
        StoredJudge.recorded(inner, tmp_path / "no" / "file")
    await judge.aclose()
    assert inner.closed == 1
