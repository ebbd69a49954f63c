"""Chat completions: a whole answer, and a stream of chunks, with what the guard delivers in place of what it withheld."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Final

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta, ChoiceLogprobs

from vista_guard.integrations.openai.requests import Asked
from vista_guard.integrations.openai.surface import Surface, mark
from vista_guard.integrations.openai_api import summed
from vista_guard.stream.gates import Delta, Passed
from vista_guard.types import TurnReport

FILTERED: Final = "content_filter"
"""The API's own word for an answer that was withheld."""


AskAgain = Callable[[str, str], Awaitable[Any]]
"""Sends the request with a draft and a note on it, and gives what the API answers: a result, or the items of a stream."""


async def judge_completion(
    surface: Surface, asked: Asked, completion: ChatCompletion, again: AskAgain | None
) -> tuple[ChatCompletion, dict[int, TurnReport]]:
    """The completion, maybe another one than was given, and a report for every choice that says something, by its index."""
    if asked.structured:
        return completion, {}
    spoken = {
        choice.index: choice.message.content
        for choice in completion.choices or ()
        if choice.message.content and choice.message.content.strip()
    }
    if again is not None and spoken and len(completion.choices) == 1:
        completion, report = await _judge_again(surface, asked, completion, again)
        return completion, {0: report}
    reports = await asyncio.gather(*(surface.judge(asked, text) for text in spoken.values()))
    return completion, dict(zip(spoken, reports, strict=True))


async def _judge_again(
    surface: Surface, asked: Asked, completion: ChatCompletion, ask: AskAgain
) -> tuple[ChatCompletion, TurnReport]:
    last = completion

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal last
        answer: ChatCompletion = await ask(draft, note)
        if answer.choices:
            answer.usage = summed_usage(answer.usage, last.usage)
            last = answer
            async for part in _parts(answer):
                yield part

    report = await surface.judge_whole(asked, _parts(completion), again)
    return last, report


async def _parts(completion: ChatCompletion) -> AsyncGenerator[Delta, None]:
    message = completion.choices[0].message
    if message.content and message.content.strip():
        yield message.content
    yield Passed(None, binding=bool(message.tool_calls or message.function_call))


def summed_usage(usage: Any, before: Any) -> Any:
    """What both answers cost, as far as it is known."""
    if usage is None or before is None:
        return before if usage is None else usage
    return type(usage).construct(**summed(before.to_dict(), usage.to_dict()))


def deliver_completion(
    surface: Surface,
    asked: Asked,  # noqa: ARG001  # the same door as `deliver_response`
    completion: ChatCompletion,
    reports: Mapping[int, TurnReport],
) -> None:
    """Puts what is delivered into the completion.

    Raises:
        Blocked: a choice was withheld, and `on_block` is raise.
    """
    surface.tell(reports.values())
    for choice in completion.choices or ():
        report = reports.get(choice.index)
        if report is None or not choice.message.content:
            continue
        if report.response != choice.message.content:
            choice.message.content = report.response
            choice.message.annotations = None  # They point into the text that was replaced.
            if choice.logprobs is not None:
                choice.logprobs.content = None
        if report.blocked and not choice.message.tool_calls:
            choice.finish_reason = FILTERED
    mark(completion, reports)


async def chat_chunks(
    surface: Surface, asked: Asked, chunks: AsyncGenerator[ChatCompletionChunk, None], again: AskAgain | None
) -> AsyncGenerator[ChatCompletionChunk | TurnReport, None]:
    """The chunks that may be shown, each choice's report right before the chunk that ends the choice."""
    if asked.structured:
        async for chunk in chunks:
            yield chunk
    elif asked.choices == 1:
        async for item in _one_choice(surface, asked, chunks, 0, again):
            yield item
    else:
        async for item in _several_choices(surface, asked, chunks):
            yield item


async def _several_choices(
    surface: Surface, asked: Asked, chunks: AsyncGenerator[ChatCompletionChunk, None]
) -> AsyncGenerator[ChatCompletionChunk | TurnReport, None]:
    """Held until upstream has ended, then one choice after the other: their chunks come mixed."""
    held = [chunk async for chunk in chunks]

    async def of(index: int) -> AsyncGenerator[ChatCompletionChunk, None]:
        for chunk in held:
            for choice in chunk.choices or ():
                if choice.index == index:
                    yield chunk.model_copy(update={"choices": [choice]})

    for index in sorted({choice.index for chunk in held for choice in chunk.choices or ()}):
        async for item in _one_choice(surface, asked, of(index), index):
            yield item
    for chunk in held:
        if not chunk.choices:
            yield chunk


