"""What people say of reports, in the database that holds them: the review queue, annotations, consensus."""

from vista_guard.stores.reports.database import Database  # first: it says what is missing where something is

__all__ = ["Database"]
