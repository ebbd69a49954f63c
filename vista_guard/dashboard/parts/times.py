"""Times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3600, 86_400


def ago(moment: datetime, now: datetime | None = None) -> str:
    """How long ago it was: `just now`, `40 s ago`, `3 min ago`, `5 h ago`, `2 d ago`."""
    seconds = ((now or datetime.now(UTC)) - aware(moment)).total_seconds()
    if seconds < 5:
        return "just now"
    if seconds < MINUTE:
        return f"{seconds:.0f} s ago"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if seconds < 2 * DAY:
        return f"{seconds // HOUR:.0f} h ago"
    return f"{seconds // DAY:.0f} d ago"


def exact(moment: datetime) -> str:
    """To the second, in UTC: `2026-11-22 01:05:07 UTC`."""
    return aware(moment).strftime("%Y-%m-%d %H:%M:%S UTC")


def span_of(milliseconds: float) -> str:
    """A duration: `0.4 ms`, `12 ms`, `3.4 s`."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def aware(moment: datetime) -> datetime:
    """In UTC. SQLite gives times back without their zone; they were written in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
