"""The known fields of an upstream's answer: one table for both APIs, whole and streamed.

A field passes when the table knows it and its value has the form of that field; all else is dropped, counted, and named once in
the log. The model's words are known by their place and judged. `Sifting.unjudged` lists what passes unjudged.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from vista_guard.openai_api.wire import Json, as_list, as_object

logger = logging.getLogger("vista_guard.openai_api")

Place = Literal[
    "answer", "choice", "message", "logprobs", "call", "audio", "usage", "response", "item", "part", "citation", "event"
]

Unjudged = Literal["tools", "reasoning", "citations", "audio", "structured", "everything"]

NOTHING_LEFT: Final = (
    "upstream's answer says nothing where the API has its words, and something in other places, which does not pass; the guard's "
    "log names these fields"
)
_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
_SPOKEN: Final = frozenset({"choice", "message", "part", "item", "event"})
"""Places where an answer's words may stand under any name."""
_SPOKEN_NAMES: Final = frozenset(
    {"answer", "choices", "content", "message", "output", "output_text", "response", "text"}
)
_UNTOLD: Final = frozenset({"obfuscation", "billing", "vista_guard"})
"""Fields of OpenAI's own, and the verdict of a guard behind this one: dropped without a log entry."""
_PROSE: Final = re.compile(r"\S\s+\S")
_NAME: Final = re.compile(r"[A-Za-z_.]{1,40}")
_MOST_NAMES: Final = 200
_named: set[str] = set()


@dataclass
class Sifting:
    """Notes on one answer while it is compared with the table.

    A field that repeats one of the request `asked` passes when it is the same. `on_drop` is called with the place of each drop.
    With `structured` the answer is data for a program and is not judged: a refusal stays what it is then. `lost` says that
    words of the answer may have been dropped.
    """

    asked: Mapping[str, object] = field(default_factory=dict)
    on_drop: Callable[[Place], object] | None = None
    structured: bool = False
    unjudged: set[Unjudged] = field(default_factory=set)
    dropped: int = 0
    lost: bool = False

    def __post_init__(self) -> None:
        if self.structured:
            self.unjudged.add("structured")

    def drop(self, place: Place, name: str = "", value: object = None) -> None:
        """Counts what is dropped; logs each field's name once, and never its value."""
        self.dropped += 1
        self.lost = self.lost or ((place in _SPOKEN or name in _SPOKEN_NAMES) and _has_prose(value))
        if self.on_drop is not None:
            self.on_drop(place)
        # Upstream chose the name, too, and may have made it of the draft: only a plain one is logged.
        label = f"{place}.{name}" if _NAME.fullmatch(name) else f"{place} (of no plain name)"
        if label not in _named and len(_named) < _MOST_NAMES:
            _named.add(label)
            logger.warning("upstream sends %s, which the guard does not know and does not pass on", label)

    @property
    def told(self) -> list[str]:
        return sorted(self.unjudged)


def _has_prose(value: object) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str) and _PROSE.search(item):
            return True
        if isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list):
            stack += item
    return False


# How a value is compared with the table: a rule gives the value as it passes, or `DROPPED`.

DROPPED: Final = object()
Rule = Callable[[object, Sifting], object]


def _when(passes: Callable[[object], object]) -> Rule:
    return lambda value, _: value if passes(value) else DROPPED


def _text(pattern: str) -> Rule:
    matches = re.compile(pattern).fullmatch
    return _when(lambda value: isinstance(value, str) and matches(value))


def _one_of(names: str) -> Rule:
    known = frozenset(names.split())
    return _when(lambda value: isinstance(value, str) and value in known)


_token: Final = _text(r"[!-~]{1,200}")  # an id or a name: visible ASCII without a space
_line: Final = _when(lambda value: isinstance(value, str) and len(value) <= 200 and value.isprintable())
_url: Final = _text(r"https?://[!-~]{1,2000}")
_base64: Final = _text(r"[A-Za-z0-9+/]*={0,2}")
_words: Final = _when(lambda value: isinstance(value, str))  # judged, or listed as unjudged
_integer: Final = _when(lambda value: type(value) is int)
_number: Final = _when(lambda value: type(value) is int or (isinstance(value, float) and math.isfinite(value)))
_flag: Final = _when(lambda value: isinstance(value, bool))


