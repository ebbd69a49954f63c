"""The middleware in LangChain's `create_agent`: what passes, what is judged on what, and who it gets on with."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ModelRetryMiddleware, SummarizationMiddleware
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import LanguageModelInput
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import Runnable
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from tests.conftest import guard_with
from tests.raising import raises
from vista_guard import Action, Blocked, ConfigError, Conversation, Document, Guard, Label, TurnReport
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.reading.chat_json import to_conversation
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict

LIE = "The whale hall opened under Queen Zubrowka."
TRUTH = "The whale hall opened in 1925."
NOTES = "The whale hall of the tide museum opened in 1925."
ASKED: Any = {"messages": [HumanMessage("When did it open?", id="q")]}
THREAD: Any = {"configurable": {"thread_id": "c"}}


class ToolModel(GenericFakeChatModel):
    """A fake chat model that takes tools. `asked` keeps what it was sent."""

    asked: list[list[BaseMessage]] = []  # noqa: RUF012  # a pydantic field: each model has its own

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[LanguageModelInput, AIMessage]:
        """The tools are in the script already."""
        return self.bind(**kwargs) if kwargs.get("stop") else self.bind()

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
        self.asked.append(messages)
        return super()._generate(messages, *args, **kwargs)

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        """Word by word; then what is not text."""
        message = self._generate(messages).generations[0].message
        for word in re.split(r"(?<=\s)", message.text):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word, id=message.id))
        calls: list[Any] = [
            {"name": made["name"], "args": json.dumps(made["args"]), "id": made["id"], "index": place}
            for place, made in enumerate(getattr(message, "tool_calls", ()))
        ]
        yield ChatGenerationChunk(message=AIMessageChunk(content="", id=message.id, tool_call_chunks=calls))


@tool
def search(query: str) -> str:
    """Searches the museum's notes."""
    return NOTES


@tool(response_format="content_and_artifact")
def retrieve(query: str) -> tuple[str, list[LangChainDocument]]:
    """Retrieves the museum's notes."""
    return "1 hit", [LangChainDocument(page_content=NOTES, id="notes", metadata={"title": "Halls"})]


def call(name: str = "search", text: str = "", number: int = 1) -> AIMessage:
    """The model calls a tool."""
    return AIMessage(text, tool_calls=[{"name": name, "args": {"query": "whale"}, "id": f"call-{number}"}])


def model_of(*answers: AIMessage | str) -> ToolModel:
    """A model that gives these answers, in order."""
    return ToolModel(messages=iter([AIMessage(answer) if isinstance(answer, str) else answer for answer in answers]))


def scripted() -> ScriptedJudge:
    """Knows the lie and the truth."""
    return ScriptedJudge({LIE: [Verdict(LIE, Label.CONTRADICTED, 0.97)], TRUTH: [Verdict(TRUTH, needs="1925")]})


def agent_of(guard: Guard, *answers: AIMessage | str, beside: Sequence[Any] = (), **options: Any) -> Any:
    """An agent with two tools and the middleware first. `response_format` and `checkpointer` are the agent's."""
    own = {key: options.pop(key) for key in ("response_format", "checkpointer", "tools") if key in options}
    middleware = [VistaGuardMiddleware(guard, **options), *beside]
    return create_agent(
        model_of(*answers), **{"tools": [search, retrieve], **own}, middleware=middleware, name="museum"
    )


def comparable(report: TurnReport) -> dict[str, Any]:
    """A report without what differs from run to run."""
    return report.model_dump(exclude={"id", "gate", "timings", "created_at"})


