"""A replay's figures as people read them: tables."""
