"""Annotate: turns labelled by people, blind to each other and to the judge; how far they agree, and what they settle."""
