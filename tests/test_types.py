"""The nouns: JSON forms, personas, and the published schema."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.policy.test_presets import finding, unchecked
from tests.policy.test_scoring import report
from vista_guard import ConfigError, Label, Persona, Span, TurnReport
from vista_guard.reading.persona import read_persona


def test_a_report_survives_its_json_form() -> None:
    written = report(finding(Label.VERIFIED), unchecked())
    assert TurnReport.model_validate_json(written.model_dump_json()) == written


def test_a_report_has_what_readers_rely_on() -> None:
    written = report(finding(Label.VERIFIED)).model_dump(mode="json")
    assert {
        "schema_version", "conversation_id", "turn_index", "outcomes", "decision", "score", "evidence_missing", "judge",
        "timings",
    } <= set(written)  # fmt: skip
    assert set(written["outcomes"][0]) == {"kind", "claim", "label", "confidence", "evidence", "reason", "judged_by"}
    assert (written["schema_version"], written["outcomes"][0]["kind"]) == ("1.2", "finding")


def test_a_span_that_ends_before_it_starts_is_refused() -> None:
    with pytest.raises(ValidationError, match="span ends at 2, before its start 5"):
        Span(start=5, end=2)


def test_an_edited_persona_is_another_one() -> None:
    assert Persona(name="a", facts=("x",)).key != Persona(name="a", facts=("y",)).key


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"persona file .*guide.yaml cannot be read"),
        ("name: [", r"cannot be read: while parsing"),
        ("- a", r"holds list; expected a mapping with name and facts"),
        ("facts: [x]", r"name: Field required. It needs name and a list of facts"),
        ("name: a\nfacts: x", r"facts: Input should be a valid tuple"),
    ],
)
def test_a_wrong_persona_file_is_named(content: str | None, message: str, tmp_path: Path) -> None:
    file = tmp_path / "guide.yaml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_persona(file)


def test_a_persona_file(tmp_path: Path) -> None:
    file = tmp_path / "guide.yaml"
    file.write_text("name: Mira\nfacts:\n  - Mira guides.\n")
    assert read_persona(file) == Persona(name="Mira", facts=("Mira guides.",))
