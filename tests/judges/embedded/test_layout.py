"""Sentences of a document are read with what they stand under."""

from __future__ import annotations

from vista_guard.judges.embedded.evidence import EvidenceSource
from vista_guard.types import Passage, SourceKind

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
