"""Joins rows with parts of a conversation: spans into traces, traces into conversations, ordered by time.

A trace is one exchange. Its messages are its root's input and output, or those of its last model call if the root's are
unreadable; results of its retrievers and tools ground the answer. History that is repeated with each call is kept once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from enum import Enum, auto

from vista_guard.errors import InputError
from vista_lab.logs.payloads import Message, decode_json, message_text
from vista_lab.logs.source import BrokenEntry, LoggedConversation, LogValue, Omission, broken_entry
from vista_lab.logs.talks import logged

FIRST = datetime.min.replace(tzinfo=UTC)
"""The time of what has none, in an order by time."""


class Kind(Enum):
    """The kinds of spans, as far as they are told apart."""

    MODEL = auto()
    RETRIEVER = auto()
    TOOL = auto()
    OTHER = auto()


@dataclass(frozen=True)
class Span:
    """One row of a trace. `source` is its file and place, `line` counts from 1 if the file has lines."""

    id: str
    trace: str
    parent: str | None
    thread: str | None
    kind: Kind
    start: datetime | None
    inputs: Sequence[Message] = ()
    outputs: Sequence[Message] = ()
    documents: Sequence[object] = ()
    source: str = ""
    line: int | None = None
    omissions: Sequence[Omission] = ()

    @property
    def order(self) -> datetime:
        """Sort key; spans without a time come first."""
        return self.start or FIRST


@dataclass(frozen=True)
class Exchange:
    """The messages of one trace."""

    thread: str
    start: datetime | None
    asked: Sequence[Message]
    answered: Sequence[Message]
    source: str
    line: int | None
    omissions: Sequence[Omission] = ()


@dataclass(frozen=True)
class BrokenSpan(BrokenEntry):
    """An unreadable span with a known trace."""

    trace: str


def spans_of(
    found: Iterable[LogValue | BrokenEntry],
    source: str,
    rows: Callable[[object], Iterable[object]],
    make: Callable[[object, LogValue, str], Span],
) -> Iterator[Span | BrokenEntry]:
    """Spans of a log's values, and broken entries: `rows` splits a value into parts, `make` turns each part into a span."""
    for value in found:
        if isinstance(value, BrokenEntry):
            yield value
            continue
        try:
            parts = list(rows(value.content))
        except RecursionError as exc:
            yield broken_entry(source, value, exc)
            continue
        for part in parts:
            try:
                yield make(part, value, source)
            except (InputError, RecursionError) as exc:
                yield broken_span(part, source, value, exc)


def broken_span(part: object, source: str, value: LogValue, error: Exception) -> BrokenEntry:
    """The entry for an unreadable span, with its trace if known."""
    entry = broken_entry(source, value, error)
    content = part if isinstance(part, Mapping) else {}
    context = content.get("context")
    places = (content, context if isinstance(context, Mapping) else {})
    keys = ("trace_id", "traceId", "context.trace_id")
    trace = next((str(place[key]) for place in places for key in keys if place.get(key)), None)
    return entry if trace is None else BrokenSpan(entry.source, entry.error, trace)


def conversations(spans: Iterable[Span | BrokenEntry]) -> Iterator[LoggedConversation | BrokenEntry]:
    """Conversations in the order in which their threads first appear. A trace without a thread is a conversation of its own.

    All spans are held until the last is read, as those of one trace may be anywhere. A thread with an unreadable span is not
    judged: it may be the evidence of an answer, or a turn.
    """
    traces: dict[str, dict[str, Span]] = defaultdict(dict)
    spoiled: dict[str, BrokenSpan] = {}
    for span in spans:
        if isinstance(span, BrokenEntry):
            if isinstance(span, BrokenSpan):
                spoiled.setdefault(span.trace, span)
            yield span
        elif span.id in traces[span.trace]:
            first = traces[span.trace][span.id]
            yield BrokenEntry(span.source, f"has the id {span.id} of {first.source} again; the first one is used")
        else:
            traces[span.trace][span.id] = span
    threads: dict[str, list[Exchange]] = defaultdict(list)
    unread: dict[str, BrokenSpan] = {}
    for identity in list(traces):
        # A trace's spans are let go once its exchange is read: logs are long.
        exchange = _exchange(list(traces.pop(identity).values()))
        if isinstance(exchange, BrokenEntry):
            yield exchange
            continue
        threads[exchange.thread].append(exchange)
        if identity in spoiled:
            unread.setdefault(exchange.thread, spoiled[identity])
    for name, exchanges in threads.items():
        if name in unread:
            why = f"thread {name} is not judged, as {unread[name].source} cannot be read; mend that first"
            yield BrokenEntry(exchanges[0].source, why)
        else:
            yield join_exchanges(name, exchanges)


