"""The architecture's central test: one conversation through every way in gives one report, on the embedded judge."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import START, MessagesState, StateGraph

from tests.proxy.serving import Kept, serving
from vista_guard import Guard, TurnReport
from vista_guard.inference.weights import WEIGHTS
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.integrations.langgraph import guard_node
from vista_guard.integrations.openai import guarded
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.reading.chat_json import to_conversation
from vista_guard.testing import ScriptedChatServer

pytestmark = pytest.mark.skipif(not (WEIGHTS / "verifier.onnx").is_file(), reason="the weights are not here")

DOCUMENT = (
    "The harbour ferry of Port Selma leaves every 40 minutes. A ticket costs 6 euros. "
    "Dr. Ilona Brack has run the line since 2011."
)
TURN = (
    "The harbour ferry leaves every 40 minutes, and a ticket costs 9 euros. Dr. Ilona Brack has run the line since 2011.\n\n"
    "There is a café on board. I think the morning boat is the prettiest!"
)
QUESTION = {"role": "user", "content": "How do I get across?", "documents": [DOCUMENT]}


def read(guard: Guard, _: ScriptedChatServer) -> TurnReport:
    conversation = to_conversation([QUESTION, {"role": "assistant", "content": TURN}])
    return guard.check(conversation)


async def acheck(guard: Guard, _: ScriptedChatServer) -> TurnReport:
    return await guard.acheck(to_conversation([QUESTION, {"role": "assistant", "content": TURN}]))


def gated(gate: Any, size: int) -> Callable[..., Any]:
    async def run(guard: Guard, _: ScriptedChatServer) -> TurnReport:
        async def deltas() -> AsyncIterator[Any]:
            for start in range(0, len(TURN), size):
                yield TURN[start : start + size]

        whole = to_conversation([QUESTION, {"role": "assistant", "content": TURN}])
        before = whole.model_copy(update={"turns": whole.turns[:-1]})
        pieces = [
            piece async for piece in guard.gated(before, deltas(), gate=gate, documents=whole.turns[-1].documents)
        ]
        *shown, report = pieces
        assert "".join(map(str, shown)) == TURN
        assert isinstance(report, TurnReport)
        return report

    return run


def told(wrapped: Callable[..., Any]) -> Callable[[Guard, ScriptedChatServer], TurnReport]:
    """A surface that tells its reports."""

    def run(guard: Guard, server: ScriptedChatServer) -> TurnReport:
        reports: list[TurnReport] = []
        wrapped(guard, server, reports.append)
        (report,) = reports
        return report

    return run


def found(_: Any) -> Any:
    """The turn's documents, for surfaces whose agents do not bring them."""
    return to_conversation([QUESTION, {"role": "assistant", "content": TURN}]).turns[-1].documents


