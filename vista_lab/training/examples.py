"""Pairs as token ids, and batches of them: twins together, like lengths together, so many tokens a batch."""

from __future__ import annotations

import json
import random
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import torch
from tokenizers import Encoding, Tokenizer
from torch import Tensor

from vista_lab.training.model import base_folder
from vista_lab.training.rows import LABELS

_BUCKET = 2048
"""Examples that are sorted by length together."""
_ALIGNED = 16
T = TypeVar("T")


@dataclass(frozen=True)
class Example:
    """Token ids of one pair, a 0/1 mask over the labels that would be right, and the minimal pair it belongs to."""

    ids: Sequence[int]
    types: Sequence[int]
    allowed: Sequence[float]
    twin: str = ""


@dataclass(frozen=True)
class Batch:
    """Padded ids, mask and segment ids [n, t], the allowed labels [n, 3], and rows of (true, false) twins [k, 2]."""

    ids: Tensor
    mask: Tensor
    types: Tensor
    allowed: Tensor
    ranked: Tensor

    def __len__(self) -> int:
        return len(self.ids)


def verifier_tokenizer(max_length: int) -> Tokenizer:
    """The base model's tokenizer, which cuts the longer side of a pair first."""
    tokenizer = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length, strategy="longest_first")
    return tokenizer


def load_examples(path: Path, max_length: int) -> list[Example]:
    """Tokenise the pairs; a long premise loses its end."""
    tokenizer = verifier_tokenizer(max_length)
    with path.open(encoding="utf-8") as lines:
        return [example for chunk in batched(map(json.loads, lines), _BUCKET) for example in encode(tokenizer, chunk)]


def encode(tokenizer: Tokenizer, rows: Sequence[Mapping[str, Any]]) -> Iterator[Example]:
    """Pairs as examples, in order."""
    encodings: list[Encoding] = tokenizer.encode_batch([(row["premise"], row["hypothesis"]) for row in rows])
    for e, row in zip(encodings, rows, strict=True):
        allowed = tuple(float(i in row["allowed"]) for i in range(len(LABELS)))
        # Two bytes a token instead of forty: all pairs of a run are in memory.
        yield Example(array("H", e.ids), array("B", e.type_ids), allowed, row.get("twin", ""))


def batched(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """Lists of at most so many rows."""
    source = iter(rows)
    while chunk := list(islice(source, size)):
        yield chunk


def groups(examples: Sequence[Example]) -> list[list[Example]]:
    """Twins together; an example without a twin is a group of its own."""
    twins: dict[str, list[Example]] = defaultdict(list)
    for number, example in enumerate(examples):
        twins[example.twin or f"#{number}"].append(example)
    return list(twins.values())


def batches(examples: Sequence[Example], tokens: int, rng: random.Random) -> Iterator[list[Example]]:
    """Batches of at most so many padded tokens, of similar length and in random order; groups stay whole."""
    units = groups(examples)
    rng.shuffle(units)
    bucket: list[list[Example]] = []
    count = 0
    for unit in units:
        bucket.append(unit)
        count += len(unit)
        if count >= _BUCKET:
            yield from _pack(bucket, tokens, rng)
            bucket, count = [], 0
    yield from _pack(bucket, tokens, rng)


def _pack(bucket: list[list[Example]], tokens: int, rng: random.Random) -> list[list[Example]]:
    packed: list[list[Example]] = []
    current: list[Example] = []
    for unit in sorted(bucket, key=_width):  # so the unit at hand is the widest of the batch
        if current and (len(current) + len(unit)) * _width(unit) > tokens:
            packed.append(current)
            current = []
        current = [*current, *unit]
    if current:
        packed.append(current)
    rng.shuffle(packed)
    return packed


def _width(unit: Sequence[Example]) -> int:
    return max(len(example.ids) for example in unit)


def collate(batch: Sequence[Example]) -> Batch:
    """Tensors of a batch, as wide as a multiple of 16: on a CPU other widths cost a fifth more a token."""
    shape = len(batch), -(-_width(batch) // _ALIGNED) * _ALIGNED
    ids, mask, types = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    for row, example in enumerate(batch):
        length = len(example.ids)
        ids[row, :length] = torch.tensor(example.ids)
        types[row, :length] = torch.tensor(example.types)
        mask[row, :length] = 1
    ranked = torch.tensor(ranked_rows(batch), dtype=torch.long).reshape(-1, 2)
    return Batch(ids, mask, types, torch.tensor([tuple(e.allowed) for e in batch]), ranked)


def ranked_rows(batch: Sequence[Example]) -> list[tuple[int, int]]:
    """Rows of a surely supported example and of a surely unsupported one with the same twin id."""
    places: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for row, example in enumerate(batch):
        supported, *others = example.allowed
        if example.twin and bool(supported) != any(others):
            places[example.twin][0 if supported else 1].append(row)
    return [(good, bad) for goods, bads in places.values() for good in goods for bad in bads]
