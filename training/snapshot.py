"""Checkpoints from a run that goes on: ``python -m training.snapshot --run build/training/judge/run --out DIR``.

Writes the last save's weights as ``final.pt`` and their running mean as ``mean.pt``, as the end of a run does, so that
``vista_lab.training.average`` and ``vista_lab.training.export`` can make a verifier of them while training goes on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch


def saved_state(run: Path) -> dict[str, Any]:
    """The last save of a run: ``model``, ``mean`` and how far it had come, ``at``."""
    state: dict[str, Any] = torch.load(run / "last.pt", weights_only=True, mmap=True)
    return state


def write(weights: dict[str, torch.Tensor], path: Path) -> None:
    """A checkpoint in half precision."""
    torch.save({"model": {name: tensor.half() for name, tensor in weights.items()}}, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder with last.pt")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0, help="of the run, for the model card")
    args = parser.parse_args()
    saved = saved_state(args.run)
    args.out.mkdir(parents=True, exist_ok=True)
    for name, part in (("final", "model"), ("mean", "mean")):
        write(saved[part], args.out / f"{name}.pt")
        facts = {"seed": args.seed, **saved["at"]}
        (args.out / f"{name}.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(saved["at"])


if __name__ == "__main__":
    main()
