"""Decomposers: what takes turns apart into claims, in place of the judge that verifies them."""
