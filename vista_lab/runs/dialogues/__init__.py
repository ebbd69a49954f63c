"""Dialogues held with an assistant, and the judging of its last answers (KnowMT-Bench).

    runs/k/
      manifest.json      question set, models, settings, and request parameters
      answers.jsonl      an `AnswerLine` a turn, written as soon as it is there
      statements.jsonl   a `StatementsLine` a scored answer and decomposer
      judgements.jsonl   a `JudgementLine` a pair and judge

Each file is resumed by the command that wrote it. Figures and tables are made from the folder, without asking or judging again.
"""
