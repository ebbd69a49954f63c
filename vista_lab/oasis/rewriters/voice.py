"""The same relation told from the other side: active and passive, and verbs with their converses."""

from __future__ import annotations

import re

from lemminflect import getInflection, getLemma  # type: ignore[import-untyped]

from vista_lab.oasis.rewriters.carrier import word_list
from vista_lab.oasis.rewriters.text import capitalised, tokens, uncapitalised

_TRANSITIVE = word_list("transitive")
_PASSIVE = re.compile(r"^(?P<thing>[^,;]+?) (?P<be>was|were|is|are) (?P<verb>\w+) by (?P<agent>[^,;]+?)\.$")
_ACTIVE = re.compile(r"^(?P<agent>[^,;]+?) (?P<verb>\w+) (?P<thing>(?:the |a |an )?[A-Z][^,;]*?)\.$")
_TAIL = re.compile(r"\b(?:in|on|for|from|at|during|to|with|and|or|as|by|after|before|until|about|of a)\b")


def to_active(claim: str) -> str | None:
    """ "B was directed by A." -> "A directed B."."""
    match = _PASSIVE.match(claim)
    if not match or _TAIL.search(match["agent"]) or _TAIL.search(match["thing"]) or " not" in claim:
        return None
    base = getLemma(match["verb"].lower(), upos="VERB")[0]
    forms = getInflection(base, "VBN")
    if base not in _TRANSITIVE or match["verb"].lower() not in forms:
        return None
    many = tokens(match["agent"])[-1].tag in {"NNS", "NNPS"} or " and " in match["agent"]
    verb = getInflection(base, "VBD" if match["be"] in {"was", "were"} else "VBP" if many else "VBZ")[0]
    return f"{capitalised(match['agent'])} {verb} {uncapitalised(match['thing'])}."


def to_passive(claim: str) -> str | None:
    """ "A directed B." -> "B was directed by A."."""
    match = _ACTIVE.match(claim)
    if not match or _TAIL.search(match["thing"]) or _TAIL.search(match["agent"]):
        return None
    base = getLemma(match["verb"].lower(), upos="VERB")[0]
    if base not in _TRANSITIVE or match["verb"].lower() not in getInflection(base, "VBD"):
        return None
    return f"{capitalised(match['thing'])} was {getInflection(base, 'VBN')[0]} by {uncapitalised(match['agent'])}."
