"""Chat completions: a whole answer, and a stream of chunks, with what the guard delivers in place of what it withheld."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionTokenLogprob
from openai.types.chat.chat_completion_chunk import Choice, ChoiceDelta, ChoiceLogprobs

from vista_guard.integrations.openai.answering import FILTERED, AskAgain, summed_usage
from vista_guard.integrations.openai.client_guard import ClientGuard
from vista_guard.integrations.openai.reports import mark
from vista_guard.integrations.openai.requests import Asked
from vista_guard.integrations.openai_api import PendingLogprobs, judge_or_ask_again
from vista_guard.stream.gates import Delta, Passed
from vista_guard.types import TurnReport

Chunks = AsyncGenerator[ChatCompletionChunk, None]


async def judge_completion(
    guard: ClientGuard, asked: Asked, completion: ChatCompletion, again: AskAgain[ChatCompletion] | None
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
        ask = partial(_ask_again, again)
        completion, report = await judge_or_ask_again(completion, _parts, ask, partial(guard.judge_whole, asked))
        return completion, {0: report}
    reports = await asyncio.gather(*(guard.judge(asked, text) for text in spoken.values()))
    return completion, dict(zip(spoken, reports, strict=True))


async def _ask_again(
    again: AskAgain[ChatCompletion], draft: str, note: str, before: ChatCompletion
) -> ChatCompletion | None:
    completion = await again(draft, note)
    if not completion.choices:
        return None
    completion.usage = summed_usage(completion.usage, before.usage)
    return completion


async def _parts(completion: ChatCompletion) -> AsyncGenerator[Delta, None]:
    message = completion.choices[0].message
    if message.content and message.content.strip():
        yield message.content
    yield Passed(None, binding=bool(message.tool_calls or message.function_call))


def deliver_completion(
    guard: ClientGuard,
    asked: Asked,  # noqa: ARG001  # the same door as `deliver_response`
    completion: ChatCompletion,
    reports: Mapping[int, TurnReport],
) -> None:
    """Puts what is delivered into the completion.

    Raises:
        Blocked: a choice was withheld, and `on_block` is raise.
    """
    guard.tell(reports.values())
    for choice in completion.choices or ():
        report = reports.get(choice.index)
        if report is None or not choice.message.content:
            continue
        if report.response != choice.message.content:
            choice.message.content = report.response
            choice.message.annotations = choice.message.audio = (
                None  # They point into the text that was replaced, or say it.
            )
            if choice.logprobs is not None:
                choice.logprobs.content = None
        if report.blocked:
            message = type(choice.message)
            choice.message = message.construct(role="assistant", content=report.response, refusal=None)
            choice.finish_reason = FILTERED
    mark(completion, reports)


async def chat_chunks(
    guard: ClientGuard, asked: Asked, chunks: Chunks, again: AskAgain[Chunks] | None
) -> AsyncGenerator[ChatCompletionChunk | TurnReport, None]:
    """The chunks that may be shown, each choice's report right before the chunk that ends the choice."""
    if asked.structured:
        async for chunk in chunks:
            yield chunk
    elif asked.choices == 1:
        async for item in _one_choice(guard, asked, chunks, 0, again):
            yield item
    else:
        async for item in _several_choices(guard, asked, chunks):
            yield item


async def _several_choices(
    guard: ClientGuard, asked: Asked, chunks: Chunks
) -> AsyncGenerator[ChatCompletionChunk | TurnReport, None]:
    """Held until upstream has ended, then one choice after the other: their chunks come mixed."""
    held = [chunk async for chunk in chunks]

    async def chunks_of(index: int) -> Chunks:
        for chunk in held:
            for choice in chunk.choices or ():
                if choice.index == index:
                    yield chunk.model_copy(update={"choices": [choice]})

    for index in sorted({choice.index for chunk in held for choice in chunk.choices or ()}):
        async for item in _one_choice(guard, asked, chunks_of(index), index):
            yield item
    for chunk in held:
        if not chunk.choices:
            yield chunk


