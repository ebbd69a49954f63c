"""The seam between the runner and what it measures."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.types import JudgeInfo, TurnReport


class SystemInfo(BaseModel):
    """How a system judges: two runs of equal infos judge in the same way, and only then may one go on with the other's reports.

    `name` is the one that tables print. `options` is everything else that changes a verdict: policy, context, thresholds.
    `prompts` are fingerprints of prompts by stage, `shots` how many examples each holds; both are empty without a model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    judge: JudgeInfo
    options: Mapping[str, str] = {}
    prompts: Mapping[str, str] = {}
    shots: Mapping[str, int] = {}


class System(Protocol):
    """Judges the turns of a data set. Whatever it is, it answers with reports, so that every figure comes from the same form.

    A system that judges whole turns reports one claim, the turn.
    """

    @property
    def info(self) -> SystemInfo: ...

    @property
    def why_exhausted(self) -> str | None:
        """Why it will answer nothing more in this run, such as a spent budget. None while it will."""
        ...

    def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """Reports on these turns of the conversation, in their order, each as soon as it is there.

        Args:
            entry: the conversation. A system must not look at `labels` and `gold`; one may use the claims of its turns.
            turns: indices of the turns to report on.
            done: reports of an earlier run on turns of this conversation, which are not judged again.

        Raises:
            InputError: the conversation cannot be judged as it is.
            JudgeError: the judge as a whole cannot be asked.
        """
        ...

    async def forget(self, conversation_id: str) -> None:
        """Lets go of what it holds of a conversation. Called when its last turn is reported."""
        ...

    async def aclose(self) -> None: ...
