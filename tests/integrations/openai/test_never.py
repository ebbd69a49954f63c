"""The failures that a guardrail must never have (docs/design/guarantees.md), through every guarded method of the client."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.conftest import guard_with
from tests.integrations.openai.ways import (
    ASKED,
    EVERY_STREAM,
    EVERY_WAY,
    LIE,
    NOTES,
    STREAMS,
    TRUTH,
    UNGROUNDED,
    Script,
    ask,
    museum_judge,
    sync_client,
)
from vista_guard import Action, Blocked, JudgeError, Unchecked
from vista_guard.integrations.openai import guarded
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict


@EVERY_WAY
async def test_1_no_evidence_never_passes_silently(way: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer(TRUTH) as server:
        said = await ask(way, server, guard_with(museum_judge(), knowledge, "balanced"), UNGROUNDED)
        withheld = await ask(way, server, guard_with(museum_judge(), knowledge, "strict"), UNGROUNDED)
    assert (said.shown, said.report.evidence_missing, said.report.decision.action) == (TRUTH, True, Action.FLAG)
    assert isinstance(withheld.error, Blocked)
    assert withheld.error.report.evidence_missing
    assert withheld.shown == ""


@EVERY_WAY
@pytest.mark.parametrize("failure", [JudgeError("no answer within 10 s"), RuntimeError("CUDA on fire")], ids=str)
async def test_2_a_failing_judge_never_passes_as_clean(
    way: Any, failure: Exception, knowledge: MemoryKnowledge
) -> None:
    judge = ScriptedJudge({TRUTH: failure})
    with ScriptedChatServer(TRUTH) as server:
        heard = await ask(way, server, guard_with(judge, knowledge, "strict"))
    assert isinstance(heard.error, Blocked)
    assert isinstance(heard.error.report.outcomes[0], Unchecked)
    assert (heard.shown, heard.told) == ("", [heard.error.report])
    assert TRUTH not in "".join(heard.objects)


@EVERY_STREAM
@pytest.mark.parametrize("on_block", ["raise", "replace"])
async def test_3_nothing_unjudged_is_in_a_stream(way: Any, on_block: str, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer(f"{TRUTH} {LIE} {TRUTH}") as server:
        heard = await ask(way, server, guard_with(museum_judge(), knowledge), on_block=on_block)
    assert heard.shown.startswith(TRUTH)
    assert heard.shown.removeprefix(TRUTH).strip() == ("" if on_block == "raise" else MESSAGE)
    assert isinstance(heard.error, Blocked) == (on_block == "raise")
    assert not any("under" in shown or "Zubrowka" in shown for shown in heard.objects)


@EVERY_WAY
@pytest.mark.parametrize("gate", ["sentence", "turn"])
async def test_4_withheld_text_stays_nowhere(way: Any, gate: str, knowledge: MemoryKnowledge) -> None:
    judge = ScriptedJudge(Script(Verdict("The whale hall", needs="whale"), Verdict(LIE, error="label 'maybe' is none")))
    with ScriptedChatServer(LIE) as server:
        heard = await ask(
            way, server, guard_with(judge, knowledge, "strict"), on_block="replace", gate=gate, conversation_id="c"
        )
    assert (heard.error, heard.shown, heard.finish) == (None, MESSAGE, "content_filter")
    assert not any("Zubrowka" in shown for shown in heard.objects)
    assert "Zubrowka" not in repr(await knowledge.recall("c", persona=None, query=LIE, limit=9))


@EVERY_WAY
async def test_5_earlier_turns_are_neither_flagged_nor_believed(way: Any, knowledge: MemoryKnowledge) -> None:
    claim = "Queen Zubrowka opened the hall."
    judge = ScriptedJudge(Script(Verdict(LIE, needs="Zubrowka was"), Verdict(claim, needs="Zubrowka")))
    history = [*ASKED, {"role": "assistant", "content": LIE}, {"role": "user", "content": "Who opened it?"}]
    with ScriptedChatServer(claim) as server:
        heard = await ask(way, server, guard_with(judge, knowledge, "monitor"), history)
    assert [(outcome.claim.text, outcome.label) for outcome in heard.report.findings] == [(claim, "LACKING_EVIDENCE")]


async def test_6_concurrent_conversations_never_mix(knowledge: MemoryKnowledge) -> None:
    def truth(number: int) -> str:
        return f"Hall {number} has {number} whales. It opened in {number}."

    claims = [f"Hall {number} has {number} whales." for number in range(60)]
    opened = [f"It opened in {number}." for number in range(60)]
    judge = ScriptedJudge(Script(*(Verdict(text, needs=text) for text in [*claims, *opened])))
    guard = guard_with(judge, knowledge, "strict")
    with ScriptedChatServer(lambda asked: truth(int(asked.user)), tokens_per_second=2000) as server:

        async def one(number: int) -> str:
            messages = [{"role": "user", "content": str(number), "documents": [truth(number)]}]
            way = STREAMS[number % len(STREAMS)]
            return (await ask(way, server, guard, messages, conversation_id=f"c{number}")).shown

        shown = await asyncio.gather(*(one(number) for number in range(60)))
    assert shown == [truth(number) for number in range(60)]
    for number in range(60):
        known = await knowledge.recall(f"c{number}", persona=None, query="whales", limit=9)
        assert [passage.text for passage in known] == [claims[number], opened[number]]


@EVERY_WAY
@pytest.mark.parametrize("gate", ["sentence", "turn"])
async def test_7_a_block_blocks(way: Any, gate: str, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer(LIE) as server:
        raised = await ask(way, server, guard_with(museum_judge(), knowledge), gate=gate)
        replaced = await ask(way, server, guard_with(museum_judge(), knowledge), gate=gate, on_block="replace")
        server.assert_accepted()
    assert isinstance(raised.error, Blocked)
    assert (raised.shown, raised.told) == ("", [raised.error.report])
    assert (replaced.error, replaced.shown, replaced.finish) == (None, MESSAGE, "content_filter")
    assert [raised.report.decision.action, replaced.report.decision.action] == [Action.BLOCK, Action.BLOCK]


@EVERY_STREAM
async def test_7_a_stream_cannot_be_guarded_by_looking_on(way: Any, knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer(LIE) as server:
        heard = await ask(way, server, guard_with(museum_judge(), knowledge, "balanced"), gate="none")
        seen = await ask(way, server, guard_with(museum_judge(), knowledge, "monitor"), gate="none")
    assert (type(heard.error).__name__, heard.shown) == ("ConfigError", "")
    assert (seen.error, seen.shown, seen.report.decision.action) == (None, LIE, Action.FLAG)


def test_the_beta_door_is_guarded_too(knowledge: MemoryKnowledge) -> None:
    with ScriptedChatServer(LIE) as server, sync_client(server.base_url) as own:
        client = guarded(own, guard_with(museum_judge(), knowledge))
        with pytest.raises(Blocked):
            client.beta.chat.completions.create(model="m", messages=[{"role": "user", "content": NOTES}])
