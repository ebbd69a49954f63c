"""A verifier as a function of pairs, from a checkpoint or from an exported file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

TextPair = tuple[str, str]
Scorer = Callable[[Sequence[TextPair]], "NDArray[np.float32]"]
MAX_LENGTH = 256


def scorer(path: Path) -> Scorer:
    """Probabilities [pairs, 3] in the order supported, contradicted, not enough, of a ``.pt`` or ``.onnx`` file."""
    return _exported(path) if path.suffix == ".onnx" else _checkpoint([path])


def mean_scorer(paths: Sequence[Path]) -> Scorer:
    """The mean probabilities of several checkpoints."""
    return _checkpoint(paths)


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """Row by row."""
    powers = np.exp(logits - logits.max(1, keepdims=True))
    rows: NDArray[np.float32] = powers / powers.sum(1, keepdims=True)
    return rows


def _exported(path: Path) -> Scorer:
    from vista_guard.inference.onnx import Encoder
    from vista_guard.inference.weights import WEIGHTS

    folder = path.parent.resolve()
    if not (folder / "tokenizer.json").exists():
        (folder / "tokenizer.json").write_bytes((WEIGHTS / "tokenizer.json").read_bytes())
    encoder = Encoder.load(path.stem, max_length=MAX_LENGTH, folder=folder)
    return lambda pairs: softmax(encoder.run(list(pairs)))


def _checkpoint(paths: Sequence[Path], batch_tokens: int = 6000) -> Scorer:
    import torch

    from vista_lab.training.examples import Example, collate, verifier_tokenizer
    from vista_lab.training.model import read_verifier
    from vista_lab.training.train import has_bfloat16

    models = [read_verifier(path).eval() for path in paths]
    tokenizer = verifier_tokenizer(MAX_LENGTH)

    def forward(examples: Sequence[Example]) -> NDArray[np.float32]:
        batch = collate(examples)
        with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16()):
            rows = [model(batch.ids, batch.mask, batch.types).float().softmax(-1) for model in models]
        mean: NDArray[np.float32] = torch.stack(rows).mean(0).numpy()
        return mean

    def score(pairs: Sequence[TextPair]) -> NDArray[np.float32]:
        encoded = [Example(e.ids, e.type_ids, [0, 0, 0]) for e in tokenizer.encode_batch(list(pairs))]
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i].ids))
        rows, start = np.zeros((len(pairs), 3), np.float32), 0
        while start < len(order):
            end = start + 1
            while end < len(order) and (end + 1 - start) * len(encoded[order[end]].ids) <= batch_tokens:
                end += 1
            rows[order[start:end]] = forward([encoded[i] for i in order[start:end]])
            start = end
        return rows

    return score
