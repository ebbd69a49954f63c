"""The study with people."""