async def _one_choice(
    guard: ClientGuard,
    asked: Asked,
    chunks: Chunks,
    index: int,
    ask: AskAgain[Chunks] | None = None,
) -> AsyncGenerator[ChatCompletionChunk | TurnReport, None]:
    answer = _StreamedChoice(index)

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal answer
        if ask is None:
            raise AssertionError("an answer is asked for again that cannot be")
        following = _StreamedChoice(index, spent=answer.usage)
        async with aclosing(following.parts(await ask(draft, note))) as parts:
            async for part in parts:
                if isinstance(part, str) and part.strip():
                    answer = following  # only now: what never comes to speak leaves the answer before it in its place
                yield part
        answer = following if following.frame else answer

    async for item in guard.gated(asked, answer.parts(chunks), None if ask is None else again):
        if isinstance(item, TurnReport):
            answer.report = item
            yield item
        else:
            yield item.item if isinstance(item, Passed) else answer.chunk(item)
    for chunk in answer.ending_chunks():
        yield chunk


@dataclass
class _StreamedChoice:
    """One choice on its way: its frame, what was said, and what waits for its end."""

    index: int
    spent: CompletionUsage | None = None
    """Usage of the drafts before it."""
    frame: ChatCompletionChunk | None = None
    ending: list[ChatCompletionChunk] = field(default_factory=list)
    cited: list[object] = field(default_factory=list)
    """What the text cites: shown with its end, when it was shown as it was said."""
    introduced: bool = False
    report: TurnReport | None = None
    logprobs: PendingLogprobs[ChatCompletionTokenLogprob] = field(default_factory=PendingLogprobs)
    usage: CompletionUsage | None = None

    async def parts(self, chunks: Chunks) -> AsyncGenerator[Delta, None]:
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
        self.cited += (choice.delta.model_extra or {}).pop("annotations", None) or [] if choice.delta else []
        if text:
            self.logprobs.read(text, choice.logprobs.content or () if choice.logprobs else ())
            delta = choice.delta.model_copy(update={"content": None, **self._known_role(choice.delta)})
            if delta.model_dump(exclude_none=True):
                kept = choice.model_copy(update={"delta": delta, "logprobs": None, "finish_reason": None})
                yield Passed(chunk.model_copy(update={"choices": [kept]}), binding=_calls_tools(delta))
            yield text
            choice = choice.model_copy(update={"delta": ChoiceDelta(), "logprobs": None})
        if choice.finish_reason:
            self.ending.append(chunk.model_copy(update={"choices": [choice]}))
        elif not text:
            yield Passed(chunk, binding=_calls_tools(choice.delta))

    def _known_role(self, delta: ChoiceDelta) -> dict[str, None]:
        # Some servers say with every word who speaks.
        known, self.introduced = self.introduced, self.introduced or delta.role is not None
        return {"role": None} if known else {}

    def chunk(self, text: str) -> ChatCompletionChunk:
        """A chunk of upstream's kind that says this."""
        if self.frame is None:
            raise AssertionError("text is released before a chunk came")
        choice = Choice(index=self.index, delta=ChoiceDelta(content=text), finish_reason=None)
        tokens = self.logprobs.show(text)
        if tokens:
            choice.logprobs = ChoiceLogprobs.construct(content=tokens, refusal=None)
        return self.frame.model_copy(update={"choices": [choice], "usage": None})

    def ending_chunks(self) -> list[ChatCompletionChunk]:
        """The chunks that end the choice; the first holds the report. Made up where a block cut upstream off."""
        ending = self.ending
        if ending and self.cited and self.logprobs.faithful and self.report and not self.report.blocked:
            delta = ChoiceDelta.construct(annotations=self.cited)
            choice = Choice(index=self.index, delta=delta, finish_reason=None)
            ending = [ending[0].model_copy(update={"choices": [choice], "usage": None}), *ending]
        if self.report is not None and self.report.blocked:
            blank = Choice(index=self.index, delta=ChoiceDelta(), finish_reason=FILTERED)
            first = ending[0] if ending else self.chunk("")
            called = any(choice.finish_reason in ("tool_calls", "function_call") for choice in first.choices)
            ending = ending if called else [first.model_copy(update={"choices": [blank]}), *ending[1:]]
        if ending and self.report is not None:
            last = next(chunk for chunk in ending if chunk.choices and chunk.choices[0].finish_reason)
            mark(last, {self.index: self.report})
        return ending


def _calls_tools(delta: ChoiceDelta | None) -> bool:
    return delta is not None and bool(delta.tool_calls or delta.function_call)
