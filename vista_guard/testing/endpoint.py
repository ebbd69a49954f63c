"""What the scripted endpoint refuses: wrong keys, unknown models, prompts too long, formats it is set up without."""

from __future__ import annotations

import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from vista_guard.testing.script import ReceivedRequest, count_tokens
from vista_guard.testing.validation import InvalidRequest, check


class Refused(Exception):
    """An answer with an error status; `wrong` when no endpoint would have taken the request."""

    def __init__(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None, wrong: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.wrong = wrong


@dataclass(frozen=True)
class Endpoint:
    """Key, models, context window and abilities; the fields are explained at `ScriptedChatServer`."""

    key: str | None
    models: Collection[str] | None
    context_tokens: int | None
    json_schema: bool
    extra_parameters: Collection[str]

    def check_key(self, headers: Mapping[str, str]) -> None:
        """Raises Refused (401) unless the caller has the key."""
        given = headers.get("authorization", "").encode()
        if self.key is not None and not hmac.compare_digest(given, f"Bearer {self.key}".encode()):
            raise Refused(401, "Incorrect API key provided.", code="invalid_api_key")

    def check(self, request: ReceivedRequest) -> None:
        """Raises Refused when the request is wrong, or asks for what this endpoint has not."""
        self.check_key(request.headers)
        try:
            check(request.api, request.body, self.extra_parameters)
        except InvalidRequest as exc:
            raise Refused(400, str(exc), param=exc.param, wrong=True) from None
        if self.models is not None and request.model not in self.models:
            told = f"The model `{request.model}` does not exist or you do not have access to it."
            raise Refused(404, told, code="model_not_found")
        self._check_length(request)
        if not self.json_schema and request.schema_name is not None:
            param = "response_format" if request.api == "chat" else "text.format"
            told = f"Invalid parameter: '{param}' of type 'json_schema' is not supported with this model."
            raise Refused(400, told, param=param)

    def _check_length(self, request: ReceivedRequest) -> None:
        tokens = count_tokens(request.prompt)
        if self.context_tokens is not None and tokens > self.context_tokens:
            told = (
                f"This model's maximum context length is {self.context_tokens} tokens. "
                f"However, your messages resulted in {tokens} tokens. Please reduce the length of the messages."
            )
            param = "messages" if request.api == "chat" else "input"
            raise Refused(400, told, code="context_length_exceeded", param=param)
