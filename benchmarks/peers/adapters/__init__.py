"""One file for each contender. A peer's file runs in an environment that has that peer and nothing of this project."""
