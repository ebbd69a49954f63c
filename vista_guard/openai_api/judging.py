"""Judges an answer of OpenAI's API, whole or streamed. The client and the proxy share this path."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from vista_guard.errors import InputError
from vista_guard.openai_api.chat import Chat, ChatStream
from vista_guard.openai_api.fields import NOTHING_LEFT, Place, Sifting, is_lost
from vista_guard.openai_api.responses import Responses, ResponseStream
from vista_guard.openai_api.wire import (
    FIELD,
    Api,
    Json,
    Problem,
    ReadRequest,
    UnreadableError,
    add_usage,
    as_list,
    repeatable,
    request_again,
    with_answer,
    write_header,
)
from vista_guard.stream.draft import regenerates
from vista_guard.stream.gates import Documents, Gate, ending_report, without_message
from vista_guard.stream.source import Delta, Found, Opening, Passed, join_documents
from vista_guard.turn.work import check_limits
from vista_guard.types import Action, Conversation, Document, Finding, Outcome, TurnReport, label_of

if TYPE_CHECKING:
    from vista_guard.guard import Guard


ACTION = "x-vista-guard-action"
OFF = ((ACTION, "OFF"), ("x-vista-guard-unjudged", "everything"))
"""Headers in place of an action when the proxy is switched off. No report ever has this value."""
_DELIVERED = (Action.ALLOW, Action.FLAG)


def headers(report: TurnReport) -> list[tuple[str, str]]:
    pairs = [(ACTION, report.decision.action.value)]
    return pairs if report.score is None else [*pairs, ("x-vista-guard-score", f"{report.score:.4f}")]


def unjudged_headers(unjudged: Sequence[str]) -> list[tuple[str, str]]:
    return [("x-vista-guard-unjudged", ",".join(unjudged))] if unjudged else []


def unjudged_field(told: Json | None, unjudged: Sequence[str]) -> Json | None:
    """The verdict with what passed unjudged by design; None when there is neither."""
    if not unjudged:
        return told
    return {**(told or {}), "unjudged": list(unjudged)}


def conversation_header(name: str | None) -> list[tuple[str, str]]:
    return [] if name is None else [("x-vista-guard-conversation", write_header(name))]


def field(report: TurnReport, name: str | None) -> Json:
    """The verdict as JSON. Claims are named only when the whole turn was delivered: those of a withheld one say what it said,
    and so does the decision's reason."""
    counts = Counter(map(label_of, report.outcomes))
    values: Json = {
        "action": report.decision.action.value,
        "score": report.score,
        "risk": report.risk,
        "risk_calibrated": report.risk_calibrated,
        "conversation_id": name,
        "turn_index": report.turn_index,
        "evidence_missing": report.evidence_missing,
        "labels": dict(counts),
        "judge": report.judge.model_dump(),
        "policy": report.policy,
    }
    if report.decision.action not in _DELIVERED:
        return values
    links = {"links": [link.model_dump(mode="json") for link in report.links]} if report.links else {}
    return {
        **values,
        "reason": report.decision.reason,
        "claims": [_claim(outcome) for outcome in report.outcomes],
        **links,
    }


def _claim(outcome: Outcome) -> Json:
    claim: Json = outcome.claim.model_dump(mode="json", exclude={"steps"})
    if not isinstance(outcome, Finding):
        return {**claim, "label": None, "confidence": None, "evidence": []}
    evidence = [
        {"source": piece.source.value, "title": piece.title, "quote": piece.quote, "score": piece.score}
        for piece in outcome.evidence
    ]
    return {**claim, "label": outcome.label.value, "confidence": outcome.confidence, "evidence": evidence}


Dialect = Chat | Responses
EventStream = ChatStream | ResponseStream

DIALECTS: Final[dict[Api, Dialect]] = {"chat": Chat(), "responses": Responses()}

Events = AsyncGenerator[Json | None, None]
"""Upstream's events as they come; None for `[DONE]`, after which nothing is read."""

_NO_ANSWER: Final = (TypeError, ValueError, AttributeError, LookupError)


@dataclass(frozen=True)
class AnswerJudgement:
    report: TurnReport
    documents: tuple[Document, ...]
    """From the request and from upstream's own tools."""
    choice: int = 0
    response_id: str | None = None
    alone: bool = True
    """False for one of several: nobody knows yet which one the user gets."""


