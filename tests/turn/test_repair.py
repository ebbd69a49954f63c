"""Repair, through the guard: regenerate, redact, annotate, refuse."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from vista_guard import Action, Guard, Label, RepairMode, TurnReport
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation
from vista_guard.turn.repair import says_again

GOOD = "The hall opened in 1925."
BAD = "It was built by Vikings."
MIXED = f"{GOOD} {BAD} Entry is free."
NOTES = "The hall opened in 1925. Entry is free."


def judge() -> ScriptedJudge:
    free = Verdict("Entry is free.", needs="free")
    return ScriptedJudge(
        {
            MIXED: [
                Verdict(GOOD, needs="1925"),
                Verdict(BAD, Label.CONTRADICTED, 0.9, quote="built by shipwrights"),
                free,
            ],
            f"{GOOD} Entry is free.": [Verdict(GOOD, needs="1925"), free],
        }
    )


def guard(knowledge: MemoryKnowledge, repair: RepairMode, **more: Any) -> Guard:
    rules = {"CONTRADICTED": {"action": "REPAIR"}}
    return Guard(judge(), build_policy("balanced", {"rules": rules, "repair": repair, **more}), knowledge=knowledge)


async def known(knowledge: MemoryKnowledge) -> list[str]:
    return [passage.text for passage in await knowledge.recall("c", persona=None, query="", limit=10)]


async def test_redact_drops_the_sentence_and_what_it_claimed(knowledge: MemoryKnowledge) -> None:
    report = await guard(knowledge, RepairMode.REDACT).acheck(conversation(assistant(MIXED, NOTES), id="c"))
    assert report.response == f"{GOOD} Entry is free."
    assert report.decision.action is Action.REPAIR
    assert report.decision.reason == f"1 sentence dropped: t0.c2 contradicted (0.90): {BAD}"
    assert await known(knowledge) == [GOOD, "Entry is free."]


@pytest.mark.parametrize(
    "again", [BAD, "In short, **it was built** by Vikings!", "- It was built by Vikings\n\nEnjoy."]
)
async def test_redact_drops_what_is_said_again(again: str) -> None:
    """Equal claims are one claim, placed where it is first said."""
    free, bad = Verdict("Entry is free.", needs="free"), Verdict(BAD, Label.CONTRADICTED, 0.9)
    text = f"{GOOD} {BAD} Entry is free.\n\n{again}"
    scripted = ScriptedJudge({text: [Verdict(GOOD, needs="1925"), bad, free]})
    rules = {"CONTRADICTED": {"action": "REPAIR"}}
    policy = build_policy("balanced", {"rules": rules, "repair": "redact"})
    report = await Guard(scripted, policy).acheck(conversation(assistant(text, NOTES)))
    assert report.response == f"{GOOD} Entry is free." + "\n\nEnjoy." * again.endswith("Enjoy.")


@pytest.mark.parametrize(
    ("sentence", "own", "again"),
    [
        ("It says 24 months.", False, True),
        ("The lease is 24 months and it is cheap.", True, False),
        ("So the battery holds 5000 mAh, and it is light.", True, True),
        ("The battery holds 500 mAh.", False, False),
    ],
)
def test_few_words_are_no_repetition_in_a_sentence_with_a_claim(sentence: str, own: bool, again: bool) -> None:
    assert says_again(sentence, [" 24 months ", " the battery holds 5000 mah "], own=own) is again


async def test_annotate_marks_the_claim_and_leaves_the_text(knowledge: MemoryKnowledge) -> None:
    report = await guard(knowledge, RepairMode.ANNOTATE).acheck(conversation(assistant(MIXED, NOTES), id="c"))
    assert report.response == f"{GOOD} {BAD} [1] Entry is free.\n\n[1] {BAD}: contradicted by: “built by shipwrights”."
    assert await known(knowledge) == [GOOD, "Entry is free."]


async def test_refuse_withholds(knowledge: MemoryKnowledge) -> None:
    report = await guard(knowledge, RepairMode.REFUSE).acheck(conversation(assistant(MIXED, NOTES), id="c"))
    assert (report.blocked, report.response) == (True, MESSAGE)
    assert report.decision.reason.startswith("could not be repaired: t0.c2 contradicted")
    assert await known(knowledge) == []


async def test_nothing_left_to_say_is_a_refusal(knowledge: MemoryKnowledge) -> None:
    only = ScriptedJudge({BAD: [Verdict(BAD, Label.LACKING_EVIDENCE, 0.9)]})
    report = await Guard(only, "strict", knowledge=knowledge).acheck(conversation(assistant(BAD, NOTES)))
    assert (report.blocked, report.response) == (True, MESSAGE)


async def test_without_an_agent_regenerate_takes_the_fallback(knowledge: MemoryKnowledge) -> None:
    guarded = guard(knowledge, RepairMode.REGENERATE, fallback="redact")
    report = await guarded.acheck(conversation(assistant(MIXED, NOTES)))
    assert report.response == f"{GOOD} Entry is free."


class Agent:
    """Says the given drafts one after the other, and keeps what it was asked."""

    def __init__(self, *drafts: str) -> None:
        self.drafts, self.asked = list(drafts), list[Any]()

    def __call__(self, request: Any) -> Any:
        self.asked.append(request)
        return assistant(self.drafts.pop(0), NOTES)


def test_regenerate_asks_again_naming_what_failed(knowledge: MemoryKnowledge) -> None:
    agent, reports = Agent(MIXED, f"{GOOD} Entry is free."), list[TurnReport]()
    guarded = guard(knowledge, RepairMode.REGENERATE).wrap(agent, on_report=reports.append)
    assert guarded("Tell me.", conversation_id="c").text == f"{GOOD} Entry is free."
    assert agent.asked[0] == "Tell me."
    assert agent.asked[1].startswith("Tell me.\n\nYour last draft was not shown to the user")
    assert f"- {BAD} (contradicted by: “built by shipwrights”)" in agent.asked[1]
    (report,) = reports
    assert report.decision.action is Action.REPAIR
    assert [(attempt.repair, attempt.decision.action) for attempt in report.attempts] == [
        (RepairMode.REGENERATE, Action.REPAIR)
    ]
    assert [finding.label for finding in report.findings] == [Label.VERIFIED, Label.VERIFIED]
    assert report.turn_index == 1


def test_an_agent_that_insists_is_refused_after_the_bounded_attempts(knowledge: MemoryKnowledge) -> None:
    agent, reports = Agent(MIXED, MIXED, MIXED, MIXED), list[TurnReport]()
    guarded = guard(knowledge, RepairMode.REGENERATE, max_attempts=2).wrap(agent, on_report=reports.append)
    assert guarded("Tell me.").text == MESSAGE
    assert (len(agent.asked), len(reports[0].attempts), reports[0].blocked) == (3, 2, True)


def test_a_regenerated_graph_keeps_neither_the_draft_nor_the_note(knowledge: MemoryKnowledge) -> None:
    drafts = iter([MIXED, f"{GOOD} Entry is free."])
    builder = StateGraph(MessagesState)
    builder.add_node("speak", lambda state: {"messages": [AIMessage(next(drafts))]})
    builder.add_edge(START, "speak")
    builder.add_edge("speak", END)
    rules = {"CONTRADICTED": {"action": "REPAIR"}}
    guarded = Guard(judge(), build_policy("balanced", {"rules": rules}), knowledge=knowledge).graph(
        builder.compile(), checkpointer=InMemorySaver(), documents=lambda conversation: assistant("", NOTES).documents
    )
    run: Any = {"configurable": {"thread_id": "c"}}
    result = guarded.invoke({"messages": [HumanMessage("Tell me.")]}, run)
    texts = ["Tell me.", f"{GOOD} Entry is free."]
    assert [message.content for message in result["messages"]] == texts
    assert [message.content for message in guarded.get_state(run).values["messages"]] == texts