def _anything(value: object, _: Sifting) -> object:
    """For values that pass unjudged by design and are listed as such."""
    return value


def _either(first: Rule, second: Rule) -> Rule:
    def read(value: object, sifting: Sifting) -> object:
        passed = first(value, sifting)
        return second(value, sifting) if passed is DROPPED else passed

    return read


def _same_as_request(name: str, otherwise: object = DROPPED) -> Rule:
    """The request's value of this name; `otherwise` replaces everything else."""
    return lambda value, sifting: value if name in sifting.asked and value == sifting.asked[name] else otherwise


def _note_unjudged(kind: Unjudged, rule: Rule) -> Rule:
    def read(value: object, sifting: Sifting) -> object:
        passed = rule(value, sifting)
        if passed is not DROPPED and passed not in _EMPTY:
            sifting.unjudged.add(kind)
        return passed

    return read


def _each(place: Place, rule: Rule) -> Rule:
    """A list, reduced to the items that pass."""

    def read(value: object, sifting: Sifting) -> object:
        if not isinstance(value, list):
            return DROPPED
        items = []
        for item in value:
            passed = rule(item, sifting)
            if passed is DROPPED:
                sifting.drop(place, value=item)
            else:
                items.append(passed)
        return items

    return read


def _fields(place: Place, rules: Mapping[str, Rule]) -> Rule:
    """An object with those of its fields that pass; a known field may be null."""

    def read(value: object, sifting: Sifting) -> object:
        if not isinstance(value, dict):
            return DROPPED
        fields: Json = {}
        for name, item in value.items():
            rule = rules.get(name)
            passed = DROPPED if rule is None else None if item is None else rule(item, sifting)
            if passed is not DROPPED:
                fields[name] = passed
            elif item not in _EMPTY and name not in _UNTOLD:
                sifting.drop(place, name, item)
        return fields

    return read


def _all(rule: Rule, names: str | Iterable[str]) -> dict[str, Rule]:
    return dict.fromkeys(names.split() if isinstance(names, str) else names, rule)


# What both APIs share: usage, filters, citations, the words of a part, log probabilities.

_MODEL: Final = _either(_token, _same_as_request("model"))
_TIER: Final = _one_of("auto default flex scale priority standard on_demand performance")
_DETAILS: Final = _fields(
    "usage",
    _all(
        _number,
        "cached_tokens cache_write_tokens audio_tokens text_tokens image_tokens video_tokens reasoning_tokens "
        "accepted_prediction_tokens rejected_prediction_tokens upstream_inference_cost upstream_inference_prompt_cost "
        "upstream_inference_completions_cost",
    ),
)
_USAGE: Final = _fields(
    "usage",
    _all(
        _number,
        "prompt_tokens completion_tokens input_tokens output_tokens total_tokens prompt_cache_hit_tokens "
        "prompt_cache_miss_tokens cost cache_creation_input_tokens cache_read_input_tokens queue_time prompt_time "
        "completion_time total_time",
    )
    | _all(
        _DETAILS,
        "prompt_tokens_details completion_tokens_details cost_details input_tokens_details output_tokens_details",
    ),
)
_TIMINGS: Final = _fields(  # of a llama.cpp server
    "usage",
    _all(
        _number,
        "cache_n prompt_n prompt_ms prompt_per_token_ms prompt_per_second predicted_n predicted_ms "
        "predicted_per_token_ms predicted_per_second",
    ),
)
_FILTERED: Final = _fields(  # what a content filter such as Azure's says
    "choice",
    _all(
        _fields("choice", {**_all(_flag, "filtered detected"), "severity": _one_of("safe low medium high")}),
        "hate self_harm sexual violence jailbreak profanity indirect_attack protected_material_text "
        "protected_material_code",
    ),
)
_CITED: Final[dict[str, Rule]] = {
    "type": _one_of("url_citation file_citation container_file_citation file_path"),
    **_all(_integer, "start_index end_index index"),
    **_all(_token, "file_id container_id"),
    **_all(_line, "title filename"),
    "url": _url,
}
_CITATION: Final = _fields("citation", {**_CITED, "url_citation": _fields("citation", _CITED)})
_CITATIONS: Final = _note_unjudged("citations", _each("citation", _CITATION))
_PART_TEXTS: Final = {"text": "text", "output_text": "text", "refusal": "refusal"}
"""The types of a part that is words, and where each has them."""


