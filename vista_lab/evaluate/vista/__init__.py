"""VISTA's own tables: filled from runs, and as printed."""
