"""Mentions are not assertions: a sentence asked, denied, reported or supposed beside one that is asserted.

Two claims share a premise in which one is asserted and the other only mentioned, then the other way round: the words of the
premise stay the same, so a frame's words alone say nothing about either claim.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from lemminflect import getLemma  # type: ignore[import-untyped]

from training.pairs import Carrier
from training.rewriting.group import FALSE, TRUE, Group, Pairing, Quad
from training.rewriting.swaps import names_itself
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, UNSUPPORTED
from vista_lab.oasis.rewriters.polarity import finite_tag, negate, verb_at
from vista_lab.oasis.rewriters.text import BE, MODALS, capitalised, stripped, tokens, uncapitalised

_QUOTED = re.compile(r"[\"“”?!:;]")
_CHATTY = re.compile(
    r"^(?:yes|no|yeah|sorry|sure|ok|okay|well|unfortunately|i|you bet|it looks|of course|absolutely|certainly)\b"
    r"|\b(?:sorry|please|here)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class MentionFrame:
    """A frame that does not assert, the label it gives a claim, and its asserting counterpart."""

    label: int
    mentions: str
    asserts: str


def read_frames() -> tuple[MentionFrame, ...]:
    """``texts/frames_real.txt``: X or N, the mentioning frame, the asserting frame."""
    labels = {"X": CONTRADICTED_CLASS, "N": NOT_ENOUGH_CLASS}
    rows = (line.split("\t") for line in Path(__file__).with_name("frames_real.txt").read_text("utf-8").splitlines())
    return tuple(MentionFrame(labels[kind], mentions, asserts) for kind, mentions, asserts in rows)


FRAMES = read_frames()


def frameable(claim: str) -> bool:
    """True if a sentence can be set into a frame: one plain statement."""
    words = claim.split()
    plain = not _QUOTED.search(claim) and not _CHATTY.search(claim) and stripped(claim)[1] == "."
    return plain and 4 <= len(words) <= 26 and ". " not in claim and verb_at(claim) is not None


def question(claim: str) -> str | None:
    """The yes-or-no question that the claim answers, without its mark."""
    words, at = tokens(claim), verb_at(claim)
    if at is None:
        return None
    verb, body = words[at], stripped(claim)[0]
    subject = uncapitalised(claim[: verb.start].strip())
    perfect = verb.lower in {"has", "have", "had"} and words[at + 1 : at + 2] and words[at + 1].tag in {"VBN", "VBD"}
    if verb.lower in BE | MODALS or perfect:
        return f"{capitalised(verb.lower)} {subject}{body[verb.end :]}"
    auxiliary = {"VBD": "Did", "VBZ": "Does", "VBP": "Do"}.get(finite_tag(verb))
    base = "have" if verb.lower in {"has", "had", "have"} else getLemma(verb.lower, upos="VERB")[0]
    return f"{auxiliary} {subject} {base}{body[verb.end :]}" if auxiliary else None


def fill_frame(template: str, sentence: str) -> str | None:
    """The frame around a sentence; None if it needs a question that cannot be formed."""
    query = question(sentence) if "{q}" in template else ""
    if query is None:
        return None
    body = stripped(sentence)[0]
    return capitalised(template.replace("{s}", uncapitalised(body)).replace("{S}", body).replace("{q}", query))


@dataclass(frozen=True)
class FramedSentence:
    """A sentence to be framed and a claim that it makes true; ``same`` when a denial of one denies the other."""

    sentence: str
    claim: str

    @property
    def same(self) -> bool:
        """True if the claim is the sentence itself."""
        return self.sentence == self.claim


def said_by(carrier: Carrier, rng: Random) -> FramedSentence | None:
    """A sentence to frame: the claim, or the one it was written from; None if neither fits a frame."""
    source = carrier.evidence[0]
    alone = len(carrier.evidence) == 1 and rng.random() < 0.6 and frameable(source)
    if alone and (carrier.source != "fever" or names_itself(carrier)):
        return FramedSentence(source, carrier.claim)
    return FramedSentence(carrier.claim, carrier.claim) if frameable(carrier.claim) else None


def mention_group(one: FramedSentence, other: FramedSentence, rng: Random) -> Group | None:
    """One claim asserted while the other is only mentioned, and the other way round."""
    frame = rng.choice(FRAMES)
    plus = "{S}." if rng.random() < 0.4 else frame.asserts
    asserted = [fill_frame(plus, s.sentence) for s in (one, other)]
    mentioned = [fill_frame(frame.mentions, s.sentence) for s in (one, other)]
    if None in asserted or None in mentioned:
        return None
    first, second = (asserted[0] or "", mentioned[1] or ""), (mentioned[0] or "", asserted[1] or "")
    if rng.random() < 0.5:
        first, second = first[::-1], second[::-1]
    items: tuple[Pairing, ...] = (
        Pairing(first, one.claim, TRUE),
        Pairing(first, other.claim, verdict(frame, other)),
        Pairing(second, one.claim, verdict(frame, one)),
        Pairing(second, other.claim, TRUE),
    )
    if frame.label == CONTRADICTED_CLASS and one.same and other.same and rng.random() < 0.6:
        no_one, no_other = negate(one.claim, rng), negate(other.claim, rng)
        if no_one and no_other:
            items += (
                Pairing(first, no_one, FALSE),
                Pairing(first, no_other, TRUE),
                Pairing(second, no_one, TRUE),
                Pairing(second, no_other, FALSE),
            )
    return Group("mention_denied" if frame.label == CONTRADICTED_CLASS else "mention_open", items)


def verdict(frame: MentionFrame, said: FramedSentence) -> tuple[int, ...]:
    """The claim's label beside a mention; denying more than the claim says does not surely refute it."""
    return (frame.label,) if frame.label == NOT_ENOUGH_CLASS or said.same else UNSUPPORTED


def framed_quad(quad: Quad, rng: Random) -> Quad | None:
    """The quad with a mention of what is false, or an assertion of what is true, beside its evidence."""
    frame, wrong = rng.choice(FRAMES), rng.random() < 0.7
    template = frame.mentions if wrong else frame.asserts
    if not frameable(quad.claim) or not frameable(quad.twin):
        return None
    statements = [fill_frame(template, s) for s in ((quad.twin, quad.claim) if wrong else (quad.claim, quad.twin))]
    if None in statements:
        return None
    first, second = statements[0] or "", statements[1] or ""
    if rng.random() < 0.5:
        evidence, edited = (first, *quad.evidence), (second, *quad.edited)
    else:
        evidence, edited = (*quad.evidence, first), (*quad.edited, second)
    return replace(quad, kind="mention_beside", evidence=evidence, edited=edited)
