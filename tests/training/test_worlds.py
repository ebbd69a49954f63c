"""Small worlds: minimal pairs whose labels are known by construction."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

pytest.importorskip("lemminflect")
pytest.importorskip("num2words")

from training.pairs import KindPair
from training.worlds import KINDS, build
from training.worlds.domains import Part, all_domains, domains, lines, section
from training.worlds.grammar import asked, negated, negated_phrase, sentence, singular_phrase
from training.worlds.values import Value, clock, hours_of, said, written
from vista_lab.datasets.pairs import SUPPORTED_CLASS, UNSUPPORTED

PARTS: tuple[Part, Part] = ("train", "development")


def twins(pairs: list[KindPair]) -> list[tuple[KindPair, KindPair]]:
    """The two members of every minimal pair."""
    groups: dict[str, list[KindPair]] = defaultdict(list)
    for pair in pairs:
        groups[pair.twin].append(pair)
    assert all(len(group) == 2 for group in groups.values())
    return [(group[0], group[1]) for group in groups.values()]


@pytest.fixture(scope="module")
def pairs() -> list[KindPair]:
    """A few pairs of every kind."""
    return list(build(None, 700, 3, "train"))


def test_a_minimal_pair_shares_claim_or_premise_and_differs_in_label(pairs: list[KindPair]) -> None:
    for one, two in twins(pairs):
        assert (one.premise == two.premise) != (one.hypothesis == two.hypothesis)
        assert {one.allowed, two.allowed} & {(SUPPORTED_CLASS,)}
        assert one.allowed != two.allowed
        assert all(set(p.allowed) in ({SUPPORTED_CLASS}, {1}, {2}, set(UNSUPPORTED)) for p in (one, two))


def test_half_of_each_kind_is_supported(pairs: list[KindPair]) -> None:
    counts = Counter((p.kind, p.allowed == (SUPPORTED_CLASS,)) for p in pairs)
    assert {kind for kind, _ in counts} == set(KINDS)
    assert all(counts[kind, True] == counts[kind, False] for kind in KINDS)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_made_for_both_parts(kind: str, part: Part) -> None:
    assert len(list(build(kind, 8, 5, part))) == 8


def test_same_seed_same_pairs() -> None:
    assert list(build("neighbour", 30, 7, "train")) == list(build("neighbour", 30, 7, "train"))
    assert list(build("neighbour", 30, 7, "train")) != list(build("neighbour", 30, 8, "train"))


def test_no_slot_is_left_and_sentences_are_whole(pairs: list[KindPair]) -> None:
    for pair in pairs:
        assert not any(mark in pair.premise + pair.hypothesis for mark in ("{", "}", "..", "  ", " ,", "None"))
        assert pair.hypothesis[0] in '`"' or not pair.hypothesis[0].islower()
        assert pair.hypothesis[-1] in ".?:\"'"


def test_the_parts_share_no_template_and_no_name() -> None:
    train, held = ({d.name: d for d in domains(part)} for part in PARTS)
    assert len(set(held) - set(train)) >= 4
    for name in set(train) & set(held):
        ours, theirs = train[name], held[name]
        for one in ours.attributes:
            for two in theirs.attributes:
                assert not set(one.says + one.denies) & set(two.says + two.denies)
    for head in ("assert", "open", "deny", "contrast"):
        assert not set(lines("frames", head, "train")) & set(lines("frames", head, "development"))


def test_there_are_at_least_sixty_frames() -> None:
    assert (
        sum(len(lines("frames", head, part)) for head in ("assert", "open", "deny", "contrast") for part in PARTS) >= 60
    )


def test_every_domain_has_its_words() -> None:
    assert len(all_domains()) >= 15
    for domain in all_domains():
        assert domain.titles, domain.name
        assert domain.notes, domain.name
        for attribute in domain.attributes:
            assert attribute.says, (domain.name, attribute.key)
            assert (attribute.kind == "flag") == bool(attribute.denies), (domain.name, attribute.key)
            assert all("{e}" in t or "{s}" in t for t in attribute.says + attribute.denies + attribute.questions), (
                attribute.key
            )
            assert attribute.kind == "flag" or all("{v}" in t for t in attribute.says + attribute.asides), attribute.key


def test_sections_split_a_fifth() -> None:
    options = [f"template {i}" for i in range(50)]
    assert len(section(options, "development")) == 10
    assert set(section(options, "development")) | set(section(options, "train")) == set(options)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Value("minutes", 150), "two and a half hours"),
        (Value("minutes", 90), "an hour and a half"),
        (Value("time", 19 * 60 + 30), "half past seven in the evening"),
        (Value("time", 12 * 60), "noon"),
        (Value("count", 12), "a dozen"),
        (Value("count", 1200), "twelve hundred"),
        (Value("percent", 50), "half"),
        (Value("days", 14), "two weeks"),
        (Value("months", 24), "two years"),
        (Value("unit", 500, unit="g"), "half a kilogram"),
        (Value("unit", 1500, unit="ml"), "1.5 l"),
        (Value("money", 45, unit="euros"), "forty-five euros"),
    ],
)
def test_values_in_other_words(value: Value, form: str) -> None:
    assert form in said(value)


def test_values_as_written() -> None:
    assert written(Value("money", 12.5, unit="euros")) == ["12.50 euros", "€12.50"]
    assert written(Value("money", 3, unit="crowns"))[1] == "3 crowns"
    assert written(Value("days", 1)) == ["1 day", "one day"]
    assert clock(0)[1] == "12 a.m."
    assert hours_of(40) == []


def test_grammar() -> None:
    assert negated_phrase("costs 12") == "does not cost 12"
    assert negated_phrase("allow pets") == "do not allow pets"
    assert negated_phrase("has no balcony") == "does not have no balcony"
    assert singular_phrase("are open") == "is open"
    assert singular_phrase("scored 3 goals") == "scored 3 goals"
    assert negated("the mill", "the mill was sold") == "the mill was not sold"
    assert asked("the mill", "the mill costs 12") == "Does the mill cost 12?"
    assert asked("Ann", "Ann won the race") == "Did Ann win the race?"
    assert sentence("it opens at 9 a.m.") == "It opens at 9 a.m."
    assert sentence("a office and a union and a one-euro coin") == "An office and a union and a one-euro coin."
