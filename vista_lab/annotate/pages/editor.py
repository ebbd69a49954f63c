"""The editor of a form's marks: a browser component that sends its state, so that no key waits for the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviewed import Op
from vista_guard.types import Label, Span, label_of
from vista_lab.annotate.annotations import Annotation, Condition
from vista_lab.annotate.batches import FormBatch, FormDraft
from vista_lab.annotate.forms import (
    Answers,
    Choice,
    ChoiceMark,
    ChoicesMark,
    Form,
    Item,
    Level,
    Mark,
    NumberMark,
    Value,
    load_form,
)
from vista_lab.metrics.agreement import AnnotatedClaim


class EditorRow(BaseModel):
    """A row in the browser. `whole`: the item itself; else `source_claim_id` is its part, None for an added one."""

    model_config = ConfigDict(extra="ignore")

    text: str = ""
    op: Op = Op.CONFIRM
    values: dict[str, str | float | tuple[str, ...]] = {}
    source_claim_id: str | None = None
    span: Span | None = None
    whole: bool = False


_ROWS = TypeAdapter(tuple[EditorRow, ...])


@dataclass(frozen=True)
class EditorState:
    """The editor's content. `seq` tells states of one window apart."""

    seq: float
    rows: tuple[EditorRow, ...]
    notes: str
    seconds: float

    @property
    def claims(self) -> tuple[AnnotatedClaim, ...]:
        """The rows as claims of a turn.

        Raises:
            InputError: a row is no claim.
        """
        try:
            return tuple(map(_claim, self.rows))
        except ValueError as exc:
            raise _refusal(exc) from None

    def answers(self, form: Form) -> Answers:
        """The rows as marks of a form.

        Raises:
            InputError: a value is none that its mark takes.
        """
        item = [row for row in self.rows if row.whole]
        parts = {row.source_claim_id: row for row in self.rows if row.source_claim_id is not None}
        item_values = _check_values(form, Level.ITEM, item[0].values) if item else {}
        return Answers(item_values, {name: _check_values(form, Level.PART, row.values) for name, row in parts.items()})


@dataclass(frozen=True)
class EditorEvents:
    """Events of the editor since the page's last run: its state, and the state that was submitted."""

    draft: EditorState | None
    submitted: EditorState | None


def claim_editor(annotation: Annotation, turn: GuardedTurn, *, saved: float | None) -> EditorEvents:
    """Draws the editor of a turn's claims.

    It starts from the annotation; later input lives in the browser until `epoch` changes. `saved` is the `seq` of the last saved
    state.

    Raises:
        InputError: the browser sent no valid annotation.
    """
    form = load_form("vista")
    rows = [_claim_row(claim) for claim in annotation.claims or proposed_claims(turn)]
    labels = form.labels
    data = {
        "text": turn.draft or "",
        "item": "turn",
        "unit": "claim",
        "title": "Its claims",
        "verb": "label",
        "verbed": "labelled",
        "revise": True,
        "rows": rows,
        "marks": [_mark(labels, form) | {"when": {}, "optional_when": {}}] if labels is not None else [],
        "notes": annotation.notes,
        "seconds": annotation.seconds,
        "closed": annotation.submitted,
        "suggested": _suggestions(turn) if annotation.condition is Condition.SUGGESTIONS else {},
    }
    return _draw(str(annotation.id), data, saved)


def form_editor(batch: FormBatch, item: Item, draft: FormDraft, *, saved: float | None) -> EditorEvents:
    """Draws the editor of an item of any form, like `claim_editor`."""
    form = batch.form
    column = "" if form.parts is None else form.parts.text
    rows: list[dict[str, Any]] = [
        {"text": part.texts.get(column, ""), "source_claim_id": part.id, "values": draft.answers.parts.get(part.id, {})}
        for part in item.parts
    ]
    if form.marks_of(Level.ITEM):
        rows.append({"text": "", "whole": True, "values": draft.answers.item})
    data = {
        "text": "",
        "item": str(form.item),
        "unit": str(form.item if form.parts is None else form.parts.unit),
        "title": form.title,
        "verb": "mark",
        "verbed": "marked",
        "revise": False,
        "rows": [{"op": "confirm", "span": None, "whole": False, **row} for row in rows],
        "marks": [_mark(mark, form) for mark in form.marks],
        "notes": None,
        "seconds": draft.seconds,
        "closed": draft.submitted,
        "suggested": {},
    }
    return _draw(f"{draft.batch}-{draft.n}-{draft.annotator}", data, saved)


