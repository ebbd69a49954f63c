"""What every kind of claim hands over: two worlds (or texts) and two claims that are true in one of them each."""

from __future__ import annotations

from dataclasses import dataclass

from training.worlds.world import World
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED

SUPPORT, REFUTE, OPEN, WRONG = (SUPPORTED_CLASS,), (CONTRADICTED_CLASS,), (NOT_ENOUGH_CLASS,), UNSUPPORTED
Allowed = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """``claim`` is supported by ``first`` and not by ``second``; ``counter`` the other way round."""

    first: World
    second: World
    claim: str
    counter: str
    wrong: Allowed = REFUTE


@dataclass(frozen=True)
class TextCase:
    """The same as ``Case`` over finished texts; an empty counter leaves only pairs that share the claim."""

    first: str
    second: str
    claim: str
    counter: str
    wrong: Allowed = REFUTE
