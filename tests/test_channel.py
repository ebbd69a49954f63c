"""Facts about the chat itself verify what answers say of the chat, and nothing else; reviewers add them to a running guard."""

from __future__ import annotations

from pathlib import Path

import pytest

from vista_guard import Action, Guard
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict
from vista_guard.testing import ScriptedJudge, Verdict
from vista_guard.types import Label, SourceKind

CHANNEL = (
    "Customers can return a parcel with the link under this chat.",
    "Your order number is on the first line of the confirmation e-mail.",
    "There is a live chat with our staff from Monday to Friday.",
    "There is a button below the chat to make an appointment.",
    "There is a form in which visitors leave their number, and we call back.",
    "Human colleagues take over on weekdays from 9 to 17.",
    "Delivery times are estimates.",
)
DOCUMENTS = ["Parcels are delivered within three working days. Returns are free."]


@pytest.fixture(scope="module")
def strict() -> Guard:
    return Guard.from_settings(store="memory", policy="strict", retrieve=False, channel=CHANNEL)


@pytest.mark.parametrize(
    "said",
    [
        "You can return your parcel with the link under this chat.",
        "You will find your order number on the first line of your confirmation e-mail.",
        "Our staff can chat with you from Monday to Friday.",
        "Please use the button below the chat to book an appointment.",
        "If you leave your phone number in the form, we will call you back.",
        "Please note that delivery times are estimates.",
    ],
)
def test_what_is_said_of_the_chat_passes(strict: Guard, said: str) -> None:
    report = strict.check_answer(said, documents=DOCUMENTS)
    assert report.decision.action is Action.ALLOW
    assert [piece.source for finding in report.findings for piece in finding.evidence[:1]] == [SourceKind.CHANNEL]


@pytest.mark.parametrize(
    "said",
    [
        "You can return the parcel at any post office.",
        "Customers can return a parcel at the counter.",
        "Leave your number at the reception.",
        "You can make an appointment in person.",
        "You can make an appointment by phone.",
        "The shop is open from Monday to Friday.",
        "The clinic is open on weekdays from 9 to 17.",
        "The order number has eight digits.",
        "Delivery times are guaranteed.",
    ],
)
def test_the_facts_of_the_chat_verify_nothing_else(strict: Guard, said: str) -> None:
    for documents in (DOCUMENTS, ()):
        report = strict.check_answer(said, documents=documents)
        assert all(finding.label is not Label.VERIFIED for finding in report.findings)
        assert all(piece.source is not SourceKind.CHANNEL for finding in report.findings for piece in finding.evidence)


def test_without_documents_they_are_no_evidence_for_the_rest() -> None:
    said, other = "There is a button below the chat.", "The harbour was dug in 1702."
    judge = ScriptedJudge({said: [Verdict(said, needs="button")], other: [Verdict(other, needs="1702")]})
    with Guard(judge, "balanced", persona=None) as plain:
        assert plain.check_answer(other).evidence_missing
    with Guard.from_settings(judge=judge, policy="balanced", store="memory", channel=[said]) as guard:
        about, rest = guard.check_answer(said), guard.check_answer(other)
    assert (about.decision.action, rest.decision.action) == (Action.ALLOW, Action.FLAG)
    assert rest.evidence_missing


def test_a_reviewers_fact_lets_the_next_answer_of_a_running_guard_pass(tmp_path: Path) -> None:
    url, said = f"sqlite:///{tmp_path / 'reports.sqlite'}", "You can make an appointment with the button below."
    with Guard.from_settings(store="memory", policy="strict", retrieve=False, reports=url) as guard:
        before, reviews = guard.check_answer(said, documents=DOCUMENTS), Reviews(url)
        assert before.blocked
        (finding,) = before.findings
        fact = "There is a button below the chat to make an appointment."
        added = reviews.add_facts([before.id], "ada", {finding.claim.text: fact}, verdict=ReviewVerdict.OVERTURNED)
        after = guard.check_answer(said, documents=DOCUMENTS)
        lie = guard.check_answer("You can pay with the button below.", documents=DOCUMENTS)
        assert (after.blocked, lie.blocked) == (False, True)
        assert [(piece.source, piece.quote) for piece in after.findings[0].evidence] == [(SourceKind.CHANNEL, fact)]
        reviews.undo(added.decided, "ada", facts=added.facts)
        assert guard.check_answer(said, documents=DOCUMENTS).blocked
        reviews.close()


def test_a_reviewers_fact_stays_when_the_settings_change(tmp_path: Path) -> None:
    url, said = f"sqlite:///{tmp_path / 'reports.sqlite'}", "There is a button below the chat."
    for channel in (["Prices may change."], ["Prices may change.", said], list[str]()):
        judge = ScriptedJudge({said: [Verdict(said, needs="button")]})
        with Guard.from_settings(judge=judge, store="memory", policy="strict", reports=url, channel=channel) as guard:
            passed = [guard.check_answer(said).decision.action is Action.ALLOW]
            reviews = Reviews(url)
            reviews.add_fact(said, "ada")
            reviews.close()
            passed.append(guard.check_answer(said).decision.action is Action.ALLOW)
        assert passed[-1]
    assert passed == [True, True]
