"""The Responses API: complete responses and streams of named events."""

from __future__ import annotations

from collections.abc import Iterator

from vista_guard.openai_api.fields import Sifting, scrub_error, sift_event, sift_response
from vista_guard.openai_api.wire import (
    FIELD,
    Api,
    Json,
    PendingLogprobs,
    Problem,
    UnreadableError,
    UpstreamFailed,
    add_usage,
    as_list,
    found_documents,
    is_binding,
    is_text,
    read_responses,
    text_of,
)
from vista_guard.reading.chat_json import join_parts
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.types import Document

_FILTERED = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
_ENDS = frozenset({"response.completed", "response.incomplete"})
_FAILURES = frozenset({"response.failed", "error"})

Place = tuple[object, object]
"""Index of an output item, and of a part of its content, as upstream names them."""


class Responses:
    """`POST /v1/responses`."""

    api: Api = "responses"
    read = staticmethod(read_responses)

    def sift(self, answer: Json, sifting: Sifting) -> Json:
        return sift_response(answer, sifting)

    def texts(self, answer: Json) -> list[str]:
        """The texts of all messages in the output as one."""
        return [join_parts(text for item in _messages(answer) if (text := text_of(item.get("content"))))]

    def documents(self, answer: Json) -> tuple[Document, ...]:
        """Passages that file searches found."""
        return found_documents(answer.get("output"))

    def acts(self, answer: Json) -> bool:
        return any(is_binding(item) for item in as_list(answer["output"]))

    def response_id(self, answer: Json) -> str | None:
        value = answer.get("id")
        return value if isinstance(value, str) else None

    def deliver(self, answer: Json, choice: int, text: str, *, blocked: bool) -> None:  # noqa: ARG002 - the signature of both APIs
        """Puts the text into the first message with text and drops the others. A withheld response keeps nothing else."""
        messages = _messages(answer)
        spoken = next(item for item in messages if text_of(item.get("content")))
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        delivered: Json = {**spoken, "content": [part], **({"status": "incomplete"} if blocked else {})}
        silent = [item for item in messages if item is not spoken]
        output = [delivered if item is spoken else item for item in as_list(answer["output"]) if item not in silent]
        answer["output"] = [delivered] if blocked else output
        if isinstance(answer.get("output_text"), str):
            answer["output_text"] = text
        if blocked:
            answer.update(_FILTERED)

    def stream(self, sifting: Sifting, spent: Json | None = None) -> ResponseStream:
        return ResponseStream(sifting, spent)


class ResponseStream:
    """Events in, events out, renumbered. The last one is held back for the verdict, and those that repeat a text carry
    it as it was shown."""

    def __init__(self, sifting: Sifting, spent: Json | None = None) -> None:
        self._sifting = sifting
        self.usage: Json | None = None
        self._spent = spent
        self._number = 0
        self._response: Json = {"object": "response", "output": []}
        self._last: Json | None = None
        self._reading: Place | None = None
        self._written = _WrittenOutput()

    finished = property(lambda self: self._last is not None)
    unjudged = property(lambda self: self._sifting.told)
    lost = property(lambda self: self._sifting.lost)

    @property
    def response_id(self) -> str | None:
        value = self._response.get("id")
        return value if isinstance(value, str) else None

    def read(self, event: Json) -> list[Delta]:
        """Texts of several parts are read as one text, a line each."""
        kind = event.get("type")
        if (isinstance(kind, str) and kind in _FAILURES) or (kind is None and event.get("error")):
            raise UpstreamFailed(self._failure(event))
        passed = sift_event(event, self._sifting)
        if passed is None:
            return []
        event = passed
        if isinstance(response := event.get("response"), dict):
            if isinstance(usage := response.get("usage"), dict):
                self.usage = add_usage(self._spent, usage)
                response = {**response, "usage": self.usage}
            self._response = response
            event = {**event, "response": response}
        kind = event["type"]
        if kind in _ENDS:
            if self._reading is None and any(
                text_of(item.get("content")).strip() for item in _messages(self._response)
            ):
                raise UnreadableError("upstream's stream ends with words that it did not stream")
            self._last = event
            return []
        if kind == "response.output_text.delta":
            return self._read_text(event)
        item = event.get("item")
        documents = found_documents([item]) if kind == "response.output_item.done" else ()
        return [*([Found(documents)] if documents else ()), Passed(event, binding=is_binding(item))]

    def _failure(self, event: Json) -> Json:
        sifted = sift_event(event, self._sifting) if event.get("type") == "response.failed" else None
        if sifted is not None:
            return sifted
        error = scrub_error(event.get("error", event))
        return {"type": "error", "code": error["code"], "message": error["message"], "param": None}

    def _read_text(self, event: Json) -> list[Delta]:
        text, place = event.get("delta"), (event.get("output_index"), event.get("content_index"))
        if not isinstance(text, str) or not text:
            return []
        between: list[Delta] = ["\n"] if self._reading not in (None, place) else []
        if between:
            self._written.logprobs.read("\n", [])
        self._reading = place
        self._written.logprobs.read(text, as_list(event.get("logprobs")))
        return [*between, text]

    def text(self, text: str) -> list[Json]:
        """A delta for the open part; opens one if there is none."""
        logprobs = self._written.logprobs.show(text)
        events = [] if self._written.is_open else list(self._written.open())
        text = self._written.add(text)
        if text:
            place = self._written.place
            events.append({"type": "response.output_text.delta", **place, "delta": text, "logprobs": logprobs})
        return list(map(self._with_number, events))

    def passed(self, item: Json) -> list[Json]:
        event = self._written.follow(dict(item))
        return [] if event is None else [self._with_number(event)]

    def end(self, verdict: Json | None, *, blocked: bool) -> Iterator[Json]:
        """Closes what is open, and ends with the whole response."""
        yield from map(self._with_number, self._written.close("incomplete" if blocked else "completed"))
        if blocked or self._last is None:
            response = {**self._response, "output": self._written.output, "usage": None, **_FILTERED}
            event: Json = {"type": "response.incomplete"}
        else:
            output = self._written.shown(self._response.get("output"))
            response, event = {**self._response, "output": output or self._written.output}, self._last
        if isinstance(response.get("output_text"), str):
            response["output_text"] = "".join(text_of(item.get("content")) for item in _messages(response))
        if verdict is not None:
            response[FIELD] = verdict
        yield self._with_number({**event, "response": response})

    def error(self, problem: Problem) -> Json:
        return self._with_number({"type": "error", "code": problem.code, "message": str(problem), "param": None})

    def closing(self) -> bytes:
        """Empty: the last event marks the end."""
        return b""

    def _with_number(self, event: Json) -> Json:
        number, self._number = self._number, self._number + 1
        return {**event, "sequence_number": number}


