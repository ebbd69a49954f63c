"""The tables of all telemetry names, from the code that defines them."""

from __future__ import annotations

from collections.abc import Sequence

from tools.markers import put_between
from vista_guard.telemetry import attributes as names

START, END = "<!-- names: written by `make docs` -->", "<!-- /names -->"

_TABLES: tuple[tuple[str, tuple[str, str, str], Sequence[names.Name]], ...] = (
    ("Spans", ("kind", "below", "what it is"), names.SPANS),
    ("Attributes of spans", ("type", "on", "what it says"), names.ATTRIBUTES),
    ("Events", ("which", "of", "what it says"), names.EVENTS),
    ("Attributes of events", ("type", "of", "what it says"), names.EVENT_ATTRIBUTES),
    ("Metrics", ("instrument, unit", "attributes", "what it counts"), names.METRICS),
    ("Metrics of the newest conventions", ("instrument, unit", "attributes", "what it counts"), names.LATEST_METRICS),
)


def with_names(page: str) -> str:
    """The page with the tables between its two markers."""
    return put_between(page, START, END, tables())


def tables() -> str:
    """One table for each kind of name."""
    return "\n\n".join(_table(title, columns, rows) for title, columns, rows in _TABLES)


def _table(title: str, columns: Sequence[str], rows: Sequence[names.Name]) -> str:
    head = f"### {title}\n\n| name | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}"
    return "\n".join(
        (head, *(f"| `{entry.name}` | {entry.kind} | {_plain(entry.on)} | {entry.says} |" for entry in rows))
    )


def _plain(place: str) -> str:
    """Formats names of spans as code, and words unchanged."""
    return f"`{place}`" if place.startswith("vista_guard.") else place
