"""Suites that measure a judge on development and test files, for whoever trains one.

`sets` has each file with its floor and aim, `loaders` and `evalsets` read them, `challenge` has minimal pairs by hand.
"""
