"""Batches by length: texts of like length share a pass, so that little of it is padding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

BATCH_TOKENS = 8192
"""Most tokens of a pass, padding included: very long texts go alone."""


@dataclass(frozen=True)
class Batch:
    """Token ids of some texts, filled up to the longest: each array has the shape (texts, tokens)."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


class Network(Protocol):
    """A model in memory. Safe to call from several threads."""

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """Of each text (texts, outputs), or of each of its tokens (texts, tokens, outputs)."""
        ...

    def each(self, batches: Sequence[Batch]) -> list[NDArray[np.float32]]:
        """The logits of several batches, in order, side by side where the machine has the cores."""
        ...


def run(network: Network, encodings: Sequence[Encoding], *, pad: int, batch_size: int) -> list[NDArray[np.float32]]:
    """The network's logits of each text, in order; those of padding are left out.

    Args:
        network: the model.
        encodings: the texts' tokens.
        pad: id that fills the shorter ones up.
        batch_size: most texts of a pass.
    """
    # The longest first: a long one that starts last would leave the other cores without work.
    order = sorted(range(len(encodings)), key=lambda index: -len(encodings[index].ids))
    groups = list(grouped(order, lambda index: len(encodings[index].ids), batch_size))
    found: list[Any] = [None] * len(encodings)
    outputs = network.each([padded([encodings[index] for index in group], pad) for group in groups])
    for group, logits in zip(groups, outputs, strict=True):
        for index, row in zip(group, logits, strict=True):
            found[index] = row[: len(encodings[index].ids)] if row.ndim == 2 else row
    return found


def grouped(order: Sequence[int], length: Callable[[int], int], most: int) -> Iterator[list[int]]:
    """Neighbours in `order`, the longest first, as many as a pass may hold."""
    group: list[int] = []
    for index in order:
        if group and (len(group) == most or length(group[0]) * (len(group) + 1) > BATCH_TOKENS):
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def padded(encodings: Sequence[Encoding], pad: int) -> Batch:
    """The tokens of some texts as arrays."""
    import numpy as np

    longest = max(len(one.ids) for one in encodings)
    ids = np.full((len(encodings), longest), pad, np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, one in enumerate(encodings):
        ids[row, : len(one.ids)] = one.ids
        mask[row, : len(one.ids)] = 1
        types[row, : len(one.ids)] = one.type_ids
    return Batch(ids, mask, types)
