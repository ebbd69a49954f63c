"""What a study is of: turns and claims that were handed out, how they were drawn, and the folder that keeps this.

sheets/
  ada.tsv, ben.tsv, …        one for each annotator, to be filled in
  study/                     for whoever evaluates, and not for annotators: it holds labels
    study.json               a `Study`
    conversations.jsonl      the conversations, whole, in the order of the study
    reports.jsonl            the run's reports on the turns, where claims came from a run
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Claim, Conversation, Label, TurnReport

FOLDER, STUDY, CONVERSATIONS, REPORTS = "study", "study.json", "conversations.jsonl", "reports.jsonl"

VERSION = "1.0"
"""Changes in its first part when an older reader would misread a study."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class StudySet(_Line):
    """What one data set or log gave. `enriched` counts conversations that were chosen because the run found such a label."""

    name: str
    files: Mapping[str, str]
    conversations: int
    """That were drawn."""
    of: int
    """That could have been."""
    enriched: Mapping[Label, int] = {}
    run: str | None = None
    judge: str | None = None


class StudyTurn(_Line):
    """One turn that annotators are given.

    `id` names it in sheets. `talk` is its conversation's name in the study, `conversation_id` the one in its data set or log.
    `label` and `positive` are the data set's own word on it, see `TurnGold`. `found` are the run's labels by claim id.
    """

    id: str
    data_set: str
    talk: str
    conversation_id: str
    turn_index: int
    claims: tuple[Claim, ...]
    label: str | None = None
    positive: bool | None = None
    found: Mapping[str, Label] = {}
    report_id: str | None = None


class Study(_Line):
    """All of it. `shown` says whether annotators see the run's labels; `seed` is of the sample."""

    version: str = VERSION
    made_by: str
    annotators: tuple[str, ...]
    seed: int
    shown: bool
    sets: tuple[StudySet, ...]
    turns: tuple[StudyTurn, ...]

    @property
    def enriched(self) -> bool:
        """Whether conversations were chosen by what was found in them."""
        return any(one.enriched for one in self.sets)

    @property
    def about(self) -> str:
        """How it was drawn, in a sentence or two. It stands in sheets and in all that is made of them."""
        drawn = ", ".join(f"{one.conversations:,} of {one.of:,} conversations of {one.name}" for one in self.sets)
        parts = [f"{drawn}, by seed {self.seed}."]
        if self.enriched:
            counts = "; ".join(_chosen(one) for one in self.sets if one.enriched)
            parts.append(f"Enriched: {counts}. Shares of labels say nothing of how frequent they are elsewhere.")
        if self.shown:
            parts.append("Not blind: annotators saw the run's labels.")
        return " ".join(parts)


def _chosen(one: StudySet) -> str:
    counts = " and ".join(f"{count} with {label}" for label, count in one.enriched.items())
    return f"{counts} chosen by the labels of {one.judge} in {one.name}"


@dataclass(frozen=True)
class Material:
    """A study with its texts. `reports` are by turn id."""

    study: Study
    conversations: Mapping[str, Conversation]
    reports: Mapping[str, TurnReport]

    @cached_property
    def turns(self) -> Mapping[str, StudyTurn]:
        """By their id in sheets."""
        return {turn.id: turn for turn in self.study.turns}


def save(material: Material, folder: Path) -> None:
    """Writes the study into `folder/study`.

    Raises:
        ConfigError: the folder cannot be written.
    """
    place, study = folder / FOLDER, material.study
    talks = list(dict.fromkeys(turn.talk for turn in study.turns))
    told = {
        STUDY: study.model_dump_json(indent=2) + "\n",
        CONVERSATIONS: "".join(f"{material.conversations[talk].model_dump_json()}\n" for talk in talks),
        REPORTS: "".join(f"{report.model_dump_json()}\n" for report in material.reports.values()),
    }
    write(place, told)


def write(folder: Path, contents: Mapping[str, str]) -> list[Path]:
    """Texts as files of a folder, which is made where it is not there; what is there is replaced.

    Raises:
        ConfigError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            # Not `write_text`: a sheet's lines end as they are, on every system.
            (folder / name).write_bytes(content.encode("utf-8"))
    except OSError as exc:
        raise ConfigError(f"{folder} cannot be written: {exc.strerror}. Choose another --out") from exc
    return [folder / name for name in contents]


def load(folder: Path) -> Material:
    """Reads what `save` wrote. `folder` is the one with the sheets, or `study` in it.

    Raises:
        InputError: there is no study, or one of another version, or a file of it is something else.
    """
    place = folder / FOLDER if (folder / FOLDER / STUDY).is_file() else folder
    try:
        study = Study.model_validate_json((place / STUDY).read_bytes())
        conversations = [Conversation.model_validate_json(line) for line in _lines(place / CONVERSATIONS)]
        reports = [TurnReport.model_validate_json(line) for line in _lines(place / REPORTS)]
    except OSError as exc:
        raise InputError(
            f"{folder} has no study: {exc.filename} cannot be read: {exc.strerror}. vista-guard annotations export writes one; "
            "name its folder with --study"
        ) from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        raise InputError(f"{place} holds no study of this version: {_where(first['loc'])}: {first['msg']}") from exc
    if study.version.partition(".")[0] != VERSION.partition(".")[0]:
        raise InputError(f"{place / STUDY} has version {study.version}, and this is written for version {VERSION}")
    by_place = {(report.conversation_id, report.turn_index): report for report in reports}
    return Material(
        study,
        dict(zip(dict.fromkeys(turn.talk for turn in study.turns), conversations, strict=True)),
        {
            turn.id: by_place[turn.talk, turn.turn_index]
            for turn in study.turns
            if (turn.talk, turn.turn_index) in by_place
        },
    )


def _lines(path: Path) -> Sequence[bytes]:
    return [line for line in path.read_bytes().split(b"\n") if line]


def _where(place: Sequence[object]) -> str:
    return ".".join(map(str, place)) or "the file"
