"""A system that is one guard: what all systems of this package are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.systems.protocol import SystemInfo
from vista_guard.guard import Guard
from vista_guard.judges.composed import calls
from vista_guard.policy.rules import rules_key
from vista_guard.settings.sources import Limits
from vista_guard.types import Conversation, Role, TurnReport

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel
    from vista_guard.judges.model.prompting.prompts import PromptInfo

Around = Callable[["ChatModel"], "ChatModel"]
"""What stands before a model: the model itself, or one that only counts."""


@dataclass(frozen=True)
class GuardSystem:
    """Implements `System` over a guard.

        system = GuardSystem("mine", Guard(MyJudge(), "monitor"))

    Attributes:
        name: the one that tables print.
        guard: judges the turns. Its knowledge should be its own: what is replayed is remembered there.
        more: what else changes a verdict, beside what the guard tells by itself.
        prompts: of the models that are asked, by stage.
        whole_turns: whether turns are judged as they are: claims that they bring are not looked at.
        establishes: whether earlier turns that nobody asks about are judged too, for what they establish, as they would be live.
            Not where the conversation brings claims: then turns without any establish nothing, as in the human evaluation.
        rehearse: makes the same system again with something before its models, for an estimate of what it will cost; None
            where not all calls can be seen.
    """

    name: str
    guard: Guard
    more: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, PromptInfo] = field(default_factory=dict)
    whole_turns: bool = False
    establishes: bool = False
    rehearse: Callable[[Around], GuardSystem] | None = None

    @property
    def info(self) -> SystemInfo:
        """See `System.info`."""
        return SystemInfo(
            name=self.name,
            judge=self.guard.parts.judge.info,
            options={**told(self.guard), **self.more},
            prompts={stage: one.fingerprint for stage, one in self.prompts.items()},
            shots={stage: one.shots for stage, one in self.prompts.items()},
        )

    @property
    def why_exhausted(self) -> str | None:
        """See `System.why_exhausted`."""
        return calls.why_exhausted(self.guard.parts.judge)

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """See `System.judge`. What turns that are done established is known again."""
        asked = {*turns, *(report.turn_index for report in done)}
        conversation = _without_claims(entry.conversation) if self.whole_turns else entry.conversation
        heard = asked | _before(conversation, max(asked)) if asked and self.establishes else asked
        async with aclosing(self.guard.areplay(conversation, done=done, turns=heard)) as reports:
            async for report in reports:
                if report.turn_index in asked:
                    yield report

    async def forget(self, conversation_id: str) -> None:
        """See `System.forget`."""
        await self.guard.aforget(conversation_id)

    async def aclose(self) -> None:
        """Closes the guard, and with it the judge."""
        await self.guard.aclose()


def told(guard: Guard) -> dict[str, str]:
    """What of a guard's parts, its judge aside, changes a verdict: what differs from the default is named."""
    parts = guard.parts
    limits = parts.limits.model_dump()
    changed = {name: limits[name] for name, usual in Limits().model_dump().items() if limits[name] != usual}
    optional = {
        "rules": rules_key(parts.policy),
        "persona": parts.persona and parts.persona.key,
        "documents": parts.documents and "retrieved for turns that bring none",
        **{f"limits.{name}": str(value) for name, value in changed.items()},
    }
    known = {"policy": parts.policy.name, "context": parts.context, "ungrounded": parts.ungrounded}
    return {**known, **{name: value for name, value in optional.items() if value}}


def _before(conversation: Conversation, last: int) -> set[int]:
    """The assistant's turns before `last`; none where some turn brings claims."""
    if any(turn.claims is not None for turn in conversation.turns):
        return set()
    return {index for index, turn in enumerate(conversation.turns[:last]) if turn.role is Role.ASSISTANT}


def _without_claims(conversation: Conversation) -> Conversation:
    turns = tuple(turn.model_copy(update={"claims": None}) for turn in conversation.turns)
    return conversation.model_copy(update={"turns": turns})
