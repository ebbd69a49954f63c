"""Sentence boundaries on text that the library behind them was not made for."""

from __future__ import annotations

import pytest
import sentencex

from vista_guard.reading.passages import sentence_spans


class PanicException(BaseException):
    """What a Rust library raises when it breaks down: named so, and no Exception."""


def sentences(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text)]


@pytest.mark.parametrize("space", ["\x85", "\u2028", "\xa0", "\u3000", "\x1f", "\v"])
def test_odd_white_space_breaks_nothing(space: str) -> None:
    assert sentences(f"0{space}") == ["0"]
    assert sentences(f"It opened.{space}It closed.") == ["It opened.", "It closed."]


def test_half_a_character_keeps_its_place() -> None:
    assert sentences("A \ud800 opened. It closed.") == ["A \ud800 opened.", "It closed."]


def test_a_line_on_which_the_splitter_panics_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object) -> None:
        raise PanicException("end byte index 2 is not a char boundary")

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", panic)
    assert sentences("It opened. It closed.") == ["It opened. It closed."]


def test_an_interrupt_is_no_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentencex, "get_sentence_boundaries", interrupted)
    with pytest.raises(KeyboardInterrupt):
        sentence_spans("It opened.")


@pytest.mark.parametrize(
    "expected",
    [
        ["It lasts 24 months.[^1]", "It holds 5 litres.[^2] [^note]"],
        ["It lasts 24 months.¹", "It holds 5 litres.¹²"],
        ["It lasts 24 months.【4:0†policy.pdf】", "It holds 5 litres."],
        ["**It lasts 24 months.**", "*It holds 5 litres.*", "It is red."],
        ["**It lasts 24 months.", "It holds 5 litres.**"],
    ],
)
def test_marks_belong_to_the_sentence_before(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    "expected",
    [
        ["It weighs 420 g.", "That is light."],
        ["The tower is 31 m.", "It is red."],
        ["He is J. R. Smith."],
        ["It covers approx. 100 m and costs est. $5 to max. 9 euros.", "It is red."],
        ["It ran at max.", "The fan stopped."],
        ["Open Mon. to Fri. and Sat. – Sun. from 9 on.", "It is closed on Mon.", "The pool costs 5 euros incl. VAT."],
        ["All is incl.", "The end."],
    ],
)
def test_units_end_a_sentence_and_abbreviations_before_figures_do_not(expected: list[str]) -> None:
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize("name", ["Dr. Vale", "**Dr. Vale**", "*Mr. Vale*", "__St. John__", "***Prof. Vale***"])
def test_an_abbreviation_ends_no_sentence_in_emphasis(name: str) -> None:
    assert sentences(f"It is led by {name}. He came.") == [f"It is led by {name}.", "He came."]
    assert sentences(f"**No. We are shut.** So is {name}.") == ["**No.", "We are shut.**", f"So is {name}."]
