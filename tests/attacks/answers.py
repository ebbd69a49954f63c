"""Hostile answers of an upstream: the secret in one odd place each, beside a true sentence or alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

SECRET = "SECRET-1850"
LIE = f"The whale hall opened in {SECRET}, they say."
TRUTH = "The whale hall opened in 1925."

Api = Literal["chat", "responses"]
Json = dict[str, Any]


@dataclass(frozen=True)
class Answer:
    """One answer. `events` is None for a whole one; `true` tells that the true sentence is in it, and must come through."""

    name: str
    api: Api
    body: Json
    events: tuple[Json, ...] | None = None
    true: bool = True
    words: bool = False
    """Whether the secret stands where words stand: then it must be judged, and withheld."""

    def __str__(self) -> str:
        return f"{self.api}-{'whole' if self.events is None else 'streamed'}-{self.name}"


SHAPES: tuple[tuple[str, Any], ...] = (
    ("text", LIE),
    ("object", {"content": LIE, "text": LIE}),
    ("list", [LIE, {"type": "text", "text": LIE}]),
    ("name", {LIE: 1}),
)


def completion(text: str | None = TRUTH) -> Json:
    """A plain completion."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    """A chunk of a stream of chat completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None, **more}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def chunks(text: str = TRUTH) -> list[Json]:
    """A plain stream of chat completions."""
    return [chunk({"role": "assistant", "content": ""}), chunk({"content": text}), chunk({}, "stop")]


