"""The surface: what users may import, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import vista_guard
from tests.raising import raises
from vista_guard import protocols

VENDORS = (
    "chromadb",
    "diskcache",
    "langchain_core",
    "langgraph",
    "numpy",
    "onnxruntime",
    "openai",
    "opentelemetry",
    "pydantic",
    "sqlalchemy",
    "tokenizers",
    "torch",
)


def test_public_names() -> None:
    assert vista_guard.__all__ == [
        "Action", "Again", "Attempt", "Blocked", "BudgetError", "Check", "Claim", "ConfigError", "Conversation", "Decision",
        "Decomposer", "Delta", "Document", "DocumentStore", "DraftSpan", "Embedder", "Evidence", "EvidenceSet", "Finding",
        "Found", "Gate", "Guard", "InputError", "Judge", "JudgeError", "JudgeInfo", "KnowledgeStore", "Label", "LabelPolicy",
        "Limits", "Link", "LinkPolicy", "Outcome", "Passage", "Passed", "Persona", "Policy", "Record", "RepairMode",
        "ReportStore", "RiskPolicy", "Role", "Rule", "Session", "Settings", "Sink", "SourceKind", "Span", "StoreError",
        "Telemetry", "TextSink", "Turn", "TurnJudge", "TurnReport", "TurnTexts", "Unchecked", "Usage", "Verifier",
        "VistaGuardError", "macro_score", "meter", "micro_score", "read_persona", "to_conversation", "to_document",
        "vista_score",
    ]  # fmt: skip


def test_the_methods_of_the_guard_and_of_a_session() -> None:
    assert _methods(vista_guard.Guard) == [
        "acheck", "acheck_answer", "aclose", "aforget", "areplay", "check", "check_answer", "close", "forget",
        "from_settings", "gated", "graph", "replay", "session", "stream", "wrap",
    ]  # fmt: skip
    assert _methods(vista_guard.Session) == ["aassistant", "assistant", "close", "conversation", "reports", "user"]


def _methods(owner: type) -> list[str]:
    return sorted(name for name in vars(owner) if not name.startswith("_"))


def test_every_public_name_is_there_under_its_own_name() -> None:
    aliases = {"Again", "Delta", "Gate", "Outcome", "Record"}  # types that have no name of their own
    found = {name: getattr(vista_guard, name) for name in vista_guard.__all__}
    assert [name for name, value in found.items() if name not in aliases and value.__name__ != name] == []


def test_authors_need_no_inner_module() -> None:
    """What the contracts of the seams name is public: every type in a signature of the protocols."""
    source = Path(protocols.__file__).read_text(encoding="utf-8")
    named = {node.id for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Name) and node.id[0].isupper()}
    foreign = {"Sequence", "Protocol", "NDArray", "TYPE_CHECKING", "Literal"}
    assert named - foreign - set(vista_guard.__all__) == set()


def test_an_unknown_name_is_an_attribute_error() -> None:
    with raises(AttributeError, "vista_guard", "Gard"):
        _ = vista_guard.Gard


def test_importing_loads_no_vendor() -> None:
    script = f"import sys, vista_guard; print([name for name in {VENDORS!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_guard_itself_loads_no_store_and_no_model() -> None:
    heavy = ("chromadb", "onnxruntime", "langgraph")
    script = f"import sys; from vista_guard import Guard; print([name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
