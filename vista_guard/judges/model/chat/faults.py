"""Reads a client's exceptions, of any library, into errors that name the next step; log-probabilities and URLs too."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote, urlsplit, urlunsplit

from vista_guard.errors import ConfigError, ContextTooLongError, JudgeError
from vista_guard.reading.visible import storable

LONGEST_MESSAGE = 300


class EndpointError(JudgeError):
    """The endpoint failed, not the request. Several in a row open the circuit breaker."""


_CONNECTION = {"APIConnectionError", "TransportError", "ClientConnectionError", "ConnectionError"}
_TIMEOUT = {"APITimeoutError", "TimeoutException", "TimeoutError", "Timeout"}
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size)|maximum model length|context the overflows|exceed_context_size"
    r"|(prompt|input|request) (is )?too (long|large|big)|string too long|string_above_max_length|reduce the length"
    r"|input token count .*exceeds|inputs?`? (tokens .*)?must (be <=|have less than)",
    re.IGNORECASE,
)
_NO_CREDIT = re.compile(r"insufficient[ _](quota|balance|credit)|exceeded your current quota|billing", re.IGNORECASE)
_UNKNOWN = re.compile(
    r"unsupported|(not|n't) (be )?support|unknown|unrecogni[sz]ed|unexpected|not (permitted|allowed|available)|extra |deprecated"
    r"|only the default",
    re.IGNORECASE,
)
_STRUCTURE = re.compile(
    r"response[_ ]format|json[_ ](schema|object|mode)|structured[_ ]output|guided[_ ]|grammar|text\.format",
    re.IGNORECASE,
)
_SECRET = re.compile(r"\b(sk|key|pk)-[\w*.-]{6,}|(?<=Bearer )\S+|(?<=://)[^\s/@]+(?=@)", re.IGNORECASE)


@dataclass(frozen=True)
class EndpointFault:
    """A client's error in a common form. `message` is free of secrets."""

    kind: Literal["status", "connection", "timeout", "other"]
    message: str
    status: int | None = None
    code: str = ""
    param: str = ""

    @property
    def is_passing(self) -> bool:
        """True if another attempt may succeed."""
        return self.kind in ("connection", "timeout") or (
            self.status is not None and (self.status in (408, 409, 429) or self.status >= 500)
        )

    @property
    def is_filtered(self) -> bool:
        """True if a content filter refused the prompt."""
        return self.status == 400 and (self.code == "content_filter" or "content management policy" in self.message)

    @property
    def too_long(self) -> bool:
        """True if the prompt exceeds the model's context."""
        if self.status == 413 or (self.status == 429 and "request too large" in self.message.lower()):
            return True  # more than a whole minute's tokens: no pause will make it fit
        return self.status in (400, 422, 500) and _TOO_LONG.search(f"{self.code} {self.message}") is not None

    def blames(self, sent: Collection[str]) -> str | None:
        """The sent parameter that the endpoint rejects; None if it complains of something else.

        `json_schema`, `json_object` and `tools` stand for the structured-output modes.
        """
        if self.status not in (400, 404, 422) or self.too_long:
            return None
        text = f"{self.param} {self.code} {self.message}"
        structure = next((way for way in ("json_schema", "json_object", "tools") if way in sent), None)
        if structure is not None and (
            _STRUCTURE.search(text) or (structure == "tools" and re.search(r"\btools?\b", text))
        ):
            return structure
        if not _UNKNOWN.search(text):
            return None
        return next((name for name in sorted(sent) if name == self.param or re.search(rf"\b{name}\b", text)), None)


def read_fault(exc: BaseException, secrets: Collection[str] = ()) -> EndpointFault:
    """Reads any client's error: openai's, or one of LangChain's providers'."""
    names = {kind.__name__ for kind in type(exc).__mro__}
    status = _status(exc)
    if status is None and "ContextOverflowError" in names:  # LangChain's own
        return EndpointFault("status", clean(str(exc), secrets), 400, "context_length_exceeded")
    if status is not None:
        body = getattr(exc, "body", None)
        details = body if isinstance(body, Mapping) else {}
        code = str(details.get("code") or details.get("type") or "")
        message = clean(_error_message(body) or str(exc), secrets)
        return EndpointFault("status", message, status, code, str(details.get("param") or ""))
    if names & _TIMEOUT:
        return EndpointFault("timeout", clean(str(exc), secrets))
    if names & _CONNECTION or isinstance(exc, OSError):
        return EndpointFault("connection", clean(str(exc.__cause__ or exc) or type(exc).__name__, secrets))
    return EndpointFault("other", clean(f"{type(exc).__name__}: {exc}", secrets))


