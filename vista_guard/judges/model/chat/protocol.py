"""What the model judge needs from a chat model, whoever serves it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Finish = Literal["stop", "length", "refusal", "other"]


@dataclass(frozen=True)
class Message:
    """One message of a prompt. What comes first is what stays the same longest: a provider's prefix cache works by that."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True)
class ChatRequest:
    """One call. `stage` is what is asked for; `turn`: one verdict on a whole turn, as an LLM-as-Judge gives it.

    `schema` is the JSON schema that the answer should have, in the subset that strict structured output takes.
    """

    messages: tuple[Message, ...]
    stage: Literal["decompose", "verify", "categorize", "judge", "fused", "turn"]
    schema: Mapping[str, Any] | None = None
    alternatives: int = 0
    """How many likely tokens are wanted at each place of the answer, with their probabilities. Not every endpoint gives them."""


@dataclass(frozen=True)
class Reply:
    """The model's words. `length`: cut off at the token limit. `refusal`: the model or its filter declined."""

    text: str
    finish: Finish = "stop"
    first: Mapping[str, float] = field(default_factory=dict)
    """What the first token that is no blank might have been, with natural logarithms of the probabilities, where they were asked
    for and given."""


class ChatModel(Protocol):
    """A model behind an endpoint. What a call used is told to `metering.meter()`."""

    @property
    def name(self) -> str:
        """As in a settings string, without anything secret: `openai:gpt-4o-mini`."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What else shapes the answers: temperature and the like; JSON types only."""
        ...

    @property
    def why_exhausted(self) -> str | None:
        """Why no further call will be made in this run: its budget is spent. None while calls are made."""
        ...

    async def complete(self, request: ChatRequest) -> Reply:
        """The model's answer.

        Raises:
            JudgeError: no answer; the message names the endpoint, the cause and the next step, never a key.
            ContextTooLongError: the prompt does not fit.
            BudgetError: the run's or the turn's budget is spent.
        """
        ...

    async def aclose(self) -> None: ...