def message(text: str = TRUTH, **more: Any) -> Json:
    """An item that speaks."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part], **more}


def response(*items: Json, **more: Any) -> Json:
    """A plain response."""
    told = {"id": "r1", "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    return {**told, "output": list(items or (message(),)), **more}


PLACE = {"item_id": "m1", "output_index": 0, "content_index": 0}


def events(text: str = TRUTH) -> list[Json]:
    """A plain stream of a response."""
    begun = {**response(), "status": "in_progress", "output": []}
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**message(), "content": []}},
        {"type": "response.content_part.added", **PLACE, "part": {**part, "text": ""}},
        {"type": "response.output_text.delta", **PLACE, "delta": text, "logprobs": []},
        {"type": "response.output_text.done", **PLACE, "text": text, "logprobs": []},
        {"type": "response.content_part.done", **PLACE, "part": part},
        {"type": "response.output_item.done", "output_index": 0, "item": message(text)},
        {"type": "response.completed", "response": response(message(text))},
    ]


Put = Callable[[Json], object]
"""Puts the secret into a completion, a chunk, a response or an event."""


def _fields(names: str, shapes: int = 2) -> Iterator[tuple[str, Put]]:
    for number, name in enumerate(names.split()):
        for offset in range(shapes):
            shape, value = SHAPES[(number + offset) % len(SHAPES)]
            yield f"{name} as {shape}", partial(_put, name, value)


def _put(name: str, value: object, held: Json) -> None:
    held[name] = deepcopy(value)


ENVELOPE = (
    "__verbose id model object created usage system_fingerprint service_tier provider metadata vista_guard citations"
)
CHOICE = "text delta_text finish_reason native_finish_reason stop_reason content_filter_results logprobs index output"
MESSAGE = "parsed thinking name role function tool_call annotations reasoning_text audio tool_calls"
RESPONSE = (
    "output_text instructions metadata tools tool_choice text reasoning prompt user usage error incomplete_details id model "
    "status conversation previous_response_id choices __verbose truncation safety_identifier"
)


def chat_whole() -> Iterator[Answer]:
    """Completions."""
    for names, reach in ((ENVELOPE, _top), (CHOICE, _first), (MESSAGE, _spoken)):
        for name, put in _fields(names):
            body = completion()
            put(reach(body))
            yield Answer(f"{reach.__name__[1:]}: {name}", "chat", body)
    for name, held, words in _CONTENTS:
        yield Answer(f"message: {name}", "chat", _with_message(held), true=False, words=words)
    two = completion()
    two["choices"].append({**completion(LIE)["choices"][0], "index": 1})
    yield Answer("a second choice", "chat", two, words=True)
    for index in (0, -1, 10**6, "0", None, True):
        body = completion()
        body["choices"].append({**completion(LIE)["choices"][0], "index": index})
        placed = type(index) is not int  # then it is the second one, and judged
        yield Answer(f"a further choice of index {index!r}", "chat", body, true=not placed, words=placed)
    for name, choices in _NO_CHOICES:
        body = {**completion(), "choices": choices}
        yield Answer(name, "chat", body, true=False)
    yield Answer(
        "an error beside choices", "chat", {**completion(LIE), "error": {"message": LIE}}, true=False, words=True
    )
    yield Answer("an error alone", "chat", {"error": {"message": LIE, "code": LIE}}, true=False)
    for name, entries in _TOKENS:
        body = completion()
        body["choices"][0]["logprobs"] = {"content": entries, "refusal": entries, "note": LIE}
        yield Answer(f"tokens: {name}", "chat", body)


def _top(body: Json) -> Json:
    return body


def _first(body: Json) -> Json:
    held: Json = body["choices"][0]
    return held


def _spoken(body: Json) -> Json:
    held: Json = body["choices"][0].get("message") or body["choices"][0]["delta"]
    return held


def _with_message(held: Json) -> Json:
    body = completion(None)
    body["choices"][0]["message"].update(deepcopy(held))
    return body


_CONTENTS: tuple[tuple[str, Json, bool], ...] = (
    ("content", {"content": LIE}, True),
    ("refusal", {"refusal": LIE}, True),
    ("refusal beside content", {"content": TRUTH, "refusal": LIE}, True),
    ("a transcript", {"audio": {"id": "a", "data": "AAAA", "transcript": LIE}}, True),
    ("a transcript beside content", {"content": TRUTH, "audio": {"id": "a", "data": "AAAA", "transcript": LIE}}, True),
    ("content as an object", {"content": {"type": "text", "text": LIE}}, True),
    ("content as an object of no type", {"content": {"text": LIE}}, True),
    ("content as parts", {"content": [{"type": "text", "text": TRUTH}, {"type": "text", "text": LIE}]}, True),
    ("content as texts", {"content": [TRUTH, LIE]}, True),
    ("a part of output text", {"content": [{"type": "output_text", "text": LIE}]}, True),
    ("a part that refuses", {"content": [{"type": "refusal", "refusal": LIE}]}, True),
    ("a part of an unknown type", {"content": [{"type": "markdown", "text": LIE}]}, False),
    ("a part whose type is a list", {"content": [{"type": ["text"], "text": LIE}]}, False),
    ("a part whose text is an object", {"content": [{"type": "text", "text": {"value": LIE}}]}, False),
    ("content as a number's object", {"content": {"value": LIE}}, False),
    ("content in parts of parts", {"content": [[{"type": "text", "text": LIE}]]}, False),
    ("a cited title beside the lie", {"content": LIE, "annotations": [{"type": "url_citation", "title": LIE}]}, True),
    ("a call beside the lie", {"content": LIE, "tool_calls": [{"id": "t", "function": {"arguments": LIE}}]}, True),
    ("thoughts beside the lie", {"content": LIE, "reasoning_content": LIE, "reasoning": LIE}, True),
    ("sound without a transcript", {"audio": {"id": "a", "data": SECRET}}, False),
    ("audio as a text", {"audio": LIE}, False),
    ("function_call as a text", {"function_call": LIE}, False),
    ("a call's unknown field", {"tool_calls": [{"id": "t", "type": "function", "note": LIE}]}, False),
    ("a call's id", {"tool_calls": [{"id": LIE, "type": LIE, "function": {"name": LIE, "arguments": "{}"}}]}, False),
)
_NO_CHOICES: tuple[tuple[str, Any], ...] = (
    ("choices as a number", 5),
    ("choices as a text", LIE),
    ("choices as an object", {"0": {"message": {"content": LIE}}}),
    ("choices of texts", [LIE]),
    ("choices of lists", [[{"message": {"content": LIE}}]]),
    ("a choice with a text", [{"index": 0, "text": LIE}]),
    ("a choice with a delta", [{"index": 0, "delta": {"content": LIE}}]),
    ("a message that is a text", [{"index": 0, "message": LIE}]),
    ("a message that is a list", [{"index": 0, "message": [{"content": LIE}]}]),
)
_TOKENS: tuple[tuple[str, Any], ...] = (
    ("other words", [{"token": LIE, "logprob": -1}]),
    ("a token beside its bytes", [{"token": LIE, "logprob": -1, "bytes": list(TRUTH.encode())}]),
    ("alternatives", [{"token": TRUTH, "logprob": -1, "top_logprobs": [{"token": LIE, "logprob": -2}]}]),
    ("an unknown field", [{"token": TRUTH, "logprob": LIE, "note": LIE}]),
    ("as a text", LIE),
)


def chat_streams() -> Iterator[Answer]:
    """Streams of chat completions."""
    for place in (0, 1, 2):
        for names, reach in ((ENVELOPE, _top), (CHOICE, _first), (MESSAGE, _spoken)):
            for name, put in _fields(names, 1):
                told = chunks()
                put(reach(told[place]))
                yield Answer(f"chunk {place}, {reach.__name__[1:]}: {name}", "chat", {}, tuple(told))
    for name, held, words in _CONTENTS:
        if "call" not in name and "thoughts" not in name:
            told = [chunk({"role": "assistant"}), chunk(deepcopy(held)), chunk({}, "stop")]
            yield Answer(f"delta: {name}", "chat", {}, tuple(told), true=False, words=words)
    for name, choices in _NO_CHOICES:
        told = chunks()
        told.insert(1, {**told[0], "choices": choices})
        yield Answer(f"a chunk: {name}", "chat", {}, tuple(told), words="delta" in name, true="delta" not in name)
    for index in (0, 1, -1, "0", 10**6):
        told = chunks()
        told[1]["choices"].append({"index": index, "delta": {"content": LIE}, "finish_reason": None})
        yield Answer(f"a further choice of index {index!r}", "chat", {}, tuple(told))
    for name, entries in _TOKENS:
        told = chunks()
        told[1]["choices"][0]["logprobs"] = {"content": entries, "note": LIE}
        yield Answer(f"tokens: {name}", "chat", {}, tuple(told))
    tokens = chunk({}, logprobs={"content": [{"token": LIE, "logprob": -1}]})
    yield Answer("tokens without a text", "chat", {}, (*chunks()[:2], tokens, chunks()[2]))
    for name, odd in _ODD_CHUNKS:
        first, *rest = chunks()
        yield Answer(f"ahead: {name}", "chat", {}, (first, odd, *rest), true="error" not in name)
    yield Answer("after the end", "chat", {}, (*chunks(), chunk({"content": LIE}), chunk({}, "stop")), true=False)


_ODD_CHUNKS: tuple[tuple[str, Json], ...] = (
    ("an error", {"error": {"message": LIE, "type": LIE, "code": LIE}}),
    ("an error beside choices", {**chunk({"content": LIE}), "error": {"message": LIE}}),
    ("an error as a text", {"error": LIE}),
    ("no choices, a text", {"id": "c1", "text": LIE, "content": LIE}),
    ("no choices, a response", {"response": LIE, "choices": []}),
    ("a type with a line break", {"type": f"x\ndata: {LIE}\n\n", "choices": []}),
    ("an event of the other API", {"type": "response.output_text.delta", "delta": LIE}),
    ("usage with a note", {"choices": [], "usage": {"total_tokens": 1, "note": LIE, LIE: 2}}),
    ("a filter's note", {"choices": [], "prompt_filter_results": [{"content_filter_results": {"hate": {"x": LIE}}}]}),
)


def response_whole() -> Iterator[Answer]:
    """Responses."""
    for name, put in _fields(RESPONSE):
        body = response()
        put(body)
        yield Answer(f"response: {name}", "responses", body)
    for name, item, words in _ITEMS:
        yield Answer(f"item: {name}", "responses", response(message(), deepcopy(item)), words=words)
        yield Answer(f"item alone: {name}", "responses", response(deepcopy(item)), true=False, words=words)
    for name, output in (("a text", LIE), ("an object", {"content": LIE}), ("texts", [LIE])):
        yield Answer(f"output as {name}", "responses", {**response(), "output": output}, true=False)
    yield Answer("output_text alone", "responses", {**response(), "output": [], "output_text": LIE}, true=False)


def _part(**held: Any) -> Json:
    return message(content=[held])


_ITEMS: tuple[tuple[str, Json, bool], ...] = (
    ("a lie", message(LIE), True),
    ("no type", {"role": "assistant", "content": [{"type": "output_text", "text": LIE}]}, True),
    ("content as a text", message(content=LIE), True),
    ("content as an object", message(content={"type": "output_text", "text": LIE}), True),
    ("a refusal", _part(type="refusal", refusal=LIE), True),
    ("a part of chat", _part(type="text", text=LIE), True),
    ("a part of no type", _part(text=LIE), True),
    ("an unknown part", _part(type="markdown", text=LIE), False),
    ("a part of input", _part(type="input_text", text=LIE), False),
    ("an unknown type", {"type": "speech", "content": [{"type": "output_text", "text": LIE}]}, False),
    ("a type that is a list", {"type": ["message"], "content": [{"type": "output_text", "text": LIE}]}, False),
    ("a role", message(role=LIE, phase=LIE, id=LIE, status=LIE), False),
    ("an unknown field", message(thought=LIE, summary=[LIE]), False),
    ("a part's unknown field", _part(type="output_text", text=TRUTH, markdown=LIE, parsed={"a": LIE}), False),
    ("tokens", _part(type="output_text", text=TRUTH, logprobs=[{"token": LIE, "logprob": -1}]), False),
    ("an annotation of no kind", _part(type="output_text", text=TRUTH, annotations=[LIE, {"note": LIE}]), False),
    (
        "a call's unknown field",
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}", "x": LIE},
        False,
    ),
    ("thoughts of no kind", {"type": "reasoning", "id": "t", "summary": LIE, "draft": LIE}, False),
    ("a call beside a lie", message(LIE, tool_calls=[{"arguments": LIE}]), True),
)


def response_streams() -> Iterator[Answer]:
    """Streams of responses."""
    for place in (0, 7):
        for name, put in _fields(RESPONSE, 1):
            told = events()
            put(told[place]["response"])
            yield Answer(f"event {place}: {name}", "responses", {}, tuple(told))
    for place, plain in enumerate(events()):
        odd = events()
        odd[place] = {
            **plain,
            "__verbose": LIE,
            "text_so_far": {"text": LIE},
            "obfuscation": LIE,
            "sequence_number": LIE,
        }
        yield Answer(f"event {place}: unknown fields", "responses", {}, tuple(odd))
    for name, odd_event, true in _ODD_EVENTS:
        for place in (1, 4):
            told = events()
            told.insert(place, deepcopy(odd_event))
            yield Answer(f"{name} at {place}", "responses", {}, tuple(told), true=true)
    for name, item, _ in _ITEMS:
        told = events()
        told[-1]["response"]["output"].append(deepcopy(item))
        yield Answer(f"at the end: {name}", "responses", {}, tuple(told))
        added = events()
        added.insert(3, {"type": "response.output_item.added", "output_index": 1, "item": deepcopy(item)})
        yield Answer(f"added ahead: {name}", "responses", {}, tuple(added), true=False)
    yield Answer("deltas", "responses", {}, tuple(events(LIE)), true=False, words=True)
    refusing = [*events()[:2], *_REFUSAL, events()[-1]]
    yield Answer("a refusal in deltas", "responses", {}, tuple(refusing), true=False, words=True)
    yield Answer("words at the end alone", "responses", {}, (events()[0], events(LIE)[-1]), true=False)


_REFUSAL: list[Json] = [
    {"type": "response.content_part.added", **PLACE, "part": {"type": "refusal", "refusal": ""}},
    {"type": "response.refusal.delta", **PLACE, "delta": LIE},
    {"type": "response.refusal.done", **PLACE, "refusal": LIE},
]
_ODD_EVENTS: tuple[tuple[str, Json, bool], ...] = (
    ("in_progress with output", {"type": "response.in_progress", "response": response(message(LIE))}, True),
    ("created with output_text", {"type": "response.created", "response": response(output_text=LIE)}, True),
    ("queued that is a text", {"type": "response.queued", "response": LIE}, True),
    ("an unknown delta", {"type": "response.markdown.delta", **PLACE, "delta": LIE}, True),
    ("a transcript's delta", {"type": "response.audio.transcript.delta", "delta": LIE}, True),
    ("a chat chunk", chunk({"content": LIE}), True),
    ("a type with a line break", {"type": f"response.x\ndata: {LIE}\n\n", "delta": LIE}, True),
    ("a known type with a line break", {"type": "response.created\n\n", "response": {"x": LIE}}, True),
    ("no type", {"delta": LIE, "text": LIE}, True),
    ("a type that is a list", {"type": ["response.output_text.delta"], "delta": LIE}, True),
    ("a delta that is an object", {"type": "response.output_text.delta", **PLACE, "delta": {"text": LIE}}, True),
    ("a delta that is a list", {"type": "response.output_text.delta", **PLACE, "delta": [LIE]}, True),
    ("a citation", {"type": "response.output_text.annotation.added", **PLACE, "annotation": {"note": LIE}}, True),
    ("an item's id", {"type": "response.web_search_call.searching", "item_id": LIE, "output_index": 1}, True),
    ("a step with a result", {"type": "response.web_search_call.completed", "output_index": 1, "result": LIE}, True),
    ("a part of no kind", {"type": "response.content_part.added", **PLACE, "part": {"type": "x", "text": LIE}}, True),
    ("a failure", {"type": "response.failed", "response": response(message(LIE), error={"message": LIE})}, False),
    ("an error", {"type": "error", "code": LIE, "message": LIE, "param": LIE}, False),
    ("an error of chat", {"error": {"message": LIE, "code": LIE}}, False),
)


def repeats() -> Iterator[Answer]:
    """Streams whose events repeat another text than was streamed, or put one where another is."""
    plain = events()
    delta = plain[3]
    for name, place, event in (
        ("a done text", 4, {**plain[4], "text": LIE}),
        ("a done part", 5, {**plain[5], "part": {**plain[5]["part"], "text": LIE}}),
        ("a done item", 6, {**plain[6], "item": message(LIE)}),
        ("a done response", 7, {**plain[7], "response": response(message(LIE))}),
        ("a reason", 7, {"type": "response.incomplete", "response": response(incomplete_details={"reason": LIE})}),
    ):
        told = events()
        told[place] = event
        yield Answer(f"{name} that differs", "responses", {}, tuple(told))
    for name, where in (
        ("another item", {"item_id": "m2", "output_index": 5}),
        ("a place below zero", {"output_index": -1, "content_index": -9}),
        ("a place of no kind", {"output_index": "0", "content_index": []}),
        ("the same place", {}),
    ):
        told = [*plain[:4], {**delta, "delta": LIE, **where}, *plain[4:]]
        yield Answer(f"a delta at {name}", "responses", {}, tuple(told), true=False, words=True)
    again = {"type": "response.completed", "response": response(message(LIE))}
    yield Answer("two ends", "responses", {}, (*plain, again))
    yield Answer("an end of no kind", "responses", {}, (*plain[:7], {**again, "type": "response.cancelled"}, plain[7]))
    first, spoken, last = chunks()
    yield Answer("words with the end", "chat", {}, (first, chunk({"content": LIE}, "stop")), true=False, words=True)
    yield Answer("words with the usage", "chat", {}, (first, spoken, last, {**chunk({"x": LIE}), "usage": {"cost": 1}}))


ANSWERS = (*chat_whole(), *chat_streams(), *response_whole(), *response_streams(), *repeats())
