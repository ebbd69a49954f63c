"""Data sets of the literature, read from their publishers' own files."""
