"""Decomposers: split turns into claims, in place of the judge that verifies them."""
