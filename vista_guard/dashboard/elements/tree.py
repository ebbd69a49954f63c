"""Pages as trees of elements that the browser creates one by one; no text is ever read as HTML or Markdown.

Content reaches a page only as an element's text or as the value of a few attributes, both set through the DOM.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, wraps
from importlib.resources import files
from itertools import pairwise
from typing import Any, Generic, ParamSpec, TypeVar
from urllib.parse import urlsplit

import streamlit as st

from vista_guard.dashboard.elements.looks import look
from vista_guard.errors import NoReportsError, StoreError, VistaGuardError
from vista_guard.policy.explanations import Explanation
from vista_guard.types import Span

_TAGS = (
    "a article aside b blockquote button code dd details div dl dt em footer h1 h2 h3 h4 header hr i kbd label li "
    "mark nav ol p q section small span strong summary table tbody td th thead time tr ul"
)
TAGS = frozenset(_TAGS.split())
ATTRIBUTES = frozenset(
    ["role", "tabindex", "title", "datetime", "scope", "colspan", "open", "lang", "dir", "disabled", "target", "rel"]
)
"""Besides these: `href`, and all that begin with `aria-` or `data-`."""


@dataclass(frozen=True)
class Act:
    """The event of a pressed element: the page runs again and `draw` returns this."""

    name: str
    value: str = ""


@dataclass(frozen=True)
class Selection:
    """Text selected by mouse or keyboard. Offsets are code points of the element's own text, half-open."""

    name: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Node:
    """An element. Create it with `el`."""

    tag: str
    children: tuple[Node | str, ...] = ()
    cls: str = ""
    key: str | None = None
    act: Act | None = None
    select: Act | None = None
    reveal: str | None = None
    style: Mapping[str, float] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def wire(self) -> dict[str, Any]:
        """Converts the tree for the browser."""
        message = {
            "t": self.tag,
            "c": self.cls,
            "k": self.key,
            "act": self.act and asdict(self.act),
            "sel": self.select and asdict(self.select),
            "r": self.reveal,
            "s": dict(self.style),
            "a": dict(self.attributes),
            "n": [child if isinstance(child, str) else child.wire() for child in self.children],
        }
        return {name: value for name, value in message.items() if value}

    def text(self) -> str:
        """All text of the element, for tests."""
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


def el(
    tag: str,
    *children: Node | str | None,
    cls: str = "",
    key: str | None = None,
    act: Act | None = None,
    select: Act | None = None,
    reveal: str | None = None,
    style: Mapping[str, float] | None = None,
    **attributes: str | None,
) -> Node:
    """Creates an element. Children that are None are left out.

    Args:
        tag: one of `TAGS`.
        children: elements, and texts, which are shown as they are.
        cls: classes of `tree.css`.
        key: tells it from its siblings when the page is drawn again: focus and scrolling stay with it.
        act: what `draw` returns when it is pressed. Anything but a `button`, `a` or `summary` gets `role` and `tabindex` for it.
        select: what `draw` returns, with offsets, when a part of its text is selected.
        reveal: when this value changes, the element is scrolled into view.
        style: percentages, of `left`, `width` and `height`.
        attributes: `href` and those of `ATTRIBUTES`; `aria_label` stands for `aria-label`. None leaves one out.

    Raises:
        ValueError: a tag or an attribute that a page may not have.
    """
    if tag not in TAGS:
        raise ValueError(f"{tag!r} is not an element that a page may have; take one of {', '.join(sorted(TAGS))}")
    content = tuple(child for child in children if child is not None and child != "")
    attrs = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items() if value is not None}
    for name, value in attrs.items():
        _check(name, value)
    if "href" in attrs and urlsplit(attrs["href"]).scheme:
        attrs = {"target": "_blank", "rel": "noopener noreferrer", **attrs}
    if act is not None and tag not in ("a", "button", "summary"):
        attrs = {"role": "button", "tabindex": "0", **attrs}
    return Node(tag, content, cls, key, act, select, reveal, style or {}, attrs)


def draw(node: Node, key: str) -> Act | Selection | None:
    """Draws the tree, and returns the press or selection since the last run.

    Args:
        node: the root.
        key: of this place on the page. Drawing other things under the same key changes what is there, and keeps its focus.

    Example:
        >>> node = el("p", "The hall opened in ", el("b", "1931", cls="vg-quote"))
        >>> event = draw(node, key="note")          # inside a Streamlit script
        >>> event.name if event else None           # the `act` of the pressed button or mark
    """
    # Streamlit keeps a component's value only for a listener.
    event = getattr(_component()(key=key, data=node.wire(), on_event_change=lambda: None), "event", None)
    if not isinstance(event, Mapping):
        return None
    name, value = str(event.get("name", "")), str(event.get("value", ""))
    start, end = event.get("start"), event.get("end")
    if isinstance(start, int) and isinstance(end, int):
        return Selection(name, value, start, end)
    return Act(name, value)


def _check(name: str, value: str) -> None:
    if name == "href":
        if urlsplit(value).scheme not in ("", "http", "https"):
            raise ValueError(f"a page may not link to {value!r}; give a path, http or https")
    elif name not in ATTRIBUTES and not name.startswith(("aria-", "data-")):
        raise ValueError(
            f"{name!r} is not an attribute that a page may set; take one of {', '.join(sorted(ATTRIBUTES))}"
        )


