"""`gate="sentence"` in `create_agent`: live where the host streams, and nothing unjudged in any stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from threading import Event
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ModelRetryMiddleware
from langchain.agents.structured_output import ProviderStrategy
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from pydantic import BaseModel

from tests.conftest import guard_with
from tests.integrations.langchain.test_middleware import (
    ASKED,
    LIE,
    NOTES,
    THREAD,
    TRUTH,
    ToolModel,
    agent_of,
    call,
    comparable,
    model_of,
    scripted,
    search,
)  # fmt: skip
from tests.pace import PATIENCE_S
from vista_guard import Action, Blocked, Claim, Guard, InputError, Label, TurnReport
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.types import Turn

FLOORS = "It has two floors."


class Reader(ScriptedJudge):
    """Knows its sentences wherever they stand in a turn, so that it can be asked about a turn that is still written."""

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        self.asked.append(turn.text)
        found = [verdict for (verdict,) in self.script.values() if verdict.text in turn.text]  # type: ignore[misc]
        claims = [self._claim(turn, len(history), number, verdict) for number, verdict in enumerate(found, 1)]
        self._verdicts.update({(claim.id, claim.text): verdict for claim, verdict in zip(claims, found, strict=True)})
        return claims


def reader() -> Reader:
    """Knows the truth, the lie, and a sentence that lacks evidence."""
    return Reader({**scripted().script, FLOORS: [Verdict(FLOORS, Label.LACKING_EVIDENCE)]})


def fresh(policy: str = "balanced") -> Guard:
    """A guard with a memory of its own."""
    return guard_with(reader(), MemoryKnowledge(WordEmbedder()), policy)


class Waiting(ToolModel):
    """Says the first answer's words; before the word `then`, waits until it is told to go on."""

    go: Any
    then: str
    gone: Any = None

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        try:
            for chunk in super()._stream(messages, *args, **kwargs):
                if str(chunk.message.content).strip() == self.then and not self.go.wait(PATIENCE_S):
                    raise TimeoutError(f"nobody saw what was said before {self.then!r}")
                yield chunk
        finally:
            if self.gone is not None:
                self.gone.set()


def words_of(chunks: list[Any]) -> list[str]:
    """The text of the answer's chunks, without empty ones."""
    return [chunk.text for chunk, _ in chunks if isinstance(chunk, AIMessageChunk) and chunk.text]


async def _stream(agent: Any, seen: Callable[[Any], object] = id) -> list[Any]:
    def run() -> list[Any]:
        chunks = []
        for chunk in agent.stream(ASKED, THREAD, stream_mode="messages"):
            seen(chunk)
            chunks.append(chunk)
        return chunks

    return await asyncio.to_thread(run)


async def _astream(agent: Any, seen: Callable[[Any], object] = id) -> list[Any]:
    chunks = []
    async for chunk in agent.astream(ASKED, THREAD, stream_mode="messages"):
        seen(chunk)
        chunks.append(chunk)
    return chunks


BOTH = pytest.mark.parametrize("stream", [_stream, _astream], ids=["stream", "astream"])


class TestLive:
    """A sentence is out while the next is still being written."""

    @BOTH
    async def test_the_first_sentence_is_seen_before_the_second_is_said(self, stream: Any) -> None:
        go = Event()
        model = Waiting(messages=iter([call(), AIMessage(f"{TRUTH} {FLOORS}")]), go=go, then="two")
        reports: list[TurnReport] = []
        middleware = VistaGuardMiddleware(fresh(), gate="sentence", on_report=reports.append)
        agent = create_agent(model, [search], middleware=[middleware])
        chunks = await stream(agent, lambda chunk: go.set() if TRUTH in chunk[0].text else None)
        assert "".join(words_of(chunks)) == f"{TRUTH} {FLOORS}"
        assert len({chunk.id for chunk, _ in chunks if isinstance(chunk, AIMessageChunk) and chunk.text}) == 1
        talk = conversation(user("When did it open?"), assistant(f"{TRUTH} {FLOORS}"), id="c")
        document = reports[0].findings[0].evidence[0]
        assert (document.source_id, document.quote) == ("tool:call-1", NOTES)
        assert (reports[0].response, reports[0].turn_index) == (talk.turns[-1].text, 1)

    @BOTH
    async def test_the_report_is_that_of_the_whole_turn(self, stream: Any) -> None:
        reports: list[TurnReport] = []
        documents = assistant("", NOTES).documents
        options: Any = {"gate": "sentence", "documents": lambda talk: documents, "on_report": reports.append}
        await stream(agent_of(fresh(), f"{TRUTH} {FLOORS}", **options))
        talk = conversation(user("When did it open?"), assistant(f"{TRUTH} {FLOORS}", NOTES), id="c")
        assert comparable(reports[0]) == comparable(await fresh().acheck(talk))


