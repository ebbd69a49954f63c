"""The dialogue: turns with their claims marked, and the turn and claim that the address selects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.looks import SCORE, look
from vista_guard.dashboard.elements.tree import Act, Node, TextPiece, chip, clause, el, pieces, sign
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.policy.explanations import answer_number, explain
from vista_guard.types import Action, Outcome, Span, label_of


@dataclass(frozen=True)
class Selected:
    """The open turn, by its report's id, its open claim, and the draft of that claim: None for the last draft."""

    turn: str | None = None
    claim: str | None = None
    draft: int | None = None

    def is_(self, turn: str, claim: str, draft: int | None) -> bool:
        """True for the open claim."""
        return (self.turn, self.claim, self.draft) == (turn, claim, draft)

    def outcome(self, turn: GuardedTurn) -> Outcome | None:
        """The open claim's outcome, or None."""
        outcomes = turn.report.outcomes
        if self.draft is not None:
            drafts = turn.report.attempts
            outcomes = drafts[self.draft - 1].outcomes if 1 <= self.draft <= len(drafts) else ()
        return next((candidate for candidate in outcomes if candidate.claim.id == self.claim), None)


def read_selection() -> Selected:
    """Reads the selection from the address. An invalid claim counts as none."""
    claim = address.read(address.CLAIM) or ""
    draft, colon, claim_id = claim.partition(":")
    if colon and draft.isdecimal() and len(draft) < 10:
        return Selected(address.read(address.TURN), claim_id or None, int(draft))
    return Selected(address.read(address.TURN), claim or None)


def claim_act(turn: str, claim: str, draft: int | None) -> Act:
    """Opens a claim."""
    return Act("claim", f"{turn} {claim if draft is None else f'{draft}:{claim}'}")


def follow(act: Act) -> bool:
    """Writes a pressed claim or turn into the address; False for any other act."""
    if act.name == "claim":
        turn, _, claim = act.value.partition(" ")
        address.write(turn=turn, claim=claim)
    elif act.name == "turn":
        address.write(turn=act.value, claim=None)
    elif act.name == "close":
        address.write(claim=None)
    else:
        return False
    return True


def dialogue(turns: Sequence[GuardedTurn], chosen: Selected, *, reveal: bool = True) -> Node:
    """Draws all given turns, oldest first; `reveal` scrolls to the open one."""
    return el("ol", *(_exchange(turn, chosen, reveal) for turn in turns), cls="dialogue", aria_label="Dialogue")


def mark_claims(
    text: str, ranges: Sequence[tuple[Span, Outcome]], turn: GuardedTurn, chosen: Selected, *, cls: str = ""
) -> Node:
    """Marks claims in a text. Where they overlap, a press opens the first and a list names the others."""
    cut = pieces(text, ranges)
    begun: set[str] = set()
    return el("p", *(_piece(piece, turn, chosen, begun) for piece in cut), cls=f"text {cls}".strip())


def _exchange(turn: GuardedTurn, chosen: Selected, reveal: bool) -> Node:
    text = turn.texts.user_text if turn.texts else None
    here = chosen.turn == turn.report.id
    question = None
    if text is not None:
        question = el("div", el("span", "User: ", cls="hidden"), el("p", text, cls="text"), cls="user")
    place = turn.report.id if here and reveal else None
    answer = el("div", *_answer(turn, chosen), cls="assistant here" if here else "assistant", reveal=place)
    return el("li", question, answer, cls="exchange", key=turn.report.id)


def _answer(turn: GuardedTurn, chosen: Selected) -> list[Node | None]:
    report = turn.report
    ranges = [(span, outcome) for outcome in report.outcomes for span in turn.delivered(outcome.claim)]
    return [
        el("span", "Assistant: ", cls="hidden"),
        mark_claims(report.response, ranges, turn, chosen),
        _draft(turn, chosen),
        _claims_without_place(turn, chosen),
        _foot(turn, chosen),
    ]


def _draft(turn: GuardedTurn, chosen: Selected) -> Node | None:
    """Draws the judged draft if it differs from the delivered text."""
    draft = turn.texts.draft if turn.texts else None
    if draft is None or draft == turn.report.response:
        return None
    ranges = [(outcome.claim.span, outcome) for outcome in turn.report.outcomes if outcome.claim.span]
    return el(
        "div", el("h4", "Draft, changed before delivery"), mark_claims(draft, ranges, turn, chosen), cls="withheld"
    )


def _claims_without_place(turn: GuardedTurn, chosen: Selected) -> Node | None:
    """Draws the claims without a place in a shown text."""
    drawn = turn.texts is not None and turn.texts.draft is not None
    unplaced = [one for one in turn.report.outcomes if not turn.delivered(one.claim) and not (drawn and one.claim.span)]
    if not unplaced:
        return None
    return el(
        "div",
        el("p", _why_unmarked(turn), cls="note"),
        el("ul", *(claim_row(turn, outcome, chosen) for outcome in unplaced), cls="claims small"),
        cls="stack",
    )


def _why_unmarked(turn: GuardedTurn) -> str:
    if turn.hidden:
        return "These claims were not delivered. Your role does not include withheld drafts, so the text is hidden."
    if turn.report.decision.action in (Action.ALLOW, Action.FLAG):
        return "These claims have no span in the text."
    if turn.texts is None or turn.texts.draft is None:
        return 'Nothing is marked: the draft was not kept. Set record = "full" to keep the drafts of later turns.'
    return "These claims have no span in the draft."


def claim_row(turn: GuardedTurn, outcome: Outcome, chosen: Selected, draft: int | None = None) -> Node:
    """Draws a claim as a line to press."""
    here = chosen.is_(turn.report.id, outcome.claim.id, draft)
    act = claim_act(turn.report.id, outcome.claim.id, draft)
    body = (chip(label_of(outcome)), el("span", outcome.claim.text, cls="text"))
    return el("li", el("button", *body, act=act, cls="chosen" if here else "", aria_pressed=str(here).lower()))


def _piece(piece: TextPiece[Outcome], turn: GuardedTurn, chosen: Selected, begun: set[str]) -> Node | str:
    if not piece.owners:
        return piece.text
    first = piece.owners[0]
    names = "; ".join(f"{look(label_of(owner)).word}: {owner.claim.text}" for owner in piece.owners)
    opening = () if first.claim.id in begun else (sign(label_of(first)),)
    begun.add(first.claim.id)
    here = any(chosen.is_(turn.report.id, owner.claim.id, None) for owner in piece.owners)
    return el(
        "mark",
        *opening,
        piece.text,
        cls=f"claim tone-{look(label_of(first)).tone}{' chosen' if here else ''}",
        act=claim_act(turn.report.id, first.claim.id, None),
        aria_label=names,
        aria_pressed=str(here).lower(),
        title=names if len(piece.owners) > 1 else None,
    )


def _foot(turn: GuardedTurn, chosen: Selected) -> Node:
    report = turn.report
    here, href = "true" if chosen.turn == report.id else None, address.link("conversation", turn=report.id)
    return el(
        "div",
        chip(report.decision.action),
        None if report.decision.action is Action.ALLOW else el("strong", clause(explain(report))),
        None if report.score is None else el("span", f"score {report.score:.2f}", cls="nowrap", title=SCORE),
        el("span", address.span_of(report.timings.total), cls="nowrap"),
        el("time", address.exact(report.created_at), cls="nowrap", datetime=report.created_at.isoformat()),
        el("a", f"answer {answer_number(report.turn_index)}", href=href, act=Act("turn", report.id), aria_current=here),
        cls="foot row",
    )
