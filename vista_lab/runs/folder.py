"""A run on disk: how it was made, and its folder.

    runs/begin-vista/
      manifest.json   how the run was made: a `Manifest`
      gold.jsonl      the data set's labels: one `GoldLine` a turn, without any text
      reports.jsonl   one `TurnReport` a line, written as soon as it is made
      summary.json    the figures, written at the end; the other three are enough to rebuild it

Every table is made from the first three, without judging again. `vista-guard replay --out FILE` writes a file of reports
without a folder; its manifest is `FILE.run.json`, and `FILE.answers.jsonl` has an `AnswerKey` for each report.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, ValidationError, model_serializer

from vista_guard import __version__
from vista_guard.errors import ConfigError, InputError, first_problem
from vista_guard.stores.line_file import ANOTHER_OUT, LineFile, LineKind, refuse_differences, write_whole
from vista_guard.types import Label, TurnReport
from vista_lab.files import count_lines, reading, writing
from vista_lab.logs.source import PlaceGold, Task
from vista_lab.systems.protocol import SystemInfo

MANIFEST, GOLD, REPORTS, SUMMARY = "manifest.json", "gold.jsonl", "reports.jsonl", "summary.json"

BESIDE = ".run.json"
"""Suffix that turns the name of a file of reports into the name of its manifest."""

ANSWERS = ".answers.jsonl"
"""Suffix that turns the name of a file of reports into the name of its `AnswerFile`."""

MANIFEST_VERSION = "1.0"
"""Changes in its first part when an older reader would misread a run."""


def _report_again(report: TurnReport) -> str:
    return f"reports on turn {report.turn_index} of conversation {report.conversation_id} again"


REPORT_LINES = LineKind(
    TurnReport,
    noun="report",
    group=lambda report: report.conversation_id or "",
    key=lambda report: (report.conversation_id, report.turn_index),
    again=_report_again,
)
"""One report per line, grouped by conversation."""

ReportFile = LineFile[TurnReport]
"""Reports of one run, open for adding."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _without_empty(fields: dict[str, Any], *names: str) -> dict[str, Any]:
    """Drops the fields of `names` that are empty, so that earlier versions, which don't know them, can read the line."""
    return {key: value for key, value in fields.items() if key not in names or value not in (None, "", (), [])}


class Rows(_Line):
    """The rows of an evaluation: the files' sha256 (of unzipped bytes), and the chosen conversations in their order."""

    name: str
    split: str
    task: Task
    test: bool
    files: Mapping[str, str]
    """SHA-256 by file name."""
    conversations: tuple[str, ...]
    turns: int
    skipped: Mapping[str, int] = {}
    """Rows that could not be read, by reason."""
    sample: str = ""
    """Relation of the rows to those of the paper's tables."""
    grounded: int | None = None
    """Turns with documents of their own, if the data has groups of turns; else None, and not written."""

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_empty(write(self), "grounded")


class Manifest(_Line):
    """Settings of a run. Only the same `SystemInfo` over the same `Rows` resumes it; a replay of a log has no rows."""

    version: str = MANIFEST_VERSION
    made_by: str
    """`vista-guard` and its version."""
    system: SystemInfo
    rows: Rows | None
    claims: Literal["given", "judge"]
    limit: int | None = None
    seed: int = 0
    engine: str = "local"
    machine: Mapping[str, str] = {}
    created: datetime

    def claim(self, path: Path, *, empty: bool) -> None:
        """Writes the manifest beside a file of reports without a folder, or checks the one there."""
        beside = path.with_name(path.name + BESIDE)
        if empty:
            write_whole(beside, self.model_dump_json(indent=2) + "\n")
        elif not beside.exists():
            raise ConfigError(
                f"{path} has reports but no {beside.name} beside it that says how they were made. {ANOTHER_OUT}"
            )
        else:
            self.check_same(path, read_manifest(path))

    def check_same(self, place: Path, made: Manifest) -> None:
        """Checks that the reports at `place` were made with the settings of this run.

        Raises ConfigError if they were not; names each field with both values.
        """
        refuse_differences(place, manifest_fields(made), manifest_fields(self))


class AnswerKey(_Line):
    """The `turn_key` of the logged turn that a report is on: of a turn that was withheld the report has no text."""

    conversation_id: str
    report_id: str
    turn_key: str


AnswerFile = LineFile[AnswerKey]
"""Keys of a replay's answers, open for adding."""

_ANSWER_LINES = LineKind(
    AnswerKey,
    noun="key",
    group=lambda answer: answer.conversation_id,
    key=lambda answer: answer.report_id,
    again=lambda answer: f"has the key of report {answer.report_id} again",
)


class _AsReports:
    """The manifest of the reports says how their answers were read, too."""

    def claim(self, path: Path, *, empty: bool) -> None:
        """Claims nothing."""


def open_answers(reports: Path) -> AnswerFile:
    """Opens the judged answers beside a file of reports. One of an earlier version has none yet.

    Raises ConfigError if the file is no such file or cannot be opened.
    """
    return AnswerFile.open(reports.with_name(reports.name + ANSWERS), _ANSWER_LINES, _AsReports())


