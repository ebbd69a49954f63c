"""The evaluator in LangSmith's own `evaluate` and in openevals' simulations; LangSmith hears no word of a conversation."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import langsmith
import pytest
from langsmith.schemas import Example

from tests.integrations.evals.grading import ASKED, BROKEN, FALSE, HALL, HELLO, TRUE, assert_apart, promised, scripted
from tests.telemetry.receiving import Receiver, receiving
from vista_guard.integrations.evals.grader import Case
from vista_guard.integrations.evals.langsmith import async_vista_evaluator, vista_evaluator

pytestmark = pytest.mark.filterwarnings(r"ignore:'upload_(results|runs)' parameter is in beta")

ANSWERS = {"true": TRUE, "false": FALSE, "hello": HELLO, "broken": BROKEN}
SECRETS = ["1925", "whale hall"]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """LangSmith, with tracing asked for nowhere."""
    with receiving(answer=b'{"batch_ingest_config": {"use_multipart_endpoint": false}}') as server:
        for name, value in (("ENDPOINT", server.url), ("API_KEY", "unused"), ("TRACING", "false")):
            monkeypatch.setenv(f"LANGSMITH_{name}", value)
        monkeypatch.setenv("LANGCHAIN_CALLBACKS_BACKGROUND", "false")
        _forget_environment()
        yield server
    _forget_environment()


def _forget_environment() -> None:
    utils: Any = langsmith.utils
    utils.get_env_var.cache_clear()


def client(server: Receiver) -> langsmith.Client:
    return langsmith.Client(api_url=server.url, api_key="unused", auto_batch_tracing=False)


def examples() -> list[Example]:
    data_set = uuid.uuid4()
    return [
        Example(id=uuid.uuid4(), dataset_id=data_set, inputs={"question": ASKED, "which": which}, outputs={"context": HALL})
        for which in ANSWERS
    ]  # fmt: skip


def agent(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"answer": ANSWERS[inputs["which"]]}


def results(found: Any) -> dict[str, Any]:
    return {row["example"].inputs["which"]: row["evaluation_results"]["results"][0] for row in found}


def test_langsmith_scores_and_says_what_was_not_judged(server: Receiver) -> None:
    grader = scripted()
    evaluator: Any = vista_evaluator(grader=grader)
    found = results(
        langsmith.evaluate(agent, data=examples(), evaluators=[evaluator], upload_results=False, client=client(server))
    )
    told = {which: (one.key, one.score, str(one.comment).partition(":")[0]) for which, one in found.items()}
    assert told == {
        "true": ("vista_score", 1.0, "VISTA score 1.00"),
        "false": ("vista_score", 0.0, "VISTA score 0.00"),
        "hello": ("vista_score", None, "not judged"),
        "broken": ("vista_score", None, "not judged"),
    }
    assert "CONTRADICTED 1.00  The hall opened in 1850." in found["false"].comment
    assert found["false"].metadata["claims"][0]["quotes"][0]["text"] == HALL
    assert found["broken"].comment.startswith("not judged: the claim could not be judged: the model timed out")
    assert_apart(grader, 4)
    assert {one.value for one in found.values()} == {
        None
    }  # in a table it would take the score's place, and have no mean


async def test_the_async_door_gives_the_same(server: Receiver) -> None:
    async def aagent(inputs: dict[str, Any]) -> dict[str, Any]:
        return agent(inputs)

    evaluator: Any = async_vista_evaluator(grader=scripted())
    rows = await langsmith.aevaluate(
        aagent, data=examples(), evaluators=[evaluator], upload_results=False, client=client(server)
    )
    assert {which: one.score for which, one in results([row async for row in rows]).items()} == {
        "true": 1.0, "false": 0.0, "hello": None, "broken": None,
    }  # fmt: skip


@pytest.mark.parametrize("told", [False, True])
def test_langsmith_hears_nothing_of_the_guards_own_runs(told: bool, server: Receiver) -> None:
    """Trap: `evaluate` traces what runs inside of it though nothing is to be uploaded and tracing is off."""
    evaluator: Any = vista_evaluator(grader=scripted(host_tracing=told))
    tracing = client(server)
    langsmith.evaluate(agent, data=examples()[:1], evaluators=[evaluator], upload_results=False, client=tracing)
    tracing.flush()
    sent = b"".join(body for _, _, _, body in server.requests).decode("utf-8", "replace")
    assert [secret for secret in SECRETS if secret in sent] == (SECRETS if told else [])


def test_what_cannot_be_read_is_not_judged_and_says_why() -> None:
    said = vista_evaluator(grader=scripted())(inputs={"topic": "halls"}, outputs={"answer": TRUE})
    assert said["score"] is None
    assert said["comment"].startswith("not judged: the agent was called with the keys ['topic']")
    read = vista_evaluator(
        grader=scripted(), read=lambda inputs, outputs, _: Case.of_answer(None, outputs, documents=inputs)
    )
    assert read(inputs=HALL, outputs=TRUE)["score"] == 1.0


CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TALK = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": "", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": HALL},
    {"role": "assistant", "content": TRUE},
]


def simulation(evaluators: list[Any], answers: list[Any]) -> dict[str, Any]:
    simulators = promised("openevals.simulators", "pip install openevals")
    turns = iter(answers)
    found: dict[str, Any] = simulators.run_multiturn_simulation(
        app=lambda message, *, thread_id: next(turns),
        user=[ASKED, "Are you sure?"],
        max_turns=2,
        trajectory_evaluators=evaluators,
    )
    return found


def test_openevals_judges_a_simulated_conversation(server: Receiver) -> None:
    grader = scripted()
    answers = [{"role": "assistant", "content": TRUE}, {"role": "assistant", "content": FALSE}]
    [found] = simulation([vista_evaluator(grader=grader, documents=HALL)], answers)["evaluator_results"]
    assert (found["key"], found["score"]) == ("vista_score", 0.5)
    assert [claim["turn"] for claim in found["metadata"]["claims"]] == [1, 3]
    assert len(set(grader.guard.parts.knowledge.forgotten)) == 1  # type: ignore[attr-defined]  # the watched store
    assert server.requests == []


def test_openevals_keeps_what_could_not_be_judged(capsys: pytest.CaptureFixture[str]) -> None:
    answers = [{"role": "assistant", "content": HELLO}, {"role": "assistant", "content": "x" * 50_000}]
    [found] = simulation([vista_evaluator(grader=scripted())], answers)["evaluator_results"]
    assert (found["score"], found["comment"].partition(":")[0]) == (None, "not judged")
    assert "Error in trajectory evaluator" not in capsys.readouterr().out


def test_tools_of_a_trajectory_are_evidence() -> None:
    assert vista_evaluator(grader=scripted())(outputs=TALK)["score"] == 1.0
