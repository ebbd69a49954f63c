"""The folder of a trained model: `training.json`, which says how it was made and how well it does, and its card."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import ConfigError
from vista_guard.stores.line_file import ANOTHER_OUT, refuse_differences, write_whole
from vista_lab.files import reading, writing
from vista_lab.training.rows import Part, Stage

TRAINING, CARD = "training.json", "README.md"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TrainingData(_Record):
    """The rows that a model was trained and measured on."""

    name: str
    """The folder of the set."""
    sha256: str
    """Of all rows."""
    train: int
    held_out: int
    labels: Mapping[str, int] = {}
    """Verifier: training rows of each label."""
    replay: str = ""
    """sha256 of the replayed pairs, if there were any."""
    teacher: str = ""
    """Who wrote the exemplars, of a decomposer's."""


class Training(_Record):
    """`training.json`: how a model was made, and how well it does on held-out passages."""

    version: str = "1.0"
    made_by: str
    part: Part | Stage
    recipe: Mapping[str, Any]
    data: TrainingData
    finished: datetime | None = None
    before: Mapping[str, float] = {}
    """Figures of the base on the held-out rows; empty for a base that does not yet do this."""
    after: Mapping[str, float] = {}

    def fields(self) -> dict[str, str]:
        """Settings that must not change for a run to be resumed."""
        recipe = {f"recipe {name}": str(value) for name, value in self.recipe.items()}
        return {"part": self.part, "data": self.data.sha256, "replay": self.data.replay or "none", **recipe}


def claim_out(out: Path, made: Training) -> None:
    """Creates the folder, or takes one that was begun in the same way.

    Raises ConfigError: it is finished, was begun in another way, or holds something else.
    """
    if (out / TRAINING).is_file():
        earlier = read_training(out)
        refuse_differences(out, earlier.fields(), made.fields())
        if earlier.finished:
            raise ConfigError(f"{out} holds the finished model of this data and recipe. {ANOTHER_OUT}")
        return
    with writing(out):
        if out.is_dir() and any(out.iterdir()):
            raise ConfigError(f"{out} is not empty and has no {TRAINING}. {ANOTHER_OUT}")
        out.mkdir(parents=True, exist_ok=True)
    write_whole(out / TRAINING, made.model_dump_json(indent=2) + "\n")


def read_training(folder: Path) -> Training:
    """The training record of a model's folder. Raises ConfigError: the folder holds no model that was trained here."""
    with reading(folder / TRAINING, "; give a model that vista-guard trained", ConfigError):
        return Training.model_validate_json((folder / TRAINING).read_bytes())


def figures_table(made: Training, of: str) -> list[str]:
    """Figures of the base and of the trained model, in Markdown."""
    before = [f"{made.before[name]:.3f}" if name in made.before else "–" for name in made.after]
    rows = [f"| {name} | {old} | {new:.3f} |" for (name, new), old in zip(made.after.items(), before, strict=True)]
    return [f"| on {of} | base | this model |", "|---|---|---|", *rows]


def recipe_lines(made: Training) -> list[str]:
    """The recipe, in Markdown."""
    return ["| recipe | |", "|---|---|", *(f"| {name} | {value} |" for name, value in made.recipe.items())]