class TestEvidence:
    """What the tools answered in this turn, and what `documents` finds."""

    @pytest.mark.parametrize(
        ("name", "source"), [("search", ("tool:call-1", "search")), ("retrieve", ("notes", "Halls"))]
    )
    async def test_tools_of_this_turn(
        self, name: str, source: tuple[str, str | None], knowledge: MemoryKnowledge
    ) -> None:
        reports: list[TurnReport] = []
        agent = agent_of(guard_with(scripted(), knowledge, "strict"), call(name), TRUTH, on_report=reports.append)
        result = await agent.ainvoke(ASKED)
        assert result["messages"][-1].content == TRUTH
        (finding,) = reports[0].findings
        assert (finding.label, [(shown.source_id, shown.quote) for shown in finding.evidence]) == (
            Label.VERIFIED,
            [(source[0], NOTES)],
        )

    def test_tools_of_an_earlier_turn_are_not_this_turns(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        judge = ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")], "Hello.": []})
        agent = agent_of(guard_with(judge, knowledge), TRUTH, on_report=reports.append)
        past = [HumanMessage("Hi"), call(), ToolMessage(NOTES, tool_call_id="call-1"), AIMessage("Hello.")]
        agent.invoke({"messages": [*past, *ASKED["messages"]]})
        assert (reports[0].evidence_missing, reports[0].findings[0].label) == (True, Label.LACKING_EVIDENCE)

    def test_a_callable_finds_documents(self, knowledge: MemoryKnowledge) -> None:
        seen: list[Conversation] = []

        def find(conversation: Conversation) -> list[Document]:
            seen.append(conversation)
            return [Document(id="notes", text=NOTES)]

        agent = agent_of(guard_with(scripted(), knowledge, "strict"), TRUTH, documents=find)
        assert agent.invoke(ASKED, THREAD)["messages"][-1].content == TRUTH
        assert [(talk.id, [turn.text for turn in talk.turns]) for talk in seen] == [("c", ["When did it open?", TRUTH])]


class TestOneConversationEverySurface:
    """The same report as by check and by wrap."""

    @pytest.mark.parametrize("said", [LIE, TRUTH])
    async def test_the_report_is_the_same(self, said: str) -> None:
        from vista_guard.testing import WordEmbedder

        def fresh() -> Guard:
            return guard_with(scripted(), MemoryKnowledge(WordEmbedder()))

        past = [HumanMessage("Hi"), AIMessage(TRUTH)]
        asked: Any = {"messages": [*past, *ASKED["messages"]]}
        reports: list[TurnReport] = []
        await agent_of(fresh(), call(), said, on_report=reports.append).ainvoke(asked, THREAD)
        fresh().wrap(
            create_agent(model_of(call(), said), tools=[search], checkpointer=InMemorySaver()),
            on_report=reports.append,
        ).invoke(asked, THREAD)
        tool_call = {"id": "call-1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
        talk = to_conversation(
            [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": TRUTH},
                {"role": "user", "content": "When did it open?"},
                {"role": "assistant", "content": None, "tool_calls": [tool_call]},
                {"role": "tool", "content": NOTES, "tool_call_id": "call-1"},
                {"role": "assistant", "content": said},
            ],
            conversation_id="c",
        )
        reports.append(await fresh().acheck(talk))
        assert comparable(reports[0]) == comparable(reports[1]) == comparable(reports[2])


class TestWhatPasses:
    """Tool calls, reasoning and structured responses: untouched, and never judged."""

    async def test_tool_calls_and_what_is_said_beside_them(self, knowledge: MemoryKnowledge) -> None:
        aside = "Let me look that up."
        judge = ScriptedJudge({aside: [Verdict(aside, Label.OUT_OF_SCOPE)], TRUTH: [Verdict(TRUTH, needs="1925")]})
        said = call(text=aside)
        said.additional_kwargs = {"reasoning_content": "hm"}
        result = await agent_of(guard_with(judge, knowledge, "strict"), said, TRUTH).ainvoke(ASKED)
        passed = result["messages"][1]
        assert (passed.content, passed.tool_calls, passed.additional_kwargs) == (
            said.content, said.tool_calls, said.additional_kwargs,
        )  # fmt: skip
        assert judge.asked == ["Let me look that up.", TRUTH]

    async def test_of_what_is_said_beside_a_call_only_what_holds_up(self, knowledge: MemoryKnowledge) -> None:
        told: list[TurnReport] = []
        agent = agent_of(
            guard_with(scripted(), knowledge, "strict"), call(text=LIE), TRUTH, on_report=told.append, on_block="raise"
        )
        result = await agent.ainvoke(ASKED)
        assert (result["messages"][1].content, result["messages"][1].tool_calls) == ("", call().tool_calls)
        assert result["messages"][-1].content == TRUTH
        assert [report.decision.action for report in told] == [Action.BLOCK, Action.ALLOW]

    def test_reasoning_parts_of_a_delivered_answer(self, knowledge: MemoryKnowledge) -> None:
        parts: list[Any] = [{"type": "reasoning", "reasoning": LIE}, {"type": "text", "text": TRUTH}]
        judge = scripted()
        result = agent_of(guard_with(judge, knowledge, "strict"), call(), AIMessage(parts)).invoke(ASKED)
        assert result["messages"][-1].content == parts
        assert judge.asked == [TRUTH]

    def test_a_withheld_answer_takes_its_reasoning_along(self, knowledge: MemoryKnowledge) -> None:
        parts: list[Any] = [{"type": "reasoning", "reasoning": LIE}, {"type": "text", "text": LIE}]
        draft = AIMessage(parts, id="draft", additional_kwargs={"reasoning_content": LIE})
        said = agent_of(guard_with(scripted(), knowledge), call(), draft).invoke(ASKED)["messages"][-1]
        # LangChain names the messages of an agent that has a name.
        assert said == AIMessage(MESSAGE, id=said.id, name="museum", response_metadata={"vista_guard": "BLOCK"})

    @pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
    async def test_structured_responses(self, strategy: Any, knowledge: MemoryKnowledge) -> None:
        class Opening(BaseModel):
            year: int

        structured = AIMessage("", tool_calls=[{"name": "Opening", "args": {"year": 1925}, "id": "s"}])
        answer = structured if strategy is ToolStrategy else AIMessage('{"year": 1925}')
        judge = scripted()
        guard = guard_with(judge, knowledge, "strict")
        for result in (
            agent_of(guard, call(), answer, response_format=strategy(Opening)).invoke(ASKED),
            await agent_of(guard, call(), answer, response_format=strategy(Opening)).ainvoke(ASKED),
        ):
            assert result["structured_response"] == Opening(year=1925)
        assert judge.asked == []


class TestRegenerate:
    """A rejected draft is asked for again inside the model call, as often as the policy allows."""

    def _guard(self, knowledge: MemoryKnowledge, attempts: int = 1) -> Guard:
        judge = ScriptedJudge({LIE: [Verdict(LIE, Label.LACKING_EVIDENCE)], TRUTH: [Verdict(TRUTH, needs="1925")]})
        return Guard(judge, build_policy("strict", {"max_attempts": attempts}), knowledge=knowledge)

    async def test_the_model_is_told_what_failed(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        guard, model = self._guard(knowledge), model_of(call(), LIE, TRUTH)
        middleware = VistaGuardMiddleware(guard, on_report=reports.append)
        agent: Any = create_agent(model, [search], middleware=[middleware], checkpointer=InMemorySaver())
        result = await agent.ainvoke(ASKED, THREAD)
        assert [message.type for message in result["messages"]] == ["human", "ai", "tool", "ai"]
        assert result["messages"][-1].content == TRUTH
        *_, draft, note = model.asked[-1]
        assert (draft.content, LIE in note.content, "not shown to the user" in note.content) == (LIE, True, True)
        (report,) = reports
        assert (report.decision.action, len(report.attempts), report.response) == (Action.REPAIR, 1, TRUTH)

    @pytest.mark.parametrize("attempts", [0, 1, 2])
    def test_it_is_bounded(self, attempts: int, knowledge: MemoryKnowledge) -> None:
        model = model_of(*[LIE] * 5)
        documents = lambda talk: [Document(id="notes", text=NOTES)]  # noqa: E731
        middleware = VistaGuardMiddleware(self._guard(knowledge, attempts), documents=documents)
        result = create_agent(model, [search], middleware=[middleware]).invoke(ASKED)
        assert (len(model.asked), result["messages"][-1].content) == (attempts + 1, MESSAGE)

    async def test_going_back_to_the_tools_spends_the_attempt(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        agent = agent_of(
            self._guard(knowledge), call(), LIE, call(number=2), LIE, call(number=3), on_report=reports.append
        )
        modes = [chunk async for chunk in agent.astream(ASKED, stream_mode="updates")]
        assert "Zubrowka" not in repr(modes)
        assert modes[-2]["model"]["messages"][-1].content == MESSAGE
        assert [(len(report.attempts), report.decision.action) for report in reports] == [(1, Action.BLOCK)]


class TestTheEndOfTheRun:
    """jump_to, and on_block."""

    async def test_an_agent_that_owes_a_structured_response_stops_at_a_withheld_answer(
        self, knowledge: MemoryKnowledge
    ) -> None:
        class Opening(BaseModel):
            year: int

        for run in ("sync", "async"):
            agent = agent_of(
                guard_with(scripted(), knowledge), LIE, LIE, tools=[], response_format=ToolStrategy(Opening)
            )
            result = await (agent.ainvoke(ASKED) if run == "async" else asyncio.to_thread(agent.invoke, ASKED))
            assert [message.content for message in result["messages"]] == ["When did it open?", MESSAGE]

    async def test_raise(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        guard = guard_with(scripted(), knowledge)
        options: Any = {"on_block": "raise", "on_report": reports.append}
        with pytest.raises(Blocked) as sync:
            agent_of(guard, LIE, **options).invoke(ASKED)
        with pytest.raises(Blocked) as asynchronous:
            await agent_of(guard, LIE, **options).ainvoke(ASKED)
        assert [sync.value.report, asynchronous.value.report] == reports
        assert "Zubrowka" not in str(sync.value)


class TestBesideOtherMiddleware:
    """Human in the loop, summaries, retries."""

    async def test_human_in_the_loop(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        agent = agent_of(
            guard_with(scripted(), knowledge, "strict"),
            call(),
            TRUTH,
            beside=[HumanInTheLoopMiddleware(interrupt_on={"search": True})],
            checkpointer=InMemorySaver(),
            on_report=reports.append,
        )
        paused = await agent.ainvoke(ASKED, THREAD)
        assert ("__interrupt__" in paused, reports) == (True, [])
        done = await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)
        assert done["messages"][-1].content == TRUTH
        assert [report.conversation_id for report in reports] == ["c"]

    async def test_summaries(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        summary = SummarizationMiddleware(
            model=model_of("They greeted each other."), trigger=("messages", 5), keep=("messages", 1)
        )
        agent = agent_of(
            guard_with(ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")]}), knowledge),
            call(),
            TRUTH,
            beside=[summary],
            on_report=reports.append,
        )
        past = [HumanMessage("Hi"), AIMessage("Hello."), HumanMessage("Well"), AIMessage("Yes?")]
        result = await agent.ainvoke({"messages": [*past, *ASKED["messages"]]}, THREAD)
        assert "They greeted each other." in result["messages"][0].content
        assert result["messages"][-1].content == TRUTH
        assert [report.findings[0].label for report in reports] == [Label.VERIFIED]

    def test_a_retry_inside_is_one_turn(self, knowledge: MemoryKnowledge) -> None:
        class Failing(ToolModel):
            def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Any:
                if not self.asked:
                    self.asked.append(messages)
                    raise ConnectionError("upstream is away")
                return super()._generate(messages, *args, **kwargs)

        reports: list[TurnReport] = []
        guard = guard_with(scripted(), knowledge)
        middleware: list[Any] = [
            VistaGuardMiddleware(guard, on_report=reports.append), ModelRetryMiddleware(initial_delay=0, jitter=False)
        ]  # fmt: skip
        model = Failing(messages=iter([AIMessage(LIE)]))
        assert create_agent(model, [], middleware=middleware).invoke(ASKED)["messages"][-1].content == MESSAGE
        assert len(reports) == 1


class TestGates:
    """What cannot hold a block is refused."""

    def test_none_lets_the_words_through_and_reports(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        agent = agent_of(guard_with(scripted(), knowledge, "monitor"), LIE, gate="none", on_report=reports.append)
        words = [message.content for message, _ in agent.stream(ASKED, stream_mode="messages")]
        assert ("".join(words), len(words) > 5) == (LIE, True)
        assert [report.decision.action for report in reports] == [Action.FLAG]

    @pytest.mark.parametrize(
        ("options", "policy", "message"),
        [
            ({"gate": "words"}, "balanced", ("gate", "words")),
            ({"gate": "none"}, "balanced", ("policy", "balanced")),
            ({"on_block": "warn"}, "balanced", ("on_block", "warn")),
        ],
    )
    def test_refused(self, options: Any, policy: str, message: tuple[str, ...], knowledge: MemoryKnowledge) -> None:
        with raises(ConfigError, *message):
            VistaGuardMiddleware(guard_with(scripted(), knowledge, policy), **options)
