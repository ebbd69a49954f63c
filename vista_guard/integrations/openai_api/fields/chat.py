"""The table of chat completions, whole and streamed."""

from __future__ import annotations

from typing import Final, cast

from vista_guard.integrations.openai_api.fields.common import (
    CITATION,
    FILTERED,
    MODEL,
    PROMPT_FILTERED,
    TIER,
    TIMINGS,
    USAGE,
    part_words,
    spelled,
)
from vista_guard.integrations.openai_api.fields.rules import (
    DROPPED,
    Rule,
    anything,
    each,
    encoded,
    fields,
    integer,
    number,
    one_of,
    token,
    unjudged,
    words,
)
from vista_guard.integrations.openai_api.fields.sifting import Sifting
from vista_guard.integrations.openai_api.requests import Json

_FINISHES: Final = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
_MOST_CHOICES: Final = 128


def _content(joint: str) -> Rule:
    """What is said, as one text: some servers say it in parts."""

    def read(value: object, sifting: Sifting) -> object:
        given = value if isinstance(value, list) else [value]
        parts = [part_words(part) for part in given]
        texts = [text for text in parts if isinstance(text, str)]
        for part, text in zip(given, parts, strict=True):
            if not isinstance(text, str):
                sifting.drop("part", value=part)
        return joint.join(texts) if texts or not parts else DROPPED

    return read


def _finish(value: object, sifting: Sifting) -> object:
    """Why upstream ended. A reason of its own is still an end; some servers say with every chunk that it is none."""
    if value in ("", "null"):
        return None
    if isinstance(value, str) and value in _FINISHES:
        return value
    sifting.drop("choice", "finish_reason")
    return "stop"


_FUNCTION: Final = fields("call", {"name": token, "arguments": anything})
_CALL: Final = fields(
    "call",
    {
        "index": integer,
        "id": token,
        "type": one_of("function", "custom"),
        "function": _FUNCTION,
        "custom": fields("call", {"name": token, "input": anything}),
        "extra_content": anything,  # signatures of thoughts, which some models want back
    },
)
_REASONED: Final = fields(
    "message",
    {
        **dict.fromkeys(("type", "id", "format"), token),
        "index": integer,
        **dict.fromkeys(("text", "summary", "data", "signature"), words),
    },
)
_AUDIO: Final = fields("audio", {"id": token, "expires_at": number, "data": encoded, "transcript": words})


def _message(joint: str) -> Rule:
    held = fields(
        "message",
        {
            "role": one_of("assistant"),
            "content": _content(joint),
            "refusal": words,
            "audio": _AUDIO,
            "annotations": unjudged("citations", each("citation", CITATION)),
            "tool_calls": unjudged("tools", each("call", _CALL)),
            "function_call": unjudged("tools", _FUNCTION),
            **dict.fromkeys(("reasoning_content", "reasoning"), unjudged("reasoning", words)),
            "reasoning_details": unjudged("reasoning", each("message", _REASONED)),
        },
    )

    def read(value: object, sifting: Sifting) -> object:
        kept = held(value, sifting)
        plain = sifting.structured or not isinstance(kept, dict)
        return kept if plain else _in_words(cast("Json", kept), joint, sifting)

    return read


def _in_words(message: Json, joint: str, sifting: Sifting) -> Json:
    """A refusal, and what is spoken, are words as all others: they are judged, and delivered, as the content."""
    audio = message.get("audio")
    transcript = audio.get("transcript") if isinstance(audio, dict) else None
    said = [text for text in (message.get("content"), message.get("refusal")) if text]
    if transcript and transcript not in said[:1] and not str(message.get("content")).endswith(f"{joint}{transcript}"):
        said.append(transcript)
    if message.get("refusal") or transcript:
        message["content"] = joint.join(str(text) for text in said)
    if "refusal" in message:
        message["refusal"] = None
    if isinstance(audio, dict):
        _keep_sound(message, audio, transcript, sifting)
    return message


