"""Places the deciding sentences: alone or among real neighbours, with or without a heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from training.pairs import Carrier
from vista_lab.oasis.rewriters.carrier import stems

_SECTIONS = (
    "Overview", "Background", "Details", "History", "General", "Summary", "About", "Introduction", "Notes", "In brief",
)  # fmt: skip


@dataclass(frozen=True)
class Frame:
    """The text around the evidence, the same for all twins of a group."""

    heading: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    joint: str

    def around(self, evidence: Sequence[str]) -> str:
        """The evidence in its place."""
        body = self.joint.join((*self.before, *evidence, *self.after))
        return f"{self.heading}{body}"


def frame_for(
    carrier: Carrier, keep_out: Sequence[str], strangers: Sequence[str], rng: Random, headless: bool = False
) -> Frame:
    """A frame of neighbours that do not mention the values in ``keep_out``, up to about 220 words in all."""
    long = rng.random() < 0.45
    limit = 220 - len(carrier.text.split())
    before = [s for s in carrier.before if fit(s, keep_out)] if long else []
    after = [s for s in carrier.after if fit(s, keep_out)] if long else []
    if long and carrier.source in {"fever", "mnli"} and len(before + after) < 3:
        extra = [s for s in rng.sample(strangers, min(len(strangers), rng.randint(1, 3))) if fit(s, keep_out)]
        cut = rng.randint(0, len(extra))
        before, after = before + extra[:cut], extra[cut:] + after
    before, after = trim(before, after, limit, rng)
    titled = before and carrier.source == "fever"
    heading = f"{carrier.title}\n" * (rng.random() < 0.4) if titled else heading_for(carrier, rng)
    joint = "\n" if carrier.source.startswith("dstc9") else " "
    return Frame("" if headless or not carrier.title else heading, tuple(before), tuple(after), joint)


def fit(sentence: str, keep_out: Sequence[str]) -> bool:
    """True if the sentence does not mention the values at stake."""
    return not stems(" ".join(keep_out)) & stems(sentence)


def trim(before: list[str], after: list[str], limit: int, rng: Random) -> tuple[list[str], list[str]]:
    """Drop sentences from the far ends until what is left has ``limit`` words."""
    goal = rng.uniform(0.3, 1.0) * max(0, limit)
    while (before or after) and sum(len(s.split()) for s in before + after) > goal:
        if after and (not before or rng.random() < 0.5):
            after = after[:-1]
        else:
            before = before[1:]
    return before, after


def heading_for(carrier: Carrier, rng: Random) -> str:
    """A title line, a title with a section, or nothing."""
    roll = rng.random()
    if not carrier.title or roll < 0.45:
        return ""
    if roll < 0.75:
        return f"{carrier.title}\n"
    if roll < 0.88:
        return f"{carrier.title}. Section: {rng.choice(_SECTIONS)}\n"
    return f"{carrier.title} – "
