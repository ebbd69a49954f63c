"""Second sentences for twins that differ by one word: where the evidence says "open" the mate says "closed", and the reverse.

With a mate beside it the edited evidence has the same words as the original, so the word alone no longer tells the label.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from training.pairs import Carrier
from training.rewriting.group import Group
from training.rewriting.logic import OTHER_MARK, duty_of, split_condition, turn_duty, turn_hedge, with_condition
from training.rewriting.register import replace_words
from vista_lab.oasis.rewriters.carrier import stems
from vista_lab.oasis.rewriters.polarity import negate
from vista_lab.oasis.rewriters.text import a_or_an
from vista_lab.oasis.rewriters.values import occurrences
from vista_lab.oasis.rewriters.wording import in_place, opposites

_ALONE = 0.1
"""Share of groups that go without a mate."""


class Mates:
    """Sentences by what can be reversed in them, each with its reversed form."""

    def __init__(self, sentences: Iterable[str], rng: Random) -> None:
        self.rng = rng
        self.by_key: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for sentence in sentences:
            for key, turned in turns(sentence, rng):
                self.by_key[key].append((sentence, turned))

    def beside(self, group: Group, key: str, carrier: Carrier) -> Group | None:
        """The group with a mate in every premise, reversed the other way than the evidence."""
        if self.rng.random() < _ALONE:
            return group
        taken = stems(" ".join([*(item.claim for item in group.items), *carrier.evidence]))
        near = [(s, t) for s in (*carrier.before, *carrier.after) for k, t in turns(s, self.rng) if k == key]
        far = self.rng.sample(self.by_key[key], min(8, len(self.by_key[key])))
        free = [pair for pair in [*near, *far] if len(stems(pair[0]) & taken) <= 1 and pair[0] not in carrier.text]
        if not free:
            return None
        plain, turned = free[0]
        first, own = self.rng.random() < 0.5, group.items[0].evidence
        items = []
        for item in group.items:
            mate = turned if item.evidence == own else plain
            items.append(replace(item, evidence=(mate, *item.evidence) if first else (*item.evidence, mate)))
        return Group(group.kind, tuple(items))


def turns(sentence: str, rng: Random) -> Iterator[tuple[str, str]]:
    """(key, reversed sentence) for each way to reverse it."""
    for word in dict.fromkeys(re.findall(r"[a-z-]+", sentence)):
        if word in opposites() and len(occurrences(sentence, word)) == 1 and in_place(sentence, word):
            other = opposites()[word][0]
            if not occurrences(sentence, other):
                yield f"word {word}", a_or_an(replace_words(sentence, word, other))
    number = duty_of(sentence)
    if number is not None:
        yield f"duty {number}", turn_duty(sentence, number)
    parts = split_condition(sentence)
    if parts:
        main, mark, condition = parts
        yield f"mark {mark}", with_condition(main, OTHER_MARK[mark], condition, rng)
    hedge = turn_hedge(sentence)
    if hedge:
        yield ("hedge will" if re.search(r"\bwill\b", sentence) else "hedge may"), hedge
    denial = negate(sentence, rng)
    if denial:
        yield "denial", denial