class _WrittenOutput:
    """The parts that the caller has seen: the open one, and the text shown of each."""

    def __init__(self) -> None:
        self.logprobs = PendingLogprobs()
        self.output: list[Json] = []
        self._texts: dict[Place, str] = {}
        self._item: Json | None = None
        self._index: object = 0
        self._next = 0
        self._place: Json = {}
        self._joined = False
        self.is_open = False

    @property
    def place(self) -> Json:
        return dict(self._place)

    def add(self, text: str) -> str:
        """Notes a text of the open part; returns it without the line break that only joins parts."""
        if self._joined and text.startswith("\n"):
            text = text[1:]
        self._joined = False
        key = self._key(self._place)
        self._texts[key] = self._texts.get(key, "") + text
        return text

    def open(self) -> Iterator[Json]:
        """An empty part, in a message of its own unless one is open."""
        if self._item is None:
            message = {"type": "message", "id": f"msg_guard_{self._next}", "role": "assistant", "status": "in_progress"}
            item: Json = {**message, "content": []}
            yield self.follow({"type": "response.output_item.added", "output_index": self._next, "item": item}) or item
        place = {"item_id": (self._item or {}).get("id"), "output_index": self._index, "content_index": 0}
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        event = {"type": "response.content_part.added", **place, "part": part}
        yield self.follow(event) or event

    def close(self, status: str) -> Iterator[Json]:
        """Completes the part and the message that are open; complete ones are left alone."""
        if not self.is_open or self._item is None:
            return
        text = self._texts.get(self._key(self._place), "")
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        yield {"type": "response.output_text.done", **self._place, "text": text, "logprobs": []}
        yield {"type": "response.content_part.done", **self._place, "part": part}
        item = {**self._item, "status": status, "content": [part]}
        self.output.append(item)
        yield {"type": "response.output_item.done", "output_index": self._place["output_index"], "item": item}
        self.is_open, self._item = False, None

    def follow(self, event: Json) -> Json | None:
        kind, part, item = event.get("type"), event.get("part"), event.get("item")
        if kind == "response.output_text.annotation.added" and not self._may_cite(event):
            return None
        if kind == "response.content_part.added" and is_text(part):
            self._place = {key: event.get(key) for key in ("item_id", "output_index", "content_index")}
            self._joined, self.is_open = bool(self._texts), True
            self._texts[self._key(event)] = ""
        elif kind == "response.output_text.done":
            self.is_open = False
            event["text"] = self._texts.get(self._key(event), "")
            event["logprobs"] = event.get("logprobs", []) if self.logprobs.faithful else []
        elif kind == "response.output_item.added" and isinstance(item, dict):
            self._index = event.get("output_index", self._next)
            self._next = max(self._next, self._index + 1) if isinstance(self._index, int) else self._next
            self._item = item if item.get("type") == "message" else self._item
        if is_text(part):
            event["part"] = self._part(part, self._key(event))
        if isinstance(item, dict):
            event["item"] = shown = self._shown_item(item, event.get("output_index"))
            if kind == "response.output_item.done":
                self.output.append(shown)
                self._item = None if item.get("type") == "message" else self._item
        return event

    def _may_cite(self, event: Json) -> bool:
        """True if the cited text is shown exactly as drafted: else the citation's place is another one, or none."""
        return self.logprobs.faithful and bool(self._texts.get(self._key(event)))

    def shown(self, output: object) -> list[object]:
        """A whole output with what was shown in place of what upstream said."""
        items = enumerate(as_list(output))
        return [self._shown_item(item, index) if isinstance(item, dict) else item for index, item in items]

    def _shown_item(self, item: Json, output_index: object) -> Json:
        if item.get("type") != "message" or not isinstance(item.get("content"), list):
            return item
        parts = enumerate(as_list(item["content"]))
        content = [self._part(part, (output_index, index)) if is_text(part) else part for index, part in parts]
        return {**item, "content": content}

    def _part(self, part: Json, key: Place) -> Json:
        text = self._texts.get(key, "")
        changed: Json = {} if part["text"] == text else {"annotations": [], "logprobs": []}
        return {**part, "text": text, **changed}

    def _key(self, place: Json) -> Place:
        return place.get("output_index"), place.get("content_index")


def _messages(answer: Json) -> list[Json]:
    output = answer.get("output")
    if not isinstance(output, list):
        raise ValueError("the response has no output")
    return [item for item in output if isinstance(item, dict) and item.get("type") == "message"]
