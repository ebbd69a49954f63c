"""Parts shared by the recipes that train with transformers and sentence-transformers: the base, the arguments, resumption."""

from __future__ import annotations

import json
import logging
import math
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from vista_guard.errors import ConfigError
from vista_lab.training.recipes import SHIPPED, LibraryRecipe
from vista_lab.training.rows import Part

CHECKPOINTS = "checkpoints"
"""Folder inside --out that a killed run resumes from; removed when the model is written."""

T = TypeVar("T")


def checkpoints(out: Path) -> Path:
    """The folder of checkpoints, made when missing."""
    folder = out / CHECKPOINTS
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def last_checkpoint(out: Path) -> str | None:
    """The last checkpoint of a run that was killed; None for a new one."""
    from transformers.trainer_utils import get_last_checkpoint

    checkpoint: str | None = get_last_checkpoint(str(checkpoints(out)))
    return checkpoint


def load_base_model(part: Part | Literal["decomposer"], base: str, load: Callable[[str], T]) -> T:
    """The weights to begin with. Raises ConfigError: they cannot be found, or are of another kind of model."""
    if base == SHIPPED:
        raise ConfigError(f"base is {base!r}, which only recipe small trains; give hf:ORG/MODEL or a folder")
    name = base.removeprefix("hf:")
    folder = Path(name).expanduser()
    if not base.startswith("hf:") and not (folder / "config.json").is_file():
        raise ConfigError(f"base is {base!r}, which is neither hf:ORG/MODEL nor a folder with config.json")
    try:
        _check_kind(part, base, name)
        return load(name)
    except (OSError, ValueError, TypeError, KeyError, ImportError, RuntimeError) as exc:
        why = " ".join(str(exc).split())[:300]
        raise ConfigError(f"base {base} cannot be loaded for the {part}: {why}") from exc


def _check_kind(part: Part | Literal["decomposer"], base: str, name: str) -> None:
    from transformers import AutoConfig

    config = AutoConfig.from_pretrained(name)
    writes = bool(config.is_encoder_decoder)
    if writes != (part == "extractor"):
        wanted = {"extractor": "an encoder-decoder such as T5", "decomposer": "a chat model"}.get(part, "an encoder")
        raise ConfigError(f"base {base} is a {config.model_type}; the {part} needs {wanted}")


def arguments(recipe: LibraryRecipe, out: Path, kept: str, rows: int) -> dict[str, Any]:
    """The recipe as `TrainingArguments`: the step that is best by `kept` on held-out rows is kept."""
    every = min(recipe.evaluate_every, recipe.steps)
    steps = math.ceil(recipe.steps / every) * every  # the last step must be one that is measured
    return {
        "output_dir": str(checkpoints(out)),
        "max_steps": steps,
        "per_device_train_batch_size": min(recipe.batch, rows),
        "per_device_eval_batch_size": recipe.batch,
        "learning_rate": recipe.learning_rate,
        "optim": recipe.optimizer,
        "lr_scheduler_type": "constant_with_warmup" if recipe.decay == "constant" else "linear",
        "warmup_steps": round(recipe.warmup * steps),
        "eval_strategy": "steps",
        "eval_steps": every,
        "save_strategy": "steps",
        "save_steps": every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "metric_for_best_model": kept,
        "greater_is_better": True,
        "logging_steps": every,
        "seed": recipe.seed,
        "report_to": "none",
        "disable_tqdm": True,
        "dataloader_pin_memory": has_accelerator(),
    }


def has_accelerator() -> bool:
    """True if torch has a device other than the CPU."""
    import torch

    return torch.accelerator.is_available()


def run_trainer(trainer: Any, out: Path, log: Callable[[str], None]) -> None:
    """Trains, from the last checkpoint where there is one; afterwards the trainer's model is the best one."""
    from transformers import PrinterCallback, TrainerCallback

    class Told(TrainerCallback):  # type: ignore[misc]  # the library is untyped here
        def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **_: Any) -> None:
            log(f"step {state.global_step}/{state.max_steps}  {json.dumps(logs)}")

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Told())
    trainer.train(resume_from_checkpoint=last_checkpoint(out))


def write_model(out: Path, *parts: Any) -> None:
    """Saves model and tokenizer; the files of checkpoints are not needed any more."""
    for part in parts:
        part.save_pretrained(str(out))
    remove_checkpoints(out)


def remove_checkpoints(out: Path) -> None:
    """Removes what only a killed run needs."""
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)


@contextmanager
def without_noise() -> Iterator[None]:
    """Silences the libraries' own progress bars, hints, and warnings to each other of options that will be renamed."""
    from datasets.utils.logging import disable_progress_bar
    from transformers.utils import logging as transformers_logging

    disable_progress_bar()
    transformers_logging.disable_progress_bar()
    names = ("transformers", "sentence_transformers", "datasets", "accelerate", "peft", "trl")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)
