"""What `vista-guard replay` and `vista-guard eval` leave, files and folders, found and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import JudgeInfo, TurnReport
from vista_lab.runs import folder, report_file
from vista_lab.runs.folder import MANIFEST, REPORTS, Manifest, TurnName
from vista_lab.runs.report_file import RunIdentity

__all__ = [
    "Identity",
    "Run",
    "RunFile",
    "TurnName",
    "differences",
    "find_runs",
    "judge_of",
    "read_run",
    "told",
    "why_not_comparable",
]

IDENTITY = ".run.json"
"""What stands behind the name of a file of reports, in the name of the file that says how they were made."""

Identity = RunIdentity | Manifest
"""How a run was made: a replay's file says less than a run's folder."""


@dataclass(frozen=True)
class RunFile:
    """A file of reports that can be read, by itself or in a run's folder. `name` tells it from the others."""

    name: str
    path: Path
    identity: Identity


@dataclass(frozen=True)
class Run:
    """One run: how it was made, and its reports by turn."""

    name: str
    identity: Identity
    reports: Mapping[TurnName, TurnReport]


def find_runs(places: Iterable[Path]) -> tuple[list[RunFile], list[str]]:
    """The runs among files, and in folders and their folders; and what is wrong with those that cannot be read.

    Args:
        places: files of reports, runs' folders, or folders with some of both. A file in a folder is one when a `FILE.run.json`
            lies beside it.
    """
    found, wrong = [], []
    for place in places:
        for path in _candidates(place):
            try:
                found.append(RunFile(_name(path, place), path, _identity(path)))
            except (ConfigError, InputError) as exc:
                wrong.append(str(exc))
    return sorted(found, key=lambda run: run.name), wrong


def read_run(file: RunFile) -> Run:
    """All reports of a run. A last line that is still being written is left out.

    Raises:
        InputError: the file cannot be read, or a line of it is no report; names the line.
    """
    reports = {(one.conversation_id or "", one.turn_index): one for one in folder.read_reports(file.path)}
    return Run(file.name, file.identity, reports)


def judge_of(made: Identity) -> JudgeInfo:
    """Who judged."""
    return made.judge if isinstance(made, RunIdentity) else made.system.judge


def told(made: Identity) -> list[str]:
    """How a run was made, in a few words each: what tells it from others at a glance."""
    judge = judge_of(made)
    if isinstance(made, RunIdentity):
        return [f"{judge.name} {judge.version}", f"policy {made.policy}", f"claims {made.claims}"]
    rows = f"{made.rows.name} {made.rows.split}"
    return [made.system.name, f"{judge.name} {judge.version}", rows, f"claims {made.claims}"]


def differences(first: Identity, second: Identity) -> dict[str, tuple[str, str]]:
    """In what two runs were made differently: both values, by field; `-` where only one says anything."""
    return report_file.differences(_fields(first), _fields(second))


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
    for beside in sorted(place.rglob(MANIFEST)):
        if (beside.parent / REPORTS).exists():
            yield beside.parent / REPORTS


def _name(path: Path, place: Path) -> str:
    """Where it lies; the folder's place, for a run's folder."""
    shown = path.parent if _in_folder(path) else path
    if place.is_dir() and shown != place:
        return str(shown.relative_to(place))
    return shown.resolve().name


def _in_folder(path: Path) -> bool:
    """Whether the reports are those of a run's folder."""
    return path.name == REPORTS and (path.parent / MANIFEST).exists() and not _beside(path).exists()


def _beside(path: Path) -> Path:
    return path.with_name(path.name + IDENTITY)


def _identity(path: Path) -> Identity:
    if _in_folder(path):
        return folder.read_manifest(path.parent)
    beside = _beside(path)
    try:
        if not path.is_file():
            raise InputError(
                f"{path} is no file; give what vista-guard replay or vista-guard eval wrote, or folders of it"
            )
        return RunIdentity.model_validate_json(beside.read_bytes())
    except OSError as exc:
        raise InputError(
            f"{path} is no run: {beside.name}, which says how it was made, cannot be read: {exc.strerror}"
        ) from exc
    except ValidationError as exc:
        raise InputError(f"{beside} does not say how {path.name} was made: {exc.errors()[0]['msg']}") from exc


def _fields(made: Identity) -> dict[str, str]:
    """What both kinds say is told by one name."""
    if isinstance(made, RunIdentity):
        return report_file.identity_fields(made)
    known = {name: value for name, value in folder.manifest_fields(made).items() if name not in {"limit", "seed"}}
    return {name.removeprefix("option "): value for name, value in known.items()}


def _reads_differently(one: TurnReport, other: TurnReport) -> bool:
    """What was delivered unchanged by both is the log's own text."""
    whole = one.decision.action in ("ALLOW", "FLAG") and other.decision.action in ("ALLOW", "FLAG")
    return whole and not one.attempts and not other.attempts and one.response != other.response
