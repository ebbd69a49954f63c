"""When something was said, as logs write it down. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

from vista_guard.errors import InputError

_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (float("-inf"), 1.0))
"""From which size on a number counts nanoseconds, microseconds or milliseconds since 1970, and how many make a second."""


def moment(value: object) -> datetime | None:
    """The time in UTC; one without a zone counts as UTC. None for nothing.

    Args:
        value: a time, ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970.

    Raises:
        InputError: it is none of these.
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(float(value))
        if isinstance(value, str):
            text = value.strip().removesuffix(" UTC")
            return (
                _since_1970(float(text))
                if text.replace(".", "", 1).isdecimal()
                else moment(datetime.fromisoformat(text))
            )
    except (ValueError, OverflowError, OSError):
        pass
    raise InputError(f"has the time {str(value)[:40]!r}; expected ISO 8601 or a number of seconds since 1970")


def _since_1970(number: float) -> datetime:
    scale = next((scale for least, scale in _UNITS if number >= least), 1.0)  # NaN is refused by the clock
    return datetime.fromtimestamp(number / scale, UTC)