def callable_agent(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
    wrapped = guard.wrap(lambda _: TURN, on_report=on_report, documents=found)
    assert wrapped(str(QUESTION["content"])) == TURN


def generator(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
    def words(question: Any) -> Iterator[Any]:
        yield from found(question)
        yield from (TURN[start : start + 7] for start in range(0, len(TURN), 7))

    assert "".join(guard.wrap(words, on_report=on_report)(str(QUESTION["content"]))) == TURN


def runnable_stream(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
    chat = GenericFakeChatModel(messages=iter([AIMessage(TURN)]))
    agent = guard.wrap(chat, on_report=on_report, documents=found)
    assert "".join(chunk.content for chunk in agent.stream([("user", QUESTION["content"])])) == TURN


def node(gate: Any) -> Callable[..., None]:
    def run(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
        chat = GenericFakeChatModel(messages=iter([AIMessage(TURN)]))

        def answer(state: MessagesState) -> Any:
            return {"messages": [chat.invoke(state["messages"])]}

        builder = StateGraph(MessagesState)
        builder.add_node("answer", guard_node(guard, answer, gate=gate, on_report=on_report, documents=found))
        builder.add_edge(START, "answer")
        asked: Any = {"messages": [("user", QUESTION["content"])]}
        list(builder.compile().stream(asked, stream_mode="messages"))

    return run


def runnable(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
    agent = guard.wrap(RunnableLambda(lambda _: AIMessage(TURN)), on_report=on_report, documents=found)
    agent.invoke({"messages": [("user", QUESTION["content"])]})


def graph(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
    agent = guard.graph(lambda _: TURN, on_report=on_report, documents=found)
    agent.invoke({"messages": [("user", QUESTION["content"])]})


def middleware(gate: Any) -> Callable[..., None]:
    def run(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
        guarding = VistaGuardMiddleware(guard, gate=gate, on_report=on_report, documents=found)
        agent: Any = create_agent(GenericFakeChatModel(messages=iter([AIMessage(TURN)])), middleware=[guarding])
        list(agent.stream({"messages": [("user", QUESTION["content"])]}, stream_mode="messages"))

    return run


def client(stream: bool) -> Callable[..., None]:
    def run(guard: Guard, server: ScriptedChatServer, on_report: Any) -> None:
        with openai.OpenAI(base_url=server.base_url, api_key="unused") as own:
            asked: Any = guarded(own, guard, on_report=on_report).chat.completions
            answer = asked.create(model="m", messages=[QUESTION], stream=stream)
            text = (
                "".join(c.choices[0].delta.content or "" for c in answer)
                if stream
                else answer.choices[0].message.content
            )
        assert text == TURN

    return run


def proxy(api: str, stream: bool) -> Callable[[Guard, ScriptedChatServer], TurnReport]:
    def run(guard: Guard, server: ScriptedChatServer) -> TurnReport:
        sink = Kept()
        own = Guard(guard.parts.judge, guard.parts.policy, sinks=[sink], telemetry=guard.parts.telemetry)
        with serving(build_app(own, ProxySettings(upstream=server.base_url))) as url:
            extra = {"documents": [DOCUMENT]}
            with openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as caller:
                if api == "chat":
                    messages: Any = [{"role": "user", "content": QUESTION["content"]}]
                    made: Any = caller.chat.completions.create(
                        model="m", messages=messages, stream=stream, extra_body=extra
                    )
                else:
                    made = caller.responses.create(
                        model="m", input=str(QUESTION["content"]), stream=stream, extra_body=extra
                    )
                if stream:
                    list(made)
        (report,) = sink.reports
        return report

    return run


WAYS: dict[str, Callable[..., Any]] = {
    "acheck": acheck,
    "gated by turn": gated("turn", 7),
    "gated by sentence": gated("sentence", 7),
    "gated by sentence, letter by letter": gated("sentence", 1),
    "observed": gated("none", 7),
    "callable": told(callable_agent),
    "generator function": told(generator),
    "Runnable": told(runnable),
    "Runnable, streamed": told(runnable_stream),
    "LangGraph": told(graph),
    "node of a LangGraph by turn": told(node("turn")),
    "node of a LangGraph by sentence": told(node("sentence")),
    "middleware by turn": told(middleware("turn")),
    "middleware by sentence": told(middleware("sentence")),
    "OpenAI client": told(client(stream=False)),
    "OpenAI client, streamed": told(client(stream=True)),
    "proxy, chat": proxy("chat", stream=False),
    "proxy, chat, streamed": proxy("chat", stream=True),
    "proxy, responses": proxy("responses", stream=False),
    "proxy, responses, streamed": proxy("responses", stream=True),
}
SAME = {"turn_index", "response", "draft_spans", "turn_key", "rules", "decision", "score", "risk", "evidence_missing"}
SAME |= {"remembered", "judge", "policy"}


def judgement(report: TurnReport) -> Any:
    """All that was judged and decided. A document that brings no id is named after its text on every surface."""
    return [report.model_dump(include=SAME), [outcome.model_dump() for outcome in report.outcomes]]


@pytest.fixture(scope="module")
def embedded() -> Any:
    from vista_guard.judges.embedded import EmbeddedJudge
    from vista_guard.stores.entries import OnnxEmbedder

    return EmbeddedJudge.load(OnnxEmbedder())


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_gives_the_same_report(way: str, embedded: Any) -> None:
    import asyncio

    with ScriptedChatServer(TURN) as server:
        expected = await asyncio.to_thread(read, Guard(embedded, "monitor"), server)
        guard, run = Guard(embedded, "monitor"), WAYS[way]
        is_async = asyncio.iscoroutinefunction(run)
        report = await run(guard, server) if is_async else await asyncio.to_thread(run, guard, server)
    assert {finding.label for finding in expected.findings} == {
        "VERIFIED",
        "CONTRADICTED",
        "LACKING_EVIDENCE",
        "OUT_OF_SCOPE",
    }
    assert judgement(report) == judgement(expected)


def nearly(value: Any) -> Any:
    """A report in which figures may differ a little: another processor rounds the models' arithmetic otherwise."""
    if isinstance(value, dict):
        return {key: nearly(one) for key, one in value.items()}
    if isinstance(value, list):
        return [nearly(one) for one in value]
    return pytest.approx(value, abs=0.02) if isinstance(value, float) else value


def test_the_report_is_that_of_version_0_1_but_for_times(embedded: Any) -> None:
    """`one_report.json` was written by 0.1.0: whatever moves inside the house, this is what comes out of it.

    Weights of another version, and a report of another schema, write it anew.
    """
    with ScriptedChatServer(TURN) as server:
        report = read(Guard(embedded, "monitor"), server).model_dump(
            mode="json", exclude={"timings", "id", "created_at"}
        )
    before = json.loads((Path(__file__).parent / "one_report.json").read_text(encoding="utf-8"))
    for one in (report, before):
        one["decision"]["reason"] = re.sub(r"\(0\.\d+\)", "(…)", one["decision"]["reason"])
    assert report == nearly(before)
