"""Verifiers side by side on development files: who scores, on what, and what it comes to."""
