"""Amounts, times, dates and identifiers in any of their written forms, and what of a claim's evidence lacks."""