def join_exchanges(name: str, exchanges: Sequence[Exchange]) -> LoggedConversation | BrokenEntry:
    """The exchanges of a thread as one conversation, by time."""
    timeless = [exchange for exchange in exchanges if exchange.start is None]
    if timeless and len(exchanges) > 1:
        return BrokenEntry(timeless[0].source, f"has no time, so the turns of thread {name} cannot be put in order")
    said: list[_Said] = []
    for one in sorted(exchanges, key=lambda it: it.start or FIRST):
        said = _continue_thread(_continue_thread(said, one.asked), one.answered)
    messages = [one.message for one in said]
    first = min(exchanges, key=lambda it: it.line or 0)
    try:
        omissions = [omission for exchange in exchanges for omission in exchange.omissions]
        return logged(messages, name, first.line, omissions=omissions)
    except InputError as exc:
        return BrokenEntry(first.source, f"thread {name}: {exc}")


def _exchange(spans: list[Span]) -> Exchange | BrokenEntry:
    spans.sort(key=lambda span: span.order)
    names = {span.id for span in spans}
    roots = [span for span in spans if span.parent is None] or [span for span in spans if span.parent not in names]
    models = [span for span in reversed(spans) if span.kind is Kind.MODEL]
    candidates = [*(span for span in roots if span.kind not in (Kind.RETRIEVER, Kind.TOOL)), *models]
    answering = next((span for span in candidates if _says_something(span)), None)
    first = (roots or spans)[0]
    if answering is None:
        return BrokenEntry(first.source, f"trace {first.trace} has no readable answer")
    given = answering.inputs or next((span.inputs for span in candidates if span.inputs), ())
    asked, answered = _split_output(given, answering.outputs)
    return Exchange(
        thread=next((span.thread for span in [*roots, *spans] if span.thread), None) or first.trace,
        start=first.start,
        asked=asked,
        answered=_with_documents(answered, spans, [*asked, *answered]),
        source=first.source,
        line=first.line,
        omissions=[omission for span in spans for omission in span.omissions],
    )


def missing(
    what: str, place: str, kind: Kind, inputs: object, outputs: object, documents: Sequence[object]
) -> list[Omission]:
    """The parts that a span should have and lacks: its output, both sides, or the documents of its retriever.

    `what` names the kind of span in the format's words, `place` the span.
    """
    if kind is not Kind.OTHER and outputs in (None, ""):
        return [Omission(f"{what} has no output", place)]
    if kind is Kind.OTHER and inputs in (None, "") and outputs in (None, ""):
        return [Omission(f"{what} has neither input nor output", place)]
    if kind is Kind.RETRIEVER and not documents and not _found_nothing(decode_json(outputs)):
        return [Omission(f"no document can be read from the output of {what}", place)]
    return []


def _found_nothing(output: object) -> bool:
    lists = [value for value in output.values() if isinstance(value, list)] if isinstance(output, Mapping) else []
    return not output or (bool(lists) and not any(lists))


def _split_output(asked: Sequence[Message], answered: Sequence[Message]) -> tuple[Sequence[Message], Sequence[Message]]:
    """Splits an output that is the whole state, input included, into the history and the answer."""
    ask, answer = [_key(message) for message in asked], [_key(message) for message in answered]
    places = range(len(answer) - len(ask), -1, -1) if ask else ()
    for end in (place + len(ask) for place in places if answer[place : place + len(ask)] == ask):
        if any(_is_spoken(message) and message["role"] == "assistant" for message in answered[end:]):
            return answered[:end], answered[end:]
    return asked, answered


def _says_something(span: Span) -> bool:
    return any(message["role"] == "assistant" and message_text(message).strip() for message in span.outputs)


