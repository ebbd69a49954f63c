"""What a page shows when it has nothing to show: nothing yet, nothing found, or something that went wrong."""

from __future__ import annotations

from vista_guard.dashboard.parts.tree import Act, Node, draw, el


def empty(title: str, text: str, *, command: str | None = None, act: Act | None = None, button: str = "") -> Node:
    """Nothing here: what would fill it, with the command to type or a button to press."""
    return el(
        "section",
        el("h2", title),
        el("p", text),
        None if command is None else el("code", command, cls="command"),
        None if act is None else el("button", button, cls="plain", act=act),
        cls="state",
    )


def problem(title: str, error: object, next_step: str = "") -> Node:
    """Something went wrong: what, and what to do. The error's text may quote anything: it is shown as text."""
    return el(
        "section",
        el("h2", el("span", "!", cls="sign", aria_hidden="true"), title),
        el("p", str(error), cls="told"),
        el("p", next_step) if next_step else None,
        cls="state problem",
        role="alert",
    )


def show_problem(title: str, error: object, next_step: str = "") -> None:
    """Draws a problem where the page is."""
    draw(problem(title, error, next_step), key=f"problem-{title}")
