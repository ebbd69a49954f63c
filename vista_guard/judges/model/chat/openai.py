"""A chat model behind any endpoint that speaks OpenAI's chat completions: OpenAI, Azure, DeepSeek, vLLM, Ollama, llama.cpp."""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from vista_guard._aio import through
from vista_guard._extras import require
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.judges.model.chat.calling import (
    LIBRARIES,
    OUR_BOUND,
    ChatRequest,
    EndpointChat,
    Finish,
    ModelReply,
    OnLoop,
    PriceTable,
    Reply,
    learn,
    refused_parameters,
    thought_too_long,
    token_count,
)
from vista_guard.judges.model.chat.faults import (
    clean,
    first_tokens,
    priced_url,
    read_fault,
    read_url,
)
from vista_guard.reading.visible import storable
from vista_guard.settings.model import MODEL_DEFAULTS, ModelOptions
from vista_guard.telemetry.spans import is_instrumented

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI_URL = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
CONNECT_TIMEOUT_S = 5.0
_WAYS = ("json_schema", "json_object")  # structured-output modes, the strictest first
_MOST_ITEMS = "maxItems"
_FINISH: dict[str, Finish] = {"stop": "stop", "length": "length", "content_filter": "refusal"}


class OpenAIChat(EndpointChat):
    """A model behind an OpenAI-compatible endpoint, with one connection pool per process.

    Args:
        model: its name at the endpoint; the deployment's name at Azure.
        base_url: the endpoint, `https://host/v1`. Defaults to `OPENAI_BASE_URL`, else OpenAI. A user name and password in
            it are sent as basic authentication and never shown.
        client: an `openai.AsyncOpenAI` or `AsyncAzureOpenAI` with its own URL and key, for this object alone: its
            connections will belong to vista-guard's event loop. The timeout and retries of `options` override its own,
            and the caller closes it. After a fork, give the child its own.
        options: request parameters and limits.

    The key is the environment's `OPENAI_API_KEY`; endpoints other than OpenAI may need none.

    Raises:
        ConfigError: the extra `model` is missing; an invalid URL, no key for OpenAI, or a cost budget for a model without
            a known price.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        client: AsyncOpenAI | None = None,
        options: ModelOptions = MODEL_DEFAULTS,
    ) -> None:
        require("a judge that asks an OpenAI-compatible endpoint", "openai", *LIBRARIES, extra="model")
        import_module("openai.resources.chat.completions")  # loaded now, so that no turn waits for it
        if not model.strip():
            raise ConfigError("the model's name is empty; name it, for example openai:gpt-4o-mini")
        if client is not None and base_url is not None:
            raise ConfigError(
                "both a client and a base_url are given; the client has its own URL, so leave base_url out"
            )
        environment = os.environ.get("OPENAI_BASE_URL")
        endpoint = str(client.base_url) if client is not None else base_url or environment or OPENAI_URL
        self._client_given = client
        self._url, self._login = read_url(endpoint, query_allowed=client is not None)
        self._key = client.api_key if client is not None else os.environ.get(KEY_VARIABLE, "")
        name = f"openai:{model}" if self._url == OPENAI_URL else f"openai:{model}@{self._url}"
        at_openai = urlsplit(self._url).hostname == urlsplit(OPENAI_URL).hostname
        if not self._key and client is None and not self._login and at_openai:
            raise ConfigError(
                f"{name} needs a key: set {KEY_VARIABLE}, or name an endpoint, openai:{model}@http://host/v1"
            )
        prices = PriceTable(model, options.prices, url=priced_url(self._url))
        super().__init__(name, model, options, prices, provider="openai", instrumented=_is_instrumented)
        self._client = OnLoop(self._connect)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Further request parameters; JSON types only."""
        options = self._options
        return {
            "temperature": options.temperature,
            "seed": options.seed,
            "max_output_tokens": options.max_output_tokens,
            "structured_output": options.structured_output,
        }

    async def aclose(self) -> None:
        """Closes the connections, except those of a client passed in."""
        await through(self._close())

    async def _close(self) -> None:
        client = self._client.take()
        if client is not None and self._client_given is None:
            await client.close()

    def _connect(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout

        tries = self._options.max_retries
        timeout = Timeout(self._options.timeout_s, connect=min(self._options.timeout_s, CONNECT_TIMEOUT_S))
        if self._client_given is not None:
            return self._client_given.with_options(max_retries=tries, timeout=timeout)
        # A login is a header and no part of the URL: HTTP clients log URLs.
        headers = {"Authorization": f"Basic {self._encoded_login}"} if self._login else None
        return AsyncOpenAI(
            api_key=self._key or "none",
            base_url=self._url,
            max_retries=tries,
            timeout=timeout,
            default_headers=headers,
            # Documents and conversations go to the named address alone.
            http_client=DefaultAsyncHttpxClient(timeout=timeout, follow_redirects=False),
        )

    async def _ask_until_taken(self, request: ChatRequest, key: tuple[str, ...]) -> ModelReply:
        left_out: frozenset[str] = frozenset()
        while True:
            sent = self._request_fields(request, refused_parameters(key) | left_out)
            try:
                completion = await self._create(request, sent)
            except _client_errors() as exc:
                fault = read_fault(exc, self._secrets)
                if fault.is_filtered:
                    return ModelReply(Reply("", "refusal"))
                blamed = fault.blames(sent)
                if blamed == "json_schema" and _MOST_ITEMS in fault.message and _MOST_ITEMS not in left_out:
                    blamed = _MOST_ITEMS
                if blamed is None or (blamed == self._options.structured_output):
                    raise self._error(exc) from None  # the client's error carries the request, and with it the key
                left_out |= {blamed}
                continue
            answer = self._read(completion)
            if self._bound(request, left_out | refused_parameters(key)) and thought_too_long(answer.reply):
                left_out |= {OUR_BOUND}
                continue
            learn(key, left_out)
            return answer

    def _bound(self, request: ChatRequest, without: Collection[str]) -> int | None:
        """The request's own bound on its answer, unless the options have one."""
        is_ours = self._options.max_output_tokens is None and OUR_BOUND not in without
        return request.most_tokens if is_ours else None

    async def _create(self, request: ChatRequest, sent: Mapping[str, Any]) -> object:
        messages: Any = [{"role": message.role, "content": storable(message.content)} for message in request.messages]
        more: dict[str, Any] = {"response_format" if name in _WAYS else name: value for name, value in sent.items()}
        return await self._client.get().chat.completions.create(model=self._model_name, messages=messages, **more)

    def _request_fields(self, request: ChatRequest, without: frozenset[str]) -> dict[str, Any]:
        """The request's fields except the messages. A structured-output mode is keyed by its name."""
        options = self._options
        longest = "max_tokens" if "max_tokens" not in without else "max_completion_tokens"
        seed = None if request.sampling else options.seed
        wanted = {
            "temperature": options.temperature,
            "seed": seed,
            longest: options.max_output_tokens or self._bound(request, without),
            **request.sampling,
        }
        sent: dict[str, Any] = {
            name: value for name, value in wanted.items() if value is not None and name not in without
        }
        if request.alternatives and "logprobs" not in without:  # the number of them means nothing by itself
            likely = {"logprobs": True, "top_logprobs": request.alternatives}
            sent |= {name: value for name, value in likely.items() if name not in without}
        ways = _WAYS if options.structured_output == "auto" else (options.structured_output,)
        way = next((way for way in ways if way in _WAYS and way not in without), None)
        if request.schema is not None and way == "json_schema":
            asked = _without_bounds(request.schema) if _MOST_ITEMS in without else dict(request.schema)
            schema = {"name": request.stage, "strict": True, "schema": asked}
            sent[way] = {"type": way, way: schema}
        elif request.schema is not None and way is not None:
            sent[way] = {"type": way}
        return sent

    def _read(self, completion: object) -> ModelReply:
        choices = getattr(completion, "choices", None)
        if not isinstance(choices, list) or not choices:
            raise self._unreadable(completion)
        message, finish = getattr(choices[0], "message", None), getattr(choices[0], "finish_reason", None)
        refusal, text = getattr(message, "refusal", None), getattr(message, "content", None)
        # Not an OpenAI field: reasoning_content in DeepSeek and SGLang, reasoning in vLLM and OpenRouter.
        thought = getattr(message, "reasoning_content", None) or getattr(message, "reasoning", None)
        how: Finish = "refusal" if refusal else _FINISH.get(str(finish), "other")
        thought = storable(thought) if isinstance(thought, str) else ""
        if text is None and (thought or how in ("refusal", "length")):  # only a refusal, or only thoughts
            text = refusal or ""
        if not isinstance(text, str):
            raise self._unreadable(completion)
        usage = getattr(completion, "usage", None)
        cached = getattr(getattr(usage, "prompt_tokens_details", None), "cached_tokens", None)
        return ModelReply(
            Reply(storable(text), how, first_tokens(choices[0]), thought),
            input_tokens=token_count(getattr(usage, "prompt_tokens", None)),
            output_tokens=token_count(getattr(usage, "completion_tokens", None)),
            cached_tokens=token_count(cached),
        )

    def _unreadable(self, completion: object) -> JudgeError:
        body = str(completion.to_dict(warnings=False)) if hasattr(completion, "to_dict") else str(completion)
        return JudgeError(
            f"{self.name} returned an unreadable answer: {clean(body, self._secrets)!r}; "
            "check that it speaks chat completions, and whether its URL should end in /v1"
        )

    @property
    def _secrets(self) -> tuple[str, ...]:
        return (self._key, self._login, self._login.partition(":")[2], self._encoded_login)

    @property
    def _encoded_login(self) -> str:
        return base64.b64encode(self._login.encode()).decode()

    @property
    def _key_hint(self) -> str:
        if self._client_given is not None:
            return "give the client a key that this endpoint takes"
        if self._login:
            return "check the user name and password in its URL"
        if self._key:
            return f"set {KEY_VARIABLE} to a key that this endpoint takes"
        return f"{KEY_VARIABLE} is not set: set it to a key of this endpoint"


def _without_bounds(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an answer without bounds on its lists, for endpoints that refuse them."""
    fields = {name: {**field} for name, field in schema["properties"].items()}
    for field in fields.values():
        field.pop(_MOST_ITEMS, None)
    return {**schema, "properties": fields}


def _client_errors() -> tuple[type[Exception], ...]:
    from openai import OpenAIError

    return OpenAIError, ValueError  # ValueError: a body that calls itself JSON and is not


def _is_instrumented() -> bool:
    """True if OpenTelemetry's or OpenInference's instrumentation of the openai library traces its calls."""
    from openai import AsyncOpenAI
    from openai.resources.chat.completions import AsyncCompletions

    return is_instrumented(AsyncCompletions.create, AsyncOpenAI.request)
