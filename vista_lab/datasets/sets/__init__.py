"""A loader for each published data set: its files in, conversations with gold labels out.

`registry.py`, one folder up, says which there are.
"""
