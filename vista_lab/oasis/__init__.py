"""Oasis: tests and training data of a team's own documents, as LLM-OASIS makes them (Scirè et al. 2024)."""

from vista_lab.registry import Additions

ADDS = Additions(
    commands="vista_lab.cli.oasis:register",
    systems={"oasis": "vista_lab.oasis.system:RECIPE"},
    data_sets=("vista_lab.datasets.sets.oasis:data_sets",),
    tables={"oasis": "vista_lab.tables.oasis:TABLES"},
    printed={"LLM-OASIS": "vista_lab.papers.oasis:check_all"},
)