async def _one_choice(
    surface: Surface,
    asked: Asked,
    chunks: AsyncGenerator[ChatCompletionChunk, None],
    index: int,
    ask: AskAgain | None = None,
) -> AsyncGenerator[ChatCompletionChunk | TurnReport, None]:
    answer = _Answer(index)

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal answer
        if ask is None:
            raise AssertionError("an answer is asked for again that cannot be")
        following = _Answer(index, spent=answer.usage)
        async with aclosing(following.parts(await ask(draft, note))) as parts:
            async for part in parts:
                if isinstance(part, str) and part.strip():
                    answer = following  # only now: what never comes to speak leaves the answer before it in its place
                yield part
        answer = following if following.frame else answer

    async for item in surface.gated(asked, answer.parts(chunks), None if ask is None else again):
        if isinstance(item, TurnReport):
            answer.report = item
            yield item
        else:
            yield item.item if isinstance(item, Passed) else answer.chunk(item)
    for chunk in answer.ended():
        yield chunk


@dataclass
class _Answer:
    """One choice on its way: its frame, what was said, and what waits for its end."""

    index: int
    spent: Any = None
    """Usage of the drafts before it."""
    frame: ChatCompletionChunk | None = None
    ending: list[ChatCompletionChunk] = field(default_factory=list)
    introduced: bool = False
    heard: str = ""
    told: int | None = 0
    """How much of what was heard went out as it was; None once something was replaced."""
    report: TurnReport | None = None
    tokens: deque[tuple[int, list[Any]]] = field(default_factory=deque)
    usage: Any = None

    async def parts(self, chunks: AsyncGenerator[ChatCompletionChunk, None]) -> AsyncGenerator[Delta, None]:
        """Text apart from all else, in order. What ends the choice, and what follows, is kept in `ending`."""
        try:
            async for chunk in chunks:
                if self.spent is not None and chunk.usage is not None:
                    chunk.usage = summed_usage(chunk.usage, self.spent)
                self.usage = chunk.usage or self.usage
                if chunk.choices:
                    self.frame = self.frame or chunk
                    for part in self._split(chunk, chunk.choices[0]):
                        yield part
                elif self.ending:
                    self.ending.append(chunk)
                else:
                    yield Passed(chunk)
        finally:
            await chunks.aclose()

    def _split(self, chunk: ChatCompletionChunk, choice: Choice) -> Iterator[str | Passed]:
        text = choice.delta.content if choice.delta else None
        if text:
            self._hear(text, choice.logprobs)
            delta = choice.delta.model_copy(update={"content": None, **self._known_role(choice.delta)})
            if delta.model_dump(exclude_none=True):
                kept = choice.model_copy(update={"delta": delta, "logprobs": None, "finish_reason": None})
                yield Passed(chunk.model_copy(update={"choices": [kept]}), binding=_calls(delta))
            yield text
            choice = choice.model_copy(update={"delta": ChoiceDelta(), "logprobs": None})
        if choice.finish_reason:
            self.ending.append(chunk.model_copy(update={"choices": [choice]}))
        elif not text:
            yield Passed(chunk, binding=_calls(choice.delta))

    def _known_role(self, delta: ChoiceDelta) -> dict[str, None]:
        # Some servers say with every word who speaks.
        known, self.introduced = self.introduced, self.introduced or delta.role is not None
        return {"role": None} if known else {}

    def chunk(self, text: str) -> ChatCompletionChunk:
        """A chunk of upstream's kind that says this."""
        if self.frame is None:
            raise AssertionError("text is released before a chunk came")
        choice = Choice(index=self.index, delta=ChoiceDelta(content=text), finish_reason=None)
        tokens = self._tokens(text)
        if tokens:
            choice.logprobs = ChoiceLogprobs.construct(content=tokens, refusal=None)
        return self.frame.model_copy(update={"choices": [choice], "usage": None})

    def ended(self) -> list[ChatCompletionChunk]:
        """The chunks that end the choice; the first holds the report. Made up where a block cut upstream off."""
        ending = self.ending
        if self.report is not None and self.report.blocked:
            blank = Choice(index=self.index, delta=ChoiceDelta(), finish_reason=FILTERED)
            first = ending[0] if ending else self.chunk("")
            called = any(choice.finish_reason in ("tool_calls", "function_call") for choice in first.choices)
            ending = ending if called else [first.model_copy(update={"choices": [blank]}), *ending[1:]]
        if ending and self.report is not None:
            mark(ending[0], {self.index: self.report})
        return ending

    def _hear(self, text: str, logprobs: ChoiceLogprobs | None) -> None:
        self.heard += text
        if logprobs is not None and logprobs.content:
            self.tokens.append((len(self.heard), list(logprobs.content)))

    def _tokens(self, text: str) -> list[Any]:
        """Log probabilities of the tokens that this text completes, as long as all went out as it came."""
        if self.told is None or not self.heard.startswith(text, self.told):
            self.told = None
            return []
        self.told += len(text)
        tokens: list[Any] = []
        while self.tokens and self.tokens[0][0] <= self.told:
            tokens += self.tokens.popleft()[1]
        return tokens


def _calls(delta: ChoiceDelta | None) -> bool:
    return delta is not None and bool(delta.tool_calls or delta.function_call)
