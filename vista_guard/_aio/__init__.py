"""Sync over async: one background loop for the sync doors, and streams between threads, tasks and loops."""
