"""Factuality guardrails for conversational agents.

All that users and authors of judges, stores, policies, sinks and integrations need is here. Names are loaded when they are first
used, so that importing the package costs next to nothing.
"""

# isort: skip_file
# First of all, and without `__future__`, which is a module too: until then the working folder may lie on the import path.
from vista_guard._child import leave_working_folder

leave_working_folder()

from importlib import import_module  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

__version__ = "0.3.0"

_HOMES = {
    "errors": "Blocked BudgetError ConfigError InputError JudgeError StoreError VistaGuardError",
    "guard": "Guard Session",
    "judges.contract": "meter",
    "policy.label_policy": "LabelPolicy Rule",
    "policy.turn_risk": "macro_score micro_score vista_score",
    "protocols": (
        "Decomposer DocumentStore Embedder Judge KnowledgeStore LinkPolicy Policy ReportStore RiskPolicy Sink TextSink TurnJudge "
        "Verifier"
    ),
    "reading.chat_json": "to_conversation to_document",
    "reading.files": "read_persona",
    "settings.sources": "Limits Settings",
    "stream.gates": "Again Delta Found Gate Passed",
    "telemetry.config": "Telemetry",
    "types": (
        "Action Attempt Check Claim Conversation Decision Document DraftSpan Evidence EvidenceSet Finding JudgeInfo Label Link "
        "Outcome Passage Persona Record RepairMode Role SourceKind Span Turn TurnReport TurnTexts Unchecked Usage"
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from vista_guard.errors import Blocked as Blocked
    from vista_guard.errors import BudgetError as BudgetError
    from vista_guard.errors import ConfigError as ConfigError
    from vista_guard.errors import InputError as InputError
    from vista_guard.errors import JudgeError as JudgeError
    from vista_guard.errors import StoreError as StoreError
    from vista_guard.errors import VistaGuardError as VistaGuardError
    from vista_guard.guard import Guard as Guard
    from vista_guard.guard import Session as Session
    from vista_guard.judges.contract import meter as meter
    from vista_guard.policy.label_policy import LabelPolicy as LabelPolicy
    from vista_guard.policy.label_policy import Rule as Rule
    from vista_guard.policy.turn_risk import macro_score as macro_score
    from vista_guard.policy.turn_risk import micro_score as micro_score
    from vista_guard.policy.turn_risk import vista_score as vista_score
    from vista_guard.protocols import Decomposer as Decomposer
    from vista_guard.protocols import DocumentStore as DocumentStore
    from vista_guard.protocols import Embedder as Embedder
    from vista_guard.protocols import Judge as Judge
    from vista_guard.protocols import KnowledgeStore as KnowledgeStore
    from vista_guard.protocols import LinkPolicy as LinkPolicy
    from vista_guard.protocols import Policy as Policy
    from vista_guard.protocols import ReportStore as ReportStore
    from vista_guard.protocols import RiskPolicy as RiskPolicy
    from vista_guard.protocols import Sink as Sink
    from vista_guard.protocols import TextSink as TextSink
    from vista_guard.protocols import TurnJudge as TurnJudge
    from vista_guard.protocols import Verifier as Verifier
    from vista_guard.reading.chat_json import to_conversation as to_conversation
    from vista_guard.reading.chat_json import to_document as to_document
    from vista_guard.reading.files import read_persona as read_persona
    from vista_guard.settings.sources import Limits as Limits
    from vista_guard.settings.sources import Settings as Settings
    from vista_guard.stream.draft import Again as Again
    from vista_guard.stream.gates import Gate as Gate
    from vista_guard.stream.source import Delta as Delta
    from vista_guard.stream.source import Found as Found
    from vista_guard.stream.source import Passed as Passed
    from vista_guard.telemetry.config import Telemetry as Telemetry
    from vista_guard.types import Action as Action
    from vista_guard.types import Attempt as Attempt
    from vista_guard.types import Check as Check
    from vista_guard.types import Claim as Claim
    from vista_guard.types import Conversation as Conversation
    from vista_guard.types import Decision as Decision
    from vista_guard.types import Document as Document
    from vista_guard.types import DraftSpan as DraftSpan
    from vista_guard.types import Evidence as Evidence
    from vista_guard.types import EvidenceSet as EvidenceSet
    from vista_guard.types import Finding as Finding
    from vista_guard.types import JudgeInfo as JudgeInfo
    from vista_guard.types import Label as Label
    from vista_guard.types import Link as Link
    from vista_guard.types import Outcome as Outcome
    from vista_guard.types import Passage as Passage
    from vista_guard.types import Persona as Persona
    from vista_guard.types import Record as Record
    from vista_guard.types import RepairMode as RepairMode
    from vista_guard.types import Role as Role
    from vista_guard.types import SourceKind as SourceKind
    from vista_guard.types import Span as Span
    from vista_guard.types import Turn as Turn
    from vista_guard.types import TurnReport as TurnReport
    from vista_guard.types import TurnTexts as TurnTexts
    from vista_guard.types import Unchecked as Unchecked
    from vista_guard.types import Usage as Usage
else:
    __all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'vista_guard' has no attribute {name!r}")
    value = getattr(import_module(f"vista_guard.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
