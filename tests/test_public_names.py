"""The surface: what users may import, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import vista_guard

VENDORS = (
    "chromadb",
    "diskcache",
    "langchain_core",
    "langgraph",
    "numpy",
    "onnxruntime",
    "openai",
    "pydantic",
    "sqlalchemy",
    "tokenizers",
    "torch",
)


def test_public_names() -> None:
    assert vista_guard.__all__ == [
        "Action", "Blocked", "Claim", "ConfigError", "Conversation", "Decision", "Document", "Evidence", "Finding", "Guard",
        "InputError", "JudgeError", "Label", "LabelPolicy", "Limits", "Persona", "RepairMode", "Role", "Rule", "Session",
        "Settings", "Span", "StoreError", "Turn", "TurnReport", "Unchecked", "VistaGuardError", "macro_score", "micro_score",
        "vista_score",
    ]  # fmt: skip
    assert [getattr(vista_guard, name).__name__ for name in vista_guard.__all__] == vista_guard.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'vista_guard' has no attribute 'Gard'"):
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
