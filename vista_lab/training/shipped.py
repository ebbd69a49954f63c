"""The shipped models as float32 weights, to train on: read back from the int8 files of the package.

What rounding to eight bits took away stays lost (`python -m training.dequantise --check` says how much that is). So training
needs no base model from elsewhere, and begins where the guard stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tokenizers import Tokenizer

from vista_guard.inference.weights import WEIGHTS, weights_file
from vista_lab.training.trainers import checkpoints

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from onnx import GraphProto
    from torch import Tensor

    from vista_lab.training.model import Embedder, EncoderConfig, Verifier
    from vista_lab.training.recipes import ShippedRecipe
    from vista_lab.training.train import Learner

HEADS = 12
"""Attention heads of all-MiniLM-L6-v2, the base of both models: a graph does not name them."""
EPSILON = 1e-12
"""Of its layer norms."""
_WEIGHT_INPUTS = {
    "DynamicQuantizeMatMul": (1, 2, 3, 4),
    "MatMulIntegerToFloat": (1, 3, 5, 6),
}  # places of weight, scale, zero point and bias among a fused operator's inputs
_TABLES = ("encoder.words.weight", "encoder.positions.weight", "encoder.types.weight")


def to_float32(
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
            values = to_float32(known[weight], known[scale], known[zero])
            yield bias.removesuffix("bias") + "weight", values.T.copy()


def read_state(path: Path) -> dict[str, Tensor]:
    """The state of ``vista_lab.training.model.Verifier`` that an exported file holds."""
    import onnx
    import torch
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    arrays = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    state = {name: values for name, values in arrays.items() if name.endswith((".bias", "norm.weight"))}
    state |= dict(linear_weights(graph, arrays))
    parts = ("quantized", "scale", "zero_point")
    state |= {name: to_float32(*(arrays[f"{name}_{part}"] for part in parts)) for name in _TABLES}
    return {name: torch.from_numpy(np.array(values)) for name, values in state.items()}


def sizes_of(state: Mapping[str, Tensor]) -> EncoderConfig:
    """The sizes of the encoder that these weights belong to."""
    from vista_lab.training.model import EncoderConfig

    words, hidden = state["encoder.words.weight"].shape
    return EncoderConfig(
        vocab_size=words,
        hidden_size=hidden,
        num_hidden_layers=1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers.")),
        num_attention_heads=HEADS,
        intermediate_size=len(state["encoder.layers.0.up.weight"]),
        max_position_embeddings=len(state["encoder.positions.weight"]),
        type_vocab_size=len(state["encoder.types.weight"]),
        layer_norm_eps=EPSILON,
    )


def shipped_verifier(dropout: float = 0.1) -> Verifier:
    """The cross-encoder of `verifier.onnx`."""
    from vista_lab.training.model import verifier_of

    state = read_state(weights_file("verifier.onnx"))
    return verifier_of(state, dropout, sizes_of(state))


def shipped_embedder() -> Embedder:
    """The sentence encoder of `embedder.onnx`."""
    from vista_lab.training.model import Embedder

    state = read_state(weights_file("embedder.onnx"))
    model = Embedder(sizes_of(state))
    model.load_state_dict(state)
    return model


def train_kept(learner: Learner, recipe: ShippedRecipe, out: Path, log: Callable[[str], None]) -> None:
    """Trains a learner by a recipe, then averages its weights with the initial ones by the recipe's `keep`."""
    from vista_lab.training.train import Schedule, fit, mean_of

    before = {name: tensor.clone() for name, tensor in learner.model.state_dict().items()}
    names = ("warmup", "epochs", "max_minutes", "threads", "seed")
    schedule = Schedule(lr=recipe.learning_rate, **{name: getattr(recipe, name) for name in names})
    run = fit(learner, schedule, checkpoints(out), resume=True, log=log)
    learner.model.load_state_dict(mean_of([before, run.mean], [recipe.keep, 1 - recipe.keep]))
    learner.model.eval()


def shipped_tokenizer(max_length: int, strategy: str = "longest_first") -> Tokenizer:
    """The tokenizer of both models, which cuts what is longer than `max_length` tokens."""
    tokenizer = Tokenizer.from_file(str(weights_file("tokenizer.json", WEIGHTS)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length, strategy=strategy)
    return tokenizer
