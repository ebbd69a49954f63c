"""The official OpenAI client, guarded: the same calls, the same objects, and nothing unjudged in them.

    client = guarded(openai.OpenAI(), guard)
    client.chat.completions.create(model="gpt-5-mini", messages=[…])

Guarded are `chat.completions.create`, `.parse` and `.stream`, and `responses.create`, `.parse` and `.stream`, streamed or
not. All else is the client's own and passes through as it is, **unjudged**: `with_raw_response` and
`with_streaming_response` (they hand out the bytes of the wire), `responses.retrieve`, background responses, realtime,
assistants, `post`. Of an answer only its text is judged: tool calls, reasoning, refusals, audio and structured outputs
(`response_format`, `text_format`) are passed on untouched.

What a model said is judged against the tool messages of the request, `documents` on its messages (taken off before it is
sent), `documents` in `extra_body` (sent as they are), results of file search and MCP servers in a response, and what
`documents=` finds; else against what the guard retrieves.

With a policy that regenerates, an answer of which nothing was shown yet is asked for again: the same request, with the
withheld draft and a note on it at the end. What upstream bills for all answers, as far as it told, is in the `usage` of the one
that is returned. Not asked for again are several choices, answers that call tools, responses with several texts, and those of a
`conversation` that OpenAI keeps; where asking fails, too, the policy's fallback is taken, and the report's `warnings` say so.

OpenAI keeps what it was asked to keep (`store`, on by default for responses; `conversation`; `previous_response_id`) as the
model said it, withheld or not, and the draft and the note as part of the request that asked again: the guard decides what leaves
this process. Send the history with each request, with `store=False`, where a withheld answer must not come back as context.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from openai import AsyncOpenAI, OpenAI

from vista_guard.errors import ConfigError
from vista_guard.guard import Guard
from vista_guard.integrations.openai.doors import AsyncCompletions, AsyncResponses, Completions, Over, Responses
from vista_guard.integrations.openai.requests import ConversationId
from vista_guard.integrations.openai.surface import FindDocuments, OnBlock, Surface, report_of
from vista_guard.stream.gates import Gate
from vista_guard.types import TurnReport

Client = TypeVar("Client", OpenAI, AsyncOpenAI)

__all__ = ["guarded", "report_of"]


def guarded(
    client: Client,
    guard: Guard,
    *,
    gate: Gate = "sentence",
    on_block: OnBlock = "raise",
    documents: FindDocuments | None = None,
    on_report: Callable[[TurnReport], object] | None = None,
    conversation_id: ConversationId | None = None,
) -> Client:
    """The client behind the guard. `report_of(result)` reads the report of what it answered.

    Args:
        client: an `OpenAI` or `AsyncOpenAI`, or a client made from one, such as Azure's. It stays as it is.
        guard: judges.
        gate: of streams: `sentence` releases each sentence that passed, `turn` the whole turn, `none` everything.
        on_block: `raise` raises `Blocked`, in a stream after what was released; `replace` answers with the policy's
            message, and `finish_reason` (of a response: `incomplete_details.reason`) is `content_filter`.
        documents: finds the documents of an answer, beside those of the request, from the conversation that ends with it
            (with the gate `sentence` it is asked before a word is known); may be async, else runs in a thread.
        on_report: is told of every report, those of withheld answers too.
        conversation_id: names the conversation, or finds the name in a request's arguments. Else the request's
            `metadata["conversation_id"]` does; of a response its `conversation`; else the conversation is anonymous.
            What was said before a `previous_response_id` is known when it went through this client.

    Several choices (`n`) are each judged; none is remembered, since one of them will be the answer. Streamed, they are held
    until all were said.

    Raises:
        ConfigError: another kind of client, an unknown option.
    """
    surface = Surface(guard, gate, on_block, documents, on_report, conversation_id)
    if isinstance(client, OpenAI):
        return cast(Client, _Client(client, surface))
    if isinstance(client, AsyncOpenAI):
        return cast(Client, _AsyncClient(client, surface))
    raise ConfigError(f"the client is {type(client).__name__}; give an openai.OpenAI or openai.AsyncOpenAI")


class _Beta(Over):
    @property
    def chat(self) -> Any:
        return _Chat(self._inner.chat, self._surface)


class _Chat(Over):
    @property
    def completions(self) -> Any:
        inner = self._inner.completions
        return (AsyncCompletions if isinstance(inner._client, AsyncOpenAI) else Completions)(inner, self._surface)


class _Any(_Beta):
    """What both clients share."""

    @property
    def beta(self) -> Any:
        return _Beta(self._inner.beta, self._surface)

    def copy(self, **options: Any) -> Any:
        return type(self)(self._inner.copy(**options), self._surface)

    with_options = copy


class _Client(_Any):
    @property
    def responses(self) -> Any:
        return Responses(self._inner.responses, self._surface)

    def __enter__(self) -> Any:
        self._inner.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self._inner.__exit__(*exc)


class _AsyncClient(_Any):
    @property
    def responses(self) -> Any:
        return AsyncResponses(self._inner.responses, self._surface)

    async def __aenter__(self) -> Any:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self._inner.__aexit__(*exc)
