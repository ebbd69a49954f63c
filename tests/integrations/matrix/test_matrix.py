"""Every way through every surface, and the seven failures that a guardrail must never have (docs/design/guarantees.md).

Each failure is one function, and runs on each driver of `surfaces`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.matrix.judging import ASIDE, FAILING, LIE, NOTES, TRUTH, Failing, Slow, museum
from tests.integrations.matrix.proxies import SharedProxy
from tests.integrations.matrix.surfaces import DRIVERS, MODES, SURFACES, Driver, Seen, Site, Talk
from tests.integrations.matrix.talk import AT_ONCE, FAILURES, Mode, Upstream
from tests.integrations.openai.ways import Script
from tests.proxy.serving import Kept
from vista_guard import Action, Guard, Label, LabelPolicy, Unchecked
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict, WordEmbedder

NOT_APPLICABLE = {
    ("proxy", mode, "7 raised"): "an exception does not travel over HTTP: the answer's finish reason is content_filter"
    for mode in MODES
}
"""Cells of the matrix (surface, mode, failure) that cannot be tested, and why."""

TESTED: set[tuple[str, Mode, str]] = set()


def failure(number: str) -> pytest.MarkDecorator:
    """Runs a test on every driver to which the failure applies."""
    drivers = [
        driver
        for driver in DRIVERS
        if number in driver.failures and (driver.surface, driver.mode, number) not in NOT_APPLICABLE
    ]
    TESTED.update((driver.surface, driver.mode, number) for driver in drivers)
    return pytest.mark.parametrize("driver", drivers, ids=str)


def test_every_cell_is_tested_or_says_why_not() -> None:
    cells = set(product(SURFACES, MODES, FAILURES))
    assert cells == TESTED | NOT_APPLICABLE.keys()
    assert not TESTED & NOT_APPLICABLE.keys()
    assert len({str(driver) for driver in DRIVERS}) == len(DRIVERS)


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    talks: dict[str, Talk] = {}
    with ScriptedChatServer(lambda request: talks[request.user].draft) as server:
        yield Upstream(server, talks)


@pytest.fixture(scope="module")
def shared_proxy() -> Iterator[SharedProxy]:
    with SharedProxy().running() as running:
        yield running


class Build:
    """Sites of one test, each with a guard, stores and a folder of its own."""

    def __init__(self, upstream: Upstream, proxy: SharedProxy, folder: Path) -> None:
        self._upstream, self._proxy, self._folder = upstream, proxy, folder
        self._count = 0

    def __call__(self, judge: ScriptedJudge, policy: LabelPolicy, **options: Any) -> Site:
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        sink = Kept()
        guard = Guard(judge, policy, knowledge=MemoryKnowledge(WordEmbedder()), sinks=[sink])
        return Site(guard, sink, self._upstream, self._proxy, folder, **options)


@pytest.fixture
def site(upstream: Upstream, shared_proxy: SharedProxy, tmp_path: Path) -> Build:
    return Build(upstream, shared_proxy, tmp_path)


async def say(driver: Driver, site: Site, talk: Talk) -> Seen:
    """The agent is opened, talked to once, and closed."""
    async with driver.open(site) as ask:
        return await ask(talk)


def outcomes(seen: Seen) -> list[tuple[str, str]]:
    """Each claim of the report, and what became of it."""
    return [
        (outcome.claim.text, "UNCHECKED" if isinstance(outcome, Unchecked) else outcome.label.value)
        for outcome in seen.report.outcomes
    ]


@failure("1")
async def test_1_no_evidence_never_passes_silently(driver: Driver, site: Build) -> None:
    only = {"rules": {"LACKING_EVIDENCE": {"action": "ALLOW"}}}  # so that nothing else can flag it
    blocking = build_policy("balanced", {**only, "on_no_evidence": "BLOCK"})
    flagging = build_policy("balanced", {**only, "on_no_evidence": "FLAG"})
    withheld = await say(driver, site(museum(), blocking), Talk(TRUTH))
    flagged = await say(driver, site(museum(), flagging), Talk(TRUTH))
    assert (withheld.shown, withheld.withheld) == (MESSAGE, True)
    assert (flagged.shown, flagged.withheld) == (TRUTH, False)
    assert [(seen.report.evidence_missing, seen.report.decision.action) for seen in (withheld, flagged)] == [
        (True, Action.BLOCK),
        (True, Action.FLAG),
    ]


@failure("2")
@pytest.mark.parametrize(
    ("action", "shown"), [(Action.BLOCK, (MESSAGE,) * 3), (Action.FLAG, tuple(FAILING))], ids=["blocked", "flagged"]
)
async def test_2_a_failing_judge_never_passes_as_clean(
    driver: Driver, action: Action, shown: tuple[str, ...], site: Build
) -> None:
    talks = [Talk(draft, documents=(NOTES,), id=f"talk-{place}") for place, draft in enumerate(FAILING)]
    async with driver.open(site(Failing(), build_policy("balanced", {"on_unchecked": action}))) as ask:
        heard = [await ask(talk) for talk in talks]
    assert tuple(seen.shown for seen in heard) == shown
    for seen, (text, error) in zip(heard, FAILING.items(), strict=True):
        (outcome,) = seen.report.outcomes
        assert isinstance(outcome, Unchecked)
        assert (outcome.claim.text, outcome.error, seen.report.score) == (text, error, None)
        assert (seen.report.decision.action, seen.withheld) == (action, action is Action.BLOCK)


@failure("3")
async def test_3_unchecked_text_is_never_shown(driver: Driver, site: Build) -> None:
    draft = Talk(f"{TRUTH} {LIE} {ASIDE}", documents=(NOTES,))
    seen = await say(driver, site(museum(), build_policy("balanced")), draft)
    by_sentence = driver.gate == "sentence"
    assert seen.shown == seen.report.response == (f"{TRUTH}\n\n{MESSAGE}" if by_sentence else MESSAGE)
    assert seen.withheld
    for piece in seen.pieces:
        assert not _words(piece) & _words(f"{LIE} {ASIDE}")
    # A stream by sentence ends with the false one; what comes after it is not even judged.
    expected = [(TRUTH, "VERIFIED"), (LIE, "CONTRADICTED"), (ASIDE, "OUT_OF_SCOPE")]
    assert outcomes(seen) == expected[: 2 if by_sentence else 3]


def _words(text: str) -> set[str]:
    return {word.strip(".:,").lower() for word in text.split()}


@failure("4")
async def test_4_withheld_text_stays_nowhere(driver: Driver, site: Build, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, logger="vista_guard")
    # Of two claims one is fine: it was never delivered, so it is not known either.
    judge = ScriptedJudge(Script(Verdict("Neptune", needs="1925"), Verdict(LIE, Label.CONTRADICTED, 0.97)))
    place = site(judge, build_policy("strict"), durability="sync")
    async with driver.open(place) as ask:
        seen = await ask(Talk(LIE, documents=(NOTES,)))
        files = place.on_disk
    assert (seen.shown, seen.withheld) == (MESSAGE, True)
    assert outcomes(seen) == [("Neptune", "VERIFIED"), (LIE, "CONTRADICTED")]
    assert bool(files) == driver.keeps
    assert not driver.keeps or (MESSAGE.encode() in files and MESSAGE in seen.stored)
    for word in ("Zubrowka", "inaugurated", "Neptune"):
        assert word not in seen.stored
        assert word.encode() not in files + place.on_disk
        assert word not in caplog.text


@failure("5")
async def test_5_earlier_turns_are_neither_flagged_nor_believed(driver: Driver, site: Build) -> None:
    again, lied = "As I said, it opened in 1925.", "And a queen inaugurated it."
    judge = ScriptedJudge(
        Script(
            Verdict(TRUTH, needs="1925"),
            Verdict(LIE, needs="a queen of that name"),
            Verdict(again, needs="1925"),
            Verdict(lied, needs="Zubrowka"),
        )
    )
    call = {"id": "call-1", "type": "function", "function": {"name": "search", "arguments": "{}"}}
    past = (
        {"role": "user", "content": "When did it open?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call-1", "content": NOTES},
        {"role": "assistant", "content": TRUTH},
        {"role": "user", "content": "Who opened it?"},
        {"role": "assistant", "content": LIE},
    )
    seen = await say(driver, site(judge, build_policy("monitor")), Talk(f"{again} {lied}", past=past))
    assert (seen.shown, seen.withheld) == (f"{again} {lied}", False)
    assert outcomes(seen) == [(again, "VERIFIED"), (lied, "LACKING_EVIDENCE")]
    assert [quote.quote for finding in seen.report.findings for quote in finding.evidence] == [TRUTH]
    assert {TRUTH, LIE} <= set(judge.asked)


@failure("6")
async def test_6_conversations_at_once_share_nothing(driver: Driver, site: Build) -> None:
    markers = [f"marker{number:02}" for number in range(AT_ONCE)]
    claims = {marker: (f"Its vault holds {marker}.", f"Nobody else has {marker}.") for marker in markers}
    judge = Slow(Script(*(Verdict(text, needs=marker) for marker in markers for text in claims[marker])))
    talks = [
        Talk(
            " ".join(claims[marker]),
            documents=(f"The inventory names {marker}.",),
            id=marker,
            question=f"Tell me about {marker}.",
        )
        for marker in markers
    ]
    place = site(judge, build_policy("strict"))
    async with driver.open(place) as ask:
        heard = await asyncio.gather(*map(ask, talks))
        known = [await _known(place, f"{driver.owner}{marker}") for marker in markers]
    assert [(seen.shown, seen.withheld) for seen in heard] == [(talk.draft, False) for talk in talks]
    assert known == [list(claims[marker]) for marker in markers]
    assert len(place.sink.reports) == AT_ONCE
    for marker, seen in zip(markers, heard, strict=True):
        assert outcomes(seen) == [(text, "VERIFIED") for text in claims[marker]]
        assert [other for other in markers if other in f"{seen.stored} {seen.pieces}"] == [marker]
    for evidence in judge.evidence:
        texts = " ".join(passage.text for passage in (*evidence.documents, *evidence.knowledge))
        assert sum(marker in texts for marker in markers) == 1


async def _known(site: Site, name: str) -> list[str]:
    passages = await site.guard.parts.knowledge.recall(name, persona=None, query="", limit=99)
    return [passage.text for passage in passages]


POLICIES = {
    "strict": build_policy("strict"),
    "a rule": build_policy("monitor", {"name": "mine", "rules": {"CONTRADICTED": {"action": "BLOCK"}}}),
}


@failure("7")
@pytest.mark.parametrize("policy", POLICIES)
async def test_7_a_block_blocks(driver: Driver, policy: str, site: Build) -> None:
    seen = await say(driver, site(museum(), POLICIES[policy]), Talk(LIE, documents=(NOTES,)))
    assert (seen.shown, seen.withheld, seen.raised) == (MESSAGE, True, False)
    assert outcomes(seen) == [(LIE, "CONTRADICTED")]
    assert (seen.report.decision.action, seen.report.response) == (Action.BLOCK, MESSAGE)


@failure("7 raised")
async def test_7_a_block_raises_when_it_is_to(driver: Driver, site: Build) -> None:
    place = site(museum(), build_policy("strict"), on_block="raise", durability="sync")
    async with driver.open(place) as ask:
        seen = await ask(Talk(LIE, documents=(NOTES,)))
        files = place.on_disk
    assert seen.raised
    assert {*seen.pieces} <= {MESSAGE}  # what reports and some streams show before the exception
    assert outcomes(seen) == [(LIE, "CONTRADICTED")]
    assert "Zubrowka" not in seen.stored
    assert b"Zubrowka" not in files + place.on_disk