def _part_words(part: object) -> object:
    if isinstance(part, str):
        return part
    kind = part.get("type", "text") if isinstance(part, dict) else None
    name = _PART_TEXTS.get(kind) if isinstance(kind, str) else None
    text = part.get(name) if name and isinstance(part, dict) else None
    return text if isinstance(text, str) else DROPPED


def _token_entries(text: object, entries: object, sifting: Sifting) -> list[Json]:
    """Log probabilities of the tokens that spell this very text, without the alternatives to them, which nobody judged."""
    if not isinstance(entries, list) or not entries:
        return []
    tokens = [_token_bytes(entry) for entry in entries]
    if not isinstance(text, str) or b"".join(token or b"" for token in tokens) != text.encode(errors="replace"):
        sifting.drop("logprobs")
        return []
    return [_token_entry(entry, spelling or b"") for entry, spelling in zip(entries, tokens, strict=True)]


def _token_bytes(entry: object) -> bytes | None:
    if not isinstance(entry, dict):
        return None
    codes, token = entry.get("bytes"), entry.get("token")
    if isinstance(codes, list) and all(type(byte) is int and 0 <= byte < 256 for byte in codes):
        return bytes(codes)
    return token.encode(errors="replace") if isinstance(token, str) else None


def _token_entry(entry: object, spelling: bytes) -> Json:
    """Rebuilt from its bytes: the token is what they spell, whatever it claims to be."""
    fields = as_object(entry)
    logprob = fields.get("logprob")
    likely = logprob if isinstance(logprob, int | float) and not isinstance(logprob, bool) else None
    extra: Json = {"bytes": list(spelling)} if isinstance(fields.get("bytes"), list) else {}
    if "top_logprobs" in fields:
        extra["top_logprobs"] = []
    return {"token": spelling.decode(errors="backslashreplace"), "logprob": likely, **extra}


# Errors: where an answer had begun, their words may be the draft's.

_ERROR_NAME: Final = re.compile(r"[a-z_]{1,40}")
_LONGEST_ERROR: Final = 1000
_REQUEST_ERROR: Final = _fields(
    "event", {**_all(_token, "type param"), "code": _either(_integer, _token), "message": _anything}
)


def request_error(status: int, body: object) -> Json:
    """The error of a request that was refused, in upstream's words where no model has spoken yet."""
    body = body[0] if isinstance(body, list) and body else body  # Gemini's comes in a list
    error = body.get("error", body) if isinstance(body, dict) else None
    message, scrubbed = _error_text(error), scrub_error(error)
    if 400 <= status < 500 and not _is_name(as_object(error).get("type")):
        scrubbed["type"] = "invalid_request_error"
    # Servers that cannot read what their model said answer with a 500 that quotes it.
    if message and (400 <= status < 500 or status == 503):
        details = as_object(_REQUEST_ERROR(error, Sifting()))
        return {**scrubbed, **details, "message": message[:_LONGEST_ERROR]}
    return {
        **scrubbed,
        "message": f"upstream answered with status {status}",
        "code": scrubbed["code"] or "upstream_status",
    }


def _error_text(error: object) -> str:
    """The words of an error: a text, OpenAI's `message`, or FastAPI's `detail`, which may list fields with their places."""
    if isinstance(error, list):
        return "; ".join(filter(None, map(_error_text, error)))
    if not isinstance(error, dict):
        return error if isinstance(error, str) else ""
    text = next(filter(None, (_error_text(error.get(name)) for name in ("message", "detail", "msg"))), "")
    place = ".".join(map(str, as_list(error.get("loc"))))
    return f"{place}: {text}" if place else text


