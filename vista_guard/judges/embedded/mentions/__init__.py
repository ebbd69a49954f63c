"""Statements that evidence only mentions: questions, reports, denials, suppositions, plans, fiction. They support nothing.

`clauses` splits a sentence into stated, mentioned and denied parts, by the patterns of `cues`; `passage` adds the context of
title, heading and neighbours.
"""
