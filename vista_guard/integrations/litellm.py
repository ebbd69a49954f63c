"""A guardrail for LiteLLM's proxy: answers and streams, judged with the request's documents and history. Extra `litellm`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any, Final

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError, InputError
from vista_guard.guard import Guard
from vista_guard.openai_api.judging import DIALECTS, AnswerJudgement, Events, Exchange, StreamedAnswer, judge_answer
from vista_guard.openai_api.wire import Json, Problem, check_name
from vista_guard.reading.chat_json import PATTERNS
from vista_guard.stream.gates import Gate, check_gate

try:
    from litellm.integrations.custom_guardrail import CustomGuardrail
    from litellm.types.guardrails import GuardrailEventHooks
    from litellm.types.utils import (
        EmbeddingResponse,
        ImageResponse,
        ModelResponse,
        ModelResponseStream,
        TranscriptionResponse,
    )
except ImportError as exc:
    raise ConfigError(f"the LiteLLM guardrail needs litellm 1.x ({exc}): {how_to_install('litellm')}") from exc

_WORDLESS: Final = (EmbeddingResponse, ImageResponse, TranscriptionResponse)
_SENT: Final = ("model", "messages", "stream", "n", "response_format", "tools", "logprobs", "modalities", "store")
"""Fields of a chat request that affect how its answer is read."""


class VistaGuardrail(CustomGuardrail):  # type: ignore[misc]  # untyped where LiteLLM is not installed
    """Judges what LiteLLM's models answer on `/chat/completions`, by the settings in `vista-guard.toml` or the environment.

    Documents are those of the request: `metadata.documents`, tool messages, and blocks in system messages. With a
    `metadata.conversation_id` the guard remembers the conversation, for each of LiteLLM's keys apart. Answers of other routes
    in which a model speaks are refused, as nobody would judge them.

    Args:
        guard: judges; made from the settings when not given.
        gate: how much of a stream is held until it is judged.
        options: of LiteLLM's guardrails (`guardrail_name`, `event_hook`, `default_on`).
    """

    def __init__(self, guard: Guard | None = None, gate: Gate = "sentence", **options: Any) -> None:
        # In another mode it would hear of no answer, and all would pass unjudged: LiteLLM does not start with one.
        super().__init__(**{"supported_event_hooks": [GuardrailEventHooks.post_call], **options})
        self.guard = Guard.from_settings() if guard is None else guard
        check_gate(gate, self.guard.parts.policy, "gate")
        self.gate: Gate = gate

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        """Returns the answer to deliver: unchanged, repaired, or replaced by the policy's message."""
        if isinstance(response, _WORDLESS):
            return response
        if not isinstance(response, ModelResponse):
            raise _refusal(501, f"the guard judges chat completions, and this is {type(response).__name__}")
        try:
            exchange = self._exchange(data, user_api_key_dict)
            answer, _, _ = await judge_answer(
                exchange, response.model_dump(mode="json", exclude_none=True), _ask_nobody
            )
        except (InputError, Problem) as exc:
            raise _refusal(400 if isinstance(exc, InputError) else 502, str(exc)) from exc
        delivered = ModelResponse(**answer)
        delivered._hidden_params = response._hidden_params  # LiteLLM's own costs and headers
        return delivered

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncGenerator[Any, None]:
        """Yields the chunks that may be shown, the last ones with the verdict."""
        try:
            streamed = StreamedAnswer(self._exchange(request_data, user_api_key_dict), _ask_nobody)
            async with aclosing(streamed.shown(_events(response))) as events:
                async for event in events:
                    yield ModelResponseStream(**event)
        except (InputError, Problem) as exc:
            raise _refusal(400 if isinstance(exc, InputError) else 502, str(exc)) from exc

    def _exchange(self, data: dict[str, Any], caller: Any) -> Exchange:
        # What LiteLLM adds to a request stands beside what the caller put into `metadata`.
        metadata = (data.get("metadata") or {}).get("requester_metadata") or {}
        request: Json = {name: data[name] for name in _SENT if name in data}
        parsed = DIALECTS["chat"].read({**request, "documents": metadata.get("documents")}, PATTERNS)
        conversation_id = metadata.get("conversation_id")
        name = None if conversation_id is None else check_name(conversation_id, "metadata.conversation_id")
        identity = None if name is None else f"litellm/{caller.api_key or 'anonymous'}/{name}"
        exchange = Exchange(
            self.guard,
            DIALECTS["chat"],
            parsed,
            parsed.conversation(identity),
            parsed.grounds(),
            _tell_nobody,
            name=name,
            gate=self.gate,
            choices=data.get("n") or 1,
            repeats=False,  # LiteLLM has asked its model, with its own retries and budgets
        )
        exchange.check_limits()
        return exchange


async def _events(response: Any) -> Events:
    async for chunk in response:
        yield dict(chunk) if isinstance(chunk, Mapping) else chunk.model_dump(mode="json", exclude_none=True)
    yield None


async def _ask_nobody(_: Json) -> Any:
    raise AssertionError("an exchange with repeats=False asks nobody again")


async def _tell_nobody(_: AnswerJudgement) -> None:
    """Does nothing: each request of LiteLLM's brings its history."""


def _refusal(status: int, message: str) -> Exception:
    from fastapi import HTTPException  # LiteLLM's proxy runs on it

    return HTTPException(status, {"error": message})
