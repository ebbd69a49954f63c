"""Annotate: people mark turns, claims, pairs and documents, on sheets or in the dashboard; agreement and consensus."""

from vista_lab.registry import Additions, Command

ADDS = Additions(
    commands=(
        Command(
            "annotations",
            "vista_lab.annotate.commands:annotations_app",
            "Make annotation sheets, and batches for the dashboard.",
        ),
        Command(
            "agree",
            "vista_lab.annotate.commands:agree",
            "Measure how far annotators agree, settle majorities, and list disputes.",
        ),
        Command(
            "reviews export",
            "vista_lab.annotate.commands:export_decided",
            "Write the decisions of reviewers and annotators in the format that `calibrate` reads.",
        ),
    ),
    pages=("vista_lab.annotate.pages.annotate:PAGE",),
    forms="vista_lab.annotate",
)
