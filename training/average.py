"""Average checkpoints of one line of training: ``python -m training.average A.pt B.pt --out DIR``.

The mean of the weights of two stages keeps more of what each was good at than the last stage alone (model soups, Wortsman et
al. 2022). Which stages: chosen on development files. ``--shares 0.3 0.7`` weighs them, so that what a start was good at is kept
in part (Wortsman et al. 2022, robust fine-tuning). Milestones of adapters (`training/run/*.pt`) are merged into plain weights
first. ``--milestone FILE`` writes the mean of milestones as adapters of the same rank again, which training goes on from: what is
cut off is 4 % of what one run changed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

from vista_lab.training.lora import merged_file
from vista_lab.training.train import mean_of


def weights_of(path: Path) -> Mapping[str, torch.Tensor]:
    """The plain weights of a checkpoint, or of a milestone of adapters."""
    saved = torch.load(path, weights_only=True)
    return merged_file(path) if "mean" in saved else dict(saved["model"])


def as_adapters(models: Sequence[Mapping[str, torch.Tensor]], shares: Sequence[float]) -> dict[str, torch.Tensor]:
    """The mean of milestones' trained weights, in half precision; the products of adapters by their largest singular values."""
    mean = {}
    for name, last in models[-1].items():
        base, part = name.rsplit(".", 1)
        pair = (f"{base}.a", f"{base}.b")
        if part not in "ab" or not all(one in models[-1] for one in pair):
            mean[name] = mean_of([{name: model[name].float()} for model in models], shares)[name].half()
        elif part == "a":
            product = sum(
                share * model[pair[1]].float() @ model[pair[0]].float()
                for share, model in zip(shares, models, strict=True)
            )
            left, values, right = torch.linalg.svd(torch.as_tensor(product), full_matrices=False)
            root = values[: len(last)].sqrt()
            mean[pair[0]], mean[pair[1]] = (
                (root[:, None] * right[: len(last)]).half(),
                (left[:, : len(last)] * root).half(),
            )
    return mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+", type=Path, help="files that vista_lab.training.train wrote")
    parser.add_argument("--shares", nargs="+", type=float, help="of each checkpoint; equal without it")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--out", type=Path, help="folder for plain weights")
    place.add_argument("--milestone", type=Path, help="file for adapters; of milestones only")
    args = parser.parse_args()
    shares = args.shares or [1 / len(args.checkpoints)] * len(args.checkpoints)
    if args.milestone:
        saved = [torch.load(path, weights_only=True) for path in args.checkpoints]
        mean = as_adapters([one["mean"] for one in saved], shares)
        torch.save({"mean": mean, "alpha": saved[-1]["alpha"], "at": saved[-1]["at"]}, args.milestone)
        return
    models = [weights_of(path) for path in args.checkpoints]
    args.out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": mean_of(models, shares)}, args.out / "final.pt")
    known = args.checkpoints[-1].with_suffix(".json")
    seed = json.loads(known.read_text())["seed"] if known.exists() else 0
    facts = {"seed": seed, "averaged": [str(path) for path in args.checkpoints], "shares": shares}
    (args.out / "final.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
