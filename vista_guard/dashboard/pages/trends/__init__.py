"""Trends: what happened over hours and days, from the roll-ups alone."""