def proposed_claims(turn: GuardedTurn) -> tuple[AnnotatedClaim, ...]:
    """The judge's claims without its labels: annotators begin with these (VISTA, App. C)."""
    claims = (outcome.claim for outcome in turn.report.outcomes)
    return tuple(AnnotatedClaim(text=claim.text, source_claim_id=claim.id, span=claim.span) for claim in claims)


def _draw(key: str, data: dict[str, Any], saved: float | None) -> EditorEvents:
    epoch = f"{key}-{st.session_state.get(f'epoch-{key}', 0)}"
    sent = {**data, "epoch": epoch, "saved": saved}
    result = _component()(key=f"editor-{epoch}", data=sent, on_draft_change=_nothing, on_submit_change=_nothing)
    return EditorEvents(_state(getattr(result, "draft", None)), _state(getattr(result, "submit", None)))


def _claim_row(claim: AnnotatedClaim) -> dict[str, Any]:
    row = claim.model_dump(mode="json")
    label = row.pop("label")
    return {**row, "whole": False, "values": {} if label is None else {"label": label}}


def _claim(row: EditorRow) -> AnnotatedClaim:
    label = row.values.get("label")
    chosen = None if label is None else Label(str(label))
    return AnnotatedClaim(text=row.text, op=row.op, label=chosen, source_claim_id=row.source_claim_id, span=row.span)


def _check_values(form: Form, level: Level, values: Mapping[str, Value]) -> dict[str, Value]:
    marks = {mark.name: mark for mark in form.marks_of(level)}
    checked: dict[str, Value] = {}
    for name, value in values.items():
        if name not in marks:
            raise InputError(f"the editor sent {name[:40]!r}, which is not a mark of form {form.name}")
        text = "; ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else value
        try:
            checked[name] = marks[name].read(text)
        except ValueError as exc:
            raise InputError(f"{name} is {text[:60]!r}: {exc}") from None
    return checked


def _mark(mark: Mark, form: Form) -> dict[str, Any]:
    levels = [str(level) for level in Level if mark in form.marks_of(level)]
    spec: dict[str, Any] = {"name": mark.name, "kind": mark.kind, "ask": mark.ask, "of": levels, "needed": mark.needed}
    spec["when"] = {name: list(values) for name, values in mark.when.items()}
    spec["optional_when"] = {name: list(values) for name, values in mark.optional_when.items()}
    if isinstance(mark, ChoiceMark | ChoicesMark):
        spec["choices"] = [_choice(choice) for choice in mark.choices]
    if isinstance(mark, NumberMark):
        spec |= {"low": mark.low, "high": mark.high, "whole": mark.whole}
    return spec


def _choice(choice: Choice) -> dict[str, str]:
    if choice.label is None:
        return {"name": choice.value, "word": choice.value, "sign": "", "tone": "unchecked", "means": choice.means}
    return {**_look(choice.label), "means": choice.means}


def _suggestions(turn: GuardedTurn) -> dict[str, dict[str, str]]:
    return {outcome.claim.id: _look(label_of(outcome)) for outcome in turn.report.outcomes}


def _look(name: str) -> dict[str, str]:
    style = look(name)
    return {"name": str(name), "word": style.word, "sign": style.sign, "tone": style.tone}


def _state(value: Any) -> EditorState | None:
    if not isinstance(value, Mapping):
        return None
    try:
        rows = _ROWS.validate_python(value.get("rows"))
        return EditorState(float(value["seq"]), rows, str(value.get("notes", "")), float(value.get("seconds", 0)))
    except (KeyError, TypeError, ValueError) as exc:
        raise _refusal(exc) from None


def _refusal(exc: Exception) -> InputError:
    problem = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else str(exc)
    return InputError(f"what the editor sent cannot be kept: {problem}")


def _nothing() -> None:
    """Streamlit keeps a component's value only where somebody listens to it."""


@cache
def _component() -> Any:
    own, shared = files("vista_lab.annotate.pages"), files("vista_guard.dashboard.elements")
    styles = shared.joinpath("tree.css").read_text("utf-8") + own.joinpath("editor.css").read_text("utf-8")
    return st.components.v2.component(
        "vista_guard_editor",
        html='<div class="vg editor"></div>',
        css=styles,
        js=own.joinpath("editor.js").read_text("utf-8"),
    )
