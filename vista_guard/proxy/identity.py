"""The conversation that a request belongs to, and what keeps tenants apart in the stores.

An anonymous conversation's earlier turns are recognised by a fingerprint of all that was said up to them; others are judged once.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

from vista_guard.errors import InputError, StoreError
from vista_guard.guard import Guard
from vista_guard.openai_api.wire import check_name, read_header
from vista_guard.protocols import DocumentStore
from vista_guard.proxy.settings import ProxySettings
from vista_guard.turn.evidence import past_key
from vista_guard.turn.report import earned_claims
from vista_guard.turn.work import past_claims
from vista_guard.types import Conversation, Outcome, TurnReport, Unchecked

SEPARATOR = "/"
"""No tenant's name holds it, so a stored id can be read in one way only."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://[^\s'\",;)]+", re.IGNORECASE)


def scoped(tenant: str, conversation_id: str) -> str:
    """The id under which a tenant's conversation is stored. Two tenants' ids are never the same."""
    if not conversation_id:
        raise InputError("the conversation's id is empty; leave it out for an anonymous conversation")
    return f"{tenant}{SEPARATOR}{conversation_id}"


def unscoped(tenant: str, stored_id: str) -> str:
    """The id as the tenant knows it. ValueError: the conversation is another tenant's."""
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


def shares_documents(settings: ProxySettings) -> bool:
    """True if tenants retrieve documents that were added for none of them: a single one does, several only if configured."""
    return settings.shared_documents or len(settings.keys) < 2


def own_report(tenant: str, report: TurnReport) -> TurnReport:
    """The report as its tenant may see it: its own name for the conversation, and no addresses of judges and stores."""
    conversation_id = None if report.conversation_id is None else unscoped(tenant, report.conversation_id)
    return report.model_copy(
        update={
            "conversation_id": conversation_id,
            "outcomes": _redact_addresses(report.outcomes),
            "attempts": tuple(
                attempt.model_copy(update={"outcomes": _redact_addresses(attempt.outcomes)})
                for attempt in report.attempts
            ),
            # After the colon comes a store's or a judge's own error text.
            "warnings": tuple(warning.partition(": ")[0] for warning in report.warnings),
        }
    )


def _redact_addresses(outcomes: tuple[Outcome, ...]) -> tuple[Outcome, ...]:
    return tuple(
        outcome.model_copy(update={"error": _ADDRESS.sub("(address)", outcome.error)})
        if isinstance(outcome, Unchecked)
        else outcome
        for outcome in outcomes
    )


logger = logging.getLogger("vista_guard.proxy")

_ALIAS = "\x1fresponse "
"""No caller's name can hold a control character, so no name is mistaken for an alias."""


@dataclass(frozen=True)
class Identity:
    """A conversation's name as the caller knows it, None for an anonymous one, and whose it is.

    `chained` says that the name was found through `previous_response_id`, as the next request will have to.
    """

    tenant: str
    name: str | None = None
    chained: bool = False

    @property
    def stored(self) -> str | None:
        return None if self.name is None else scoped(self.tenant, self.name)


def given_name(headers: Mapping[str, str], body: Mapping[str, object], header: str) -> str | None:
    """The name that the request gives its conversation, if any."""
    metadata, conversation, named = body.get("metadata"), body.get("conversation"), headers.get(header)
    places = {
        f"the header {header}": named if named is None else read_header(named),
        "metadata.conversation_id": metadata.get("conversation_id") if isinstance(metadata, Mapping) else None,
        "conversation": conversation.get("id") if isinstance(conversation, Mapping) else conversation,
    }
    return next((check_name(value, place) for place, value in places.items() if value is not None), None)


class Conversations:
    """The guard for each tenant, and what ties requests to conversations."""

    def __init__(self, guard: Guard, settings: ProxySettings) -> None:
        self._guard = guard
        self._settings = settings
        self._guards: dict[str, Guard] = {}

    def guard(self, tenant: str) -> Guard:
        """The guard, with the tenant's own documents and its own memory of anonymous conversations: a history that one
        tenant was delivered must not be believed when another one sends it. Everything else is the same for all."""
        if tenant not in self._guards:  # as many as have keys
            self._guards[tenant] = self._own_guard(tenant)
        return self._guards[tenant]

    async def identify(
        self, tenant: str, headers: Mapping[str, str], body: Mapping[str, object], header: str
    ) -> Identity:
        """The conversation of a request. InputError: a name that none can have."""
        name, previous = given_name(headers, body, header), body.get("previous_response_id")
        if name is not None or previous is None:
            return Identity(tenant, name)
        return Identity(tenant, await self._root(tenant, check_name(previous, "previous_response_id")), chained=True)

    async def make_known(
        self, identity: Identity, next_time: Conversation, report: TurnReport, *, response_id: str | None = None
    ) -> None:
        """Makes the turn known to requests that build on it.

        `next_time` is the conversation as a caller will send it: anonymous, with what was delivered as its last turn;
        `response_id` is that by which the Responses API will go on, when it can.
        """
        claims = earned_claims(report.remembered, report.outcomes)
        if identity.name is None:
            self.guard(identity.tenant).parts.past.put(past_key(next_time), claims)
        if response_id is None or not response_id.isprintable() or response_id == identity.name:
            return
        knowledge, turn = self._guard.parts.knowledge, next_time.turn_key()
        try:
            if identity.name is None:
                await knowledge.remember(scoped(identity.tenant, response_id), turn, claims)
            elif identity.chained:
                await knowledge.remember(scoped(identity.tenant, _ALIAS + response_id), identity.name, ())
        except StoreError as exc:
            logger.error("the conversation of a response was not stored: %s", exc)

    async def _root(self, tenant: str, response_id: str) -> str:
        """The conversation that a response belongs to; a conversation of its own when that is not known."""
        try:
            roots = await self._guard.parts.knowledge.delivered(scoped(tenant, _ALIAS + response_id))
        except StoreError as exc:
            logger.error("the conversation of a response could not be read: %s", exc)
            return response_id
        return min(roots, default=response_id)

    def _own_guard(self, tenant: str) -> Guard:
        parts = self._guard.parts
        own = copy(self._guard)
        documents = parts.documents
        # Everything is for everybody where there are no keys, and in a store that does not divide.
        if self._settings.keys and isinstance(documents, DividedDocuments):
            documents = documents.of_tenant(tenant, shared=shares_documents(self._settings))
        own.parts = replace(parts, past=past_claims(), documents=documents, tenant=tenant)
        own.__dict__.pop("_checking", None)  # drops the graph built from the old parts
        return own
