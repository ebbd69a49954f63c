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
from vista_guard.types import Span, label_of
from vista_lab.annotate.batches import Condition, Draft
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
    TextMark,
    Value,
    display,
)
from vista_lab.annotate.sheets import NEW


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

    def answers(self, form: Form) -> Answers:
        """The rows as marks of a form. Raises InputError: a value is none that its mark takes."""
        item: dict[str, Value] = {}
        parts: dict[str, Mapping[str, Value]] = {}
        places: dict[str, tuple[int, int]] = {}
        for row in self.rows:
            if row.whole:
                item = _check_values(form, Level.ITEM, row.values)
                continue
            name = row.source_claim_id or f"{NEW} {sum(one.startswith(NEW) for one in parts) + 1}"
            parts[name] = _check_values(form, Level.PART, {**row.values, **_operation(row, form)})
            if row.source_claim_id is None and row.span is not None:
                places[name] = row.span.start, row.span.end
        if (note := _note_mark(form)) is not None and self.notes.strip():
            item[note.name] = note.read(self.notes.strip())
        return Answers(item, parts, places)


@dataclass(frozen=True)
class EditorEvents:
    """Events of the editor since the page's last run: its state, and the state that was submitted."""

    draft: EditorState | None
    submitted: EditorState | None


def edit(form: Form, item: Item, draft: Draft, turn: GuardedTurn | None, *, saved: float | None) -> EditorEvents:
    """Draws the editor of an item's marks.

    It starts from the draft; later input lives in the browser until `epoch` changes. `saved` is the `seq` of the last saved
    state. Raises InputError: the browser sent no valid marks.
    """
    note, labels = _note_mark(form), form.labels is not None
    unit = str(form.item if form.parts is None else form.parts.unit)
    data = {
        "text": "" if turn is None else turn.draft or "",
        "item": str(form.item),
        "unit": unit,
        "title": form.title if turn is None else f"Its {unit}s",
        "verb": "label" if labels else "mark",
        "verbed": "labelled" if labels else "marked",
        "revise": form.revision is not None,
        "rows": _rows(form, item, draft.answers),
        "marks": [_mark(mark, form) for mark in _shown_marks(form)],
        "notes": None if note is None else draft.answers.item.get(note.name, ""),
        "seconds": draft.seconds,
        "closed": draft.submitted,
        "suggested": {} if turn is None or draft.condition is Condition.BLIND else _suggestions(turn),
    }
    return _draw(f"{draft.task}-{draft.annotator}", data, saved)


def _rows(form: Form, item: Item, answers: Answers) -> list[dict[str, Any]]:
    """The item's parts, those that the annotator added, and the item itself if it has marks."""
    known = {part.id: part for part in item.parts}
    shown = {mark.name for mark in _shown_marks(form)}
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys((*known, *answers.parts)):
        values, part = answers.parts.get(name, {}), known.get(name)
        text, op = "" if part is None else part.texts.get(form.part_columns[0], ""), str(Op.CONFIRM)
        if form.revision is not None:
            op = str(values.get(form.revision.by, Op.CONFIRM))
            text = str(values.get(form.revision.words, text))
        place = answers.places.get(name) if part is None else part.place
        row = {"text": text, "op": op, "source_claim_id": None if part is None else name, "whole": False}
        span = None if place is None else {"start": place[0], "end": place[1]}
        rows.append({**row, "span": span, "values": {key: value for key, value in values.items() if key in shown}})
    if shown & {mark.name for mark in form.marks_of(Level.ITEM)}:
        rows.append({"text": "", "op": str(Op.CONFIRM), "span": None, "whole": True, "values": answers.item})
    return rows


def _shown_marks(form: Form) -> list[Mark]:
    """The marks with fields of their own. Where claims are revised, their texts are edited, and there is one box for notes."""
    revise = form.revision
    return [mark for mark in form.marks if revise is None or not (mark.name == revise.by or isinstance(mark, TextMark))]


def _note_mark(form: Form) -> TextMark | None:
    texts = (mark for mark in form.marks_of(Level.ITEM) if isinstance(mark, TextMark) and not mark.when)
    return next(texts, None) if form.revision is not None else None


def _operation(row: EditorRow, form: Form) -> dict[str, Value]:
    if form.revision is None:
        return {}
    text = row.text.strip() if row.op in (Op.EDIT, Op.ADD) else ""
    return {form.revision.by: str(row.op), **({form.revision.words: text} if text else {})}


def _draw(key: str, data: dict[str, Any], saved: float | None) -> EditorEvents:
    epoch = f"{key}-{st.session_state.get(f'epoch-{key}', 0)}"
    sent = {**data, "epoch": epoch, "saved": saved}
    result = _component()(key=f"editor-{epoch}", data=sent, on_draft_change=_nothing, on_submit_change=_nothing)
    return EditorEvents(_state(getattr(result, "draft", None)), _state(getattr(result, "submit", None)))


def _check_values(form: Form, level: Level, values: Mapping[str, Value]) -> dict[str, Value]:
    marks = {mark.name: mark for mark in form.marks_of(level)}
    checked: dict[str, Value] = {}
    for name, value in values.items():
        if name not in marks:
            raise InputError(f"the editor sent {name[:40]!r}, which is not a mark of form {form.name}")
        text = display(value)
        try:
            checked[name] = marks[name].read(text)
        except ValueError as exc:
            raise InputError(f"{name} is {text[:60]!r}: {exc}") from None
    return checked


def _mark(mark: Mark, form: Form) -> dict[str, Any]:
    levels = [str(level) for level in Level if mark in form.marks_of(level)]
    spec: dict[str, Any] = {"name": mark.name, "kind": mark.kind, "ask": mark.ask, "of": levels, "needed": mark.needed}
    by = None if form.revision is None else form.revision.by  # the editor knows which claims are deleted
    spec["when"] = {name: list(values) for name, values in mark.when.items() if name != by}
    spec["optional_when"] = {name: list(values) for name, values in mark.optional_when.items()}
    if isinstance(mark, ChoiceMark | ChoicesMark):
        spec["choices"] = [_choice(choice) for choice in mark.choices]
    if isinstance(mark, NumberMark):
        spec |= {"low": mark.low, "high": mark.high, "whole": mark.whole}
    return spec


def _choice(choice: Choice) -> dict[str, str]:
    plain = {"word": choice.value, "sign": "", "tone": "unchecked"}
    return {**(plain if choice.label is None else _look(choice.label)), "name": choice.value, "means": choice.means}


def _suggestions(turn: GuardedTurn) -> dict[str, dict[str, str]]:
    return {outcome.claim.id: _look(label_of(outcome)) for outcome in turn.report.outcomes}


def _look(name: str) -> dict[str, str]:
    style = look(name)
    return {"word": style.word, "sign": style.sign, "tone": style.tone}


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
    script = own.joinpath("editor.js").read_text("utf-8")
    html = '<div class="vg editor"></div>'
    return st.components.v2.component("vista_guard_editor", html=html, css=styles, js=script)