@dataclass(frozen=True)
class Exchange:
    """A parsed request, and all that judging its answer takes.

    Attributes:
        past: the turns before the answer, under the conversation's stored id.
        documents: evidence for the answer.
        on_judged: called with each answer before it is shown, or before a stream ends; may raise to withhold the rest.
        name: the caller's name for the conversation.
        find: finds more documents, in a thread, from the conversation that ends with the answer.
        choices: number of answers requested.
        seconds: longest that judging a whole answer may take.
        show_message: stream the policy's message in place of a withheld answer.
        on_drop: called with the place of each dropped field.
        repeats: True if the request can be sent again.
    """

    guard: Guard
    dialect: Dialect
    asked: ReadRequest
    past: Conversation
    documents: tuple[Document, ...]
    on_judged: Callable[[AnswerJudgement], Awaitable[None]]
    name: str | None = None
    find: Callable[[Conversation], Sequence[Document]] | None = None
    gate: Gate = "sentence"
    choices: int = 1
    seconds: float | None = None
    show_message: bool = True
    on_drop: Callable[[Place], object] | None = None
    repeats: bool = True

    @property
    def may_ask_again(self) -> bool:
        """True if an answer that does not hold up may be asked for again."""
        may = self.repeats and not self.asked.structured and repeatable(self.dialect.api, self.asked.sent)
        return may and regenerates(self.guard.parts.policy)

    def request_again(self, draft: str, note: str) -> Json:
        return request_again(self.dialect.api, self.asked.sent, draft, note)

    def check_limits(self) -> None:
        """Checks the limits that are known before the answer. InputError: the turn could not be judged."""
        if not self.asked.structured:
            check_limits(with_answer(self.past, "", self.documents), self.guard.parts.limits)

    def sifting(self) -> Sifting:
        """A new `Sifting` for one answer to the request."""
        return Sifting(self.asked.sent, self.on_drop, self.asked.structured)

    def grounds(self) -> Documents:
        find, documents = self.find, self.documents
        return documents if find is None else lambda talk: join_documents(documents, find(talk))

    def anonymous(self) -> Conversation:
        """The past of one of several answers: nobody knows yet which one the user gets, so none is remembered."""
        return self.past.model_copy(update={"id": None})


async def judge_answer(
    exchange: Exchange, answer: Json, ask: Callable[[Json], Awaitable[Json]]
) -> tuple[Json, dict[int, TurnReport], list[str]]:
    """Returns the answer to deliver with its verdict, the report on each choice with text, and the unjudged kinds.

    `ask` sends a request again. Problem: the answer cannot be read, or was not judged in time.
    """
    dialect, sifting = exchange.dialect, exchange.sifting()
    answer = dialect.sift(answer, sifting)
    if is_lost(answer, sifting):
        raise UnreadableError(NOTHING_LEFT)
    try:
        texts = dialect.texts(answer)
    except _NO_ANSWER:
        raise UnreadableError("upstream's answer cannot be read") from None
    spoken = {place: text for place, text in enumerate(texts) if text.strip()}
    if exchange.asked.structured:
        reports = {}
    elif len(texts) == 1 and spoken and exchange.may_ask_again:
        answer, report = await _judge_or_ask_again(exchange, answer, ask)
        reports = {_index(answer, 0): report}
    else:
        alone = len(texts) == 1 and exchange.choices == 1
        judging = (_judge_text(exchange, answer, place, text, alone) for place, text in spoken.items())
        reports = dict(zip((_index(answer, place) for place in spoken), await asyncio.gather(*judging), strict=True))
    return answer, reports, _put_verdict(exchange, answer, reports)


def worst(reports: dict[int, TurnReport]) -> TurnReport:
    """The worst report stands for an answer of several choices."""
    return min(reports.values(), key=lambda report: (not report.blocked, 1.0 if report.score is None else report.score))


def _put_verdict(exchange: Exchange, answer: Json, reports: dict[int, TurnReport]) -> list[str]:
    verdict = field(worst(reports), exchange.name) if reports else None
    # Lists what is delivered: a withheld answer brings nothing but the policy's words.
    delivered = Sifting(exchange.asked.sent, structured=exchange.asked.structured)
    exchange.dialect.sift(answer, delivered)
    if (verdict := unjudged_field(verdict, delivered.told)) is not None:
        answer[FIELD] = verdict
    return delivered.told


def _index(answer: Json, place: int) -> int:
    choices = cast("list[dict[str, int]]", as_list(answer.get("choices")))
    return choices[place]["index"] if choices else 0


async def _judge_text(exchange: Exchange, answer: Json, place: int, text: str, alone: bool) -> TurnReport:
    dialect = exchange.dialect
    past = exchange.past if alone else exchange.anonymous()
    documents = join_documents(exchange.documents, dialect.documents(answer))
    try:
        async with asyncio.timeout(exchange.seconds):
            if exchange.find is not None:
                documents_found = await asyncio.to_thread(exchange.find, with_answer(past, text, documents))
                documents = join_documents(documents, documents_found)
            report = await _check(exchange.guard, past, text, documents)
    except TimeoutError:
        raise _timeout_problem() from None
    if report.response != text or report.blocked:
        dialect.deliver(answer, place, report.response, blocked=report.blocked)
    evidence = join_documents(exchange.documents, dialect.documents(answer))
    await exchange.on_judged(
        AnswerJudgement(report, evidence, _index(answer, place), dialect.response_id(answer), alone)
    )
    return report


