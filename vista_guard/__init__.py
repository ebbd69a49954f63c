"""Factuality guardrails for conversational agents.

All that users and authors of judges, stores, policies, sinks and integrations need is here. Names are loaded when they are first
used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vista_guard.errors import (
        Blocked,
        BudgetError,
        ConfigError,
        InputError,
        JudgeError,
        StoreError,
        VistaGuardError,
    )
    from vista_guard.guard import Guard, Session
    from vista_guard.judges.contract import meter
    from vista_guard.policy.label_policy import LabelPolicy, Rule
    from vista_guard.policy.turn_risk import macro_score, micro_score, vista_score
    from vista_guard.protocols import (
        Decomposer,
        DocumentStore,
        Embedder,
        Judge,
        KnowledgeStore,
        Policy,
        ReportStore,
        RiskPolicy,
        Sink,
        TextSink,
        TurnJudge,
        Verifier,
    )
    from vista_guard.reading.chat_json import to_conversation, to_document
    from vista_guard.reading.files import read_persona
    from vista_guard.settings.sources import Limits, Settings
    from vista_guard.stream.draft import Again
    from vista_guard.stream.gates import Gate
    from vista_guard.stream.source import Delta, Found, Passed
    from vista_guard.telemetry.config import Telemetry
    from vista_guard.types import (
        Action,
        Attempt,
        Check,
        Claim,
        Conversation,
        Decision,
        Document,
        DraftSpan,
        Evidence,
        EvidenceSet,
        Finding,
        JudgeInfo,
        Label,
        Outcome,
        Passage,
        Persona,
        Record,
        RepairMode,
        Role,
        SourceKind,
        Span,
        Turn,
        TurnReport,
        TurnTexts,
        Unchecked,
        Usage,
    )

_HOMES = {
    "errors": "Blocked BudgetError ConfigError InputError JudgeError StoreError VistaGuardError",
    "guard": "Guard Session",
    "judges.contract": "meter",
    "policy.label_policy": "LabelPolicy Rule",
    "policy.turn_risk": "macro_score micro_score vista_score",
    "protocols": (
        "Decomposer DocumentStore Embedder Judge KnowledgeStore Policy ReportStore RiskPolicy Sink TextSink TurnJudge Verifier"
    ),
    "reading.chat_json": "to_conversation to_document",
    "reading.files": "read_persona",
    "settings.sources": "Limits Settings",
    "stream.gates": "Again Delta Found Gate Passed",
    "telemetry.config": "Telemetry",
    "types": (
        "Action Attempt Check Claim Conversation Decision Document DraftSpan Evidence EvidenceSet Finding JudgeInfo Label "
        "Outcome Passage Persona Record RepairMode Role SourceKind Span Turn TurnReport TurnTexts Unchecked Usage"
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

__version__ = "0.2.0"

__all__ = [
    "Action",
    "Again",
    "Attempt",
    "Blocked",
    "BudgetError",
    "Check",
    "Claim",
    "ConfigError",
    "Conversation",
    "Decision",
    "Decomposer",
    "Delta",
    "Document",
    "DocumentStore",
    "DraftSpan",
    "Embedder",
    "Evidence",
    "EvidenceSet",
    "Finding",
    "Found",
    "Gate",
    "Guard",
    "InputError",
    "Judge",
    "JudgeError",
    "JudgeInfo",
    "KnowledgeStore",
    "Label",
    "LabelPolicy",
    "Limits",
    "Outcome",
    "Passage",
    "Passed",
    "Persona",
    "Policy",
    "Record",
    "RepairMode",
    "ReportStore",
    "RiskPolicy",
    "Role",
    "Rule",
    "Session",
    "Settings",
    "Sink",
    "SourceKind",
    "Span",
    "StoreError",
    "Telemetry",
    "TextSink",
    "Turn",
    "TurnJudge",
    "TurnReport",
    "TurnTexts",
    "Unchecked",
    "Usage",
    "Verifier",
    "VistaGuardError",
    "macro_score",
    "meter",
    "micro_score",
    "read_persona",
    "to_conversation",
    "to_document",
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
