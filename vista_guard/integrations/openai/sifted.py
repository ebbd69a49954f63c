"""The SDK's objects with what the table of known fields passes: the same object where that is all of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Final, TypeVar, cast

from openai import APIError, BaseModel
from openai.types.chat import ParsedChatCompletion
from openai.types.responses import ParsedResponse, ResponseTextDeltaEvent, ResponseTextDoneEvent

from vista_guard.errors import InputError
from vista_guard.integrations.openai_api import Api, Json
from vista_guard.integrations.openai_api.fields import (
    NOTHING_LEFT,
    Sifting,
    is_lost,
    scrubbed_error,
    sift_chunk,
    sift_completion,
    sift_event,
    sift_response,
    speaks,
)

Answer = TypeVar("Answer")
Event = TypeVar("Event")

_REFUSED: Final[dict[object, type[BaseModel]]] = {
    "response.refusal.delta": ResponseTextDeltaEvent,
    "response.refusal.done": ResponseTextDoneEvent,
}


def sifted_answer(api: Api, answer: Answer, sifting: Sifting) -> Answer:
    """A whole answer, with what the table knows.

    Raises:
        InputError: it is none of the SDK's objects, or says something only where the API has no words.
    """
    if sifting.structured:
        return answer
    told = _plain(answer)
    kept = _filled(sift_completion(told, sifting) if api == "chat" else sift_response(told, sifting))
    if is_lost(kept, sifting):
        raise InputError(NOTHING_LEFT)
    if kept == told or not isinstance(answer, BaseModel):
        return answer
    made = type(answer).construct(**cast("dict[str, Any]", kept))
    made._request_id = answer._request_id
    _keep_parsed(made, answer)
    return cast(Answer, made)


def unjudged_in(api: Api, answer: object, *, structured: bool) -> set[str]:
    """What a delivered answer holds that is not judged by design."""
    sifting = Sifting(structured=structured)
    told = _plain(answer)
    _ = sift_completion(told, sifting) if api == "chat" else sift_response(told, sifting)
    return {str(kind) for kind in sifting.unjudged}


async def sifted_events(
    api: Api, events: AsyncGenerator[Event, None], sifting: Sifting, choices: int
) -> AsyncGenerator[Event, None]:
    """A stream's events, with what the table knows.

    Raises:
        InputError: it said something only where the API has no words.
        APIError: upstream reported an error, of which only the kind is told: its words may be the draft's.
    """
    failed: APIError | None = None
    spoken = False
    try:
        async for event in events:
            passed = event if sifting.structured else _sifted_event(api, event, sifting, choices)
            if passed is not None:
                spoken = spoken or sifting.structured or speaks(_plain(passed))
                yield passed
        if sifting.lost and not spoken:
            raise InputError(NOTHING_LEFT)
    except APIError as exc:
        if type(exc) is not APIError:
            raise
        failed = exc
    finally:
        await events.aclose()
    if failed is not None:  # out here, so that the new error does not bring the old one along
        error = scrubbed_error(failed.body)
        request, failed = failed.request, None
        raise APIError(str(error["message"]), request, body=error)


def _sifted_event(api: Api, event: Event, sifting: Sifting, choices: int) -> Event | None:
    told = _plain(event)
    kept = sift_chunk(told, sifting, choices) if api == "chat" else sift_event(told, sifting)
    if kept is None:
        return None
    if _filled(kept, chunked=True) == told:
        return event
    made = _REFUSED.get(told.get("type"), cast("type[BaseModel]", type(event)))
    return cast(Event, made.construct(**cast("dict[str, Any]", kept)))


def _plain(answer: object) -> Json:
    if not isinstance(answer, BaseModel):
        raise InputError("upstream's answer is no JSON object of the API")
    given = answer.to_dict(mode="python", warnings=False)
    return _unparsed(given) if isinstance(answer, ParsedChatCompletion | ParsedResponse) else given


def _unparsed(told: Json) -> Json:
    """Without what the SDK itself put there when it parsed the answer; anywhere else these names are upstream's."""
    for choice in _objects(told.get("choices")):
        for message in _objects([choice.get("message")]):
            message.pop("parsed", None)
            calls = [call for call in _objects(message.get("tool_calls")) if call.get("type") == "function"]
            for function in _objects([call.get("function") for call in calls]):
                function.pop("parsed_arguments", None)
    for item in _objects(told.get("output")):
        if item.get("type") == "function_call":
            item.pop("parsed_arguments", None)
        for part in _objects(item.get("content") if item.get("type") == "message" else None):
            if part.get("type") == "output_text":
                part.pop("parsed", None)
    return told


def _objects(values: object) -> list[Json]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


def _filled(kept: Json, *, chunked: bool = False) -> Json:
    """With all that the SDK's objects have, so that none of them lacks an attribute."""
    response = kept.get("response")
    if kept.get("object") == "response" or "output" in kept:
        kept.setdefault("id", "")
        kept.setdefault("output", [])
    elif isinstance(response, dict):
        response.setdefault("id", "")
        response.setdefault("output", [])
    elif "type" not in kept:
        kept.setdefault("choices", [])
    for choice in cast("list[Json]", kept.get("choices") or []):
        choice.setdefault("finish_reason", None)
        if choice.get("message") is None and choice.get("delta") is None:
            choice["delta" if chunked else "message"] = {} if chunked else {"role": "assistant", "content": None}
    held = [kept.get("item"), *_items(kept), *_items(response)]
    for item in held:
        if isinstance(item, dict) and item.get("type") == "message":
            item.setdefault("id", "")
            item.setdefault("content", [])
    return kept


def _items(response: object) -> list[Json]:
    return _objects(response.get("output") if isinstance(response, dict) else None)


def _keep_parsed(made: object, answer: object) -> None:
    """Arguments of tools pass, and so do those that the SDK parsed."""
    for new, old in zip(_calls(made), _calls(answer), strict=False):
        parsed = getattr(old, "parsed_arguments", None)
        if parsed is not None and getattr(new, "arguments", None) == getattr(old, "arguments", None):
            object.__setattr__(new, "parsed_arguments", parsed)


def _calls(answer: object) -> list[object]:
    """What holds the arguments of each call: functions of chat completions, items of responses."""
    choices, output = getattr(answer, "choices", None), getattr(answer, "output", None)
    if isinstance(output, list):
        return [item for item in output if getattr(item, "type", None) == "function_call"]
    messages = [getattr(choice, "message", None) for choice in choices] if isinstance(choices, list) else []
    calls = [call for message in messages for call in getattr(message, "tool_calls", None) or []]
    return [getattr(call, "function", None) for call in calls]