def scrub_error(error: object) -> Json:
    """Type and code of an error, when they are plain names, and words of our own."""
    kind, code = (as_object(error).get(name) for name in ("type", "code"))
    return {
        "message": "upstream reported an error inside its answer",
        "type": kind if _is_name(kind) else "server_error",
        "param": None,
        "code": code if type(code) is int or _is_name(code) else None,
    }


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _ERROR_NAME.fullmatch(value) is not None


# Chat completions.

_FINISHES: Final = frozenset({"stop", "length", "tool_calls", "function_call", "content_filter"})
_OTHER_FINISHES: Final = {
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "error": "length",
    "abort": "length",
    "insufficient_system_resource": "length",
    "safety": "content_filter",
    "refusal": "content_filter",
    "recitation": "content_filter",
    "tool_use": "tool_calls",
}
"""Finish reasons of other vendors in OpenAI's words: an answer that was cut must not look complete."""
_MOST_CHOICES: Final = 128
_FUNCTION: Final = _fields("call", {"name": _token, "arguments": _anything})
_CALL: Final = _fields(
    "call",
    {
        "index": _integer,
        "id": _token,
        "type": _one_of("function custom"),
        "function": _FUNCTION,
        "custom": _fields("call", {"name": _token, "input": _anything}),
        "extra_content": _anything,  # signatures of thoughts, which some models want back
    },
)
_REASONED: Final = _fields(
    "message", {**_all(_token, "type id format"), "index": _integer, **_all(_words, "text summary data signature")}
)


def _content(joint: str) -> Rule:
    """The content as one text; some servers send it in parts."""

    def read(value: object, sifting: Sifting) -> object:
        items = value if isinstance(value, list) else [value]
        parts = [_part_words(part) for part in items]
        texts = [text for text in parts if isinstance(text, str)]
        for part, text in zip(items, parts, strict=True):
            if not isinstance(text, str):
                sifting.drop("part", value=part)
        return joint.join(texts) if texts or not parts else DROPPED

    return read


def _message(joint: str) -> Rule:
    rule = _fields(
        "message",
        {
            "role": _one_of("assistant"),
            "content": _content(joint),
            "refusal": _words,
            "audio": _fields("audio", {"id": _token, "expires_at": _number, "data": _base64, "transcript": _words}),
            "annotations": _CITATIONS,
            "tool_calls": _note_unjudged("tools", _each("call", _CALL)),
            "function_call": _note_unjudged("tools", _FUNCTION),
            **_all(_note_unjudged("reasoning", _words), "reasoning_content reasoning"),
            "reasoning_details": _note_unjudged("reasoning", _each("message", _REASONED)),
        },
    )

    def read(value: object, sifting: Sifting) -> object:
        message = rule(value, sifting)
        return message if sifting.structured or not isinstance(message, dict) else _in_words(message, joint, sifting)

    return read


def _in_words(message: Json, joint: str, sifting: Sifting) -> Json:
    """Merges refusal and transcript into the content, so that they are judged and delivered like all words."""
    audio, content = message.get("audio"), message.get("content")
    transcript = audio.get("transcript") if isinstance(audio, dict) else None
    texts = [text for text in (content, message.get("refusal")) if text]
    if transcript and transcript not in texts[:1] and not str(content).endswith(f"{joint}{transcript}"):
        texts.append(transcript)
    if message.get("refusal") or transcript:
        message["content"] = joint.join(str(text) for text in texts)
    if "refusal" in message:
        message["refusal"] = None
    if isinstance(audio, dict) and transcript and audio.get("data"):
        sifting.unjudged.add("audio")
    elif isinstance(audio, dict):
        if audio.get("data"):  # what nobody can read, nobody can judge
            sifting.drop("audio", "data")
        del message["audio"]
    return message


_DELTA: Final = _message("")


def _delta(value: object, sifting: Sifting) -> object:
    """Sounds of a stream would be heard before their words were judged: only the words pass."""
    audio = value.get("audio") if isinstance(value, dict) else None
    if isinstance(value, dict) and isinstance(audio, dict):
        value = {**value, "audio": {"transcript": audio.get("transcript")}}
        if audio.get("data"):
            sifting.drop("audio", "data")
    delta = _DELTA(value, sifting)
    if isinstance(delta, dict):
        delta.pop("audio", None)
    return delta


