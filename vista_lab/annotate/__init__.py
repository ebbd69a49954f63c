"""Annotate: people mark turns, claims, pairs and documents, on sheets or in the dashboard; agreement and consensus."""

from vista_lab.registry import Additions

ADDS = Additions(
    commands="vista_lab.annotate.commands:register",
    pages=("vista_lab.annotate.pages.annotate:PAGE",),
    forms="vista_lab.annotate",
)
