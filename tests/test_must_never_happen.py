"""The failures that a guardrail must never have (docs/design/guarantees.md), each through the front door, sync and async."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph

from tests.conftest import GUIDE, guard_with
from tests.raising import raises
from vista_guard import Action, Conversation, Guard, JudgeError, Label, TurnReport, Unchecked
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation, user
from vista_guard.types import EvidenceSet, Passage

LIE = "The whale hall opened under Queen Zubrowka."
TRUTH = "The whale hall opened in 1925."
NOTES = "The whale hall of the tide museum opened in 1925."

Check = Callable[[Guard, Conversation], Awaitable[TurnReport]]


async def _check_sync(guard: Guard, talk: Conversation) -> TurnReport:
    return await asyncio.to_thread(guard.check, talk)


async def _check_async(guard: Guard, talk: Conversation) -> TurnReport:
    return await guard.acheck(talk)


BOTH_DOORS = pytest.mark.parametrize("check", [_check_sync, _check_async], ids=["sync", "async"])


class TestNoEvidenceNeverPassesSilently:
    """1."""

    @BOTH_DOORS
    @pytest.mark.parametrize(
        ("policy", "action"), [("monitor", Action.FLAG), ("balanced", Action.FLAG), ("strict", Action.BLOCK)]
    )
    async def test_it_is_said_and_the_policy_decides(
        self, check: Check, policy: str, action: Action, knowledge: MemoryKnowledge
    ) -> None:
        judge = ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")]})
        report = await check(guard_with(judge, knowledge, policy), conversation(user("When?"), assistant(TRUTH)))
        assert report.evidence_missing
        assert report.decision.action is action
        assert report.decision.reason.startswith("there was no evidence to verify against")

    async def test_what_needs_no_evidence_is_let_through_and_still_said(self, knowledge: MemoryKnowledge) -> None:
        judge = ScriptedJudge({"I love whales.": [Verdict("I love whales.", Label.OUT_OF_SCOPE)]})
        report = await guard_with(judge, knowledge, "strict").acheck(conversation(assistant("I love whales.")))
        assert (report.evidence_missing, report.decision.action) == (True, Action.ALLOW)

    @BOTH_DOORS
    @pytest.mark.parametrize("context", ["none", "full"])
    async def test_opinions_and_what_was_said_before_are_no_evidence(
        self, check: Check, context: Literal["none", "full"]
    ) -> None:
        said = {"I love whales.": [Verdict("I love whales.", Label.OUT_OF_SCOPE)], LIE: [Verdict(LIE, needs="1925")]}
        with Guard.from_settings(judge=ScriptedJudge(said), policy="strict", store="memory", context=context) as guard:
            talk = conversation(user("Hi. I think it opened long ago."), assistant("I love whales."), user("When?"))
            report = await check(guard, conversation(*talk.turns, assistant(LIE), id="c"))
        assert (report.evidence_missing, report.decision.action) == (True, Action.BLOCK)

    @pytest.mark.parametrize(
        "blank", [" ", "\u200b", "\ufeff", "\u3164", "&nbsp;", "<p></p>", "<p><br/>&nbsp;</p>", f"~~{NOTES}~~", "***"]
    )
    async def test_a_document_without_a_readable_word_is_no_evidence(
        self, blank: str, knowledge: MemoryKnowledge
    ) -> None:
        judge = ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")]})
        guard = guard_with(judge, knowledge)
        report = await guard.acheck(conversation(user("When?"), assistant(TRUTH, blank)))
        assert report.evidence_missing
        assert not (await guard.acheck(conversation(user("When?"), assistant(TRUTH, blank, NOTES)))).evidence_missing

    async def test_a_text_that_only_an_attribute_has_is_evidence(self, knowledge: MemoryKnowledge) -> None:
        judge = ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")]})
        report = await guard_with(judge, knowledge).acheck(conversation(assistant(TRUTH, f'<img alt="{NOTES}">')))
        assert (report.evidence_missing, report.findings[0].label) == (False, Label.VERIFIED)


class _Careless(ScriptedJudge):
    """Answers with fewer checks than claims."""

    async def verify(self, claims: Any, evidence: EvidenceSet) -> Any:
        return list(await super().verify(claims, evidence))[:-1]


class _Promoting(ScriptedJudge):
    """Calls an unsupported claim verified."""

    async def categorize(self, checks: Any, evidence: EvidenceSet) -> Any:
        findings = await super().categorize(checks, evidence)
        return [finding.model_copy(update={"label": Label.VERIFIED}) for finding in findings]


class TestAFailingJudgeNeverPassesAsClean:
    """2."""

    @BOTH_DOORS
    @pytest.mark.parametrize(
        ("judge", "error"),
        [
            (ScriptedJudge({LIE: JudgeError("no answer within 10 s")}), "no answer within 10 s"),
            (ScriptedJudge({LIE: RuntimeError("CUDA on fire")}), "the judge failed: RuntimeError: CUDA on fire"),
            (ScriptedJudge({LIE: [Verdict(LIE, error="label 'maybe' is none")]}), "label 'maybe' is none"),
            (ScriptedJudge({LIE: [Verdict(" ")]}), "scripted gave an empty claim t0.c1"),
            (_Careless({LIE: [Verdict(LIE)]}), "scripted did not answer with one check for each claim"),
            (
                _Promoting({LIE: [Verdict(LIE, Label.CONTRADICTED)]}),
                "scripted categorised an unsupported claim as VERIFIED",
            ),
        ],
        ids=["error", "crash", "nonsense", "empty claim", "missing answer", "promotion"],
    )
    async def test_it_is_unchecked_and_the_policy_decides(
        self, check: Check, judge: ScriptedJudge, error: str, knowledge: MemoryKnowledge
    ) -> None:
        for policy, action in (("balanced", Action.FLAG), ("strict", Action.BLOCK)):
            report = await check(guard_with(judge, knowledge, policy), conversation(assistant(LIE, NOTES)))
            (outcome,) = report.outcomes
            assert isinstance(outcome, Unchecked)
            assert outcome.error == error
            assert (report.score, report.decision.action) == (None, action)

    async def test_a_store_that_cannot_be_read_is_not_less_evidence(self, knowledge: MemoryKnowledge) -> None:
        class Broken(MemoryKnowledge):
            async def recall(self, *args: Any, **kwargs: Any) -> tuple[Passage, ...]:
                from vista_guard import StoreError

                raise StoreError("the knowledge at /data cannot be read: disk I/O error")

        judge = ScriptedJudge({})
        report = await Guard(judge, "strict", knowledge=Broken(None)).acheck(conversation(assistant(TRUTH, NOTES)))  # type: ignore[arg-type]
        assert report.decision.action is Action.BLOCK
        assert "disk I/O error" in report.decision.reason


def _scripted() -> ScriptedJudge:
    return ScriptedJudge({LIE: [Verdict(LIE, Label.CONTRADICTED, 0.97)], TRUTH: [Verdict(TRUTH, needs="1925")]})


def _graph_agent(answer: str) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("speak", lambda state: {"messages": [AIMessage(content=answer, id="draft-1")]})
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    return builder


class TestBlockedTextStaysNowhere:
    """4."""

    def test_not_in_the_checkpoint_of_a_graph_around_it(self, tmp_path: Path, knowledge: MemoryKnowledge) -> None:
        file = tmp_path / "checkpoints.sqlite"
        outer = StateGraph(MessagesState)
        outer.add_node("guarded", guard_with(_scripted(), knowledge).graph(_graph_agent(LIE).compile()))
        outer.add_edge(START, "guarded")
        with SqliteSaver.from_conn_string(str(file)) as saver:
            graph = outer.compile(checkpointer=saver)
            result = graph.invoke(
                {"messages": [HumanMessage("When?")]}, {"configurable": {"thread_id": "t"}}, durability="sync"
            )
        assert [message.content for message in result["messages"]] == ["When?", MESSAGE]
        _assert_nowhere(file, "Zubrowka")

    def test_not_in_another_part_of_the_agents_state(self, tmp_path: Path, knowledge: MemoryKnowledge) -> None:
        class Answering(MessagesState):
            answer: str

        def agent(answer: str) -> Any:
            builder = StateGraph(Answering)
            builder.add_node("speak", lambda state: {"messages": [AIMessage(answer)], "answer": answer})
            builder.add_edge(START, "speak")
            return builder

        file = tmp_path / "checkpoints.sqlite"
        guard = guard_with(_scripted(), knowledge, "strict")
        asked: Any = {"messages": [HumanMessage("When?")]}
        with SqliteSaver.from_conn_string(str(file)) as saver:
            blocked = guard.wrap(agent(LIE).compile(checkpointer=saver))
            assert "answer" not in blocked.invoke(asked, {"configurable": {"thread_id": "t"}})
        _assert_nowhere(file, "Zubrowka")
        allowed = guard.graph(agent(TRUTH).compile(), documents=lambda talk: assistant("", NOTES).documents)
        assert allowed.invoke(asked)["answer"] == TRUTH

    @BOTH_DOORS
    async def test_not_in_the_knowledge(self, check: Check, knowledge: MemoryKnowledge) -> None:
        judge = ScriptedJudge(
            {LIE: [Verdict("The museum has whales.", needs="whale"), Verdict(LIE, Label.CONTRADICTED)]}
        )
        report = await check(guard_with(judge, knowledge), conversation(assistant(LIE, NOTES), id="c"))
        assert report.blocked
        assert report.response == MESSAGE
        assert await knowledge.recall("c", persona=None, query="", limit=10) == ()

    @pytest.mark.parametrize("mode", ["values", "updates", "messages", "custom"])
    async def test_not_in_a_stream_of_the_host(self, mode: Any, knowledge: MemoryKnowledge) -> None:
        model = GenericFakeChatModel(messages=iter([AIMessage(content=LIE), AIMessage(content=LIE)]))

        async def speak(state: MessagesState) -> dict[str, Any]:
            return {"messages": [await model.ainvoke(state["messages"])]}

        builder = StateGraph(MessagesState)
        builder.add_node("speak", speak)
        builder.add_edge(START, "speak")
        graph = guard_with(_scripted(), knowledge).graph(builder.compile())
        seen: list[Any] = [
            chunk
            async for chunk in graph.astream({"messages": [HumanMessage("When?")]}, stream_mode=mode, subgraphs=True)
        ]
        told = [event for _, event in seen if mode == "custom"]
        shown = repr([chunk for _, chunk in seen if mode != "custom"]).replace(repr(_report_of(seen)), "")
        assert "Zubrowka" not in shown
        assert mode != "messages" or [message.content for _, (message, _) in seen] == [MESSAGE]
        assert [event["event"] for event in told] == ([] if mode != "custom" else ["finding", "decision", "report"])


def _report_of(seen: list[Any]) -> Any:
    """The report names what was withheld, to whoever reads reports; it is not the conversation."""
    for _, chunk in seen:
        if isinstance(chunk, dict):
            for part in (chunk, *[value for value in chunk.values() if isinstance(value, dict)]):
                if "report" in part:
                    return part["report"]
    return None


def _assert_nowhere(file: Path, text: str) -> None:
    with sqlite3.connect(file) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        rows = [row for table in tables for row in connection.execute(f"select * from {table}")]
    connection.close()
    assert rows
    assert text.encode() not in b"".join(
        cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row
    )


class TestEarlierTurnsAreNeitherFlaggedNorBelieved:
    """5."""

    @BOTH_DOORS
    async def test_earlier_turns_become_knowledge_only_when_verified(
        self, check: Check, knowledge: MemoryKnowledge
    ) -> None:
        judge = ScriptedJudge(
            {
                TRUTH: [Verdict(TRUTH, needs="1925")],
                "It has two floors.": [Verdict("The hall has two floors.", needs="floors")],
                "As I said, 1925.": [
                    Verdict("The hall opened in 1925.", needs="1925"),
                    Verdict("There are two floors.", needs="two floors"),
                ],
            }
        )
        talk = conversation(
            assistant(TRUTH, NOTES), user("And?"), assistant("It has two floors."), user("When again?"),
            assistant("As I said, 1925."),
        )  # fmt: skip
        report = await check(guard_with(judge, knowledge), talk)
        assert [finding.label for finding in report.findings] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
        assert report.turn_index == 4
        judge.assert_spent()

    async def test_a_turn_that_was_delivered_is_not_judged_again(self, knowledge: MemoryKnowledge) -> None:
        judge = _scripted()
        guard = guard_with(judge, knowledge)
        first = conversation(user("When?"), assistant(TRUTH, NOTES), id="c")
        await guard.acheck(first)
        again = conversation(*first.turns, user("Sure?"), assistant(LIE, NOTES), id="c")
        await guard.acheck(again)
        assert judge.asked == [TRUTH, LIE]

    @BOTH_DOORS
    @pytest.mark.parametrize("name", ["c", None])
    async def test_an_opinion_that_is_said_twice_is_no_fact(
        self, check: Check, name: str | None, knowledge: MemoryKnowledge
    ) -> None:
        tour, fact = "I would take the night tour.", "There is a night tour."
        judge = ScriptedJudge(
            {
                tour: [Verdict(tour, Label.OUT_OF_SCOPE, needs="I would take the night tour")],
                fact: [Verdict(fact, Label.LACKING_EVIDENCE, needs="night tour")],
            }
        )
        guard = guard_with(judge, knowledge)
        turns = [user("What now?"), assistant(tour), user("Really?"), assistant(tour)]
        reports = [await check(guard, conversation(*turns[:length], id=name)) for length in (2, 4)]
        reports.append(await check(guard, conversation(*turns, user("And?"), assistant(fact), id=name)))
        assert [report.findings[0].label for report in reports] == [Label.OUT_OF_SCOPE] * 3

    async def test_a_turn_does_not_support_itself(self, knowledge: MemoryKnowledge) -> None:
        judge = ScriptedJudge({TRUTH: [Verdict(TRUTH, Label.OUT_OF_SCOPE, needs="1925")]})
        guard = guard_with(judge, knowledge)
        talk = conversation(assistant(TRUTH), id="c")
        labels = [(await guard.acheck(talk)).findings[0].label for _ in range(2)]
        assert labels == [Label.OUT_OF_SCOPE, Label.OUT_OF_SCOPE]


class TestConversationsNeverMix:
    """6."""

    async def test_two_hundred_at_once(self, knowledge: MemoryKnowledge) -> None:
        said = {
            f"Room {number} is open.": [Verdict(f"Room {number} is open.", Label.OUT_OF_SCOPE)] for number in range(200)
        }
        judge = ScriptedJudge(said)
        guard = guard_with(judge, knowledge, persona=GUIDE)

        async def talk(number: int) -> tuple[str, ...]:
            name = f"c{number}"
            await guard.acheck(conversation(assistant(f"Room {number} is open."), id=name))
            return tuple(passage.text for passage in await knowledge.recall(name, persona=GUIDE, query="", limit=9))

        known = await asyncio.gather(*(talk(number) for number in range(200)))
        assert known == [(*GUIDE.facts, f"Room {number} is open.") for number in range(200)]

    async def test_anonymous_conversations_leave_nothing_and_share_nothing(self, knowledge: MemoryKnowledge) -> None:
        judge = ScriptedJudge({"I like it.": [Verdict("I like it.", Label.OUT_OF_SCOPE, needs="I like it.")]})
        guard = guard_with(judge, knowledge)
        for _ in range(2):
            report = await guard.acheck(conversation(user("Hm?"), assistant("I like it.")))
            assert report.findings[0].label is Label.OUT_OF_SCOPE


class TestBlockBlocksEverywhere:
    """7: a configured block withholds the turn on every surface of this version."""

    def test_a_runnable(self, knowledge: MemoryKnowledge) -> None:
        agent = guard_with(_scripted(), knowledge).wrap(
            RunnableLambda(lambda _: {"answer": LIE, "context": [_document()]})
        )
        expected = {"answer": MESSAGE, "context": [_document()]}
        assert agent.invoke({"question": "When?"}) == expected
        assert agent.batch([{"question": "When?"}]) == [expected]
        assert list(agent.stream({"question": "When?"})) == [expected]

    @BOTH_DOORS
    async def test_a_check(self, check: Check, knowledge: MemoryKnowledge) -> None:
        report = await check(guard_with(_scripted(), knowledge), conversation(assistant(LIE, NOTES)))
        assert (report.blocked, report.response) == (True, MESSAGE)

    def test_every_other_answer_than_an_understood_one_is_refused(self, knowledge: MemoryKnowledge) -> None:
        from vista_guard import InputError

        agent = guard_with(_scripted(), knowledge).wrap(lambda question: 42)
        with raises(InputError, "int"):
            agent("When?")

    def test_the_same_policy_lets_the_truth_through(self, knowledge: MemoryKnowledge) -> None:
        policy = build_policy("strict")
        agent = Guard(_scripted(), policy, knowledge=knowledge).wrap(lambda question: assistant(TRUTH, NOTES))
        assert agent("When?") == assistant(TRUTH, NOTES)


def _document() -> LangChainDocument:
    return LangChainDocument(page_content=NOTES, id="notes")
