"""Published benchmarks, one TOML file each: files, fields, labels, measures and printed rows; `describing` reads them.

`reading` turns their rows into conversations.
"""
