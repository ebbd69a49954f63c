"""Decomposers in streams: a sentence is asked about once, waits for those behind it, and the report is that of the whole turn."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from threading import Event

import pytest

from tests.judges.decomposers.scripted import asked, context, guarding, output, script, talk
from tests.pace import PATIENCE_S
from vista_guard import Action, Guard, TurnReport
from vista_guard.testing import Fault, ReceivedRequest, ScriptedChatServer

SENTENCES = [f"Hall number {number} opened in 19{number}." for number in range(11, 21)]
TEXT = " ".join(SENTENCES)
SAID = talk(TEXT, *SENTENCES)
BEFORE = SAID.model_copy(update={"turns": SAID.turns[:-1]})


async def words(text: str = TEXT) -> AsyncIterator[str]:
    for word in text.split(" "):
        yield f"{word} "
        await asyncio.sleep(0.002)  # so that the gate looks in between


async def streamed(guard: Guard, deltas: AsyncIterator[str]) -> tuple[str, TurnReport]:
    *said, report = [item async for item in guard.gated(BEFORE, deltas, documents=SAID.turns[-1].documents)]
    assert isinstance(report, TurnReport)
    return "".join(piece for piece in said if isinstance(piece, str)), report


@pytest.mark.parametrize("after", [0, 2])
async def test_a_sentence_is_asked_about_once_and_the_report_is_that_of_the_whole_turn(after: int) -> None:
    with ScriptedChatServer(script({})) as server:
        async with guarding(server, "monitor", decomposer_options={"after": after}) as guard:
            whole = await guard.acheck(SAID)
            wanted = sorted(context(request) for request in server.requests)
            server.reset()
            text, report = await streamed(guard, words())
            assert sorted(context(request) for request in server.requests) == wanted  # n calls
    assert text.rstrip() == TEXT
    assert report.outcomes == whole.outcomes


@pytest.mark.parametrize(("after", "needed"), [(0, 1), (1, 2), (2, 3)])
async def test_a_sentence_goes_out_once_those_that_it_waits_for_are_there(after: int, needed: int) -> None:
    out = asyncio.Event()

    async def deltas() -> AsyncIterator[str]:
        begun = f"{' '.join(SENTENCES[:needed])} Hall "
        yield begun
        await out.wait()  # upstream says no more before the first sentence is out
        yield TEXT[len(begun) :]

    with ScriptedChatServer(script({})) as server:
        async with (
            guarding(server, "monitor", decomposer_options={"after": after}) as guard,
            asyncio.timeout(PATIENCE_S),
        ):
            said = ""
            async for item in guard.gated(BEFORE, deltas(), documents=SAID.turns[-1].documents):
                said += item if isinstance(item, str) else ""
                if not out.is_set():
                    assert said.strip() == SENTENCES[0]
                    assert server.calls == 1
                out.set()
    assert said == TEXT


async def test_nothing_waits_where_upstream_must_pause() -> None:
    with ScriptedChatServer(script({})) as server:
        limits = {"turn_chars": len(TEXT) + 1}
        async with guarding(server, "monitor", limits=limits) as guard, asyncio.timeout(PATIENCE_S):
            text, report = await streamed(guard, words())
    assert text.rstrip() == TEXT
    assert {outcome.kind for outcome in report.outcomes} == {"finding"}


async def test_a_turn_that_breaks_off_lets_out_what_was_judged() -> None:
    async def deltas() -> AsyncIterator[str]:
        yield " ".join(SENTENCES[:2]) + " Hall number"
        raise ConnectionError("upstream is gone")

    said = ""
    with ScriptedChatServer(script({})) as server:
        async with guarding(server, "monitor") as guard:
            out = guard.gated(BEFORE, deltas(), documents=SAID.turns[-1].documents)
            with suppress(ConnectionError):
                async for item in out:
                    said += str(item)
                pytest.fail("upstream's error was swallowed")
    assert said.strip() == " ".join(SENTENCES[:2])


async def test_an_endpoint_that_dies_in_mid_turn_lets_nothing_unjudged_out() -> None:
    def fails(request: ReceivedRequest) -> Fault | None:
        return Fault.reset() if SENTENCES.index(asked(request)) > 3 else None

    with ScriptedChatServer(script({}), faults=fails) as server:
        async with guarding(server) as guard:
            text, report = await streamed(guard, words())
    assert report.decision.action is Action.BLOCK
    assert not any(sentence in text for sentence in SENTENCES[4:])
    assert all(sentence in text for sentence in SENTENCES[:4])
    assert [outcome.kind for outcome in report.outcomes[:5]] == ["finding"] * 4 + ["unchecked"]


async def test_what_failed_is_asked_about_again_once_the_turn_is_complete() -> None:
    failed = Event()

    def fails(request: ReceivedRequest) -> Fault | None:
        if asked(request) != SENTENCES[2] or failed.is_set():
            return None
        failed.set()
        return Fault.reset()

    async def slow_end() -> AsyncIterator[str]:
        async for word in words():
            if word.startswith("1920"):  # a busy machine asks late, and the turn would be complete by then
                await asyncio.to_thread(failed.wait, PATIENCE_S)
            yield word

    with ScriptedChatServer(script({}), faults=fails) as server:
        async with guarding(server, "monitor", decomposer_options={"after": 0}) as guard, asyncio.timeout(PATIENCE_S):
            _, report = await streamed(guard, slow_end())
            assert server.calls == len(SENTENCES) + 1
    assert {outcome.kind for outcome in report.outcomes} == {"finding"}


async def test_claims_that_are_not_the_sentences_stream_too() -> None:
    answers = {one: output(one, "A hall opened.") for one in SENTENCES}
    with ScriptedChatServer(script(answers)) as server:
        async with guarding(server, "monitor") as guard:
            whole = await guard.acheck(SAID)
            _, report = await streamed(guard, words())
    assert [one.claim for one in report.outcomes] == [one.claim for one in whole.outcomes]
