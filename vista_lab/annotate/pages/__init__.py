"""The page on which people annotate, and see how far they agree."""
