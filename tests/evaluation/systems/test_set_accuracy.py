"""A run's own end-to-end check: a model that is right at a set rate must be measured at that rate, whatever asks it."""

from __future__ import annotations

import pytest

from tests.evaluation.systems.rows import found, gold_of, museum, run
from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.systems.catalogue import make_system
from vista_guard.testing import ScriptedChatServer, gold_script

ROWS = museum(130)
FEW = ROWS[:12]
SYSTEMS = [
    ("vista", "batched"),
    ("vista", "per_claim"),
    ("vista", "fused"),
    ("factscore", "batched"),
    ("factscore+split", "batched"),
    ("llm-judge", "batched"),
]


def measured(name: str, strategy: str, entries: list[LoggedConversation], accuracy: float, **more: Task) -> Share:
    """Accuracy as a run would measure it."""
    task = more.get("task", Task.UNVERIFIABLE)
    gold = gold_of(entries, task)
    positive = next(label for label in gold.values() if label != "VERIFIED")
    with ScriptedChatServer(gold_script(gold, accuracy=accuracy, positive=positive)) as server:
        judge, model = f"openai:oracle@{server.base_url}", {"strategy": strategy, "concurrency": 64}
        reports = run(make_system(name, task=task, judge=judge, model=model), entries)
        server.assert_accepted()
    by_id = {entry.conversation.id: entry for entry in entries}
    rights = [
        found(report, task) == by_id[report.conversation_id].gold[report.turn_index].positive for report in reports
    ]
    assert len(rights) == sum(len(entry.gold) for entry in entries)
    assert None not in [found(report, task) for report in reports]
    return Share.of(rights)


@pytest.mark.parametrize(("name", "strategy"), SYSTEMS)
def test_a_model_that_is_right_or_wrong_about_all_is_measured_so(name: str, strategy: str) -> None:
    assert (measured(name, strategy, FEW, 1.0).value, measured(name, strategy, FEW, 0.0).value) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("name", "strategy"), [("vista", "batched"), ("factscore", "batched"), ("llm-judge", "batched")]
)
def test_a_model_that_is_right_at_a_set_rate_is_measured_at_it(name: str, strategy: str) -> None:
    share = measured(name, strategy, ROWS, 0.8)
    assert share.n == 260
    assert share.low <= 0.8 <= share.high