def to_error(fault: EndpointFault, endpoint: str, model: str, *, key: str, timeout_s: float) -> JudgeError:
    """The error to raise: endpoint, cause, next step. `key`: advice for a refused key."""
    answered = f"{endpoint} answered {fault.status}: {fault.message}" if fault.status else ""
    if fault.too_long:
        return ContextTooLongError(
            f"{answered}; the prompt exceeds the context of {model}; use fewer or shorter documents"
        )
    if fault.status is not None and fault.status < 400:
        return JudgeError(
            f"{endpoint} redirects ({fault.status}) to another address, which is not followed: name that one, often with https"
        )
    if fault.kind == "timeout":
        return EndpointError(
            f"{endpoint} did not answer within {timeout_s:g} s, retries included; check its load, or raise timeout_s"
        )
    if fault.kind == "connection":
        return EndpointError(
            f"{endpoint} cannot be reached: {fault.message}; check that it runs and that its URL is right"
        )
    if fault.status == 402 or (fault.status in (403, 429) and _NO_CREDIT.search(f"{fault.code} {fault.message}")):
        error = EndpointError if fault.status == 429 else JudgeError
        return error(f"{answered}; the account has no credit left: add some, or use another account's key")
    if fault.status == 429:
        return EndpointError(f"{answered}; lower concurrency, requests_per_minute or tokens_per_minute")
    if fault.status == 401:
        return JudgeError(f"{answered}; {key}")
    if fault.status == 403:
        return JudgeError(f"{answered}; this account may not use {model} there: {key}")
    if fault.status == 404:
        return JudgeError(
            f"{answered}; check the model's name, {model}, and the URL, which ends in /v1 at most endpoints"
        )
    if fault.is_passing:
        return EndpointError(f"{answered}; it failed after all retries, so try again later")
    if fault.status is not None:
        return JudgeError(f"{answered}; the endpoint rejects this request; check which parameters it accepts")
    return JudgeError(
        f"{endpoint} returned an unreadable answer: {fault.message}; check that it speaks chat completions"
    )


def _status(exc: BaseException) -> int | None:
    """The HTTP status, from wherever the client keeps it."""
    response = getattr(exc, "response", None)
    codes = (getattr(exc, "status_code", None), getattr(response, "status_code", None), getattr(exc, "code", None))
    return next((int(status) for status in codes if isinstance(status, int) and 300 <= status <= 599), None)


def _error_message(body: object) -> str:
    """The message in an error body: OpenAI's `message`, FastAPI's `detail`, Ollama's plain `error`, or text."""
    if isinstance(body, Mapping):
        message: Any = body.get("message") or body.get("detail") or body.get("error") or ""
        return message if isinstance(message, str) else str(message)
    return body if isinstance(body, str) else ""


def clean(text: str, secrets: Collection[str]) -> str:
    """One line of bounded length without anything secret."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, "***")
    text = " ".join(_SECRET.sub("***", storable(text)).split())
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


BLANKS = 4
"""Most blank tokens before the answer."""


def first_tokens(choice: object) -> Mapping[str, float]:
    """The likely tokens at the first position that is not blank, with their log-probabilities; empty if there are none.

    Args:
        choice: one choice of a chat completion, from any endpoint.
    """
    content = getattr(getattr(choice, "logprobs", None), "content", None)
    for place in list(content or ())[:BLANKS] if isinstance(content, list) else ():
        if str(getattr(place, "token", "")).strip():
            return dict(_likely(place))
    return {}


def _likely(place: object) -> Iterator[tuple[str, float]]:
    for candidate in (place, *(getattr(place, "top_logprobs", None) or ())):
        token, logprob = getattr(candidate, "token", None), getattr(candidate, "logprob", None)
        if (
            isinstance(token, str)
            and isinstance(logprob, int | float)
            and not isinstance(logprob, bool)
            and logprob <= 0
        ):
            yield token, float(logprob)


def read_url(url: str, *, query_allowed: bool = True) -> tuple[str, str]:
    """The URL without secrets, and the login in it: `user:password`, or "".

    Raises:
        ConfigError: it is no URL of an endpoint.
    """
    parts = urlsplit(url)
    printable = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else parts.path
    try:
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigError(f"base_url {printable!r} is no URL: {exc}; it looks like https://host/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"base_url {printable!r} is not an HTTP URL; use the form https://host/v1")
    if (parts.query or parts.fragment) and not query_allowed:
        raise ConfigError(
            f"base_url {printable!r} has a query or a fragment; pass a client with default_query, such as AsyncAzureOpenAI"
        )
    login = unquote(parts.netloc.rpartition("@")[0])
    clean_url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    return clean_url, login


def priced_url(url: str) -> str | None:
    """The URL for the price table; None for a private host, which has no price."""
    host = urlsplit(url).hostname or ""
    try:
        private = ipaddress.ip_address(host).is_private
    except ValueError:
        private = "." not in host
    return None if private else url
