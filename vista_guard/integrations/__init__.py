"""Guarded doors for other frameworks: one module each, which imports its framework."""
