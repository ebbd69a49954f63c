"""Edits of English sentences by rule: what keeps a statement true, and what makes it false.

`text`, `values`, `names` read a sentence; `forms`, `vague`, `voice`, `register` say the same in other words; `falsify`,
`wording`, `logic`, `swaps` change what it says. `build` makes groups of twins for the shipped verifier's training, the room's
`alterations` and `paraphrases` use the same parts to make pairs of a team's own documents.
"""
