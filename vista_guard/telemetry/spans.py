"""Spans of one guarded turn and of its stages: earlier turns, judges inside of other judges, models behind endpoints.

A turn may be judged in one task and read in another, and its span would be left behind in the reader's context if it were
current across a `yield`. So a turn carries its span with it, and stages name it as their parent; only what begins and ends in
one function is ever current.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from time import monotonic, time_ns
from typing import Literal, TypeVar

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, set_span_in_context, use_span

from vista_guard._aio import holding
from vista_guard.telemetry import attributes
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.instruments import error_type, figures_of
from vista_guard.types import Action, Conversation, Finding, JudgeInfo, Outcome, Role, TurnReport, Unchecked, label_of

Told = dict[str, str | bool | int | float]


def turn_attributes(report: TurnReport, repair: str | None) -> Told:
    """Returns the attributes without text: numbers, names and closed sets of words."""
    counts = Counter(label_of(outcome).lower() for outcome in report.outcomes)
    values: dict[str, str | bool | int | float | None] = {
        attributes.ACTION: report.decision.action.value,
        attributes.SCORE: report.score,
        attributes.RISK: report.risk,
        attributes.POLICY: report.policy,
        attributes.POLICY_RULES: report.rules,
        attributes.JUDGE_NAME: report.judge.name,
        attributes.JUDGE_VERSION: report.judge.version,
        attributes.EVIDENCE_MISSING: report.evidence_missing,
        attributes.ATTEMPTS: len(report.attempts),
        attributes.REPAIR: repair,
        attributes.REPORT_ID: report.id,
        attributes.USAGE_INPUT: report.usage.input_tokens,
        attributes.USAGE_OUTPUT: report.usage.output_tokens,
        attributes.USAGE_COST: report.usage.cost,
        **{f"{attributes.CLAIMS}.{label}": counts[label] for label in attributes.LABELS},
    }
    return {name: value for name, value in values.items() if value is not None}


def content_attributes(telemetry: Telemetry, report: TurnReport, conversation: Conversation) -> tuple[Told, Told]:
    """Returns the redacted messages before the turn and the delivered text, and on a root span the plain input and output too.

    The draft is in neither: nobody may read an undelivered one.
    """
    texts = [(turn.role, telemetry.redacted(turn.text)) for turn in conversation.turns[:-1]]
    answer = telemetry.redacted(report.response)
    question = next((text for role, text in reversed(texts) if role is Role.USER), None)
    messages: Told = {
        attributes.INPUT_MESSAGES: _messages((role.value, text) for role, text in texts),
        attributes.OUTPUT_MESSAGES: _messages([("assistant", answer)]),
    }
    root = {attributes.INPUT: question, attributes.OUTPUT: answer}
    return messages, {name: text for name, text in root.items() if text is not None}


def _messages(texts: Iterable[tuple[str, str | None]]) -> str:
    """Formats messages by OpenTelemetry's conventions."""
    parts = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in texts if text is not None]
    return json.dumps(parts, ensure_ascii=False)


def send_evaluations(telemetry: Telemetry, span: Span, report: TurnReport, common: Mapping[str, str]) -> None:
    """Sends the turn's evaluations as log records, as events of its span, or both."""
    if telemetry.events in ("logs", "both"):
        context = set_span_in_context(span)
        for values in evaluations(telemetry, report, common, content=telemetry.content_in_events):
            telemetry.event_logger.emit(
                LogRecord(
                    event_name=attributes.EVALUATION,
                    attributes=values,
                    context=context,
                    severity_number=SeverityNumber.INFO,
                )
            )
    if telemetry.events in ("span", "both"):
        for values in evaluations(telemetry, report, common, content=telemetry.content_in_spans):
            span.add_event(attributes.EVALUATION, values)