async def _check(guard: Guard, past: Conversation, text: str, documents: tuple[Document, ...]) -> TurnReport:
    try:
        return await guard.acheck(with_answer(past, text, documents))
    except InputError:
        # The request was within limits, so it is the answer that is not. That is for the policy to decide, as in a stream,
        # and no fault of the caller's.
        return await ending_report(guard.gated(past, _once(text), documents=documents))


async def _once(text: str) -> AsyncIterator[str]:
    yield text


async def _judge_or_ask_again(
    exchange: Exchange, answer: Json, ask: Callable[[Json], Awaitable[Json]]
) -> tuple[Json, TurnReport]:
    """Returns the answer to deliver, which may be a regenerated one, and its report."""
    dialect, last = exchange.dialect, answer

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal last
        judging.reschedule(None)  # upstream has its own timeout
        try:
            next_answer = dialect.sift(await ask(exchange.request_again(draft, note)), exchange.sifting())
        finally:
            if exchange.seconds is not None:
                judging.reschedule(asyncio.get_running_loop().time() + exchange.seconds)
        if (
            len(dialect.texts(next_answer)) != 1
            or next_answer.get("status") == "failed"
            or next_answer.get("output") == []
        ):
            raise UnreadableError("upstream's answer failed, is empty, or has several choices")
        if last.get("usage"):
            next_answer["usage"] = add_usage(last["usage"], next_answer.get("usage"))
        last = next_answer
        async for part in _parts_of_answer(dialect, next_answer):
            yield part

    gated = exchange.guard.gated(
        exchange.past, _parts_of_answer(dialect, answer), gate="turn", documents=exchange.grounds(), again=again
    )
    try:
        async with asyncio.timeout(exchange.seconds) as judging:
            report = await ending_report(gated)
    except TimeoutError:
        raise _timeout_problem() from None
    except InputError:
        return answer, await _judge_text(exchange, answer, 0, dialect.texts(answer)[0], True)
    text = dialect.texts(last)[0]
    if text.strip() and (report.response != text or report.blocked):
        dialect.deliver(last, 0, report.response, blocked=report.blocked)
    evidence = join_documents(exchange.documents, dialect.documents(last))
    await exchange.on_judged(AnswerJudgement(report, evidence, _index(last, 0), dialect.response_id(last)))
    return last, report


async def _parts_of_answer(dialect: Dialect, answer: Json) -> AsyncGenerator[Delta, None]:
    yield Found(dialect.documents(answer))
    for text in dialect.texts(answer):
        if text.strip():
            yield text
    yield Passed(None, binding=dialect.acts(answer))


def _timeout_problem() -> Problem:
    return Problem(504, "guard_timeout", "the guard did not judge the answer in time")


