"""Reads logged conversations of many tools.

`formats.read_log` recognises the format and yields conversations. Each format is a module of `readers`, which `registry` finds.
`source` reads files, rows and archives; `roles` knows who speaks, `events` reads chat platforms' lists; `talks` makes
conversations of messages; `threads` puts messages of a trace in order.
"""