def _finish(value: object, sifting: Sifting) -> object:
    """The finish reason. An unknown one is still an end; some servers send an empty one with every chunk."""
    if value in ("", "null"):
        return None
    name = value.lower().partition(":")[0] if isinstance(value, str) else ""  # Gemini: `content_filter: SAFETY`
    if name in _FINISHES:
        return name
    if name not in _OTHER_FINISHES:
        sifting.drop("choice", "finish_reason")
    return _OTHER_FINISHES.get(name, "stop")


def _choices(name: str, message: Rule, limit: int) -> Rule:
    """The choices, each index once, with the log probabilities of their own text."""
    rules = {"index": _integer, name: message, "finish_reason": _finish, "logprobs": _anything}
    rule = _fields("choice", {**rules, "content_filter_results": _FILTERED, "stop_reason": _integer})

    def read(value: object, sifting: Sifting) -> object:
        if not isinstance(value, list):
            return DROPPED
        choices: dict[int, Json] = {}
        for position, item in enumerate(value):
            choice = rule(item, sifting)
            index = DROPPED
            if isinstance(choice, dict):
                index = choice["index"] = position if choice.get("index") is None else choice["index"]
            if not isinstance(choice, dict) or not isinstance(index, int) or index in choices or not 0 <= index < limit:
                sifting.drop("choice", value=item)
                continue
            if choice.get("logprobs") is not None:
                choice["logprobs"] = _own_logprobs(item.get(name), choice["logprobs"], sifting)
            choices[index] = choice
        return list(choices.values())

    return read


def _own_logprobs(message: object, logprobs: object, sifting: Sifting) -> Json | None:
    entries = _token_entries(as_object(message).get("content"), as_object(logprobs).get("content"), sifting)
    return {"content": entries, "refusal": None} if entries else None


_ENVELOPE: Final[dict[str, Rule]] = {
    **_all(_token, "id provider system_fingerprint"),
    "created": _number,
    "model": _MODEL,
    "usage": _USAGE,
    "timings": _TIMINGS,
    "service_tier": _TIER,
    "prompt_filter_results": _each(
        "answer", _fields("answer", {"prompt_index": _integer, "content_filter_results": _FILTERED})
    ),
}
_COMPLETION: Final = _fields(
    "answer",
    {
        **_ENVELOPE,
        "object": _one_of("chat.completion"),
        "choices": _choices("message", _message("\n"), _MOST_CHOICES),
    },
)
_CHUNK: Final = _fields(
    "answer",
    {**_ENVELOPE, "object": _one_of("chat.completion.chunk"), "choices": _choices("delta", _delta, 1)},
)


def sift_completion(answer: Json, sifting: Sifting) -> Json:
    """The part of a completion that passes: its words, to be judged, and fields known to hold none."""
    return as_object(_COMPLETION(answer, sifting))


def sift_chunk(chunk: Json, sifting: Sifting) -> Json:
    return as_object(_CHUNK(chunk, sifting))


# Responses, whole.

_STATUS: Final = _one_of("completed in_progress incomplete failed cancelled queued searching")
_TOOL_FIELDS: Final = {
    "function_call": "arguments name namespace async_ caller",
    "function_call_output": "output name namespace caller created_by",
    "custom_tool_call": "input name namespace async_ caller",
    "custom_tool_call_output": "output caller created_by",
    "file_search_call": "queries results",
    "web_search_call": "action",
    "computer_call": "action actions pending_safety_checks",
    "computer_call_output": "output acknowledged_safety_checks created_by",
    "code_interpreter_call": "code container_id outputs",
    "image_generation_call": "result action background output_format quality size revised_prompt",
    "local_shell_call": "action",
    "local_shell_call_output": "output",
    "shell_call": "action environment caller created_by",
    "shell_call_output": "output max_output_length caller created_by",
    "apply_patch_call": "operation caller created_by",
    "apply_patch_call_output": "output caller created_by",
    "mcp_call": "arguments name server_label approval_request_id error output",
    "mcp_list_tools": "server_label tools error",
    "mcp_approval_request": "arguments name server_label",
    "mcp_approval_response": "approval_request_id approve reason",
    "tool_search_call": "arguments execution created_by",
    "tool_search_output": "execution tools created_by",
    "program": "code fingerprint",
    "program_output": "result",
    "additional_tools": "role tools",
}
"""Arguments and answers of tools: they pass unjudged by design and are listed as such."""

