"""What keeps tenants apart in whatever is stored, and what of it they may see. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from vista_guard.errors import InputError
from vista_guard.protocols import DocumentStore
from vista_guard.types import Outcome, TurnReport, Unchecked

if TYPE_CHECKING:
    from vista_guard.proxy.settings import ProxySettings

SEPARATOR = "/"
"""No tenant's name holds it, so a stored id can be read in one way only."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\",;)]+", re.IGNORECASE)


def scoped(tenant: str, conversation_id: str) -> str:
    """The id under which a tenant's conversation is stored. Two tenants' ids are never the same, whatever they are.

    Raises:
        InputError: the id is empty.
    """
    if not conversation_id:
        raise InputError("the conversation's id is empty; leave it out for an anonymous conversation")
    return f"{tenant}{SEPARATOR}{conversation_id}"


def unscoped(tenant: str, stored_id: str) -> str:
    """The id as the tenant knows it.

    Raises:
        ValueError: the conversation is another tenant's.
    """
    owner, separator, conversation_id = stored_id.partition(SEPARATOR)
    if owner != tenant or not separator:
        raise ValueError("the conversation belongs to another tenant")
    return conversation_id


@runtime_checkable
class DividedDocuments(DocumentStore, Protocol):
    """A document store in which each tenant can have documents of its own."""

    def of_tenant(self, tenant: str, *, shared: bool) -> DocumentStore:
        """The tenant's part, in which searching finds the undivided store's documents only with `shared`."""
        ...


def documents_of(tenant: str, store: DocumentStore | None, settings: ProxySettings) -> DocumentStore | None:
    """What the tenant's turns are held against when they bring no documents: its own, and those of no tenant where it may.

    Everything is for everybody where there are no keys, and in a store that does not divide.
    """
    if not settings.keys or not isinstance(store, DividedDocuments):
        return store
    return store.of_tenant(tenant, shared=shares_documents(settings))


def shares_documents(settings: ProxySettings) -> bool:
    """Whether tenants retrieve documents that were added for none of them: a single one does, several only when told so."""
    return settings.shared_documents or len(settings.keys) < 2


def own_report(tenant: str, report: TurnReport) -> TurnReport:
    """The report as its tenant may see it: with the conversation's id as the tenant knows it, and without the addresses of
    judges and stores that warnings and errors name.

    Raises:
        ValueError: the report is another tenant's.
    """
    named = None if report.conversation_id is None else unscoped(tenant, report.conversation_id)
    attempts = [
        attempt.model_copy(update={"outcomes": tuple(map(_discreet, attempt.outcomes))}) for attempt in report.attempts
    ]
    return report.model_copy(
        update={
            "conversation_id": named,
            "outcomes": tuple(map(_discreet, report.outcomes)),
            "attempts": tuple(attempts),
            # What follows the colon is a store's or a judge's own account of what went wrong.
            "warnings": tuple(warning.partition(": ")[0] for warning in report.warnings),
        }
    )


def _discreet(outcome: Outcome) -> Outcome:
    if not isinstance(outcome, Unchecked):
        return outcome
    return outcome.model_copy(update={"error": _ADDRESS.sub("(address)", outcome.error)})
