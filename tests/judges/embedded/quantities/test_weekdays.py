"""Which weekdays a text names, in any form, and what it says of each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vista_guard.judges.embedded.quantities import WEEK, missing_day


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The hall is open on Fridays.", "Open Mon-Fri 9-17"),
        ("The hall is open on Tuesdays.", "The hall is open daily. It is closed on Mondays."),
        ("The hall is closed on Mondays.", "Open daily except Mondays."),
        ("The hall is closed on Sunday.", "Open Tue–Sat"),
        ("The hall is closed on Mondays.", "Closed on Mondays and open Tuesday to Sunday."),
        ("It is open on Saturdays.", "Mon 10-5, Tue closed, Sat 10–2"),
        ("It is open on Tuesdays.", "On Mondays the hall is closed, on other days it is open."),
        ("It is open on weekdays.", "Open from Monday to Friday."),
        ("It is open from Monday to Friday.", "Open on weekdays."),
        ("It is open on Saturdays and Sundays.", "We open at weekends."),
        ("The council met on Friday.", "The council met on 12 March 2021."),
        ("The council meets tomorrow.", "The council meets on Friday."),
        ("The sun sat low.", "It was low."),
        ("The Sun Room has a view.", "All rooms have a view."),
        ("Sun cream is sold on Mondays.", "On Mondays you can buy sun cream."),
        ("Class: Judo; Days: Mon, Sat.", "Class: Judo; Days: Monday and Saturday"),
        ("Judo is on Mondays, not on Fridays.", "Judo is on Mondays."),
        ("Judo is on Mondays rather than Fridays.", "Judo is on Mondays."),
        ("The shop is open on Saturdays but not on Sundays.", "Shop: Sat 9–12"),
    ],
)
def test_any_form_of_a_day_will_do(claim: str, evidence: str) -> None:
    assert missing_day(claim, evidence) is None


@pytest.mark.parametrize(
    ("claim", "evidence", "day"),
    [
        ("The office opens on Thursday.", "The office opens on Tuesday.", "Thursday"),
        ("It is open from Monday to Saturday.", "Open on weekdays from 9.", "Saturday"),
        ("The bus runs on Sundays.", "The bus runs from Friday to Saturday.", "Sunday"),
        ("The bus runs on Sundays.", "The bus runs at nine.", "Sunday"),
        ("Class: Judo; Days: Wed.", "Class: Judo; Days: Mon, Sat", "Wednesday"),
        ("Board games are on Sun from 14:00.", "Board games: Sat 14:00", "Sunday"),
        ("Judo is not on Fridays.", "Judo is on Mondays.", "Friday"),
        ("Judo is on Fridays, not on Mondays.", "Judo is on Mondays.", "Friday"),
    ],
)
def test_a_day_that_is_missing_or_has_the_other_state_is_named(claim: str, evidence: str, day: str) -> None:
    assert missing_day(claim, evidence) == day


@given(st.sampled_from(WEEK), st.text(max_size=200))
def test_what_says_the_claim_itself_never_lacks_its_day(day: str, more: str) -> None:
    claim = f"The market is held on {day}s"
    assert missing_day(claim, f"{claim} {more.replace('day', '')}") is None