class GoldLine(_Line):
    """The gold of one turn: the label of the whole (`label`, `positive`), and labels by claim id.

    `unlabelled` counts the turn's claims without a label.
    """

    conversation_id: str
    turn_index: int
    label: str | None = None
    positive: bool | None = None
    claims: Mapping[str, Label] = {}
    unlabelled: int = 0
    group: str = ""
    """Cluster that the turn was sampled with; empty for its conversation."""
    places: tuple[PlaceGold, ...] = ()
    """Gold of sentences in the turn."""
    part: str = ""
    """The data set's part that the turn is of, such as a task; empty if it has none."""

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return _without_empty(write(self), "group", "places", "part")

    @property
    def drawn_with(self) -> str:
        """Cluster for bootstrap intervals: the group, else the conversation."""
        return self.group or self.conversation_id


TurnName = tuple[str, int]
"""Conversation id and turn index."""

_ANEW = "the command: it rewrites the file and judges nothing again"
GOLD_ANEW = f"Delete {GOLD} and rerun {_ANEW}"


def claim_folder(folder: Path, noun: str, files: Sequence[str]) -> None:
    """Creates the folder, or checks that an existing one is a `noun`: it has one of the files, the first by rule.

    Raises ConfigError if it is a file, holds something else, or cannot be written.
    """
    with writing(folder, f"; a {noun} needs a folder. {ANOTHER_OUT}"):
        folder.mkdir(parents=True, exist_ok=True)
        others = sorted(path.name for path in folder.iterdir())
    if others and not set(files) & set(others):
        raise ConfigError(f"{folder} has {others[0]} but no {files[0]}, so it is not a {noun}. {ANOTHER_OUT}")


def open_run(folder: Path, manifest: Manifest, gold: Iterable[GoldLine]) -> ReportFile:
    """Opens the reports of a new run, or resumes a run with the same settings.

    Raises ConfigError if settings differ, which names the fields; the manifest has another version; or the folder holds something
    else, is in use, or cannot be written.
    """
    claim_folder(folder, "run", (MANIFEST, REPORTS))
    return ReportFile.open(folder / REPORTS, REPORT_LINES, _RunSource(folder, manifest, gold))


@dataclass(frozen=True)
class _RunSource:
    """The manifest and gold of a run's reports."""

    folder: Path
    manifest: Manifest
    gold: Iterable[GoldLine]

    def claim(self, path: Path, *, empty: bool) -> None:
        """Writes the manifest of a new run; a resumed run keeps its own, with the time and machine of its start."""
        if not empty or (self.folder / MANIFEST).exists():
            self.manifest.check_same(path.parent, read_manifest(path.parent))
            self._check_gold()
            return
        self._write_gold()
        # Last: a folder with a manifest has all that reports need.
        write_whole(self.folder / MANIFEST, self.manifest.model_dump_json(indent=2) + "\n")

    def _check_gold(self) -> None:
        """Checks the gold against the unchanged data. Missing gold is written again."""
        if not (self.folder / GOLD).exists():
            self._write_gold()
            return
        found = read_gold(self.folder)
        expected = {(line.conversation_id, line.turn_index): line for line in self.gold}
        for name in (*expected, *found):
            if found.get(name) != expected.get(name):
                place = f"turn {name[1]} of conversation {name[0]}"
                why = f"or lacks it: it was changed or cut off. {GOLD_ANEW}"
                raise ConfigError(f"{self.folder / GOLD} differs from the data on {place}, {why}")

    def _write_gold(self) -> None:
        write_whole(self.folder / GOLD, "".join(line.model_dump_json() + "\n" for line in self.gold))


def system_fields(system: SystemInfo) -> dict[str, str]:
    """The settings of a system, as texts by name."""
    nested: Mapping[str, Mapping[str, object]] = {
        "option": system.options,
        "prompt": system.prompts,
        "shots": system.shots,
        "evidence": system.evidence.model_dump() if system.evidence else {},
    }
    texts = {f"{kind} {name}": str(value) for kind, values in nested.items() for name, value in values.items()}
    return {"system": system.name, "judge": f"{system.judge.name} {system.judge.version}", **texts}


def manifest_fields(manifest: Manifest) -> dict[str, str]:
    """All fields that must stay the same to resume a run, as texts by name. Long lists are given by their length."""
    fields = {**system_fields(manifest.system), "claims": manifest.claims}
    rows = manifest.rows
    if rows is None:
        return fields
    digest_of_names = sha256("\0".join(rows.conversations).encode()).hexdigest()[:16]
    return {
        **fields,
        "data set": f"{rows.name} {rows.split}",
        **{f"sha256 of {name}": digest for name, digest in rows.files.items()},
        "limit": str(manifest.limit),
        "seed": str(manifest.seed),
        "conversations": f"{len(rows.conversations)} ({digest_of_names})",
        "turns": str(rows.turns),
    }


