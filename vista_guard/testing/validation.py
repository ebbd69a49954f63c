"""Whether a request is one that OpenAI's API takes: the SDK's own types, read strictly, and the rules they cannot state."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from vista_guard.testing.script import Api

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails, SchemaValidator

_RANGES = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "n": (1, 128),
    "max_tokens": (1, 10**7),
    "max_completion_tokens": (1, 10**7),
    "max_output_tokens": (16, 10**7),
    "top_logprobs": (0, 20),
}
_UNSUPPORTED = ("allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "patternProperties")


class InvalidRequest(Exception):
    """A request that the API refuses; `param` is the path of what is wrong."""

    def __init__(self, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.param = param


@cache
def validator(api: Api) -> SchemaValidator:
    """Reads a JSON body strictly: no unknown key at any depth, no number given as a text. Needs the openai SDK."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    adapter: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsBase if api == "chat" else ResponseCreateParamsBase)
    return SchemaValidator(_strict(adapter.core_schema))


def check(api: Api, body: Mapping[str, Any], extra: Collection[str] = ()) -> None:
    """Nothing, when the API takes this body; `extra` names top-level parameters that are let through unseen.

    Raises:
        InvalidRequest: it does not.
    """
    from pydantic import ValidationError

    stream = body.get("stream")
    if stream not in (None, True, False):
        raise InvalidRequest(f"Invalid type for 'stream': expected a boolean, but got {stream!r}.", "stream")
    seen = {key: value for key, value in body.items() if key != "stream" and key not in extra}
    try:
        validator(api).validate_json(json.dumps(seen), strict=True)
    except ValidationError as exc:
        raise _explained(exc.errors(include_url=False, include_context=False)) from None
    _check_rules(api, body)
    for problem in _schema_problems(api, body):
        raise InvalidRequest(problem, "response_format" if api == "chat" else "text.format.schema")


def _strict(node: Any) -> Any:
    # The SDK types say Iterable, which pydantic would read lazily, and let unknown keys pass.
    if isinstance(node, list | tuple):
        return type(node)(_strict(part) for part in node)
    if not isinstance(node, dict):
        return node
    made = {key: part if key in ("metadata", "cls") else _strict(part) for key, part in node.items()}
    if made.get("type") == "generator":
        made["type"] = "list"
    elif made.get("type") == "typed-dict":
        made["extra_behavior"] = "forbid"
    return made


def _explained(errors: list[ErrorDetails]) -> InvalidRequest:
    """The error of the variant that was most likely meant: of a union, that whose `role` and `type` fit, read deepest."""
    unknown = [error["loc"][0] for error in errors if error["type"] == "extra_forbidden" and len(error["loc"]) == 1]
    if unknown:
        return InvalidRequest(f"Unrecognized request argument supplied: {unknown[0]}", None)
    wrong = [error["loc"][:-1] for error in errors if error["loc"][-1] in ("role", "type")]
    fitting = [error for error in errors if not any(error["loc"][: len(loc)] == loc for loc in wrong if loc)]
    error = max(fitting or errors, key=lambda error: len(error["loc"]))
    path = ".".join(str(part) for part in error["loc"] if isinstance(part, int) or _is_key(part))
    expected = {other["msg"] for other in errors if other["loc"][-1] == error["loc"][-1]} if not fitting else set()
    told = "; ".join(sorted(expected)) or error["msg"]
    return InvalidRequest(f"Invalid value for '{path}': {told}.", path)


def _is_key(part: str) -> bool:
    # The rest are names of union members: classes, list[…], str.
    return re.fullmatch(r"[a-z_]+", part) is not None and part not in ("str", "int", "float", "bool", "list", "dict")


def _check_rules(api: Api, body: Mapping[str, Any]) -> None:
    for required in ("model", "messages") if api == "chat" else ("model", "input"):
        if not body.get(required):
            raise InvalidRequest(f"Missing required parameter: '{required}'.", required)
    for name, (low, high) in _RANGES.items():
        value = body.get(name)
        if isinstance(value, int | float) and not low <= value <= high:
            raise InvalidRequest(f"Invalid '{name}': {value} lies outside [{low}, {high}].", name)
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        raise InvalidRequest("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise InvalidRequest("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if _answer_format(api, body).get("type") == "json_object":
        asked = json.dumps([body.get("messages"), body.get("input"), body.get("instructions")])
        if "json" not in asked.lower():
            raise InvalidRequest("'messages' must contain the word 'json' to use a format of type 'json_object'.")


def _answer_format(api: Api, body: Mapping[str, Any]) -> Mapping[str, Any]:
    wanted = body.get("response_format") if api == "chat" else (body.get("text") or {}).get("format")
    return wanted or {}


def _schema_problems(api: Api, body: Mapping[str, Any]) -> Iterator[str]:
    """What strict structured output refuses (every object closed, every property required), and bad names."""
    wanted = _answer_format(api, body)
    if wanted.get("type") != "json_schema":
        return
    given = wanted["json_schema"] if api == "chat" else wanted
    name, schema = given["name"], given.get("schema")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        yield f"Invalid name {name!r} of the schema: it must match [A-Za-z0-9_-]{{1,64}}."
    if schema is None:
        yield f"Missing required parameter: the schema of {name!r}."
    elif given.get("strict"):
        told = f"Invalid schema for response_format '{name}': "
        if schema.get("type") != "object":
            yield f"{told}schema must be a JSON Schema of 'type: \"object\"', got 'type: {schema.get('type')!r}'."
        yield from (told + problem for problem in _node_problems(schema, ()))


def _node_problems(node: Any, context: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(node, Mapping):
        yield f"In context={context}, a schema must be an object, got {node!r}."
        return
    here = f"In context={context}, "
    for keyword in _UNSUPPORTED:
        if keyword in node:
            yield f"{here}'{keyword}' is not permitted."
    if not {"type", "anyOf", "$ref", "enum", "const"} & node.keys():
        yield f"{here}schema must have a 'type' key."
    properties = node.get("properties", {})
    if node.get("type") == "object" or properties:
        if node.get("additionalProperties") is not False:
            yield f"{here}'additionalProperties' is required to be supplied and to be false."
        missing = [name for name in properties if name not in node.get("required", ())]
        unknown = [name for name in node.get("required", ()) if name not in properties]
        if missing:
            yield f"{here}'required' must include every key in properties. Missing {missing[0]!r}."
        if unknown:
            yield f"{here}'required' names {unknown[0]!r}, which is no property."
    if node.get("type") == "array" and "items" not in node:
        yield f"{here}array schema missing items."
    yield from _inner_problems(node, context)


def _inner_problems(node: Mapping[str, Any], context: tuple[str, ...]) -> Iterator[str]:
    for group in ("properties", "$defs", "definitions"):
        for name, inner in node.get(group, {}).items():
            yield from _node_problems(inner, (*context, group, name))
    if "items" in node:
        yield from _node_problems(node["items"], (*context, "items"))
    for number, inner in enumerate(node.get("anyOf", ())):
        yield from _node_problems(inner, (*context, "anyOf", str(number)))
