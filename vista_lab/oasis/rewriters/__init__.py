"""Edits of English sentences by rule: what keeps a statement true, and what makes it false.

`text`, `values`, `names` read a sentence; `forms`, `voice` say the same in other words; `falsify`, `wording`,
`logic`, `swaps` change what it says. The room's `alterations` and `paraphrases` make pairs of a team's documents of them,
`training/rewriting` groups of twins for the shipped verifier's training.
"""
