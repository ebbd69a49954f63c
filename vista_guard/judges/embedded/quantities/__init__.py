"""Amounts, times, dates and identifiers in any written form.

`amounts` reads them, `veto` finds those of a claim that its evidence lacks, `weekdays` does the same for days.
"""
