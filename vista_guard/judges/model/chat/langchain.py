"""Any chat model with a LangChain integration."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from email.utils import parsedate_to_datetime
from importlib import import_module
from time import time
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from vista_guard._extras import how_to_install, require
from vista_guard.errors import ConfigError
from vista_guard.judges.model.chat.calling import (
    LIBRARIES,
    OUR_BOUND,
    ChatRequest,
    EndpointChat,
    Finish,
    ModelReply,
    PriceTable,
    Reply,
    learn,
    refused_parameters,
    thought_too_long,
    token_count,
)
from vista_guard.judges.model.chat.faults import clean, priced_url, read_fault, read_url
from vista_guard.reading.visible import storable
from vista_guard.settings.model import MODEL_DEFAULTS, ModelOptions
from vista_guard.telemetry.spans import is_instrumented

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import Runnable
    from tenacity import RetryCallState

LONGEST_PAUSE_S = 60.0
_FINISH: dict[str, Finish] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "tool_calls", "tool_use"), "stop"),
    **dict.fromkeys(("length", "max_tokens"), "length"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "content_filtered", "guardrail_intervened"), "refusal"),
}
# A judge inside an agent's graph must not stream to the agent's user, nor reach the agent's callbacks.
_UNHEARD: Any = {"callbacks": [], "tags": ["nostream"]}


class LangChainChat(EndpointChat):
    """A LangChain chat model that judges.

    Args:
        model: for this object alone, because its connections will belong to vista-guard's event loop. It keeps its own
            temperature and limits: of `options`, only limits, budget and prices apply, and `timeout_s` bounds every call. A
            model that retries by itself (`max_retries` above 0, or its integration's default) does so; others are retried
            here. Structured output is requested through its integration, unless `structured_output` is `off`.
        options: its limits.

    Raises:
        ConfigError: the extra `model` is missing, or a budget of money for a model whose price is not known.
    """

    def __init__(self, model: BaseChatModel, *, options: ModelOptions = MODEL_DEFAULTS) -> None:
        require("a judge that asks a LangChain chat model", *LIBRARIES, extra="model")
        import_module("tenacity")  # loaded now, so that no turn waits for it
        ls_params: Mapping[str, Any] = model._get_ls_params()  # what the integration tells LangSmith: free of secrets
        provider = str(ls_params.get("ls_provider") or model._llm_type)
        self._model = model
        self._ls_params = ls_params
        model_name = str(ls_params.get("ls_model_name") or getattr(model, "model", "") or type(model).__name__)
        base_url = getattr(model, "openai_api_base", None) or getattr(model, "base_url", None)
        url = read_url(base_url)[0] if isinstance(base_url, str) else None
        where = {"url": priced_url(url)} if url else {"provider": provider}
        super().__init__(
            f"langchain:{provider}:{model_name}" + (f"@{url}" if url else ""),
            model_name,
            options,
            PriceTable(model_name, options.prices, **where),
            provider=provider,
            instrumented=_is_instrumented,
        )

    @classmethod
    def from_name(cls, name: str, *, options: ModelOptions = MODEL_DEFAULTS) -> LangChainChat:
        """Builds `provider:model` with LangChain's `init_chat_model`, and the temperature and limits of `options`.

        The key comes from the variable that its integration reads.

        Raises:
            ConfigError: LangChain or the integration is not installed, has no such provider, or wants a key.
        """
        try:
            from langchain.chat_models import init_chat_model
        except ImportError:
            raise ConfigError(
                f"langchain:{name} needs langchain: {how_to_install('model,langchain')}, and its integration's package"
            ) from None
        # Retries and deadline are enforced here. A separate timeout also keeps integrations that share clients by
        # settings from sharing one with the agent, which has another event loop.
        wanted: dict[str, Any] = {
            "temperature": options.temperature,
            "max_tokens": options.max_output_tokens,
            "timeout": options.timeout_s,
            "max_retries": 0,
        }
        try:
            fields = type(init_chat_model(name)).model_fields
            known = {*fields, *(field.alias for field in fields.values())}
            taken = {field: value for field, value in wanted.items() if field in known and value is not None}
            return cls(init_chat_model(name, **taken), options=options)
        except ConfigError:
            raise
        except Exception as exc:  # each integration complains in its own way
            raise ConfigError(f"langchain:{name} cannot be made: {clean(str(exc), ())}") from exc

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Further request parameters; JSON types only."""
        return {
            "temperature": self._ls_params.get("ls_temperature"),
            "max_output_tokens": self._ls_params.get("ls_max_tokens"),
            "structured_output": self._options.structured_output,
        }

    async def aclose(self) -> None:
        """Does nothing: the caller owns the model."""

    async def _ask_until_taken(self, request: ChatRequest, key: tuple[str, ...]) -> ModelReply:
        bounded = self._bounded_model(request, refused_parameters(key))
        structured = None if "tools" in refused_parameters(key) else self._structured_model(request, bounded)
        try:
            target = structured or bounded
            answer = _read(await self._invoke(target.bind(**request.sampling) if request.sampling else target, request))
        except Exception as exc:  # each integration has errors of its own: read_fault tells them apart
            fault = read_fault(exc, self._secrets)
            if fault.is_filtered or type(exc).__name__ == "ContentFilterFinishReasonError":
                return ModelReply(Reply("", "refusal"))
            if type(exc).__name__ == "LengthFinishReasonError":
                answer = ModelReply(Reply("", "length"))
            elif structured is None or not fault.blames({"tools"}):
                raise self._error(exc) from None  # the client's error carries the request, and with it the key
            else:
                learn(key, frozenset({"tools"}))
                return await self._ask_until_taken(request, key)
        if bounded is not self._model and thought_too_long(answer.reply):
            learn(key, frozenset({OUR_BOUND}))
            return await self._ask_until_taken(request, key)
        learn(key, frozenset())
        return answer

    def _bounded_model(self, request: ChatRequest, refused: Collection[str]) -> BaseChatModel:
        """The model with the request's own bound, if it has a field for it that is not set."""
        is_set = getattr(self._model, "max_tokens", ...) is not None or self._options.max_output_tokens is not None
        if is_set or request.most_tokens is None or OUR_BOUND in refused:
            return self._model
        return self._model.model_copy(update={"max_tokens": request.most_tokens})

    def _structured_model(self, request: ChatRequest, model: BaseChatModel) -> Runnable[Any, Any] | None:
        """The model with structured output; None if switched off or not supported."""
        if request.schema is None or self._options.structured_output == "off":
            return None
        try:
            return model.with_structured_output({"title": request.stage, **request.schema}, include_raw=True)
        except NotImplementedError:
            return None

    async def _invoke(self, model: Runnable[Any, Any], request: ChatRequest) -> object:
        from tenacity import AsyncRetrying, retry_if_exception, stop_after_attempt

        retries_itself = getattr(self._model, "max_retries", 0) != 0
        retrying = AsyncRetrying(
            stop=stop_after_attempt(1 if retries_itself else 1 + self._options.max_retries),
            wait=_pause,
            retry=retry_if_exception(lambda exc: read_fault(exc).is_passing),
            reraise=True,
        )
        messages = [(message.role, storable(message.content)) for message in request.messages]
        return await retrying(model.ainvoke, messages, config=_UNHEARD)

    @property
    def _secrets(self) -> tuple[str, ...]:
        fields = (getattr(self._model, name, None) for name in type(self._model).model_fields)
        return tuple(value.get_secret_value() for value in fields if isinstance(value, SecretStr))

    @property
    def _key_hint(self) -> str:
        return "give the model a key that its endpoint takes, usually by the variable that its integration reads"


def _read(result: object) -> ModelReply:
    """The reply of a model, with or without structured output."""
    parsed = result.get("parsed") if isinstance(result, dict) else None
    message: Any = result["raw"] if isinstance(result, dict) else result
    refusal = message.additional_kwargs.get("refusal")
    metadata = message.response_metadata
    finish = str(
        metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason") or ""
    ).lower()
    # With structure by tool call, the message's text is empty, and the parsed value is the answer.
    text = json.dumps(parsed, ensure_ascii=False) if isinstance(parsed, dict) else str(refusal or message.text)
    usage = message.usage_metadata or {}
    how: Finish = "refusal" if refusal else _FINISH.get(finish, "other" if finish else "stop")
    thought = message.additional_kwargs.get("reasoning_content")
    return ModelReply(
        Reply(storable(text), how, reasoning=storable(thought) if isinstance(thought, str) else ""),
        input_tokens=token_count(usage.get("input_tokens")),
        output_tokens=token_count(usage.get("output_tokens")),
        cached_tokens=token_count((usage.get("input_token_details") or {}).get("cache_read")),
    )


def _pause(state: RetryCallState) -> float:
    """Seconds until the next try: the endpoint's `Retry-After`, else random exponential backoff."""
    from tenacity import wait_random_exponential

    exc = state.outcome.exception() if state.outcome is not None else None
    headers: Mapping[str, str] = getattr(getattr(exc, "response", None), "headers", None) or {}
    seconds = _seconds(headers.get("retry-after", ""))
    return (
        min(seconds, LONGEST_PAUSE_S) if seconds is not None else wait_random_exponential(multiplier=0.5, max=8)(state)
    )


def _seconds(retry_after: str) -> float | None:
    """The header's delay, from seconds or a date; None for anything else."""
    try:
        return max(float(retry_after), 0.0)
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(retry_after).timestamp() - time(), 0.0)
    except ValueError:
        return None


def _is_instrumented() -> bool:
    """True if OpenInference or OpenTelemetry traces LangChain's calls."""
    callbacks = import_module("langchain_core.callbacks")  # loaded: there is a model of it
    return is_instrumented(callbacks.BaseCallbackManager.__init__)
