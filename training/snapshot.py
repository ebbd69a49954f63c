"""Checkpoints from a run that goes on: ``python -m training.snapshot --run build/training/judge/run --out DIR``.

Writes the last save's weights as ``final.pt`` and their running mean as ``mean.pt``, as the end of a run does, so that
``training.average`` and ``vista_lab.training.export`` can make a verifier of them while training goes on.
``--milestone training/run/NAME.pt`` keeps the mean of a run of adapters in one small file, for ``train --adapter`` elsewhere.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from vista_lab.training.lora import merged_file


def _saved(run: Path) -> dict[str, Any]:
    """The last save of a run that goes on, or what a finished run of adapters left; with `at`, how far it had come."""
    going_on = run / "last.pt"
    path = going_on if going_on.exists() else run / "adapter.pt"
    saved: dict[str, Any] = torch.load(path, weights_only=True, mmap=True)
    return saved if "at" in saved else saved | {"at": saved["facts"]}


def progress(run: Path) -> dict[str, Any]:
    """How far a run had come at its last save."""
    at: dict[str, Any] = _saved(run)["at"]
    return at


def write(weights: dict[str, torch.Tensor], path: Path) -> None:
    """A checkpoint in half precision."""
    torch.save({"model": {name: tensor.half() for name, tensor in weights.items()}}, path)


def milestone(run: Path, path: Path) -> None:
    """The mean of a run of adapters, in half precision, and how far it had come: 7 MB for the reader."""
    saved = _saved(run)
    mean = {name: tensor.half() for name, tensor in saved["mean"].items()}
    torch.save({"mean": mean, "alpha": saved["alpha"], "at": saved["at"]}, path)


def checkpoints(run: Path, out: Path, facts: Mapping[str, object]) -> None:
    """The last weights and their mean, with the run's facts beside them."""
    out.mkdir(parents=True, exist_ok=True)
    for name, part in (("final", "model"), ("mean", "mean")):
        write(merged_file(run / "last.pt", part), out / f"{name}.pt")
        (out / f"{name}.json").write_text(json.dumps(dict(facts), indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder with last.pt")
    parser.add_argument("--out", type=Path, help="folder for final.pt and mean.pt")
    parser.add_argument("--milestone", type=Path, help="file for the mean of the adapters alone")
    parser.add_argument("--seed", type=int, default=0, help="of the run, for the model card")
    args = parser.parse_args()
    facts = {"seed": args.seed, **progress(args.run)}
    if args.milestone:
        milestone(args.run, args.milestone)
    if args.out:
        checkpoints(args.run, args.out, facts)
    print(facts)


if __name__ == "__main__":
    main()
