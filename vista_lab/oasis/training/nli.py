"""Trains a verifier on claims, passages and labels (LLM-OASIS, sections 5.3 and 6.1)."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vista_guard.errors import InputError
from vista_guard.protocols import Verifier as GuardVerifier
from vista_lab.training import trainers
from vista_lab.training.recipes import LibraryRecipe, ShippedRecipe
from vista_lab.training.rows import LABELS, Split, VerifierRow

if TYPE_CHECKING:
    from numpy.typing import NDArray

KEPT = "eval_balanced_accuracy"
"""Metric that chooses the best step: the mean recall of the three labels on held-out rows."""


def as_pair(row: VerifierRow) -> dict[str, object]:
    """A row as `vista_lab.training.train` reads pairs."""
    label, twin = [LABELS.index(row.label)], f"oasis-{row.twin}" if row.twin else ""
    return {"premise": row.passage, "hypothesis": row.claim, "allowed": label, "twin": twin}


def balanced_accuracy(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """The mean recall of the labels that occur."""
    right, truth = np.array(predicted) == np.array(gold), np.array(gold)
    return float(np.mean([right[truth == label].mean() for label in sorted(set(gold))]))


def predict(verifier: GuardVerifier, rows: Sequence[VerifierRow], block: int = 64) -> list[int]:
    """The likeliest label of each row (Eq. 7), by its place in `LABELS`."""
    labels: list[int] = []
    for start in range(0, len(rows), block):
        pairs = [(row.passage, row.claim) for row in rows[start : start + block]]
        labels += [int(label) for label in verifier.probabilities(pairs).argmax(1)]
    return labels


def train_shipped(
    split: Split[VerifierRow], recipe: ShippedRecipe, out: Path, log: Callable[[str], None], replay: Path | None = None
) -> None:
    """Trains the shipped verifier on a CPU, and writes the folder that `verifier=` loads.

    Args:
        split: the rows.
        recipe: how.
        out: the folder.
        log: receives progress lines.
        replay: pairs of earlier training as `vista_lab.training.train` reads them, mixed in so that nothing is unlearned.
    """
    import torch

    from vista_lab.training.examples import encode
    from vista_lab.training.export import write_verifier_folder
    from vista_lab.training.shipped import shipped_tokenizer, shipped_verifier, train_kept
    from vista_lab.training.train import VerifierLearner

    torch.manual_seed(recipe.seed)
    model = shipped_verifier()
    pairs = [as_pair(row) for row in split.train]
    if replay is not None:
        pairs += replayed(replay, round(len(pairs) * recipe.replay_share / (1 - recipe.replay_share)), recipe.seed)
    examples = list(encode(shipped_tokenizer(recipe.max_tokens), pairs))
    learner = VerifierLearner(model, examples, tokens=recipe.tokens, ranking=recipe.ranking, margin=2.0)
    train_kept(learner, recipe, out, log)
    write_verifier_folder(model, out, recipe.max_tokens)
    trainers.remove_checkpoints(out)


def replayed(file: Path, most: int, seed: int) -> list[Mapping[str, Any]]:
    """At most `most` pairs of earlier training, drawn from a file with twins together.

    Raises InputError: the file cannot be read, or a line of it is no pair.
    """
    twins: dict[str, list[Mapping[str, Any]]] = {}
    for number, pair in enumerate(_pairs(file)):
        twins.setdefault(pair.get("twin") or f"#{number}", []).append(pair)
    groups = list(twins.values())
    random.Random(seed).shuffle(groups)
    drawn: list[Mapping[str, Any]] = []
    for group in groups:
        if len(drawn) >= most:
            break
        drawn += group
    return drawn


def _pairs(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                pair = _parse_pair(line)
                if pair is None:
                    raise InputError(
                        f"{file} line {number} is {line[:80]!r}; a replayed pair is "
                        '{"premise": "…", "hypothesis": "…", "allowed": [0]}, with the places of the labels that would be right '
                        f"among {', '.join(LABELS)}"
                    )
                yield pair
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{file} cannot be read: {exc}") from exc


def _parse_pair(line: str) -> Mapping[str, Any] | None:
    try:
        pair = json.loads(line)
    except ValueError:
        return None
    texts = isinstance(pair, dict) and all(isinstance(pair.get(key), str) for key in ("premise", "hypothesis"))
    allowed = pair.get("allowed") if texts else None
    return pair if isinstance(allowed, list) and allowed and set(allowed) <= set(range(len(LABELS))) else None


def train_library(split: Split[VerifierRow], recipe: LibraryRecipe, out: Path, log: Callable[[str], None]) -> None:
    """Trains a cross-encoder with transformers, and writes its folder."""
    from datasets import Dataset
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
    )

    def load(name: str) -> tuple[Any, Any]:
        meanings = {"id2label": dict(enumerate(LABELS)), "label2id": {label: n for n, label in enumerate(LABELS)}}
        model = AutoModelForSequenceClassification.from_pretrained(
            name, num_labels=len(LABELS), ignore_mismatched_sizes=True, **meanings
        )
        return model, AutoTokenizer.from_pretrained(name)

    with trainers.without_noise():
        model, tokenizer = trainers.load_base_model("verifier", recipe.base, load)

        def tokenise(rows: Sequence[VerifierRow]) -> Any:
            texts = {"passage": [row.passage for row in rows], "claim": [row.claim for row in rows]}
            labelled = Dataset.from_dict({**texts, "labels": [LABELS.index(row.label) for row in rows]})
            return labelled.map(
                # A claim is never cut: what the model does not read it cannot verify.
                lambda batch: tokenizer(
                    batch["passage"], batch["claim"], truncation="only_first", max_length=recipe.max_tokens
                ),
                batched=True,
                remove_columns=["passage", "claim"],
            )

        trainer = Trainer(
            model=model,
            args=TrainingArguments(**trainers.arguments(recipe, out, KEPT, len(split.train))),
            train_dataset=tokenise(split.train),
            eval_dataset=tokenise(split.held_out),
            data_collator=DataCollatorWithPadding(tokenizer),
            processing_class=tokenizer,
            compute_metrics=_measure,
        )
        trainers.run_trainer(trainer, out, log)
        trainers.write_model(out, model, tokenizer)


def _measure(prediction: Any) -> dict[str, float]:
    logits: NDArray[np.float32] = prediction.predictions
    gold = [int(label) for label in prediction.label_ids]
    return {"balanced_accuracy": balanced_accuracy(gold, [int(label) for label in logits.argmax(-1)])}
