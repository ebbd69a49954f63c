"""Spans of what a stage asks: earlier turns, judges inside of other judges, models behind endpoints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.trace import Span

from vista_guard.telemetry import names
from vista_guard.telemetry.turns import TurnTrace, ended, running
from vista_guard.types import JudgeInfo

_asking: ContextVar[str | None] = ContextVar("vista_guard_judge_asked", default=None)


@contextmanager
def earlier_turn() -> Iterator[None]:
    """The span of an earlier turn that is judged now."""
    trace = running()
    if trace is None:
        yield
        return
    with trace.child(names.CATCH_UP, "EVALUATOR", {names.STAGE: "catch_up"}):
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
        told = {names.JUDGE_NAME: info.name, names.JUDGE_VERSION: info.version, names.QUESTION: question}
        with trace.child(names.JUDGE, "EVALUATOR", told):
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
            self._span.set_attributes({names.INPUT_TOKENS: input_tokens, names.OUTPUT_TOKENS: output_tokens})

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
    told = {names.OPERATION: "chat", names.PROVIDER: provider, names.REQUEST_MODEL: model}
    return trace.client(f"{names.CHAT} {model}", told)
