"""What papers printed, as data, and the checks on it.

`tables/*.toml` has the printed figures, `vista` reads them, `checks` recomputes what needs no model.
"""
