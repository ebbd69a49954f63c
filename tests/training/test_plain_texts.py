"""The plain facts and opinions that the claim-type head learns from."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from training import plain_texts

PROBE = Path(__file__).parents[1] / "judges" / "embedded" / "probe"
FEW_WORDS = r"\S+(?: \S+){0,2}"


@cache
def values(slot: str) -> str:
    """What may stand in a slot: a listed value, any thing of any section, or, for a figure, up to three words."""
    sections = plain_texts.sections().values()
    things = "|".join(sorted({thing for section in sections for thing in section.things if "{" not in thing}))
    parts = "|".join(sorted({part for section in sections for part in section.parts}))
    jobs = "|".join(plain_texts.words()["job"])
    open_slots = {
        "x": things,
        "y": things,
        "xs": rf"(?:{things}|librar|baker|pharmac|lorr)\w+",
        "parts": parts,
        "X": rf"(?:The|This|Our|\S+) (?:{things})|It",
        "P": rf"She|He|[A-Z]\w+|The (?:{jobs})(?: from \S+)?|Her brother|His mother",
        "P2": "she|he",
        "X2": rf"the (?:{things})",
        "name2": "|".join(plain_texts.words()["name"]),
    }
    listed = plain_texts.words().get(slot)
    return f"(?:{open_slots.get(slot) or ('|'.join(listed) if listed else FEW_WORDS)})"


def pattern(form: str) -> re.Pattern[str]:
    """Whatever a template may make."""
    split = re.split(r"\{(\w+)\}", form)
    return re.compile("".join(values(part) if place % 2 else re.escape(part) for place, part in enumerate(split)))


@pytest.mark.parametrize("kind", [plain_texts.FACT, plain_texts.OPINION])
def test_no_template_makes_a_sentence_that_the_judge_is_tested_on(kind: str) -> None:
    files = [PROBE / f"{name}.txt" for name in ("plain_facts", "opinions", "later_facts", "later_opinions")]
    probe = [text for path in files for text in path.read_text(encoding="utf-8").splitlines()]
    assert len(probe) > 600
    found: dict[str, str] = {}
    for section in plain_texts.sections().values():
        for form in section.forms[kind]:
            made = pattern(form)
            found |= {text: form for text in probe if made.fullmatch(text)}
    assert found == {}


def test_same_seed_same_sentences_and_every_template_once() -> None:
    for kind in (plain_texts.FACT, plain_texts.OPINION):
        least = sum(len(section.forms[kind]) for section in plain_texts.sections().values())
        made = plain_texts.sentences(kind, least, seed=3)
        assert made == plain_texts.sentences(kind, least, seed=3)
        assert made != plain_texts.sentences(kind, least, seed=4)
        assert [text for text in made if "{" in text or not text.strip(".")] == []


def test_facts_and_opinions_speak_of_the_same_things() -> None:
    for section in plain_texts.sections().values():
        for forms in section.forms.values():
            assert len(forms) >= 14, section.name
