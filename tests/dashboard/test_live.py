"""Live: what one look reads, what the tiles count, and the alert as Prometheus takes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.dashboard import seeded
from vista_guard.dashboard import series
from vista_guard.dashboard.access import THIS_MACHINE, Viewer
from vista_guard.dashboard.elements.address import Filters
from vista_guard.dashboard.live import TURNS, Seen, condition, feed, now_and_then, rule, tiles
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.stores.reports import ReportReader, Summary
from vista_guard.types import Action, TurnTexts

NOW = datetime(2026, 5, 20, 12, 30, tzinfo=UTC)


def test_each_look_reads_what_is_new(tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    reader = ReportReader(seeded.write(file, *seeded.talk()))
    reports, seen = ScopedReports(reader, THIS_MACHINE), Seen((Filters(), False, "time"))
    seen.look(reports, NOW)
    assert [row.turn_index for row in seen.rows] == [9, 7, 5, 3, 1]
    assert seen.fresh == frozenset()
    seeded.write(
        file, (seeded.report(11, "It came later.", (), id="later", created_at=NOW + timedelta(days=400)), None)
    )
    seen.look(reports, NOW)
    assert ([row.turn_index for row in seen.rows], seen.fresh) == ([11, 9, 7, 5, 3, 1], frozenset({"later"}))
    seen.look(reports, NOW)
    assert (len(seen.rows), seen.fresh) == (6, frozenset())
    seen.pin(reports, [f"{1:032x}", "nothing"])
    drawn = feed(seen.rows, seen.pinned, seen.turns, seen.fresh, NOW)
    assert [child.key for child in drawn.children if not isinstance(child, str)][:2] == [f"{1:032x}", "later"]
    assert "It came later." in drawn.text()
    rows = {child.key: child.text() for child in drawn.children if not isinstance(child, str)}
    blocked, plain, repaired = (rows[f"{number:032x}"] for number in (3, 9, 5))
    reason = "contradicts an earlier turn: “The lighthouse is 31 metres tall.”, 90 %"
    assert f"So it is small?The lighthouse is nine metres tall. · {reason}" in blocked
    assert "I can't say." not in blocked
    assert "It sank.contradicts the evidence, 90 %" in plain  # its question was not kept
    assert "Which colour?It is painted blue. · contradicts The harbour 🛟: “It is painted red.”, 90 %" in repaired
    assert "Do you like it?I like it. I don't know who paints it." in rows[f"{7:032x}"]
    reader.close()


def test_long_texts_say_where_they_are_cut(tmp_path: Path) -> None:
    told = seeded.report(1, "It is red. " * 100, ())
    texts = TurnTexts(user_text="Which colour is it? " * 20)
    reader, seen = (
        ReportReader(seeded.write(tmp_path / "reports.sqlite", (told, texts))),
        Seen((Filters(), False, "time")),
    )
    seen.look(ScopedReports(reader, THIS_MACHINE), NOW)
    assert feed(seen.rows, (), seen.turns, seen.fresh, NOW).text().count("…") == 2
    reader.close()


def test_who_may_not_read_drafts_is_told_why_and_not_what(tmp_path: Path) -> None:
    reader = ReportReader(seeded.write(tmp_path / "reports.sqlite", *seeded.talk()))
    seen = Seen((Filters(), False, "time"))
    seen.look(ScopedReports(reader, Viewer("reader@example.com", None, frozenset())), NOW)
    drawn = feed(seen.rows, (), seen.turns, seen.fresh, NOW).text()
    assert "contradicts an earlier turn: “The lighthouse is 31 metres tall.”, 90 %" in drawn
    assert "nine metres" not in drawn
    reader.close()


def test_the_tiles_compare_with_the_same_hour_a_week_ago(tmp_path: Path) -> None:
    made = [(NOW - timedelta(minutes=n), f"now-{n}") for n in range(1, 5)]
    made += [(NOW - timedelta(days=7, minutes=n), f"then-{n}") for n in range(0, 24)]
    made += [(NOW - timedelta(minutes=6), "before"), (NOW - timedelta(days=7, hours=2), "another hour")]
    turns = [
        (seeded.report(n, "x", (), Action.BLOCK if n % 2 else Action.ALLOW, id=name, created_at=at), None)
        for n, (at, name) in enumerate(made)
    ]
    reader = ReportReader(seeded.write(tmp_path / "reports.sqlite", *turns))
    now, then = now_and_then(ScopedReports(reader, THIS_MACHINE), Filters(), NOW)
    reader.close()
    assert (now.turns, now.share(Action.BLOCK), then.turns, then.share(Action.BLOCK)) == (4, 0.5, 24, 0.5)
    assert now.p95_ms == pytest.approx(97.5)
    assert (now.failures, then.failures) == ({}, {})
    text = tiles(now, then).text()
    assert "turns in 5 minutes4a week ago 2" in text
    assert "blocked50.0 %a week ago 50.0 %" in text
    assert "claims unchecked–a week ago –" in text
    assert "errors0upstream, judge, stores" in text
    assert "a week ago" not in tiles(now, series.of_summary(Summary(0, {}, {}, 0, (), None))).text()
    broken = tiles(replace(now, failures={"upstream": 18, "judge": 1}), then)
    assert "errors1918 upstream, 1 judge" in broken.text()


def test_the_alert_asks_for_what_the_proxy_counts() -> None:
    from vista_guard.proxy.metrics import REGISTRY

    counted = {metric.name: metric for metric in REGISTRY.collect()}
    counter = REGISTRY._names_to_collectors[TURNS]
    assert TURNS.removesuffix("_total") in counted
    assert "action" in counter._labelnames  # type: ignore[attr-defined]  # as prometheus_client has it
    asked = condition(Action.BLOCK, 5, 10)
    assert asked == (
        'sum(rate(vista_guard_turns_total{action="BLOCK"}[10m])) / sum(rate(vista_guard_turns_total[10m])) > 0.05'
    )


def test_the_rule_is_yaml_with_the_condition() -> None:
    import yaml

    [group] = yaml.safe_load(rule(Action.FLAG, 2.5, 15))["groups"]
    [alert] = group["rules"]
    assert alert["expr"] == condition(Action.FLAG, 2.5, 15)
    assert (alert["alert"], alert["for"]) == ("VistaGuardFlagShare", "15m")
