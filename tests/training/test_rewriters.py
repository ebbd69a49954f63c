"""The rewriters of real sentences, on sentences of our own: what keeps the truth beside what breaks it."""

from __future__ import annotations

import re
from random import Random

import pytest

pytest.importorskip("textblob")
pytest.importorskip("lemminflect")
pytest.importorskip("num2words")

from training.pairs import Carrier
from training.rewriting import claims, edits, facts, layout, logic, mention, swaps, vague, voice
from training.rewriting.group import Group, Quad
from training.rewriting.register import apply_register, expand, headline
from training.rewriting.windows import best_sentences
from training.wordnet import FOLDER
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.rewriters import forms, polarity
from vista_lab.oasis.rewriters.names import NameKinds
from vista_lab.oasis.rewriters.text import a_or_an, contract
from vista_lab.oasis.rewriters.values import Value, exchange, numeric_values
from vista_lab.oasis.rewriters.voice import to_active, to_passive

needs_wordnet = pytest.mark.skipif(not FOLDER.exists(), reason="Debian's wordnet-base is not installed")

FERRY = Carrier(
    "The Ludo ferry was launched in 1931.",
    ("Ludo was launched in 1931, and her engine came from a mill that had burnt down in 1908.",),
    "fever",
    "Ludo",
)
KINDS = NameKinds(())

# The tagger leaves the file of its lexicon open.
pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unclosed file:ResourceWarning"
)


def labels(group: Group) -> list[tuple[str, str, tuple[int, ...]]]:
    """(evidence, claim, allowed labels) of each item."""
    return [(" ".join(item.evidence), item.claim, item.allowed) for item in group.items]


def one(text: str) -> Value:
    """The only value of a text."""
    (value,) = numeric_values(text)
    return value


def test_values_are_found_with_their_kinds() -> None:
    found = [(v.kind, v.text) for v in numeric_values("On 3 March 1925 at 7.30 p.m. 12 guests paid $4.50, or 25%.")]
    assert found == [
        ("date", "3 March 1925"),
        ("time", "7.30 p.m."),
        ("number", "12"),
        ("money", "$4.50"),
        ("percent", "25%"),
    ]


@pytest.mark.parametrize("text", ["She stayed in Room 93.", "It fell in 146 BC.", "He watched Twelve Angry Geese."])
def test_numbers_of_names_and_eras_are_no_counts(text: str) -> None:
    assert not [v for v in numeric_values(text) if v.kind == "number"]


def test_exchange_swaps_everywhere_and_at_once() -> None:
    assert exchange("Bo paid Al; Al thanked Bo.", "Al", "Bo") == "Al paid Bo; Bo thanked Al."


def test_values_of_two_clauses_change_places() -> None:
    (quad,) = swaps.value_swaps(FERRY, KINDS, Random(1))
    assert quad.values == ("1931", "1908")
    assert quad.edited[0].startswith("Ludo was launched in 1908")
    assert quad.twin == "The Ludo ferry was launched in 1908."
    assert [item.allowed for item in quad.items()] == [
        (SUPPORTED_CLASS,),
        (CONTRADICTED_CLASS,),
        (CONTRADICTED_CLASS,),
        (SUPPORTED_CLASS,),
    ]
    words = [sorted(re.findall(r"\w+", " ".join(e))) for e in (quad.evidence, quad.edited)]
    assert words[0] == words[1]


def test_values_of_one_list_never_change_places() -> None:
    listed = Carrier("The choir sang in 1950.", ("The choir sang in 1950 and 1962.",), "fever", "")
    assert not list(swaps.value_swaps(listed, KINDS, Random(1)))


@pytest.fixture
def quad() -> Quad:
    return next(iter(swaps.value_swaps(FERRY, KINDS, Random(1))))


def test_denials_turn_the_truth_round(quad: Quad) -> None:
    told = claims.denied(quad, Random(3))
    assert told is not None
    assert re.fullmatch(r"The Ludo ferry was(?: not|n't) launched in 1908\.", told.claim)
    assert re.fullmatch(r"The Ludo ferry was(?: not|n't) launched in 1931\.", told.twin)


def test_corrections_use_not_on_both_sides(quad: Quad) -> None:
    for seed in range(6):
        told = claims.corrected(quad, Random(seed))
        assert told is not None
        assert " not " in told.claim
        assert " not " in told.twin
        assert sorted(re.findall(r"\w+", told.claim)) == sorted(re.findall(r"\w+", told.twin))


