"""The stretch of a long document that a sentence was written from, found by its rare words."""

from __future__ import annotations

import re

from vista_lab.oasis.rewriters.carrier import content_words


def stem(word: str) -> str:
    """A crude stem, so that "offers" meets "offering"."""
    return re.sub(r"(ations?|ings?|ers?|ed|es|s|ly)$", "", word) if len(word) > 4 else word


def stems(text: str) -> set[str]:
    """Stems of the content words."""
    return {stem(w) for w in content_words(text)}
