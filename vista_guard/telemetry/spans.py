"""Spans of what a stage asks: earlier turns, judges inside of other judges, models behind endpoints.

One guarded turn as spans. The turn's own span is current for nobody: stages name it as their parent, wherever they run.

A turn may be judged in one task and read in another, and its span would be left behind in the reader's context if it were
current across a `yield`. So a turn carries its span with it, and only what begins and ends in one function is ever current.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from time import time_ns
from typing import Literal, TypeVar

from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context, use_span

from vista_guard.telemetry import attributes
from vista_guard.telemetry import attributes as names
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.events import Told, content_attributes, tell_evaluations, turn_attributes
from vista_guard.telemetry.instruments import error_type, figures_of
from vista_guard.types import Conversation, JudgeInfo, Outcome, TurnReport, Unchecked

Begun = TypeVar("Begun")

Gate = Literal["none", "sentence", "turn"]
SentenceOutcome = Literal["released", "marked", "dropped", "withheld"]

_KINDS = {
    "gather": "RETRIEVER",
    "decompose": "CHAIN",
    "verify": "EVALUATOR",
    "categorize": "EVALUATOR",
    "catch_up": "EVALUATOR",
    "decide": "GUARDRAIL",
    "repair": "CHAIN",
    "remember": "CHAIN",
    "report": "CHAIN",
}

_running: ContextVar[TurnTrace | None] = ContextVar("vista_guard_turn_trace", default=None)
"""The turn whose stage runs: what judges tell belongs to it."""

_request: ContextVar[Span | None] = ContextVar("vista_guard_request_span", default=None)
"""The span of the proxy's request, which is a trace's root: backends read a conversation's id and words there."""