def _keep_sound(message: Json, audio: Json, transcript: object, sifting: Sifting) -> None:
    if transcript and audio.get("data"):
        sifting.unjudged.add("audio")
        return
    if audio.get("data"):  # what nobody can read, nobody can judge
        sifting.drop("audio", "data")
    del message["audio"]


def _delta() -> Rule:
    held = _message("")

    def read(value: object, sifting: Sifting) -> object:
        # Sounds of a stream would be heard before their words were judged.
        audio = value.get("audio") if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(audio, dict):
            value = {**value, "audio": {"transcript": audio.get("transcript")}}
            if audio.get("data"):
                sifting.drop("audio", "data")
        kept = held(value, sifting)
        if isinstance(kept, dict):
            kept.pop("audio", None)
        return kept

    return read


_CHOICE: Final = fields(
    "choice",
    {
        "index": integer,
        "message": _message("\n"),
        "finish_reason": _finish,
        "logprobs": anything,  # only what spells the text is left of them
        "content_filter_results": FILTERED,
        "stop_reason": integer,
    },
)
_CHUNK_CHOICE: Final = fields(
    "choice",
    {
        "index": integer,
        "delta": _delta(),
        "finish_reason": _finish,
        "logprobs": anything,
        "content_filter_results": FILTERED,
        "stop_reason": integer,
    },
)


def _choices(rule: Rule, message: str, most: int) -> Rule:
    """The choices, each index once."""

    def read(value: object, sifting: Sifting) -> object:
        if not isinstance(value, list):
            return DROPPED
        kept: dict[int, Json] = {}
        for position, item in enumerate(value):
            choice = _choice(rule, message, item, sifting)
            if choice is not None and choice.get("index") is None:
                choice["index"] = position
            index = None if choice is None else choice["index"]
            if choice is None or not isinstance(index, int) or index in kept or not 0 <= index < most:
                sifting.drop("choice", value=item)
            else:
                kept[index] = choice
        return list(kept.values())

    return read


def _choice(rule: Rule, message: str, item: object, sifting: Sifting) -> Json | None:
    choice = rule(item, sifting)
    if not isinstance(choice, dict) or not isinstance(item, dict):
        return None
    if choice.get("logprobs") is not None:
        given, said = choice["logprobs"], item.get(message)
        text = said.get("content") if isinstance(said, dict) else None
        entries = spelled(text, given.get("content") if isinstance(given, dict) else None, sifting)
        choice["logprobs"] = {"content": entries, "refusal": None} if entries else None
    return choice


_ENVELOPE: Final[dict[str, Rule]] = {
    "id": token,
    "created": number,
    "model": MODEL,
    "provider": token,
    "usage": USAGE,
    "timings": TIMINGS,
    "system_fingerprint": token,
    "service_tier": TIER,
    "prompt_filter_results": PROMPT_FILTERED,
}
_COMPLETION: Final = fields(
    "answer",
    {**_ENVELOPE, "object": one_of("chat.completion"), "choices": _choices(_CHOICE, "message", _MOST_CHOICES)},
)


def _chunk(choices: int) -> Rule:
    return fields(
        "answer",
        {
            **_ENVELOPE,
            "object": one_of("chat.completion.chunk"),
            "choices": _choices(_CHUNK_CHOICE, "delta", choices),
        },
    )


_ONE_CHOICE: Final = _chunk(1)


def sift_completion(answer: Json, sifting: Sifting) -> Json:
    """What passes of a completion: its words, to be judged, and what is known to hold none."""
    kept = _COMPLETION(answer, sifting)
    return kept if isinstance(kept, dict) else {}


def sift_chunk(chunk: Json, sifting: Sifting, choices: int = 1) -> Json:
    """What passes of a stream's chunk, of so many choices as were asked for."""
    kept = (_ONE_CHOICE if choices == 1 else _chunk(choices))(chunk, sifting)
    return kept if isinstance(kept, dict) else {}
