"""The official OpenAI client, guarded: the same calls, the same objects, and nothing unjudged in them.

All words of chat completions and responses are judged, streamed or not, however the request is made, below the SDK in its HTTP
client (transport.py). Tool calls, reasoning, citations, sound and structured outputs pass unjudged, and `unjudged_of` names them.
Unknown fields, parts and events are dropped. Routes whose answers hold no model's text pass (models, embeddings, moderations,
files, vector stores and the like: `openai_api.routes.PASSED`); any other route, and every WebSocket, raises ConfigError.

OpenAI keeps what it was asked to keep (`store`, `conversation`, `previous_response_id`) as the model said it, withheld or not:
send the history with each request, with `store=False`, where a withheld answer must not come back as context.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from openai import AsyncOpenAI, AsyncStream, OpenAI, Stream
from openai.lib.streaming.chat import AsyncChatCompletionStream, ChatCompletionStream, ChatCompletionStreamState
from openai.lib.streaming.responses import AsyncResponseStream, ResponseStream
from openai.types.responses import ParsedResponse

from vista_guard._aio import holding
from vista_guard.errors import ConfigError
from vista_guard.guard import Guard
from vista_guard.integrations.openai.transport import (
    TOLD,
    AnswerFacts,
    ClientGuard,
    ConversationId,
    Finder,
    OnBlock,
    over,
)
from vista_guard.openai_api.wire import FIELD, MAX_STREAM_EVENTS
from vista_guard.reading.chat_json import GivenDocuments, find_documents_of
from vista_guard.stream.gates import Gate
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    from openai.lib.streaming.chat import ChatCompletionStreamEvent
    from openai.types.chat import ChatCompletionChunk, ParsedChatCompletion

Client = TypeVar("Client", OpenAI, AsyncOpenAI)
Format = TypeVar("Format")
Result = TypeVar("Result")

_FILTERED = "content_filter"
_REPORTS = "_vista_guard"
_UNJUDGED = "_vista_guard_unjudged"


def guarded(
    client: Client,
    guard: Guard,
    *,
    gate: Gate = "sentence",
    on_block: OnBlock = "raise",
    documents: GivenDocuments | Finder | None = None,
    on_report: Callable[[TurnReport], object] | None = None,
    conversation_id: ConversationId | None = None,
    allow_unjudged: Sequence[str] = (),
    max_stream_events: int = MAX_STREAM_EVENTS,
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
        on_report: called with every report, including those of withheld answers.
        conversation_id: names the conversation, or finds the name in a request's arguments. Else the request's
            `metadata["conversation_id"]` does; of a response its `conversation`; else the conversation is anonymous.
            What was said before a `previous_response_id` is known when it went through this client.
        allow_unjudged: routes whose answers pass unjudged, which the log says once of each: `POST images/generations`, a method
            and a path below the base URL, with `*` for one segment and `**` at the end for any rest.
        max_stream_events: a streamed answer with more events, empty ones included, or eight times as many lines, ends in an
            `APIError`.

    Several choices (`n`) are each judged; none is remembered, since one of them will be the answer. Streamed, they are held
    until all were said.

    Examples:
        >>> from vista_guard import Guard
        >>> from vista_guard.testing import ScriptedChatServer
        >>> hall = "The whale hall opened in 1925."
        >>> with ScriptedChatServer(hall) as server, Guard.from_settings(store="memory") as guard:
        ...     client = guarded(OpenAI(base_url=server.base_url, api_key="none"), guard, documents=hall)
        ...     answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "When?"}])
        >>> print(answer.choices[0].message.content, report_of(answer).decision.action)
        The whale hall opened in 1925. ALLOW

    Raises:
        ConfigError: another kind of client, an unknown option, documents that are none. Each call of a route that is neither
            judged nor known to hold no model's text raises it, too.
    """
    if not isinstance(client, OpenAI | AsyncOpenAI):
        raise ConfigError(f"the client is {type(client).__name__}; give an openai.OpenAI or openai.AsyncOpenAI")
    if isinstance(client, _AnyGuarded):
        raise ConfigError("the client is guarded already; give the one that it was made from")
    find = find_documents_of(documents)
    guarding = ClientGuard(guard, gate, on_block, find, on_report, conversation_id, allow_unjudged, max_stream_events)
    guarded_client: Any = object.__new__(_guarded_class(cast("Any", type(client))))
    guarded_client.__dict__.update(client.copy(http_client=over(client._client, guarding)).__dict__)
    return cast(Client, guarded_client)


