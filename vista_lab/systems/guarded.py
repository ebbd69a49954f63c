"""Systems around one guard, as all systems of this package are."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vista_guard.guard import Guard
from vista_guard.judges.composed import ensemble
from vista_guard.policy.label_policy import rules_key
from vista_guard.protocols import DocumentStore
from vista_guard.settings.sources import Limits
from vista_guard.types import Conversation, RetrieveBy, Role, TurnReport
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.protocol import SystemInfo

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel
    from vista_guard.judges.model.prompts import PromptInfo
    from vista_lab.systems.evidence import ClaimEvidence


Around = Callable[["ChatModel"], "ChatModel"]
"""Wraps a model: returns the model itself, or one that only counts."""


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
        evidence: of each claim; turns are held against their own documents as a whole when None.
    """

    name: str
    guard: Guard
    more: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, PromptInfo] = field(default_factory=dict)
    whole_turns: bool = False
    establishes: bool = False
    rehearse: Callable[[Around], GuardSystem] | None = None
    evidence: ClaimEvidence | None = None

    @property
    def info(self) -> SystemInfo:
        return SystemInfo(
            name=self.name,
            judge=self.guard.parts.judge.info,
            options={**verdict_settings(self.guard), **self.more},
            prompts={stage: prompt.fingerprint for stage, prompt in self.prompts.items()},
            shots={stage: prompt.shots for stage, prompt in self.prompts.items()},
            evidence=self.evidence and self.evidence.info,
        )

    @property
    def why_exhausted(self) -> str | None:
        return ensemble.why_exhausted(self.guard.parts.judge)

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """Judges the turns. Knowledge that finished turns established is restored first."""
        requested = {*turns, *(report.turn_index for report in done)}
        entry = entry if self.evidence is None else self.evidence.give_out(entry)
        conversation = _without_claims(entry.conversation) if self.whole_turns else entry.conversation
        judged = requested | _before(conversation, max(requested)) if requested and self.establishes else requested
        async with aclosing(self.guard.areplay(conversation, done=done, turns=judged)) as reports:
            async for report in reports:
                if report.turn_index in requested:
                    yield report

    async def forget(self, conversation_id: str) -> None:
        # Only the knowledge: `Guard.forget` would delete the conversation's reports from the guard's database, too.
        await self.guard.parts.knowledge.forget(conversation_id)
        if self.evidence is not None:
            self.evidence.forget(conversation_id)

    async def aclose(self) -> None:
        """Closes the guard, and with it the judge; then the recording of its evidence."""
        await self.guard.aclose()
        if self.evidence is not None:
            await self.evidence.aclose()


def verdict_settings(guard: Guard) -> dict[str, str]:
    """Settings of a guard that change a verdict, its judge aside; limits only where they differ from the default."""
    parts = guard.parts
    limits = parts.limits.model_dump()
    changed_limits = {name: limits[name] for name, usual in Limits().model_dump().items() if limits[name] != usual}
    optional = {
        "rules": rules_key(parts.policy),
        "persona": parts.persona and parts.persona.key,
        "documents": parts.documents and _retrieval_text(parts.documents, parts.retrieve_by),
        **{f"limits.{name}": str(value) for name, value in changed_limits.items()},
    }
    required = {"policy": parts.policy.name, "context": parts.context, "ungrounded": parts.ungrounded}
    return {**required, **{name: value for name, value in optional.items() if value}}


def _retrieval_text(store: DocumentStore, by: RetrieveBy) -> str:
    """Use of the document store, in words. Defaults read as in runs from before `retrieve_by` and `search`, so these resume."""
    descriptions = {"turn": "retrieved", "claim": "retrieved by claim", "both": "retrieved by turn and claim"}
    mode = {"hybrid": ", by words and meaning", "words": ", by words"}.get(getattr(store, "search_mode", "vectors"), "")
    return f"{descriptions[by]} for turns that bring none{mode}"


def _before(conversation: Conversation, last: int) -> set[int]:
    """The assistant's turns before `last`; none where some turn brings claims."""
    if any(turn.claims is not None for turn in conversation.turns):
        return set()
    return {index for index, turn in enumerate(conversation.turns[:last]) if turn.role is Role.ASSISTANT}


def _without_claims(conversation: Conversation) -> Conversation:
    turns = tuple(turn.model_copy(update={"claims": None}) for turn in conversation.turns)
    return conversation.model_copy(update={"turns": turns})
