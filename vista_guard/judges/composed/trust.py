"""How sure one can be of the label that the embedded judge gave a claim.

Its confidences are of one verdict each: that a sentence supports a claim, that a claim is an opinion. They do not say which kind
of label is wrong how often, nor that a quote holds few of the claim's words. This does: a logistic regression on signals
that every check carries, fitted by `python -m training.cascade --fit` (docs/design/cascade.md). With all else the same it
never falls when the judge's confidence rises.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from vista_guard.types import Check, Label, SourceKind

WEIGHTS: Mapping[str, float] = {
    "is VERIFIED": -0.66,
    "is OUT_OF_SCOPE": 0.54,
    "is LACKING_EVIDENCE": 0.53,
    "is ABSTENTION": 1.84,
    "is CONTRADICTED": -4.52,
    "sure VERIFIED": 0.38,
    "sure OUT_OF_SCOPE": 0.54,
    "sure LACKING_EVIDENCE": 0.47,
    "speaker VERIFIED": -2.31,
    "speaker OUT_OF_SCOPE": 3.34,
    "speaker LACKING_EVIDENCE": -5.03,
    "quoted": 3.22,
    "known": -2.39,
}
"""Fitted on the judge with weights 1.1.0."""
BIAS = -0.08

_SURE = (Label.VERIFIED, Label.LACKING_EVIDENCE, Label.OUT_OF_SCOPE)
"""Labels that are common enough to learn from their confidences. The others are as sure as their kind."""
_SPEAKER = re.compile(r"\b(?:assistant|user|agent|wizard|apprentice|speaker)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    _WORD.findall(
        """a an the is are was were be been of in on at to and or for with by as it its this that he she they his her their
        there has have had do does did not can will would from one some very also about"""
    )
)
_STEM = 5
"""Letters by which two words are the same: "opened" and "opening" are."""


def trust(check: Check) -> float:
    """Probability in (0, 1) that the check's final label is right. An unsupported check has its `finding`."""
    score = BIAS + sum(WEIGHTS.get(name, 0.0) * value for name, value in signals(check).items())
    return 1.0 / (1.0 + math.exp(-score))


def signals(check: Check) -> dict[str, float]:
    """What is known of the label: which it is, the log-odds of its confidence, and what speaks against each kind."""
    finding = None if check.supported else check.finding
    label = finding.label if finding else Label.VERIFIED
    sure = min(max(finding.confidence if finding else check.confidence, 0.02), 0.98)
    found = {f"is {label}": 1.0}
    if label in _SURE:
        found[f"sure {label}"] = math.log(sure / (1.0 - sure))
        found[f"speaker {label}"] = float(_SPEAKER.search(check.claim.text) is not None)
    if label is Label.VERIFIED:
        found["quoted"] = _quoted_share(check)
        found["known"] = float(bool(check.evidence) and check.evidence[0].source is not SourceKind.DOCUMENT)
    return found


def _quoted_share(check: Check) -> float:
    """Share of the claim's words that its evidence has, in [0, 1]."""
    said = _stems(check.claim.text)
    shown = _stems(" ".join(f"{one.quote} {one.title or ''}" for one in check.evidence))
    return len(said & shown) / len(said) if said else 1.0


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in map(str.lower, _WORD.findall(text)) if word not in _EMPTY}
