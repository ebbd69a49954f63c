"""Figures that papers print, as data (`tables/*.toml`), and how they are checked; the checks of a paper are its task's."""
