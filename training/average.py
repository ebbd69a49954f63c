"""Average checkpoints of one line of training: ``python -m training.average A.pt B.pt --out DIR``.

The mean of the weights of two stages keeps more of what each was good at than the last stage alone (model soups, Wortsman et
al. 2022). Which stages: chosen on development files. ``--shares 0.3 0.7`` weighs them, so that what a start was good at is kept
in part (Wortsman et al. 2022, robust fine-tuning). Milestones of adapters (`training/run/*.pt`) are merged into plain weights
first.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import torch

from vista_lab.training.lora import merged_file
from vista_lab.training.train import mean_of


def weights_of(path: Path) -> Mapping[str, torch.Tensor]:
    """The plain weights of a checkpoint, or of a milestone of adapters."""
    saved = torch.load(path, weights_only=True)
    return merged_file(path) if "mean" in saved else dict(saved["model"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoints", nargs="+", type=Path, help="files that vista_lab.training.train wrote")
    parser.add_argument("--shares", nargs="+", type=float, help="of each checkpoint; equal without it")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    shares = args.shares or [1 / len(args.checkpoints)] * len(args.checkpoints)
    models = [weights_of(path) for path in args.checkpoints]
    args.out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": mean_of(models, shares)}, args.out / "final.pt")
    known = args.checkpoints[-1].with_suffix(".json")
    seed = json.loads(known.read_text())["seed"] if known.exists() else 0
    facts = {"seed": seed, "averaged": [str(path) for path in args.checkpoints], "shares": shares}
    (args.out / "final.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
