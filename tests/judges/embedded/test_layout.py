"""Sentences of a document are read with what they stand under."""

from __future__ import annotations

import pytest

from tests.pace import lines_run
from vista_guard import Guard
from vista_guard.judges.embedded.evidence import EvidencePiece, EvidenceSource
from vista_guard.types import Label, Passage, SourceKind

PAGE = """# Fees
## Boats
The following apply to all boats:

- Canoe: 5 crowns
- Rowing boat, 9 crowns.

We mend oars, too.

| Ward | Beds | Nurses |
|---|---|---|
| North | 12 | 5 |

## Hours
We open at 9."""


def stated(text: str) -> dict[str, str]:
    """What each sentence of a passage is read as."""
    source, _ = EvidenceSource.read(Passage(source=SourceKind.DOCUMENT, source_id="d", text=text))
    return {one.said: one.stated for one in source.sentences if one.stated}


def test_an_item_is_read_with_its_headings_and_its_lead_in() -> None:
    assert stated(PAGE)["Canoe: 5 crowns"] == "Fees: Boats: The following apply to all boats: Canoe: 5 crowns"


@pytest.mark.parametrize(
    "page", ["- Adults:\n  - day: 12\n- Children:\n  - day: 6", "1. Adults:\n- day: 12\n2. **Children:**\n- day: 6"]
)
def test_an_item_is_read_with_the_item_that_it_stands_below(page: str) -> None:
    found = stated(f"Fees:\n{page}\n\nWe mend oars.\n- Tar: 9")
    assert found == {
        "Fees:": "Fees:",
        "day: 12": "Fees: Adults: day: 12",
        "day: 6": "Fees: Children: day: 6",
        "We mend oars.": "We mend oars.",
        "Tar: 9": "Tar: 9",
    }


def test_a_row_is_read_cell_by_cell_under_its_header() -> None:
    assert stated(PAGE)["| North | 12 | 5 |"] == "Fees: Boats: Ward: North; Beds: 12; Nurses: 5"


def test_a_heading_ends_what_stood_before_it_and_a_list_ends_with_its_items() -> None:
    found = stated(PAGE)
    assert found["We open at 9."] == "Fees: Hours: We open at 9."
    assert found["We mend oars, too."] == "Fees: Boats: We mend oars, too."


def test_what_a_sentence_says_itself_is_not_said_twice() -> None:
    assert stated("# Boats\nBoats cost 5 crowns.")["Boats cost 5 crowns."] == "Boats cost 5 crowns."


def test_headings_reach_into_the_next_passage_of_their_document() -> None:
    first, above = EvidenceSource.read(
        Passage(source=SourceKind.DOCUMENT, source_id="d", text="## Children\n\n| Age | Dose |\n|--|--|")
    )
    second, _ = EvidenceSource.read(
        Passage(source=SourceKind.DOCUMENT, source_id="d", text="| 6 to 12 | 5 ml |"), above
    )
    assert first.sentences
    assert [one.stated for one in second.sentences] == ["Children: Age: 6 to 12; Dose: 5 ml"]


RENTAL = """# Prices

| Bike | Per hour | Per day | Deposit |
|---|---|---|---|
| City bike | 3 euros | 18 euros | 50 euros |
| Cargo bike | 6 euros | 40 euros | 100 euros |
| Child's bike | 2 euros | 9 euros | none |

- Anna Holt: keys and deposits
- Ben Ruiz: repairs, and Anna's deputy on Fridays"""


def pieces(claim: str, text: str = RENTAL) -> list[EvidencePiece]:
    source, _ = EvidenceSource.read(Passage(source=SourceKind.DOCUMENT, source_id="d", text=text))
    return list(source.pieces(claim, pair=True))


