"""The files that `vista-guard replay` leaves, found and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from vista_guard.errors import InputError
from vista_guard.evaluation.runners.report_file import RunIdentity
from vista_guard.types import JudgeInfo, TurnReport

IDENTITY = ".run.json"
"""What stands behind the name of a file of reports, in the name of the file that says how they were made."""

TurnName = tuple[str, int]
"""Conversation and place in it."""


@dataclass(frozen=True)
class RunFile:
    """A file of reports that can be read. `name` tells it from the others."""

    name: str
    path: Path
    identity: RunIdentity


@dataclass(frozen=True)
class Run:
    """One replay: how it was made, and its reports by turn."""

    name: str
    identity: RunIdentity
    reports: Mapping[TurnName, TurnReport]


def find_runs(places: Iterable[Path]) -> tuple[list[RunFile], list[str]]:
    """The runs among files, and in folders and their folders; and what is wrong with those that cannot be read.

    Args:
        places: files of reports, or folders with some. A file in a folder is one when a `FILE.run.json` lies beside it.
    """
    found, wrong = [], []
    for place in places:
        for path in _candidates(place):
            try:
                found.append(RunFile(_name(path, place), path, _identity(path)))
            except InputError as exc:
                wrong.append(str(exc))
    return sorted(found, key=lambda run: run.name), wrong


def read_run(file: RunFile) -> Run:
    """All reports of a run. A last line that is still being written is left out.

    Raises:
        InputError: the file cannot be read, or a line of it is no report; names the line.
    """
    reports: dict[TurnName, TurnReport] = {}
    for number, line in _lines(file.path):
        try:
            report = TurnReport.model_validate_json(line)
        except ValidationError as exc:
            if not line.endswith(b"\n"):
                break
            raise InputError(
                f"{file.path}, line {number} is no report of this version: {exc.errors()[0]['msg']}"
            ) from exc
        reports[report.conversation_id or "", report.turn_index] = report
    return Run(file.name, file.identity, reports)


def differences(first: RunIdentity, second: RunIdentity) -> dict[str, tuple[str, str]]:
    """In what two runs were made differently: both values, by field."""
    names = (name for name in RunIdentity.model_fields if getattr(first, name) != getattr(second, name))
    return {name: (_shown(getattr(first, name)), _shown(getattr(second, name))) for name in names}


def why_not_comparable(first: Run, second: Run) -> str | None:
    """Why two runs say nothing about each other; None when they can be compared.

    They may be of different judges, policies or settings: that is what is compared. Turns and the way to claims must be the same.
    """
    if first.identity.claims != second.identity.claims:
        return (
            f"{first.name} was made with --claims {first.identity.claims}, {second.name} with --claims "
            f"{second.identity.claims}: they judged different claims. Replay one of them anew"
        )
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
    for beside in sorted(place.rglob(f"*{IDENTITY}")):
        yield beside.with_name(beside.name.removesuffix(IDENTITY))


def _name(path: Path, place: Path) -> str:
    return str(path.relative_to(place)) if place.is_dir() else path.name


def _identity(path: Path) -> RunIdentity:
    beside = path.with_name(path.name + IDENTITY)
    try:
        if not path.is_file():
            raise InputError(f"{path} is no file; give files or folders that vista-guard replay wrote")
        return RunIdentity.model_validate_json(beside.read_bytes())
    except OSError as exc:
        raise InputError(
            f"{path} is no run: {beside.name}, which says how it was made, cannot be read: {exc.strerror}"
        ) from exc
    except ValidationError as exc:
        raise InputError(f"{beside} does not say how {path.name} was made: {exc.errors()[0]['msg']}") from exc


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    try:
        with path.open("rb") as file:
            yield from enumerate(file, 1)
    except OSError as exc:
        raise InputError(f"{path} cannot be read: {exc.strerror}") from exc


def _reads_differently(one: TurnReport, other: TurnReport) -> bool:
    """What was delivered unchanged by both is the log's own text."""
    whole = one.decision.action in ("ALLOW", "FLAG") and other.decision.action in ("ALLOW", "FLAG")
    return whole and not one.attempts and not other.attempts and one.response != other.response


def _shown(value: object) -> str:
    return f"{value.name} {value.version}" if isinstance(value, JudgeInfo) else str(value)
