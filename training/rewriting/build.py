"""Groups from carriers, and pairs from groups: each group gets one frame and one register, so that neither tells the label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from random import Random

from training.pairs import Carrier, KindPair
from training.rewriting import claims, edits, facts, logic, mention, swaps, wording
from training.rewriting.group import Group, Quad
from training.rewriting.layout import frame_for
from training.rewriting.logic import split_condition
from training.rewriting.mates import Mates
from training.rewriting.register import apply_register
from training.rewriting.voice import change_voice
from vista_lab.datasets.pairs import NOT_ENOUGH_CLASS
from vista_lab.oasis.rewriters.carrier import stems
from vista_lab.oasis.rewriters.names import NameKinds
from vista_lab.oasis.rewriters.values import numeric_values

_OWN_SENTENCE = "_text"
"""Sources of this ending have no human paraphrase: the claim is the sentence itself."""


class Workshop:
    """Material for rewriting a carrier: kinds of names, strangers to put next to it, sentences to surround it."""

    def __init__(self, carriers: Sequence[Carrier], kinds: NameKinds, rng: Random) -> None:
        self.kinds, self.rng = kinds, rng
        self.fever = [c for c in carriers if c.source == "fever" and len(c.evidence) == 1 and swaps.names_itself(c)]
        self.strangers: dict[str, list[Carrier]] = defaultdict(list)
        for carrier in self.fever:
            if len(carrier.text.split()) < 45:
                for kind in {v.kind for v in [*numeric_values(carrier.text), *kinds.names(carrier.text)]}:
                    self.strangers[kind].append(carrier)
        self.events = [c for c in self.fever if facts.event_of(c)]
        self.sentences = sorted({c.evidence[0] for c in self.fever})
        faq = [c.claim for c in carriers if c.source == "dstc9_text"]
        prose = [c.claim for c in carriers if c.source.endswith(_OWN_SENTENCE) and c.source != "dstc9_text"]
        prose += rng.sample(self.sentences, min(4000, len(self.sentences)))
        self.mates, self.faq_mates = (Mates(rng.sample(own, min(6000, len(own))), rng) for own in (prose, faq))
        texts = {c.claim for c in carriers if c.source.endswith(_OWN_SENTENCE)}
        self.rests = sorted({parts[1] for text in texts if (parts := logic.split_quantifier(text))})
        self.said: dict[str, list[tuple[Carrier, mention.FramedSentence]]] = defaultdict(list)

    def value_quads(self, carrier: Carrier) -> Iterator[Quad]:
        """Value swaps within the evidence, and with a sentence about something else."""
        yield from swaps.value_swaps(carrier, self.kinds, self.rng)
        if carrier.source == "fever" and swaps.names_itself(carrier):
            own = [*numeric_values(carrier.claim), *self.kinds.names(carrier.claim)]
            value_kinds = [
                v.kind for v in own if v.kind not in {"name:group", "name:work", "name:other", "name:demonym"}
            ]
            for kind in value_kinds[-1:]:
                yield from self.with_stranger(carrier, kind)

    def with_stranger(self, carrier: Carrier, kind: str) -> Iterator[Quad]:
        """The first of a few strangers whose value can change places with the carrier's."""
        pool = self.strangers[kind]
        for stranger in self.rng.sample(pool, min(6, len(pool))):
            if stranger.title not in carrier.text and carrier.title not in stranger.text:
                pair = swaps.join(carrier, stranger, self.rng)
                swap = next(swaps.value_swaps(pair, self.kinds, self.rng), None)
                if swap and swap.values[1] in stranger.text:
                    yield swap
                    return

    def groups(self, carrier: Carrier) -> Iterator[Group]:
        """All groups of one carrier."""
        human = not carrier.source.endswith(_OWN_SENTENCE)
        if human:
            yield from self.swap_groups(carrier)
            yield from self.side_by_side(carrier)
        for quad in edits.value_edits(carrier, self.rng):
            yield from (Group(q.kind, q.items()) for q in claims.restyle(quad, self.rng, claims.EDIT_STYLES))
        yield from self.turned(carrier, human)

    def turned(self, carrier: Carrier, human: bool) -> Iterator[Group]:
        """Claims reversed by a word or two, each with a mate reversed the other way."""
        keyed = [(group, f"word {word}") for group, word in wording.opposite_groups(carrier, self.rng)]
        keyed += [(group, "denial") for group in logic.denial_groups(carrier, self.rng)]
        duty = logic.duty_group(carrier)
        keyed += [(duty[0], f"duty {duty[1]}")] if duty else []
        if not human:
            condition = logic.condition_group(carrier.claim, self.rng)
            parts = split_condition(carrier.claim)
            keyed += [(condition, f"mark {parts[1]}")] if condition and parts else []
            keyed += [(hedge, "hedge may") for hedge in present(logic.hedge_group(carrier))]
            yield from present(self.quantified_group(carrier))
        mates = self.faq_mates if carrier.source.startswith("dstc9") else self.mates
        yield from present(*(mates.beside(group, key, carrier) for group, key in keyed))

    def quantified_group(self, carrier: Carrier) -> Group | None:
        """Quantifiers of the carrier's sentence beside those of two others that share nothing with it."""
        own = stems(carrier.claim)
        free = [rest for rest in self.rests if not stems(rest) & own]
        return logic.quantifier_group(carrier.claim, self.rng.sample(free, min(2, len(free))), self.rng)

    def swap_groups(self, carrier: Carrier) -> Iterator[Group]:
        """Values, names and roles that change places."""
        for quad in self.value_quads(carrier):
            yield from (Group(variant.kind, variant.items()) for variant in claims.restyle(quad, self.rng))
            if self.rng.random() < 0.3:
                fused = facts.fused_quad(quad, self.rng.choice(self.fever), self.rng)
                yield from present(Group(fused.kind, fused.items()) if fused else None)
        for quad in swaps.role_swaps(carrier, self.kinds):
            yield from self.both_voices(quad)

    def both_voices(self, quad: Quad) -> Iterator[Group]:
        """The quad as it is, told from the other side, or with a mention beside it."""
        yield Group(quad.kind, quad.items())
        variants = [
            change_voice(quad, self.rng),
            mention.framed_quad(quad, self.rng) if self.rng.random() < 0.15 else None,
        ]
        yield from (Group(q.kind, q.items()) for q in variants if q)

    def side_by_side(self, carrier: Carrier) -> Iterator[Group]:
        """The carrier's fact beside another one."""
        if carrier.source == "fever" and swaps.names_itself(carrier):
            kind = self.kinds.known.get(facts.bare(carrier.title), "")
            others = self.rng.sample(self.fever, 25)
            alike = [c for c in others if kind and self.kinds.known.get(facts.bare(c.title), "") == kind]
            quads = (facts.subject_quad(carrier, other, self.rng) for other in alike)
            quad = next(filter(None, quads), None)
            yield from self.both_voices(quad) if quad else ()
            if facts.event_of(carrier):
                others = self.rng.sample(self.events, min(3, len(self.events)))
                yield from present(next((g for o in others if (g := facts.order_group(carrier, o, self.rng))), None))
        yield from self.mentions(carrier)

    def mentions(self, carrier: Carrier) -> Iterator[Group]:
        """The claim and one of an earlier carrier of the same source, one asserted, one mentioned."""
        statement = mention.said_by(carrier, self.rng) if self.rng.random() < 0.35 else None
        if statement:
            waiting = self.said[carrier.source]
            if waiting and not shares_name(waiting[-1][0], carrier):
                yield from present(mention.mention_group(waiting.pop()[1], statement, self.rng))
            else:
                waiting.append((carrier, statement))

    def pairs(self, carrier: Carrier, group: Group, number: int) -> Iterator[KindPair]:
        """The group's pairs in one frame and one register; sometimes also without the deciding sentences."""
        wordings = sorted({item.claim for item in group.items})
        at_stake = {w for claim in wordings for w in claim.split()}
        keep_out = sorted(at_stake - set(carrier.title.split()))
        headless = group.kind in {"swap_roles", "swap_subject", "order"} or group.kind.startswith("mention")
        frame = frame_for(carrier, keep_out, self.sentences, self.rng, headless)
        style = dict(zip(wordings, apply_register(tuple(wordings), self.rng), strict=True))
        name = f"{group.kind}-{number}"
        for item in group.items:
            premise = frame.around(item.evidence)
            yield KindPair(premise, style[item.claim], item.allowed, carrier.source, group.kind, name)
        if frame.before + frame.after and len(wordings) == 2 and self.rng.random() < 0.25:
            context = frame.around(())
            for claim in wordings:
                yield KindPair(context, style[claim], (NOT_ENOUGH_CLASS,), carrier.source, group.kind, name)


def shares_name(one: Carrier, other: Carrier) -> bool:
    """True if two carriers speak of the same page."""
    return (bool(one.title) and one.title == other.title and one.source == "fever") or one.claim == other.claim


def present(*groups: Group | None) -> Iterator[Group]:
    """The groups that are not None."""
    return (g for g in groups if g)


def build_pairs(workshop: Workshop, carriers: Iterable[Carrier]) -> Iterator[KindPair]:
    """Pairs of all groups of all carriers."""
    numbered = enumerate(chain.from_iterable(((c, g) for g in workshop.groups(c)) for c in carriers))
    for number, (carrier, group) in numbered:
        yield from workshop.pairs(carrier, group, number)
