"""Reading a chat model's answers. All of them are hostile input.

`tolerant` makes an answer readable (thoughts, broken JSON), `labels` finds labels, claim lists and quotes in prose, `parsing`
turns both into claims, verdicts and categories.
"""
