"""Scores for Phoenix and Langfuse, through their own APIs: labels and numbers, never text."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterator, Sequence
from queue import Empty, Full, Queue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Protocol

from vista_guard._extras import require
from vista_guard.errors import ConfigError
from vista_guard.telemetry import attributes
from vista_guard.types import Finding, TurnReport, label_of

TIMEOUT_S = 5.0

Json = dict[str, Any]


class PhoenixScores:
    """Span annotations in Arize Phoenix: `vista.score` of the turn, `vista.claim` of each claim.

    Phoenix holds annotations until their span arrives.

    Args:
        url: the address of Phoenix, `http://127.0.0.1:6006`.
        api_key: `PHOENIX_API_KEY` of the environment when not given; a server without sign-in needs none.

    Raises:
        ConfigError: the extra `otel` is missing.
    """

    name = "Phoenix"

    def __init__(self, url: str, *, api_key: str | None = None) -> None:
        key = api_key or os.environ.get("PHOENIX_API_KEY")
        self._client = _client(url, headers={"authorization": f"Bearer {key}"} if key else {})

    def send(self, reports: Sequence[TurnReport]) -> None:
        """Sends all annotations in one request."""
        data = [annotation for report in reports for annotation in _annotations(report)]
        self._client.post("/v1/span_annotations", json={"data": data}).raise_for_status()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()


class LangfuseScores:
    """Scores in Langfuse, on the turn's observation: `vista.score` and `vista.action` of the turn, `vista.claim` of each claim.

    Args:
        url: the address of Langfuse, `https://cloud.langfuse.com`.
        public_key, secret_key: `LANGFUSE_PUBLIC_KEY` and `LANGFUSE_SECRET_KEY` of the environment when not given.

    Raises:
        ConfigError: a key or the extra `otel` is missing.
    """

    name = "Langfuse"

    def __init__(self, url: str, *, public_key: str | None = None, secret_key: str | None = None) -> None:
        public = public_key or os.environ.get("LANGFUSE_PUBLIC_KEY")
        secret = secret_key or os.environ.get("LANGFUSE_SECRET_KEY")
        if not public or not secret:
            raise ConfigError("scores for Langfuse need LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY; set both")
        self._client = _client(url, auth=(public, secret))

    def send(self, reports: Sequence[TurnReport]) -> None:
        """Sends a request a score. Each has an id, so that a repeated one is stored once."""
        for report in reports:
            for score in _scores(report):
                self._client.post("/api/public/scores", json=score).raise_for_status()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()


def _client(url: str, **options: Any) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"scores go to {url!r}, which is no URL; write http://host:port")
    require("sending scores", "httpx", extra="otel")
    import httpx

    return httpx.Client(base_url=url, timeout=TIMEOUT_S, **options)


def _annotations(report: TurnReport) -> Iterator[Json]:
    shared = {"span_id": report.span_id, "annotator_kind": "CODE"}
    turn = _result(report.decision.action.value, report.score)
    yield {**shared, "name": attributes.TURN_SCORE, "identifier": report.id, "result": turn}
    for outcome in report.outcomes:
        result = _result(label_of(outcome), outcome.confidence if isinstance(outcome, Finding) else None)
        yield {**shared, "name": attributes.CLAIM_SCORE, "identifier": outcome.claim.id, "result": result}


def _scores(report: TurnReport) -> Iterator[Json]:
    shared = {"traceId": report.trace_id, "observationId": report.span_id}
    if report.score is not None:
        score = {"name": attributes.TURN_SCORE, "value": report.score, "dataType": "NUMERIC"}
        yield {**shared, **score, "id": f"{report.id}-score"}
    action = {"name": "vista.action", "value": report.decision.action.value, "dataType": "CATEGORICAL"}
    yield {**shared, **action, "id": f"{report.id}-action"}
    for outcome in report.outcomes:
        claim = {"name": attributes.CLAIM_SCORE, "value": label_of(outcome), "dataType": "CATEGORICAL"}
        yield {**shared, **claim, "id": f"{report.id}-{outcome.claim.id}"}


def _result(label: str, score: float | None) -> Json:
    return {"label": label} if score is None else {"label": label, "score": score}


logger = logging.getLogger("vista_guard")

MOST_WAITING = 1000
AT_ONCE = 50
LAST_SECONDS = 3.0
_TOLD_EVERY_S = 60.0


class ScoreExporter(Protocol):
    """A backend that takes scores."""

    @property
    def name(self) -> str:
        """Name for the log."""
        ...

    def send(self, reports: Sequence[TurnReport]) -> None:
        """Sends the scores of these turns, in a thread. Errors are logged and the turns dropped."""
        ...

    def close(self) -> None: ...


class ScoreSink:
    """Sends the scores of finished reports: `Guard(judge, sinks=[ScoreSink(PhoenixScores("http://127.0.0.1:6006"))])`.

    Turns that were not traced are left out: a backend could not place their scores. Beyond `most_waiting` queued reports new
    ones are dropped, which is logged once a minute.

    Args:
        exporter: the backend.
        most_waiting: most reports to queue.
    """

    def __init__(self, exporter: ScoreExporter, *, most_waiting: int = MOST_WAITING) -> None:
        self._exporter = exporter
        self._waiting: Queue[TurnReport | None] = Queue(most_waiting)
        self._thread: Thread | None = None
        self._starting = Lock()
        self._told = -_TOLD_EVERY_S
        self.dropped = 0
        """Reports whose scores were never sent."""

    async def write(self, report: TurnReport) -> None:
        """Queues the report and returns at once."""
        if report.span_id is None:
            return
        self._start()
        try:
            self._waiting.put_nowait(report)
        except Full:
            self._drop(1, f"{self._waiting.maxsize} reports are waiting already")

    async def aclose(self) -> None:
        """Async version of `close`."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Sends what is queued, for at most a few seconds."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        try:
            self._waiting.put(None, timeout=LAST_SECONDS)
        except Full:
            return
        thread.join(LAST_SECONDS)

    def _start(self) -> None:
        with self._starting:
            # A forked child has none of its parent's threads.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name=f"vista-guard scores: {self._exporter.name}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._next_batch()
            try:
                if batch:
                    self._exporter.send(batch)
            except Exception as exc:
                # A backend's failure affects no turn. Its message may quote what was sent: log its class alone.
                self._drop(len(batch), type(exc).__name__)
        self._exporter.close()

    def _next_batch(self) -> tuple[list[TurnReport], bool]:
        """Returns the waiting reports, at least one, and True if they are the last."""
        batch: list[TurnReport] = []
        item = self._waiting.get()
        while item is not None:
            batch.append(item)
            if len(batch) == AT_ONCE:
                return batch, False
            try:
                item = self._waiting.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if monotonic() - self._told >= _TOLD_EVERY_S:
            self._told = monotonic()
            logger.warning("%s did not take the scores of %s turns so far: %s", self._exporter.name, self.dropped, why)


_BACKENDS = {"phoenix": PhoenixScores, "langfuse": LangfuseScores}


def score_sink(named: str) -> ScoreSink:
    """Returns the sink for a backend by name.

    Raises:
        ConfigError: no such backend, no URL, a missing key or extra.
    """
    kind, _, url = named.partition(":")
    backend = _BACKENDS.get(kind)
    if backend is None:
        raise ConfigError(f"otel.scores has {named!r}; write {' or '.join(f'{known}:URL' for known in _BACKENDS)}")
    return ScoreSink(backend(url))
