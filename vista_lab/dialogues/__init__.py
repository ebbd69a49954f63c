"""Dialogues: an assistant answers at the end of a dialogue, and every fact of it is judged, as in KnowMT-Bench."""

from vista_lab.registry import Additions

ADDS = Additions(
    commands="vista_lab.cli.knowmt:register",
    data_sets=("vista_lab.datasets.questions:data_sets",),
    printed={"KnowMT-Bench": "vista_lab.papers.knowmt:check_all"},
)
