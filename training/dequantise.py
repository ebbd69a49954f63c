"""A float32 checkpoint from an int8 verifier: ``python -m training.dequantise --out build/start``.

Training goes on from the shipped weights this way when the checkpoint they were exported from is gone. What rounding to eight
bits took away stays lost; ``--check`` says how far the checkpoint's logits are from the file's, on sentence pairs it makes up.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import GraphProto
    from torch import Tensor

    from vista_lab.training.model import Verifier

_WEIGHT_INPUTS = {
    "DynamicQuantizeMatMul": (1, 2, 3, 4),
    "MatMulIntegerToFloat": (1, 3, 5, 6),
}  # places of weight, scale, zero point and bias among a fused operator's inputs
_TABLES = ("encoder.words.weight", "encoder.positions.weight", "encoder.types.weight")


def dequantised(
    weight: NDArray[np.generic], scale: NDArray[np.generic], zero: NDArray[np.generic]
) -> NDArray[np.float32]:
    """Real values of 8-bit weights; one scale a column, or one for all."""
    return ((weight.astype(np.float32) - zero.astype(np.float32)) * scale.astype(np.float32)).astype(np.float32)


def linear_weights(
    graph: GraphProto, known: Mapping[str, NDArray[np.generic]]
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    """Every linear layer's weight as [out, in], named after the bias that its operator adds."""
    for node in graph.node:
        if node.op_type in _WEIGHT_INPUTS:
            weight, scale, zero, bias = (node.input[place] for place in _WEIGHT_INPUTS[node.op_type])
            values = dequantised(known[weight], known[scale], known[zero])
            yield bias.removesuffix("bias") + "weight", values.T.copy()


def read_state(path: Path) -> dict[str, Tensor]:
    """The state of ``vista_lab.training.model.Verifier`` that an exported file holds."""
    import onnx
    import torch
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    known = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    state = {name: values for name, values in known.items() if name.endswith((".bias", "norm.weight"))}
    state |= dict(linear_weights(graph, known))
    parts = ("quantized", "scale", "zero_point")
    state |= {name: dequantised(*(known[f"{name}_{part}"] for part in parts)) for name in _TABLES}
    return {name: torch.from_numpy(np.array(values)) for name, values in state.items()}


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
    """Entry point."""
    import torch

    from vista_lab.training.model import EncoderConfig, Verifier, base_folder

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, default=Path("vista_guard/weights/verifier.onnx"))
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
