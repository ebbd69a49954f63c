"""LLM-OASIS's own system (§5): claims by a decomposer, k passages a claim by a retriever, and Algorithm 1 over a verifier.

Its parts are the guard's settings `decomposer`, `embedder` and `verifier`: with none of them it runs on the shipped models, with
the folders of `vista-guard oasis train` on trained ones. It passes a claim that no passage speaks of, as the paper does, so it is
a system to compare with and no way to guard.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vista_guard.errors import ConfigError

if TYPE_CHECKING:
    from vista_guard.protocols import Judge
    from vista_lab.systems.guarded import Order

PASSAGES = 30
"""Passages for a claim. K = 30 in the paper (§7.1)."""
_ALL = 1_000_000
"""Passages of a turn's own documents that are ranked: the retriever sees them all."""


def oasis(order: Order) -> Judge:
    """The judge of system `oasis`: Algorithm 1, whatever judge is named.

    Raises ConfigError if option `passages` is no number from 1 on, or a model cannot be loaded.
    """
    order.given = None
    limits = order.settings.limits.model_copy(update={"retrieved": _passages(order)})
    order.settings = order.settings.model_copy(update={"judge": "embedded", "weighing": "first", "limits": limits})
    return order.judge()


def retrieval(order: Order) -> Mapping[str, Any]:
    """Settings of the guard: each claim by itself, `passages` at a time."""
    limits = order.settings.limits.model_copy(update={"passages": _ALL})
    return {"retrieve_by": "claim", "limits": limits}


def _passages(order: Order) -> int:
    given = order.options.get("passages", str(PASSAGES))
    if not given.isdecimal() or int(given) < 1:
        raise ConfigError(f"option passages of system {order.name} is {given!r}; it must be a whole number from 1 on")
    return int(given)