def report_of(result: object, choice: int = 0) -> TurnReport | None:
    """The report on an answer that came through a guarded client; None when nothing in it was judged.

    Args:
        result: a completion, a response, a stream that has ended, or the chunk or event that ended it.
        choice: index of the choice; a response is one.

    Examples:
        >>> report_of("of a client without a guard") is None
        True
    """
    reports: dict[int, TurnReport] = getattr(result, _REPORTS, None) or {}
    return reports.get(choice)


def unjudged_of(result: object) -> tuple[str, ...]:
    """Kinds of content in a guarded client's answer that were not judged, by design: `tools`, `reasoning`, `citations`, `audio`,
    `structured`.

    Args:
        result: a completion, a response, or a stream, of which more may come until it has ended.

    Examples:
        >>> unjudged_of("of a client without a guard")
        ()
    """
    kinds = getattr(result, _UNJUDGED, None) or ()
    return tuple(kinds.unjudged if isinstance(kinds, AnswerFacts) else kinds)


def _attach_reports(result: Result, verdict: AnswerFacts) -> Result:
    """Puts the reports on one of the SDK's objects, where neither its JSON nor its comparison shows them."""
    is_stream = isinstance(result, Stream | AsyncStream)
    object.__setattr__(result, _REPORTS, verdict.reports if is_stream else dict(verdict.reports))
    object.__setattr__(result, _UNJUDGED, verdict if is_stream else verdict.unjudged)
    return result


# The SDK's own methods that have to know of the guard. Their names are private to it: the tests run them with the oldest and
# the newest version that `pyproject.toml` allows.


@lru_cache
def _guarded_class(kind: Any) -> Any:
    own = _AsyncGuarded if issubclass(kind, AsyncOpenAI) else _Guarded
    return type(kind.__name__, (own, kind), {})


_copying: ContextVar[bool] = ContextVar("vista_guard_copying", default=False)


class _AnyGuarded:
    def __init__(self, **options: Any) -> None:
        if not _copying.get():
            raise ConfigError(
                "a client of a guarded client's type has no guard of its own: make it with guarded(client, guard)"
            )
        super().__init__(**options)

    def copy(self, **options: Any) -> Self:
        """A client with other options, guarded too."""
        inner: Any = super()
        if options.get("http_client") is not None:
            sender: Any = self.__dict__["_client"]
            options["http_client"] = over(options["http_client"], sender.guarding)
        with holding(_copying, True):
            return cast(Self, inner.copy(**options))

    with_options = copy

    @property
    def websocket_base_url(self) -> Any:
        """ConfigError: whatever opens a WebSocket reads this first, and past the HTTP client nothing is judged."""
        if not _copying.get():
            raise ConfigError(
                "the guarded client judges no WebSocket (realtime, live, responses.connect): ask by chat.completions or "
                "responses, or open it with the client that you gave to guarded(…)"
            )
        return self.__dict__.get("websocket_base_url")

    @websocket_base_url.setter
    def websocket_base_url(self, url: Any) -> None:
        self.__dict__["websocket_base_url"] = url

    @cached_property
    def chat(self) -> Any:
        inner: Any = super()
        return _with_chat_helper(inner.chat)

    @cached_property
    def beta(self) -> Any:
        inner: Any = super()
        beta = inner.beta
        _with_chat_helper(beta.chat)
        return beta

    @cached_property
    def responses(self) -> Any:
        inner: Any = super()
        responses = inner.responses
        _put_helper(responses, GuardedResponseStream, GuardedAsyncResponseStream)
        return responses

    def _process_response_data(self, *, data: Any, cast_to: Any, response: Any) -> Any:
        """Makes an object of an answer's or an event's JSON; the verdict in it becomes the object's report."""
        inner: Any = super()
        verdict = response.extensions.get(TOLD)
        if not isinstance(verdict, AnswerFacts) or not isinstance(data, dict):
            return inner._process_response_data(data=data, cast_to=cast_to, response=response)
        nested = data.get("response")
        body = nested if isinstance(nested, dict) else data
        is_judged = body.pop(FIELD, None) is not None
        parsed = inner._process_response_data(data=data, cast_to=cast_to, response=response)
        if is_judged and nested is not None:
            verdict.final = _attach_reports(parsed.response, verdict)
        return _attach_reports(parsed, verdict) if is_judged else parsed


