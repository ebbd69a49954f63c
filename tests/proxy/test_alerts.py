"""Alerts against a real server: what is sent, how often, how it is tried again, and that no turn waits for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from tests.pace import PATIENCE_S, until
from tests.proxy.serving import ASKED, LIE, NOTES, TRUTH, document, known, proxy
from tests.raising import raises
from tests.telemetry.receiving import Receiver, receiving
from vista_guard import ConfigError, JudgeError, _aio
from vista_guard.cli.serve import build_guard
from vista_guard.proxy.alerts import SCHEMA, AlertSink, Watch, slack_message
from vista_guard.proxy.settings import AlertSettings
from vista_guard.stores.reports import SqlReports
from vista_guard.testing import Fault, ScriptedChatServer

SECRET = "T0-very-secret"
HOSTILE = "<!channel> <https://evil.example|pay> *now*"


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vista_guard.proxy.alerts.LAST_SECONDS", PATIENCE_S)


@contextmanager
def alerting(url: str, environment: str | None = None, **settings: Any) -> Iterator[AlertSink]:
    given = {"per_minute": 600, "least_turns": 3, **settings}
    sink = AlertSink(AlertSettings(webhook=f"{url}/hook/{SECRET}", **given), environment=environment)
    sink.start()
    yield sink
    _aio.run(sink.aclose())


def ask(sink: AlertSink, *answers: str, script: Any = None) -> None:
    """Asks a guarded model once for each answer."""
    with ScriptedChatServer(list(answers)) as upstream, proxy(upstream, script=script, sinks=[sink]) as served:
        for _ in answers:
            body = {"model": "m", "messages": ASKED, "documents": [document(NOTES)]}
            assert served.post("/v1/chat/completions", body).status_code == 200


def sent(hook: Receiver) -> list[dict[str, Any]]:
    return [json.loads(body) for _, _, _, body in hook.requests]


def test_a_blocked_turn_is_told_without_its_words() -> None:
    given = {"dashboard": "https://guard.example.com/", "authorization": "Bearer key"}
    with receiving() as hook, alerting(hook.url, "staging", **given) as sink:
        ask(sink, TRUTH, LIE)
        until(lambda: hook.requests)
    [(method, path, headers, body)] = hook.requests
    message = json.loads(body)
    assert (method, path, headers["authorization"]) == ("POST", f"/hook/{SECRET}", "Bearer key")
    [report] = message.pop("reports")
    assert message.pop("at").endswith("+00:00")
    assert message == {
        "schema": SCHEMA,
        "kind": "block",
        "state": "firing",
        "environment": "staging",
        "summary": "A turn was blocked",
        "blocked": 1,
        "tenant": "default",
        "policy": "balanced",
        "link": f"https://guard.example.com/conversation?turn={report}",
    }
    for text in (LIE, ASKED[0]["content"], NOTES, "Museum notes"):
        assert text not in body.decode()


def test_the_webhooks_address_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with receiving(404) as hook, alerting(hook.url) as sink:
        ask(sink, LIE)
        until(lambda: sink.lost)
    assert "HTTP Request" in caplog.text  # of the proxy's own client: such lines are written
    assert SECRET not in caplog.text


def test_texts_are_sent_where_they_are_allowed() -> None:
    with receiving() as hook, alerting(hook.url, texts=True) as sink:
        ask(sink, LIE)
        until(lambda: hook.requests)
    [message] = sent(hook)
    assert (message["question"], message["claim"]) == (ASKED[0]["content"], LIE)
    assert message["reason"] == "Blocked: contradicts the evidence, 99 %"


def test_slack_reads_it_and_nobody_is_mentioned() -> None:
    with receiving() as hook, alerting(hook.url, "prod", texts=True, format="slack") as sink:
        ask(sink, HOSTILE, script=known((HOSTILE, known()[LIE])))
        until(lambda: hook.requests)
    [message] = sent(hook)
    assert message["text"] == "vista-guard prod: A turn was blocked"
    kinds = {block["text"]["type"] for block in message["blocks"]}
    assert kinds == {"plain_text"}  # Slack reads neither mentions nor links there
    escaped = slack_message({"environment": HOSTILE, "summary": "x"})["text"]
    assert "<" not in escaped


def test_many_blocked_turns_are_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vista_guard.proxy.alerts.monotonic", lambda: 0.0)  # the minute never ends
    with receiving() as hook:
        with alerting(hook.url, per_minute=1) as sink:
            ask(sink, LIE)
            until(lambda: hook.requests)
            ask(sink, *[LIE] * 5)
            assert len(hook.requests) == 1
        counts = [message["blocked"] for message in sent(hook)]
    assert counts == [1, 5]  # the first at once; the others with what closing sent


@pytest.mark.parametrize("status", [500, 429])
def test_a_failing_webhook_is_tried_again_and_costs_no_turn(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with receiving(status) as hook, alerting(hook.url, attempts=2) as sink:
        ask(sink, LIE)
        until(lambda: sink.lost)
    assert len(hook.requests) == 2
    [line] = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert line == f"the webhook did not take an alert on block: HTTPStatusError {status}"


def test_a_webhook_that_refuses_is_not_asked_twice() -> None:
    with receiving(404) as hook, alerting(hook.url) as sink:
        ask(sink, LIE)
        until(lambda: sink.lost)
    assert len(hook.requests) == 1


def test_a_message_that_cannot_be_written_is_lost_and_the_next_is_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(report: object) -> None:
        monkeypatch.undo()
        raise RecursionError("too deep")

    monkeypatch.setattr("vista_guard.proxy.alerts.worst", fails)
    with receiving() as hook, alerting(hook.url) as sink:
        ask(sink, LIE)
        until(lambda: sink.lost)
        ask(sink, LIE)
        until(lambda: hook.requests)
    assert [message["blocked"] for message in sent(hook)] == [1]
    assert "an alert could not be written and is lost" in caplog.text


def test_a_webhook_that_hangs_delays_nobody_and_fills_no_memory() -> None:
    with receiving(hang=True) as hook, alerting(hook.url, timeout_s=600, attempts=1) as sink:
        ask(sink, *[LIE] * 8)  # answered while the webhook hangs: until the next line nothing comes from there
        assert len(sink._newest) <= 8
        hook.let_go()


def test_a_judge_that_fails_raises_the_error_rate_and_then_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = known((TRUTH, JudgeError("the model is gone")))
    with receiving() as hook, alerting(hook.url, on=("errors",), window_s=600, error_rate=0.5) as sink:
        ask(sink, TRUTH, TRUTH, TRUTH, script=broken)
        until(lambda: len(hook.requests) == 1)
        monkeypatch.setattr("vista_guard.proxy.alerts.monotonic", lambda: monotonic() + 1200)
        until(lambda: len(hook.requests) == 2)
    fired, over = sent(hook)
    assert (fired["kind"], fired["state"], fired["rate"], fired["turns"]) == ("errors", "firing", 1.0, 3)
    assert fired["summary"] == "100.0% of 3 turns failed; the limit is 50.0%"
    assert (over["kind"], over["state"]) == ("errors", "resolved")


def test_an_upstream_that_is_down_raises_the_error_rate_and_is_kept(tmp_path: Path) -> None:
    kept = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    with (
        receiving() as hook,
        alerting(hook.url, on=("errors",), window_s=600, dashboard="https://guard.example.com/") as sink,
        proxy("http://127.0.0.1:9/v1", sinks=[sink, kept]) as served,
    ):
        for number in range(4):
            body = {"model": "m", "messages": ASKED, "metadata": {"conversation_id": f"talk {number % 2}"}}
            assert served.post("/v1/chat/completions", body).status_code == 502
        assert served.post("/v1/embeddings", {}).status_code == 502
        until(lambda: hook.requests)
        rows = kept.reader.failures().rows
    _aio.run(kept.aclose())
    [fired] = sent(hook)
    assert (fired["rate"], fired["link"]) == (1.0, "https://guard.example.com/conversation?failed=any&hours=1")
    assert {(row.part, row.kind, row.tenant) for row in rows} == {("upstream", "connect", "default")}
    assert [row.conversation_id for row in rows] == [None, *["default/talk 1", "default/talk 0"] * 2]


@pytest.mark.parametrize("stream", [False, True])
def test_what_upstream_answers_instead_is_kept_by_its_class(stream: bool, tmp_path: Path) -> None:
    kept = SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}")
    with ScriptedChatServer(TRUTH, faults={1: Fault.http(503)}) as upstream, proxy(upstream, sinks=[kept]) as served:
        served.post("/v1/chat/completions", {"model": "m", "messages": ASKED, "stream": stream})
        rows = kept.reader.failures().rows
    _aio.run(kept.aclose())
    assert [(row.part, row.kind, row.report_id) for row in rows] == [("upstream", "status", None)]


class TestWatch:
    def test_drift_is_a_change_beyond_chance(self) -> None:
        watch = Watch(AlertSettings(window_s=60, least_turns=30, drift=0.1))
        for second in range(0, 600, 6):
            watch.count(turns=10, attention=1, now=float(second))
        assert watch.alarms(600.0) == {}
        for second in range(600, 660, 6):
            watch.count(turns=10, attention=4, now=float(second))
        figures = watch.alarms(659.0)["drift"]
        assert (round(figures["share"], 1), round(figures["before"], 1)) == (0.4, 0.1)

    def test_few_turns_say_nothing(self) -> None:
        watch = Watch(AlertSettings(window_s=60, least_turns=30))
        watch.count(turns=29, failed=29, attention=29, now=0.0)
        assert watch.alarms(0.0) == {}

    def test_what_is_past_is_forgotten(self) -> None:
        watch = Watch(AlertSettings(window_s=60, least_turns=1))
        watch.count(turns=9, failed=9, now=0.0)
        assert "errors" in watch.alarms(59.0)
        assert watch.alarms(61.0) == {}


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"webhook": "hooks.example.com"}, ("alerts.webhook",)),
        ({"error_rate": "2"}, ("alerts.error_rate",)),
        ({"format": "teams"}, ("alerts.format",)),
        ({"on": '["fire"]'}, ("alerts.on",)),
        ({"dashboard": "guard"}, ("alerts.dashboard",)),
    ],
)
def test_settings_that_make_no_sense_are_named_and_not_quoted(
    given: dict[str, str], named: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(f"VISTA_GUARD_ALERTS__{name.upper()}", value)
    with raises(ConfigError, *named) as caught:
        AlertSettings.load()
    assert "hooks.example.com" not in str(caught.value).partition("such as")[0]


def test_the_proxys_guard_has_the_alerts_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "vista-guard.toml"
    file.write_text('environment = "staging"\n[alerts]\nwebhook = "http://127.0.0.1:9/x"\non = ["block"]\n')
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(file))
    with build_guard({}, data_dir=tmp_path) as guard:
        [sink] = [one for one in guard.parts.sinks if isinstance(one, AlertSink)]
        assert (sink._environment, sink._settings.on) == ("staging", ("block",))