def test_questions_are_answered_by_what_holds(quad: Quad) -> None:
    for seed in range(8):
        told = claims.asked(quad, Random(seed))
        assert told is not None
        assert ("1931" in told.claim) == ("Yes" in told.claim)
        assert ("1908" in told.twin) == ("Yes" in told.twin)


@pytest.mark.parametrize(
    ("text", "same", "other"),
    [
        ("3 March 1925", "March 3rd, 1925", "March 13th, 1925"),
        ("7:30 pm", "half past seven in the evening", "half past seven in the morning"),
        ("12", "a dozen", "two dozen"),
        ("90 minutes", "an hour and a half", "two hours"),
        ("$45", "forty-five dollars", "fifty-four dollars"),
        ("10 GBP", "£10", "$10"),
        ("25%", "25 percent", "52 percent"),
        ("4.5 million", "4,500,000", "450,000"),
        ("two weeks", "14 days", "10 days"),
        ("5 km", "about 3.1 miles", "about 8 miles"),
    ],
)
def test_values_have_other_forms_and_no_wrong_ones(text: str, same: str, other: str) -> None:
    value = one(text)
    found = {forms.other_form(value, Random(seed)) for seed in range(80)}
    assert same in found
    assert other not in found


def test_an_edited_value_is_told_in_words_the_evidence_lacks() -> None:
    mill = Carrier("The mill has 12 wheels.", ("The old mill has 12 wheels.",), "mtragun")
    (quad,) = edits.value_edits(mill, Random(4))
    told = claims.reworded(quad, Random(4))
    assert told is not None
    assert "12" not in told.claim
    assert "12" not in told.edited[0]
    assert told.claim != told.twin


def test_bounds_lie_between_the_values() -> None:
    base = Quad(
        "form",
        ("The hall seats 480 people.",),
        ("The hall seats 320 people.",),
        "The hall seats 480 people.",
        "The hall seats 320 people.",
        values=("480", "320"),
    )
    told = claims.bounded(base, Random(2))
    assert told is not None
    assert re.search(r"(?:more than|over|at least) (?:400|four hundred)", told.claim)
    assert re.search(r"(?:fewer than|under) (?:400|four hundred)", told.twin)


def test_vague_forms_hold() -> None:
    wordings = {form for form, _ in vague.vague_forms(one("1968"), "It closed in ", Random(1))}
    assert {"in the 1960s", "in the late 1960s", "in the second half of the 20th century"} <= wordings
    near = {form for seed in range(9) for form, _ in vague.vague_forms(one("4,512"), "It holds ", Random(seed))}
    assert near & {"just over 4,500", "a little more than 4,500"}
    assert "between 4,500 and 4,600" in near


@pytest.mark.parametrize(
    ("sentence", "denial"),
    [
        ("The lift is free.", "The lift is not free."),
        ("The inn serves soup.", "The inn does not serve soup."),
        ("Our guide spoke Welsh.", "Our guide did not speak Welsh."),
        ("You can park here.", "You cannot park here."),
        ("The bakery does deliver.", "The bakery does not deliver."),
    ],
)
def test_plain_sentences_are_denied(sentence: str, denial: str) -> None:
    assert polarity.negate(sentence) == denial


@pytest.mark.parametrize(
    "sentence",
    ["All guests pay.", "The topics covered include knots.", "She said that it rains.", "If it rains, we stay."],
)
def test_doubtful_denials_are_left(sentence: str) -> None:
    assert polarity.negate(sentence) is None


def test_frames_make_mentions_and_assertions() -> None:
    assert len(mention.FRAMES) >= 40
    first = mention.FramedSentence("The well was dug by hand.", "The well was dug by hand.")
    second = mention.FramedSentence("The chapel has two bells.", "The chapel has two bells.")
    seen = set()
    for seed in range(150):
        group = mention.mention_group(first, second, Random(seed))
        if group:
            by_claim = {(p, c): a for p, c, a in labels(group)}
            premises = {p for p, _ in by_claim}
            assert len(premises) == 2
            for claim in (first.claim, second.claim):
                assert {by_claim[p, claim] for p in premises} in (
                    {(SUPPORTED_CLASS,), (CONTRADICTED_CLASS,)},
                    {(SUPPORTED_CLASS,), (NOT_ENOUGH_CLASS,)},
                )
            seen.add(group.kind)
    assert seen == {"mention_denied", "mention_open"}


