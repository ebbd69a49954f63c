"""Decomposition of English text into claims, by rules.

`decompose` ties it together: `segment` finds sentences, `clauses` and `predicates` split them, `asides` finds claims in passing,
`pronouns` and `speakers` decontextualise, `cues` marks opinions and refusals; `words`, `verbs` and `lexicon` know the words.
"""
