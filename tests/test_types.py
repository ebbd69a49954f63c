"""The nouns: JSON forms, personas, and the published schema."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.policy.test_presets import finding, unchecked
from tests.policy.test_scoring import report
from tests.raising import raises
from vista_guard import Action, ConfigError, Label, Persona, Span, TurnReport, types
from vista_guard.cli import render
from vista_guard.dashboard.elements.looks import LOOKS
from vista_guard.demo import screen
from vista_guard.errors import first_problem
from vista_guard.judges.model.answers import labels
from vista_guard.policy.explanations import WORST
from vista_guard.reading.files import read_persona
from vista_guard.types import SCHEMA_VERSION, DraftSpan
from vista_lab.annotate.forms import load_form


def test_a_report_survives_its_json_form() -> None:
    written = report(finding(Label.VERIFIED), unchecked())
    assert TurnReport.model_validate_json(written.model_dump_json()) == written


def test_a_report_has_what_readers_rely_on() -> None:
    written = report(finding(Label.VERIFIED)).model_dump(mode="json")
    assert {
        "schema_version", "conversation_id", "turn_index", "outcomes", "decision", "score", "evidence_missing", "judge",
        "timings",
    } <= set(written)  # fmt: skip
    assert set(written["outcomes"][0]) == {
        "kind",
        "claim",
        "label",
        "confidence",
        "evidence",
        "reason",
        "judged_by",
        "support",
    }
    assert (written["schema_version"], written["outcomes"][0]["kind"]) == ("1.7", "finding")


@pytest.mark.parametrize("version", ["9.0", "2.0", "0.9", "next"])
def test_a_report_of_another_major_schema_is_refused_though_its_fields_are_known(version: str) -> None:
    written = report(finding(Label.VERIFIED)).model_dump(mode="json")
    with pytest.raises(ValidationError) as refused:
        TurnReport.model_validate(written | {"schema_version": version})
    assert version in first_problem(refused.value)
    assert SCHEMA_VERSION in first_problem(refused.value)
    newer = written | {"schema_version": "1.99"}  # its new fields, if it has any, are refused by name
    assert TurnReport.model_validate(newer).schema_version == "1.99"


def test_a_report_reads_as_text_and_shows_its_claims_in_a_notebook() -> None:
    hostile = "The hall <b>opened</b> in 1925.\x1b[2J"
    written = report(finding(Label.VERIFIED), unchecked()).model_copy(update={"response": hostile})
    text = str(written)
    assert "VERIFIED" in text
    assert "UNCHECKED" in text
    assert "\x1b" not in text
    assert text.startswith(written.decision.action)
    page = written._repr_html_()
    assert "<b>opened</b>" not in page
    assert "&lt;b&gt;opened" in page


def test_a_notebook_marks_the_claims_of_the_delivered_text() -> None:
    one = finding(Label.CONTRADICTED)
    placed = one.model_copy(update={"claim": one.claim.model_copy(update={"span": Span(start=4, end=8)})})
    whole = DraftSpan(draft=Span(start=0, end=15), response=Span(start=0, end=15))
    flagged = report(placed).model_copy(update={"response": "The hall & more", "draft_spans": (whole,)})
    flagged = flagged.model_copy(update={"decision": flagged.decision.model_copy(update={"action": Action.FLAG})})
    assert '<mark title="CONTRADICTED"' in flagged._repr_html_()
    assert ">hall</mark> &amp; more" in flagged._repr_html_()


def test_a_claim_is_drawn_in_what_was_delivered() -> None:
    pieces = [DraftSpan(draft=Span(start=0, end=10), response=Span(start=0, end=10))]
    pieces += [DraftSpan(draft=Span(start=20, end=30), response=Span(start=11, end=21))]
    mended = report(finding(Label.VERIFIED)).model_copy(update={"draft_spans": tuple(pieces)})
    assert mended.delivered_spans(Span(start=22, end=25)) == (Span(start=13, end=16),)
    assert mended.delivered_spans(Span(start=8, end=22)) == (Span(start=8, end=10), Span(start=11, end=13))
    assert mended.delivered_spans(Span(start=10, end=20)) == ()


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    with raises(ValidationError, "span", "2", "5"):
        Span(start=5, end=2)


def test_an_edited_persona_is_another_one() -> None:
    assert Persona(name="a", facts=("x",)).key != Persona(name="a", facts=("y",)).key


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, ("persona", "guide.yaml")),
        ("name: [", ()),
        ("- a", ("list",)),
        ("facts: [x]\nname: a\nfacts: [y]", ("facts",)),
        ("facts: [x]", ("list", "facts")),
        ("name: a\nfacts: x", ("facts", "tuple")),
    ],
)
def test_a_wrong_persona_file_is_named(content: str | None, message: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "guide.yaml"
    if content is not None:
        file.write_text(content)
    with raises(ConfigError, *message):
        read_persona(file)


def test_a_persona_file(tmp_path: Path) -> None:
    file = tmp_path / "guide.yaml"
    file.write_text("name: Mira\nfacts:\n  - Mira guides.\n")
    assert read_persona(file) == Persona(name="Mira", facts=("Mira guides.",))


@pytest.mark.parametrize(
    "table",
    [
        types._COLOURS,
        render.COLOURS,
        ["VERIFIED", *re.findall(r"mark\.(\w+)", render._STYLE)],
        screen.COLOURS,
        LOOKS,
        WORST,
        labels._HARSHNESS,
        labels._SAID.values(),
        [choice.label for mark in load_form("vista").marks for choice in getattr(mark, "choices", ()) if choice.label],
    ],
    ids=["notebook", "terminal", "page", "demo", "dashboard", "severity", "harshness", "models' answers", "annotators"],
)
def test_each_place_that_lists_labels_has_all(table: Iterable[str]) -> None:
    """A new label goes there, too; CONTRIBUTING.md says where else."""
    assert set(Label) - set(table) == set()
