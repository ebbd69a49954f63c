"""Replays of one log side by side: which can be compared, what differs claim by claim, and who is right where people said so."""
