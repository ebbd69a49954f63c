"""People's reviews, in the database of the reports.

`queue` has the turns to review and people's verdicts on them. docs/reviewing.md shows them in use.
"""

from vista_guard.stores.reports.database import Database  # first: it says what is missing where something is

__all__ = ["Database"]