def evaluations(
    telemetry: Telemetry, report: TurnReport, common: Mapping[str, str], *, content: bool
) -> Iterator[Told]:
    """Yields the attributes of each evaluation.

    Args:
        telemetry: redacts the texts.
        report: that of the turn.
        common: the conversation's id.
        content: includes reasons, but never those of a turn that was changed or withheld: they quote it.
    """
    shared: Told = {**common, attributes.REPORT_ID: report.id}
    explained = content and report.decision.action in (Action.ALLOW, Action.FLAG) and not report.attempts
    reason = telemetry.redacted(report.decision.reason) if explained else None
    yield {
        attributes.EVALUATION_NAME: attributes.TURN_SCORE,
        attributes.EVALUATION_LABEL: report.decision.action.value,
        **shared,
        **({} if report.score is None else {attributes.EVALUATION_SCORE: report.score}),
        **_explanation(reason),
    }
    for outcome in report.outcomes:
        reason = telemetry.redacted(outcome.reason) if explained and isinstance(outcome, Finding) else None
        yield {**_claim(outcome), **shared, **_explanation(reason)}


def _claim(outcome: Outcome) -> Told:
    values: Told = {attributes.EVALUATION_NAME: attributes.CLAIM_SCORE, attributes.CLAIM_ID: outcome.claim.id}
    if outcome.claim.span is not None:
        values |= {attributes.CLAIM_START: outcome.claim.span.start, attributes.CLAIM_END: outcome.claim.span.end}
    if isinstance(outcome, Finding):
        values[attributes.EVALUATION_SCORE] = outcome.confidence
    return values | {attributes.EVALUATION_LABEL: label_of(outcome)}


def _explanation(reason: str | None) -> Told:
    return {} if reason is None else {attributes.EXPLANATION: reason}


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
"""The turn whose stage runs: spans of judges belong to it."""

_measured: ContextVar[Telemetry | None] = ContextVar("vista_guard_measured", default=None)
"""The telemetry of the turn whose stage runs, recorded or not: a sampler drops traces, no metrics."""

_request: ContextVar[Span | None] = ContextVar("vista_guard_request_span", default=None)
"""The span of the proxy's request, which is a trace's root: backends read a conversation's id and words there."""


