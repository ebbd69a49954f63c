"""People's reviews and annotations, in the database of the reports.

`queue` holds turns that wait for a reviewer, `annotation` the work of annotators, `importing` finished work from elsewhere, and
`records` the values of all three. docs/reviewing.md and docs/annotating.md show them in use.
"""

from vista_guard.stores.reports.database import Database  # first: it says what is missing where something is

__all__ = ["Database"]
