"""Whole turns through the guard: summaries, remarks in chat, and what each preset does with turns that were judged once."""
