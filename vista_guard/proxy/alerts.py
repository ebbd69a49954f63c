"""Alerts by webhook: blocked turns, a rising error rate, drift. Sent from a thread of its own; no answer waits for one."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from math import sqrt
from threading import Condition, Thread
from time import monotonic
from typing import Any, Final, Literal
from urllib.parse import urlencode

import httpx2
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from vista_guard.policy.explanations import explain, worst
from vista_guard.proxy import metrics
from vista_guard.proxy.settings import AlertSettings, Kind
from vista_guard.telemetry.instruments import error_types
from vista_guard.types import Action, Record, TurnReport, TurnTexts

Json = dict[str, Any]

SCHEMA: Final = "vista-guard.alert/1"
MOST_NAMED: Final = 20
"""Blocked turns that one message names; further ones are only counted."""
BEFORE: Final = 12
"""Windows before the current one that drift compares it with."""
SURE: Final = 3.0
"""Standard errors above which a difference of shares is significant."""
AGAIN_S: Final = 3600.0
"""Seconds until an alert that still holds is sent again."""
LAST_SECONDS: Final = 3.0
_TEXT_CHARS: Final = 500
_LONGEST_WAIT_S: Final = 60.0
_NOT_ERRORS: Final = {"code", "encoded"}

logger = logging.getLogger("vista_guard.proxy")


_Counts = Counter[Literal["turns", "failed", "attention"]]
"""Turns of one stretch of time: all, those that failed, those that were not simply allowed."""


def _share(counts: _Counts, name: Literal["failed", "attention"]) -> float:
    return counts[name] / counts["turns"] if counts["turns"] else 0.0


class Watch:
    """Counts turns over time and finds the rates to alert on. A tenth of a window is its resolution.

    Example:
        >>> watch = Watch(AlertSettings(window_s=60, least_turns=2))
        >>> watch.count(turns=2, failed=1, now=0.0)
        >>> [(kind, round(figures["rate"], 2)) for kind, figures in watch.alarms(now=1.0).items()]
        [('errors', 0.5)]
    """

    def __init__(self, settings: AlertSettings) -> None:
        self._settings = settings
        self._step = settings.window_s / 10
        self._counts: deque[tuple[int, _Counts]] = deque(maxlen=10 * (BEFORE + 1))

    def count(self, *, turns: int = 1, failed: int = 0, attention: int = 0, now: float) -> None:
        place = int(now / self._step)
        if not self._counts or self._counts[-1][0] != place:
            self._counts.append((place, Counter()))
        self._counts[-1][1].update(turns=turns, failed=failed, attention=attention)

    def alarms(self, now: float) -> dict[Kind, Json]:
        """Returns the rates that are out of bounds, with their figures."""
        settings, place = self._settings, int(now / self._step)
        current, before = self._between(place - 10, place), self._between(place - 10 * (BEFORE + 1), place - 10)
        alerts: dict[Kind, Json] = {}
        turns, turns_before = current["turns"], before["turns"]
        if turns < settings.least_turns:
            return alerts
        rate = _share(current, "failed")
        if rate > settings.error_rate:
            alerts["errors"] = {"rate": rate, "limit": settings.error_rate, "turns": turns}
        share, usual = _share(current, "attention"), _share(before, "attention")
        if turns_before >= settings.least_turns and abs(share - usual) > settings.drift and _differ(current, before):
            alerts["drift"] = {"share": share, "before": usual, "turns": turns, "turns_before": turns_before}
        return alerts

    def _between(self, after: int, last: int) -> _Counts:
        return sum((counts for place, counts in self._counts if after < place <= last), _Counts())


def _differ(one: _Counts, other: _Counts) -> bool:
    """True if the shares of two stretches differ by more than chance (two proportions, pooled)."""
    pooled = _share(one + other, "attention")
    error = sqrt(pooled * (1 - pooled) * (1 / one["turns"] + 1 / other["turns"]))
    return abs(_share(one, "attention") - _share(other, "attention")) > SURE * error


class AlertSink:
    """Watches finished reports and posts alerts. `environment` names this deployment in them."""

    def __init__(self, settings: AlertSettings, *, environment: str | None = None) -> None:
        self._settings, self._environment = settings, environment
        self._watch = Watch(settings)
        self._changed = Condition()
        self._blocked = 0
        """Blocked turns not yet reported."""
        self._newest: deque[tuple[TurnReport, str | None]] = deque(maxlen=MOST_NAMED)
        """The last of them, each with its question."""
        self._closed = False
        self._told: dict[Kind, float] = {}
        self._upstream_errors = metrics.upstream_errors()
        self._thread = Thread(target=self._run, name="vista-guard alerts", daemon=True)
        self.lost = 0
        """Alerts that could not be delivered."""

    @property
    def record(self) -> Record:
        """Texts it receives: the question, if alerts may carry texts."""
        return "delivered" if self._settings.texts else "verdicts"

    def start(self) -> None:
        self._thread.start()

    async def write(self, report: TurnReport) -> None:
        """Counts the report and returns at once."""
        self._take(report, None)

    async def write_turn(self, report: TurnReport, texts: TurnTexts) -> None:
        """Like `write`, with the question."""
        self._take(report, texts.user_text)

    async def aclose(self) -> None:
        """Sends pending alerts, for at most a few seconds."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, LAST_SECONDS)

    def _take(self, report: TurnReport, question: str | None) -> None:
        action = report.decision.action
        failed = bool(error_types(report) - _NOT_ERRORS)
        with self._changed:
            self._watch.count(failed=failed, attention=action is not Action.ALLOW, now=monotonic())
            if action is Action.BLOCK and "block" in self._settings.on:
                self._blocked += 1
                self._newest.append((report, question))
                self._changed.notify()

    def _run(self) -> None:
        log = logging.getLogger("httpx2")  # it logs each request with its URL, and a webhook's URL is a secret
        log.addFilter(self._is_not_of_the_webhook)
        try:
            self._watch_and_send()
        finally:
            log.removeFilter(self._is_not_of_the_webhook)

    def _watch_and_send(self) -> None:
        pause, last = 60 / self._settings.per_minute, -_LONGEST_WAIT_S
        key = self._settings.authorization
        headers = {} if key is None else {"authorization": key.get_secret_value()}
        options: Json = {"timeout": self._settings.timeout_s, "headers": headers, "follow_redirects": False}
        with httpx2.Client(**options) as client:
            while True:
                with self._changed:
                    if not self._closed and not self._blocked:
                        self._changed.wait(min(1.0, self._settings.window_s / 10))
                    # Between two messages blocked turns add up, and the next message counts them.
                    while not self._closed and (remaining := last + pause - monotonic()) > 0:
                        self._changed.wait(remaining)
                    messages, closed = self._due(monotonic()), self._closed
                for number, message in enumerate(messages):
                    if number:
                        self._sleep(pause)
                    self._post(client, message)
                    last = monotonic()
                if closed:
                    return

    def _is_not_of_the_webhook(self, record: logging.LogRecord) -> bool:
        return self._settings.webhook is None or self._settings.webhook.get_secret_value() not in record.getMessage()

    def _due(self, now: float) -> list[Json]:
        """Returns the messages that are due; after an error they are lost, and the thread goes on."""
        try:
            return self._messages(now)
        except Exception:
            self.lost += 1
            logger.exception("an alert could not be written and is lost")
            return []

    def _messages(self, now: float) -> list[Json]:
        """The messages that are due: one on blocked turns, one on each rate that left or re-entered its bounds."""
        messages = []
        if self._blocked:
            count, newest = self._blocked, list(self._newest)
            self._blocked = 0
            self._newest.clear()
            messages.append(self._blocked_message(count, newest))
        errors = metrics.upstream_errors()
        if failed := int(errors - self._upstream_errors):
            self._watch.count(turns=failed, failed=failed, now=now)
            self._upstream_errors = errors
        alarms = {kind: figures for kind, figures in self._watch.alarms(now).items() if kind in self._settings.on}
        for kind in [kind for kind in self._told if kind not in alarms]:
            del self._told[kind]
            messages.append(self._message(kind, "resolved", _RESOLVED[kind]))
        for kind, figures in alarms.items():
            if now - self._told.get(kind, -AGAIN_S) >= AGAIN_S:
                self._told[kind] = now
                details = {**figures, **self._link(_PAGES[kind])}
                messages.append(self._message(kind, "firing", _summary(kind, figures), **details))
        return messages

    def _blocked_message(self, count: int, newest: list[tuple[TurnReport, str | None]]) -> Json:
        report, question = newest[-1]
        outcome, ids = worst(report), [blocked.id for blocked, _ in newest]
        details = {"blocked": count, "reports": ids, "tenant": report.tenant, "policy": report.policy}
        summary = "A turn was blocked" if count == 1 else f"{count} turns were blocked"
        details |= self._link(f"conversation?{urlencode({'turn': report.id})}")
        if self._settings.texts:
            details["reason"] = explain(report).text
            details["question"] = None if question is None else question[:_TEXT_CHARS]
            details["claim"] = None if outcome is None else outcome.claim.text[:_TEXT_CHARS]
        return self._message("block", "firing", summary, **details)

    def _link(self, page: str) -> Json:
        dashboard = self._settings.dashboard
        return {} if dashboard is None else {"link": f"{dashboard.rstrip('/')}/{page}"}

    def _message(self, kind: Kind, state: Literal["firing", "resolved"], summary: str, **details: Any) -> Json:
        shared = {"schema": SCHEMA, "kind": kind, "state": state, "at": datetime.now(UTC).isoformat()}
        return {**shared, "environment": self._environment, "summary": summary, **details}

    def _post(self, client: httpx2.Client, message: Json) -> None:
        assert self._settings.webhook is not None  # without a webhook there is no sink
        body = slack_message(message) if self._settings.format == "slack" else message
        tries = Retrying(
            retry=retry_if_exception(_may_pass),
            stop=lambda state: self._closed or stop_after_attempt(self._settings.attempts)(state),
            wait=_pause,
            sleep=self._sleep,
            reraise=True,
        )
        try:
            for attempt in tries:
                with attempt:
                    client.post(self._settings.webhook.get_secret_value(), json=body).raise_for_status()
        except Exception as exc:  # No turn depends on it. The error may quote the URL, which is a secret.
            self.lost += 1
            status = exc.response.status_code if isinstance(exc, httpx2.HTTPStatusError) else ""
            logger.warning(
                "the webhook did not take an alert on %s: %s %s", message["kind"], type(exc).__name__, status
            )

    def _sleep(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed, seconds)


