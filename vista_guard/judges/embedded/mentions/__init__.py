"""Statements that evidence only mentions: questions, reports, denials, suppositions, plans, fiction. They support nothing.

`frames` splits a sentence into stated, mentioned and denied parts; `passage` adds the context of title, heading and neighbours;
`clauses`, `cues` and `words` have the patterns.
"""
