"""Service pages as the shipped judge reads them: opening hours, classes, questions with their answers."""

from __future__ import annotations

import pytest

from vista_guard import Guard
from vista_guard.types import Finding, Label

pytestmark = pytest.mark.usefixtures("careful_judge")

SCHOOL = """# Rill Music School

Lessons last 40 minutes. A violin costs £11 a month.

The choir meets on Tuesday evenings. The orchestra meets on Thursday evenings.

| Class | Days | Level |
|---|---|---|
| Drums | Tue, Fri | all |
| Flute | Mon | advanced |
| Harp | Thu, Sat | beginners |
"""


def finding(claim: str, page: str) -> Finding:
    (found,) = Guard.from_settings(policy="monitor", store="memory").check_answer(claim, documents=[page]).findings
    return found


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("Lessons last 40 minutes, not 55.", Label.VERIFIED),
        ("A violin costs £11 a month rather than £14.", Label.VERIFIED),
        ("The choir meets on Tuesdays, not Thursdays.", Label.VERIFIED),
        ("The orchestra meets on Thursday evenings, and not on Fridays.", Label.VERIFIED),
        ("Lessons last 55 minutes, not 40.", Label.CONTRADICTED),
        ("The choir meets on Thursdays, not Tuesdays.", Label.CONTRADICTED),
    ],
)
def test_what_a_claim_sets_aside_needs_no_evidence(claim: str, label: Label) -> None:
    assert finding(claim, SCHOOL).label is label


@pytest.mark.parametrize("day", ["Tuesdays", "Tuesday evenings"])
def test_a_weekday_in_another_form_is_no_other_name(day: str) -> None:
    assert finding(f"The choir meets on {day}.", SCHOOL).label is Label.VERIFIED


@pytest.mark.parametrize(
    ("claim", "verified"),
    [
        ("Drums: Tue and Fri.", True),
        ("The flute class is on Mon.", True),
        ("The harp class is on Thu and Sat.", True),
        ("Harp: Tue and Sat.", False),
        ("The flute class is on Thu.", False),
        ("Drums are on Tue and Sun.", False),
        ("| Class | Days |\n|---|---|\n| Flute | Wed |", False),
    ],
)
def test_a_row_with_other_days_verifies_nothing(claim: str, verified: bool) -> None:
    assert (finding(claim, SCHOOL).label is Label.VERIFIED) is verified


QUESTIONS = """# Rill boat hire

**Do I have to live in Rill to rent a boat?** No.

**Do I need a licence to rent a canoe?** No.

**Can I take a canoe on the sea?** No.

**Can I bring my dog?** No, except for guide dogs.

**Is there a toilet at the pier?** Yes, behind the kiosk.

**Can I bring a trailer?** No, unless it is shorter than 3 metres.

Boats are rented out from nine. Canoes cost £9 an hour.
"""


@pytest.mark.parametrize("claim", ["You can rent a boat.", "You can rent a canoe."])
def test_a_denial_contradicts_only_what_would_make_it_true(claim: str) -> None:
    assert finding(claim, QUESTIONS).label is not Label.CONTRADICTED


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("You have to live in Rill to rent a boat.", Label.CONTRADICTED),
        ("You can take a canoe on the sea.", Label.CONTRADICTED),
        ("You don't have to live in Rill to rent a boat.", Label.VERIFIED),
        ("There is a toilet at the pier.", Label.VERIFIED),
    ],
)
def test_an_answer_is_read_with_its_own_question(claim: str, label: Label) -> None:
    assert finding(claim, QUESTIONS).label is label


@pytest.mark.parametrize(
    ("claim", "page", "quote"),
    [
        ("You have to live in Rill to rent a boat.", QUESTIONS, "**Do I have to live in Rill to rent a boat?** No."),
        ("You need a licence to rent a canoe.", QUESTIONS, "**Do I need a licence to rent a canoe?** No."),
        ("You can bring any trailer.", QUESTIONS, "**Can I bring a trailer?** No, unless it is shorter than 3 metres."),
        ("There is a toilet at the pier.", QUESTIONS, "**Is there a toilet at the pier?** Yes, behind the kiosk."),
        ("The choir meets on Thursday evenings.", SCHOOL, "The choir meets on Tuesday evenings."),
    ],
)
def test_the_quote_decides_and_a_question_is_quoted_with_its_answer(claim: str, page: str, quote: str) -> None:
    assert finding(claim, page).evidence[0].quote == quote


@pytest.mark.parametrize(
    ("order", "label"),
    [
        ("Please contact our support team at help@rill.example for more information.", Label.LACKING_EVIDENCE),
        ("Please consult our team at 0300 555 0171 for details about boats.", Label.LACKING_EVIDENCE),
        ("Please ask the boat office on 01632 960 100 for specific information.", Label.LACKING_EVIDENCE),
        ("Please refer to the archivist for further information.", Label.OUT_OF_SCOPE),
        ("Please consult the harbour office for details.", Label.OUT_OF_SCOPE),
    ],
)
def test_an_order_is_no_abstention(order: str, label: Label) -> None:
    assert finding(order, QUESTIONS).label is label