@pytest.mark.parametrize(
    ("claim", "row", "cell"),
    [
        ("Cargo bikes are 18 euros per day.", "Bike: Cargo bike; Per day: 40 euros", "Per day: 40 euros"),
        (
            "You pay three euros for each hour on a city bike.",
            "Bike: City bike; Per hour: 3 euros",
            "Per hour: 3 euros",
        ),
        (
            "No deposit is taken for a child's bike.",
            "Bike: Child's bike; Per hour: 2 euros; Per day: 9 euros; Deposit: none",
            "",
        ),
        (
            "A cargo bike costs 6 euros an hour and 40 a day.",
            "Bike: Cargo bike; Per hour: 6 euros; Per day: 40 euros; Deposit: 100 euros",
            "",
        ),
    ],
)
def test_a_claim_is_held_against_its_own_row_and_column(claim: str, row: str, cell: str) -> None:
    first, *more = pieces(claim)
    assert (first.text, first.cell) == (f"Prices: {row}", cell)
    assert not any(other in one.text for one in more for other in ("City", "Cargo", "Child") if other not in row)


def test_rows_as_files_are_read_are_rows_too() -> None:
    rows = (
        "bike: city bike; per hour: 3 euros; per day: 18 euros\nbike: cargo bike; per hour: 6 euros; per day: 40 euros"
    )
    first, *_ = pieces("A cargo bike costs 18 euros a day.", rows)
    assert (first.text, first.cell) == ("bike: cargo bike; per day: 40 euros", "per day: 40 euros")


def test_an_item_speaks_for_another_only_where_it_names_it() -> None:
    assert all("Anna Holt" not in one.text for one in pieces("Ben Ruiz looks after the keys."))
    assert any("Anna's deputy" in one.text for one in pieces("On Fridays Anna Holt has a deputy."))


@pytest.mark.parametrize("gap", ["", "\n"])
@pytest.mark.parametrize(("claim", "other"), [("for adults", "Children"), ("for children", "Adults"), ("at night", "")])
def test_a_claim_is_held_against_what_stands_below_its_own_item(claim: str, other: str, gap: str) -> None:
    page = f"Fees:\n\n- Adults:\n{gap}  - day ticket: 12\n{gap}- Children:\n{gap}  - day ticket: 6\n"
    found = pieces(f"A day ticket {claim} costs 12.", page)
    assert found
    assert not other or all(other not in one.text for one in found)


def test_a_claim_that_names_no_row_is_held_against_any() -> None:
    assert {one.text.split(";")[0] for one in pieces("The cheapest one is 2 euros an hour.")} & {
        "Prices: Bike: Child's bike"
    }


def test_a_wrong_figure_beside_its_right_one_is_contradicted() -> None:
    guard = Guard.from_settings(store="memory", policy="strict")
    for claim, label in (
        ("A cargo bike costs 40 euros a day.", Label.VERIFIED),
        ("A cargo bike costs 18 euros a day.", Label.CONTRADICTED),
        ("Renting a city bike for one hour is 6 euros.", Label.CONTRADICTED),
        ("The deposit for a cargo bike is 50 euros.", Label.CONTRADICTED),
    ):
        (finding,) = guard.check_answer(claim, documents=[RENTAL]).findings
        assert finding.label is label, claim
    guard.close()


def test_a_table_of_thousands_of_rows_costs_no_more_than_its_length() -> None:
    def work(rows: int) -> int:
        table = "| Room | Beds |\n|---|---|\n" + "".join(f"| Room R{number} | {number} |\n" for number in range(rows))
        source, _ = EvidenceSource.read(Passage(source=SourceKind.DOCUMENT, source_id="d", text=table))
        return lines_run(lambda: list(source.pieces("Room R7 has 9 beds.", pair=True)))

    assert work(4000) < 5 * work(1000)


def test_rows_without_bars_at_their_edges_are_rows() -> None:
    plans = "Our plans:\nPlan | Storage | Price\nBasic | 5 GB | 4 euros\nPlus | 50 GB | 9 euros\n\nAll plans end with the month."
    first, *more = pieces("The Plus plan costs 4 euros.", plans)
    assert first.text == "Plan: Plus; Storage: 50 GB; Price: 9 euros"
    assert not any("Basic" in one.text for one in more)
    assert pieces("The price of the Basic plan is 9 euros.", plans)[0].cell == "Price: 4 euros"
    assert stated("We sell tea | coffee.") == {"We sell tea | coffee.": "We sell tea | coffee."}