def _with_documents(answered: Sequence[Message], spans: Iterable[Span], messages: Iterable[Message]) -> list[Message]:
    """Adds the results of the trace's retrievers and tools to the answer, except those already among the messages."""
    known_texts = {message_text(message).strip() for message in messages if message["role"] == "tool"}
    documents: list[object] = []
    for span in spans:
        for document in (*span.documents, *_told_by_tools(span.inputs), *_told_by_tools(span.outputs)):
            text = str(document["text"] if isinstance(document, dict) else document).strip()
            if text and text not in known_texts:
                known_texts.add(text)
                documents.append(document)
    if not documents:
        return list(answered)
    answers = (index for index, one in enumerate(answered) if one["role"] == "assistant" and _is_spoken(one))
    last = max(answers)
    return [{**one, "documents": documents} if index == last else one for index, one in enumerate(answered)]


def _told_by_tools(messages: Sequence[Message]) -> list[str]:
    """Answers of tools to a model since the last question: history before it grounds earlier answers."""
    asked = max((place for place, one in enumerate(messages) if one["role"] == "user"), default=-1)
    return [message_text(one) for one in messages[asked + 1 :] if one["role"] == "tool"]


@dataclass(frozen=True, slots=True)
class _Said:
    """A message with its key, which long threads compare often, and whether it is a person's or a model's text."""

    message: Message
    key: tuple[str, str, str]
    spoken: bool

    @property
    def system(self) -> bool:
        return bool(self.message["role"] == "system")


def _continue_thread(past: Sequence[_Said], messages: Iterable[Message]) -> list[_Said]:
    """Appends the messages to `past`: each call often repeats the past, or its end, without its tool messages."""
    new = [_Said(message, key := _key(message), _is_spoken_key(key)) for message in messages]
    known = {one.key for one in past if one.system}
    systems = [one for one in new if one.system and one.key not in known]
    rest = [one for one in new if not one.system]
    before, after = ([one.key for one in part if one.spoken] for part in (past, rest))
    starts = range(1, len(after) - len(before)) if before else ()
    inside = next((at for at in starts if after[at : at + len(before)] == before), 0)
    if inside:  # This trace has messages from before the log's first trace.
        earlier, rest = _split(rest, inside)
        return [*systems, *earlier, *past, *_split(rest, len(before))[1]]
    repeated = next((n for n in range(min(len(after), len(before)), 0, -1) if before[-n:] == after[:n]), 0)
    return [*past, *systems, *_split(rest, repeated)[1]]


def _split(said: Sequence[_Said], spoken: int) -> tuple[list[_Said], list[_Said]]:
    """Splits after `spoken` messages with text; messages between them and the next one go to the second part."""
    if not spoken:
        return [], list(said)
    places = [index for index, one in enumerate(said) if one.spoken]
    end = places[spoken - 1] + 1
    return list(said[:end]), list(said[end:])


def _is_spoken(message: Message) -> bool:
    return _is_spoken_key(_key(message))


def _is_spoken_key(key: tuple[str, str, str]) -> bool:
    role, text, _ = key
    return role in ("user", "assistant") and bool(text)


def _key(message: Message) -> tuple[str, str, str]:
    return message["role"], message_text(message).strip(), str(message.get("tool_call_id") or "")


_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (float("-inf"), 1.0))
"""Least number that counts as nanoseconds, microseconds or milliseconds since 1970, and their number per second."""


def moment(value: object) -> datetime | None:
    """Parses a time as UTC, also if it has no zone. None for an empty value.

    Args:
        value: a time, a day, ISO 8601, or seconds, milliseconds, microseconds or nanoseconds since 1970.

    Raises:
        InputError: the value is something else.
    """
    if value is None or value == "":
        return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time.min, UTC)
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return _since_1970(float(value))
        if isinstance(value, str):
            text = value.strip().removesuffix(" UTC")
            is_number = text.replace(".", "", 1).isdecimal()
            return _since_1970(float(text)) if is_number else moment(datetime.fromisoformat(text))
    except (ValueError, OverflowError, OSError):
        pass
    raise InputError(f"has the time {str(value)[:40]!r}; expected ISO 8601 or a number of seconds since 1970")


def _since_1970(number: float) -> datetime:
    scale = next((scale for least, scale in _UNITS if number >= least), 1.0)  # NaN is refused by the clock
    return datetime.fromtimestamp(number / scale, UTC)
