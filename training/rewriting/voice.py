"""A claim in the passive, or by the verb that says it from the other side."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random

from training.rewriting.group import Quad
from vista_lab.oasis.rewriters.text import capitalised, uncapitalised
from vista_lab.oasis.rewriters.voice import _TAIL, to_active, to_passive

_CONVERSES: tuple[tuple[str, str], ...] = (
    (r"(?P<a>.+?) (?:directed|was the director of|is the director of) (?P<b>[^,]+)", "{b} had {a} as its director"),
    (r"(?P<b>.+?) was directed by (?P<a>[^,]+)", "the director of {b} was {a}"),
    (r"(?P<a>.+?) wrote (?P<b>[^,]+)", "the author of {b} is {a}"),
    (r"(?P<b>.+?) was written by (?P<a>[^,]+)", "the writer of {b} was {a}"),
    (r"(?P<b>.+?) was founded by (?P<a>[^,]+)", "{a} was the founder of {b}"),
    (r"(?P<a>.+?) founded (?P<b>[^,]+)", "{b} goes back to its founder, {a}"),
    (r"(?P<b>.+?) (?:stars|starred|features) (?P<a>[^,]+)", "{a} can be seen in {b}"),
    (r"(?P<a>.+?) (?:stars|starred|appeared|acted|was) in (?P<b>[^,]+)", "{b} has {a} in its cast"),
    (r"(?P<b>.+?) was created by (?P<a>[^,]+)", "the creator of {b} was {a}"),
    (r"(?P<b>.+?) was produced by (?P<a>[^,]+)", "{a} acted as the producer of {b}"),
    (r"(?P<b>.+?) was (?:released|published) by (?P<a>[^,]+)", "{a} brought out {b}"),
    (r"(?P<a>.+?) defeated (?P<b>[^,]+)", "{b} lost to {a}"),
    (r"(?P<a>.+?) succeeded (?P<b>[^,]+)", "{b} came before {a}"),
    (r"(?P<b>.+?) was succeeded by (?P<a>[^,]+)", "{a} came after {b}"),
    (r"(?P<a>.+?) (?:is|was) the (?:son|daughter|child) of (?P<b>[^,]+)", "{b} is a parent of {a}"),
    (r"(?P<a>.+?) (?:is|was) the (?:father|mother|parent) of (?P<b>[^,]+)", "{b} is a child of {a}"),
    (r"(?P<a>.+?) (?:owns|owned) (?P<b>[^,]+)", "{b} belongs to {a}"),
    (r"(?P<b>.+?) is owned by (?P<a>[^,]+)", "{b} belongs to {a}"),
    (r"(?P<a>.+?) is (?:located|situated) in (?P<b>[^,]+)", "{b} is where {a} lies"),
    (r"(?P<a>.+?) is the capital of (?P<b>[^,]+)", "{b} has {a} as its capital"),
    (r"(?P<a>.+?) is part of (?P<b>[^,]+)", "{b} includes {a}"),
    (r"(?P<a>.+?) is (?P<n>\w+ years )?older than (?P<b>[^,]+)", "{b} is {n}younger than {a}"),
    (r"(?P<a>.+?) is (?P<n>\w+ years )?younger than (?P<b>[^,]+)", "{b} is {n}older than {a}"),
    (r"(?P<a>.+?) is larger than (?P<b>[^,]+)", "{b} is smaller than {a}"),
    (r"(?P<b>.+?) was (?:composed|designed|invented|developed) by (?P<a>[^,]+)", "{b} is the work of {a}"),
    (r"(?P<b>.+?) (?:is|was) (?:portrayed|played) by (?P<a>[^,]+)", "{a} takes the part of {b}"),
    (r"(?P<a>.+?) (?:portrayed|played|plays|portrays) (?P<b>[A-Z][^,]+)", "the part of {b} is taken by {a}"),
)


def to_converse(claim: str, number: int) -> str | None:
    """The claim by the converse of its verb, with the ``number``-th pattern."""
    pattern, form = _CONVERSES[number]
    match = re.fullmatch(pattern + r"\.", claim)
    if not match or " not" in claim or any(_TAIL.search(match[g]) or len(match[g].split()) > 7 for g in "ab"):
        return None
    parts = {"a": uncapitalised(match["a"]), "b": uncapitalised(match["b"]), "n": match.groupdict().get("n") or ""}
    return capitalised(form.format(**parts)) + "."


def change_voice(quad: Quad, rng: Random) -> Quad | None:
    """Both claims told from the other side, in the same way."""
    ways = [
        *((to_active(quad.claim), to_active(quad.twin)), (to_passive(quad.claim), to_passive(quad.twin))),
        *((to_converse(quad.claim, n), to_converse(quad.twin, n)) for n in range(len(_CONVERSES))),
    ]
    sure = [(one, other) for one, other in ways if one and other]
    if not sure:
        return None
    claim, twin = rng.choice(sure)
    return replace(quad, kind="converse", claim=claim, twin=twin)
