"""Runs' folders that somebody edited, cut off or pasted together: no figure comes of them, and nothing judged is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab.runs.ruled import Ruled, source
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError, VistaGuardError
from vista_lab.runs.evaluate import Evaluation, evaluate
from vista_lab.runs.loop import RunSettings
from vista_lab.runs.plan import make_plan
from vista_lab.runs.summary import summarise
from vista_lab.tables.runs import read_measured

Change = Callable[[list[str]], list[str]]


async def run(out: Path) -> Evaluation:
    made = RunSettings()
    return await evaluate(Ruled(), make_plan(source(4), made.claims), out, made)


def changed(path: Path, change: Change) -> None:
    path.write_text("".join(change(path.read_text(encoding="utf-8").splitlines(keepends=True))), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: lines[:3], ("3", "manifest.json", "gold.jsonl")),
        (lambda lines: [], ("0", "manifest.json")),
        (lambda lines: [*lines, lines[0]], ("13", "1", "talk-0")),
        (lambda lines: [*lines[:2], '{"conv\n', *lines[2:]], ("3", "gold")),
    ],
)
async def test_gold_that_was_cut_off_or_pasted_is_refused_and_written_anew(
    tmp_path: Path, change: Change, said: tuple[str, ...]
) -> None:
    out = tmp_path / "run"
    before = (await run(out)).figures
    changed(out / "gold.jsonl", change)
    for read in (summarise, read_measured):
        with raises(InputError, *said):
            read(out)
    with raises(VistaGuardError, "gold.jsonl"):
        await run(out)
    (out / "gold.jsonl").unlink()
    with raises(InputError, "gold.jsonl"):
        summarise(out)
    after = await run(out)
    assert (after.figures, after.session.resumed) == (before, 12)


async def test_gold_that_was_edited_is_refused_where_the_data_says_otherwise(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await run(out)
    changed(out / "gold.jsonl", lambda lines: [line.replace('"positive":true', '"positive":false') for line in lines])
    with raises(ConfigError, "3", "talk-0"):
        await run(out)


async def test_a_turn_that_is_reported_twice_is_counted_in_no_figure(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await run(out)
    changed(out / "reports.jsonl", lambda lines: [*lines, lines[2]])
    for read in (summarise, read_measured):
        with raises(InputError, "13", "reports"):
            read(out)
    with raises(ConfigError, "13", "reports"):
        await run(out)


async def test_a_report_of_another_run_is_counted_in_no_figure(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await run(out)
    changed(out / "reports.jsonl", lambda lines: [lines[0].replace('"talk-', '"other-'), *lines[1:]])
    for read in (summarise, read_measured):
        with raises(InputError, "gold.jsonl"):
            read(out)


async def test_a_damaged_line_is_named_and_only_its_turn_is_judged_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    await run(out)
    changed(out / "reports.jsonl", lambda lines: [*lines[:4], '{"conv\n', *lines[5:]])
    with raises(ConfigError, "reports.jsonl", "5"):
        await run(out)
    changed(out / "reports.jsonl", lambda lines: [*lines[:4], *lines[5:]])
    done = await run(out)
    assert (done.session.resumed, done.figures.complete) == (11, True)
