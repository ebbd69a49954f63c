"""Keeps tenants apart at upstream, where all of them use one account.

Only routes of which upstream forgets the data pass, and no request may name what it keeps. A request is compared with a list of
names that are known to hold no reference; every other one is refused, unless its value is a number or a flag. So a new way to
name a stored answer is refused before anybody here has heard of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final
from urllib.parse import parse_qsl

from vista_guard.openai_api.routes import read_path
from vista_guard.openai_api.wire import Problem, as_list, judged_api
from vista_guard.proxy.settings import ProxySettings
from vista_guard.reading.chat_json import read_json

FORGOTTEN: Final = frozenset({("POST", "embeddings"), ("POST", "moderations"), ("GET", "models")})
"""Routes of which upstream keeps nothing that another caller could ask for."""

SENT_HEADERS: Final = frozenset({"accept", "content-type", "user-agent", "openai-beta"})
"""Headers of a caller that go to upstream. Any other might name a session, a project or an answer that is kept."""

_WHY: Final = "the tenants of this guard share one account at upstream, which keeps nothing apart for them"


def share_account(settings: ProxySettings) -> bool:
    return settings.upstream_key is not None and len(settings.keys) > 1


def refusal(method: str, raw_path: str, body: bytes, query: str = "") -> str | None:
    """Reason to refuse a request that could reach another tenant's data at upstream; else None. `raw_path` is quoted."""
    try:
        path = read_path(raw_path)
    except Problem:
        return None  # no route will take it
    if method == "POST" and judged_api(path) is not None:
        asked = (f"?{name}" for name, _ in parse_qsl(query, keep_blank_values=True) if name != "api-version")
        place = next(asked, None) or _reference(body)
        if place is None:
            return None
        return f"{place} may name what upstream keeps, and {_WHY}: send the history and the texts themselves"
    if method == "OPTIONS":
        return None
    name, _, rest = path.partition("/")
    if (method, name) in FORGOTTEN and (not rest or name == "models"):
        return None
    return f"this path reaches what upstream keeps, and {_WHY}"


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FREE: Final = _names(
    "metadata documents logit_bias logprobs prompt_cache_options cache_control "
    "chat_template_kwargs structured_outputs guided_json guided_choice stop_token_ids"
)
"""Names of a request whose values upstream takes as they are: maps of the caller's own names, and what only the guard reads."""

_FREE_INSIDE: Final = _names(
    "metadata documents logprobs parameters input_schema schema json_schema headers env cache_control "
    "pending_safety_checks acknowledged_safety_checks"
)
"""Such names of what is inside: also schemas, and what goes to servers of the caller's own."""

_KNOWN: Final = _names(
    # Of both APIs' requests.
    "model input instructions tool_choice text reasoning stop modalities include user safety_identifier "
    "prompt_cache_key prompt_cache_retention reasoning_effort service_tier verbosity truncation "
    "function_call guided_regex guided_grammar chat_template"
    # Of messages, items and their parts.
    " type role content name refusal status phase tool_call_id call_id arguments output reasoning_content "
    "extra_content google thought_signature summary encrypted_content image_url file_url file_data filename detail url data "
    "url_citation title action actions operation result revised_prompt path diff code error message "
    "param stdout stderr outcome command commands working_directory query queries pattern sources keys button "
    "server_label reason namespace"
    # Of tools and formats.
    " function custom description format grammar definition syntax mode strict effort generate_summary key value "
    "allowed_domains approximate city country region timezone search_context_size server_url server_description "
    "authorization allowed_tools tool_names require_approval always never memory_limit domain_secrets domain "
    "background input_fidelity input_image_mask moderation output_format quality size display_width display_height "
    "execution allowed_callers source media_type"
)
"""Names whose texts are no references; objects in them are compared in their turn."""

_PARTS: Final = _names(
    "container audio file skills voice environment messages tools tool_calls functions response_format prediction stream_options "
    "web_search_options context_management thinking filters user_location network_policy annotations input_audio"
)
"""Names that describe something with an object. A text or a number there could only refer to it."""

_NAMED: Final = _names("voice environment")
_WORD: Final = re.compile("[a-z]{1,20}")
"""One of upstream's own voices or environments; a caller's has an id."""

_ID: Final = re.compile(r"(.*[^a-z])?ids?([^a-z].*)?|conversation|prompt", re.IGNORECASE)
_CAMEL_ID: Final = re.compile(r".*[a-z]I[dD]s?")
"""Names of ids, which may be numbers elsewhere."""

_APPROVAL: Final = re.compile(r"input\[\d+\]\.approval_request_id")
"""Compared with the request's own by `_foreign_approvals`."""

_ITEM: Final = re.compile(r"(input|messages)\[\d+\]|messages\[\d+\]\.tool_calls\[\d+\]")
"""Places of items that may have an id beside their content."""

