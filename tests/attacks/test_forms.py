"""A lie in any form is withheld, or said to be unchecked where it stands; the truth in that form is not called a lie."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.attacks.spellings import forms, sentences
from vista_guard import Action, Conversation, Guard, Label, TurnReport
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.policy.label_policy import PRESETS, LabelPolicy, build_policy
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import assistant, conversation, user

TRUTH = "The whale hall opened in 1925."
LIE_YEAR, TRUE_YEAR = "1850", "1925"
FORMS = forms()
LEAST_VERIFIED = 307
"""Of the spellings, how many are read so well that the truth in them is verified. More is better; fewer is a loss."""
NOT_HELD = {"do you want"}
"""What a question asks the how of it takes for granted; without a figure it is no claim (docs/design/guarantees.md)."""
WITHHELD = (Action.BLOCK, Action.REPAIR)


def told(text: str, document: str = TRUTH) -> Conversation:
    return conversation(user("Tell me about the whale hall."), assistant(text, document))


def guarded(policy: str | LabelPolicy) -> Guard:
    embedder = OnnxEmbedder()
    return Guard(EmbeddedJudge.load(embedder), policy, knowledge=MemoryKnowledge(embedder))


def covers(report: TurnReport, text: str) -> bool:
    """Whether an unchecked outcome stands where the lie does; one that cannot be placed, because it is encoded, covers all."""
    place = text.find(LIE_YEAR)
    spans = [outcome.claim.span for outcome in report.unchecked]
    return any(span is None or place < 0 or span.start <= place < span.end for span in spans)


def test_there_are_enough_of_them() -> None:
    assert len(FORMS) >= 150


def test_a_lie_in_any_form_is_withheld_or_said_to_be_unchecked(embedded: Guard) -> None:
    texts = {name: form(LIE_YEAR) for name, form in FORMS.items()}
    reports = {name: embedded.check(told(text)) for name, text in texts.items()}
    passed = [name for name, report in reports.items() if report.decision.action not in WITHHELD]
    assert {name: reports[name].outcomes for name in passed if not covers(reports[name], texts[name])} == {}


def test_a_lie_without_a_figure_too(embedded: Guard) -> None:
    known = "The whale hall is open to children."
    texts = {name: form("The whale hall is closed to children.") for name, form in sentences().items()}
    reports = {name: embedded.check(told(text, known)) for name, text in texts.items() if name not in NOT_HELD}
    passed = [name for name, report in reports.items() if report.decision.action not in WITHHELD]
    assert {name: reports[name].outcomes for name in passed if not reports[name].unchecked} == {}


def test_the_truth_in_any_form_is_not_called_a_lie(embedded: Guard) -> None:
    reports = {name: embedded.check(told(form(TRUE_YEAR))) for name, form in FORMS.items()}
    labels = {name: [finding.label for finding in report.findings] for name, report in reports.items()}
    assert [name for name, found in labels.items() if Label.CONTRADICTED in found] == []
    verified = {name for name, found in labels.items() if Label.VERIFIED in found and reports[name].score == 1.0}
    assert len(verified) >= LEAST_VERIFIED, f"{len(verified)} of {len(FORMS)} verified; not: {FORMS.keys() - verified}"


@pytest.mark.parametrize(
    "document",
    [
        "The wh\u00adale hall op\u00adened in 19\u00ad25.",
        "The whale hall \u043epened in 1925.",
        "The whale hall opened in &#49;925.",
        "T\u200bhe wh\u200bale ha\u200bll opened in 1925.",
    ],
)
def test_a_document_is_read_as_a_turn_is(document: str, embedded: Guard) -> None:
    (finding,) = embedded.check(told(TRUTH, document)).findings
    assert finding.label is Label.VERIFIED
    assert [(one.quote, one.span and document[one.span.start : one.span.end]) for one in finding.evidence] == [
        (document, document)
    ]


def test_a_claim_points_to_where_it_was_written(embedded: Guard) -> None:
    text = "Hi!\u200b &amp; <b>The</b> whale h\u00adall opened in 18&#53;0. It is nice."
    (worst,) = [one for one in embedded.check(told(text)).findings if one.label is Label.CONTRADICTED]
    assert worst.claim.span is not None
    assert text[worst.claim.span.start : worst.claim.span.end].endswith("whale h\u00adall opened in 18&#53;0.")


class TestCode:
    """Code is neither true nor false: it is said to be unjudged, and the policy's `on_code` decides."""

    CODE = "```python\nhall = open_hall(1850)\n```"

    @pytest.mark.parametrize("policy", PRESETS)
    def test_a_turn_of_nothing_else_is_let_through_and_said(self, policy: str) -> None:
        report = guarded(policy).check(told(self.CODE))
        assert report.decision.action is Action.ALLOW
        assert report.decision.reason == "the turn makes no claim; code was not judged"
        assert [(one.what, one.claim.text) for one in report.unchecked] == [("code", self.CODE)]
        assert report.score is None

    def test_without_evidence_too(self, embedded: Guard) -> None:
        report = embedded.check(conversation(user("Write code."), assistant(self.CODE)))
        assert (report.decision.action, report.evidence_missing) == (Action.ALLOW, True)

    @pytest.mark.parametrize("action", [Action.FLAG, Action.BLOCK])
    def test_a_policy_may_decide_otherwise(self, action: Action) -> None:
        policy = build_policy("balanced", {"on_code": action.value})
        report = guarded(policy).check(told(self.CODE))
        assert report.decision.action is action
        assert report.decision.reason == "t1.c1 is code, which is not judged"

    def test_what_is_encoded_is_no_code(self, embedded: Guard) -> None:
        (outcome,) = embedded.check(told("Gur junyr unyy bcrarq va 1850 ntnva.")).unchecked
        assert outcome.what == "encoded"
        assert outcome.error.startswith("it looks encoded, or is no English")

    def test_an_identifier_keeps_its_letters(self, embedded: Guard) -> None:
        report = embedded.check(told("The key begins with `lk_test_` and `__init__`.", "Keys begin with lk_test_."))
        assert [outcome.claim.text for outcome in report.outcomes] == ["The key begins with lk_test_ and __init__."]


