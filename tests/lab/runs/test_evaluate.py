"""A run's folder: what it says, how it is gone on with, and what is refused."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.lab.judges import RuleJudge
from tests.lab.runs.ruled import Ruled, lasting, source
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Claim, JudgeInfo, Label, TurnReport
from vista_lab.logs.formats import BrokenEntry, LoggedConversation
from vista_lab.metrics.detection import Reading
from vista_lab.runs.evaluate import Evaluation, evaluate
from vista_lab.runs.folder import read_evaluation, read_gold
from vista_lab.runs.loop import ClaimsMode, Event, RunSettings, Steering
from vista_lab.runs.plan import Source, make_plan, sample_names
from vista_lab.runs.summary import RunSummary, summarise


async def run(
    out: Path,
    system: Ruled | None = None,
    rows: Source | None = None,
    made: RunSettings | None = None,
    **steering: object,
) -> Evaluation:
    made = made or RunSettings()
    found = make_plan(rows or source(), made.claims, limit=made.limit, seed=made.seed)
    return await evaluate(system or Ruled(), found, out, made, Steering(**steering))  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def names(folder: Path) -> list[str]:
    return sorted(contents(folder))


async def test_a_folder_says_how_it_was_made_and_what_it_comes_to(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "piers"
    broken = BrokenEntry("piers.jsonl line 9", "is no talk")
    done = await run(out, rows=source(6, broken), system=Ruled(options={"policy": "monitor"}))
    assert names(out) == [
        "gold.jsonl",
        "manifest.json",
        "reports.jsonl",
        "summary.json",
    ]
    made, rows = read_evaluation(out)
    assert (made.system.name, made.system.options, made.claims, made.engine) == (
        "vista",
        {"policy": "monitor"},
        "judge",
        "local",
    )
    assert (rows.conversations, rows.turns) == (tuple(f"talk-{number}" for number in range(6)), 18)
    assert (rows.files, rows.skipped) == ({"piers.jsonl": "aa"}, {"is no talk": 1})
    assert read_gold(out)["talk-1", 5].label == "wrong"
    figures = RunSummary.model_validate_json((out / "summary.json").read_bytes())
    assert figures == done.figures == summarise(out)
    assert (figures.complete, figures.turns, figures.judged, figures.coverage, figures.skipped) == (
        True,
        18,
        18,
        1.0,
        1,
    )
    # The first turn of three is verified; the others hold an opinion or a contradiction, and the data set looks for those.
    assert list(figures.readings) == [Reading.ORIGINAL]
    found = figures.readings[Reading.ORIGINAL]
    assert (found.turns, found.tp, found.tn, found.fp, found.fn, found.accuracy) == (18, 12, 6, 0, 0, 1.0)


async def test_a_stopped_run_goes_on_to_the_same_reports(tmp_path: Path) -> None:
    await run(tmp_path / "whole")
    judged = 0
    for _ in range(20):
        stop, judge = asyncio.Event(), RuleJudge()

        def after_two(event: Event, stop: asyncio.Event = stop, judge: RuleJudge = judge) -> None:
            if isinstance(event, TurnReport) and len(judge.asked) >= 2:
                stop.set()

        done = await run(
            tmp_path / "parts",
            Ruled(judge),
            made=RunSettings(engine="other"),
            concurrency=2,
            on_progress=after_two,
            stop=stop,
        )
        judged += len(judge.asked)
        if done.figures.complete:
            break
        assert done.figures.reported < done.figures.turns
    assert judged == 18
    assert lasting(tmp_path / "parts") == lasting(tmp_path / "whole")


async def test_a_spent_budget_ends_the_run_and_a_new_one_goes_on(tmp_path: Path) -> None:
    first = await run(tmp_path, Ruled(most=7), concurrency=1)
    assert (first.session.exhausted, first.figures.complete) == ("the run's budget of 7 turns is spent", False)
    assert (first.figures.reported, first.session.turns) == (7, 7)
    found = first.figures.readings[Reading.ORIGINAL]
    assert (found.turns, found.unchecked, found.coverage) == (18, 11, 7 / 18)
    assert found.tp + found.tn == 7
    second = await run(tmp_path)
    assert (second.figures.complete, second.session.resumed) == (True, 7)


async def test_what_was_not_judged_is_in_no_share(tmp_path: Path) -> None:
    talks = [
        conversation(user("?"), assistant(text), id=f"c-{n}") for n, text in enumerate(["boom", "A. not B", "I like"])
    ]
    rows = Source("few", lambda: iter([LoggedConversation(talk, {}) for talk in talks]), {})
    figures = (await run(tmp_path, rows=rows)).figures
    assert (figures.turns, figures.reported, figures.judged, figures.unchecked) == (3, 3, 2, 1)
    assert (figures.coverage, figures.micro) == (2 / 3, 1 / 3)
    assert figures.readings == {}


def labelled() -> Source:
    claims = (Claim(id="t1.c1", text="Pier is old"), Claim(id="t1.c2", text="I like it"))
    said = assistant("Pier is old. I like it", "Pier is old.").model_copy(update={"claims": claims})
    human = {"t1.c1": Label.VERIFIED, "t1.c2": Label.OUT_OF_SCOPE}
    entry = LoggedConversation(conversation(user("?"), said, user("?"), assistant("More"), id="one"), human)
    return Source("labelled", lambda: iter([entry]), {})


async def test_given_claims_are_held_against_peoples_labels(tmp_path: Path) -> None:
    done = await run(tmp_path / "given", rows=labelled(), made=RunSettings(ClaimsMode.GIVEN))
    assert (done.figures.turns, done.figures.claims) == (1, 2)
    assert done.figures.agreement is not None
    assert done.figures.agreement.labels == 1.0
    strict, safe = (done.figures.readings[reading] for reading in (Reading.STRICT, Reading.SAFE))
    assert ((strict.tp, strict.tn), (safe.tp, safe.tn)) == ((1, 0), (0, 1))


async def test_labels_of_other_claims_are_not_held_against_the_judges_own(tmp_path: Path) -> None:
    done = await run(tmp_path, rows=labelled())
    assert done.figures.agreement is None
    # The turn as a whole is the same, whoever takes it apart; the other turn has no gold.
    assert (done.figures.turns, done.figures.readings[Reading.STRICT].turns) == (2, 1)


async def test_another_run_is_refused_and_says_in_what(tmp_path: Path) -> None:
    await run(tmp_path)
    before = contents(tmp_path)
    others: dict[str, tuple[Ruled, Source, RunSettings]] = {
        "system vista instead of majority": (Ruled(name="majority"), source(), RunSettings()),
        "judge rules 1 instead of rules 2": (
            Ruled(RuleJudge(info=JudgeInfo(name="rules", version="2"))),
            source(),
            RunSettings(),
        ),
        "option policy - instead of strict": (Ruled(options={"policy": "strict"}), source(), RunSettings()),
        "sha256 of piers.jsonl aa instead of bb": (Ruled(), source(sha256="bb"), RunSettings()),
        "seed 0 instead of 1": (Ruled(), source(), RunSettings(seed=1)),
        "limit None instead of 2, conversations 6": (Ruled(), source(), RunSettings(limit=2)),
    }
    for difference, (system, rows, made) in others.items():
        with pytest.raises(ConfigError) as raised:
            await run(tmp_path, system, rows, made)
        assert difference in str(raised.value)
        assert str(raised.value).endswith(". Choose another --out, or run with the same")
    assert contents(tmp_path) == before


async def test_a_manifest_of_another_version_is_refused(tmp_path: Path) -> None:
    await run(tmp_path)
    path = tmp_path / "manifest.json"
    for version in ("2.0", None):
        path.write_text(json.dumps({**json.loads(path.read_text()), "version": version}))
        with raises(ConfigError, version):
            await run(tmp_path)
    path.write_text('{"made_by": "vista-guard", "kind": "dialogues"}')
    with pytest.raises(ConfigError):
        await run(tmp_path)
    path.write_text('{"version": "1.0"}')
    with raises(ConfigError, "made_by"):
        await run(tmp_path)
    path.write_text("{")
    with raises(ConfigError, "JSON"):
        await run(tmp_path)


async def test_a_folder_of_somebody_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "novel.txt").write_text("It was a dark night")
    with raises(ConfigError, "novel.txt", "manifest.json"):
        await run(tmp_path)
    with raises(ConfigError, "novel.txt", "--out"):
        await run(tmp_path / "novel.txt")
    with raises(ConfigError, "File"):
        await run(tmp_path / ("x" * 300))
    assert names(tmp_path) == ["novel.txt"]


async def test_reports_without_a_manifest_are_not_added_to(tmp_path: Path) -> None:
    await run(tmp_path)
    (tmp_path / "manifest.json").unlink()
    with raises(ConfigError, "manifest.json"):
        await run(tmp_path)


async def test_a_run_killed_before_its_first_report_is_begun_anew(tmp_path: Path) -> None:
    await run(tmp_path)
    for name in ("manifest.json", "gold.jsonl", "summary.json"):
        (tmp_path / name).unlink()
    (tmp_path / "reports.jsonl").write_bytes(b"")
    assert (await run(tmp_path)).figures.complete


def test_samples_of_one_seed_are_nested_and_keep_the_order() -> None:
    names = tuple(f"n{number}" for number in range(100))
    small, large = sample_names(names, 10, 7), sample_names(names, 30, 7)
    assert (len(small), len(large)) == (10, 30)
    assert set(small) < set(large)
    assert list(large) == [name for name in names if name in large]
    assert sample_names(names, 10, 8) != small
    assert sample_names(names, None, 7) == sample_names(names, 100, 7) == names


async def test_a_sample_is_judged_and_no_more(tmp_path: Path) -> None:
    done = await run(tmp_path, made=RunSettings(limit=2, seed=3))
    assert {name for name, _ in lasting(tmp_path)} == set(read_evaluation(tmp_path)[1].conversations)
    assert (done.figures.conversations, done.figures.turns) == (2, 6)


async def test_gold_that_is_gone_is_written_again(tmp_path: Path) -> None:
    await run(tmp_path)
    (tmp_path / "gold.jsonl").unlink()
    with raises(InputError, "gold.jsonl"):
        summarise(tmp_path)
    assert (await run(tmp_path)).session.resumed
    summarise(tmp_path)


def test_rows_that_cannot_be_evaluated() -> None:
    twice = Source("twice", lambda: iter([next(source(1).read())] * 2), {})
    with raises(InputError, "twice", "conversations", "talk-0"):
        make_plan(twice, ClaimsMode.JUDGE)
    with raises(InputError, "piers", "claims"):
        make_plan(source(), ClaimsMode.GIVEN)
    with raises(InputError, "piers"):
        make_plan(source(0), ClaimsMode.JUDGE)
    with raises(InputError, "piers", "line 1", "goood"):
        make_plan(source(0, BrokenEntry("line 1", "has the label 'goood'")), ClaimsMode.JUDGE)


async def test_a_broken_line_of_a_finished_run_is_named(tmp_path: Path) -> None:
    await run(tmp_path)
    for name in ("gold.jsonl", "reports.jsonl"):
        path = tmp_path / name
        whole = path.read_bytes()
        path.write_bytes(b"garbage\n" + whole)
        with raises(InputError, name, "1"):
            summarise(tmp_path)
        path.write_bytes(whole)


async def test_a_manifest_keeps_the_shape_that_older_versions_read(tmp_path: Path) -> None:
    """Versions 0.2 and later read and resume each other's folders."""
    await evaluate(Ruled(), make_plan(source(1), ClaimsMode.JUDGE), tmp_path, RunSettings())
    written = json.loads((tmp_path / "manifest.json").read_text("utf-8"))
    assert written["version"] == "1.0"
    assert sorted(written) == [
        "claims", "created", "engine", "limit", "machine", "made_by", "rows", "seed", "system", "version"
    ]  # fmt: skip
    assert sorted(written["system"]) == ["judge", "name", "options", "prompts", "shots"]
    assert sorted(written["rows"]) == [
        "conversations", "files", "name", "sample", "skipped", "split", "task", "test", "turns"
    ]  # fmt: skip


async def test_a_replay_has_no_gold_for_tables(tmp_path: Path) -> None:
    await evaluate(Ruled(), make_plan(source(1), ClaimsMode.JUDGE), tmp_path, RunSettings())
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), "rows": None}), encoding="utf-8")
    with raises(ConfigError, "gold"):
        read_evaluation(tmp_path)
