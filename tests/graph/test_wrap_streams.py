"""Wrapped agents that stream: generator functions and Runnables, let out by the sentence."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from queue import SimpleQueue
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.output_parsers import StrOutputParser
from langchain_core.runnables import RunnableGenerator, RunnableLambda

from tests.conftest import guard_with
from tests.pace import PATIENCE_S
from tests.proxy.serving import ASIDE, LIE, NOTES, TRUTH, Sentencewise, known
from tests.raising import raises
from vista_guard import Action, Blocked, ConfigError, Document, Guard, InputError, Label, TurnReport
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import Verdict

NOTE = Document(id="notes", text=NOTES)
BLOCKED = [TRUTH, f" {ASIDE}", f"\n\n{MESSAGE}"]


@pytest.fixture
def guard(knowledge: MemoryKnowledge) -> Guard:
    return guard_with(Sentencewise(known()), knowledge)


def words(*sentences: str) -> list[str]:
    return [f"{word} " for word in " ".join(sentences).split(" ")]


def bot(chunks: list[Any]) -> Callable[..., Iterator[Any]]:
    def answer(question: Any) -> Iterator[Any]:
        yield NOTE
        yield from chunks

    return answer


def abot(chunks: list[Any]) -> Callable[..., AsyncIterator[Any]]:
    async def answer(question: Any) -> AsyncIterator[Any]:
        yield NOTE
        for chunk in chunks:
            await asyncio.sleep(0)
            yield chunk

    return answer


def runnable(chunks: list[Any], *, asynchronous: bool = False) -> RunnableGenerator[Any, Any]:
    def stream(inputs: Iterator[Any]) -> Iterator[Any]:
        for _ in inputs:
            yield from chunks

    async def astream(inputs: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for _ in inputs:
            for chunk in chunks:
                yield chunk

    return RunnableGenerator(stream, atransform=astream)


async def established(knowledge: MemoryKnowledge, conversation: str) -> set[str]:
    return {entry.text for entry in await knowledge.recall(conversation, persona=None, query="hall", limit=9)}


async def collected(stream: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in stream]


async def test_generator_functions_stream_by_the_sentence(guard: Guard) -> None:
    reports: list[TurnReport] = []
    draft = words(TRUTH, ASIDE, LIE, TRUTH)
    answer = guard.wrap(bot(draft), on_report=reports.append)
    aanswer = guard.wrap(abot(draft), on_report=reports.append)
    assert list(answer("When did it open?", conversation_id="a")) == BLOCKED
    assert await collected(aanswer("When did it open?", conversation_id="b")) == BLOCKED
    assert [report.decision.action for report in reports] == [Action.BLOCK, Action.BLOCK]
    assert [report.conversation_id for report in reports] == ["a", "b"]
    assert [report.response for report in reports] == ["".join(BLOCKED)] * 2


async def test_a_stream_says_what_a_check_says(guard: Guard, knowledge: MemoryKnowledge) -> None:
    reports: list[TurnReport] = []
    wrapped = guard.wrap(bot(words(TRUTH, ASIDE)), on_report=reports.append)
    assert "".join(wrapped("When?", conversation_id="a")) == f"{TRUTH} {ASIDE} "
    whole = guard.wrap(lambda _: {"answer": f"{TRUTH} {ASIDE} ", "context": [NOTE]}, on_report=reports.append)
    whole("When?", conversation_id="b")
    streamed, checked = reports
    same = {"outcomes", "decision", "score", "response", "remembered", "turn_index"}
    assert streamed.model_dump(include=same) == checked.model_dump(include=same)
    assert await established(knowledge, "a") == await established(knowledge, "b") == {TRUTH}


async def test_nothing_waits_for_the_end(guard: Guard) -> None:
    heard = asyncio.Event()

    async def answer(question: Any) -> AsyncIterator[Any]:
        yield NOTE
        for word in words(TRUTH, "It"):
            yield word
        await heard.wait()  # The agent goes on only when its first sentence has been read.
        yield "has a glass roof."

    stream = guard.wrap(answer)("When?")
    assert await anext(stream) == TRUTH
    heard.set()
    assert await collected(stream) == [f" {ASIDE}"]


MESSAGES = [AIMessageChunk(content=word, id="m1") for word in words(TRUTH, ASIDE, LIE)]
MAPPINGS = [{"context": [LangChainDocument(NOTES)]}, *({"answer": word} for word in words(TRUTH, ASIDE, LIE))]


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_runnables_stream_chunks_of_their_own_kind(guard: Guard, way: str) -> None:
    async def streamed(agent: Any) -> list[Any]:
        wrapped = guard.wrap(agent, documents=lambda _: [NOTE])
        return list(wrapped.stream("When?")) if way == "sync" else await collected(wrapped.astream("When?"))

    assert await streamed(runnable(words(TRUTH, ASIDE, LIE))) == BLOCKED
    assert await streamed(runnable(MESSAGES)) == [AIMessageChunk(content=text, id="m1") for text in BLOCKED]
    assert await streamed(runnable(MAPPINGS)) == [MAPPINGS[0], *({"answer": text} for text in BLOCKED)]
    assert await streamed(RunnableLambda(lambda _: AIMessage(TRUTH, id="m1"))) == [AIMessage(TRUTH, id="m1")]
    assert await streamed(RunnableLambda(lambda _: AIMessage(LIE, id="m1"))) == [AIMessage(MESSAGE, id="m1")]


async def test_tool_calls_pass_in_their_place(guard: Guard) -> None:
    part: Any = {"name": "look", "args": "{}", "id": "c", "index": 0, "type": "tool_call_chunk"}
    call = AIMessageChunk(content="", tool_call_chunks=[part])
    agent = runnable([AIMessageChunk(content=f"{TRUTH} ", id="m"), call])
    stream = guard.wrap(agent, documents=lambda _: [NOTE]).stream("When?")
    assert list(stream) == [AIMessageChunk(content=f"{TRUTH} ", id="m"), call]


async def test_events_and_what_comes_after_see_only_what_was_released(guard: Guard) -> None:
    wrapped = guard.wrap(runnable(words(TRUTH, ASIDE, LIE)), documents=lambda _: [NOTE])
    events = [event async for event in wrapped.astream_events("When?", version="v2")]
    assert "Zubrowka" not in str(events)
    assert [event["data"]["chunk"] for event in events if event["event"] == "on_chain_stream"] == BLOCKED
    assert list((wrapped | StrOutputParser()).stream("When?")) == BLOCKED


async def test_an_agent_gets_its_arguments_by_their_own_names(guard: Guard) -> None:
    def answer(question: str, *, tone: str, conversation_id: str) -> str:
        return f"{question}, {tone}, {conversation_id}: {TRUTH}"

    async def aanswer(question: str, *, tone: str, conversation_id: str) -> str:
        return answer(question, tone=tone, conversation_id=conversation_id)

    def pieces(question: str, *, tone: str, conversation_id: str) -> Iterator[str]:
        yield answer(question, tone=tone, conversation_id=conversation_id)

    async def apieces(question: str, *, tone: str, conversation_id: str) -> AsyncIterator[str]:
        yield answer(question, tone=tone, conversation_id=conversation_id)

    monitor = Guard(guard.parts.judge, "monitor")
    call: Any = {"question": "When?", "tone": "dry", "conversation_id": "v7"}
    expected = f"When?, dry, v7: {TRUTH}"
    assert await asyncio.to_thread(lambda: monitor.wrap(answer)(**call)) == expected
    assert await monitor.wrap(aanswer)(**call) == expected
    assert "".join(monitor.wrap(pieces)(**call)) == expected
    assert "".join(await collected(monitor.wrap(apieces)(**call))) == expected
    with raises(TypeError, "answer()", "question"):
        monitor.wrap(answer)(tone="dry")


@pytest.mark.parametrize("gate", ["sentence", "turn"])
@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
async def test_listeners_are_told_what_was_delivered(guard: Guard, way: str, gate: Any) -> None:
    told: list[Any] = []
    wrapped = guard.wrap(RunnableLambda(lambda _: LIE), documents=lambda _: [NOTE], gate=gate)
    agent = wrapped.with_listeners(on_end=lambda run: told.append(run.outputs))
    call = getattr(agent, way)
    if way.startswith("a"):
        await (call("When?") if way == "ainvoke" else collected(call("When?")))
    else:
        await asyncio.to_thread(lambda: call("When?") if way == "invoke" else list(call("When?")))
    assert told == [{"output": MESSAGE}]


def test_a_policy_that_regenerates_asks_again_as_long_as_nothing_is_out(knowledge: MemoryKnowledge) -> None:
    asked: list[Any] = []
    reports: list[TurnReport] = []

    def answer(messages: Any) -> Iterator[Any]:
        asked.append(messages)
        yield NOTE
        yield from words(TRUTH if len(asked) > 1 else ASIDE)

    judge = Sentencewise(known((ASIDE, [Verdict(ASIDE, Label.LACKING_EVIDENCE)])))
    wrapped = guard_with(judge, knowledge, "strict").wrap(answer, on_report=reports.append)
    assert "".join(wrapped([{"role": "user", "content": "When?"}])) == f"{TRUTH} "
    assert [message["role"] for message in asked[1]] == ["user", "assistant", "user"]
    assert ASIDE in asked[1][2]["content"]
    assert len(reports[0].attempts) == 1


def test_on_block_raise_ends_the_stream_without_the_message(guard: Guard) -> None:
    shown: list[str] = []
    stream = guard.wrap(bot(words(TRUTH, LIE)), on_block="raise")("When?")
    with pytest.raises(Blocked) as raised:
        shown.extend(iter(lambda: next(stream), None))
    assert shown == [TRUTH]
    assert "Zubrowka" not in str(raised.value)


def test_the_gates_turn_and_none(guard: Guard, knowledge: MemoryKnowledge) -> None:
    draft = words(TRUTH, LIE)
    assert list(guard.wrap(bot(draft), gate="turn")("When?")) == [MESSAGE]
    assert list(guard.wrap(runnable(draft), gate="turn", documents=lambda _: [NOTE]).stream("When?")) == [MESSAGE]
    watched = guard_with(Sentencewise(known()), knowledge, "monitor").wrap(bot(draft), gate="none")
    assert list(watched("When?")) == draft
    with raises(ConfigError, "gate", "none", "policy"):
        guard.wrap(bot(draft), gate="none")
    with raises(ConfigError, "gate", "word"):
        guard.wrap(bot(draft), gate="word")  # type: ignore[call-overload]
    with pytest.raises(ConfigError):
        guard.graph(lambda messages: "", gate="sentence")


@pytest.mark.parametrize("wrong", [42, {"messages": []}, ["text"]], ids=["number", "state", "list"])
def test_what_cannot_be_read_is_not_let_through(guard: Guard, wrong: Any) -> None:
    with raises(InputError, type(wrong).__name__):
        list(guard.wrap(bot([wrong]))("When?"))


async def test_a_reader_who_leaves_and_an_agent_that_fails(guard: Guard, knowledge: MemoryKnowledge) -> None:
    closed: SimpleQueue[str] = SimpleQueue()

    def answer(question: Any) -> Generator[Any, None, None]:
        try:
            yield NOTE
            yield from words(TRUTH, ASIDE)
            if question == "fail":
                raise KeyError("no more notes")
            while True:
                yield "The "
        finally:
            closed.put(question)

    async def aanswer(question: Any) -> AsyncGenerator[Any, None]:
        for chunk in answer(question):
            yield chunk
            await asyncio.sleep(0)

    wrapped, awrapped = guard.wrap(answer), guard.wrap(aanswer)
    left = wrapped("leave", conversation_id="x")
    assert next(left) == TRUTH
    left.close()
    aleft = awrapped("leave", conversation_id="x")
    assert await anext(aleft) == TRUTH
    await aleft.aclose()
    with raises(KeyError, "notes"):
        list(wrapped("fail"))
    with raises(KeyError, "notes"):
        await collected(awrapped("fail"))
    ended = [await asyncio.to_thread(closed.get, timeout=PATIENCE_S) for _ in range(4)]
    assert sorted(ended) == ["fail", "fail", "leave", "leave"]
    assert await established(knowledge, "x") == set()


async def test_many_at_once_do_not_mix(knowledge: MemoryKnowledge) -> None:
    def sentence(number: int) -> str:
        return f"Hall {number} opened in 1925."

    judge = Sentencewise({sentence(n): [Verdict(sentence(n), needs="1925")] for n in range(50)})
    guard = guard_with(judge, knowledge)

    async def answer(question: str) -> AsyncIterator[Any]:
        yield NOTE
        for word in words(*[sentence(int(question))] * 2):
            await asyncio.sleep(0)
            yield word

    wrapped = guard.wrap(answer)
    said = await asyncio.gather(*(collected(wrapped(str(n), conversation_id=str(n))) for n in range(50)))
    assert ["".join(pieces) for pieces in said] == [f"{sentence(n)} {sentence(n)} " for n in range(50)]
    for number in range(50):
        assert await established(knowledge, str(number)) == {sentence(number)}


def test_a_tool_call_is_not_made_again(knowledge: MemoryKnowledge) -> None:
    asked: list[Any] = []
    part: Any = {"name": "book", "args": "{}", "id": "c", "index": 0, "type": "tool_call_chunk"}

    def answer(question: Any) -> Iterator[Any]:
        asked.append(question)
        yield NOTE
        yield AIMessageChunk(content="", tool_call_chunks=[part], id="m")
        yield AIMessageChunk(content=ASIDE, id="m")

    judge = Sentencewise(known((ASIDE, [Verdict(ASIDE, Label.LACKING_EVIDENCE)])))
    chunks = list(guard_with(judge, knowledge, "strict").wrap(answer)("When?"))
    assert [(chunk.content, len(chunk.tool_call_chunks)) for chunk in chunks] == [("", 1), (MESSAGE, 0)]
    assert len(asked) == 1
