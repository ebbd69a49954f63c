"""Statements that evidence only mentions: questions, reports, denials, suppositions, plans, fiction. They support nothing.

`clauses` splits a sentence into stated, mentioned and denied parts, with the patterns of `cues`; `passage` adds title, heading
and neighbours as context.
"""
