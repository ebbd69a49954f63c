"""A request on its way: what was asked, whose it is, and who judges the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vista_guard.integrations.openai_api import Json, repeatable, request_again, with_answer
from vista_guard.integrations.openai_api.fields import Sifting
from vista_guard.proxy.access.identity import Conversations, Identity
from vista_guard.proxy.dialects.evidence import ReadRequest
from vista_guard.proxy.dialects.protocol import Dialect
from vista_guard.proxy.http import metrics
from vista_guard.stream.gates import regenerates
from vista_guard.turn.limits import check_limits
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    from vista_guard.guard import Guard
    from vista_guard.proxy.settings import ProxySettings


@dataclass(frozen=True)
class Exchange:
    """A request that was read, whose it is, and who judges the answer."""

    dialect: Dialect
    asked: ReadRequest
    identity: Identity
    conversations: Conversations
    settings: ProxySettings

    @property
    def guard(self) -> Guard:
        """The tenant's."""
        return self.conversations.guard(self.identity.tenant)

    @property
    def may_ask_again(self) -> bool:
        """Whether an answer that does not hold up may be asked for again."""
        sent, policy = self.asked.sent, self.guard.parts.policy
        return not self.asked.structured and repeatable(self.dialect.api, sent) and regenerates(policy)

    def request_again(self, draft: str, note: str) -> Json:
        """The request for another answer."""
        return request_again(self.dialect.api, self.asked.sent, draft, note)

    def check_limits(self) -> None:
        """Passes when the turn that is asked for can be judged, as far as that is known by now.

        Raises:
            InputError: the conversation or its documents are over a limit.
        """
        if not self.asked.structured:
            check_limits(with_answer(self.asked.conversation(), "", self.asked.grounds()), self.guard.parts.limits)

    def sifting(self) -> Sifting:
        """What holds one answer to the request against the table of known fields."""
        return Sifting(self.asked.sent, metrics.dropped_field, self.asked.structured)

    async def make_known(self, report: TurnReport, response_id: str | None, *, alone: bool = True) -> None:
        """Makes the turn known to the requests that build on it; `alone` is False for one of several choices."""
        next_time = self.asked.followed_by(report.response)
        kept = alone and self.asked.sent.get("store") is not False
        identity = self.identity if alone else Identity(self.identity.tenant)
        await self.conversations.make_known(identity, next_time, report, response_id=response_id if kept else None)
