"""Reads logged conversations of many tools.

`formats.read_log` recognises the format and yields conversations; each format has a module with `parse` and
`looks_like_it`. `source` reads files, rows and archives; `threads` puts messages of a trace in order.
"""
