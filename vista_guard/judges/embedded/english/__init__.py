"""Decomposition of English text into claims, by rules.

`decompose` is the entry point: `segment` finds sentences, `clauses` splits them, `asides` finds claims in passing, `speakers`
decontextualises, pronouns included, `cues` marks opinions and refusals; `words` and `verbs` know the words, and where predicates
begin.
"""
