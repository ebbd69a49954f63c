"""What LangSmith hears of the guard's own runs: nothing, unless somebody says so. The agent inside keeps its tracers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import langsmith
import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

from tests.conftest import guard_with
from tests.telemetry.receiving import Receiver, receiving
from vista_guard import Claim, Guard, Label, Turn, to_conversation
from vista_guard.integrations.langgraph import guard_node
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict

LIE = "The lantern room was built by Zubrowka."
ASKED = "Who built the lantern room, asks Quillfeather?"
NOTE = "The lantern room was built by the harbour board of Ostrava."
SECRETS = ("Zubrowka", "Ostrava")
"""What only a withheld draft and the guard's evidence say."""


@pytest.fixture
def langsmith_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with receiving(answer=b'{"batch_ingest_config": {"use_multipart_endpoint": false}}') as server:
        monkeypatch.setenv("LANGSMITH_ENDPOINT", server.url)
        monkeypatch.setenv("LANGSMITH_API_KEY", "unused")
        monkeypatch.setenv("LANGCHAIN_CALLBACKS_BACKGROUND", "false")
        _forget_environment()
        yield server
    _forget_environment()


def _forget_environment() -> None:
    utils: Any = langsmith.utils
    utils.get_env_var.cache_clear()


def guard(knowledge: MemoryKnowledge, **options: Any) -> Guard:
    return guard_with(ScriptedJudge({LIE: [Verdict(LIE, Label.CONTRADICTED)]}), knowledge, "strict", **options)


def check(guarding: Guard) -> None:
    talk: list[Any] = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": LIE, "documents": [NOTE]}]
    guarding.check(to_conversation(talk))


def wrapped(guarding: Guard) -> None:
    guarding.wrap(lambda _: LIE, documents=NOTE)(ASKED)


def runnable(guarding: Guard) -> None:
    agent: Any = RunnableLambda(lambda _: LIE, name="hosts_agent")
    guarding.wrap(agent, documents=NOTE).invoke(ASKED)


def graph(guarding: Guard) -> None:
    guarding.graph(lambda _: LIE, documents=NOTE).invoke({"messages": [("user", ASKED)]})


def node(guarding: Guard) -> None:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("answer", guard_node(guarding, lambda _: {"messages": [("ai", LIE)]}, documents=NOTE))
    builder.add_edge(START, "answer")
    builder.compile().invoke({"messages": [("user", ASKED)]})


WAYS: dict[str, Callable[[Guard], None]] = {
    "check": check,
    "callable": wrapped,
    "Runnable": runnable,
    "graph": graph,
    "node": node,
}


def told(server: Receiver, run: Callable[[], None]) -> str:
    """All that LangSmith was sent while it ran inside of a traced function."""
    client = langsmith.Client(api_url=server.url, api_key="unused", auto_batch_tracing=False)

    @langsmith.traceable(client=client)
    def host() -> str:
        run()
        return "done"

    with langsmith.tracing_context(enabled=True, client=client):
        host()
    client.flush()
    return b"".join(body for method, _, _, body in server.requests if method != "GET").decode("utf-8", "replace")


@pytest.mark.parametrize("way", WAYS)
def test_a_host_that_traces_hears_no_withheld_word(
    way: str, knowledge: MemoryKnowledge, langsmith_server: Receiver
) -> None:
    sent = told(langsmith_server, lambda: WAYS[way](guard(knowledge)))
    assert "host" in sent  # it was listening
    # An agent is the host's own, and so is what it says to the host's tracer.
    agents = sent.count("Zubrowka") if way in ("Runnable", "node") else 0
    assert [secret for secret in SECRETS if secret in sent.replace("Zubrowka", "", agents)] == []
    assert "gather" not in sent


@pytest.mark.parametrize("way", WAYS)
def test_whoever_wants_it_gets_it(way: str, knowledge: MemoryKnowledge, langsmith_server: Receiver) -> None:
    sent = told(langsmith_server, lambda: WAYS[way](guard(knowledge, host_tracing=True)))
    assert "gather" in sent


def test_the_agent_inside_keeps_its_tracers(knowledge: MemoryKnowledge, langsmith_server: Receiver) -> None:
    assert "hosts_agent" in told(langsmith_server, lambda: runnable(guard(knowledge)))


class Heard(BaseCallbackHandler):
    """A tracer as others write them: a plain callback handler."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.said = ""

    def on_chain_start(self, serialized: Any, inputs: Any, **run: Any) -> None:
        self.runs.append(run["name"])
        self.said += repr(inputs)


@pytest.mark.parametrize("host_tracing", [False, True])
async def test_handlers_of_a_run_hear_the_agent_and_not_the_guard(
    host_tracing: bool, knowledge: MemoryKnowledge
) -> None:
    heard = Heard()
    agent = guard(knowledge, host_tracing=host_tracing).wrap(
        RunnableLambda(lambda _: LIE, name="hosts_agent"), documents=NOTE
    )
    await agent.ainvoke(ASKED, {"callbacks": [heard]})
    assert "hosts_agent" in heard.runs
    assert ("gather" in heard.runs) is host_tracing


def test_a_stage_is_untraced_though_the_environment_says_otherwise(
    knowledge: MemoryKnowledge, langsmith_server: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A judge that is traced by itself, as a LangChain model is, tells nothing of the turn either."""

    class Traced(ScriptedJudge):
        @langsmith.traceable
        async def decompose(self, turn: Any, history: Any) -> Any:
            return await super().decompose(turn, history)

    judge = Traced({LIE: [Verdict(LIE, Label.CONTRADICTED)]})
    sent = told(langsmith_server, lambda: check(guard_with(judge, knowledge, "strict")))
    assert "Zubrowka" not in sent
    assert json.dumps("decompose") not in sent


class LangChainJudge(ScriptedJudge):
    """Asks a LangChain model of its own, as a team's judge may, without a word on who may listen."""

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        await FakeListChatModel(responses=["noted"]).ainvoke(f"Take apart: {turn.text}")
        return await super().decompose(turn, history)


class Listener(BaseCallbackHandler):
    """A host's tracer that keeps what models are asked."""

    run_inline = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    def on_chat_model_start(self, serialized: dict[str, Any], messages: Any, **_: Any) -> None:
        self.heard.append(str(messages))


def test_a_tracer_around_a_check_hears_no_draft_from_a_judge_that_asks_a_langchain_model(
    knowledge: MemoryKnowledge,
) -> None:
    listener = Listener()
    judge = LangChainJudge({LIE: [Verdict(LIE, Label.CONTRADICTED)]})

    def host(_: object) -> str:
        check(guard_with(judge, knowledge, "strict"))
        FakeListChatModel(responses=["done"]).invoke("the host's own")
        return "done"

    RunnableLambda(host).invoke("go", config={"callbacks": [listener]})
    assert [("Zubrowka" in heard, "the host's own" in heard) for heard in listener.heard] == [(False, True)]
