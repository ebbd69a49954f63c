"""Stored turns under other policies: what each would have let through, flagged, repaired and blocked. No judge is asked."""
