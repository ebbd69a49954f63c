"""VISTA's own tables: filled from runs, and as printed, with the checks on them that need no model."""
