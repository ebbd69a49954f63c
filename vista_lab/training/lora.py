"""Low-rank adapters (Hu et al. 2021, LoRA): a large encoder learns in a few million weights, and becomes plain weights again.

What a run trains is 14 MB for an encoder of 109 M, so that a run goes from machine to machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn

from vista_guard.errors import InputError
from vista_lab.training.model import Layer, Verifier, base_verifier

_ADAPTED = ("query", "key", "value", "output", "up", "down")
_NORMS = ("norm", "final_norm")
_BASE = ".base."


class Adapted(nn.Module):
    """A linear layer that is left as it is, plus ``b @ a``, scaled by ``alpha / rank``; nothing is added at first."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float) -> None:
        super().__init__()
        self.base, self.scale = base, alpha / rank
        self.a = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(base.in_features))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self._cast: tuple[Tensor, Tensor] | None = None

    def forward(self, x: Tensor) -> Tensor:
        return self._base(x) + (x @ self.a.t()) @ self.b.t() * self.scale

    def _base(self, x: Tensor) -> Tensor:
        """The base's output; in half precision its weights are cast once: autocast would do so in each step."""
        if not torch.is_autocast_enabled("cpu"):
            return self.base(x)
        if self._cast is None:
            half = torch.get_autocast_dtype("cpu")
            self._cast = self.base.weight.detach().to(half), self.base.bias.detach().to(half)
        return nn.functional.linear(x, *self._cast)

    def merged(self, a: Tensor, b: Tensor) -> Tensor:
        """The weights of the one linear layer that does the same with these `a` and `b`."""
        return self.base.weight + b @ a * self.scale


def adapt(model: Verifier, rank: int, alpha: float, freeze: int) -> None:
    """Adapters on each linear layer above the lowest ``freeze``; the norms there and the head are trained, too."""
    model.encoder.requires_grad_(False)
    for layer in list(model.encoder.layers)[freeze:]:
        assert isinstance(layer, Layer)
        for name in _ADAPTED:
            setattr(layer, name, Adapted(getattr(layer, name), rank, alpha))
        for name in _NORMS:
            getattr(layer, name).requires_grad_(True)


def load(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Sets the trained weights; a name that differs raises."""
    own = trained(model)
    if odd := sorted(own.keys() ^ values.keys()):
        raise InputError(
            f"{odd[0]} and {len(odd) - 1} more weights are on one side only: another rank or other layers?"
        )
    for name, tensor in own.items():
        tensor.copy_(values[name])


def trained(model: nn.Module) -> dict[str, Tensor]:
    """The weights that a run changes, by name, not copied: with adapters these and what else is not frozen, else all."""
    if not alpha_of(model):
        return model.state_dict()
    return {name: parameter.detach() for name, parameter in model.named_parameters() if parameter.requires_grad}


def alpha_of(model: nn.Module) -> float:
    """The alpha of the model's adapters; 0 without adapters."""
    return next((m.scale * len(m.a) for m in model.modules() if isinstance(m, Adapted)), 0.0)


def merged_file(path: Path, which: str = "mean") -> dict[str, Tensor]:
    """The plain weights of an `adapter.pt` or of a run's `last.pt`: its ``mean``, or its ``last`` ones."""
    saved = torch.load(path, weights_only=True)
    values = {name: tensor.float() for name, tensor in saved[which if which in saved else "model"].items()}
    adapters = [name.split(".") for name in values if name.endswith(".a")]
    if not adapters:
        return values
    rank = next(len(tensor) for name, tensor in values.items() if name.endswith(".a"))
    places = [int(parts[2]) for parts in adapters]
    model = base_verifier(layers=max(places) + 1)
    adapt(model, rank, saved.get("alpha", 2.0 * rank), min(places))
    load(model, values)
    return plain(model, values)


def plain(model: nn.Module, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state of a model without adapters that does what this one does with these trained values."""
    state = {**model.state_dict(), **values}
    adapters = {name: module for name, module in model.named_modules() if isinstance(module, Adapted)}
    merged = {f"{name}.weight": own.merged(state[f"{name}.a"], state[f"{name}.b"]) for name, own in adapters.items()}
    inner = {f"{name}.{part}" for name in adapters for part in ("a", "b")}
    return {name.replace(_BASE, "."): tensor for name, tensor in state.items() if name not in inner} | merged