def test_yes_or_no_questions() -> None:
    assert mention.question("The chapel has two bells.") == "Does the chapel have two bells"
    assert mention.question("The well was dug by hand.") == "Was the well dug by hand"


def test_order_of_two_events() -> None:
    bell = Carrier(
        "Wexholm Abbey was founded in 1602.", ("Wexholm Abbey was founded in 1602 by monks.",), "fever", "Wexholm Abbey"
    )
    mill = Carrier(
        "Tarn Mill was founded in 1755.", ("Tarn Mill, a paper mill, was founded in 1755.",), "fever", "Tarn Mill"
    )
    group = facts.order_group(bell, mill, Random(5))
    assert group is not None
    true, false = facts.alike_events("Wexholm Abbey", "Tarn Mill", "founded", 153, Random(5))
    assert true.startswith(("Wexholm Abbey", "Of the two, Wexholm")) == ("after" not in true and "later" not in true)
    assert true != false


def test_a_condition_is_dropped_or_turned_round() -> None:
    group = logic.condition_group("You may leave early if your manager agrees.", Random(1))
    assert group is not None
    found = labels(group)
    assert (
        "You may leave early if your manager agrees.",
        "You may leave early.",
        (CONTRADICTED_CLASS, NOT_ENOUGH_CLASS),
    ) in found
    assert ("You may leave early.", "You may leave early.", (SUPPORTED_CLASS,)) in found
    assert sum(a == (SUPPORTED_CLASS,) for _, _, a in found) == 3
    assert logic.condition_group("The clerk asked if the shop was open on Sunday.", Random(1)) is None


def test_duties_and_permissions_turn_round() -> None:
    hidden = ("Guests should know that dogs are allowed on the deck.",)
    assert (
        logic.duty_group(Carrier("Dogs are allowed on the deck.", hidden, "dstc9")) is None
    )  # "that" opens a clause: not sure
    found = logic.duty_group(Carrier("Dogs are allowed on deck.", ("Dogs are allowed on the upper deck.",), "dstc9"))
    assert found is not None
    group, _ = found
    assert ("Dogs are allowed on the upper deck.", "Dogs are not allowed on deck.", (CONTRADICTED_CLASS,)) in labels(
        group
    )


def test_quantifiers() -> None:
    others = ("boats carry a flare", "cabins are heated")
    group = logic.quantifier_group("Most rooms have a view of the harbour.", others, Random(1))
    assert group is not None
    for premise, claim, allowed in labels(group):
        if re.search(r"\bAll (?:of the )?rooms", premise):
            assert allowed == ((CONTRADICTED_CLASS,) if claim.startswith("Not") else (SUPPORTED_CLASS,))
        if claim.startswith("All ") and re.search(r"\b(?:Some|A few)(?: of the)? rooms", premise):
            assert allowed == (NOT_ENOUGH_CLASS,)
    assert len({tuple(sorted(re.findall(r"\w+", p))) for p, _, _ in labels(group)}) == 1


def test_opposites_on_either_side() -> None:
    from training.rewriting import wording

    gate = Carrier("The gate is open on Sundays.", ("On Sundays the north gate is open until dusk.",), "mtragun")
    ((group, word),) = wording.opposite_groups(gate, Random(1))
    assert word == "open"
    found = {(p, c): a for p, c, a in labels(group)}
    assert found[gate.text, "The gate is closed on Sundays."] == (CONTRADICTED_CLASS,)
    assert found[gate.text, "The gate is not closed on Sundays."] == (SUPPORTED_CLASS,)
    assert found["On Sundays the north gate is closed until dusk.", "The gate is closed on Sundays."] == (
        SUPPORTED_CLASS,
    )


def test_a_mate_says_the_opposite_of_something_else() -> None:
    from training.rewriting.mates import Mates

    lift = Carrier("Dogs are allowed on deck.", ("Dogs are allowed on the upper deck.",), "dstc9")
    found = logic.duty_group(lift)
    assert found is not None
    pool = Mates(["Cameras are allowed in the chapel."], Random(3))
    groups = [g for _ in range(5) if (g := pool.beside(found[0], f"duty {found[1]}", lift))]
    premises = {" ".join(item.evidence) for g in groups for item in g.items}
    assert any("Dogs are allowed" in p and "Cameras are not allowed" in p for p in premises)
    assert any("Dogs are not allowed" in p and "Cameras are allowed" in p for p in premises)