class StreamedAnswer:
    """Upstream's stream as it may be shown. `ask` sends a request again and returns the new answer's events."""

    def __init__(self, exchange: Exchange, ask: Callable[[Json], Awaitable[Events]]) -> None:
        self._exchange, self._ask = exchange, ask
        self._choice, self._found = 0, list[Document]()
        self.stream: EventStream = exchange.dialect.stream(exchange.sifting())
        """The stream of the answer that is shown, which may be a regenerated one."""

    def shown(self, events: Events) -> AsyncGenerator[Json, None]:
        """The events that may be shown, the last ones with the verdict. Problem, UpstreamFailed: there is no answer to read."""
        several = self._exchange.choices > 1 and not self._exchange.asked.structured
        return self._choices_in_turn(events) if several else self._one_choice(events)

    async def _choices_in_turn(self, events: Events) -> AsyncGenerator[Json, None]:
        """Held until upstream has ended, then one choice after the other: their chunks come mixed."""
        async with aclosing(events):
            buffered = [event async for event in events]
        places = range(self._exchange.choices)
        spoken = {_chunk_index(choice) for event in buffered if event for choice in as_list(event.get("choices"))}
        indices = [index for index in places if index in spoken] or [0]
        for index in indices:
            answer = StreamedAnswer(self._exchange, self._ask)
            answer._choice, self.stream = index, answer.stream
            strangers = spoken.difference(indices) if index == indices[-1] else None
            choice_events = _events_of_choice(buffered, index, strangers)
            async with aclosing(answer._one_choice(choice_events)) as stream:
                async for event in stream:
                    choices = cast("list[Json]", as_list(event.get("choices")))
                    yield {**event, "choices": [{**choice, "index": index} for choice in choices]}

    async def _one_choice(self, events: Events) -> AsyncGenerator[Json, None]:
        """Events before the first text pass at once, unless the answer may be asked for again; without any text there is nothing
        to judge."""
        exchange, called = self._exchange, self._exchange.asked.structured
        async with aclosing(self._parts(events, self.stream)) as parts:
            opening = Opening(parts, hold=exchange.choices == 1 and exchange.may_ask_again)
            async with aclosing(parts if exchange.asked.structured else opening.before_text()) as passing:
                async for passed in passing:
                    called = called or (isinstance(passed, Passed) and passed.binding)
                    for event in self._events_for(passed):
                        yield event
            if opening.spoken:
                async with aclosing(self._gated(opening)) as gated:
                    async for item in gated:
                        for event in (
                            await self._ending(item) if isinstance(item, TurnReport) else self._events_for(item)
                        ):
                            yield event
                return
        if self.stream.lost and not called:
            raise UnreadableError(NOTHING_LEFT)
        for event in self.stream.end(unjudged_field(None, self.stream.unjudged), blocked=False):
            yield event

    def _gated(self, opening: Opening) -> AsyncGenerator[str | Passed | TurnReport, None]:
        exchange = self._exchange
        gated = exchange.guard.gated(
            exchange.past if exchange.choices == 1 else exchange.anonymous(),
            opening.rest(),
            gate=exchange.gate,
            documents=exchange.grounds(),
            again=self._again if opening.hold else None,
        )
        return gated if exchange.show_message else without_message(gated, exchange.guard.parts.policy.message)

    async def _ending(self, report: TurnReport) -> Iterator[Json]:
        exchange, stream = self._exchange, self.stream
        evidence, alone = join_documents(exchange.documents, self._found), exchange.choices == 1
        await exchange.on_judged(AnswerJudgement(report, evidence, self._choice, stream.response_id, alone))
        return stream.end(unjudged_field(field(report, exchange.name), stream.unjudged), blocked=report.blocked)

    def _events_for(self, item: Delta) -> list[Json]:
        if isinstance(item, Found):
            return []
        return self.stream.text(item) if isinstance(item, str) else self.stream.passed(item.item)

    async def _again(self, draft: str, note: str) -> AsyncGenerator[Delta, None]:
        """A regenerated answer, which replaces the stream once it has text."""
        exchange = self._exchange
        events = await self._ask(exchange.request_again(draft, note))
        next_stream = exchange.dialect.stream(exchange.sifting(), self.stream.usage)
        async with aclosing(self._parts(events, next_stream)) as parts:
            async for part in parts:
                if isinstance(part, str) and part.strip():
                    self.stream = next_stream
                yield part
        if next_stream.finished:
            self.stream = next_stream

    async def _parts(self, events: Events, stream: EventStream) -> AsyncGenerator[Delta, None]:
        done = False
        # Beyond the limit of a turn, and repetitions: more of them change no verdict, and each costs time.
        most_found = 10 * self._exchange.guard.parts.limits.documents
        async with aclosing(events):
            async for event in events:
                if event is None:
                    done = True
                    break
                for part in _parts_of(stream, event):
                    if isinstance(part, Found):
                        if len(self._found) > most_found:
                            continue
                        self._found += part.documents
                    yield part
        if not done and not stream.finished:
            raise UnreadableError("upstream closed the stream early", "upstream_broken")


def _parts_of(stream: EventStream, event: Json) -> list[Delta]:
    try:
        return stream.read(event)
    except _NO_ANSWER:
        raise UnreadableError("upstream's stream cannot be read") from None


def _chunk_index(choice: object) -> int | None:
    index = choice.get("index", 0) if isinstance(choice, dict) else None
    return index if type(index) is int else None


async def _events_of_choice(events: Sequence[Json | None], index: int, strangers: set[int | None] | None) -> Events:
    """The chunks of one choice, as if it were the only one. With the last come those of no choice, such as usage, and the
    choices that nobody asked for, which the table drops."""
    for event in events:
        if event is None or event.get("error"):
            yield event
            continue
        choices = as_list(event.get("choices"))
        mine = [choice for choice in choices if isinstance(choice, dict) and _chunk_index(choice) == index]
        selected: list[object] = [{**choice, "index": 0} for choice in mine]
        if strangers is not None:
            selected += [choice for choice in choices if _chunk_index(choice) in strangers]
        if selected or (strangers is not None and not choices):
            yield {**event, "choices": selected}