class _Guarded(_AnyGuarded):
    def _prepare_options(self, options: Any) -> Any:
        inner: Any = super()
        return inner._prepare_options(_with_lists(options))

    def _prepare_request(self, request: Any) -> None:
        inner: Any = super()
        inner._prepare_request(request)
        request.extensions[TOLD] = self

    def _process_response(self, **arguments: Any) -> Any:
        inner: Any = super()
        verdict = _verdict_or_raise(arguments)
        return _attach_to_stream(inner._process_response(**arguments), verdict)


class _AsyncGuarded(_AnyGuarded):
    async def _prepare_options(self, options: Any) -> Any:
        inner: Any = super()
        return await inner._prepare_options(_with_lists(options))

    async def _prepare_request(self, request: Any) -> None:
        inner: Any = super()
        await inner._prepare_request(request)
        request.extensions[TOLD] = self

    async def _process_response(self, **arguments: Any) -> Any:
        inner: Any = super()
        verdict = _verdict_or_raise(arguments)
        return _attach_to_stream(await inner._process_response(**arguments), verdict)


def _with_lists(options: Any) -> Any:
    """Messages that come from an iterator, as a list: the request may be sent more than once."""
    body = options.json_data
    for name, value in body.items() if isinstance(body, dict) else ():
        if isinstance(value, Iterator):
            body[name] = list(value)
    return options


def _verdict_or_raise(arguments: dict[str, Any]) -> AnswerFacts | None:
    verdict = arguments["response"].extensions.get(TOLD)
    if not isinstance(verdict, AnswerFacts):
        return None
    if verdict.error is not None:
        raise verdict.error
    options = arguments["options"]
    if callable(options.post_parser):
        options.post_parser = _parser_of_delivered(options.post_parser, verdict)
    return verdict


def _attach_to_stream(result: Result, verdict: AnswerFacts | None) -> Result:
    return (
        _attach_reports(result, verdict) if verdict is not None and isinstance(result, Stream | AsyncStream) else result
    )


def _parser_of_delivered(parse: Callable[[Any], Any], verdict: AnswerFacts) -> Callable[[Any], Any]:
    """Wraps the SDK's parser, which refuses answers that a content filter stopped: it sees withheld ones as complete."""

    def parse_delivered(completion: Any) -> Any:
        _mark_finished(completion, verdict)
        parsed = parse(completion)
        _mark_withheld(parsed, verdict)
        return _attach_reports(parsed, verdict)

    return parse_delivered


def _mark_finished(completion: Any, verdict: AnswerFacts) -> None:
    for choice in getattr(completion, "choices", ()):
        if verdict.is_withheld(choice.index) and choice.finish_reason == _FILTERED:
            choice.finish_reason = "stop"


def _mark_withheld(completion: Any, verdict: AnswerFacts) -> None:
    for choice in getattr(completion, "choices", ()):
        if verdict.is_withheld(choice.index):
            choice.finish_reason = _FILTERED


def _with_chat_helper(chat: Any) -> Any:
    _put_helper(chat.completions, GuardedChatStream, GuardedAsyncChatStream)
    return chat


