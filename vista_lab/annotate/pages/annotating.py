"""Shared by the views of Annotate: addresses, the reading column, matching of claims, and automatic settling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Final

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.address import GO
from vista_guard.dashboard.elements.tree import Act, Node, el
from vista_guard.dashboard.page import NAME, Desk
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Passage, SourceKind, source_name
from vista_lab.annotate.batches import AnnotationTask, Batches, CompleteTask, FormBatch
from vista_lab.annotate.claims import Match
from vista_lab.annotate.forms import ChoiceMark, ChoicesMark, Form, Item, Mark
from vista_lab.metrics.agreement import ClaimVersions as Disagreement
from vista_lab.metrics.agreement import compare
from vista_lab.metrics.claim_sets import Same


def batches_of(desk: Desk) -> Batches:
    """The batches that the page's viewer may see. Items that are no turns have no tenant: who sees all tenants sees them."""
    return Batches(desk.reviews.database, tenants=desk.viewer.tenants)


# Addresses

BATCH: Final = "batch"
VIEW: Final = "view"
TASK: Final = "task"

VIEWS: Final = {"": "", "agreement": "Agreement", "consensus": "Consensus"}
"""Views of a batch by their address; the first is named after its items."""

_SAME: Final = "\x00"


def within(
    text: str, *, batch: str | None = _SAME, view: str = "", task: int | None = None, cls: str = "", here: bool = False
) -> Node:
    """A link to another view of the page; of the open batch, if no other one is given."""
    batch_name = address.read(BATCH) if batch == _SAME else batch
    number = None if task is None else str(task)
    target = address.link("annotate", **{NAME: address.read(NAME), BATCH: batch_name, VIEW: view or None, TASK: number})
    return el("a", text, href=target, act=Act(GO, target), cls=cls, aria_current="page" if here else None)


def open_task() -> int | None:
    """The task that the address names."""
    text = address.read(TASK) or ""
    return int(text) if text.isdecimal() and len(text) < 19 else None


# Reading

BEFORE = 6
"""Most turns before the annotated one that can be read."""

OPEN = 1
"""How many of these are unfolded: the documents must stay near."""


def reading(desk: Desk, batch: FormBatch, item: Item, turn: GuardedTurn | None) -> Node:
    """The column beside the marks: a guarded turn's conversation and documents, or the texts of an item."""
    texts = [(column.name, item.texts.get(column.name, "")) for column in batch.form.columns]
    talk = [] if turn is None else [_talk(desk, turn), *_documents(turn)]
    return el("div", guide(batch.form), *talk, *(_source(name, text) for name, text in texts if text), cls="stack")


def turn_of(desk: Desk, task: AnnotationTask | CompleteTask) -> GuardedTurn | str | None:
    """The turn of an item with what the viewer may read of it; None for an item of a file. If it cannot be shown: why."""
    if task.report_id is None:
        return None
    turn = desk.reports.turn_or_problem(task.report_id)
    if turn is None or isinstance(turn, str):
        return turn or "Its report was deleted."
    if turn.hidden:
        return "Its draft was withheld, and your role does not include drafts."
    if turn.draft is None:
        return 'Its draft was not kept. With record = "full" in the settings, drafts of later turns are.'
    return turn


def guide(form: Form) -> Node:
    """The form's guidelines, with the meaning of each choice."""
    if form.labels is None:
        terms = [(mark.name, _meaning(mark)) for mark in form.marks]
    else:
        terms = [(choice.value, choice.means) for choice in form.labels.choices]
    rows = (node for name, means in terms for node in (el("dt", name), el("dd", means)))
    texts = (el("p", " ".join(text.split()), cls="small text") for text in form.guidelines.split("\n\n"))
    return el("details", el("summary", "Guidelines"), *texts, el("dl", *rows, cls="facts"))


def _meaning(mark: Mark) -> str:
    choices = mark.choices if isinstance(mark, ChoiceMark | ChoicesMark) else ()
    return " ".join([mark.ask, *(f"{choice.value}: {choice.means}" for choice in choices if choice.means)])


def _talk(desk: Desk, turn: GuardedTurn) -> Node:
    before = _before(desk, turn)
    earlier, latest = before[:-OPEN], before[-OPEN:]
    nodes = [node for past_turn in latest for node in _exchange(past_turn)]
    question = _line("User", turn.texts.user_text, "user") if turn.texts and turn.texts.user_text else None
    nothing = None if nodes or question else el("p", "What the user said was not kept.", cls="note")
    talk = el("div", *nodes, question, cls="dialogue")
    return el("section", el("h3", "Conversation"), nothing, _earlier(earlier), talk)


def _earlier(turns: list[GuardedTurn]) -> Node | None:
    if not turns:
        return None
    nodes = (node for turn in turns for node in _exchange(turn))
    return el("details", el("summary", f"Earlier turns: {len(turns)}"), el("div", *nodes, cls="dialogue"))


def _before(desk: Desk, turn: GuardedTurn) -> list[GuardedTurn]:
    name = turn.report.conversation_id
    window = desk.reports.conversation(name, around=turn).turns if name else ()
    at = next((place for place, other in enumerate(window) if other.report.id == turn.report.id), 0)
    return list(window[max(at - BEFORE, 0) : at])


def _exchange(turn: GuardedTurn) -> list[Node]:
    question = turn.texts.user_text if turn.texts else None
    answer = _line("Assistant", turn.report.response, "assistant")
    return [answer] if question is None else [_line("User", question, "user"), answer]


def _line(who: str, text: str, cls: str) -> Node:
    return el("div", el("span", f"{who}: ", cls="hidden"), el("p", text, cls="text"), cls=cls)


def _documents(turn: GuardedTurn) -> list[Node | None]:
    documents, evidence = (turn.texts.documents, turn.texts.evidence) if turn.texts else ((), ())
    knowledge = [passage for passage in evidence if passage.source is not SourceKind.DOCUMENT]
    shown = [(source_name(one.title, one.id), one.text) for one in documents]
    quoted = (one for one in evidence if one.source is SourceKind.DOCUMENT)
    sections = [_source(*own) for own in shown or ((source_name(one.title, one.source_id), one.text) for one in quoted)]
    text = 'No documents were kept with this turn. With record = "full" in the settings, those of later turns are.'
    nothing = None if sections else el("p", text, cls="note")
    return [el("h3", "Documents"), nothing, *sections, _knowledge(knowledge)]


def _source(name: str, text: str) -> Node:
    head, about = el("div", el("strong", name), cls="name"), f"Document {name}"
    page = el("div", text, cls="page", data_scroll="", tabindex="0", role="region", aria_label=about)
    return el("section", head, page, cls="source")


def _knowledge(passages: list[Passage]) -> Node | None:
    if not passages:
        return None
    rows = (el("li", passage.text, cls="small text") for passage in passages)
    head = f"What the conversation had established: {len(passages)}"
    return el("details", el("summary", head), el("ul", *rows, cls="stack"))


# Settling

NOBODY = "agreement"
"""Settler of the tasks that leave nothing to discuss."""


def items_of(task: CompleteTask) -> tuple[Disagreement, ...]:
    """The claims of a task with everybody's version."""
    return compare(task.claims, steps([task]))


def steps(tasks: Iterable[CompleteTask]) -> Sequence[Same]:
    """Steps for `groups`, over all claims of these tasks. The process embeds each text once."""
    return Match.of((claim for task in tasks for own in task.claims.values() for claim in own), _embedder()).versions


@cache
def _embedder() -> OnnxEmbedder:
    return OnnxEmbedder()