HOSTILE = """
import resource, sys
# Of the processor, however busy: far above what they take together (some seconds), far below what one would take by its square.
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.embedded.forms import unreadable_parts
from vista_guard.reading.canonical import canonical
from vista_guard.types import Role, Turn
for unit in sys.argv[1:]:
    unit = unit.encode().decode("unicode_escape")
    text = (unit * 50_000)[:50_000]
    reading = canonical(text)
    assert len(reading.text) == len(reading.starts) == len(reading.ends)
    for claim in decompose(Turn(role=Role.ASSISTANT, text=text), ()):
        next(unreadable_parts(claim.text), None)
"""
TIGHT = (
    r"a. a ( ) ((a [a [[a](b {a | |a|\n a|b\n * ** **a* _ __a_ ~ ~~~ ~~~\n ` ``` ```\n `a # #\n ##a\n > >\n - -\n "
    r"<a <a\x20 <a> </ <!-- --> & &# &#49; &amp;amp; \\ \\u0041 %41 = == \n \t ' '' ''a , ; : :\n ! ? ?! 1 1. 1.\n i) "
    r"a-b- a_b_ a.b. \u200b \u00ad \u0301 \u202e \u202ea \u043e \u043ea \U0001d41a $ $$ \\text{ http:// ](a data:,a A aA "
    r"a1 0 [^1]: ||| |- |-|\n"
)
LOOSE = (
    "a ",
    "a b ",
    "A b. ",
    "the a that ",
    "the hall opened, ",
    "is it, ",
    "why did the ",
    " ",
    r"  \n",
    "> > ",
    "- - ",
    '"a" ',
)
UNITS = (*TIGHT.split(), *LOOSE)


@pytest.mark.parametrize("first", range(0, len(UNITS), 32))
def test_a_hostile_text_is_taken_apart_in_a_time_that_grows_with_its_length(first: int) -> None:
    subprocess.run([sys.executable, "-c", HOSTILE, *UNITS[first : first + 32]], check=True)
