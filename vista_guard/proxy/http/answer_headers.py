"""Which of upstream's headers go with an answer that is judged: those that are known not to carry a model's words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_NAMES: Final = re.compile(
    r"content-type|cache-control|vary|via|retry-after(-ms)?|x-should-retry|x-request-id|request-id|cf-ray|cf-cache-status"
    r"|openai-(version|organization|project|processing-ms|model)|x-ratelimit-[a-z-]+|anthropic-ratelimit-[a-z-]+"
    r"|apim-request-id|x-ms-[a-z-]+|azureml-[a-z-]+|x-envoy-upstream-service-time|x-amzn-requestid|x-groq-region"
    r"|strict-transport-security|x-content-type-options|access-control-[a-z-]+"
)
_VALUE: Final = re.compile(r"[ -~]{0,200}")


def answer_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """The headers that may go with a judged answer."""
    return [(name, value) for name, value in headers if _NAMES.fullmatch(name) and _VALUE.fullmatch(value)]