@cache
def _component() -> Any:
    here = files("vista_guard.dashboard.elements")
    return st.components.v2.component(
        "vista_guard_tree",
        html='<div class="vg"></div>',
        css=here.joinpath("tree.css").read_text("utf-8"),
        js=here.joinpath("tree.js").read_text("utf-8"),
    )


def empty(title: str, text: str, *, command: str | None = None, act: Act | None = None, button: str = "") -> Node:
    """Draws an empty state: what would fill it, with a command to type or a button to press."""
    return el(
        "section",
        el("h2", title),
        el("p", text),
        None if command is None else el("code", command, cls="command"),
        None if act is None else el("button", button, cls="plain", act=act),
        cls="state",
    )


def folded(title: str, text: str) -> Node:
    """Draws a section that has nothing to show as one line, with the reason inside."""
    return el("details", el("summary", title, ": nothing"), el("p", text, cls="small faint"), cls="folded")


def pager(name: str, first: str, more: str, *, begun: str | None, next: str | None) -> Node | None:
    """Draws buttons to the first page, where one has `begun` to turn pages, and to the next, where there is one."""
    back = el("button", first, cls="plain", act=Act(name)) if begun else None
    on = el("button", more, cls="plain", act=Act(name, next)) if next else None
    return el("div", back, on, cls="row") if back or on else None


def problem(title: str, error: object, next_step: str = "") -> Node:
    """Draws an error and its remedy. The error's text may quote anything and is shown as text."""
    return el(
        "section",
        el("h2", el("span", "!", cls="sign", aria_hidden="true"), title),
        el("p", str(error), cls="told"),
        el("p", next_step) if next_step else None,
        cls="state problem",
        role="alert",
    )


def show_problem(title: str, error: object, next_step: str = "") -> None:
    """Draws a problem on the page."""
    draw(problem(title, error, next_step), key=f"problem-{title}")


P = ParamSpec("P")

logger = logging.getLogger("vista_guard")


def shown(draw_it: Callable[P, None]) -> Callable[P, None]:
    """Wraps a page or a fragment so that errors are drawn in its place."""

    @wraps(draw_it)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            draw_it(*args, **kwargs)
        except NoReportsError:
            raise  # an invitation, which the whole page gives
        except StoreError as exc:
            show_problem("The reports cannot be read", exc, "Fix the cause, then reload the page.")
        except VistaGuardError as exc:
            show_problem("This cannot be shown", exc)
        except Exception:
            # What it says may quote a conversation: it goes to the log of whoever runs this, not into the page.
            logger.exception("%s failed", draw_it.__name__)
            show_problem("This page failed", "Unexpected error. See the dashboard's log.", "Load the page anew.")

    return guarded


def shorten(text: str, most: int) -> str:
    """Returns the text on one line, with an ellipsis where it is cut to `most` characters.

    Example:
        >>> shorten("The hall opened\\n in 1931.", 14)
        'The hall open…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


def tile(title: str, figure: str | Node, then: str | None, mark: Node | None = None) -> Node:
    """Draws a figure with its title and its earlier value, `then`."""
    return el(
        "div",
        el("dt", mark, f" {title}" if mark else title),
        el("dd", figure, cls="figure"),
        None if then is None else el("dd", then, cls="then"),
        cls="tile",
    )


def clause(explanation: Explanation, *, whole: bool = False) -> Node:
    """Draws the reason for a turn's decision, the evidence's name in italics; `whole` puts the action before it."""
    done = f"{explanation.done}: " if whole else None
    source = el("em", explanation.source) if explanation.source else None
    return el("span", done, explanation.before, source, explanation.after, cls="text")


def chip(name: str) -> Node:
    """Draws a small mark with sign and word."""
    style = look(name)
    return el("span", sign(name), style.word, cls=f"chip tone-{style.tone}")


def count_chip(name: str, count: int) -> Node:
    """Draws a chip with a count: `✗ 2`, with the word for screen readers."""
    style = look(name)
    text = f"{count} {style.word}"
    return el("span", sign(name), str(count), cls=f"chip tone-{style.tone}", title=text, role="img", aria_label=text)


def sign(name: str) -> Node:
    """Draws the sign alone; screen readers read the word beside it."""
    return el("span", look(name).sign, cls="sign", aria_hidden="true")


T = TypeVar("T")


@dataclass(frozen=True)
class TextPiece(Generic[T]):
    """A stretch of text that all of `owners` share, in the order they were given; nobody's when there are none."""

    text: str
    owners: tuple[T, ...] = ()


def pieces(text: str, ranges: Sequence[tuple[Span, T]]) -> tuple[TextPiece[T], ...]:
    """Cuts the text at each border of a range, so that overlapping claims can each be drawn and pressed.

    Offsets are code points. A range that reaches beyond the text is cut at its end; an empty one marks nothing.

    Example:
        >>> [piece.owners for piece in pieces("abcd", [(Span(start=0, end=3), "x"), (Span(start=2, end=4), "y")])]
        [('x',), ('x', 'y'), ('y',)]
    """
    borders = {0, len(text)}
    for span, _ in ranges:
        borders |= {min(span.start, len(text)), min(span.end, len(text))}
    places = sorted(borders)
    return tuple(
        TextPiece(text[start:end], tuple(owner for span, owner in ranges if span.start < end and start < span.end))
        for start, end in pairwise(places)
    )