def alert_sinks(environment: str | None) -> tuple[AlertSink, ...]:
    """Returns the configured sink, started; none without `alerts.webhook`."""
    settings = AlertSettings.load()
    if settings.webhook is None:
        return ()
    sink = AlertSink(settings, environment=environment)
    sink.start()
    return (sink,)


_PAGES: Final[Mapping[str, str]] = {"errors": "conversation?failed=any&hours=1", "drift": "trends?hours=24"}
"""The dashboard's pages that show an alert's cause."""

_RESOLVED: Final[Mapping[str, str]] = {
    "errors": "The error rate no longer exceeds its limit",
    "drift": "The share of turns that need attention no longer differs from before",
}


def _summary(kind: Kind, figures: Json) -> str:
    turns = f"{figures['turns']} turns"
    if kind == "errors":
        return f"{figures['rate']:.1%} of {turns} failed; the limit is {figures['limit']:.1%}"
    return (
        f"{figures['share']:.1%} of {turns} were flagged, repaired or blocked; before it were {figures['before']:.1%}"
    )


def slack_message(message: Json) -> Json:
    """Formats an alert for Slack. Conversation texts go as plain text, so they mention and link nothing.

    Example:
        >>> slack_message({"environment": "staging", "summary": "2 turns were blocked", "claim": "<!channel>"})["text"]
        'vista-guard staging: 2 turns were blocked'
    """
    head = ": ".join((" ".join(filter(None, ("vista-guard", message["environment"]))), message["summary"]))
    plain = [f"{name}: {message[name]}" for name in ("tenant", "reason", "question", "claim") if message.get(name)]
    if message.get("link"):
        plain.append(message["link"])
    texts = [
        {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}} for text in (head, *plain)
    ]
    return {"text": escape(head, quote=False), "blocks": texts}


def _may_pass(exc: BaseException) -> bool:
    """True for a failure that a retry may fix."""
    if isinstance(exc, httpx2.HTTPStatusError):
        return exc.response.status_code in (408, 425, 429) or exc.response.status_code >= 500
    return isinstance(exc, httpx2.TransportError)


def _pause(state: RetryCallState) -> float:
    """Seconds before the next try: `Retry-After` if given, else twice as long each time."""
    exc = state.outcome.exception() if state.outcome else None
    retry_after = exc.response.headers.get("retry-after", "") if isinstance(exc, httpx2.HTTPStatusError) else ""
    if retry_after.isdecimal():
        return min(float(retry_after), _LONGEST_WAIT_S)
    return float(wait_exponential(multiplier=0.5, max=_LONGEST_WAIT_S)(state))
