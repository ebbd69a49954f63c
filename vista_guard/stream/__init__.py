"""Turns that arrive in pieces, and gates that hold text back until it is judged.

Begin with `gates`, the door; `sentence_gate` and `turn_gate` are the two ways to hold text, `boundaries` finds sentence ends
in unfinished text, `draft` judges an unfinished turn, `source` and `delivery` are its two ends.
"""
