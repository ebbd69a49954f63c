"""Trains a retriever to put claims near the passages that support or contradict them (LLM-OASIS, sections 5.2 and 6.1)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vista_lab.training.recipes import LibraryRecipe, ShippedRecipe
from vista_lab.training.rows import RetrieverRow, Split, disjoint_batches
from vista_lab.training.trainers import arguments, load_base_model, remove_checkpoints, run_trainer, without_noise

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from torch import Tensor

    from vista_lab.training.model import Embedder
    from vista_lab.training.train import Losses

KEPT = "eval_held_out_cosine_mrr@10"
"""Metric that chooses the best step. R@30 does not separate models on a few hundred held-out passages."""


def in_batch_loss(scores: Tensor) -> Tensor:
    """The loss of Eq. 6: for each claim minus the log of its own passage's share among the passages of the batch, summed.

    Args:
        scores: the product of claim i and passage j, shape (n, n); a claim's own passage is on the diagonal.
    """
    import torch
    from torch.nn import functional

    return functional.cross_entropy(scores, torch.arange(len(scores)), reduction="sum")


@dataclass(frozen=True)
class PairBatch:
    """Token ids and masks of claims, then of their passages: (2n, tokens)."""

    ids: Tensor
    mask: Tensor


class RetrieverLearner:
    """Implements `Learner`: the shipped embedder on pairs of claim and passage."""

    def __init__(
        self, model: Embedder, rows: Sequence[RetrieverRow], tokenizer: Tokenizer, *, batch: int, scale: float
    ) -> None:
        self.model, self.rows = model, len(rows)
        self._pairs, self._tokenizer, self._batch, self._scale = rows, tokenizer, batch, scale

    def batches(self, rng: random.Random) -> Iterator[PairBatch]:
        """Implements `Learner.batches`."""
        return map(self._encode, disjoint_batches(self._pairs, self._batch, rng))

    def _encode(self, rows: Sequence[RetrieverRow]) -> PairBatch:
        import torch
        from torch.nn.utils.rnn import pad_sequence

        texts = [row.claim for row in rows] + [row.passage for row in rows]
        ids = [torch.tensor(encoding.ids) for encoding in self._tokenizer.encode_batch(texts)]
        mask = [torch.ones_like(sequence) for sequence in ids]
        return PairBatch(pad_sequence(ids, batch_first=True), pad_sequence(mask, batch_first=True))

    def forward(self, batch: PairBatch) -> Tensor:
        """Implements `Learner.forward`."""
        import torch

        vectors: Tensor = self.model(batch.ids, batch.mask, torch.zeros_like(batch.ids))
        return vectors

    def loss(self, outputs: Tensor, batch: PairBatch) -> Losses:
        """Implements `Learner.loss`: Eq. 6 over the rows of the batch."""
        from vista_lab.training.train import Losses

        claims, passages = outputs.chunk(2)
        main = in_batch_loss(self._scale * claims @ passages.T) / len(claims)
        return Losses(main, main.new_zeros(()), len(claims))


def train_shipped(split: Split[RetrieverRow], recipe: ShippedRecipe, out: Path, log: Callable[[str], None]) -> None:
    """Trains the shipped embedder on a CPU, and writes the folder that `embedder=` loads."""
    import torch

    from vista_lab.training.export import write_embedder_folder
    from vista_lab.training.shipped import shipped_embedder, shipped_tokenizer, train_kept

    torch.manual_seed(recipe.seed)
    model = shipped_embedder()
    tokenizer = shipped_tokenizer(recipe.max_tokens)
    learner = RetrieverLearner(model, split.train, tokenizer, batch=recipe.batch, scale=recipe.scale)
    train_kept(learner, recipe, out, log)
    write_embedder_folder(model, out, recipe.max_tokens)
    remove_checkpoints(out)


def train_library(split: Split[RetrieverRow], recipe: LibraryRecipe, out: Path, log: Callable[[str], None]) -> None:
    """Trains an encoder with sentence-transformers, and writes its folder."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from sentence_transformers.sentence_transformer.training_args import SentenceTransformerTrainingArguments
    from sentence_transformers.util import cos_sim

    prompts = prompts_of(recipe)

    class ApartTrainer(SentenceTransformerTrainer):  # type: ignore[misc]  # the library is untyped here
        def get_batch_sampler(self, dataset: Any, batch_size: int, **options: Any) -> Any:
            return _sampler(split.train, batch_size, recipe.seed)

    with without_noise():
        model: Any = load_base_model("retriever", recipe.base, SentenceTransformer)
        model.max_seq_length = min(recipe.max_tokens, model.max_seq_length or recipe.max_tokens)
        model.prompts = {"query": prompts["claim"], "document": prompts["passage"]}
        columns = {"claim": [row.claim for row in split.train], "passage": [row.passage for row in split.train]}
        trainer = ApartTrainer(
            model=model,
            args=SentenceTransformerTrainingArguments(
                **arguments(recipe, out, KEPT, len(split.train)), prompts=prompts
            ),
            train_dataset=Dataset.from_dict(columns),
            # The mean over the batch of Eq. 6; AdamW does not see the factor.
            loss=MultipleNegativesRankingLoss(model, scale=recipe.scale, similarity_fct=cos_sim),
            evaluator=_evaluator(split.held_out, prompts, recipe.batch),
        )
        run_trainer(trainer, out, log)
    model.save_pretrained(str(out), create_model_card=False)
    remove_checkpoints(out)


def prompts_of(recipe: LibraryRecipe) -> dict[str, str]:
    """The prefixes of claims and passages: E5 models were trained with them, other encoders were not."""
    known = "e5" in Path(recipe.base).name.lower()
    return {"claim": recipe.claim_prefix if known else "", "passage": recipe.passage_prefix if known else ""}


def _sampler(rows: Sequence[RetrieverRow], size: int, seed: int) -> Any:
    """Batches without false negatives, as sentence-transformers takes them."""
    from sentence_transformers.base.sampler import DefaultBatchSampler

    places = {id(row): place for place, row in enumerate(rows)}

    class Apart(DefaultBatchSampler):  # type: ignore[misc]  # the library is untyped here
        epoch = 0

        def set_epoch(self, epoch: int) -> None:
            self.epoch = epoch

        def __iter__(self) -> Iterator[list[int]]:
            for batch in disjoint_batches(rows, size, random.Random(f"{seed}-{self.epoch}")):
                yield [places[id(row)] for row in batch]

        def __len__(self) -> int:
            return sum(1 for _ in self)

    return Apart(range(len(rows)), batch_size=size, drop_last=False)


def _evaluator(rows: Sequence[RetrieverRow], prompts: dict[str, str], batch: int) -> Any:
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

    passages = {f"p{number}": text for number, text in enumerate(dict.fromkeys(row.passage for row in rows))}
    names = {text: name for name, text in passages.items()}
    claims: dict[str, set[str]] = {}
    for row in rows:
        claims.setdefault(row.claim, set()).add(names[row.passage])
    return InformationRetrievalEvaluator(
        queries={f"q{number}": claim for number, claim in enumerate(claims)},
        corpus=passages,
        relevant_docs={f"q{number}": relevant for number, relevant in enumerate(claims.values())},
        batch_size=batch,
        name="held_out",
        write_csv=False,
        query_prompt=prompts["claim"],
        corpus_prompt=prompts["passage"],
    )
