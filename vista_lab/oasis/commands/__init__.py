"""`vista-guard oasis`: tests and training data from a team's own documents, as in LLM-OASIS.

This module registers the commands: `generate` makes, joins, counts and exports a set; `people` has the annotators' sheets, their
agreement and gold; `training` trains extractor, retriever and verifier on a set, and measures them; `submit` writes the
verdicts of a run in the benchmark's submission format.
"""

from __future__ import annotations

from vista_guard.cli.common import command_group
from vista_lab.oasis.commands import generate, people, submit, training

oasis_app = command_group("oasis", "Make tests and training data from your own documents (LLM-OASIS).")

oasis_app.command("generate")(generate.generate)
oasis_app.command("join")(generate.join)
oasis_app.command("stats")(generate.stats)
oasis_app.command("export")(generate.export)
oasis_app.command("sheets")(people.sheets)
oasis_app.command("agree")(people.agree)
oasis_app.command("train")(training.train)
oasis_app.command("score")(training.score)
oasis_app.command("submit")(submit.submit)
