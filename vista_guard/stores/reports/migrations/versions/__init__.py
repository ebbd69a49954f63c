"""The revisions, a module each, oldest first: `baseline`, `questions`.

A revision never changes after its release: databases that ran it would differ from new ones.
`tests/stores/test_schema.py` opens a database of each.
"""