class TurnTrace:
    """The span of a turn and those below it. Without a recorder it only holds the caller's trace.

    Args:
        telemetry: the guard's.
        conversation_id: of the conversation, where it has one.
        index: the turn's place in it.
        gate: none, sentence or turn.
        agent: True where the guard calls the agent, too.
    """

    def __init__(
        self, telemetry: Telemetry, conversation_id: str | None, index: int, *, gate: Gate = "turn", agent: bool = False
    ) -> None:
        self.telemetry, self.gate = telemetry, gate
        # The two names by which backends group turns into conversations.
        named = (attributes.CONVERSATION, attributes.SESSION)
        self._common: dict[str, str] = {} if conversation_id is None else dict.fromkeys(named, conversation_id)
        values = {
            **self._common,
            attributes.KIND: "AGENT" if agent else "GUARDRAIL",
            attributes.TURN_INDEX: index,
            attributes.GATE: gate,
        }
        self._span = telemetry.tracer.start_span(attributes.TURN, attributes=values)
        self.recording = self._span.is_recording()
        self._context = set_span_in_context(self._span) if self.recording else None
        self._sentences = 0
        self._ended = False
        if (request := _request.get()) is not None:
            request.set_attributes(self._common)

    @property
    def trace_id(self) -> str | None:
        """The trace's 32 hexadecimal digits; None without a trace."""
        context = self._span.get_span_context()
        return f"{context.trace_id:032x}" if context.is_valid else None

    @property
    def span_id(self) -> str | None:
        """The turn span's 16 hexadecimal digits; None when not recorded."""
        return f"{self._span.get_span_context().span_id:016x}" if self.recording else None

    @contextmanager
    def stage(self, name: str) -> Iterator[Span | None]:
        """Opens the span of a stage and makes it current; yields None when not recorded."""
        with holding(_measured, self.telemetry):
            if not self.recording:
                yield None
                return
            values = {**self._common, attributes.KIND: _KINDS[name], attributes.STAGE: name}
            span = self.telemetry.tracer.start_span(f"vista_guard.{name}", self._context, attributes=values)
            with self._current(span):
                yield span

    @contextmanager
    def agent(self, name: str | None) -> Iterator[None]:
        """Opens the span of the agent's call and makes it current."""
        span = self.start_agent(name)
        with nullcontext() if span is None else self._current(span):
            yield

    def start_agent(self, name: str | None) -> Span | None:
        """Starts the span of a streaming agent. It is not current; `ended` ends it."""
        if not self.recording:
            return None
        values = {**self._common, attributes.KIND: "AGENT", attributes.OPERATION: "invoke_agent"}
        if name:
            values[attributes.AGENT_NAME] = name
        return self.telemetry.tracer.start_span(
            f"{attributes.AGENT} {name or 'agent'}", self._context, attributes=values
        )

    @contextmanager
    def child(self, name: str, kind: str, more: Mapping[str, str]) -> Iterator[None]:
        """Opens a span below the current one."""
        values = {**self._common, attributes.KIND: kind, **more}
        with self._current(self.telemetry.tracer.start_span(name, attributes=values)):
            yield

    def client(self, name: str, more: Mapping[str, str]) -> Span:
        """Starts the span of a call to a model, below the current one; `ended` ends it."""
        values = {**self._common, attributes.KIND: "LLM", **more}
        return self.telemetry.tracer.start_span(name, kind=SpanKind.CLIENT, attributes=values)

    def sentence(self, outcome: SentenceOutcome, hold_s: float) -> None:
        """Records the outcome of the next sentence, `hold_s` seconds after its last character came."""
        self._sentences += 1
        self.telemetry.instruments.record_hold(hold_s, outcome)
        if not self.recording:
            return
        now = time_ns()
        values: Told = {
            **self._common,
            attributes.KIND: "GUARDRAIL",
            attributes.SENTENCE_INDEX: self._sentences,
            attributes.SENTENCE_OUTCOME: outcome,
            attributes.SENTENCE_HOLD: hold_s * 1000,
        }
        began = now - int(hold_s * 1e9)
        self.telemetry.tracer.start_span(attributes.SENTENCE, self._context, attributes=values, start_time=began).end(
            now
        )

    def finish(self, report: TurnReport, conversation: Conversation, *, repair: str | None) -> None:
        """Ends the turn's span with its report's attributes, sends the evaluations and counts the turn.

        Args:
            report: as it was written.
            conversation: the earlier turns, and the draft, which is never sent.
            repair: the kind of repair, if any.
        """
        if self._ended:
            return
        self._ended = True
        self.telemetry.record(figures_of(report, repair))
        if self.recording:
            self._span.set_attributes(turn_attributes(report, repair))
            if self.telemetry.content_in_spans:
                messages, root = content_attributes(self.telemetry, report, conversation)
                self._span.set_attributes({**messages, **root})
                if (request := _request.get()) is not None:
                    request.set_attributes(root)
            send_evaluations(self.telemetry, self._span, report, self._common)
            self._span.end()

    def abandon(self, exc: BaseException | None = None) -> None:
        """Ends the turn's span without a report, after a failure, an interruption, or when the reader left. Idempotent."""
        if self._ended:
            return
        self._ended = True
        if self.recording:
            self._span.set_attribute(attributes.ABANDONED, True)
            mark(self._span, exc)
            self._span.end()

    def end_unspoken(self) -> None:
        """Ends the span of a turn without text, such as a tool call: nothing was judged, nothing is counted."""
        if not self._ended:
            self._ended = True
            self._span.end()

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


def current_turn() -> TurnTrace | None:
    """Returns the recorded turn whose stage runs here, or None."""
    return _running.get()


def run_under(span: Span | None, begin: Callable[[], Begun]) -> Begun:
    """Calls `begin` with the span as current, so that work it starts in a copy of the context nests below the span."""
    with nullcontext() if span is None else use_span(span, record_exception=False, set_status_on_exception=False):
        return begin()


def end_span(span: Span | None, exc: BaseException | None = None) -> None:
    """Ends a span that is not current."""
    if span is not None:
        mark(span, exc)
        span.end()


def mark(span: Span, exc: BaseException | None) -> None:
    """Marks a failed span with the error's class. Never its message, which may quote the conversation."""
    if exc is None:
        return
    span.set_attribute(attributes.ERROR_TYPE, type(exc).__name__)
    # Cancelled, closed by the reader, interrupted for a human: nothing went wrong there.
    if isinstance(exc, Exception) and not _is_interrupt(exc):
        span.set_status(Status(StatusCode.ERROR))


