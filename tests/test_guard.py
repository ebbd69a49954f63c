"""The guard: check, session, replay, stream, limits, and what the reference implementation does."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from tests.conftest import GUIDE, guard_with
from tests.raising import raises
from vista_guard import (
    Action,
    Blocked,
    Claim,
    ConfigError,
    Document,
    Guard,
    InputError,
    Label,
    Limits,
    Role,
    StoreError,
    Turn,
    TurnReport,
    _aio,
)
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation, user

OPENED = "The hall opened in 1925."
FLOORS = "It has two floors."
NOTES = "The hall opened in 1925 and has two floors."


def judge() -> ScriptedJudge:
    return ScriptedJudge({OPENED: [Verdict(OPENED, needs="1925")], FLOORS: [Verdict(FLOORS, needs="two floors")]})


def test_the_last_assistant_turn_is_judged_whatever_follows_it(knowledge: MemoryKnowledge) -> None:
    report = guard_with(judge(), knowledge).check(conversation(user("When?"), assistant(OPENED, NOTES), user("Thanks")))
    assert (report.turn_index, report.response, report.decision.action) == (1, OPENED, Action.ALLOW)
    assert report.findings[0].evidence[0].quote == NOTES


ASKED = {"role": "user", "content": "When?"}


@pytest.mark.parametrize(
    "talk",
    [
        [ASKED, {"role": "assistant", "content": OPENED}],
        [HumanMessage("When?"), AIMessage(OPENED)],
        conversation(user("When?"), assistant(OPENED)),
    ],
)
def test_chat_messages_are_judged_as_they_are_beside_the_documents_given(talk: Any, knowledge: MemoryKnowledge) -> None:
    report = guard_with(judge(), knowledge).check(talk, documents=NOTES)
    assert (report.turn_index, report.decision.action, report.findings[0].evidence[0].quote) == (1, Action.ALLOW, NOTES)


def test_a_turn_keeps_its_own_documents_beside_those_given(knowledge: MemoryKnowledge) -> None:
    report = guard_with(judge(), knowledge).check(conversation(assistant(OPENED, NOTES)), documents=["Tea is served."])
    assert report.findings[0].evidence[0].quote == NOTES


def test_plain_deltas_are_streamed_to_a_plain_loop(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge)
    *texts, report = guard.gated([ASKED], iter([OPENED[:9], OPENED[9:]]), documents=NOTES)
    assert isinstance(report, TurnReport)
    assert "".join(map(str, texts)) == report.response == OPENED


def test_a_plain_loop_that_ends_early_ends_its_deltas(knowledge: MemoryKnowledge) -> None:
    ended = threading.Event()

    def deltas() -> Iterator[str]:
        try:
            while True:
                yield f"{OPENED} "
        finally:
            ended.set()

    stream = guard_with(judge(), knowledge).gated([ASKED], deltas(), documents=NOTES)
    assert str(next(iter(stream))).startswith(OPENED)  # and what else was judged meanwhile
    stream.close()
    assert ended.wait(60)


def test_given_claims_are_judged_in_place_of_decomposition(knowledge: MemoryKnowledge) -> None:
    turn = assistant(OPENED, NOTES, claims=["It opened.", "It is old."])
    scripted = judge()
    report = guard_with(scripted, knowledge).check(conversation(turn))
    assert [finding.claim.text for finding in report.findings] == ["It opened.", "It is old."]
    assert scripted.asked == []


@pytest.mark.parametrize(
    ("talk", "message"),
    [
        (OPENED, ("str",)),
        (conversation(), ()),
        (conversation(user("Hi")), ()),
        (conversation(assistant("a" * 101)), ("0", "101", "100", "limits.turn_chars")),
        (conversation(assistant("a\x00b")), ("0", "NUL", "1")),
        (conversation(assistant("a", "x" * 201)), ("d1", "201", "200", "limits")),
        (conversation(assistant("a", "x\x00")), ("d1", "NUL")),
        (conversation(assistant("a\ud800")), ("0", "1")),
        (conversation(assistant("a", "x", "y", "z")), ("0", "3", "limits.documents")),
        (conversation(*[user("Hi")] * 5, assistant("a")), ("6", "limits.turns")),
    ],
)  # fmt: skip
def test_what_cannot_be_judged_is_refused_with_its_name(
    talk: Any, message: tuple[str, ...], knowledge: MemoryKnowledge
) -> None:
    limits = Limits(turn_chars=100, document_chars=200, documents=2, turns=5)
    with raises(InputError, *message):
        guard_with(judge(), knowledge, limits=limits).check(talk)


def test_behind_a_wrapped_agent_the_same_turn_is_unchecked_and_the_policy_decides(knowledge: MemoryKnowledge) -> None:
    reports = list[TurnReport]()
    for policy in ("balanced", "strict"):
        guarded = guard_with(judge(), knowledge, policy, limits=Limits(turn_chars=10)).wrap(
            lambda _: OPENED, on_report=reports.append
        )
        guarded("When?")
    assert [report.decision.action for report in reports] == [Action.FLAG, Action.BLOCK]
    assert "limits.turn_chars" in reports[0].unchecked[0].error
    assert not reports[0].evidence_missing


def test_a_turn_that_is_no_text_is_reported_on_and_delivered_as_it_was(knowledge: MemoryKnowledge) -> None:
    reports = list[TurnReport]()
    assert guard_with(judge(), knowledge).wrap(lambda _: "a\ud800", on_report=reports.append)("When?") == "a\ud800"
    assert reports[0].unchecked[0].claim.text == "a?"
    assert TurnReport.model_validate_json(reports[0].model_dump_json()) == reports[0]


def test_claims_over_the_limit_are_unchecked_not_dropped(knowledge: MemoryKnowledge) -> None:
    turn = assistant(OPENED, NOTES, claims=["a", "b", "c"])
    report = guard_with(judge(), knowledge, limits=Limits(claims=2)).check(conversation(turn))
    assert [outcome.claim.text for outcome in report.outcomes] == ["a", "b", "c"]
    assert [outcome.claim.text for outcome in report.unchecked] == ["c"]


def test_the_persona_is_evidence(knowledge: MemoryKnowledge) -> None:
    scripted = ScriptedJudge({"I am Mira.": [Verdict("I am Mira.", needs="name is Mira")]})
    report = guard_with(scripted, knowledge, persona=GUIDE).check(conversation(assistant("I am Mira.")))
    assert (report.findings[0].label, report.findings[0].evidence[0].source) == (Label.VERIFIED, "persona")


def test_an_answer_is_judged_with_its_documents_and_its_question(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge)
    report = guard.check_answer(OPENED, documents=[NOTES, Document(id="d", text=FLOORS)], question="When?")
    assert (report.turn_index, report.findings[0].label, report.conversation_id) == (1, Label.VERIFIED, None)
    talk = conversation(user("When?"), assistant(OPENED, NOTES, FLOORS))
    assert _verdicts(report) == _verdicts(guard.check(talk))
    assert guard.check_answer(OPENED, documents=NOTES).turn_index == 0
    assert guard.check_answer(OPENED).evidence_missing


async def test_an_answer_can_be_judged_in_async_code(knowledge: MemoryKnowledge) -> None:
    report = await guard_with(judge(), knowledge).acheck_answer(OPENED, documents={"text": NOTES, "title": "Halls"})
    assert (report.decision.action, report.findings[0].evidence[0].title) == (Action.ALLOW, "Halls")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"answer": " \n"}, ()),
        ({"answer": None}, ("answer", "NoneType")),
        ({"answer": OPENED, "question": ""}, ("question",)),
        ({"answer": OPENED, "documents": 7}, ("documents", "int")),
        ({"answer": OPENED, "documents": [{"title": "no text"}]}, ("title",)),
    ],
)
def test_an_answer_that_cannot_be_judged_is_refused_by_name(
    given: dict[str, Any], named: tuple[str, ...], knowledge: MemoryKnowledge
) -> None:
    with raises(InputError, *named):
        guard_with(judge(), knowledge).check_answer(**given)


def test_a_session_keeps_what_was_delivered(knowledge: MemoryKnowledge) -> None:
    scripted = ScriptedJudge(
        {OPENED: [Verdict(OPENED, Label.CONTRADICTED)], FLOORS: [Verdict(FLOORS, needs="two floors")]}
    )
    session = guard_with(scripted, knowledge).session("c")
    session.user("When?")
    blocked = session.assistant(OPENED, assistant("", NOTES).documents)
    session.user("How big?")
    session.assistant(FLOORS, assistant("", NOTES).documents)
    assert [turn.text for turn in session.conversation.turns] == ["When?", blocked.response, "How big?", FLOORS]
    assert [report.decision.action for report in session.reports] == [Action.BLOCK, Action.ALLOW]


@pytest.mark.parametrize("name", ["c", None])
async def test_a_session_judges_with_what_it_established(name: str | None, knowledge: MemoryKnowledge) -> None:
    chat = guard_with(judge(), knowledge).session(name)
    first = await chat.aassistant(OPENED, NOTES)  # a greeting may come before any question
    chat.user("Again?")
    second = await chat.aassistant(OPENED)
    sources = [report.findings[0].evidence[0].source for report in (first, second)]
    assert (sources, second.turn_index) == (["document", "knowledge"], 2)


def test_a_session_resumes_a_stored_dialogue(knowledge: MemoryKnowledge) -> None:
    history = conversation(user("When?"), assistant(OPENED, NOTES)).turns
    with guard_with(judge(), knowledge).session("c", history=history) as chat:
        chat.user("Again?")
        report = chat.assistant(OPENED)
    assert (report.turn_index, report.findings[0].evidence[0].source) == (3, "knowledge")
    assert len(chat.reports) == 1


def test_a_session_owns_its_id_until_it_is_closed_or_dropped(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge)
    with guard.session("c") as first:
        with raises(InputError, "c"):
            guard.session("c")
        assert guard.session("d") is not guard.session()
    second = guard.session("c")
    first.close()
    with raises(InputError, "c"):
        guard.session("c")
    del second
    gc.collect()
    guard.session("c").user("Hi")


def test_what_a_session_cannot_take_is_refused_and_changes_nothing(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge, limits=Limits(turn_chars=100))
    chat = guard.session("c")
    for wrong in (lambda: chat.user(" "), lambda: chat.assistant(""), lambda: chat.assistant("a" * 101)):
        with pytest.raises(InputError):
            wrong()
    assert (chat.conversation.turns, chat.reports) == ((), ())
    chat.close()
    with raises(InputError, "c"):
        chat.user("Hi")
    with raises(InputError, "conversation_id"):
        guard.session("")


@pytest.mark.parametrize("name", [7, 0, b"c"])
def test_an_id_that_is_no_text_is_named(knowledge: MemoryKnowledge, name: Any) -> None:
    guard = guard_with(judge(), knowledge)
    wrapped = guard.wrap(lambda _: "The hall opened in 1925.")
    for wrong in (guard.session, guard.forget, lambda one: wrapped("When?", conversation_id=one)):
        with raises(InputError, "conversation_id", repr(name), type(name).__name__):
            wrong(name)


async def test_a_session_judges_one_answer_at_a_time(knowledge: MemoryKnowledge) -> None:
    chat = guard_with(judge(), knowledge).session("c")
    first = asyncio.create_task(chat.aassistant(OPENED, NOTES))
    await asyncio.sleep(0)
    with raises(InputError, "c"):
        await chat.aassistant(FLOORS, NOTES)
    with raises(InputError, "c"):
        chat.user("How big?")
    await first
    assert (await chat.aassistant(FLOORS, NOTES)).decision.action is Action.ALLOW
    assert [turn.text for turn in chat.conversation.turns] == [OPENED, FLOORS]


async def test_stream_yields_each_finding_before_the_decision(knowledge: MemoryKnowledge) -> None:
    events = [event async for event in guard_with(judge(), knowledge).stream(conversation(assistant(OPENED, NOTES)))]
    assert [event["event"] for event in events] == ["finding", "decision", "report"]


async def test_replay_judges_every_turn_in_order_and_resumes_from_reports(knowledge: MemoryKnowledge) -> None:
    talk = conversation(user("When?"), assistant(OPENED, NOTES), user("How big?"), assistant(FLOORS, NOTES), id="c")
    whole = [report async for report in guard_with(judge(), knowledge).areplay(talk)]
    assert [report.turn_index for report in whole] == [1, 3]

    fresh, later = MemoryKnowledge(_embedder()), judge()
    rest = [report async for report in guard_with(later, fresh).areplay(talk, done=whole[:1])]
    assert [_lasting(report) for report in rest] == [_lasting(whole[1])]
    assert later.asked == [FLOORS]
    assert await fresh.delivered("c") == await knowledge.delivered("c")


async def test_replay_of_some_turns(knowledge: MemoryKnowledge) -> None:
    talk = conversation(assistant(OPENED, NOTES), assistant(FLOORS, NOTES))
    reports = [report async for report in guard_with(judge(), knowledge).areplay(talk, turns=[1])]
    assert [(report.turn_index, report.conversation_id) for report in reports] == [(1, None)]


async def test_trusting_ungrounded_turns_does_as_the_reference_implementation(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge, ungrounded="trust")
    first = await guard.acheck(conversation(assistant(OPENED), id="c"))
    assert (first.outcomes, first.score, first.decision.action) == ((), None, Action.ALLOW)
    assert [passage.text for passage in await knowledge.recall("c", persona=None, query="", limit=5)] == [OPENED]


async def test_forget(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge)
    await guard.acheck(conversation(assistant(OPENED, NOTES), id="c"))
    assert await guard.aforget("c") == 1
    assert await knowledge.recall("c", persona=None, query="", limit=5) == ()


async def test_a_failing_sink_or_store_changes_no_verdict_and_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    class FullDisk:
        async def write(self, report: TurnReport) -> None:
            raise StoreError("reports.sqlite: disk full")

    class FullKnowledge(MemoryKnowledge):
        async def remember(self, *args: Any, **kwargs: Any) -> None:
            raise StoreError("knowledge: disk full")

    guard = Guard(judge(), knowledge=FullKnowledge(_embedder()), sinks=[FullDisk()])
    report = await guard.acheck(conversation(assistant(OPENED, NOTES), id="c"))
    assert report.decision.action is Action.ALLOW
    assert report.warnings == (
        "knowledge was not stored: knowledge: disk full",
        "the report was not stored: reports.sqlite: disk full",
    )
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]


def test_the_sync_door_refuses_to_wait_for_itself(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge)

    async def inside() -> None:
        guard.check(conversation(assistant(OPENED)))

    with pytest.raises(RuntimeError, match="await the async version"):
        _aio.run(inside())


async def test_the_sync_door_works_inside_a_running_loop(knowledge: MemoryKnowledge) -> None:
    await asyncio.sleep(0)
    assert guard_with(judge(), knowledge).check(conversation(assistant(OPENED, NOTES))).response == OPENED


def test_an_agent_that_is_none_is_refused(knowledge: MemoryKnowledge) -> None:
    agent: Any = "agent"
    with raises(ConfigError, "str"):
        guard_with(judge(), knowledge).wrap(agent)
    with raises(ConfigError, "str"):
        guard_with(judge(), knowledge).graph(agent)


def test_a_judge_that_is_not_known_is_refused(tmp_path: Path) -> None:
    with raises(ConfigError, "judge", "telepathy"):
        Guard.from_settings(judge="telepathy", store="memory")


def test_a_graph_can_be_drawn(knowledge: MemoryKnowledge) -> None:
    drawn = guard_with(judge(), knowledge).graph(lambda messages: OPENED).get_graph().draw_mermaid()
    assert all(
        name in drawn
        for name in ("agent", "gather", "decompose", "verify", "categorize", "decide", "repair", "remember")
    )


def _embedder() -> Any:
    from vista_guard.testing import WordEmbedder

    return WordEmbedder()


def _verdicts(report: TurnReport) -> list[tuple[Label, float]]:
    return [(finding.label, finding.confidence) for finding in report.findings]


def _lasting(report: TurnReport) -> dict[str, Any]:
    """A report without what differs from run to run."""
    return report.model_dump(exclude={"id", "gate", "timings", "created_at"})


def test_claims_and_turns_can_be_built_by_hand() -> None:
    turn = Turn(role=Role.ASSISTANT, text="x", claims=(Claim(id="a", text="b"),))
    assert turn.model_validate_json(turn.model_dump_json()) == turn


def test_documents_beside_the_messages_are_those_of_the_turn_asked_for_and_of_no_later_one(
    knowledge: MemoryKnowledge,
) -> None:
    scripted = judge()
    graph = guard_with(scripted, knowledge).graph(lambda messages: OPENED, checkpointer=InMemorySaver())
    run: Any = {"configurable": {"thread_id": "c"}}
    first = graph.invoke({"messages": [("user", "When?")], "documents": [NOTES]}, run)
    second = graph.invoke({"messages": [("user", "Again?")]}, run)
    sources = [report.findings[0].evidence[0].source for report in (first["report"], second["report"])]
    assert sources == ["document", "knowledge"]


def test_a_withheld_turn_can_be_an_exception_that_carries_the_report(knowledge: MemoryKnowledge) -> None:
    scripted = ScriptedJudge({OPENED: [Verdict(OPENED, Label.CONTRADICTED, 0.9)]})
    guard = guard_with(scripted, knowledge)
    with raises(Blocked, "policy", "balanced", "1") as caught:
        guard.wrap(lambda _: OPENED, on_block="raise")("When?")
    assert caught.value.report.blocked
    graph = guard.graph(lambda _: OPENED, on_block="raise", checkpointer=InMemorySaver())
    run: Any = {"configurable": {"thread_id": "c"}}
    with pytest.raises(Blocked):
        graph.invoke({"messages": [("user", "When?")]}, run)
    assert [message.content for message in graph.get_state(run).values["messages"]] == ["When?"]
    with raises(ConfigError, "on_block", "warn"):
        guard.wrap(lambda _: OPENED, on_block="warn")  # type: ignore[call-overload]


async def test_what_was_established_may_be_said_again_in_the_same_words(knowledge: MemoryKnowledge) -> None:
    guard = guard_with(judge(), knowledge)
    talk = conversation(user("When?"), assistant(OPENED, NOTES), id="c")
    await guard.acheck(talk)
    again = await guard.acheck(conversation(*talk.turns, user("When?"), assistant(OPENED), id="c"))
    assert (again.findings[0].label, again.findings[0].evidence[0].source) == (Label.VERIFIED, "knowledge")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_process_that_forks_after_its_first_check_can_check_on_both_sides() -> None:
    script = """
import os
from vista_guard import Guard
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
said = "The hall opened in 1925."
guard = Guard(ScriptedJudge({said: [Verdict(said, needs="1925")]}), knowledge=MemoryKnowledge(WordEmbedder()))
talk = conversation(user("When?"), assistant(said, "The hall opened in 1925."))
def passed(): return guard.check(talk).decision.action.value == "ALLOW"
assert passed()
child = os.fork()
if child == 0:
    os._exit(0 if passed() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and passed()
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
