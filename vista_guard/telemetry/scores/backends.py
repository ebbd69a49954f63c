"""Phoenix and Langfuse, which keep evaluations by APIs of their own. Labels and numbers are sent, never a word of a turn."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from vista_guard._extras import require
from vista_guard.errors import ConfigError
from vista_guard.telemetry import names
from vista_guard.types import Finding, Outcome, TurnReport

TIMEOUT_S = 5.0

Json = dict[str, Any]


class PhoenixScores:
    """Span annotations in Arize Phoenix: `vista.score` of the turn, `vista.claim` of each claim.

    Phoenix puts those whose span has not come yet aside until it does.

    Args:
        url: of Phoenix, `http://127.0.0.1:6006`.
        api_key: `PHOENIX_API_KEY` of the environment when not given; a server without sign-in needs none.

    Raises:
        ConfigError: the extra `otel` is missing.
    """

    name = "Phoenix"

    def __init__(self, url: str, *, api_key: str | None = None) -> None:
        key = api_key or os.environ.get("PHOENIX_API_KEY")
        self._client = _client(url, headers={"authorization": f"Bearer {key}"} if key else {})

    def send(self, reports: Sequence[TurnReport]) -> None:
        """One request for all."""
        data = [annotation for report in reports for annotation in _annotations(report)]
        self._client.post("/v1/span_annotations", json={"data": data}).raise_for_status()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()


class LangfuseScores:
    """Scores in Langfuse, on the turn's observation: `vista.score` and `vista.action` of the turn, `vista.claim` of each claim.

    Args:
        url: of Langfuse, `https://cloud.langfuse.com`.
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
        """One request a score. Each has an id of its own, so that one which is sent twice is kept once."""
        for report in reports:
            for score in _scores(report):
                self._client.post("/api/public/scores", json=score).raise_for_status()

    def close(self) -> None:
        """Closes the connections."""
        self._client.close()


def _client(url: str, **options: Any) -> Any:
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"scores are to be sent to {url!r}, which is no URL; write http://host:port")
    require("sending scores", "httpx", extra="otel")
    import httpx

    return httpx.Client(base_url=url, timeout=TIMEOUT_S, **options)


def _annotations(report: TurnReport) -> Iterator[Json]:
    shared = {"span_id": report.span_id, "annotator_kind": "CODE"}
    turn = {"label": report.decision.action.value, **_numbered("score", report.score)}
    yield {**shared, "name": names.TURN_SCORE, "identifier": report.id, "result": turn}
    for outcome in report.outcomes:
        result = {"label": _label(outcome), **_numbered("score", _confidence(outcome))}
        yield {**shared, "name": names.CLAIM_SCORE, "identifier": outcome.claim.id, "result": result}


def _scores(report: TurnReport) -> Iterator[Json]:
    shared = {"traceId": report.trace_id, "observationId": report.span_id}
    if report.score is not None:
        score = {"name": names.TURN_SCORE, "value": report.score, "dataType": "NUMERIC"}
        yield {**shared, **score, "id": f"{report.id}-score"}
    action = {"name": "vista.action", "value": report.decision.action.value, "dataType": "CATEGORICAL"}
    yield {**shared, **action, "id": f"{report.id}-action"}
    for outcome in report.outcomes:
        claim = {"name": names.CLAIM_SCORE, "value": _label(outcome), "dataType": "CATEGORICAL"}
        yield {**shared, **claim, "id": f"{report.id}-{outcome.claim.id}"}


def _label(outcome: Outcome) -> str:
    return outcome.label.value if isinstance(outcome, Finding) else "UNCHECKED"


def _confidence(outcome: Outcome) -> float | None:
    return outcome.confidence if isinstance(outcome, Finding) else None


def _numbered(name: str, value: float | None) -> Json:
    return {} if value is None else {name: value}
