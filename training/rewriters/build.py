"""Groups from carriers, and pairs from groups: each group gets one frame and one register, so that neither tells the label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from training.reading import NOT_ENOUGH
from training.rewriters import claims, swaps
from training.rewriters.group import Group, Item, Quad
from training.rewriters.layout import frame_for
from training.rewriters.names import NameKinds
from training.rewriters.register import styled
from training.rewriters.values import numeric_values
from training.sources.carrier import Carrier, KindPair


class Workshop:
    """What every rewriter may need beside the carrier: kinds of names, and strangers to put next to it."""

    def __init__(self, carriers: Sequence[Carrier], kinds: NameKinds, rng: Random) -> None:
        self.kinds, self.rng = kinds, rng
        self.strangers: dict[str, list[Carrier]] = defaultdict(list)
        for carrier in carriers:
            if (
                carrier.source == "fever"
                and swaps.names_itself(carrier)
                and len(carrier.evidence) == 1
                and len(carrier.text.split()) < 45
            ):
                for kind in {v.kind for v in [*numeric_values(carrier.text), *kinds.names(carrier.text)]}:
                    self.strangers[kind].append(carrier)
        self.sentences = sorted({c.evidence[0] for c in carriers if c.source == "fever" and swaps.names_itself(c)})

    def value_quads(self, carrier: Carrier) -> Iterator[Quad]:
        """Exchanges inside the evidence, and with a sentence about something else."""
        yield from swaps.value_swaps(carrier, self.kinds, self.rng)
        if swaps.names_itself(carrier):
            own = [*numeric_values(carrier.claim), *self.kinds.names(carrier.claim)]
            pool = [
                c
                for v in own[-1:]
                if v.kind not in {"name:group", "name:work"}
                for c in self.rng.sample(self.strangers[v.kind], min(4, len(self.strangers[v.kind])))
            ]
            for stranger in pool:
                if stranger.title and stranger.title not in carrier.text and carrier.title not in stranger.text:
                    both = swaps.joined(carrier, stranger, self.rng)
                    found = next(swaps.value_swaps(both, self.kinds, self.rng), None)
                    if (
                        found
                        and {found.values[1]} & set(stranger.text.split())
                        or found
                        and found.values[1] in stranger.text
                    ):
                        yield found
                        break

    def groups(self, carrier: Carrier) -> Iterator[Group]:
        """All groups of one carrier."""
        for quad in self.value_quads(carrier):
            for told in claims.restyled(quad, self.rng):
                yield Group(told.kind, told.items())
        for quad in swaps.role_swaps(carrier, self.kinds):
            yield Group(quad.kind, quad.items())

    def pairs(self, carrier: Carrier, group: Group, number: int) -> Iterator[KindPair]:
        """The group's pairs in one frame and one register; sometimes also without the deciding sentences."""
        at_stake = {w for item in group.items for w in item.claim.split()}
        keep_out = sorted(at_stake - set(carrier.title.split()))
        frame = frame_for(carrier, keep_out, self.sentences, self.rng)
        told = sorted({item.claim for item in group.items})
        style = dict(zip(told, styled(tuple(told), self.rng), strict=True))
        name = f"{group.kind}-{number}"
        for item in group.items:
            yield KindPair(
                frame.around(item.evidence), style[item.claim], item.allowed, carrier.source, group.kind, name
            )
        if frame.before + frame.after and len(told) == 2 and self.rng.random() < 0.25:
            rest = frame.around(())
            for claim in told:
                yield KindPair(rest, style[claim], (NOT_ENOUGH,), carrier.source, group.kind, name)


def assembled(workshop: Workshop, carriers: Iterable[Carrier]) -> Iterator[KindPair]:
    """Pairs of all groups of all carriers."""
    number = 0
    for carrier in carriers:
        for group in workshop.groups(carrier):
            number += 1
            yield from workshop.pairs(carrier, group, number)


def items_of(pairs: Sequence[tuple[tuple[str, ...], str, tuple[int, ...]]]) -> tuple[Item, ...]:
    """Items from plain tuples."""
    return tuple(Item(*pair) for pair in pairs)
