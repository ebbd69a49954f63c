"""Train the verifier: ``python -m training.train --pairs pairs.jsonl --out DIR``.

One pass over the pairs, batches of similar length, AdamW, linear warm-up and decay. ``--max-minutes`` makes the decay
end no later than that, so that a slow machine still gives a finished model; the log says how many steps were taken.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from training.model import VERIFIER_LABELS, EncoderConfig, Verifier, base_folder, load_base

_BUCKET = 48  # batches that are sorted by length together


@dataclass(frozen=True)
class Example:
    """Token ids of one pair and a 0/1 mask over the labels that would be right."""

    ids: list[int]
    types: list[int]
    allowed: list[float]


def load_examples(path: Path, max_length: int) -> list[Example]:
    """Tokenise the pairs; a long premise loses its end."""
    tokenizer = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    rows = [json.loads(line) for line in path.open(encoding="utf-8")]
    encodings: list[Encoding] = tokenizer.encode_batch([(row["premise"], row["hypothesis"]) for row in rows])
    masks = ([float(i in row["allowed"]) for i in range(len(VERIFIER_LABELS))] for row in rows)
    return [Example(e.ids, e.type_ids, mask) for e, mask in zip(encodings, masks, strict=True)]


def batches(examples: Sequence[Example], size: int, rng: random.Random) -> Iterator[list[Example]]:
    """Batches of similar length in random order."""
    order = rng.sample(range(len(examples)), len(examples))
    for start in range(0, len(order), size * _BUCKET):
        bucket = sorted(order[start : start + size * _BUCKET], key=lambda i: len(examples[i].ids))
        groups = [bucket[i : i + size] for i in range(0, len(bucket), size)]
        rng.shuffle(groups)
        yield from ([examples[i] for i in group] for group in groups)


def collate(batch: Sequence[Example]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Padded ids, mask and segment ids [n, t], and the allowed labels [n, 3]."""
    width = max(len(e.ids) for e in batch)
    ids = torch.tensor([e.ids + [0] * (width - len(e.ids)) for e in batch])
    mask = torch.tensor([[1] * len(e.ids) + [0] * (width - len(e.ids)) for e in batch])
    types = torch.tensor([e.types + [0] * (width - len(e.types)) for e in batch])
    return ids, mask, types, torch.tensor([e.allowed for e in batch])


def loss_of(logits: Tensor, allowed: Tensor, smoothing: float = 0.02) -> Tensor:
    """-log of the total probability of the allowed labels, lightly smoothed towards all labels."""
    log_p = logits.log_softmax(-1)
    right = (log_p + (1 - allowed) * -1e4).logsumexp(-1)
    return -((1 - smoothing) * right + smoothing * log_p.mean(-1)).mean()


def optimiser_for(model: Verifier, lr: float, decay: float) -> torch.optim.Optimizer:
    """AdamW; the new head learns four times as fast, biases and norms are not decayed."""
    groups = []
    for part, rate in ((model.encoder, lr), (torch.nn.ModuleList([model.dense, model.classify]), 4 * lr)):
        params = [p for p in part.parameters() if p.requires_grad]
        groups.append({"params": [p for p in params if p.dim() > 1], "lr": rate, "weight_decay": decay})
        groups.append({"params": [p for p in params if p.dim() == 1], "lr": rate, "weight_decay": 0.0})
    for group in groups:
        group["peak"] = group["lr"]
    return torch.optim.AdamW(groups, fused=True)


def freeze(model: Verifier, layers: int) -> None:
    """Leave the embeddings and the lowest layers as they are; 0 trains everything. Saves a quarter of a step at 2 of 6."""
    if layers:
        encoder = model.encoder
        fixed = [encoder.words, encoder.positions, encoder.types, encoder.norm, *encoder.layers[:layers]]
        for part in fixed:
            part.requires_grad_(False)


def set_rate(optimiser: torch.optim.Optimizer, progress: float, warmup: float = 0.06) -> None:
    """Linear warm-up, then linear decay to 2% of the peak."""
    factor = progress / warmup if progress < warmup else max(0.02, (1 - progress) / (1 - warmup))
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * factor


def save(model: Verifier, folder: Path, name: str, **facts: object) -> None:
    """Write a checkpoint and its facts."""
    torch.save({"model": model.state_dict()}, folder / f"{name}.pt")
    (folder / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")


def train(args: argparse.Namespace) -> None:
    """The loop."""
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    examples = load_examples(args.pairs, args.max_length)
    model = Verifier(EncoderConfig.read(base_folder()))
    if args.start:
        model.load_state_dict(torch.load(args.start, weights_only=True)["model"])
    else:
        load_base(model.encoder, base_folder())
    freeze(model, args.freeze)
    model.train()
    optimiser = optimiser_for(model, args.lr, args.weight_decay)
    total = args.epochs * -(-len(examples) // args.batch)
    rng, begun, saved, step, mean = random.Random(args.seed), time.monotonic(), 0.0, 0, 1.0
    for batch in (b for _ in range(args.epochs) for b in batches(examples, args.batch, rng)):
        minutes = (time.monotonic() - begun) / 60
        progress = max(step / total, minutes / args.max_minutes)
        if progress >= 1:
            break
        set_rate(optimiser, progress)
        ids, mask, types, allowed = collate(batch)
        loss = loss_of(model(ids, mask, types), allowed)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        step, mean = step + 1, 0.99 * mean + 0.01 * loss.item()
        if step % 50 == 0:
            print(f"{minutes:6.1f} min  step {step}/{total}  progress {progress:.3f}  loss {mean:.4f}", flush=True)
        if minutes - saved > args.save_minutes:
            saved = minutes
            save(model, args.out, "last", steps=step, progress=progress)
    save(
        model,
        args.out,
        "final",
        steps=step,
        planned=total,
        minutes=(time.monotonic() - begun) / 60,
        **facts_of(args, examples),
    )


def facts_of(args: argparse.Namespace, examples: Sequence[Example]) -> dict[str, object]:
    """The settings of the run, for the model card."""
    named = {key: value for key, value in vars(args).items() if not isinstance(value, Path)}
    return {**named, "pairs": len(examples), "tokens": sum(len(e.ids) for e in examples)}


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="go on from this checkpoint instead of the base model")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=8e-5)
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--max-length", type=int, default=160)
    parser.add_argument("--max-minutes", type=float, default=120)
    parser.add_argument("--save-minutes", type=float, default=5)
    parser.add_argument("--freeze", type=int, default=0, help="lowest layers that are not trained, with the embeddings")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    train(args)


if __name__ == "__main__":
    main()
