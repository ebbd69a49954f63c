"""Oasis: tests and training data of a team's own documents, as LLM-OASIS makes them (Scirè et al. 2024, §3).

A passage becomes a record: its claims, one of them falsified, a factual text and an unfactual one. `records` defines a record;
`generate` makes them, `people` has them checked, `exports` writes them, `training` trains on them.

    from vista_lab.oasis import EmbeddedGenerator, make_set

    outcome = asyncio.run(make_set(Path("handbook"), Path("ours"), EmbeddedGenerator()))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from vista_lab.registry import PAPERS, Additions, Command

if TYPE_CHECKING:
    from vista_lab.oasis.chat import ModelGenerator
    from vista_lab.oasis.embedded import EmbeddedGenerator
    from vista_lab.oasis.exports import Exporting, export
    from vista_lab.oasis.generate import make_set
    from vista_lab.oasis.judged import VerifierGates
    from vista_lab.oasis.passages import Cut
    from vista_lab.oasis.records import Record, read_records
    from vista_lab.oasis.statistics import figures

ADDS = Additions(
    commands=(
        Command(
            "oasis",
            "vista_lab.oasis.commands:oasis_app",
            "Make tests and training data from your own documents (LLM-OASIS).",
            PAPERS,
        ),
    ),
    systems={"oasis": "vista_lab.oasis.system:RECIPE"},
    data_sets="vista_lab.oasis",
    forms="vista_lab.oasis",
    tables={"oasis": "vista_lab.oasis.tables:TABLES"},
)

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
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
