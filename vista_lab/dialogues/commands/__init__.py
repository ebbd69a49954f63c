"""`vista-guard knowmt`: dialogues with assistants, judged fact by fact, as KnowMT-Bench does.

`run` asks, `judge` checks the answers against facts and reference answers, `report` makes the tables; each works on the run's
folder and can be repeated. `build` makes a set from your own questions, `validate` compares a judge with people,
`attribute` shows which tokens of a dialogue helped its last answer.
"""

from __future__ import annotations

from vista_guard.cli.common import command_group
from vista_lab.dialogues.commands.attribute import attribute
from vista_lab.dialogues.commands.build import build
from vista_lab.dialogues.commands.judge import judge
from vista_lab.dialogues.commands.report import report
from vista_lab.dialogues.commands.run import run
from vista_lab.dialogues.commands.validate import validate

knowmt_app = command_group("knowmt", "Measure whether an assistant stays factual over a dialogue (KnowMT-Bench).")
for command in (run, judge, report, build, validate, attribute):
    knowmt_app.command()(command)
