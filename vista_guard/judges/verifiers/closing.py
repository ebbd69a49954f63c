"""Closing verifiers that hold connections, alone or inside another one."""

from __future__ import annotations

from vista_guard.protocols import Verifier


async def close(*verifiers: Verifier) -> None:
    """Closes each that can be closed."""
    for verifier in verifiers:
        closing = getattr(verifier, "aclose", None)
        if closing is not None:
            await closing()
