"""Evidence: quotes marked in their documents, and the turns that established knowledge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.tree import Act, Node, chip, el
from vista_guard.dashboard.scoped import GuardedTurn, ScopedReports
from vista_guard.policy.explanations import answer_number
from vista_guard.types import Document, Evidence, Finding, Label, Outcome, Passage, Retrieval, SourceKind, Span

KINDS = {
    SourceKind.DOCUMENT: "document",
    SourceKind.KNOWLEDGE: "said earlier in this conversation",
    SourceKind.PERSONA: "persona",
    SourceKind.CHANNEL: "about this chat",
    SourceKind.HISTORY: "earlier turn",
}


@dataclass(frozen=True)
class Sources:
    """The conversation's other turns, (report id, turn index) by turn key. Knowledge names its turn by that key."""

    turns: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def established(self, source_id: str) -> tuple[str, int, str] | None:
        """Returns the report id, turn index and claim id that established a piece of knowledge, or None."""
        key, _, claim = source_id.partition(":")
        turn = self.turns.get(key)
        return None if turn is None else (*turn, claim.partition("#")[0])


def sources_of(
    reports: ScopedReports, name: str | None, shown: Iterable[GuardedTurn], outcome: Outcome | None
) -> Sources:
    """Collects the shown turns of conversation `name`, and the turns that established the open claim's evidence."""
    turns = {turn.report.turn_key: (turn.report.id, turn.report.turn_index) for turn in shown if turn.report.turn_key}
    for piece in outcome.evidence if name and isinstance(outcome, Finding) else ():
        key = piece.source_id.partition(":")[0]
        row = reports.established_by(name or "", key) if _is_known(piece.source) and key not in turns else None
        if row is not None:
            turns[key] = (row.id, row.turn_index)
    return Sources(turns)


def evidence_of(outcome: Outcome, turn: GuardedTurn, sources: Sources) -> list[Node]:
    """Draws all evidence of a claim, the judge's best first, or says that there is none."""
    evidence = outcome.evidence if isinstance(outcome, Finding) else ()
    if not evidence:
        missing = "The judge names no evidence."
        if turn.report.evidence_missing:
            missing = "There was nothing to verify against."
        return [el("p", missing, cls="note"), *_nearest(outcome)]
    token = f"{turn.report.id} {outcome.claim.id}"
    return [_source(piece, place, turn, sources, token) for place, piece in enumerate(evidence)]


def _nearest(outcome: Outcome) -> list[Node]:
    """Draws the quote that came nearest to a claim that LACKS evidence."""
    near = outcome.nearest if isinstance(outcome, Finding) else None
    if near is None:
        return []
    head = el(
        "div",
        el("span", "nearest: ", el("strong", near.name)),
        el("span", f"{near.overlap:.0%} of its words", cls="faint nowrap"),
        cls="name",
    )
    quoted = el("div", near.quote, cls="page text")
    return [el("section", head, _place(near.headings, near.found), quoted, cls="source")]


def _place(headings: tuple[str, ...], retrieval: Retrieval | None) -> Node | None:
    """Draws the headings a passage stands under, and how the document store found it."""
    path = " › ".join(heading.lstrip("# ") for heading in headings)
    how = "" if retrieval is None else f"found by {' and '.join(retrieval.by)}, rank {retrieval.rank}"
    text = " · ".join(filter(None, (path, how)))
    return el("div", text, cls="faint small text") if text else None


def knowledge_then(turn: GuardedTurn, sources: Sources) -> Node | None:
    """Draws the knowledge at the time of the judgement, if it was kept."""
    known = [piece for piece in (turn.texts.evidence if turn.texts else ()) if piece.source is not SourceKind.DOCUMENT]
    if not known:
        return None
    rows = (el("li", _knowledge_row(piece, sources), cls="small") for piece in known)
    return el("details", el("summary", f"Knowledge as it stood: {len(known)}"), el("ul", *rows, cls="stack"))


def _source(evidence: Evidence, place: int, turn: GuardedTurn, sources: Sources, token: str) -> Node:
    document = _document(evidence, turn)
    name = (document and document.title) or evidence.name
    head = el(
        "div",
        el(
            "span",
            KINDS[evidence.source],
            " ",
            el("strong", name) if evidence.source is not SourceKind.KNOWLEDGE else None,
        ),
        el("span", f"score {evidence.score:.2f}", cls="faint nowrap"),
        cls="name",
    )
    if document is None:
        quoted = el("div", el("mark", evidence.quote, cls="quote"), cls="page")
    else:
        quoted = _in_document(document, evidence, f"{token} {place}" if place == 0 else None)
    return el(
        "section",
        head,
        _place(evidence.headings, evidence.found),
        quoted,
        _origin(evidence.source_id, sources) if _is_known(evidence.source) else None,
        cls="source",
    )


def _document(evidence: Evidence, turn: GuardedTurn) -> Document | None:
    if evidence.source is not SourceKind.DOCUMENT or turn.texts is None:
        return None
    return next((document for document in turn.texts.documents if document.id == evidence.source_id), None)


def _in_document(document: Document, evidence: Evidence, token: str | None) -> Node:
    span, text = quoted_span(document.text, evidence), document.text
    if span is None:
        return _readable(text)
    quote = el("mark", text[span.start : span.end], cls="quote", reveal=token)
    return _readable(text[: span.start], quote, text[span.end :])


def _readable(*parts: Node | str) -> Node:
    """Draws a box that scrolls, by keyboard too."""
    label = "Document, with the quote marked"
    return el("div", *parts, cls="page", data_scroll="", tabindex="0", role="region", aria_label=label)


def quoted_span(text: str, evidence: Evidence) -> Span | None:
    """Finds the quote in its document: at the judge's span if it is there, else anywhere, or None."""
    span, quote = evidence.span, evidence.quote
    if span is not None and span.end <= len(text) and text[span.start : span.end].split() == quote.split():
        return span
    place = text.find(quote)
    if place >= 0 and quote:
        return Span(start=place, end=place + len(quote))
    return span if span is not None and span.start < span.end <= len(text) else None


def _is_known(source: SourceKind) -> bool:
    return source in (SourceKind.KNOWLEDGE, SourceKind.HISTORY)


def _origin(source_id: str, sources: Sources) -> Node:
    link = _link(source_id, sources, "established in ")
    if link is None:
        return el("div", "The turn that established it is not among the reports.", cls="name faint")
    return el("div", link, cls="name")


def _link(source_id: str, sources: Sources, before: str = "", cls: str = "") -> Node | None:
    """A link to the turn that established a piece of knowledge."""
    origin = sources.established(source_id)
    if origin is None:
        return None
    report, index, claim = origin
    href = address.link("conversation", turn=report, claim=claim)
    return el("a", f"{before}answer {answer_number(index)}", href=href, act=Act("claim", f"{report} {claim}"), cls=cls)


def _knowledge_row(passage: Passage, sources: Sources) -> Node:
    link = _link(passage.source_id, sources, cls="nowrap")
    label = chip(passage.label or Label.VERIFIED)
    if passage.source in (SourceKind.PERSONA, SourceKind.CHANNEL):
        label = el("span", KINDS[passage.source], cls="faint")
    return el("div", label, el("span", passage.text, cls="text grow"), link, cls="row")