class TestABlock:
    """The sentences before stand; then comes the policy's message, and nothing more."""

    @BOTH
    async def test_it_ends_the_answer(self, stream: Any) -> None:
        gone = Event()
        said = [call(), AIMessage(f"{TRUTH} {LIE} {FLOORS}")]
        model = Waiting(messages=iter(said), go=Event(), then="floors.", gone=gone)
        model.go.set()
        reports: list[TurnReport] = []
        middleware = VistaGuardMiddleware(fresh(), gate="sentence", on_report=reports.append)
        agent = create_agent(model, [search], middleware=[middleware], name="museum")
        chunks = await stream(agent)
        assert "".join(words_of(chunks)) == f"{TRUTH}\n\n{MESSAGE}" == reports[0].response
        assert reports[0].decision.action is Action.BLOCK
        assert gone.wait(PATIENCE_S)

    async def test_the_state_holds_what_was_streamed(self) -> None:
        agent = agent_of(fresh(), call(), f"{TRUTH} {LIE}", gate="sentence")
        chunks = [chunk async for chunk in agent.astream(ASKED, THREAD, stream_mode=["messages", "values"])]
        assert "Zubrowka" not in repr(chunks)
        ids = {message.id for mode, chunk in chunks if mode == "messages" for message in chunk[:1] if message.text}
        last = chunks[-1][1]["messages"][-1]
        assert (last.content, last.name, last.response_metadata) == (
            f"{TRUTH}\n\n{MESSAGE}", "museum", {"vista_guard": "BLOCK"},
        )  # fmt: skip
        assert last.id in ids

    @BOTH
    async def test_raise(self, stream: Any) -> None:
        with pytest.raises(Blocked):
            await stream(agent_of(fresh(), call(), LIE, gate="sentence", on_block="raise"))

    @BOTH
    async def test_a_repair_drops_the_sentence(self, stream: Any) -> None:
        guard = Guard(reader(), build_policy("strict", {"repair": "redact"}), knowledge=MemoryKnowledge(WordEmbedder()))
        agent = agent_of(guard, call(), f"{FLOORS} {TRUTH}", gate="sentence")
        assert words_of(await stream(agent)) == [TRUTH]


class TestWhatIsNotText:
    """Tool calls stream through; what is said beside them is text, and is judged."""

    @BOTH
    async def test_tool_calls(self, stream: Any) -> None:
        said = f"{TRUTH} "
        chunks = await stream(agent_of(fresh(), call(text=said), TRUTH, gate="sentence"))
        calls = [chunk.tool_calls for chunk, _ in chunks if isinstance(chunk, AIMessageChunk) and chunk.tool_calls]
        assert calls == [call().tool_calls]
        assert "".join(words_of(chunks)) == said + TRUTH

    @BOTH
    async def test_a_structured_response_is_not_gated(self, stream: Any) -> None:
        class Opening(BaseModel):
            year: int

        agent = agent_of(fresh("strict"), '{"year": 1925}', gate="sentence", response_format=ProviderStrategy(Opening))
        assert [chunk.text for chunk, _ in await stream(agent)] == ['{"year": 1925}']

    async def test_where_nobody_listens_a_draft_can_be_asked_for_again(self) -> None:
        guard = fresh("strict")
        result = await agent_of(guard, call(), FLOORS, TRUTH, gate="sentence").ainvoke(ASKED)
        assert result["messages"][-1].content == TRUTH


