"""Factuality guardrails for conversational agents.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vista_guard.errors import Blocked, ConfigError, InputError, JudgeError, StoreError, VistaGuardError
    from vista_guard.guard import Guard, Session
    from vista_guard.policy.presets import LabelPolicy, Rule
    from vista_guard.policy.scoring import macro_score, micro_score, vista_score
    from vista_guard.settings.sources import Limits, Settings
    from vista_guard.types import (
        Action,
        Claim,
        Conversation,
        Decision,
        Document,
        Evidence,
        Finding,
        Label,
        Persona,
        RepairMode,
        Role,
        Span,
        Turn,
        TurnReport,
        Unchecked,
    )

_HOMES = {
    "errors": ("Blocked", "ConfigError", "InputError", "JudgeError", "StoreError", "VistaGuardError"),
    "guard": ("Guard", "Session"),
    "policy.presets": ("LabelPolicy", "Rule"),
    "policy.scoring": ("macro_score", "micro_score", "vista_score"),
    "settings.sources": ("Limits", "Settings"),
    "types": (
        "Action", "Claim", "Conversation", "Decision", "Document", "Evidence", "Finding", "Label",
        "Persona", "RepairMode", "Role", "Span", "Turn", "TurnReport", "Unchecked",
    ),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Blocked",
    "Claim",
    "ConfigError",
    "Conversation",
    "Decision",
    "Document",
    "Evidence",
    "Finding",
    "Guard",
    "InputError",
    "JudgeError",
    "Label",
    "LabelPolicy",
    "Limits",
    "Persona",
    "RepairMode",
    "Role",
    "Rule",
    "Session",
    "Settings",
    "Span",
    "StoreError",
    "Turn",
    "TurnReport",
    "Unchecked",
    "VistaGuardError",
    "macro_score",
    "micro_score",
    "vista_score",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vista_guard' has no attribute {name!r}")
    value = getattr(import_module(f"vista_guard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
