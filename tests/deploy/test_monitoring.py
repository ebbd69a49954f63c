"""Grafana's dashboard and Prometheus' rules ask for metrics and labels that the proxy has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.core import Metric

from vista_guard.proxy.metrics import REGISTRY
from vista_guard.types import Action

FILES = Path(__file__).parents[2] / "deploy/chart/files"
BOARD: dict[str, Any] = json.loads((FILES / "grafana-dashboard.json").read_text("utf-8"))
RULES: list[dict[str, Any]] = yaml.safe_load((FILES / "prometheus-rules.yaml").read_text("utf-8"))["groups"][0]["rules"]
OF_PROMETHEUS = {"job", "instance", "le"}
"""Labels that Prometheus or a histogram adds."""

_METRIC = re.compile(r"\b(vista_guard_\w+|up)(?:\{([^}]*)\})?")
_MATCHED = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"([^\"]*)\"")
_GROUPED = re.compile(r"\bby \(([^)]*)\)")


def known() -> dict[str, set[str]]:
    """The labels of each time series of `/metrics`, by its name."""
    series: dict[str, set[str]] = {"up": set()}
    for family in REGISTRY.collect():
        collector = REGISTRY._names_to_collectors[family.name]
        labels = set(collector._labelnames)  # type: ignore[attr-defined]  # as prometheus_client has it
        series |= dict.fromkeys(_names(family), labels)
    return series


def _names(family: Metric) -> set[str]:
    if family.type == "histogram":
        return {f"{family.name}_{part}" for part in ("bucket", "count", "sum")}
    return {f"{family.name}_total" if family.type == "counter" else family.name}


def expressions() -> list[Any]:
    asked = {f"panel: {panel['title']}": panel["targets"] for panel in BOARD["panels"]}
    board = [pytest.param(target["expr"], id=title) for title, targets in asked.items() for target in targets]
    variables = [
        pytest.param(variable["definition"], id=f"variable: {variable['name']}")
        for variable in BOARD["templating"]["list"]
        if variable["type"] == "query"
    ]
    return [*board, *variables, *(pytest.param(rule["expr"], id=f"alert: {rule['alert']}") for rule in RULES)]


@pytest.mark.parametrize("expression", expressions())
def test_what_is_asked_for_is_counted(expression: str) -> None:
    series, asked = known(), _METRIC.findall(expression)
    assert asked != []
    assert {name for name, _ in asked} <= set(series)
    labels = set().union(*(series[name] for name, _ in asked))
    matched = {label: value for _, matchers in asked for label, value in _MATCHED.findall(matchers)}
    grouped = {label.strip() for labels in _GROUPED.findall(expression) for label in labels.split(",")}
    assert matched.keys() | grouped <= labels | OF_PROMETHEUS
    assert "decision" not in matched.keys() | grouped  # the label of 0.2
    assert matched.get("action", "BLOCK") in set(Action)


def test_a_metric_that_is_not_there_is_noticed() -> None:
    assert "vista_guard_turns" not in known()
    assert {"vista_guard_turns_total", "vista_guard_gate_seconds_bucket", "vista_guard_streams_open"} <= set(known())


def test_every_metric_of_the_proxy_is_on_the_dashboard() -> None:
    shown = " ".join(target["expr"] for panel in BOARD["panels"] for target in panel["targets"])
    missing = [family.name for family in REGISTRY.collect() if family.name not in shown]
    assert missing == []


def test_the_dashboard_can_be_imported() -> None:
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert {panel["datasource"]["uid"] for panel in panels} == {"${datasource}"}
    places = [panel["gridPos"] for panel in panels]
    taken = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(taken) == len(set(taken))  # none lies over another
    assert max(x for x, _ in taken) < 24


def test_an_alert_says_how_bad_it_is_and_what_happened() -> None:
    assert len({rule["alert"] for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule["labels"]["severity"] in ("warning", "critical"), rule["alert"]
        assert rule["annotations"]["summary"], rule["alert"]
        assert re.fullmatch(r"\d+m", rule["for"]), rule["alert"]
