"""Logs and benchmarks through the same guard: readers, replay, metrics and tables."""
