"""What a source of real text gives: labelled pairs, and true claims beside the sentences that decide them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sentencex import segment

from training.reading import Pair


@dataclass(frozen=True)
class KindPair(Pair):
    """A pair that knows what was done to it (``kind``) and which pairs differ from it by one edit (``twin``)."""

    kind: str
    twin: str


@dataclass(frozen=True)
class Carrier:
    """A claim that people wrote from ``evidence``, and the sentences that stand around it on the same page."""

    claim: str
    evidence: tuple[str, ...]
    source: str
    title: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The deciding sentences in one string."""
        return " ".join(self.evidence)


def sentences(text: str) -> list[str]:
    """The sentences of a text; line breaks end a sentence too."""
    found = (s.strip() for line in text.splitlines() for s in segment("en", line))
    return [re.sub(r"\s+", " ", s) for s in found if s]


def content_words(text: str) -> set[str]:
    """Lower-case words that carry content: numbers, and words of four letters or more that are no function words."""
    return {w for w in re.findall(r"\d[\d.,:]*\d|\w+", text.lower()) if w.isdigit() or (len(w) > 3 and w not in _STOP)}


_STOP = frozenset(
    "about after also although another because been before being between both cannot could does doing down during each"
    " either from further have having here however into itself just like many more most must neither only other over"
    " same shall should since some such than that their them then there these they this those through under until"
    " upon very want were what when where whether which while whom whose will with within without would your yours".split()
)