class TurnTrace:
    """The span of one turn and all below it. Where nobody records, it is no more than a place in the caller's trace.

    Args:
        telemetry: the guard's.
        conversation_id: of the conversation, where it has one.
        index: the turn's place in it.
        gate: none, sentence or turn.
        agent: whether the guard calls the agent too.
    """

    def __init__(
        self, telemetry: Telemetry, conversation_id: str | None, index: int, *, gate: Gate = "turn", agent: bool = False
    ) -> None:
        self.telemetry, self.gate = telemetry, gate
        self._common: dict[str, str] = {} if conversation_id is None else conversation_attributes(conversation_id)
        told = {
            **self._common,
            names.KIND: "AGENT" if agent else "GUARDRAIL",
            names.TURN_INDEX: index,
            names.GATE: gate,
        }
        self._span = telemetry.tracer.start_span(names.TURN, attributes=told)
        self.recording = self._span.is_recording()
        self._context = set_span_in_context(self._span) if self.recording else None
        self._sentences = 0
        self._ended = False
        if (request := _request.get()) is not None:
            request.set_attributes(self._common)

    @property
    def trace_id(self) -> str | None:
        """32 hexadecimal digits; None where there is no trace."""
        context = self._span.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else None

    @property
    def span_id(self) -> str | None:
        """16 hexadecimal digits: of the turn's span; None where none is recorded."""
        return f"{self._span.get_span_context().span_id:016x}" if self.recording else None

    @contextmanager
    def stage(self, name: str) -> Iterator[Span | None]:
        """The span of one stage, current inside; None where nobody records."""
        if not self.recording:
            yield None
            return
        told = {**self._common, names.KIND: _KINDS[name], names.STAGE: name}
        span = self.telemetry.tracer.start_span(f"vista_guard.{name}", self._context, attributes=told)
        with self._current(span):
            yield span

    @contextmanager
    def agent(self, name: str | None) -> Iterator[None]:
        """The span of the agent that is asked, current inside."""
        span = self.start_agent(name)
        if span is None:
            yield
            return
        with self._current(span):
            yield

    def start_agent(self, name: str | None) -> Span | None:
        """The span of an agent whose answer is streamed: current for nobody, and to be ended by `ended`."""
        if not self.recording:
            return None
        told = {**self._common, names.KIND: "AGENT", names.OPERATION: "invoke_agent"}
        if name:
            told[names.AGENT_NAME] = name
        return self.telemetry.tracer.start_span(f"{names.AGENT} {name or 'agent'}", self._context, attributes=told)

    @contextmanager
    def child(self, name: str, kind: str, more: Mapping[str, str]) -> Iterator[None]:
        """A span below the one that is current, such as a stage's."""
        told = {**self._common, names.KIND: kind, **more}
        with self._current(self.telemetry.tracer.start_span(name, attributes=told)):
            yield

    def client(self, name: str, more: Mapping[str, str]) -> Span:
        """The span of a call to a model, below the one that is current; to be ended by `ended`."""
        told = {**self._common, names.KIND: "LLM", **more}
        return self.telemetry.tracer.start_span(name, kind=SpanKind.CLIENT, attributes=told)

    def sentence(self, outcome: SentenceOutcome, hold_s: float) -> None:
        """Tells what became of the next sentence, `hold_s` seconds after its last character came."""
        self._sentences += 1
        self.telemetry.instruments.record_hold(hold_s, outcome)
        if not self.recording:
            return
        now = time_ns()
        told: Told = {
            **self._common,
            names.KIND: "GUARDRAIL",
            names.SENTENCE_INDEX: self._sentences,
            names.SENTENCE_OUTCOME: outcome,
            names.SENTENCE_HOLD: hold_s * 1000,
        }
        began = now - int(hold_s * 1e9)
        self.telemetry.tracer.start_span(names.SENTENCE, self._context, attributes=told, start_time=began).end(now)

    def finish(self, report: TurnReport, conversation: Conversation, *, repair: str | None) -> None:
        """Ends the turn's span with what its report says, tells the evaluations and counts the turn.

        Args:
            report: as it was written.
            conversation: what was said before the turn, and the draft, which is never told.
            repair: how the turn was mended, where it was.
        """
        if self._ended:
            return
        self._ended = True
        self.telemetry.record(figures_of(report, repair))
        if self.recording:
            self._span.set_attributes(turn_attributes(report, repair))
            self._tell_content(report, conversation)
            tell_evaluations(self.telemetry, self._span, report, self._common)
            self._span.end()

    def abandon(self, exc: BaseException | None = None) -> None:
        """Ends the turn's span without a report: it failed, was interrupted, or the reader left. Nothing to an ended one."""
        if self._ended:
            return
        self._ended = True
        if self.recording:
            self._span.set_attribute(names.ABANDONED, True)
            mark(self._span, exc)
            self._span.end()

    def end_unspoken(self) -> None:
        """Ends the span of a turn without a word, such as one that only calls a tool: nothing was judged, nothing is counted."""
        if not self._ended:
            self._ended = True
            self._span.end()

    def _tell_content(self, report: TurnReport, conversation: Conversation) -> None:
        if not self.telemetry.content_in_spans:
            return
        whole, root = content_attributes(self.telemetry, report, conversation)
        self._span.set_attributes({**whole, **root})
        if (request := _request.get()) is not None:
            request.set_attributes(root)

    @contextmanager
    def _current(self, span: Span) -> Iterator[None]:
        token = _running.set(self)
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                yield
        except BaseException as exc:
            mark(span, exc)
            raise
        finally:
            span.end()
            _running.reset(token)


def running() -> TurnTrace | None:
    """The turn whose stage runs here, where it is recorded."""
    return _running.get()


def conversation_attributes(conversation_id: str) -> dict[str, str]:
    """The two names by which backends put turns into conversations."""
    return {names.CONVERSATION: conversation_id, names.SESSION: conversation_id}


def begun_under(span: Span | None, begin: Callable[[], Begun]) -> Begun:
    """What `begin` gives, called while the span is current: what it begins in a copy of the context goes on below the span."""
    if span is None:
        return begin()
    with use_span(span, record_exception=False, set_status_on_exception=False):
        return begin()


