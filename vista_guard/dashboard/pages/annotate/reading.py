"""What an annotator reads: what was said before, and the documents. Nothing of what the judge made of them."""

from __future__ import annotations

from vista_guard.dashboard.elements.tree import Node, el
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.turns import GuardedTurn
from vista_guard.types import Document, Passage, SourceKind

BEFORE = 6
"""Turns before the annotated one that can be read."""

OPEN = 1
"""Of these, so many are shown at once: the documents must not be far."""

GUIDE = (
    ("verified", "The documents, or what was established earlier in the conversation, say so."),
    ("out of scope", "An opinion, an experience or a recommendation: nothing that a document could prove."),
    ("contradicted", "They say something else."),
    ("lacking evidence", "They say nothing about it."),
    ("abstention", "The assistant says that it does not know, or will not answer."),
)


def reading(desk: Desk, turn: GuardedTurn) -> Node:
    """The column beside the claims."""
    return el("div", _guide(), _talk(desk, turn), *_documents(turn), cls="stack")


def _guide() -> Node:
    rows = [part for word, text in GUIDE for part in (el("dt", word), el("dd", text))]
    text = (
        "Confirm, edit or delete each claim, and add what is missing: together they say what the turn says, each one thing, "
        "readable alone. Then give each one label."
    )
    return el("details", el("summary", "Guidelines"), el("p", text, cls="small"), el("dl", *rows, cls="facts"))


def _talk(desk: Desk, turn: GuardedTurn) -> Node:
    before = _before(desk, turn)
    earlier, latest = before[:-OPEN], before[-OPEN:]
    said = [node for one in latest for node in _exchange(one)]
    asked = _line("User", turn.texts.user_text, "user") if turn.texts and turn.texts.user_text else None
    nothing = None if said or asked else el("p", "What the user said was not kept.", cls="note")
    return el("section", el("h3", "Conversation"), nothing, _earlier(earlier), el("div", *said, asked, cls="dialogue"))


def _earlier(turns: list[GuardedTurn]) -> Node | None:
    if not turns:
        return None
    said = (node for one in turns for node in _exchange(one))
    return el("details", el("summary", f"Earlier turns: {len(turns)}"), el("div", *said, cls="dialogue"))


def _before(desk: Desk, turn: GuardedTurn) -> list[GuardedTurn]:
    name = turn.report.conversation_id
    window = desk.reports.conversation(name, around=turn).turns if name else ()
    at = next((place for place, one in enumerate(window) if one.report.id == turn.report.id), 0)
    return list(window[max(at - BEFORE, 0) : at])


def _exchange(turn: GuardedTurn) -> list[Node]:
    asked = turn.texts.user_text if turn.texts else None
    answered = _line("Assistant", turn.report.response, "assistant")
    return [answered] if asked is None else [_line("User", asked, "user"), answered]


def _line(who: str, text: str, cls: str) -> Node:
    return el("div", el("span", f"{who}: ", cls="hidden"), el("p", text, cls="text"), cls=cls)


def _documents(turn: GuardedTurn) -> list[Node | None]:
    texts = turn.texts
    documents = texts.documents if texts else ()
    found = [] if texts is None else [one for one in texts.evidence if one.source is SourceKind.DOCUMENT]
    known = [] if texts is None else [one for one in texts.evidence if one.source is not SourceKind.DOCUMENT]
    loose = [] if documents else found
    nothing = None
    if not documents and not loose:
        text = 'No documents were kept with this turn. With record = "full" in the settings, those of later turns are.'
        nothing = el("p", text, cls="note")
    shown = [*map(_document, documents), *map(_passage, loose)]
    return [el("h3", "Documents"), nothing, *shown, _known(known)]


def _document(document: Document) -> Node:
    return _source(document.title or document.id, document.text)


def _passage(passage: Passage) -> Node:
    return _source(passage.title or passage.source_id, passage.text)


def _source(name: str, text: str) -> Node:
    return el(
        "section",
        el("div", el("strong", name), cls="name"),
        el("div", text, cls="page", data_scroll="", tabindex="0", role="region", aria_label=f"Document {name}"),
        cls="source",
    )


def _known(passages: list[Passage]) -> Node | None:
    if not passages:
        return None
    rows = (el("li", one.text, cls="small text") for one in passages)
    head = f"What the conversation had established: {len(passages)}"
    return el("details", el("summary", head), el("ul", *rows, cls="stack"))
