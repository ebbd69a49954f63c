"""Decompose: exemplars, rewards, training and quality of decompositions, as DAD has them (Lu et al. 2025)."""

from vista_lab.registry import Additions

ADDS = Additions(
    commands="vista_lab.cli.decompose:register",
    tables={"dad": "vista_lab.tables.dad:TABLES"},
    printed={"DAD": "vista_lab.papers.dad:check_all"},
)
