"""Train the verifier: ``python -m vista_lab.training.train --pairs pairs.jsonl --out build/run``.

The one training loop of this repository: it trains whatever is a `Learner`, the verifier here and the embedder in `retriever`.
AdamW, linear warm-up and decay; bfloat16 where the CPU multiplies it in hardware. ``--max-minutes`` makes the decay end no later
than that, so that a slow machine still gives a finished model; the log says how many steps were taken. A run that was killed
goes on from its last save with ``--resume``.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from vista_lab.training import lora
from vista_lab.training.examples import Batch, Example, batches, collate, load_examples
from vista_lab.training.model import Verifier, base_verifier, deepen, read_verifier

_MEAN_EVERY = 20
"""Steps between two updates of the mean of the weights."""
_GATE_RATE = 20
"""Rate of the gates of copied layers, in rates of the encoder."""


class Losses(NamedTuple):
    """The losses of a batch: their sum is learned from, the parts are logged."""

    main: Tensor
    ranking: Tensor
    """Weighted; zero without ranked pairs."""
    rows: int


class Learner(Protocol):
    """A model, its rows in batches, and the loss of a batch."""

    model: Any
    """A `torch.nn.Module` with its `encoder`; what is not in the encoder is its head."""
    rows: int

    def batches(self, rng: random.Random) -> Iterator[Any]:
        """The batches of one epoch, in an order drawn from `rng`."""
        ...

    def forward(self, batch: Any) -> Tensor:
        """The model's outputs, in half precision where the machine has it."""
        ...

    def loss(self, outputs: Tensor, batch: Any) -> Losses:
        """The losses of these outputs, which are float32."""
        ...


@dataclass(frozen=True)
class Schedule:
    """Length and learning rates of a training."""

    lr: float = 8e-5
    head: float = 4.0
    """Rate of the head, in rates of the encoder."""
    weight_decay: float = 0.01
    warmup: float = 0.06
    """Share of the run in which the rate rises."""
    mean_decay: float = 0.999
    """Of the running mean of the weights, a step."""
    epochs: int = 1
    planned: int | None = None
    """Rows that the rate decays over, instead of whole epochs."""
    max_minutes: float = 120
    save_minutes: float = 5
    float32: bool = False
    """No bfloat16, even where the CPU has it."""
    threads: int = 2
    seed: int = 13

    def total(self, rows: int) -> int:
        """Rows that the rate decays over."""
        return int(self.planned or self.epochs * rows)


@dataclass
class Progress:
    """Progress of a run; written with each save."""

    step: int = 0
    examples: int = 0
    minutes: float = 0.0
    loss: float = 1.0
    ranking: float = 0.0


def loss_of(logits: Tensor, allowed: Tensor, smoothing: float = 0.02) -> Tensor:
    """-log of the total probability of the allowed labels, lightly smoothed towards all labels."""
    log_p = logits.log_softmax(-1)
    right = (log_p + (1 - allowed) * -1e4).logsumexp(-1)
    return -((1 - smoothing) * right + smoothing * log_p.mean(-1)).mean()


def ranking_loss(logits: Tensor, ranked: Tensor, margin: float) -> Tensor:
    """Softplus loss, low where a true twin's log odds of support exceed the false one's by ``margin``."""
    if not len(ranked):
        return logits.new_zeros(())
    odds = logits[:, 0] - logits[:, 1:].logsumexp(-1)
    return functional.softplus(margin - (odds[ranked[:, 0]] - odds[ranked[:, 1]])).mean()


def optimiser_for(model: nn.Module, lr: float, decay: float, head: float) -> torch.optim.Optimizer:
    """AdamW; what is not in the encoder learns ``head`` times as fast, biases and norms are not decayed."""
    groups = []
    gates = [p for name, p in model.named_parameters() if name.endswith(".gate")]
    if gates:  # single numbers, from zero to about one half: at the encoder's rate they would hardly leave zero
        groups.append({"params": gates, "lr": _GATE_RATE * lr, "weight_decay": 0.0})
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad and not name.endswith(".gate")]
    for inside, rate in ((True, lr), (False, head * lr)):
        params = [p for name, p in named if name.startswith("encoder.") == inside]
        groups.append({"params": [p for p in params if p.dim() > 1], "lr": rate, "weight_decay": decay})
        groups.append({"params": [p for p in params if p.dim() == 1], "lr": rate, "weight_decay": 0.0})
    for group in groups:
        group["peak"] = group["lr"]
    return torch.optim.AdamW(groups, fused=True, betas=(0.9, 0.98))