_THOUGHT: Final = _note_unjudged(
    "reasoning", _fields("part", {"type": _one_of("summary_text reasoning_text"), "text": _words})
)
_ENCRYPTED: Final = _note_unjudged("reasoning", _words)  # upstream may put plain words there
_KNOWN: Final = _all(_token, "type id status call_id")


def _part(value: object, sifting: Sifting) -> object:
    """A part of a message: its words, as text to be judged, and its citations."""
    text = _part_words(value)
    if text is DROPPED:
        return DROPPED
    part = as_object(value)
    output_part: Json = {"type": "output_text", "text": text}
    if part.get("type") == "refusal":
        refusal: Json = {"type": "refusal", "refusal": text}
        return refusal if sifting.structured else {**output_part, "annotations": [], "logprobs": []}
    if "annotations" in part:
        citations = _CITATIONS(part["annotations"], sifting)
        output_part["annotations"] = citations if isinstance(citations, list) else []
    if "logprobs" in part:
        output_part["logprobs"] = _token_entries(text, part["logprobs"], sifting)
    return output_part


_PARTS: Final = _each("part", _part)
_ITEMS: Final[dict[str, Rule]] = {
    "message": _fields(
        "item",
        {
            "type": _one_of("message"),
            "id": _token,
            "role": _one_of("assistant"),
            "status": _STATUS,
            "phase": _one_of("commentary final_answer"),
            "content": lambda value, sifting: _PARTS(value if isinstance(value, list) else [value], sifting),
        },
    ),
    "reasoning": _fields(
        "item", {**_KNOWN, **_all(_each("part", _THOUGHT), "summary content"), "encrypted_content": _ENCRYPTED}
    ),
    "compaction": _fields("item", {**_KNOWN, "encrypted_content": _ENCRYPTED}),
    **{
        kind: _note_unjudged("tools", _fields("item", {**_KNOWN, **_all(_anything, names)}))
        for kind, names in _TOOL_FIELDS.items()
    },
}


def _item(value: object, sifting: Sifting) -> object:
    """An item of an output. One with content but no type is a message."""
    if not isinstance(value, dict):
        return DROPPED
    kind = value.get("type", "message" if "content" in value else None)
    rule = _ITEMS.get(kind) if isinstance(kind, str) else None
    return DROPPED if rule is None else rule({**value, "type": kind}, sifting)


def _response_error(value: object, _: Sifting) -> object:
    error = scrub_error(value)
    return {"code": error["code"] or "server_error", "message": error["message"]}


_FORMAT: Final = _fields("response", {"type": _one_of("text json_schema json_object")})
_EFFORT: Final = _one_of("none minimal low medium high xhigh auto concise detailed")
_RESPONSE: Final = _fields(
    "response",
    {
        **_all(_token, "id previous_response_id"),
        "object": _one_of("response"),
        **_all(_number, "created_at completed_at temperature top_p presence_penalty frequency_penalty"),
        "status": _STATUS,
        "error": _response_error,
        "incomplete_details": _fields("response", {"reason": _one_of("max_output_tokens content_filter")}),
        "model": _MODEL,
        "output": _each("item", _item),
        "output_text": _words,
        "usage": _USAGE,
        "service_tier": _TIER,
        **_all(_flag, "parallel_tool_calls background store"),
        **_all(_integer, "max_output_tokens max_tool_calls top_logprobs"),
        "truncation": _one_of("auto disabled"),
        "conversation": _fields("response", {"id": _token}),
        "text": _either(
            _same_as_request("text"), _fields("response", {"format": _FORMAT, "verbosity": _one_of("low medium high")})
        ),
        "reasoning": _fields("response", _all(_EFFORT, "effort summary generate_summary")),
        "tool_choice": _either(_one_of("auto none required"), _same_as_request("tool_choice", "auto")),
        "tools": _same_as_request("tools", []),
        "metadata": _same_as_request("metadata", {}),
        "prompt_cache_retention": _one_of("in-memory in_memory 24h"),
        **{
            name: _same_as_request(name, None)
            for name in ("instructions", "prompt", "prompt_cache_key", "safety_identifier", "user")
        },
    },
)


