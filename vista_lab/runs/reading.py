"""Finds runs on disk, reads them, and checks whether they can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.line_file import differing_fields
from vista_guard.types import TurnReport
from vista_lab.runs import folder


@dataclass(frozen=True)
class RunFile:
    """A readable file of reports, alone or in a run's folder. `name` is unique within one search."""

    name: str
    path: Path
    manifest: folder.Manifest = field(hash=False)


@dataclass(frozen=True)
class Run:
    """A run in memory: its manifest, and its reports by turn."""

    name: str
    manifest: folder.Manifest
    reports: Mapping[folder.TurnName, TurnReport]


def find_runs(places: Iterable[Path]) -> tuple[list[RunFile], list[str]]:
    """Runs among files and in folders, at any depth; and messages about those that cannot be read.

    In a folder, a file belongs to a run if it has a `FILE.run.json` beside it.
    """
    files, errors = [], []
    for place in places:
        for path in _candidates(place):
            try:
                files.append(RunFile(_name(path, place), path, _manifest(path)))
            except (ConfigError, InputError) as exc:
                errors.append(str(exc))
    return sorted(files, key=lambda run: run.name), errors


def read_run(file: RunFile) -> Run:
    """All reports of a run. A last line that is still being written is left out.

    Raises InputError if the file cannot be read, or a line of it is no report; names the line.
    """
    reports = {(report.conversation_id or "", report.turn_index): report for report in folder.read_reports(file.path)}
    return Run(file.name, file.manifest, reports)


def describe(made: folder.Manifest) -> list[str]:
    """System, judge, data set or policy, and source of the claims of a run, in a few words each."""
    judge, rows = made.system.judge, made.rows
    over = f"{rows.name} {rows.split}" if rows is not None else f"policy {made.system.options.get('policy')}"
    return [made.system.name, f"{judge.name} {judge.version}", over, f"claims {made.claims}"]


def differences(first: folder.Manifest, second: folder.Manifest) -> dict[str, tuple[str, str]]:
    """Fields in which two runs differ, with both values; `-` where one lacks the field."""
    return differing_fields(_settings(first), _settings(second))


def why_not_comparable(first: Run, second: Run, *, any_claims: bool = False) -> str | None:
    """The reason why two runs cannot be compared; None if they can.

    Judges, policies and settings may differ: that is the comparison. Turns and the source of claims must be the same; the latter
    may differ if `any_claims` is True.
    """
    if not any_claims and first.manifest.claims != second.manifest.claims:
        one, other = (f"{run.name} was made with --claims {run.manifest.claims}" for run in (first, second))
        return f"{one}, {other}: they judged different claims. Replay one of them again"
    shared = first.reports.keys() & second.reports.keys()
    if not shared:
        return f"{first.name} and {second.name} have no turn in common: they are of different logs"
    for name in sorted(shared):
        if _reads_differently(first.reports[name], second.reports[name]):
            where = f"turn {name[1]} of conversation {name[0]}"
            return f"{where} reads differently in {first.name} and {second.name}: the log was changed"
    return None


def _candidates(place: Path) -> Iterator[Path]:
    if not place.is_dir():
        yield place
        return
    for beside in sorted(place.rglob(f"*{folder.BESIDE}")):
        yield beside.with_name(beside.name.removesuffix(folder.BESIDE))
    for beside in sorted(place.rglob(folder.MANIFEST)):
        if (beside.parent / folder.REPORTS).exists():
            yield beside.parent / folder.REPORTS


def _name(path: Path, place: Path) -> str:
    """The path below `place` of the file, or of the run's folder that holds it."""
    run = path.parent if folder.manifest_path(path).name == folder.MANIFEST else path
    if place.is_dir() and run != place:
        return str(run.relative_to(place))
    return run.resolve().name


def _manifest(path: Path) -> folder.Manifest:
    if not path.is_file():
        raise InputError(
            f"{path} does not exist; give reports or folders that vista-guard replay or vista-guard eval wrote"
        )
    return folder.read_manifest(path)


def _settings(made: folder.Manifest) -> dict[str, str]:
    """All settings of a run. Its conversations stand for `limit` and `seed`."""
    fields = {name: value for name, value in folder.manifest_fields(made).items() if name not in {"limit", "seed"}}
    return {name.removeprefix("option "): value for name, value in fields.items()}


def _reads_differently(one: TurnReport, other: TurnReport) -> bool:
    """Compares delivered texts; only those that neither run changed are the log's own."""
    whole = one.decision.action in ("ALLOW", "FLAG") and other.decision.action in ("ALLOW", "FLAG")
    return whole and not one.attempts and not other.attempts and one.response != other.response