def mark_unchecked(span: Span | None, before: Sequence[Outcome], after: Sequence[Outcome]) -> None:
    """Records on a stage's span why it left claims unchecked. The status stays unset: the guard made no error."""
    if span is None or len(after) == len(before):
        return
    known = {id(outcome) for outcome in before}
    left = [one for one in after if isinstance(one, Unchecked) and id(one) not in known]
    if left:
        span.set_attribute(attributes.ERROR_TYPE, error_type(left[0]))


def _is_interrupt(exc: Exception) -> bool:
    # LangGraph's, known by name: this room does not know LangGraph.
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(exc).__mro__)


_asking: ContextVar[str | None] = ContextVar("vista_guard_judge_asked", default=None)


def earlier_turn() -> AbstractContextManager[None]:
    """Opens the span of an earlier turn that is judged now."""
    trace = current_turn()
    if trace is None:
        return nullcontext()
    return trace.child(attributes.CATCH_UP, "EVALUATOR", {attributes.STAGE: "catch_up"})


@contextmanager
def judge(info: JudgeInfo, question: str) -> Iterator[None]:
    """Opens the span of a question to an inner judge. The stage's own judge has none: it would repeat the stage's."""
    trace, outer = current_turn(), _asking.get()
    values = {attributes.JUDGE_NAME: info.name, attributes.JUDGE_VERSION: info.version, attributes.QUESTION: question}
    span: AbstractContextManager[None] = nullcontext()
    if trace is not None and outer not in (None, info.name):
        span = trace.child(attributes.JUDGE, "EVALUATOR", values)
    with holding(_asking, info.name), span:
        yield


class ModelCall:
    """A call to a model as a span; no span when the turn is not recorded, or the model's client records it itself.

    With the newest GenAI conventions it is measured, too.

    Args:
        provider: who serves the model.
        model: its name.
        instrumented: True when the client's calls are traced already.
    """

    def __init__(self, provider: str, model: str, *, instrumented: Callable[[], bool]) -> None:
        telemetry, trace = _measured.get(), current_turn()
        kind = telemetry.model_spans if telemetry else "off"
        ours = kind == "on" or (kind == "auto" and not instrumented())
        self._names = {attributes.OPERATION: "chat", attributes.PROVIDER: provider, attributes.REQUEST_MODEL: model}
        self._span = trace.client(f"{attributes.CHAT} {model}", self._names) if trace and ours else None
        self._instruments = telemetry.instruments if telemetry and ours and telemetry.latest else None
        self._tokens, self._began = (0, 0), monotonic()

    def used(self, input_tokens: int, output_tokens: int) -> None:
        """Records the endpoint's token counts."""
        self._tokens = (input_tokens, output_tokens)
        if self._span is not None:
            self._span.set_attributes({attributes.INPUT_TOKENS: input_tokens, attributes.OUTPUT_TOKENS: output_tokens})

    def end(self, exc: BaseException | None = None) -> None:
        """Ends the span."""
        end_span(self._span, exc)
        if self._instruments is not None:
            failed = {} if exc is None else {attributes.ERROR_TYPE: type(exc).__name__}
            self._instruments.record_inference(monotonic() - self._began, self._tokens, {**self._names, **failed})


def is_instrumented(*functions: object) -> bool:
    """True when an instrumentation wraps one of a client's functions: all of them use the library wrapt."""
    return any(type(function).__name__ in ("FunctionWrapper", "BoundFunctionWrapper") for function in functions)


@contextmanager
def untraced() -> Iterator[None]:
    """Keeps LangSmith from recording anything inside, whatever the environment says. For a function, not across a `yield`.

    Does nothing where nothing would be recorded anyway: LangChain loads LangSmith before recording anything, and both ask
    `tracing_is_enabled`.
    """
    if "langsmith" not in sys.modules:
        yield
        return
    from langsmith import tracing_context
    from langsmith.utils import tracing_is_enabled

    with tracing_context(enabled=False) if tracing_is_enabled() else nullcontext():
        yield