def test_subjects_change_places() -> None:
    one_page = Carrier(
        "Ivy Brandt painted murals of whales.",
        ("Ivy Brandt painted large murals of whales in Leith.",),
        "fever",
        "Ivy Brandt",
    )
    other = Carrier(
        "Otto Kern repaired clocks.", ("Otto Kern repaired church clocks for forty years.",), "fever", "Otto Kern"
    )
    quads = [q for seed in range(4) if (q := facts.subject_quad(one_page, other, Random(seed)))]
    assert quads
    assert all(q.twin == "Otto Kern painted murals of whales." for q in quads)
    assert all("Otto Kern painted large murals" in " ".join(q.edited) for q in quads)


def test_two_facts_in_one_claim(quad: Quad) -> None:
    other = Carrier(
        "Otto Kern repaired clocks.", ("Otto Kern repaired church clocks for forty years.",), "fever", "Otto Kern"
    )
    told = facts.fused_quad(quad, other, Random(2))
    assert told is not None
    assert "1931" in told.claim
    assert "1908" in told.twin
    assert "clocks" in told.claim
    assert any("church clocks" in s for s in told.evidence)


def test_registers_change_all_twins_alike() -> None:
    assert contract("It is not free.") == "It isn't free."
    assert expand("It won't open; you can't wait.") == "It will not open; you cannot wait."
    for seed in range(40):
        left, right = apply_register(("The shop is open.", "The shop is not open."), Random(seed))
        assert left[:3] == right[:3]


def test_frames_of_evidence_are_the_same_for_all_twins(quad: Quad) -> None:
    carrier = Carrier(
        FERRY.claim,
        FERRY.evidence,
        "fever",
        "Ludo",
        ("The harbour froze that winter.",),
        ("Gulls nested on the pier.",),
    )
    for seed in range(30):
        frame = layout.frame_for(carrier, ("1931", "1908"), ("A neighbour kept geese.",), Random(seed))
        text, edited = frame.around(quad.evidence), frame.around(quad.edited)
        assert text.replace(quad.evidence[0], "") == edited.replace(quad.edited[0], "")


def test_relations_are_told_from_the_other_side() -> None:
    assert to_active("The Tin Goose was directed by Ada Moll.") == "Ada Moll directed the Tin Goose."
    assert to_passive("Ada Moll directed The Tin Goose.") == "The Tin Goose was directed by Ada Moll."
    base = Quad(
        "swap_name", ("x",), ("y",), "Tin Goose was directed by Ada Moll.", "Tin Goose was directed by Bo Lind."
    )
    for seed in range(6):
        told = voice.change_voice(base, Random(seed))
        assert told is not None
        assert told.claim.replace("Ada Moll", "Bo Lind") == told.twin
        assert told.claim != base.claim


def test_what_may_be_is_not_what_will_be() -> None:
    sentence = "The ferry may run late in winter."
    group = logic.hedge_group(Carrier(sentence, (sentence,), "mtragun_text"))
    assert group is not None
    will = "The ferry will run late in winter."
    assert labels(group) == [(sentence, will, (NOT_ENOUGH_CLASS,)), (will, will, (SUPPORTED_CLASS,))]


def test_headlines_lose_articles_only() -> None:
    assert headline("The council bought a mill in the old town.") == "council bought mill in old town"


def test_articles() -> None:
    assert (
        a_or_an("an red apple and a orange, A and B, a unicorn, an hour")
        == "a red apple and an orange, A and B, a unicorn, an hour"
    )


def test_the_window_holds_what_was_asked() -> None:
    text = [f"Filler sentence number {i} about nothing." for i in range(40)]
    text[22] = "The lighthouse keeper polished the lenses weekly."
    window = best_sentences(text, "The keeper polishes the lighthouse lenses every week.", 60)
    assert text[22] in window.best
    assert len(window.text.split()) <= 60


def test_one_fact_of_an_answer_is_falsified() -> None:
    from vista_lab.oasis.rewriters.falsify import falsify_one_fact

    passage = "The museum opened in 1962 and moved to the old mill in 1988. Entry is $12 for adults and $7 for pupils."
    answer = "The museum opened in 1962. Adults pay $12 to get in."
    for seed in range(20):
        false = falsify_one_fact(answer, [passage], seed)
        assert false is not None
        assert false != answer
        assert false not in passage
    assert falsify_one_fact("Sorry, I do not know.", [passage], 1) is None
