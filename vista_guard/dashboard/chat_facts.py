"""Facts about the chat itself on the page *Review*: the form that makes a flagged sentence one, and their list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import streamlit as st

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.tree import Act, Node, draw, el
from vista_guard.dashboard.page import Desk, under_name
from vista_guard.dashboard.scoped import HIDDEN, GuardedTurn
from vista_guard.policy.explanations import BAD
from vista_guard.stores.entries import digest
from vista_guard.stores.reports.channel import LONGEST_FACT, ChatFact
from vista_guard.types import Claim, Label, Outcome, label_of

FACT: Final = "Fact about the chat"
EXPLAINED: Final = (
    "Answers may say this in every conversation from now on, without a document. Write it so that it holds there: “There is a "
    "button below the chat to make an appointment.” Documents outrank it. Ctrl+Enter adds it."
)
NONE_TO_ADD: Final = (
    "This turn has no sentence that lacks evidence, and only such a sentence can become a fact about the chat. What a document "
    "contradicts stays contradicted: documents outrank these facts."
)
NOT_SEEN: Final = "This turn was withheld, and your role does not include drafts: somebody who may read it must decide."


@dataclass(frozen=True)
class Wish:
    """Facts that a reviewer adds, by the text of their claim. `whole` if nothing else is wrong with the turn."""

    facts: Mapping[str, str]
    whole: bool
    equal: bool


def lacking(turn: GuardedTurn, chosen: str | None = None) -> list[Outcome]:
    """The claims of the turn that lack evidence, the `chosen` one first; of a regenerated turn, those of the replaced draft."""
    found = [outcome for outcome in _judged(turn) if label_of(outcome) == Label.LACKING_EVIDENCE]
    return sorted(found, key=lambda outcome: outcome.claim.id != chosen)


def _judged(turn: GuardedTurn) -> Sequence[Outcome]:
    report = turn.report
    if any(label_of(outcome) in BAD for outcome in report.outcomes) or not report.attempts:
        return report.outcomes
    return report.attempts[-1].outcomes


def _said(turn: GuardedTurn, claim: Claim) -> str:
    """The claim in the turn's own words, where its place in the kept draft is known."""
    span = claim.span if any(outcome.claim is claim for outcome in turn.report.outcomes) else None
    return (turn.draft or "")[span.start : span.end].strip() or claim.text if span else claim.text


def draw_form(turn: GuardedTurn, chosen: str | None, known: Sequence[ChatFact], equal: int, focus: int) -> Wish | None:
    """Draws the form; returns what was wished when it is sent.

    Args:
        turn: the turn under review.
        chosen: id of the claim that is open beside it.
        known: the facts about the chat that there are.
        equal: number of other open turns with an equal draft, of the same tenant.
        focus: a number that changes to move the cursor into the form.
    """
    claims = lacking(turn, chosen)
    if not claims or any(outcome.claim.text == HIDDEN for outcome in claims):
        draw(el("p", NOT_SEEN if claims else NONE_TO_ADD, cls="note", role="status"), key="about-chat-none")
        return None
    tenant = turn.report.tenant or ""
    texts = {fact.claim_key: fact.text for fact in known if fact.tenant == tenant and fact.claim_key is not None}
    draw(el("p", EXPLAINED, cls="small", role="status", data_focus=f"{FACT}#{focus}"), key="about-chat-how")
    facts: dict[str, str] = {}
    # Ctrl+Enter presses a form's first button.
    with st.form("about-chat", border=True):
        for place, claim in enumerate(outcome.claim for outcome in claims):
            old = texts.get(digest(claim.text))
            label = FACT if place == 0 else f"{FACT} ({place + 1})"
            # A label is Markdown, which no claim's text may enter.
            wanted = len(claims) == 1 or st.checkbox(
                f"Sentence {place + 1} is about our chat{', and a fact already' if old else ''}",
                place == 0 or old is not None,
                key=f"about-chat-{turn.report.id}-{claim.id}",
            )
            text = st.text_area(
                label,
                old or _said(turn, claim),
                key=f"fact-{turn.report.id}-{claim.id}",
                max_chars=LONGEST_FACT,
                height=68,
            )
            facts |= {claim.text: text} if wanted else {}
        also = equal > 0 and st.checkbox(
            f"Decide {equal} equal draft{'s' * (equal > 1)} too", True, key="about-chat-equal"
        )
        sent = st.form_submit_button("Add to what is known of our chat")
    if not sent:
        return None
    wrong = {outcome.claim.text for outcome in _judged(turn) if label_of(outcome) in BAD}
    settled = {text for text in wrong if digest(text) in texts} | facts.keys()
    return Wish(facts, wrong <= settled, bool(also))


def draw_list(desk: Desk, who: str | None) -> int | None:
    """Draws the facts that were added, folded; returns the id of one to remove when its button is pressed."""
    facts = desk.reviews.facts()
    if not facts:
        return None
    now = datetime.now(UTC)
    head = el("summary", f"What answers may say of this chat: {len(facts)} fact{'s' * (len(facts) > 1)}")
    about = el(
        "p",
        "Reviewers added these. They hold beside the setting channel, in every conversation of their tenant.",
        cls="small faint",
    )
    rows = (_row(fact, who, now) for fact in facts)
    event = draw(el("details", head, about, el("ul", *rows, cls="stack")), key="chat-facts")
    if isinstance(event, Act) and event.name == "remove-fact":
        return int(event.value)
    desk.follow(event)
    return None


def _row(fact: ChatFact, who: str | None, now: datetime) -> Node:
    told = [f"by {fact.who}, {address.ago(fact.at, now)}", f"tenant {fact.tenant}" if fact.tenant else None]
    remove = el(
        "button", "Remove", cls="plain", act=Act("remove-fact", str(fact.id)), aria_label=f"Remove: {fact.text}"
    )
    origin = None if fact.report_id is None else under_name("review", "its turn", turn=fact.report_id)
    return el(
        "li",
        el("span", fact.text, cls="text grow"),
        el("span", " · ".join(part for part in told if part), cls="small faint"),
        origin,
        None if who is None else remove,
        cls="row",
        key=str(fact.id),
    )