def _put_helper(resource: Any, helper: type, async_helper: type) -> None:
    is_async = isinstance(resource._client, AsyncOpenAI)
    stream = resource.stream
    resource.stream = lambda **request: _Manager(stream(**request), async_helper if is_async else helper)


class _Manager:
    """The context manager of an SDK helper; its stream becomes ours on entry."""

    def __init__(self, inner: Any, helper: type) -> None:
        self._inner, self._helper = inner, helper

    def __enter__(self) -> Any:
        return self._as_guarded(self._inner.__enter__())

    def __exit__(self, *exc: object) -> None:
        self._inner.__exit__(*exc)

    async def __aenter__(self) -> Any:
        return self._as_guarded(await self._inner.__aenter__())

    async def __aexit__(self, *exc: object) -> None:
        await self._inner.__aexit__(*exc)

    def _as_guarded(self, stream: Any) -> Any:
        stream.__class__ = self._helper
        stream._iterator = stream.__stream__()
        return stream


class GuardedChatStream(ChatCompletionStream[Format]):
    """The stream that `chat.completions.stream(…)` opens."""

    def __stream__(self) -> Iterator[ChatCompletionStreamEvent[Format]]:
        for chunk in self._raw_stream:
            yield from _chat_events(self._state, chunk, _verdict_of(self._raw_stream))

    def get_final_completion(self) -> ParsedChatCompletion[Format]:
        """Like the SDK's; a withheld answer is replaced by the policy's message."""
        self.until_done()
        return _final_completion(self._state, _verdict_of(self._raw_stream))


class GuardedAsyncChatStream(AsyncChatCompletionStream[Format]):
    async def __stream__(self) -> AsyncIterator[ChatCompletionStreamEvent[Format]]:
        async for chunk in self._raw_stream:
            for event in _chat_events(self._state, chunk, _verdict_of(self._raw_stream)):
                yield event

    async def get_final_completion(self) -> ParsedChatCompletion[Format]:
        await self.until_done()
        return _final_completion(self._state, _verdict_of(self._raw_stream))


class GuardedResponseStream(ResponseStream[Format]):
    """The stream that `responses.stream(…)` opens."""

    def get_final_response(self) -> ParsedResponse[Format]:
        self.until_done()
        verdict = _verdict_of(self._raw_stream)
        return _attach_reports(_withheld_response(verdict) or super().get_final_response(), verdict)


class GuardedAsyncResponseStream(AsyncResponseStream[Format]):
    async def get_final_response(self) -> ParsedResponse[Format]:
        await self.until_done()
        verdict = _verdict_of(self._raw_stream)
        return _attach_reports(_withheld_response(verdict) or await super().get_final_response(), verdict)


def _verdict_of(stream: Any) -> AnswerFacts:
    verdict = stream.response.extensions.get(TOLD)
    return verdict if isinstance(verdict, AnswerFacts) else AnswerFacts()


def _chat_events(
    state: ChatCompletionStreamState[Format], chunk: ChatCompletionChunk, verdict: AnswerFacts
) -> Iterable[ChatCompletionStreamEvent[Format]]:
    """The SDK's events for a chunk. It raises on a content filter, so it sees a withheld answer as one that stopped."""
    if chunk.object != "chat.completion.chunk":
        return
    finished = chunk.model_copy(update={"choices": [choice.model_copy() for choice in chunk.choices]})
    _mark_finished(finished, verdict)
    for event in state.handle_chunk(finished):
        if event.type == "chunk":
            event.chunk = chunk
        yield event


def _final_completion(state: ChatCompletionStreamState[Format], verdict: AnswerFacts) -> ParsedChatCompletion[Format]:
    completion = state.get_final_completion()
    _mark_withheld(completion, verdict)
    return _attach_reports(completion, verdict)


def _withheld_response(verdict: AnswerFacts) -> ParsedResponse[Any] | None:
    if verdict.final is None or not verdict.is_withheld():
        return None
    final: dict[str, Any] = cast("Any", verdict.final).to_dict()
    return ParsedResponse[Any].construct(**final)
