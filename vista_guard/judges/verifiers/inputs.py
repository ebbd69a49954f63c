"""Evidence and claim as a model's input: its template, and windows of evidence that is too long for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from vista_guard.inference.models.tokens import ModelTokens, Text
from vista_guard.judges.verifiers.families import LETTUCE_PROMPT, Family
from vista_guard.reading.passages import sentence_spans

if TYPE_CHECKING:
    from tokenizers import Encoding

SLACK = 8
"""Tokens left free: a window cut out of a text may have a few tokens more than it had inside."""

_SLOT = re.compile(r"\{(evidence|text1|claim|text2|eos)\}")


class Inputs:
    """Pairs of evidence and claim, made into what a model of a family reads."""

    def __init__(self, tokens: ModelTokens, family: Family) -> None:
        self._tokens = tokens
        self._family = family

    def windows(self, evidence: str, claim: str) -> list[Encoding]:
        """The model's inputs for one pair: one, or one for each window of long evidence; none where the claim alone is too long.

        A claim is never cut: what a model did not read it could not verify.
        """
        (whole,) = self._tokens.encode([self._text(evidence, claim)])
        offsets = self._tokens.offsets(evidence)
        if len(whole.ids) <= self._family.max_tokens and len(offsets) <= (self._family.evidence_tokens or len(offsets)):
            return [whole]
        room = self._family.max_tokens - (len(whole.ids) - len(offsets)) - SLACK
        most = min(room, self._family.evidence_tokens or room)
        if most < SLACK:
            return []
        texts = [self._text(evidence[start:end], claim) for start, end in cut(evidence, offsets, most)]
        return [one for one in self._tokens.encode(texts) if len(one.ids) <= self._family.max_tokens]

    def _text(self, evidence: str, claim: str) -> Text:
        if self._family.head == "tokens":
            return fill(LETTUCE_PROMPT, {"evidence": evidence}), claim
        if self._family.template is None:
            return evidence, claim
        slots = {"evidence": evidence, "text1": evidence, "claim": claim, "text2": claim, "eos": self._tokens.eos}
        return fill(self._family.template, slots)


def fill(template: str, slots: Mapping[str, str]) -> str:
    """The template with its slots filled; braces in what fills them mean nothing."""
    return _SLOT.sub(lambda found: slots.get(found[1], found[0]), template)


def cut(text: str, offsets: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Character spans of windows over a text, each of at most `most` tokens, which together hold all of it.

    A window ends with a sentence, and the next one begins with the same sentence where both fit: what two neighbours say together
    is then seen together. A sentence that is too long by itself is cut between tokens.
    """
    units = list(_units(text, offsets, most))
    first = 0
    while first < len(units):
        last = first + 1
        while last < len(units) and units[last][1] - units[first][0] <= most:
            last += 1
        yield offsets[units[first][0]][0], offsets[units[last - 1][1] - 1][1]
        if last == len(units):
            return
        again = last - 1
        first = again if again > first and units[last][1] - units[again][0] <= most else last


def _units(text: str, offsets: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Runs of tokens, [first, last): sentences, and parts of those that are longer than a window."""
    first = 0
    ends = [span.end for span in sentence_spans(text)]
    for end in [*ends[:-1], len(text)]:
        last = first
        while last < len(offsets) and offsets[last][0] < end:
            last += 1
        for start in range(first, last, most):
            yield start, min(last, start + most)
        first = last
