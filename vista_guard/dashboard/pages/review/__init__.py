"""Review: turns that wait for a person, and what they decide."""
