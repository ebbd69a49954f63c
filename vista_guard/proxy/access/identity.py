"""Which conversation a request belongs to, and what an anonymous one's earlier turns are recognised by.

A name is looked for in this order: the header of the settings, `metadata.conversation_id`, `conversation`, the chain of
`previous_response_id`. Without any the conversation is anonymous: the guard recognises its earlier turns by a fingerprint
of all that was said up to them (`turn/history.py`), and judges once what it doesn't know, an edited history above all.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

from vista_guard.errors import InputError, StoreError
from vista_guard.guard import Guard
from vista_guard.proxy.access.tenants import documents_of, scoped
from vista_guard.proxy.settings import ProxySettings
from vista_guard.turn.history import past_key
from vista_guard.turn.remember import earned
from vista_guard.turn.work import PastClaims
from vista_guard.types import Conversation, TurnReport

logger = logging.getLogger("vista_guard.proxy")

LONGEST_NAME = 512

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
        """The id that the conversation has in the stores."""
        return None if self.name is None else scoped(self.tenant, self.name)


def given_name(headers: Mapping[str, str], body: Mapping[str, object], header: str) -> str | None:
    """The name that the request gives its conversation.

    Raises:
        InputError: a name that is no text, is empty or too long, or holds a control character.
    """
    metadata, conversation = body.get("metadata"), body.get("conversation")
    places = {
        f"the header {header}": headers.get(header),
        "metadata.conversation_id": metadata.get("conversation_id") if isinstance(metadata, Mapping) else None,
        "conversation": conversation.get("id") if isinstance(conversation, Mapping) else conversation,
    }
    return next((_name(value, place) for place, value in places.items() if value is not None), None)


def _name(value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_NAME or not value.isprintable():
        raise InputError(
            f"{place} is {str(value)[:80]!r}; a conversation's name is a printable text of at most {LONGEST_NAME} characters"
        )
    return value


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
        """The conversation of a request.

        Raises:
            InputError: see `given_name`.
        """
        name, previous = given_name(headers, body, header), body.get("previous_response_id")
        if name is not None or previous is None:
            return Identity(tenant, name)
        return Identity(tenant, await self._root(tenant, _name(previous, "previous_response_id")), chained=True)

    async def make_known(
        self, identity: Identity, next_time: Conversation, report: TurnReport, *, response_id: str | None = None
    ) -> None:
        """Makes the turn known to requests that build on it.

        Args:
            identity: the conversation's.
            next_time: the conversation as a caller will send it: anonymous, with what was delivered as its last turn.
            report: the turn's.
            response_id: by which the Responses API will go on, when it can.
        """
        if identity.name is None:
            self.guard(identity.tenant).parts.past.put(past_key(next_time), earned(report.remembered, report.outcomes))
        if response_id is None or not response_id.isprintable() or response_id == identity.name:
            return
        knowledge, turn = self._guard.parts.knowledge, next_time.turn_key()
        try:
            if identity.name is None:
                await knowledge.remember(
                    scoped(identity.tenant, response_id), turn, earned(report.remembered, report.outcomes)
                )
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
        documents = documents_of(tenant, parts.documents, self._settings)
        own.parts = replace(parts, past=PastClaims(), documents=documents, tenant=tenant)
        own.__dict__.pop("_checking", None)  # the graph that was built with the parts before
        return own
