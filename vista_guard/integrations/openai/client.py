"""The official OpenAI client, guarded: the same calls, the same objects, and nothing unjudged in them.

    client = guarded(openai.OpenAI(), guard)
    client.chat.completions.create(model="gpt-5-mini", messages=[…])

Guarded are `chat.completions.create`, `.parse` and `.stream`, and `responses.create`, `.parse` and `.stream`, streamed or
not. All else is the client's own and passes through as it is, **unjudged**: `with_raw_response` and
`with_streaming_response` (they hand out the bytes of the wire), `responses.retrieve`, background responses, realtime,
assistants, `post`. Of an answer all words are judged, a refusal and the transcript of spoken audio
as text too. Tool calls, reasoning, citations, sound and structured outputs (`response_format`, `text_format`) pass unjudged,
and `unjudged_of(result)` names them; of a whole answer that is withheld none is left, and in streams no sound passes. Fields,
parts and events that are not known are dropped.

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
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from openai import AsyncOpenAI, OpenAI

from vista_guard.errors import ConfigError
from vista_guard.graph.host_objects import GivenDocuments, find_documents_of
from vista_guard.guard import Guard
from vista_guard.integrations.openai.client_guard import ClientGuard, Finder, OnBlock
from vista_guard.integrations.openai.doors import AsyncCompletions, AsyncResponses, Completions, Responses
from vista_guard.integrations.openai.guarded_part import GuardedPart
from vista_guard.integrations.openai.reports import report_of, unjudged_of
from vista_guard.integrations.openai.requests import ConversationId
from vista_guard.stream.gates import Gate
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    from types import TracebackType

    from openai.resources.beta import AsyncBeta, Beta
    from openai.resources.chat import AsyncChat, Chat

    _ChatPart = Chat | AsyncChat
    _BetaPart = Beta | AsyncBeta
else:  # the SDK loads its resources when they are asked for, which takes a second
    _ChatPart = _BetaPart = object

Client = TypeVar("Client", OpenAI, AsyncOpenAI)

__all__ = ["guarded", "report_of", "unjudged_of"]


def guarded(
    client: Client,
    guard: Guard,
    *,
    gate: Gate = "sentence",
    on_block: OnBlock = "raise",
    documents: GivenDocuments | Finder | None = None,
    on_report: Callable[[TurnReport], object] | None = None,
    conversation_id: ConversationId | None = None,
) -> Client:
    """The client behind the guard. `report_of(result)` reads the report of what it answered.

    Where the policy withholds an answer, `Blocked` is raised; `on_block="replace"` delivers the policy's message instead.

    Args:
        client: an `OpenAI` or `AsyncOpenAI`, or a client made from one, such as Azure's. It stays as it is.
        guard: judges.
        gate: of streams: `sentence` releases each sentence that passed, `turn` the whole turn, `none` everything.
        on_block: `raise` raises `Blocked`, in a stream after what was released; `replace` answers with the policy's
            message, and `finish_reason` (of a response: `incomplete_details.reason`) is `content_filter`.
        documents: of every answer, beside those of the request: a `Document`, a text, or a list of these; or what finds them
            from the conversation that ends with the answer (with the gate `sentence` it is asked before a word is known),
            async, or run in a thread.
        on_report: is told of every report, those of withheld answers too.
        conversation_id: names the conversation, or finds the name in a request's arguments. Else the request's
            `metadata["conversation_id"]` does; of a response its `conversation`; else the conversation is anonymous.
            What was said before a `previous_response_id` is known when it went through this client.

    Several choices (`n`) are each judged; none is remembered, since one of them will be the answer. Streamed, they are held
    until all were said.

    Raises:
        ConfigError: another kind of client, an unknown option, documents that are none.
    """
    find = find_documents_of(documents)
    options = ClientGuard(guard, gate, on_block, find, on_report, conversation_id)
    if isinstance(client, OpenAI):
        return cast(Client, _Client(client, options))
    if isinstance(client, AsyncOpenAI):
        return cast(Client, _AsyncClient(client, options))
    raise ConfigError(f"the client is {type(client).__name__}; give an openai.OpenAI or openai.AsyncOpenAI")


class _Chat(GuardedPart[_ChatPart]):
    @property
    def completions(self) -> Completions | AsyncCompletions:
        inner: Any = self._inner.completions  # the doors call it with a request's arguments as they are
        is_async = isinstance(inner._client, AsyncOpenAI)
        return AsyncCompletions(inner, self._guard) if is_async else Completions(inner, self._guard)


class _Beta(GuardedPart[_BetaPart]):
    @property
    def chat(self) -> _Chat:
        return _Chat(self._inner.chat, self._guard)


class _AnyClient(GuardedPart[Client]):
    """What both clients share."""

    @property
    def chat(self) -> _Chat:
        return _Chat(self._inner.chat, self._guard)

    @property
    def beta(self) -> _Beta:
        return _Beta(self._inner.beta, self._guard)

    def copy(self, **options: Any) -> Self:
        return type(self)(self._inner.copy(**options), self._guard)

    with_options = copy


class _Client(_AnyClient[OpenAI]):
    @property
    def responses(self) -> Responses:
        inner: Any = self._inner.responses
        return Responses(inner, self._guard)

    def __enter__(self) -> Self:
        self._inner.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._inner.__exit__(kind, exc, trace)


class _AsyncClient(_AnyClient[AsyncOpenAI]):
    @property
    def responses(self) -> AsyncResponses:
        inner: Any = self._inner.responses
        return AsyncResponses(inner, self._guard)

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, exc, trace)
