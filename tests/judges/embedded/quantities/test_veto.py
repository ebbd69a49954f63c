"""What a claim says in figures must stand in its evidence in some form, and in any form it may."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vista_guard.judges.embedded.veto import lacking, other_limit, other_terms, replaced_limit


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The hall seats 1,200 people.", "Twelve hundred people fit into the hall."),
        ("The hall seats 1.2 thousand people.", "There are 1,204 seats."),
        ("The tour takes 90 minutes.", "Plan an hour and a half for the tour."),
        ("It opens at 7.30 p.m.", "Doors: 19:30"),
        ("It opens at half past seven.", "Doors open at 7:30 pm."),
        ("It is open until 5:00 p.m.", "Open 9-17."),
        ("Members get 50 % off.", "Members pay half."),
        ("A 20% share is kept.", "One in five is kept."),
        ("It starts on 12 March 2024.", "Start: March 12th, 2024"),
        ("It starts on 12 March 2024.", "Start: 2024-03-12"),
        ("It costs 12 euros.", "Price: €12"),
        ("It costs €12.", "| Price in euros | 12 |"),
        ("Walk 5 miles.", "The way is 8 km long."),
        ("Leave it for 48 hours.", "Leave it for two days."),
        ("You have 14 days.", "Within a fortnight."),
        ("It is kept for 24 months.", "Two years."),
        ("Add 0.5 l of water.", "500 ml water"),
        ("It was used for 62 years.", "Used from 1925 to 1987."),
        ("Two cost 24 dollars.", "One costs 12 dollars; we took 2."),
        ("The shift is 8 hours long.", "From 9:00 to 17:00."),
        ("Both rooms have a view.", "The red room and the blue room have a view."),
        ("Three of the rooms have a bath.", "Rooms with a bath: red, blue, green."),
        ("About 500 people came.", "487 people came."),
        ("More than 30 ships called.", "41 ships called."),
        ("Altogether 19 were sold.", "7 in May, 5 in June, 7 in July."),
        ("COVID-19 closed it.", "It was closed because of Covid."),
        ("Call `get_user()` first.", "First call get_user(id)."),
        ("The psalm is 2:22.", "See 2:22 for it."),
        ("The 49ers won.", "San Francisco won."),
        ("Doors close at 10:45.", "Doors open at 10:15 and close after half an hour."),
        ("The ride is over at 14:40.", "The ride leaves at 14:00 and takes 40 minutes."),
        ("It takes 45 minutes.", "It takes three quarters of an hour."),
        ("The class is 40 minutes long, not 55.", "A class takes 40 minutes."),
        ("Locker keys are £3 instead of £9.", "Locker keys: £3"),
        ("The class starts at 9:15, and not at 9:45.", "The class starts at 9:15."),
        ("Both ovens are between 180 and 200 °C.", "One oven is at 185 °C, the other at 199 °C."),
    ],
)
def test_any_form_will_do(claim: str, evidence: str) -> None:
    assert lacking(claim, evidence) is None


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("Take 5 mg.", "Take 50 mg.", "5"),
        ("The class is not 55 minutes long.", "A class takes 40 minutes.", "55"),
        ("The class is 55 minutes long, not 40.", "A class takes 40 minutes.", "55"),
        ("Take 5 kg.", "Take 5 g.", "5"),
        ("It costs €12.", "It costs $12.", "12"),
        ("It opens at 7:30 p.m.", "It opens at 7:30 a.m.", "7:30 p.m."),
        ("It starts on 13 March.", "It starts on 12 March.", "13 March"),
        ("The hall seats 1,200 people.", "The hall seats 1,300 people.", "1,200"),
        ("Members get 15% off.", "Members get 10% off.", "15"),
        ("It weighs 2.5 kg.", "It weighs 3.5 kg.", "2.5"),
        ("Use version 3.2.1.", "Use version 3.2.0.", "3.2.1"),
        ("It is in room 12B.", "It is in room 12A.", "12B"),
        ("Call get_user first.", "Call get_users_all or set_user first.", None),
        ("Set max_retries.", "Set max_tries.", "max_retries"),
        ("It was built in 1925.", "It was built by monks.", "1925"),
        ("The ride is over at 15:00.", "The ride leaves at 14:00 and takes 40 minutes.", "15:00"),
        ("Six eggs cost £2.80.", "Eggs are 30p each, apples £2 a kilo.", "2.80"),
        ("Both ovens are between 180 and 200 °C.", "One oven is at 185 °C, the other at 209 °C.", "200"),
    ],
)
def test_what_stands_in_no_form_is_named(claim: str, evidence: str, missing: str | None) -> None:
    assert lacking(claim, evidence) == missing


@given(st.text(max_size=300))
def test_a_text_lacks_nothing_of_itself(text: str) -> None:
    assert lacking(text, text) is None


@given(st.text(alphabet="0123456789.,/-: apmkgtwentyhundr$€%", max_size=80))
def test_a_text_of_figures_lacks_nothing_of_itself(text: str) -> None:
    assert lacking(text, text) is None


_ODD = [
    "one",
    "and",
    "hundred",
    "trillion",
    "9" * 400,
    "9" * 5000 + "½",
    "1/0",
    "0/0",
    "1 in 0",
    "9:30",
    "4 May",
    "1e9",
    "%",
    "€",
    "-",
]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(_ODD), max_size=40), st.lists(st.sampled_from(_ODD), max_size=40))
def test_no_figure_is_too_odd_to_be_looked_for(claim: list[str], evidence: list[str]) -> None:
    lacking(" ".join(claim), " ".join(evidence))


def test_a_number_in_thousands_of_words_ends_no_turn() -> None:
    """It is too large for a float: the turn would have been unchecked, which `balanced` lets through."""
    long = "one and " * 3000 + "trillion " * 3000
    lacking(f"It costs {long}euros.", f"It costs 5 euros. {long}")


@pytest.mark.parametrize(
    ("claim", "evidence", "other"),
    [
        ("Refunds are paid within 10 days.", "Refunds are paid within 30 days.", "10"),
        ("You can cancel up to one hour before.", "It can be cancelled up to 24 hours before it begins.", "one"),
        ("Bags of up to 20 kg are allowed.", "Bags may weigh up to 23 kg, hand luggage up to 8 kg.", "20"),
        ("Stand it upright for at least 2 days.", "Leave it standing for at least 2 hours.", "2"),
        ("Refunds are paid within two weeks.", "Refunds are paid within 14 days.", None),
        ("They need no more than a day.", "It takes at most 24 hours.", None),
        ("It weighs under 5 kg.", "It stays under 5,000 g.", None),
        ("Two nights are refunded up to 220 euros.", "Hotels are refunded up to 110 euros for each of 2 nights.", None),
        ("More than half of the members voted.", "More than 40 of 60 members voted.", None),
        ("It costs less than 10 euros.", "It costs 8 euros.", None),
    ],
)
def test_another_limit_is_no_other_way_to_say_it(claim: str, evidence: str, other: str | None) -> None:
    assert other_limit(claim, evidence) == other


@pytest.mark.parametrize(
    ("claim", "evidence", "beyond"),
    [
        ("The price is over 100 euros.", "The price is 45 euros.", "100"),
        ("The hall holds more than 500 people.", "The hall holds 300 people.", "500"),
        ("It takes less than 30 minutes.", "The trip takes 45 minutes.", "30"),
        ("The price is over 40 euros.", "The price is 45 euros.", None),
        ("The price is not over 100 euros.", "The price is 45 euros.", None),
        ("It takes less than an hour.", "The trip takes 45 minutes.", None),
        ("Fewer than 20 people were hurt.", "14 people were hurt, 30 were not.", None),
    ],
)
def test_a_limit_that_the_only_amount_is_beyond_is_named(claim: str, evidence: str, beyond: str | None) -> None:
    assert lacking(claim, evidence) == beyond


@pytest.mark.parametrize(
    ("claim", "evidence", "missing"),
    [
        ("It takes about 90 minutes.", "The visit takes 40 minutes.", "90"),
        ("It takes about an hour and a half.", "The visit takes 40 minutes.", "an hour and a half"),
        ("It takes about 45 minutes.", "The visit takes 40 minutes.", None),
        ("It takes nearly a year.", "The works took 11 months.", None),
        ("It takes about two hours.", "The visit takes 40 minutes, the film 80 minutes.", None),
        ("It costs around €50.", "It costs 20 euros.", "50"),
        ("It opened on 5.10.2023.", "It opened on 4.10.2023.", "5.10.2023"),
        ("It opened on 4.10.2023.", "It opened on 4 October 2023.", None),
    ],
)
def test_an_estimate_is_near_and_a_date_in_figures_is_a_date(claim: str, evidence: str, missing: str | None) -> None:
    assert lacking(claim, evidence) == missing


@pytest.mark.parametrize(
    ("claim", "evidence", "other"),
    [
        ("Bags must not weigh more than 20 kg.", "Bags weigh at most 20 kg.", None),
        ("Bags weigh at most 20 kg.", "Bags must not weigh more than 20 kg.", None),
        ("No guest may be younger than 18 years.", "Guests are at least 18 years old.", None),
        ("The water can't have less than 28 degrees.", "The water has at most 28 degrees.", "28"),
        ("Bags weigh at least 20 kg.", "Bags must not weigh more than 20 kg.", "20"),
        ("Bags must weigh more than 20 kg.", "Bags weigh at most 20 kg.", "20"),
    ],
)
def test_a_forbidden_excess_is_a_limit_at_the_top(claim: str, evidence: str, other: str | None) -> None:
    assert other_terms(claim, evidence) == other


def test_a_limit_of_something_else_replaces_none() -> None:
    claim = "A claim cannot be for more than $10,000."
    assert not replaced_limit(claim, "Nobody can file two cases for more than $2,500 each.")
    assert replaced_limit(claim, "A claim cannot be for more than $2,500.")
