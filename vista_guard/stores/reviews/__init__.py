"""What people say of verdicts: the review queue, annotations, and what they agreed on. In the database of the reports."""

from vista_guard.stores.reports.database import Database  # first: it says what is missing where something is
from vista_guard.stores.reviews.annotations import Annotations
from vista_guard.stores.reviews.consensus import Agreed, Consensus
from vista_guard.stores.reviews.queue import ReviewQueue
from vista_guard.stores.reviews.types import (
    AnnotatedClaim,
    Annotation,
    AnnotationTask,
    Batch,
    Operation,
    Reason,
    Review,
    Verdict,
)

__all__ = [
    "Agreed",
    "AnnotatedClaim",
    "Annotation",
    "AnnotationTask",
    "Annotations",
    "Batch",
    "Consensus",
    "Database",
    "Operation",
    "Reason",
    "Review",
    "ReviewQueue",
    "Verdict",
]
