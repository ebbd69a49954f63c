"""People's verdicts on an answer, by meaning: a word says it itself, yes and no say what their column's name asks.

`Not Hallucinated` is fine in any column; `yes` is fine in `faithful` and not fine in `hallucination`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from vista_guard.errors import ConfigError, InputError
from vista_lab.logs.source import TurnGold

_FINE = (
    *("fine", "good", "pass", "passed", "correct", "correctness", "accurate", "acceptable"),
    *("faithful", "faithfulness", "supported", "supports", "grounded", "groundedness", "entailed", "entailment"),
    *("consistent", "consistency", "factual", "factuality", "verifiable", "verified", "attributable"),
    *("out of scope", "abstention"),  # this product's own, as the next
    "benign",  # FaithBench: not in the source, and welcome; its script counts it as consistent
)
_BAD = (
    *("bad", "fail", "failed", "incorrect", "inaccurate", "wrong", "error", "errors"),
    *("hallucinated", "hallucination", "hallucinations", "fabricated", "fabrication"),
    *("unfaithful", "unsupported", "ungrounded", "refuted", "refutes", "not enough info", "lacking evidence"),
    *("inconsistent", "nonfactual", "unverifiable", "contradicted", "contradiction", "contradictory"),
    *("unwanted", "questionable"),  # FaithBench's other two, which its script counts as hallucinated
)
VERDICTS: Mapping[str, bool] = {**dict.fromkeys(_FINE, True), **dict.fromkeys(_BAD, False)}
"""Words of verdicts and of columns' names; True if the answer may be delivered."""

_YES = {**dict.fromkeys(("yes", "true", "y", "t", "1"), True), **dict.fromkeys(("no", "false", "n", "f", "0"), False)}
_NOT = ("not", "non", "no", "without")
_PARTLY = ("partially", "partly")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

NAMED = "from the column's name"
TOLD = "as --columns says"


@dataclass(frozen=True)
class LabelColumn:
    """A column of verdicts. `yes_is_fine` is what the user told of it, None for nothing."""

    name: str
    yes_is_fine: bool | None = None

    def gold(self, cell: object) -> TurnGold | None:
        """The gold of one turn; None for an empty cell. Of several verdicts the worst counts.

        Raises:
            InputError: the cell is no known verdict.
            ConfigError: it is yes or no, and neither the column's name nor the user says what that means.
        """
        cells = cell if isinstance(cell, list) else [cell]
        found = [gold for one in cells if (gold := self._one(one)) is not None]
        return next((gold for gold in found if gold.positive), found[0] if found else None)

    def _one(self, cell: object) -> TurnGold | None:
        label = "" if cell is None else str(cell).strip()
        if not label:
            return None
        if (fine := meaning(label)) is not None:
            return TurnGold(label, positive=not fine)
        if (yes := _answer(label)) is None:
            known = f"yes, no, true, false, 1, 0, one of {', '.join(VERDICTS)}, one of these after 'not', or empty"
            raise InputError(f"has the label {cell!r} in column {self.name!r}; it must be {known}")
        fine_if_yes, why = self._direction(label)
        return TurnGold(label, positive=yes is not fine_if_yes, why=why)

    def _direction(self, label: str) -> tuple[bool, str]:
        if self.yes_is_fine is not None:
            return self.yes_is_fine, TOLD
        named = name_meaning(self.name)
        if named is None:
            raise ConfigError(
                f"column {self.name!r} has the label {label!r}, and its name doesn't say whether that is fine: give --columns "
                f'"label={self.name}:bad" if yes, true or 1 marks a fault, or "label={self.name}:good" if it marks a fine answer'
            )
        return named, NAMED


@lru_cache(maxsize=4096)
def meaning(text: str) -> bool | None:
    """True for a verdict that calls an answer fine, False for one that doesn't, None if the words don't say.

    Examples:
        >>> [meaning(text) for text in ("Not Hallucinated", "non-factual", "Unwanted.Intrinsic", "yes")]
        [True, False, False, None]
    """
    return _verdict(_words(text.split(".")[0]))


@lru_cache(maxsize=64)
def name_meaning(column: str) -> bool | None:
    """The meaning of yes in a column of this name: True for fine, False for not fine, None if the name doesn't say.

    Examples:
        >>> [name_meaning(name) for name in ("is_hallucinated", "hallucination_free", "faithful", "label", "ground_truth")]
        [False, True, True, None, None]
    """
    words, said, place = _words(column), set[bool](), 0
    while place < len(words):
        end = next((end for end in range(len(words), place, -1) if _verdict(words[place:end]) is not None), place)
        if end > place:
            said.add(_verdict(words[place:end]) is True)
        place = max(end, place + 1)
    return said.pop() if len(said) == 1 else None


def _verdict(words: Sequence[str]) -> bool | None:
    if (known := VERDICTS.get(" ".join(words))) is not None or len(words) < 2:
        return known
    first, rest, last = words[0], words[1:], words[-1]
    if first in _NOT:
        return None if (inner := _verdict(rest)) is None else not inner
    if first in _PARTLY:
        return None if _verdict(rest) is None else False
    return True if last == "free" and _verdict(words[:-1]) is False else None


def _answer(label: str) -> bool | None:
    try:
        return {1.0: True, 0.0: False}.get(float(label))
    except ValueError:
        return _YES.get(label.lower())


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]
