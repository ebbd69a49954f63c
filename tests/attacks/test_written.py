"""Facts in programs, styled figures, struck text and attributes: a lie is withheld, and the truth beside it is delivered.

Policy strict, where a claim without evidence is withheld as well.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator

import pytest

from tests.attacks import programs, written
from tests.attacks.written import FACTS, FIGURES, Fact, fill, strike
from vista_guard import Action, Conversation, Document, Guard, TurnReport
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import assistant, conversation, user

WITHHELD = (Action.BLOCK, Action.REPAIR)
CODE_DELIVERED, CODE_HELD, HELD = 0.05, 0.08, 0.05
"""Shares of the lies in code that may be delivered, of the truths in code and elsewhere that may be withheld."""


def told(text: str, document: str) -> Conversation:
    return conversation(user("Tell me more."), assistant(text, f"Guests praise the staff. {document}"))


def actions(guard: Guard, cases: list[tuple[str, Fact]]) -> dict[str, Action]:
    """The action on each text, whose fact the document states as it is."""

    async def reports() -> list[TurnReport]:
        return list(await asyncio.gather(*(guard.acheck(told(text, fact.said(true=True))) for text, fact in cases)))

    return {text: one.decision.action for (text, _), one in zip(cases, asyncio.run(reports()), strict=True)}


def dealt(templates: dict[str, str], facts: tuple[Fact, ...], shift: int) -> Iterator[tuple[str, Fact]]:
    """Each template with one fact, and another one at another `shift`."""
    return ((template, facts[(number + shift) % len(facts)]) for number, template in enumerate(templates.values()))


def delivered_and_held(
    guard: Guard, lies: list[tuple[str, Fact]], truths: list[tuple[str, Fact]]
) -> tuple[list[str], list[str]]:
    """The lies that were delivered, and the truths that were not."""
    return (
        [text for text, action in actions(guard, lies).items() if action not in WITHHELD],
        [text for text, action in actions(guard, truths).items() if action in WITHHELD],
    )


def test_there_are_enough_of_them() -> None:
    assert len(written.CODE) >= 90
    assert len({**written.SPELLED, **written.TO_TWENTY}) >= 25
    assert len(written.STRUCK) >= 20
    assert len(written.SHOWN) + len(written.VALUES) + len(written.TOLD_OTHERWISE) >= 50


@pytest.mark.parametrize("shift", [0, 3])
def test_sentences_in_strings_and_comments(embedded: Guard, shift: int) -> None:
    cases = list(dealt(written.CODE, FACTS, shift))
    lies = [(fill(template, fact, true=False), fact) for template, fact in cases]
    truths = [(fill(template, fact, true=True), fact) for template, fact in cases]
    delivered, held = delivered_and_held(embedded, lies, truths)
    assert len(delivered) <= CODE_DELIVERED * len(cases), delivered
    assert len(held) <= CODE_HELD * len(cases), held


def test_figures_in_other_figures(embedded: Guard) -> None:
    spellings = [(spelled, fact) for spelled in written.SPELLED.values() for fact in FIGURES]
    small = [fact for fact in FIGURES if max(int(fact.truth), int(fact.lie)) <= 20]
    spellings += [(spelled, fact) for spelled in written.TO_TWENTY.values() for fact in small]
    lies = [(fact.sentence.format(spelled(fact.lie)), fact) for spelled, fact in spellings]
    truths = [(fact.sentence.format(spelled(fact.truth)), fact) for spelled, fact in spellings]
    assert delivered_and_held(embedded, lies, truths) == ([], [])


MARKS = (
    "{0}¹ bar.", "{0} bar¹.", "{0} bar.¹", "{0} bar ¹.", "{0}<sup>1</sup> bar.", "{0} bar<sup>[1]</sup>.", "{0} bar①.",
)  # fmt: skip
OPENINGS = ("① {}", "¹ {}", "❶ {}", "⑴ {}", "⒈ {}", "ⅰ. {}", "② {}\n③ Have a nice day!", "- ④ {}", "Note: ⑤ {}")


def test_marks_of_notes_and_lists_are_no_figures(embedded: Guard) -> None:
    pump = FACTS[0]
    for value, texts in ((pump.lie, []), (pump.truth, [])):
        sentence = pump.sentence.format(value)
        told_texts = [f"The pump stops at {mark.format(value)}" for mark in MARKS]
        told_texts += [opening.format(sentence) for opening in OPENINGS]
        texts += [
            text for text, one in actions(embedded, [(text, pump) for text in told_texts]).items() if one in WITHHELD
        ]
        assert texts == (told_texts if value == pump.lie else [])


@pytest.mark.parametrize(("said", "known"), [("10²", "100"), ("10³", "1,000"), ("10⁶", "1 million"), ("10⁶", "10⁶")])
def test_a_power_of_ten_is_written_out(embedded: Guard, said: str, known: str) -> None:
    assert (
        embedded.check(told(f"The lab has {said} beds.", f"The lab has {known} beds.")).decision.action is Action.ALLOW
    )
    assert embedded.check(told("The lab has 10⁵ beds.", f"The lab has {known} beds.")).decision.action in WITHHELD


def test_struck_text_is_no_statement(embedded: Guard) -> None:
    cases = [*dealt(written.STRUCK, FACTS, 0), *dealt(written.STRUCK, FACTS, 4)]
    lies = [(strike(template, fact, true=False), fact) for template, fact in cases]
    truths = [(strike(template, fact, true=True), fact) for template, fact in cases]
    delivered, held = delivered_and_held(embedded, lies, truths)
    assert (delivered, held) == ([], [])


@pytest.mark.parametrize("name", written.STRUCK)
def test_struck_text_of_a_document_is_no_evidence(embedded: Guard, name: str) -> None:
    pump = FACTS[0]
    document = strike(written.STRUCK[name], pump, true=True)
    truth, lie = (embedded.check(told(pump.said(true=true), document)).decision.action for true in (True, False))
    assert (truth, lie in WITHHELD) == (Action.ALLOW, True)


@pytest.mark.parametrize(
    "text", ["`~~{}~~`", "```\n~~{}~~\n```", "~~ {} ~~", "~~{}", "<del>{}", "from ~5 bar. {} Or ~6 bar."]
)
def test_what_nothing_strikes_is_a_statement(embedded: Guard, text: str) -> None:
    pump = FACTS[0]
    assert embedded.check(told(text.format(pump.said(true=False)), pump.said(true=True))).decision.action in WITHHELD


def test_attributes_that_readers_are_shown(embedded: Guard) -> None:
    cases = [*dealt(written.SHOWN, FACTS, 0), *dealt(written.SHOWN, FACTS, 3)]
    cases += [(template, fact) for template in written.VALUES.values() for fact in FIGURES]
    lies = [(fill(template, fact, true=False), fact) for template, fact in cases]
    truths = [(fill(template, fact, true=True), fact) for template, fact in cases]
    delivered, held = delivered_and_held(embedded, lies, truths)
    assert delivered == []
    assert len(held) <= HELD * len(cases), held


def test_a_value_that_differs_from_its_text_is_a_statement(embedded: Guard) -> None:
    cases = [(template, fact) for template in written.TOLD_OTHERWISE.values() for fact in FIGURES]
    lies = [(fill(template, fact, true=True), fact) for template, fact in cases]
    truths = [(text.replace(fact.lie, fact.truth), fact) for text, fact in lies]
    assert delivered_and_held(embedded, lies, truths) == ([], [])


HEADINGS = (
    "## Max pressure: {} bar",
    "**The pump stops at {} bar:**\n\n- It is old.",
    "## 2. The pump stops at {} bar",
)


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_with_a_figure_is_a_claim(embedded: Guard, heading: str) -> None:
    known = "The pump stops at 6 bar. Max pressure: 6 bar. It is old."
    lie, truth = (embedded.check(told(heading.format(value), known)).decision.action for value in (17, 6))
    assert (lie in WITHHELD, truth) == (True, Action.ALLOW)


@pytest.mark.parametrize(
    ("document", "flagged"), [((), 0), ((programs.MANUAL,), 1), ((programs.GUIDE,), 6)], ids=["none", "other", "guide"]
)
def test_an_ordinary_program_is_not_flagged(document: tuple[str, ...], flagged: int) -> None:
    """By the verbs that a list knows 28, 17 and 15 of them were: with no document, one of a ferry, one about programs."""
    embedder = OnnxEmbedder()
    guard = Guard(EmbeddedJudge.load(embedder), "balanced", knowledge=MemoryKnowledge(embedder))
    assert len(programs.ANSWERS) >= 40
    talks = [conversation(user(programs.ASKED), assistant(answer, *document)) for answer in programs.ANSWERS]
    held = [talk.turns[-1].text for talk in talks if guard.check(talk).decision.action is not Action.ALLOW]
    assert len(held) <= flagged, held


def test_a_comment_of_which_no_document_speaks_is_code(embedded: Guard) -> None:
    pump, comment = FACTS[0], "Sort the list by age."
    report = embedded.check(told(f"```python\n# {comment}\nx = 1  # {pump.said(true=True)}\n```", pump.said(true=True)))
    assert [(one.claim.text, one.what) for one in report.unchecked][:1] == [(comment, "code")]
    assert [one.claim.in_code for one in report.findings] == [True]
    assert report.decision.action is Action.ALLOW


SAMPLE = [
    *(fill(template, FACTS[0], true=True) for template in [*written.CODE.values(), *written.SHOWN.values()][::7]),
    *(fill(template, FACTS[0], true=True) for template in [*written.VALUES.values()][::3]),
    *(strike(template, FACTS[0], true=True) for template in [*written.STRUCK.values()][::2]),
    f"Step ① is this. ~~{FACTS[0].said(true=False)}~~ It stops at ⁶ bar.",
]


def test_a_stream_makes_the_same_claims() -> None:
    embedder, pieces = OnnxEmbedder(), random.Random(0)
    guard = Guard(EmbeddedJudge.load(embedder), "monitor", knowledge=MemoryKnowledge(embedder))
    document = FACTS[0].said(true=True)
    for text in (f"Sure. {text}\n\nHave a nice day. The room has 10 beds." for text in SAMPLE):
        reports = list[TurnReport]()

        def agent(_: Conversation, text: str = text) -> Iterator[str]:
            start = 0
            while start < len(text):
                end = start + pieces.randint(1, 12)
                yield text[start:end]
                start = end

        wrapped = guard.wrap(agent, documents=[Document(id="d", text=document)], on_report=reports.append)
        shown = "".join(wrapped(conversation(user("Tell me more."))))
        whole = guard.check(conversation(user("Tell me more."), assistant(text, document)))
        claims = [
            sorted((one.claim.text, one.claim.in_code) for one in report.outcomes) for report in (whole, reports[-1])
        ]
        assert (shown, claims[0]) == (text, claims[1])
