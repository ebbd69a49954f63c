"""Which files are runs, and which runs can be compared."""

from __future__ import annotations

from pathlib import Path

from tests.lab.policies.turns import stored
from tests.lab.runs.ruled import Ruled, source
from tests.lab.runs.runs import manifest, run, written
from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.types import Action
from vista_lab.runs.evaluate import evaluate
from vista_lab.runs.loop import ClaimsMode, RunSettings
from vista_lab.runs.plan import make_plan
from vista_lab.runs.reading import describe, differences, find_runs, read_run, why_not_comparable


def test_runs_are_found_in_folders_and_given_as_files(tmp_path: Path) -> None:
    written(tmp_path / "runs" / "old.jsonl")
    written(tmp_path / "runs" / "deep" / "new.jsonl", version="2")
    alone = written(tmp_path / "alone.jsonl", judge="model")
    (tmp_path / "runs" / "notes.jsonl").write_text("{}\n")
    found, wrong = find_runs([tmp_path / "runs", alone])
    assert [(one.name, one.manifest.system.judge.version) for one in found] == [
        ("alone.jsonl", "1"),
        ("deep/new.jsonl", "2"),
        ("old.jsonl", "1"),
    ]
    assert wrong == []


async def test_folders_of_evaluations_are_found_among_them(tmp_path: Path) -> None:
    written(tmp_path / "replays" / "old.jsonl")
    for name, options in (("first", {"context": "none"}), ("second", {"context": "full"})):
        rows = make_plan(source(2), ClaimsMode.JUDGE)
        await evaluate(Ruled(options=options), rows, tmp_path / "runs" / name, RunSettings())
    found, wrong = find_runs([tmp_path])
    assert ([one.name for one in found], wrong) == (["replays/old.jsonl", "runs/first", "runs/second"], [])
    assert [one.name for one in find_runs([tmp_path / "runs" / "first"])[0]] == ["first"]
    first, second = map(read_run, found[1:])
    assert len(first.reports) == 6
    assert why_not_comparable(first, second) is None
    assert differences(first.manifest, second.manifest) == {"context": ("none", "full")}
    assert describe(first.manifest) == ["vista", "rules 1", "piers dev", "claims judge"]
    (tmp_path / "runs" / "first" / "manifest.json").write_text('{"version": "9.0"}')
    found, (wrong_one,) = find_runs([tmp_path])
    assert ("has version 9.0" in wrong_one, len(found)) == (True, 2)


def test_what_cannot_be_read_is_named_and_hides_no_other(tmp_path: Path) -> None:
    written(tmp_path / "good.jsonl")
    (tmp_path / "bad.jsonl").write_text("")
    (tmp_path / "bad.jsonl.run.json").write_text('{"judge": 3}')
    found, wrong = find_runs([tmp_path, tmp_path / "gone.jsonl"])
    assert [one.name for one in found] == ["good.jsonl"]
    assert ["bad.jsonl" in wrong[0], "gone.jsonl" in wrong[1]] == [True, True]


def test_a_run_is_read_while_it_is_being_written(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", stored(number=1), stored(number=3))
    with path.open("ab") as adding:
        adding.write(b'{"schema_version": "1.2", "turn_')
    (file,), _ = find_runs([path])
    assert list(read_run(file).reports) == [("visit", 1), ("visit", 3)]


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "run.jsonl", stored(number=1))
    path.write_bytes(path.read_bytes() + b"{}\n")
    (file,), _ = find_runs([path])
    with raises(InputError, "run.jsonl", "2"):
        read_run(file)


def test_runs_of_other_judges_and_policies_are_what_is_compared() -> None:
    first, second = run("a", stored()), run("b", stored(), judge="model", policy="strict")
    assert why_not_comparable(first, second) is None
    assert differences(first.manifest, second.manifest) == {
        "judge": ("embedded 1", "model 1"),
        "policy": ("monitor", "strict"),
    }
    assert differences(manifest(), manifest()) == {}


def test_runs_that_say_nothing_about_each_other() -> None:
    first = run("a", stored())
    assert "--claims given" in str(why_not_comparable(first, run("b", stored(), claims="given")))
    assert "no turn in common" in str(why_not_comparable(first, run("b", stored(conversation_id="other"))))
    assert "reads differently" in str(why_not_comparable(first, run("b", stored(response="Something else."))))
    # What was withheld reads as the policy's message: nothing follows from it.
    assert why_not_comparable(first, run("b", stored(response="No.", action=Action.BLOCK))) is None
