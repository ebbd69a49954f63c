"""The revisions, a module each; `down_revision` names the one before.

A revision never changes after its release: databases that ran it would differ from new ones.
`tests/stores/test_schema.py` opens a database of each.
"""
