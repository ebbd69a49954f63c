"""The editor of claims: a component that works in the browser and tells what it has, so that no key waits for the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import streamlit as st
from pydantic import TypeAdapter, ValidationError

from vista_guard.dashboard.elements.tree import look, name_of
from vista_guard.dashboard.turns import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviews.records import AnnotatedClaim, Annotation, Condition
from vista_guard.types import Label

_CLAIMS = TypeAdapter(tuple[AnnotatedClaim, ...])


@dataclass(frozen=True)
class Draft:
    """What stands in the editor. `seq` tells states of one window apart."""

    seq: float
    claims: tuple[AnnotatedClaim, ...]
    notes: str
    seconds: float


@dataclass(frozen=True)
class Answer:
    """What the editor told since the page was last run: its state, and the state that was submitted."""

    draft: Draft | None
    submitted: Draft | None


def editor(annotation: Annotation, turn: GuardedTurn, *, saved: float | None) -> Answer:
    """Draws the editor of an annotation.

    Args:
        annotation: the state it begins with. What is typed later is the browser's, until another `epoch`.
        turn: whose draft is marked, and whose claims are proposed.
        saved: `seq` of the state that was saved last.

    Raises:
        InputError: what came from the browser is no annotation.
    """
    epoch = f"{annotation.id}-{st.session_state.get(f'epoch-{annotation.id}', 0)}"
    data = {
        "epoch": epoch,
        "text": turn.draft or "",
        "claims": [claim.model_dump(mode="json") for claim in annotation.claims or proposed(turn)],
        "notes": annotation.notes,
        "seconds": annotation.seconds,
        "closed": annotation.submitted,
        "saved": saved,
        "labels": [_look(label) for label in Label],
        "suggested": _suggested(turn) if annotation.condition is Condition.SUGGESTIONS else {},
    }
    told = _component()(key=f"editor-{epoch}", data=data, on_draft_change=_nothing, on_submit_change=_nothing)
    return Answer(_draft(getattr(told, "draft", None)), _draft(getattr(told, "submit", None)))


def proposed(turn: GuardedTurn) -> tuple[AnnotatedClaim, ...]:
    """The judge's claims, without what it made of them: annotators begin with these (VISTA, App. C)."""
    claims = (outcome.claim for outcome in turn.report.outcomes)
    return tuple(AnnotatedClaim(text=one.text, source_claim_id=one.id, span=one.span) for one in claims)


def _suggested(turn: GuardedTurn) -> dict[str, dict[str, str]]:
    return {outcome.claim.id: _look(name_of(outcome)) for outcome in turn.report.outcomes}


def _look(name: str) -> dict[str, str]:
    shown = look(name)
    return {"name": str(name), "word": shown.word, "sign": shown.sign, "tone": shown.tone}


def _draft(told: Any) -> Draft | None:
    if not isinstance(told, Mapping):
        return None
    try:
        claims = _CLAIMS.validate_python(told.get("claims"))
        return Draft(float(told["seq"]), claims, str(told.get("notes", "")), float(told.get("seconds", 0)))
    except (KeyError, TypeError, ValueError) as exc:
        problem = exc.errors()[0]["msg"] if isinstance(exc, ValidationError) else str(exc)
        raise InputError(f"what the editor sent cannot be kept: {problem}") from None


def _nothing() -> None:
    """Streamlit keeps a component's value only where somebody listens to it."""


@cache
def _component() -> Any:
    own, shared = files("vista_guard.dashboard.pages.annotate"), files("vista_guard.dashboard.elements")
    styles = shared.joinpath("tree.css").read_text("utf-8") + own.joinpath("editor.css").read_text("utf-8")
    return st.components.v2.component(
        "vista_guard_editor",
        html='<div class="vg editor"></div>',
        css=styles,
        js=own.joinpath("editor.js").read_text("utf-8"),
    )
