"""Chat completions: complete answers and streams of chunks."""

from __future__ import annotations

from collections.abc import Iterator

from vista_guard.openai_api.fields import Sifting, scrub_error, sift_chunk, sift_completion
from vista_guard.openai_api.wire import (
    DONE,
    FIELD,
    Api,
    Json,
    PendingLogprobs,
    Problem,
    UpstreamFailed,
    add_usage,
    as_list,
    as_object,
    read_chat,
    text_of,
)
from vista_guard.stream.source import Delta, Passed
from vista_guard.types import Document


class Chat:
    """`POST /v1/chat/completions`. `Responses` has the same methods: `judging` calls either."""

    api: Api = "chat"
    read = staticmethod(read_chat)

    def sift(self, answer: Json, sifting: Sifting) -> Json:
        return sift_completion(answer, sifting)

    def texts(self, answer: Json) -> list[str]:
        """One text a choice; empty for a choice that only calls tools."""
        return [text_of(as_object(choice.get("message")).get("content")) for choice in _choices(answer)]

    def documents(self, answer: Json) -> tuple[Document, ...]:  # noqa: ARG002 - the signature of both APIs
        """None: chat completions have no tools of their own."""
        return ()

    def acts(self, answer: Json) -> bool:
        return any(_calls(as_object(choice.get("message"))) for choice in _choices(answer))

    def response_id(self, answer: Json) -> str | None:  # noqa: ARG002 - the signature of both APIs
        """None: requests bring their history."""
        return None

    def deliver(self, answer: Json, choice: int, text: str, *, blocked: bool) -> None:
        """A withheld message loses all that could repeat it; a repaired one loses audio, citations and log probabilities."""
        chosen = _choices(answer)[choice]
        message = as_object(chosen.get("message"))
        if blocked:
            chosen["message"] = {"role": "assistant", "content": text, "refusal": None}
            chosen["finish_reason"] = "content_filter"
        else:
            remaining = {name: value for name, value in message.items() if name not in ("audio", "annotations")}
            chosen["message"] = {**remaining, "content": text}
        chosen["logprobs"] = None

    def stream(self, sifting: Sifting, spent: Json | None = None) -> ChatStream:
        return ChatStream(sifting, spent)


class ChatStream:
    """Chunks in, chunks out. The finish reason and what follows it are held back for the verdict.

    `read` runs ahead of the output by the text that is being judged.
    """

    def __init__(self, sifting: Sifting, spent: Json | None = None) -> None:
        self._sifting = sifting
        self.usage: Json | None = None
        self._spent = spent
        self._envelope: Json = {"object": "chat.completion.chunk", "choices": []}
        self._finish: Json | None = None
        self._tail: list[Json] = []
        self._opened = False
        self._logprobs = PendingLogprobs()
        self._cited: list[object] = []
        self._said = False

    finished = property(lambda self: self._finish is not None)
    unjudged = property(lambda self: self._sifting.told)
    lost = property(lambda self: self._sifting.lost)
    response_id: str | None = None

    def read(self, event: Json) -> list[Delta]:
        """Only choice 0 is read: others were not asked for."""
        if event.get("error"):
            raise UpstreamFailed({"error": scrub_error(event["error"])})
        event = sift_chunk(event, self._sifting)
        if isinstance(usage := event.get("usage"), dict):
            self.usage = add_usage(self._spent, usage)
            event = {**event, "usage": self.usage}
        self._envelope = {key: value for key, value in event.items() if key not in ("choices", "usage")}
        choices = event.get("choices")
        choice = next((item for item in as_list(choices)), None)
        if not isinstance(choice, dict):
            # Usage comes last; what comes without a choice before the end, such as a filter's verdict on the prompt, may pass.
            if self._finish is not None or event.get("usage"):
                self._tail.append({**event, "choices": []})
            elif choices == []:
                return [Passed(event)]
            return []
        return self._read_choice(event, choice)

    def _read_choice(self, event: Json, choice: Json) -> list[Delta]:
        parts: list[Delta] = []
        delta = dict(as_object(choice.get("delta")))
        content, logprobs = delta.get("content"), choice.get("logprobs")
        text = content if isinstance(content, str) else ""
        if text:
            del delta["content"]
        self._cited += as_list(delta.pop("annotations", None))
        finish = choice.get("finish_reason")
        other_fields = {key: value for key, value in choice.items() if key not in ("delta", "finish_reason")}
        if self._worth_passing(delta, finish):
            passed_choice = {**other_fields, "delta": delta, "logprobs": None, "finish_reason": None}
            parts.append(Passed({**event, "choices": [passed_choice]}, binding=_calls(delta)))
        if text:
            self._logprobs.read(text, as_list(as_object(logprobs).get("content")))
            parts.append(text)
        if finish is not None:
            self._finish = {
                **event,
                "choices": [{**other_fields, "delta": {}, "logprobs": None, "finish_reason": finish}],
            }
        return parts

    def _worth_passing(self, delta: Json, finish: object) -> bool:
        has_words = any(value not in (None, "", [], {}) for key, value in delta.items() if key != "role")
        first, self._opened = not self._opened and finish is None and "role" in delta, True
        return has_words or first

    def text(self, text: str) -> list[Json]:
        """One chunk, with the log probabilities of the tokens that it completes."""
        self._said = True
        entries = self._logprobs.show(text)
        logprobs = {"content": entries, "refusal": None} if entries else None
        return [self._chunk({"index": 0, "delta": {"content": text}, "logprobs": logprobs, "finish_reason": None})]

    def passed(self, item: Json) -> list[Json]:
        return [item]

    def end(self, verdict: Json | None, *, blocked: bool) -> Iterator[Json]:
        """Citations of text delivered unchanged, the finish reason with the verdict, then usage."""
        choice = {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "content_filter" if blocked else "stop"}
        last = self._chunk(choice) if blocked or self._finish is None else self._finish
        if self._cited and self._said and not blocked and self._logprobs.faithful:
            yield self._chunk({**choice, "delta": {"annotations": self._cited}, "finish_reason": None})
        yield last if verdict is None else {**last, FIELD: verdict}
        yield from self._tail

    def error(self, problem: Problem) -> Json:
        kind = "server_error" if problem.status >= 500 else "invalid_request_error"
        return {"error": {"message": str(problem), "type": kind, "param": None, "code": problem.code}}

    def closing(self) -> bytes:
        return DONE

    def _chunk(self, choice: Json) -> Json:
        return {**self._envelope, "choices": [choice]}


def _choices(answer: Json) -> list[Json]:
    choices = answer.get("choices")
    if not isinstance(choices, list) or not all(isinstance(choice, dict) for choice in choices):
        raise ValueError("the answer has no list of choices")
    return choices


def _calls(message: Json) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))
