"""The page of one conversation: the dialogue, the panel of a turn, the evidence of a claim.

`page` puts them together; each of the others draws one column.
"""
