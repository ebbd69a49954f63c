"""Generates tests and training data from a team's own documents, as LLM-OASIS does (Scirè et al., §3).

A passage becomes a record: its claims, one of them falsified, a factual text and an unfactual one. `records` defines a record;
every other module here makes, checks, splits or exports records.

    from vista_lab.synthesis import EmbeddedGenerator, make_set

    outcome = asyncio.run(make_set(Path("handbook"), Path("ours"), EmbeddedGenerator()))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vista_lab.synthesis.chat import ModelGenerator
    from vista_lab.synthesis.embedded import EmbeddedGenerator
    from vista_lab.synthesis.exports import Exporting, export
    from vista_lab.synthesis.generate import make_set
    from vista_lab.synthesis.judged import VerifierGates
    from vista_lab.synthesis.passages import Cut
    from vista_lab.synthesis.records import Record, read_records
    from vista_lab.synthesis.statistics import figures

_HOMES = {
    "Cut": "passages",
    "EmbeddedGenerator": "embedded",
    "Exporting": "exports",
    "ModelGenerator": "chat",
    "Record": "records",
    "VerifierGates": "judged",
    "export": "exports",
    "figures": "statistics",
    "make_set": "generate",
    "read_records": "records",
}
__all__ = [
    "Cut",
    "EmbeddedGenerator",
    "Exporting",
    "ModelGenerator",
    "Record",
    "VerifierGates",
    "export",
    "figures",
    "make_set",
    "read_records",
]


def __getattr__(name: str) -> Any:
    # Lazy import: the English rules need the extra `oasis`, records do not.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
