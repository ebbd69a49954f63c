"""Development parts of what people labelled, and of what was written for this project, as claims with evidence."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from training.comparison.sets import THREE, Item, spaced
from training.pairs import KindPair
from training.sources import catalogue, mtragun
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets.mtrag import tasks

MOST = {"written": 0, "condaqa": 0, "cad": 0}
"""Items of a set; 0 for all, 900 where nothing is said."""


def item(pair: KindPair) -> Item:
    """A labelled pair; where several labels would be right the gold label is no single one."""
    gold = THREE[pair.allowed[0]] if len(pair.allowed) == 1 else "not"
    return Item((pair.premise,), pair.hypothesis, gold, pair.kind, pair.twin)


def development(data: Path, name: str) -> list[Item]:
    """The development part of a labelled set, evenly thinned out."""
    return spaced([item(pair) for pair in catalogue.READERS[name](data, "dev")], MOST.get(name, 900))


def mtrag(data: Path) -> list[Item]:
    """Sentences of reference answers: beside the stretch that they tell, and beside other conversations' nearest stretch."""
    turns = [mtragun.turn_of(task) for task in whole(tasks(data / mtragun.FILES[0])) if task.development]
    items: list[Item] = []
    for turn in (one for one in turns if one.kind in ("ANSWERABLE", "PARTIAL")):
        for sentence in mtragun.statements(turn):
            items.extend(_told(turn, sentence, turns))
    return items


def _told(turn: mtragun.Turn, sentence: str, turns: Sequence[mtragun.Turn]) -> list[Item]:
    own = mtragun.best_window(turn, sentence, 150)
    other = mtragun.elsewhere(turn, sentence, turns)
    if not own or own[1].share <= 0.45:
        return []
    found = [Item((own[1].text,), sentence, THREE[0])]
    return [*found, Item((other[1].text,), sentence, THREE[2])] if other else found
