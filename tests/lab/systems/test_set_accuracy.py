"""A run's own end-to-end check: a model that is right at a set rate must be measured at that rate, whatever asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from tests.lab.systems.rows import found, gold_of, museum, run
from vista_guard.judges.model import ChatRequest, ModelJudge, ModelOptions, Reply
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, gold_script
from vista_lab.logs.source import LoggedConversation, Task
from vista_lab.metrics.intervals import Share
from vista_lab.systems.catalogue import make_system
from vista_lab.systems.evidence import EvidenceOrder
from vista_lab.systems.protocol import System

ROWS = museum(100)
FEW = museum(2)
SYSTEMS = [
    ("vista", "batched"),
    ("vista", "per_claim"),
    ("vista", "fused"),
    ("no-ac", "per_claim"),
    ("zero-shot", "batched"),
    ("factscore", "batched"),
    ("factscore+split", "batched"),
    ("llm-judge", "batched"),
    ("fact-check", "batched"),
    ("fact-check+evidence", "batched"),
]


def accuracy(system: System, entries: Sequence[LoggedConversation], task: Task = Task.UNVERIFIABLE) -> Share:
    """As a run would measure it."""
    by_id = {entry.conversation.id: entry for entry in entries}
    reports = run(system, entries)
    said = [(found(report, task), by_id[report.conversation_id].gold[report.turn_index].positive) for report in reports]
    assert None not in dict(said)
    assert len(said) == sum(len(entry.gold) for entry in entries)
    return Share.of(verdict == gold for verdict, gold in said)


@pytest.fixture(scope="module")
def servers() -> Iterator[Mapping[float, ScriptedChatServer]]:
    """One that is always right and one that is always wrong."""
    with ExitStack() as stack:
        yield {
            rate: stack.enter_context(ScriptedChatServer(gold_script(gold_of(FEW), accuracy=rate)))
            for rate in (0.0, 1.0)
        }


@pytest.mark.parametrize(("name", "strategy"), SYSTEMS)
@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_model_that_is_right_or_wrong_about_all_is_measured_so(
    name: str, strategy: str, rate: float, servers: Mapping[float, ScriptedChatServer]
) -> None:
    server = servers[rate]
    system = make_system(name, judge=f"openai:oracle@{server.base_url}", model={"strategy": strategy})
    assert accuracy(system, FEW).value == rate
    server.assert_accepted()


@pytest.mark.parametrize(
    ("task", "way", "rate"),
    [(Task.CONTRADICTS, "off", 0.0), (Task.CONTRADICTS, "auto", 1.0), (Task.ABSTAINS, "off", 1.0)],
)
def test_the_question_of_llm_as_judge_fits_the_task(
    task: Task, way: str, rate: float, servers: Mapping[float, ScriptedChatServer]
) -> None:
    judge, model = f"openai:oracle@{servers[rate].base_url}", {"structured_output": way}
    assert accuracy(make_system("llm-judge", task=task, judge=judge, model=model), FEW, task).value == rate
    servers[rate].assert_accepted()


@dataclass
class InProcess:
    """A chat model that answers from the server's script without the way over HTTP, which takes most of the time."""

    script: Callable[[ReceivedRequest], str]
    name: str = "oracle"
    why_exhausted: None = None

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    async def complete(self, request: ChatRequest) -> Reply:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        schema = {"json_schema": {"name": request.stage, "schema": request.schema}}
        body = {"model": self.name, "messages": messages, "response_format": schema}
        return Reply(self.script(ReceivedRequest(1, "chat", body, 0.0)))

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.mark.parametrize(
    ("name", "strategy", "conversations"),
    [
        ("vista", "batched", 50),
        ("vista", "per_claim", 50),
        ("factscore", "batched", 50),
        ("llm-judge", "batched", 100),
        ("fact-check", "batched", 100),
        ("fact-check+evidence", "batched", 100),
    ],
)
def test_a_model_that_is_right_at_a_set_rate_is_measured_at_it(name: str, strategy: str, conversations: int) -> None:
    rows = ROWS[:conversations]
    model = InProcess(gold_script(gold_of(rows), accuracy=0.8))
    system = make_system(name, judge=ModelJudge(model, ModelOptions.model_validate({"strategy": strategy})))
    share = accuracy(system, rows)
    assert share.n == 2 * conversations
    assert share.low <= 0.8 <= share.high


@pytest.mark.parametrize("by_claim", [None, EvidenceOrder.parse("given")])
def test_the_balanced_accuracy_of_a_run_with_evidence_by_claim_is_the_model_s(by_claim: EvidenceOrder | None) -> None:
    rows = ROWS
    model = InProcess(gold_script(gold_of(rows), accuracy=0.8))
    system = make_system("vista", judge=ModelJudge(model, ModelOptions()), decomposer="sentence", evidence=by_claim)
    by_id = {entry.conversation.id: entry for entry in rows}
    said = [
        (found(report, Task.UNVERIFIABLE), by_id[report.conversation_id].gold[report.turn_index].positive)
        for report in run(system, rows)
    ]
    recalls = [Share.of(verdict == kind for verdict, gold in said if gold is kind) for kind in (True, False)]
    assert sum(one.n for one in recalls) == 200
    assert all(one.low <= 0.8 <= one.high for one in recalls)
