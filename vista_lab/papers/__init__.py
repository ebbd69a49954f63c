"""Printed figures of papers as data, and the checks on them.

`tables/*.toml` has the printed figures, `vista` reads them, `checks` recomputes what needs no model.
"""