def sift_response(answer: Json, sifting: Sifting) -> Json:
    """The part of a response that passes: its words, to be judged, and fields known to hold none."""
    response = as_object(_RESPONSE(answer, sifting))
    if "output_text" in response:
        text, response["output_text"] = response["output_text"], _output_text(response.get("output"))
        if text and not response["output_text"]:
            sifting.drop("response", "output_text", text)
    return response


def _output_text(output: object) -> str:
    """The words of an output, as `output_text` repeats them."""
    items = output if isinstance(output, list) else []
    contents = [item["content"] for item in items if item.get("type") == "message" and item.get("content")]
    return "".join(part.get("text", "") for content in contents for part in content)


# Responses, streamed: which events there are, and what each holds.

_PLACE: Final = _all(_token, "type item_id") | _all(
    _integer, "sequence_number output_index content_index summary_index command_index"
)
_NOWHERE: Final[Json] = {"item_id": "", "output_index": 0, "content_index": 0}
"""Default place of a text for which upstream names none."""

_BEGUN: Final = ("response.created", "response.queued", "response.in_progress")
_ENDED: Final = ("response.completed", "response.incomplete", "response.failed")
_ITEM_EVENTS: Final = ("response.output_item.added", "response.output_item.done")
_PART_EVENTS: Final = ("response.content_part.added", "response.content_part.done")
_TEXT_EVENTS: Final = ("response.output_text.delta", "response.output_text.done")
_CITED_EVENT: Final = "response.output_text.annotation.added"
_STEPS: Final = {
    "file_search_call": "in_progress searching completed",
    "web_search_call": "in_progress searching completed",
    "code_interpreter_call": "in_progress interpreting completed",
    "image_generation_call": "in_progress generating completed",
    "mcp_call": "in_progress completed failed",
    "mcp_list_tools": "in_progress completed failed",
    "compaction": "compacting",
}
_CALLED: Final = {
    "function_call_arguments.delta": "delta",
    "function_call_arguments.done": "arguments name",
    "mcp_call_arguments.delta": "delta",
    "mcp_call_arguments.done": "arguments",
    "custom_tool_call_input.delta": "delta",
    "custom_tool_call_input.done": "input",
    "code_interpreter_call_code.delta": "delta",
    "code_interpreter_call_code.done": "code",
    "shell_call_command.added": "command",
    "shell_call_command.delta": "delta",
    "shell_call_command.done": "command",
    "shell_call_output_content.delta": "delta",
    "shell_call_output_content.done": "output",
}
_THOUGHTS: Final = {
    "reasoning_summary_text.delta": "delta",
    "reasoning_summary_text.done": "text",
    "reasoning_text.delta": "delta",
    "reasoning_text.done": "text",
}


def _event(**more: Rule) -> Rule:
    return _fields("event", _PLACE | more)


def _event_part(value: object, sifting: Sifting) -> object:
    thought = isinstance(value, dict) and value.get("type") == "reasoning_text"
    return (_THOUGHT if thought else _part)(value, sifting)


