"""The system `oasis`: claims by a decomposer, passages by a retriever, and Algorithm 1 over a verifier (LLM-OASIS, §5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vista_guard.errors import ConfigError
from vista_guard.protocols import Judge
from vista_lab.systems.recipes import Order, SystemRecipe

PASSAGES = 30
"""Passages for a claim of system `oasis`. K = 30 in the paper (§7.1)."""


def _oasis(order: Order) -> Judge:
    """LLM-OASIS's own system (§5): claims by a decomposer, k passages a claim by a retriever, and Algorithm 1 over a verifier.

    Its parts are the guard's settings `decomposer`, `embedder` and `verifier`: with none of them it runs on the shipped models,
    with the folders of `vista-guard oasis train` on trained ones. It passes a claim that no passage speaks of, as the paper does,
    so it is a system to compare with and no way to guard.
    """
    text = order.options.get("passages", str(PASSAGES))
    if not text.isdecimal() or int(text) < 1:
        raise ConfigError(f"option passages of system {order.name} is {text!r}; it must be a whole number from 1 on")
    order.given = None  # Algorithm 1, whatever judge is named.
    limits = order.settings.limits.model_copy(update={"retrieved": int(text)})
    order.settings = order.settings.model_copy(update={"judge": "embedded", "weighing": "first", "limits": limits})
    return order.judge()


def _each_claim(order: Order) -> Mapping[str, Any]:
    """Settings of the guard: each claim by itself, `passages` at a time, of all passages of a turn's own documents."""
    return {"retrieve_by": "claim", "limits": order.settings.limits.model_copy(update={"passages": 1_000_000})}


RECIPE = SystemRecipe(
    _oasis,
    knowledge=False,
    retrieval=_each_claim,
    asks_judge=False,
    options=("passages",),
    defaults={"passages": str(PASSAGES)},
)
"""Implements the system for `vista-guard eval --system oasis`."""
