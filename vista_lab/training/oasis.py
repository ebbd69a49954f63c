"""Trains a part of the pipeline on a generated set: `vista-guard oasis train` (LLM-OASIS, sections 5 and 6.1).

Writes a folder that the settings `extractor`, `embedder` or `verifier` load, with `training.json` (recipe, data hash, figures)
and a card for people. Rerun the same command to resume a killed run.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, ValidationError

import vista_guard
from vista_guard._extras import require
from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.line_file import ANOTHER_OUT, refuse_differences, write_whole
from vista_lab.training import figures
from vista_lab.training.recipes import SHIPPED, Recipe, ShippedRecipe
from vista_lab.training.rows import (  # fmt: skip
    ExtractorRow,
    Part,
    RetrieverRow,
    Split,
    Stage,
    VerifierRow,
    disjoint_batches,
    label_counts,
    refuse_few,
)

TRAINING, CARD = "training.json", "README.md"
SETTINGS: Mapping[str, str] = {"extractor": "extractor", "retriever": "embedder", "verifier": "verifier"}
"""The setting that loads each part."""
LIBRARIES = ("torch", "transformers", "sentence_transformers", "datasets", "accelerate", "onnx")

AnySplit = Split[ExtractorRow] | Split[RetrieverRow] | Split[VerifierRow]


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


@dataclass(frozen=True)
class Job:
    """A training job: the part, its rows, the recipe, and where the model goes."""

    part: Part
    split: AnySplit
    recipe: Recipe
    out: Path
    name: str
    replay: Path | None = None

    def training(self) -> Training:
        """The record of this job, unfinished."""
        split = self.split
        rows = cast("Split[VerifierRow]", split).train
        return Training(
            made_by=f"vista-guard {vista_guard.__version__}",
            part=self.part,
            recipe=self.recipe.model_dump(),
            data=TrainingData(
                name=self.name,
                sha256=split.sha256,
                train=len(split.train),
                held_out=len(split.held_out),
                labels=label_counts(rows) if self.part == "verifier" else {},
                replay=_file_hash(self.replay) if self.replay else "",
            ),
        )


def require_libraries() -> None:
    """Checks that all training libraries are installed.

    Raises:
        ConfigError: it is not; names the extra.
    """
    require("training a model of your own", *LIBRARIES, extra="train")


def train(job: Job, log: Callable[[str], None] = lambda line: None) -> Training:
    """Trains one part and writes its folder.

    Raises:
        ConfigError: the extra `train` is missing, the base is another kind of model, or `out` holds something else.
        InputError: the rows are too few of a label, or cannot make a batch.
    """
    require_libraries()
    _check(job)
    training = job.training()
    claim_out(job.out, training)
    before = figures.measure(job.part, SHIPPED, job.split) if isinstance(job.recipe, ShippedRecipe) else {}
    _run(job, log)
    after = figures.measure(job.part, str(job.out), job.split)
    training = training.model_copy(update={"before": before, "after": after, "finished": datetime.now(UTC)})
    write_whole(job.out / CARD, card(training))
    write_whole(job.out / TRAINING, training.model_dump_json(indent=2) + "\n")
    return training


def _check(job: Job) -> None:
    """Refuses recipes that do not fit the job, and rows that no model would learn from."""
    if isinstance(job.recipe, ShippedRecipe) and job.recipe.base != SHIPPED:
        raise ConfigError(
            f"recipe {job.recipe.name} trains the shipped model, and base is {job.recipe.base!r}; use --recipe paper for "
            "other weights"
        )
    if job.replay is not None and not (job.part == "verifier" and isinstance(job.recipe, ShippedRecipe)):
        raise ConfigError("--replay is for verifier with recipe small: only the shipped verifier has earlier pairs")
    if job.part == "verifier":
        refuse_few(label_counts(cast("Split[VerifierRow]", job.split).train), job.recipe.least_per_label)
    if job.part == "retriever":
        rows = cast("Split[RetrieverRow]", job.split).train
        if not any(disjoint_batches(rows, job.recipe.batch, random.Random(0))):
            raise InputError(
                "all rows come from one passage, or from passages that overlap: a claim has no other passage to be told from. "
                "Generate from more documents"
            )


def claim_out(out: Path, made: Training) -> None:
    """Creates the folder, or takes one that was begun in the same way.

    Raises:
        ConfigError: it is finished, was begun in another way, or holds something else.
    """
    if (out / TRAINING).is_file():
        earlier = read_training(out)
        refuse_differences(out, earlier.fields(), made.fields())
        if earlier.finished:
            raise ConfigError(f"{out} holds the finished model of this data and recipe. {ANOTHER_OUT}")
        return
    try:
        if out.is_dir() and any(out.iterdir()):
            raise ConfigError(f"{out} is not empty and has no {TRAINING}. {ANOTHER_OUT}")
        out.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise ConfigError(f"{out} cannot be written: {exc.strerror}. {ANOTHER_OUT}") from exc
    write_whole(out / TRAINING, made.model_dump_json(indent=2) + "\n")


def read_training(folder: Path) -> Training:
    """The training record of a model's folder.

    Raises:
        ConfigError: the folder holds no model that was trained here.
    """
    try:
        return Training.model_validate_json((folder / TRAINING).read_bytes())
    except OSError as exc:
        raise ConfigError(f"{folder} is not a model that vista-guard trained: {TRAINING}: {exc.strerror}") from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{folder / TRAINING}: {where}: {first['msg']}") from exc


def _run(job: Job, log: Callable[[str], None]) -> None:
    from vista_lab.training import extractor, nli, retriever

    split, recipe, out = cast("Any", job.split), cast("Any", job.recipe), job.out
    if job.part == "extractor":
        extractor.train_library(split, recipe, out, log)
    elif not isinstance(recipe, ShippedRecipe):
        (nli if job.part == "verifier" else retriever).train_library(split, recipe, out, log)
    elif job.part == "verifier":
        nli.train_shipped(split, recipe, out, log, job.replay)
    else:
        retriever.train_shipped(split, recipe, out, log)


def _file_hash(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return file_digest(stream, "sha256").hexdigest()
    except OSError as exc:
        raise InputError(f"{file} cannot be read: {exc.strerror}") from exc


def card(made: Training) -> str:
    """The card of a trained model, in Markdown."""
    data, part = made.data, cast("Part", made.part)
    labels = "".join(f", {count:,} {label}" for label, count in data.labels.items())
    return "\n".join(
        [
            f"# A {part} trained on {data.name}",
            "",
            f"Made by {made.made_by} from `{made.recipe['base']}`, recipe `{made.recipe['name']}`. Load it with the setting "
            f"`{SETTINGS[part]}`: this folder's path.",
            "",
            f"Trained on {data.train:,} rows{labels}; measured on {data.held_out:,} rows of other documents. sha256 of all rows: "
            f"`{data.sha256}`.",
            *([f"Mixed with replayed pairs, sha256 `{data.replay}`."] if data.replay else []),
            "",
            *figures_table(made, "held-out passages"),
            "",
            "These figures are of generated texts: before you rely on the model, measure it on texts that people labelled. It "
            "may say what the documents and the base say, and their licences hold for it.",
            "",
            *recipe_lines(made),
            "",
        ]
    )


def figures_table(made: Training, of: str) -> list[str]:
    """Figures of the base and of the trained model, in Markdown."""
    before = [f"{made.before[name]:.3f}" if name in made.before else "–" for name in made.after]
    rows = [f"| {name} | {old} | {new:.3f} |" for (name, new), old in zip(made.after.items(), before, strict=True)]
    return [f"| on {of} | base | this model |", "|---|---|---|", *rows]


def recipe_lines(made: Training) -> list[str]:
    """The recipe, in Markdown."""
    return ["| recipe | |", "|---|---|", *(f"| {name} | {value} |" for name, value in made.recipe.items())]
