"""Trains an extractor: a passage in, its claims out (LLM-OASIS, sections 5.1 and 6.1, equation 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vista_guard.errors import InputError
from vista_guard.reading.passages import sentence_spans
from vista_lab.metrics.claim_sets import score
from vista_lab.training.recipes import LibraryRecipe
from vista_lab.training.rows import ExtractorRow, Split
from vista_lab.training.trainers import arguments, load_base_model, run_trainer, without_noise, write_model

KEPT = "eval_easiness_f1"
"""Metric that chooses the best step, as in the paper."""
IGNORED = -100
"""The label of padding."""


def target_of(claims: Sequence[str]) -> str:
    """The claims as one text: y in Eq. 5. Each is a sentence, since a reader tells them apart by that.

    Examples:
        >>> target_of(["The pier is old", "It is long."])
        'The pier is old. It is long.'
    """
    return " ".join(
        claim.strip() if claim.strip().endswith((".", "!", "?")) else f"{claim.strip()}." for claim in claims
    )


def claims_of(text: str) -> list[str]:
    """The claims of an output: its sentences.

    Examples:
        >>> claims_of("The pier is old. It is long.")
        ['The pier is old.', 'It is long.']
    """
    return [text[span.start : span.end].strip() for span in sentence_spans(text) if text[span.start : span.end].strip()]


def train_library(split: Split[ExtractorRow], recipe: LibraryRecipe, out: Path, log: Callable[[str], None]) -> None:
    """Trains an encoder-decoder with transformers, and writes the folder that `extractor=` loads."""
    from datasets import Dataset
    from transformers import (
        AutoModelForSeq2SeqLM,
        AutoTokenizer,
        DataCollatorForSeq2Seq,
        Seq2SeqTrainer,
        Seq2SeqTrainingArguments,
    )

    def load(name: str) -> tuple[Any, Any]:
        return AutoModelForSeq2SeqLM.from_pretrained(name), AutoTokenizer.from_pretrained(name)

    with without_noise():
        model, tokenizer = load_base_model("extractor", recipe.base, load)

        def tokenise(rows: Sequence[ExtractorRow]) -> Any:
            targets = [target_of(row.claims) for row in rows]
            texts = Dataset.from_dict({"text": [row.text for row in rows], "target": targets})
            return texts.map(
                lambda batch: {
                    **tokenizer(batch["text"], truncation=True, max_length=recipe.max_tokens),
                    "labels": tokenizer(text_target=batch["target"])["input_ids"],
                },
                batched=True,
                remove_columns=["text", "target"],
            )

        rows = tokenise(split.train)
        # Half a target would teach to stop in the middle of the claims.
        fitting = rows.filter(lambda row: len(row["labels"]) <= recipe.max_tokens)
        if len(fitting) < len(rows):
            log(f"{len(rows) - len(fitting):,} rows are left out: their claims have over {recipe.max_tokens} tokens")
        if not len(fitting):
            raise InputError(f"the claims of every passage have over {recipe.max_tokens} tokens; raise max_tokens")

        def measure(prediction: Any) -> dict[str, float]:
            ids = np.where(prediction.predictions == IGNORED, tokenizer.pad_token_id, prediction.predictions)
            predicted = [claims_of(text) for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
            easiness = score(zip(predicted, [row.claims for row in split.held_out], strict=True))
            assert easiness is not None  # a split has held-out rows
            return {f"easiness_{name}": getattr(easiness.macro, name) for name in ("precision", "recall", "f1")}

        trainer = Seq2SeqTrainer(
            model=model,
            args=Seq2SeqTrainingArguments(
                **arguments(recipe, out, KEPT, len(split.train)),
                predict_with_generate=True,
                generation_max_length=recipe.max_tokens,
            ),
            train_dataset=fitting,
            eval_dataset=tokenise(split.held_out),
            data_collator=DataCollatorForSeq2Seq(tokenizer, model=model, label_pad_token_id=IGNORED),
            processing_class=tokenizer,
            compute_metrics=measure,
        )
        run_trainer(trainer, out, log)
        write_model(out, model, tokenizer)
