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

import vista_guard
from vista_guard._extras import require
from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.line_file import write_whole
from vista_lab.files import reading
from vista_lab.oasis.training import figures
from vista_lab.training.recipes import SHIPPED, Recipe, ShippedRecipe
from vista_lab.training.record import CARD, TRAINING, Training, TrainingData, claim_out, figures_table, recipe_lines
from vista_lab.training.rows import (  # fmt: skip
    ExtractorRow,
    Part,
    RetrieverRow,
    Split,
    VerifierRow,
    disjoint_batches,
    label_counts,
    refuse_few,
)

SETTINGS: Mapping[str, str] = {"extractor": "extractor", "retriever": "embedder", "verifier": "verifier"}
"""The setting that loads each part."""
LIBRARIES = ("torch", "transformers", "sentence_transformers", "datasets", "accelerate", "onnx")

AnySplit = Split[ExtractorRow] | Split[RetrieverRow] | Split[VerifierRow]


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
    """Checks that all training libraries are installed. Raises ConfigError: it is not; names the extra."""
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
        base = f"recipe {job.recipe.name} trains the shipped model, and base is {job.recipe.base!r}"
        raise ConfigError(f"{base}; use --recipe paper for other weights")
    if job.replay is not None and not (job.part == "verifier" and isinstance(job.recipe, ShippedRecipe)):
        raise ConfigError("--replay is for verifier with recipe small: only the shipped verifier has earlier pairs")
    if job.part == "verifier":
        refuse_few(label_counts(cast("Split[VerifierRow]", job.split).train), job.recipe.least_per_label)
    if job.part == "retriever":
        rows = cast("Split[RetrieverRow]", job.split).train
        if not any(disjoint_batches(rows, job.recipe.batch, random.Random(0))):
            why = "all rows come from one passage, or from passages that overlap"
            raise InputError(f"{why}: a claim has no other passage to be told from. Generate from more documents")


def _run(job: Job, log: Callable[[str], None]) -> None:
    from vista_lab.oasis.training import extractor, nli, retriever

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
    with reading(file), file.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


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