def begin(system: SystemInfo, rows: Rows | None, claims: Literal["given", "judge"] = "given", **how: Any) -> Manifest:
    """The manifest of a run that begins now; `how` has its other fields."""
    made_by = f"vista-guard {__version__}"
    return Manifest(made_by=made_by, system=system, rows=rows, claims=claims, created=datetime.now(UTC), **how)


def manifest_path(place: Path) -> Path:
    """The file with the manifest of a run's folder, or of a file of reports."""
    beside = place.with_name(place.name + BESIDE)
    if place.is_dir():
        return place / MANIFEST
    in_folder = place.name == REPORTS and (place.parent / MANIFEST).exists() and not beside.exists()
    return place.parent / MANIFEST if in_folder else beside


def read_manifest(place: Path) -> Manifest:
    """The manifest of a run's folder, or of a file of reports.

    Raises ConfigError if there is none, it is malformed, or its version is incompatible.
    """
    path = manifest_path(place)
    with reading(path, f"; {place} is not a run", ConfigError):
        content = json.loads(path.read_bytes())
        if isinstance(content, dict) and content.get("kind") == "dialogues":
            raise ConfigError(
                f"{place} holds dialogues of vista-guard knowmt run: read them with vista-guard knowmt report"
            )
        version = str(content.get("version")) if isinstance(content, dict) else "none"
        if version.partition(".")[0] != MANIFEST_VERSION.partition(".")[0]:
            known = f"this vista-guard reads version {MANIFEST_VERSION}"
            how = f"{ANOTHER_OUT}, or read it with the vista-guard that made it"
            raise ConfigError(f"{path} has version {version}; {known}. {how}")
        return Manifest.model_validate(content)


def read_evaluation(folder: Path) -> tuple[Manifest, Rows]:
    """The manifest of an evaluation, and its rows.

    Raises ConfigError: see `read_manifest`; or the run is a replay of a log.
    """
    manifest = read_manifest(folder)
    if manifest.rows is None:
        raise ConfigError(f"{folder} is a replay without gold; give a folder that vista-guard eval wrote")
    return manifest, manifest.rows


def read_gold(folder: Path, turns: int | None = None) -> dict[TurnName, GoldLine]:
    """The gold of each turn of a run; `turns` is the number that the manifest has.

    Raises InputError if the file is missing, a line is malformed, which is named, or the number of turns differs.
    """
    path, found = folder / GOLD, dict[TurnName, GoldLine]()
    if not path.exists():
        raise InputError(f"{path} does not exist. Rerun {_ANEW}")
    for number, line in _lines(path):
        try:
            gold = GoldLine.model_validate_json(line)
        except ValidationError as exc:
            raise InputError(f"{path}, line {number} is not gold: {exc.errors()[0]['msg']}. {GOLD_ANEW}") from exc
        name = gold.conversation_id, gold.turn_index
        if name in found:
            raise InputError(f"{path}, line {number} names turn {name[1]} of conversation {name[0]} again. {GOLD_ANEW}")
        found[name] = gold
    if turns is not None and len(found) != turns:
        raise InputError(f"{path} has {len(found):,} turns; {MANIFEST} has {turns:,}. {GOLD_ANEW}")
    return found


def read_reports(path: Path) -> Iterator[TurnReport]:
    """Reports in the order of the file. A last line that is still being written is left out.

    Raises InputError if the file cannot be read, a line is not a report, or a turn has two; names the line.
    """
    seen: set[TurnName] = set()
    for number, line in _lines(path):
        try:
            report = TurnReport.model_validate_json(line)
        except ValidationError as exc:
            if not line.endswith(b"\n"):
                return
            raise InputError(
                f"{path}, line {number} is not a report of this version: {first_problem(exc)}; read it with the one that wrote it"
            ) from exc
        if report.conversation_id is not None:
            name = report.conversation_id, report.turn_index
            if name in seen:
                raise InputError(REPORT_LINES.twice(path, number, report))
            seen.add(name)
        yield report


def read_run_reports(folder: Path, gold: Collection[TurnName]) -> Iterator[TurnReport]:
    """Reports of a run's folder, each on a turn in its gold.

    Raises InputError if a turn is not; or as `read_reports`.
    """
    for report in read_reports(folder / REPORTS):
        if (report.conversation_id or "", report.turn_index) not in gold:
            turn = f"turn {report.turn_index} of conversation {report.conversation_id}"
            why = f"{GOLD} lacks: it belongs to another run. Remove that line"
            raise InputError(f"{folder / REPORTS} reports {turn}, which {why}")
        yield report


def count_reports(folder: Path) -> int:
    """Number of reports of a run, 0 if its folder does not exist yet. Counts lines without parsing them."""
    return count_lines(folder / REPORTS)


def write_summary(folder: Path, summary: str) -> None:
    """Replaces the run's figures. Raises ConfigError if the disk refuses."""
    write_whole(folder / SUMMARY, summary + "\n", "All reports are safe: make room and run the same command again")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with reading(path), path.open("rb") as file:
        yield from enumerate(file, 1)
