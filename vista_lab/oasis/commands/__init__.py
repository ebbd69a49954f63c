"""`vista-guard oasis`: tests and training data from a team's own documents, as in LLM-OASIS.

This module registers the commands: `generate` makes, joins, counts and exports a set; `people` has the annotators' sheets, their
agreement and gold; `training` trains extractor, retriever and verifier on a set, and measures them; `submit` writes the
verdicts of a run in the benchmark's submission format.
"""

from __future__ import annotations

from vista_guard.cli.common import command_group
from vista_lab.oasis.commands import generate, people, submit, training

oasis_app = command_group("oasis", "Make tests and training data from your own documents (LLM-OASIS).")

_MADE, _CHECKED = (generate.generate, generate.join, generate.stats, generate.export), (people.sheets, people.agree)
for command in (*_MADE, *_CHECKED, training.train, training.score, submit.submit):
    oasis_app.command()(command)
