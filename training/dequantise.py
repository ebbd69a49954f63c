"""A float32 checkpoint from an int8 verifier: ``python -m training.dequantise --out build/start``.

Training goes on from the shipped weights this way when the checkpoint they were exported from is gone. What rounding to eight
bits took away stays lost; ``--check`` says how far the checkpoint's logits are from the file's, on sentence pairs it makes up.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vista_guard.inference.weights import WEIGHTS
from vista_lab.training.shipped import read_state

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vista_lab.training.model import Verifier


def sample_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    """Pairs of sentences from this project's templates, some of them alike."""
    rng = random.Random(seed)
    lines = (Path(__file__).parent / "templates" / "facts.txt").read_text(encoding="utf-8").split("\n")
    lines = [line for line in lines if len(line.split()) > 3]
    premises = [" ".join(rng.sample(lines, rng.randint(1, 6))) for _ in range(count)]
    return [(text, rng.choice([rng.choice(lines), text.split(".")[0] + "."])) for text in premises]


def torch_logits(model: Verifier, pairs: Sequence[tuple[str, str]], max_length: int = 256) -> NDArray[np.float32]:
    """Logits of the pairs one by one, in float32."""
    import torch
    from tokenizers import Tokenizer

    from vista_lab.training.model import base_folder

    tokenizer = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length)
    rows = []
    with torch.inference_mode():
        for encoding in tokenizer.encode_batch(list(pairs)):
            ids, types = torch.tensor([encoding.ids]), torch.tensor([encoding.type_ids])
            rows.append(model.eval()(ids, torch.ones_like(ids), types)[0].numpy())
    return np.stack(rows)


def difference(model: Verifier, path: Path, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    """Absolute difference of the logits between the model and the exported file, [pairs, 3]."""
    from vista_guard.inference.onnx import Encoder

    there = Encoder.load(path.stem, max_length=256, folder=path.parent.resolve()).run(list(pairs))
    off: NDArray[np.float32] = np.abs(torch_logits(model, pairs) - there)
    return off


def main() -> None:
    import torch

    from vista_lab.training.model import EncoderConfig, Verifier, base_folder

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=WEIGHTS / "verifier.onnx")
    parser.add_argument("--out", type=Path, required=True, help="folder for final.pt")
    parser.add_argument("--check", type=int, default=200, help="pairs to compare the two on")
    args = parser.parse_args()
    model = Verifier(EncoderConfig.read(base_folder()))
    model.load_state_dict(read_state(args.weights))
    args.out.mkdir(parents=True, exist_ok=True)
    torch.save({"model": model.state_dict()}, args.out / "final.pt")
    facts: dict[str, object] = {"seed": 0, "dequantised": str(args.weights)}
    if args.check:
        off = difference(model, args.weights, sample_pairs(args.check, 7))
        facts |= {"pairs": args.check, "mean_difference": float(off.mean()), "p95": float(np.quantile(off, 0.95))}
    (args.out / "final.json").write_text(json.dumps(facts, indent=2) + "\n")
    print(facts)


if __name__ == "__main__":
    main()
