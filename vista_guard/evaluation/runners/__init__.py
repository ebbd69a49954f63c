"""Logs through the guard, resumable, and the files of reports they leave."""
