"""Parts of a generated set: training and validation, 80/20 as in LLM-OASIS, §6, and a test part that is set aside before.

By document by default: windows of one document overlap, and a split by passage would put the same sentences on both sides. The
part depends on the seed and the name alone, so that a set that grows keeps its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from vista_guard.errors import ConfigError, InputError
from vista_lab.oasis.passages import overlap
from vista_lab.oasis.records import Passage, Record
from vista_lab.runs.made import named_share


class SetPart(StrEnum):
    """A part of a set."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


@dataclass(frozen=True)
class Splitting:
    """Options of a split. `by`: document or passage. `test`: the share that is set aside. `validation`: of what is left."""

    by: str = "document"
    test: float = 0.1
    validation: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if self.by not in ("document", "passage"):
            raise ConfigError(f"split is by {self.by!r}; give document or passage")
        for name in ("test", "validation"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{name} is {getattr(self, name)}; give a share of 0 to below 1")

    def part(self, passage: Passage) -> SetPart:
        """The part that a passage belongs to."""
        name = passage.document if self.by == "document" else passage.id
        if named_share(f"{self.seed}:test:{name}") < self.test:
            return SetPart.TEST
        return SetPart.VALIDATION if named_share(f"{self.seed}:part:{name}") < self.validation else SetPart.TRAIN


def divide(records: Iterable[Record], how: Splitting) -> Mapping[SetPart, list[Record]]:
    """The records by part, each part in the set's order.

    Raises InputError: windows that share sentences would fall into two parts.
    """
    parts: dict[SetPart, list[Record]] = {part: [] for part in SetPart}
    by_document: dict[str, list[tuple[Passage, SetPart]]] = {}
    for record in records:
        part = how.part(record.passage)
        parts[part].append(record)
        if how.by == "passage":
            _check_leak(by_document.setdefault(record.passage.document, []), record.passage, part)
    return parts


def _check_leak(seen: list[tuple[Passage, SetPart]], passage: Passage, part: SetPart) -> None:
    for other, where in seen:
        if where is not part and overlap(passage, other):
            where_to = f"passages {other.id} and {passage.id} share sentences and would lie in {where} and {part}"
            raise InputError(f"{where_to}; split by document, or generate windows that do not overlap")
    seen.append((passage, part))