class _Chatty(AgentMiddleware[Any, Any, Any]):
    """Asks a model of its own inside the call."""

    def _ask(self) -> Any:
        return GenericFakeChatModel(messages=iter([AIMessage(LIE)]))

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self._ask().invoke("Which tools?")
        return handler(request)

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        await self._ask().ainvoke("Which tools?")
        return await handler(request)


class _Asking(Reader):
    """A judge that is a chat model."""

    async def verify(self, claims: Any, evidence: Any) -> Any:
        await GenericFakeChatModel(messages=iter([AIMessage(LIE)])).ainvoke("Well?")
        return await super().verify(claims, evidence)


class TestOtherModels:
    """Only the agent's own words are the turn."""

    @BOTH
    async def test_a_model_of_other_middleware(self, stream: Any) -> None:
        assert words_of(await stream(agent_of(fresh(), TRUTH, gate="sentence", beside=[_Chatty()]))) == [TRUTH]

    @BOTH
    @pytest.mark.parametrize("gate", ["turn", "sentence"])
    async def test_a_judges_model(self, stream: Any, gate: str) -> None:
        guard = Guard(_Asking(reader().script), knowledge=MemoryKnowledge(WordEmbedder()))
        chunks = await stream(agent_of(guard, call(), TRUTH, gate=gate))
        assert [chunk.text for chunk, _ in chunks if chunk.type != "tool" and chunk.text] == [TRUTH]

    @BOTH
    async def test_a_call_that_is_made_again_when_words_are_out(self, stream: Any) -> None:
        class Failing(ToolModel):
            def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
                for chunk in super()._stream(messages, *args, **kwargs):
                    if "floors" in chunk.text and len(self.asked) == 1:
                        raise ConnectionError("upstream is away")
                    yield chunk

        retry = ModelRetryMiddleware(initial_delay=0, jitter=False, on_failure="error")
        middleware: list[Any] = [VistaGuardMiddleware(fresh(), gate="sentence"), retry]
        model = Failing(messages=iter([AIMessage(f"{TRUTH} {FLOORS}")] * 3))
        with pytest.raises(InputError):
            await stream(create_agent(model, [], middleware=middleware))


class TestLeaving:
    """A reader who leaves stops the model."""

    async def test_upstream_is_closed(self, knowledge: MemoryKnowledge) -> None:
        gone: list[bool] = []

        class Endless(ToolModel):
            async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
                try:
                    yield ChatGenerationChunk(message=AIMessageChunk(content=f"{TRUTH} It"))
                    await asyncio.Event().wait()
                finally:
                    gone.append(True)

        model = Endless(messages=iter([]))
        guard = guard_with(reader(), knowledge)
        agent: Any = create_agent(model, [], middleware=[VistaGuardMiddleware(guard, gate="sentence")])
        stream = agent.astream(ASKED, THREAD, stream_mode="messages")
        assert (await anext(stream))[0].text == TRUTH
        await stream.aclose()
        assert gone == [True]
        assert await knowledge.recall("c", persona=None, query="", limit=9) == ()


def test_a_model_that_does_not_stream_is_gated_all_the_same() -> None:
    model = model_of(call(), f"{TRUTH} {LIE}").model_copy(update={"disable_streaming": True})
    agent: Any = create_agent(model, [search], middleware=[VistaGuardMiddleware(fresh(), gate="sentence")])
    words = words_of(list(agent.stream(ASKED, stream_mode="messages")))
    assert "".join(words) == f"{TRUTH}\n\n{MESSAGE}"


@BOTH
async def test_langchains_cache_does_not_mix_conversations(stream: Any) -> None:
    set_llm_cache(InMemoryCache())
    try:
        for number, text in enumerate((TRUTH, "Hello!")):
            # Another system prompt: the agents' own models are not to answer each other's questions from the cache.
            model = ToolModel(messages=iter([AIMessage(text)]))
            middleware: Any = [VistaGuardMiddleware(fresh(), gate="sentence")]
            agent = create_agent(model, system_prompt=f"Guide {number}.", middleware=middleware)
            assert words_of(await stream(agent)) == [text]
    finally:
        set_llm_cache(None)