_TYPES: Final = _names(
    "message function_call function_call_output custom_tool_call custom_tool_call_output reasoning computer_call "
    "computer_call_output local_shell_call local_shell_call_output shell_call shell_call_output apply_patch_call "
    "apply_patch_call_output mcp_list_tools mcp_call mcp_approval_request mcp_approval_response image_generation_call compaction "
    "web_search_call file_search_call code_interpreter_call "
    "text input_text output_text refusal summary_text reasoning_text image_url input_image input_audio file input_file "
    "computer_screenshot url_citation content json_object json_schema grammar regex exit timeout "
    "function custom web_search web_search_2025_08_26 web_search_preview web_search_preview_2025_03_11 code_interpreter mcp "
    "file_search image_generation local_shell shell computer computer_use_preview computer-preview apply_patch namespace auto "
    "allowed_tools approximate inline base64 local container_auto allowlist disabled exec search open_page find find_in_page url "
    "click double_click drag keypress move screenshot scroll type wait create_file update_file delete_file "
    "eq ne gt gte lt lte in nin and or enabled"
)

_CONTENT: Final[Mapping[str, str]] = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "reasoning": "encrypted_content content",
    "computer_call": "action actions",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "mcp_list_tools": "tools",
    "mcp_call": "output error",
    "mcp_approval_request": "arguments",
    "image_generation_call": "result",
    "compaction": "encrypted_content",
    "function": "function",
    "custom": "custom",
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "computer_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "call_id",
}
"""Where an item of a type has what it says, when not in `content`. With its id alone, upstream fills it in from what it keeps."""

_NOT_SAID: Final = _names("type id status role annotations")


def _reference(body: bytes) -> str | None:
    """The place of the first thing that may refer to what upstream keeps."""
    try:
        content = read_json(body)
    except ValueError:
        return None  # the route refuses it
    if not isinstance(content, dict):
        return None
    return next(chain(_foreign_approvals(as_list(content.get("input"))), _references(content, "")), None)


def _foreign_approvals(items: Sequence[object]) -> Iterator[str]:
    """Approvals of calls that this request does not hold: another tenant's may wait for one."""
    requests = [item for item in items if isinstance(item, dict) and item.get("type") == "mcp_approval_request"]
    own = [request.get("id") for request in requests]
    for number, item in enumerate(items):
        asked = item.get("approval_request_id") if isinstance(item, dict) else None
        if asked is not None and not (isinstance(asked, str) and asked in own):
            yield f"input[{number}].approval_request_id"


def _references(value: object, place: str) -> Iterator[str]:
    """At most a hundred levels deep, as `read_json` allows no more."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _references(item, f"{place}[{number}]")
    elif isinstance(value, dict):
        kind = value.get("type")
        if "type" in value and not (place == "" or (isinstance(kind, str) and kind in _TYPES)):
            yield _join(place, "type")
        if value.get("id") is not None and not (_ITEM.fullmatch(place) and _says(value)):
            yield _join(place, "id")
        for name, item in value.items():
            yield from _references_in_field(name, item, _join(place, name))


def _references_in_field(name: str, value: object, place: str) -> Iterator[str]:
    free = _FREE if place == name else _FREE_INSIDE
    is_id = name in _PARTS or _ID.fullmatch(name) or _CAMEL_ID.fullmatch(name)
    if name in ("id", "type") or name in free or _APPROVAL.fullmatch(place) or _is_plain(value, numbers=not is_id):
        return
    is_own_name = name in _NAMED and isinstance(value, str) and _WORD.fullmatch(value) is not None
    if name in _KNOWN or (name in _PARTS and not _holds_words(value)):
        yield from _references(value, place)
    elif not is_own_name:
        yield place


def _is_plain(value: object, *, numbers: bool) -> bool:
    """True for flags, nothing, and where they are no ids for numbers, and for lists of them."""
    if isinstance(value, list):
        return all(_is_plain(item, numbers=numbers) for item in value)
    return value is None or isinstance(value, bool) or (numbers and isinstance(value, int | float))


def _holds_words(value: object) -> bool:
    """True for a text or a number, and for a list that has one."""
    if isinstance(value, list):
        return any(map(_holds_words, value))
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _says(item: Mapping[str, object]) -> bool:
    """True if an item with an id has its content beside it."""
    kind = item.get("type", "function" if "function" in item else "message")
    if not isinstance(kind, str) or kind not in (*_CONTENT, "message"):
        return False
    return any(_has_words(item.get(name)) for name in _CONTENT.get(kind, "content").split())


def _has_words(value: object) -> bool:
    if isinstance(value, dict):
        return any(_has_words(part) for name, part in value.items() if name not in _NOT_SAID)
    if isinstance(value, list):
        return any(map(_has_words, value))
    return isinstance(value, str) and bool(value.strip())


def _join(place: str, name: str) -> str:
    """A caller may have written anything for a name: it is shown shortened."""
    short = name if len(name) <= 60 else f"{name[:60]}…"
    return f"{place}.{short}" if place else short
