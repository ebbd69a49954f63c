"""Decompose: exemplars, rewards, training and quality of decompositions, as in DAD (Magomere et al.)."""

from vista_lab.registry import Additions

ADDS = Additions(
    commands="vista_lab.decompose.commands:register",
    forms="vista_lab.decompose",
    tables={"dad": "vista_lab.decompose.tables:TABLES"},
    printed={"DAD": "vista_lab.decompose.printed:check_all"},
)