def ended(span: Span | None, exc: BaseException | None = None) -> None:
    """Ends a span that is current for nobody."""
    if span is not None:
        mark(span, exc)
        span.end()


def mark(span: Span, exc: BaseException | None) -> None:
    """Says that something failed, and of what class. Never its message: it may quote what was said."""
    if exc is None:
        return
    span.set_attribute(names.ERROR_TYPE, type(exc).__name__)
    # Cancelled, closed by the reader, interrupted for a human: nothing went wrong there.
    if isinstance(exc, Exception) and not _is_interrupt(exc):
        span.set_status(Status(StatusCode.ERROR))


def mark_unchecked(span: Span | None, before: Sequence[Outcome], after: Sequence[Outcome]) -> None:
    """Says at a stage's span why it left claims unchecked. That is no error of the guard's: the status stays unset."""
    if span is None or len(after) == len(before):
        return
    known = {id(outcome) for outcome in before}
    left = [one for one in after if isinstance(one, Unchecked) and id(one) not in known]
    if left:
        span.set_attribute(names.ERROR_TYPE, error_type(left[0]))


def _is_interrupt(exc: Exception) -> bool:
    # LangGraph's, known by name: this room does not know LangGraph.
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(exc).__mro__)


_asking: ContextVar[str | None] = ContextVar("vista_guard_judge_asked", default=None)


@contextmanager
def earlier_turn() -> Iterator[None]:
    """The span of an earlier turn that is judged now."""
    trace = running()
    if trace is None:
        yield
        return
    with trace.child(attributes.CATCH_UP, "EVALUATOR", {attributes.STAGE: "catch_up"}):
        yield


@contextmanager
def judge(info: JudgeInfo, question: str) -> Iterator[None]:
    """The span of a question to a judge. The stage's own judge has none: that would be the stage once more."""
    trace = running()
    if trace is None:
        yield
        return
    outer = _asking.get()
    token = _asking.set(info.name)
    try:
        if outer is None or outer == info.name:
            yield
            return
        told = {attributes.JUDGE_NAME: info.name, attributes.JUDGE_VERSION: info.version, attributes.QUESTION: question}
        with trace.child(attributes.JUDGE, "EVALUATOR", told):
            yield
    finally:
        _asking.reset(token)


class ModelCall:
    """One call to a model, as a span; nothing where no turn is recorded, or the model's client tells by itself.

    Args:
        provider: who serves the model.
        model: its name.
        instrumented: tells whether the client's calls are traced already.
    """

    def __init__(self, provider: str, model: str, *, instrumented: Callable[[], bool]) -> None:
        trace = running()
        self._span = _chat_span(trace, provider, model) if trace and _wanted(trace, instrumented) else None

    def used(self, input_tokens: int, output_tokens: int) -> None:
        """Tells what the endpoint counted."""
        if self._span is not None:
            self._span.set_attributes({attributes.INPUT_TOKENS: input_tokens, attributes.OUTPUT_TOKENS: output_tokens})

    def end(self, exc: BaseException | None = None) -> None:
        """Ends the span."""
        ended(self._span, exc)


def is_instrumented(*functions: object) -> bool:
    """Whether one of a client's functions was replaced by an instrumentation: they all use the library wrapt for it."""
    return any(type(function).__name__ in ("FunctionWrapper", "BoundFunctionWrapper") for function in functions)


def _wanted(trace: TurnTrace, instrumented: Callable[[], bool]) -> bool:
    asked = trace.telemetry.model_spans
    return asked == "on" or (asked == "auto" and not instrumented())


def _chat_span(trace: TurnTrace, provider: str, model: str) -> Span:
    told = {attributes.OPERATION: "chat", attributes.PROVIDER: provider, attributes.REQUEST_MODEL: model}
    return trace.client(f"{attributes.CHAT} {model}", told)
