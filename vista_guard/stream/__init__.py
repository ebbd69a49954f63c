"""Turns that arrive in pieces, and gates that hold text back until it is judged.

Begin with `gates`, the door, which also holds whole turns; `sentence_gate` holds sentence by sentence, `boundaries` finds
sentence ends in unfinished text, `draft` judges an unfinished turn, `source` has its two ends: what comes in and what goes out.
"""
