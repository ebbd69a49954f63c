"""Dialogues: an assistant answers at the end of a dialogue, and every fact of it is judged, as in KnowMT-Bench.

    runs/k/
      manifest.json      question set, models, settings, and request parameters
      answers.jsonl      an `AnswerLine` a turn, written as soon as it is there
      statements.jsonl   a `StatementsLine` a scored answer and decomposer
      judgements.jsonl   a `JudgementLine` a pair and judge

Each file is resumed by the command that wrote it. Figures and tables are made from the folder, without asking or judging again.
"""

from vista_lab.registry import PAPERS, Additions, Command

ADDS = Additions(
    commands=(
        Command(
            "knowmt",
            "vista_lab.dialogues.commands:knowmt_app",
            "Measure whether an assistant stays factual over a dialogue (KnowMT-Bench).",
            PAPERS,
        ),
    ),
    data_sets="vista_lab.dialogues",
    forms="vista_lab.dialogues",
)