_EVENTS: Final[dict[str, Rule]] = {
    **_all(
        _event(response=lambda value, sifting: sift_response(value, sifting) if isinstance(value, dict) else DROPPED),
        (*_BEGUN, *_ENDED),
    ),
    **_all(_event(item=_item), _ITEM_EVENTS),
    **_all(_event(part=_event_part), _PART_EVENTS),
    "response.refusal.delta": _event(delta=_words),
    "response.refusal.done": _event(refusal=_words),
    "response.output_text.delta": _event(delta=_words, logprobs=_anything),
    "response.output_text.done": _event(text=_words, logprobs=_anything),
    _CITED_EVENT: _event(annotation=_note_unjudged("citations", _CITATION), annotation_index=_integer),
    **{f"response.{call}.{step}": _event() for call, steps in _STEPS.items() for step in steps.split()},
    **{f"response.{name}": _event(**_all(_note_unjudged("tools", _anything), held)) for name, held in _CALLED.items()},
    **{f"response.{name}": _event(**{held: _note_unjudged("reasoning", _words)}) for name, held in _THOUGHTS.items()},
    **_all(_event(part=_THOUGHT), "response.reasoning_summary_part.added response.reasoning_summary_part.done"),
    "response.image_generation_call.partial_image": _event(
        partial_image_b64=_note_unjudged("tools", _base64), partial_image_index=_integer
    ),
}
_NEEDED: Final[dict[str, str]] = {
    **dict.fromkeys((*_BEGUN, *_ENDED), "response"),
    **dict.fromkeys(_ITEM_EVENTS, "item"),
    **dict.fromkeys(_PART_EVENTS, "part"),
    **dict(zip(_TEXT_EVENTS, ("delta", "text"), strict=True)),
    _CITED_EVENT: "annotation",
}
"""The field that an event must have."""

_REFUSED: Final = {
    "response.refusal.delta": ("response.output_text.delta", "delta", "delta"),
    "response.refusal.done": ("response.output_text.done", "refusal", "text"),
}


def sift_event(event: Json, sifting: Sifting) -> Json | None:
    """The part of an event that passes; None for an unknown event. A refusal counts as text."""
    event = event if sifting.structured else _refusal_in_words(event)
    kind = event.get("type")
    rule = _EVENTS.get(kind) if isinstance(kind, str) else None
    sifted = DROPPED if rule is None else rule(event, sifting)
    if not isinstance(kind, str) or not isinstance(sifted, dict) or sifted.get(_NEEDED.get(kind, "type")) is None:
        sifting.drop("event", kind if isinstance(kind, str) else "", event)
        return None
    return _complete_event(kind, sifted, sifting)


def _refusal_in_words(event: Json) -> Json:
    kind = event.get("type")
    if not isinstance(kind, str) or kind not in _REFUSED:
        return event
    text_type, source, target = _REFUSED[kind]
    others = {name: value for name, value in event.items() if name != source}
    return {**others, "type": text_type, target: event.get(source), "logprobs": []}


def _complete_event(kind: str, event: Json, sifting: Sifting) -> Json:
    """The event with its place, without words that come before their time, and with the tokens of its own text only."""
    if kind in _ITEM_EVENTS:
        return {"output_index": 0, **event}
    if kind in _PART_EVENTS:
        return {**_NOWHERE, **event}
    if kind in _TEXT_EVENTS:
        text = event.get("delta", event.get("text"))
        return {**_NOWHERE, **event, "logprobs": _token_entries(text, event.get("logprobs"), sifting)}
    response = event.get("response")
    if kind not in (*_BEGUN, "response.failed") or not isinstance(response, dict):
        return event
    if response.get("output"):
        sifting.drop("response", "output")
    return {**event, "response": {**{name: response[name] for name in response if name != "output_text"}, "output": []}}


# Answers whose words stood only in unknown fields: what is left of them is no answer.


def is_lost(answer: Json, sifting: Sifting) -> bool:
    """True if an answer, as it passed, says nothing because its words did not pass."""
    return sifting.lost and not sifting.structured and not _speaks(answer)


def _speaks(answer: Json) -> bool:
    messages = [as_object(as_object(choice).get("message")) for choice in as_list(answer.get("choices"))]
    items = [as_object(item) for item in as_list(answer.get("output"))]
    return any(
        str(message.get("content") or "").strip() or message.get("tool_calls") or message.get("function_call")
        for message in messages
    ) or any(
        any(as_object(part).get("text") for part in as_list(item.get("content")))
        if item.get("type") == "message"
        else item.get("type") != "reasoning"
        for item in items
    )