def freeze(model: Verifier, layers: int, words: bool = False) -> None:
    """Leave the embeddings and the lowest layers as they are; 0 trains everything. Saves a quarter of a step at 2 of 6.

    ``words`` leaves the table of words alone: half of all weights, an eighth of a step.
    """
    model.encoder.words.requires_grad_(not words)
    if layers:
        encoder = model.encoder
        fixed = [encoder.words, encoder.positions, encoder.types, encoder.norm, *encoder.layers[:layers]]
        for part in filter(None, fixed):
            part.requires_grad_(False)


def set_rate(optimiser: torch.optim.Optimizer, progress: float, warmup: float) -> None:
    """Linear warm-up, then linear decay to 2% of the peak."""
    factor = progress / warmup if progress < warmup else max(0.02, (1 - progress) / (1 - warmup))
    for group in optimiser.param_groups:
        group["lr"] = group["peak"] * factor


def has_bfloat16() -> bool:
    """True if this CPU multiplies bfloat16 matrices in hardware; elsewhere autocast is slower than float32."""
    return any(getattr(torch.cpu, name, bool)() for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"))


class VerifierLearner:
    """Implements `Learner`: pairs with the labels that would be right, twins ranked."""

    def __init__(
        self, model: Verifier, examples: Sequence[Example], *, tokens: int, ranking: float, margin: float
    ) -> None:
        self.model, self.rows = model, len(examples)
        self._examples, self._tokens, self._ranking, self._margin = examples, tokens, ranking, margin

    def batches(self, rng: random.Random) -> Iterator[Batch]:
        """Implements `Learner.batches`."""
        return map(collate, batches(self._examples, self._tokens, rng))

    def forward(self, batch: Batch) -> Tensor:
        """Implements `Learner.forward`."""
        logits: Tensor = self.model(batch.ids, batch.mask, batch.types)
        return logits

    def loss(self, outputs: Tensor, batch: Batch) -> Losses:
        """Implements `Learner.loss`."""
        ranking = self._ranking * ranking_loss(outputs, batch.ranked, self._margin)
        return Losses(loss_of(outputs, batch.allowed), ranking, len(batch))


class Run:
    """A model in training: its optimiser, the mean of its weights, and how far it has come."""

    def __init__(self, learner: Learner, schedule: Schedule, out: Path) -> None:
        self.learner, self.schedule, self.out = learner, schedule, out
        self.model = learner.model
        self.optimiser = optimiser_for(self.model, schedule.lr, schedule.weight_decay, schedule.head)
        self.mean = {name: tensor.clone() for name, tensor in lora.trained(self.model).items()}
        self.at = Progress()
        self.half = not schedule.float32 and has_bfloat16()

    def learn(self, batch: Any, progress: float) -> None:
        set_rate(self.optimiser, progress, self.schedule.warmup)
        with torch.autocast("cpu", torch.bfloat16, enabled=self.half):
            outputs = self.learner.forward(batch)
        losses = self.learner.loss(outputs.float(), batch)
        (losses.main + losses.ranking).backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        self._count(losses.rows, losses.main.item(), losses.ranking.item())

    def _count(self, examples: int, loss: float, ranking: float) -> None:
        at = self.at
        at.step, at.examples = at.step + 1, at.examples + examples
        at.loss, at.ranking = 0.99 * at.loss + 0.01 * loss, 0.99 * at.ranking + 0.01 * ranking
        if at.step % _MEAN_EVERY == 0:
            self._average(_MEAN_EVERY)

    def _average(self, steps: int) -> None:
        share = min(self.schedule.mean_decay**steps, self.at.step / (self.at.step + 10 * _MEAN_EVERY))
        for name, tensor in lora.trained(self.model).items():
            self.mean[name].lerp_(tensor, 1 - share)

    def finish(self) -> None:
        """Takes the last steps into the mean: a short run would leave it where it began."""
        if steps := self.at.step % _MEAN_EVERY:
            self._average(steps)

    def save(self, name: str, trained: dict[str, Tensor], **facts: object) -> None:
        """Saves a checkpoint with these trained weights in half precision, adapters merged, and its facts."""
        state = lora.plain(self.model, trained)
        torch.save({"model": {key: tensor.half() for key, tensor in state.items()}}, self.out / f"{name}.pt")
        (self.out / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")

    def save_adapter(self, **facts: object) -> None:
        """Saves the trained weights alone, last and mean, in half precision: a few MB that another run starts from."""
        last, mean = ({key: t.half() for key, t in part.items()} for part in (lora.trained(self.model), self.mean))
        state = {"last": last, "mean": mean, "alpha": lora.alpha_of(self.model), "facts": facts}
        torch.save(state, self.out / "adapter.pt")

    def keep(self) -> None:
        """Saves what ``resume`` needs; if killed midway, the previous save remains."""
        fresh = self.out / "last.new"
        parts = {"model": lora.trained(self.model), "mean": self.mean, "optimiser": self.optimiser.state_dict()}
        torch.save(parts | {"at": asdict(self.at), "alpha": lora.alpha_of(self.model)}, fresh)
        fresh.replace(self.out / "last.pt")

    def resume(self) -> None:
        """Resumes from the last save, with the current rates and rows."""
        checkpoint = torch.load(self.out / "last.pt", weights_only=True)
        peaks = [group["peak"] for group in self.optimiser.param_groups]
        self.model.load_state_dict(checkpoint["model"], strict=False)
        self.optimiser.load_state_dict(checkpoint["optimiser"])
        for group, peak in zip(self.optimiser.param_groups, peaks, strict=True):
            group["peak"] = peak
        self.mean, self.at = checkpoint["mean"], Progress(**checkpoint["at"])


def fit(
    learner: Learner,
    schedule: Schedule,
    out: Path,
    *,
    resume: bool = False,
    log: Callable[[str], None] = lambda line: print(line, flush=True),
) -> Run:
    """Trains until the planned rows or the minutes are over; a killed run resumes from its last save.

    Args:
        learner: the model and its rows.
        schedule: length and learning rates.
        out: a folder for saves.
        resume: go on from the folder's `last.pt`, if there is one.
        log: receives progress every fifty steps.
    """
    torch.set_num_threads(schedule.threads)
    learner.model.train()
    run = Run(learner, schedule, out)
    if resume and (out / "last.pt").exists():
        run.resume()
    _loop(run, log)
    run.finish()
    log(f"{run.at.minutes:6.1f} min  step {run.at.step}  {run.at.examples} rows: done")
    return run


def _loop(run: Run, log: Callable[[str], None]) -> None:
    schedule, at, total = run.schedule, run.at, run.schedule.total(run.learner.rows)
    rng = random.Random(
        f"{schedule.seed}-{at.step}"
    )  # after a resumption the order is another one: the data may be too
    begun, saved = time.monotonic() - 60 * at.minutes, at.minutes
    for batch in endless(run.learner, rng):
        at.minutes = (time.monotonic() - begun) / 60
        progress = max(at.examples / total, at.minutes / schedule.max_minutes)
        if progress >= 1:
            return
        run.learn(batch, progress)
        if at.step % 50 == 0:
            log(
                f"{at.minutes:6.1f} min  step {at.step}  {at.examples}/{total}  progress {progress:.3f}"
                f"  loss {at.loss:.4f}  ranking {at.ranking:.4f}"
            )
        if at.minutes - saved > schedule.save_minutes:
            saved = at.minutes
            run.keep()


def mean_of(models: Sequence[Mapping[str, Tensor]], shares: Sequence[float]) -> dict[str, Tensor]:
    """The mean of several models' weights in float32, each with its share."""
    both, zero = list(zip(shares, models, strict=True)), torch.zeros(())
    return {name: sum((share * model[name].float() for share, model in both), zero) for name in models[0]}


def endless(learner: Learner, rng: random.Random) -> Iterator[Any]:
    """Batches, epoch after epoch, each in an order of its own."""
    while True:
        yield from learner.batches(rng)


def start_model(args: argparse.Namespace) -> Verifier:
    """The checkpoint to start from, or the base model with a new head."""
    if args.start:
        model = read_verifier(args.start, args.dropout)
        return deepen(model) if args.deepen else model
    return base_verifier(args.dropout, args.layers)


def train(args: argparse.Namespace) -> None:
    """Trains a verifier on files of pairs."""
    schedule = Schedule(**{field.name: getattr(args, field.name) for field in fields(Schedule)})
    torch.manual_seed(args.seed)
    examples = [example for path in args.pairs for example in load_examples(path, args.max_length)]
    model = start_model(args)
    if args.lora:
        lora.adapt(model, args.lora, args.lora_alpha, args.freeze)
    else:
        freeze(model, args.freeze, args.freeze_words)
    if args.adapter:
        saved = torch.load(args.adapter, weights_only=True)
        lora.load(model, saved.get("last", saved["mean"]))
    learner = VerifierLearner(model, examples, tokens=args.tokens, ranking=args.ranking, margin=args.margin)
    run = fit(learner, schedule, args.out, resume=args.resume)
    facts = {**asdict(run.at), "planned": schedule.total(len(examples)), **facts_of(args, examples)}
    run.save("final", lora.trained(model), **facts)
    if args.lora:
        run.save_adapter(**facts)
    run.save("mean", run.mean, **facts)
    (args.out / "last.pt").unlink(missing_ok=True)


def facts_of(args: argparse.Namespace, examples: Sequence[Example]) -> dict[str, object]:
    """The settings of the run, for the model card."""
    settings = {key: value for key, value in vars(args).items() if isinstance(value, (int, float, str))}
    return {**settings, "pairs": len(examples), "token_count": sum(len(e.ids) for e in examples)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--start", type=Path, help="go on from this checkpoint instead of the base model")
    parser.add_argument("--deepen", action="store_true", help="each layer of --start twice, the copies idle at first")
    parser.add_argument("--layers", type=int, default=0, help="the base's lowest layers to use; 0: all of them")
    parser.add_argument("--resume", action="store_true", help="go on from the folder's last.pt, if there is one")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--planned", type=int, help="pairs that the rate decays over, instead of whole epochs")
    parser.add_argument("--warmup", type=float, default=0.06, help="share of the run in which the rate rises")
    parser.add_argument("--tokens", type=int, default=4096, help="padded tokens a batch")
    parser.add_argument("--lr", type=float, default=8e-5)
    parser.add_argument("--head", type=float, default=4.0, help="the head's rate, in rates of the encoder")
    parser.add_argument("--weight-decay", type=float, default=0.01)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--ranking", type=float, default=0.0, help="weight of the ranking term on twins")
    parser.add_argument("--margin", type=float, default=2.0, help="of the log odds of support between twins")
    parser.add_argument("--mean-decay", type=float, default=0.999, help="of the running mean of the weights, a step")
    parser.add_argument("--max-length", type=int, default=160)
    parser.add_argument("--max-minutes", type=float, default=120)
    parser.add_argument("--save-minutes", type=float, default=5)
    parser.add_argument("--lora", type=int, default=0, help="rank of adapters; 0 trains the weights themselves")
    parser.add_argument("--lora-alpha", type=float, default=32, help="adapters are scaled by this over their rank")
    parser.add_argument(
        "--adapter", type=Path, help="go on from this adapter.pt, or from a milestone of training.snapshot"
    )
    parser.add_argument("--freeze", type=int, default=0, help="lowest layers that are not trained, with the embeddings")
    parser.add_argument("--freeze-words", action="store_true", help="the table of words is not trained")
    parser.add_argument("--float32", action="store_true", help="no bfloat16, even where the CPU has it")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=13)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    train(args)


if __name__ == "__main__":
    main()
