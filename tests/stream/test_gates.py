"""Gated streams, through the front door: what goes out, when, and what the report says of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.pace import PATIENCE_S, others
from tests.raising import raises
from vista_guard import Action, ConfigError, Conversation, Guard, InputError, JudgeError, Label, TurnReport, Unchecked
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.sources import Limits
from vista_guard.stores.memory import MemoryDocuments, MemoryKnowledge
from vista_guard.stream.boundaries import Sentences
from vista_guard.stream.gates import Documents, Gate, gated
from vista_guard.stream.source import Passed, undisturbed
from vista_guard.testing import WordEmbedder, assistant, conversation, user
from vista_guard.types import Check, Claim, Document, EvidenceSet, Finding, JudgeInfo, Outcome, Turn

NOTES = Document(id="notes", text="The hall opened in 1925. Entry is free.")
GOOD = "The hall opened in 1925."
BAD = "A lie about Queen Zubrowka."
LACKING = "Nobody knows about its gold."
FREE = "Entry is free."
ASKED = conversation(user("Tell me about the hall."), id="c")


class SentenceJudge:
    """Makes one claim of each sentence. "lie" is contradicted, "nobody knows" lacks evidence, "crash" cannot be judged."""

    def __init__(self, places: bool = True) -> None:
        self.info = JudgeInfo(name="sentences", version="1")
        self.seen: list[str] = []
        self.verified: list[str] = []
        self._places = places

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        self.seen.append(turn.text)
        spans = sentence_spans(turn.text)
        return [
            Claim(
                id=f"t{len(history)}.c{number}",
                text=turn.text[span.start : span.end],
                span=span if self._places else None,
            )
            for number, span in enumerate(spans, 1)
        ]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        await asyncio.sleep(0)
        self.verified += [claim.text for claim in claims]
        return [self._check(claim) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        return [
            Finding(claim=check.claim, label=_label(check.claim.text), confidence=0.9, reason="so it is")
            for check in checks
        ]

    def _check(self, claim: Claim) -> Check | Unchecked:
        if "crash" in claim.text:
            return Unchecked(claim=claim, error="no answer")
        return Check(claim=claim, supported=_label(claim.text) is Label.VERIFIED, confidence=0.9)


def _label(text: str) -> Label:
    if "lie" in text:
        return Label.CONTRADICTED
    return Label.LACKING_EVIDENCE if "obody knows" in text else Label.VERIFIED


class HeldJudge(SentenceJudge):
    """Answers only once it is let go; tells whether it was cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.go, self.cancelled = asyncio.Event(), asyncio.Event(), False

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        return await super().verify(claims, evidence)


class Upstream:
    """Says the pieces; knows how many it said, and that it was closed."""

    def __init__(self, *pieces: str | Passed, error: Exception | None = None) -> None:
        self.said, self.closed = 0, False
        self._pieces, self._error = pieces, error

    async def __call__(self) -> AsyncIterator[str | Passed]:
        try:
            for piece in self._pieces:
                await asyncio.sleep(0)
                self.said += 1
                yield piece
            if self._error is not None:
                raise self._error
        finally:
            self.closed = True


async def _paced(pieces: AsyncIterator[str | Passed]) -> AsyncIterator[str | Passed]:
    """Leaves time to judge each piece before the next one comes."""
    async for piece in pieces:
        await others()
        yield piece


def cut(text: str, size: int = 3) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


class Sink:
    """Keeps reports."""

    def __init__(self) -> None:
        self.reports: list[TurnReport] = []

    async def write(self, report: TurnReport) -> None:
        self.reports.append(report)


def guard_of(judge: Any, policy: Any = "balanced", **more: Any) -> Guard:
    return Guard(judge, policy, knowledge=more.pop("knowledge", None) or MemoryKnowledge(WordEmbedder()), **more)


async def said(
    guard: Guard,
    *pieces: str | Passed,
    gate: Gate = "sentence",
    documents: Documents = (NOTES,),
    talk: Conversation = ASKED,
) -> tuple[list[Any], TurnReport]:
    """What the stream yields, and its report."""
    *shown, report = [
        piece async for piece in gated(guard.parts, talk, Upstream(*pieces)(), gate=gate, documents=documents)
    ]
    assert isinstance(report, TurnReport)
    assert not any(isinstance(piece, TurnReport) for piece in shown)
    assert "".join(piece for piece in shown if isinstance(piece, str)) == report.response
    return shown, report


async def known(guard: Guard) -> list[str]:
    found = await guard.parts.knowledge.recall("c", persona=None, query="", limit=100)
    return [passage.text for passage in found]


def comparable(report: TurnReport) -> dict[str, Any]:
    return report.model_dump(exclude={"id", "gate", "created_at", "timings", "usage"})


def ending(text: str) -> Conversation:
    return conversation(*ASKED.turns, assistant(text, NOTES), id="c")


MIXED = (
    f"{GOOD} {FREE} It costs 3.50 euros, says Dr. J. Ito of Tide Inc. in the U.S. office (see www.example.org/a.b?c=d. "
    'Yes). He said: "Come. See. Go." Then he left!\n\n'
    "The rooms are:\n- the whale hall\n- the lamp room. It is dark.\n1. First. Then more.\n2. Second\n\n"
    "# Heading\n| room | floor |\n|---|---|\n| Whale hall. Big | 1 |\n\n"
    "```python\nprint('A lake. Here.')\n\nx = 1. \n```\n"
    "This long line of prose was wrapped by the model without any reason\nand goes on here. **Done.** 次の文です。三つ目。終わり"
)


class TestWhatIsLetThroughIsWhatWasWritten:
    @pytest.mark.parametrize("gate", ["sentence", "turn"])
    @pytest.mark.parametrize("size", [1, 2, 7, 10_000])
    async def test_the_report_is_that_of_check(self, gate: Gate, size: int) -> None:
        policy = build_policy("balanced", {"link_hosts": ["www.example.org"]})
        streamed, checked = guard_of(SentenceJudge(), policy), guard_of(SentenceJudge(), policy)
        _, report = await said(streamed, *cut(MIXED, size), gate=gate)
        assert comparable(report) == comparable(await checked.acheck(ending(MIXED)))
        assert (report.response, report.decision.action) == (MIXED, Action.ALLOW)
        assert await known(streamed) == await known(checked) != []

    async def test_each_sentence_list_item_row_and_code_block_goes_out_by_itself(self) -> None:
        shown, _ = await said(guard_of(SentenceJudge()), *cut(MIXED, 1))
        assert shown == [
            GOOD,
            f" {FREE}",
            " It costs 3.50 euros, says Dr. J. Ito of Tide Inc. in the U.S. office (see www.example.org/a.b?c=d. Yes).",
            ' He said: "Come. See. Go."',
            " Then he left!",
            "\n\nThe rooms are:",
            "\n- the whale hall",
            "\n- the lamp room.",
            " It is dark.",
            "\n1. First.",
            " Then more.",
            "\n2. Second",
            "\n\n# Heading",
            "\n| room | floor |\n|---|---|\n| Whale hall. Big | 1 |",
            "\n\n```python\nprint('A lake. Here.')\n\nx = 1. \n```",
            "\nThis long line of prose was wrapped by the model without any reason\nand goes on here.",
            " **Done.**",
            " 次の文です。",
            "三つ目。",
            "終わり",
        ]

    async def test_no_claim_is_verified_twice(self) -> None:
        judge = SentenceJudge()
        await said(guard_of(judge), *cut(f"{GOOD} {FREE} So it is. And so on."))
        assert judge.verified == [GOOD, FREE, "So it is.", "And so on."]

    async def test_a_judge_of_whole_turns(self) -> None:
        class Whole(SentenceJudge):
            async def judge_turn(
                self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
            ) -> Sequence[Check | Unchecked]:
                return await self.verify(await self.decompose(turn, history), evidence)

        judge = Whole()
        for text in (f"{GOOD} {FREE} End.", f"{GOOD} {BAD}"):
            _, report = await said(guard_of(judge, "monitor"), *cut(text))
            assert comparable(report) == comparable(await guard_of(Whole(), "monitor").acheck(ending(text)))
            assert judge.seen.count(text) == 1

    @pytest.mark.parametrize("gate", ["sentence", "turn", "none"])
    async def test_with_the_embedded_judge(self, gate: Gate) -> None:
        from vista_guard.judges.embedded import EmbeddedJudge
        from vista_guard.stores.entries import OnnxEmbedder

        judge = EmbeddedJudge.load(OnnxEmbedder())
        streamed, checked = guard_of(judge, "monitor"), guard_of(judge, "monitor")
        text = f"Sure! {GOOD} It was built by Vikings in 1800. {FREE} I love it.\n\n- It has a whale hall\n- It is old"
        _, report = await said(streamed, *cut(text), gate=gate)
        expected = comparable(await checked.acheck(ending(text)))
        assert comparable(report) == expected
        assert len(report.outcomes) > 4

    async def test_a_heading_and_a_lead_in_are_no_claims_of_their_own(self) -> None:
        from vista_guard.judges.embedded import EmbeddedJudge
        from vista_guard.stores.entries import OnnxEmbedder

        text = f"**Overview**\n\nHere is what I found:\n\n- {GOOD}\n- {FREE}"
        told: list[Outcome] = []
        guard = guard_of(EmbeddedJudge.load(OnnxEmbedder()), "strict")
        parts = guard.gated(ASKED, Upstream(*cut(text))(), documents=[NOTES], on_outcome=told.append)
        shown = [part async for part in parts if isinstance(part, str)]
        assert "".join(shown) == text
        assert [outcome.claim.span and text[outcome.claim.span.start] for outcome in told] == ["T", "E"]

    async def test_a_line_in_bold_before_rules_alone_is_judged_before_it_goes_out(self) -> None:
        from vista_guard.judges.embedded import EmbeddedJudge
        from vista_guard.stores.entries import OnnxEmbedder

        guard = guard_of(EmbeddedJudge.load(OnnxEmbedder()), "strict")
        pieces = Upstream(f"{FREE}\n\n", "**Vikings as builders**", "\n\n---", "\n\n***\n\n", "\n")
        parts = gated(guard.parts, ASKED, _paced(pieces()), documents=[NOTES])
        assert "Vikings" not in "".join([part async for part in parts if isinstance(part, str)])

    @pytest.mark.parametrize("text", ["", " \n ", "\n\nWell", "...", "No end", "第一句。第二句", "```\nopen. Code"])
    async def test_odd_turns(self, text: str) -> None:
        for gate in ("sentence", "turn", "none"):
            sink = Sink()
            _, report = await said(guard_of(SentenceJudge(), "monitor", sinks=[sink]), *cut(text, 1), gate=gate)
            assert report.response == text
            assert comparable(report) == comparable(await guard_of(SentenceJudge(), "monitor").acheck(ending(text)))
            assert len(sink.reports) == bool(text)  # a turn without a word, such as a tool call, is none

    async def test_a_judge_that_places_no_claim(self) -> None:
        streamed, checked = guard_of(SentenceJudge(places=False)), guard_of(SentenceJudge(places=False))
        _, report = await said(streamed, *cut(f"{GOOD} {FREE} End."))
        assert comparable(report) == comparable(await checked.acheck(ending(f"{GOOD} {FREE} End.")))

    async def test_evidence_that_depends_on_the_text_is_that_of_the_whole_turn(self) -> None:
        class Quoting(SentenceJudge):
            def _check(self, claim: Claim) -> Check | Unchecked:
                return Check(claim=claim, supported=True, confidence=0.9)

            async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
                found = " / ".join(passage.text for passage in evidence.documents)
                checks = await super().verify(claims, evidence)
                return [
                    check.model_copy(update={"judged_by": found}) if isinstance(check, Check) else check
                    for check in checks
                ]

        store = MemoryDocuments(WordEmbedder())
        await store.add(
            [Document(id=f"d{n}", text=f"{word} is known.") for n, word in enumerate(("Ash", "Birch", "Cedar"))]
        )
        limits = Limits(retrieved=1)
        streamed, checked = (guard_of(Quoting(), documents=store, limits=limits) for _ in range(2))
        text = "Ash is known. Birch Birch Birch is known. Cedar Cedar Cedar Cedar Cedar Cedar is known."
        _, report = await said(streamed, *cut(text), documents=())
        expected = await checked.acheck(conversation(*ASKED.turns, assistant(text), id="c"))
        assert comparable(report) == comparable(expected)
        assert len({finding.judged_by for finding in report.findings}) == 1


class TestWithholding:
    async def test_a_sentence_that_is_blocked_ends_the_stream(self) -> None:
        sink, judge = Sink(), SentenceJudge()
        guard = guard_of(judge, sinks=[sink])
        upstream = Upstream(*cut(f"{GOOD} {FREE} {BAD} More of it. And more."), "never " * 1000)
        shown = [piece async for piece in gated(guard.parts, ASKED, upstream(), documents=[NOTES])]
        report = shown.pop()
        assert shown == [GOOD, f" {FREE}", f"\n\n{MESSAGE}"]
        assert isinstance(report, TurnReport)
        assert report.blocked
        assert report.response == f"{GOOD} {FREE}\n\n{MESSAGE}"
        assert report.decision.claim_ids == ("t1.c3",)
        assert [finding.label for finding in report.findings] == [Label.VERIFIED, Label.VERIFIED, Label.CONTRADICTED]
        assert (upstream.closed, sink.reports) == (True, [report])
        assert [claim.text for claim in report.remembered] == await known(guard) == [GOOD, FREE]

    async def test_what_was_read_is_not_judged_again_as_history(self) -> None:
        judge = SentenceJudge()
        guard = guard_of(judge)
        _, report = await said(guard, GOOD, " ", BAD, " More.")
        judge.seen.clear()
        later = conversation(*ASKED.turns, assistant(report.response), user("And?"), id="c")
        await said(guard, FREE, talk=later)
        assert set(judge.seen) == {FREE}

    async def test_the_first_sentence(self) -> None:
        guard = guard_of(SentenceJudge())
        shown, report = await said(guard, *cut(f"{BAD} {GOOD}"))
        assert (shown, report.blocked, await known(guard)) == ([MESSAGE], True, [])
        assert comparable(report)["outcomes"][0]["claim"]["text"] == BAD

    async def test_a_turn(self) -> None:
        guard = guard_of(SentenceJudge())
        shown, report = await said(guard, *cut(f"{GOOD} {BAD}"), gate="turn")
        assert (shown, report.blocked, await known(guard)) == ([MESSAGE], True, [])
        assert comparable(report) == comparable(await guard_of(SentenceJudge()).acheck(ending(f"{GOOD} {BAD}")))

    async def test_a_claim_without_a_place_holds_every_sentence_that_waits(self) -> None:
        shown, _ = await said(guard_of(SentenceJudge(places=False)), f"{GOOD} {BAD} {FREE}")
        assert shown == [MESSAGE]

    async def test_no_evidence(self) -> None:
        for policy, response, action in (("strict", MESSAGE, Action.BLOCK), ("monitor", GOOD, Action.FLAG)):
            shown, report = await said(guard_of(SentenceJudge(), policy), GOOD, documents=())
            assert (shown, report.evidence_missing, report.decision.action) == ([response], True, action)

    @pytest.mark.parametrize("error", [JudgeError("too slow"), RuntimeError("on fire")])
    async def test_a_judge_that_fails(self, error: Exception) -> None:
        class Failing(SentenceJudge):
            async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
                raise error

        for policy, response, action in (
            ("strict", MESSAGE, Action.BLOCK),
            ("balanced", f"{GOOD} {FREE}", Action.FLAG),
        ):
            _, report = await said(guard_of(Failing(), policy), *cut(f"{GOOD} {FREE}"))
            assert (report.response, report.decision.action) == (response, action)
            assert [outcome.kind for outcome in report.outcomes] == ["unchecked"]

    async def test_one_claim_that_cannot_be_judged(self) -> None:
        text = f"{GOOD} A crash here. {FREE}"
        _, strict = await said(guard_of(SentenceJudge(), "strict"), *cut(text))
        assert strict.response == f"{GOOD}\n\n{MESSAGE}"
        _, balanced = await said(guard_of(SentenceJudge()), *cut(text))
        assert (balanced.response, balanced.decision.action) == (text, Action.FLAG)


class TestMending:
    async def test_redact_drops_the_sentence_and_goes_on(self) -> None:
        guard = guard_of(SentenceJudge(), "strict")
        shown, report = await said(guard, *cut(f"{LACKING} {GOOD}\n\n{LACKING} {FREE}"))
        assert shown == [GOOD, f"\n\n{FREE}"]
        assert report.decision.action is Action.REPAIR
        assert report.decision.reason == f"2 sentences dropped: t1.c1 lacking evidence (0.90): {LACKING}; " + (
            f"t1.c3 lacking evidence (0.90): {LACKING}"
        )
        assert await known(guard) == [GOOD, FREE]

    async def test_redact_keeps_the_header_of_a_table_whose_first_row_it_drops(self) -> None:
        text = f"{GOOD}\n\n| Fact |\n|---|\n| {LACKING} |\n| {FREE} |\n\n{GOOD}"
        guard = guard_of(SentenceJudge(), "strict")
        shown, report = await said(guard, *cut(text))
        assert "".join(shown) == f"{GOOD}\n\n| Fact |\n|---|\n| {FREE} |\n\n{GOOD}"
        assert report.response == "".join(shown) == (await guard.acheck(ending(text))).response
        assert [report.response[one.response.start : one.response.end] for one in report.draft_spans] == [
            text[one.draft.start : one.draft.end] for one in report.draft_spans
        ]

    async def test_redact_drops_what_is_said_again(self) -> None:
        class OnceJudge(SentenceJudge):
            async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
                claims = await super().decompose(turn, history)
                return list({claim.text: claim for claim in reversed(claims)}.values())[::-1]

        text = f"{GOOD} {LACKING} {FREE} {LACKING} {GOOD}\n\nIn short, nobody knows about its gold."
        shown, report = await said(guard_of(OnceJudge(), "strict"), *cut(text))
        assert shown == [GOOD, f" {FREE}", f" {GOOD}"]
        assert report.response == (await guard_of(OnceJudge(), "strict").acheck(ending(text))).response

    async def test_sentences_behind_the_most_claims_stay_although_one_of_them_is_said_again(self) -> None:
        class OnceJudge(SentenceJudge):
            async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
                claims = await super().decompose(turn, history)
                return list({claim.text: claim for claim in reversed(claims)}.values())[::-1]

        policy = build_policy("balanced", {"rules": {"LACKING_EVIDENCE": {"action": "REPAIR"}}, "repair": "redact"})
        guard = guard_of(OnceJudge(), policy, limits=Limits(claims=3))
        pieces = Upstream(f"{LACKING} {GOOD} {FREE} ", f"It is red. {LACKING} It is big. It is old.")
        parts = gated(guard.parts, ASKED, _paced(pieces()), documents=[NOTES])
        shown = "".join([part async for part in parts if isinstance(part, str)])
        assert shown == f"{GOOD} {FREE} It is red. It is big. It is old."

    async def test_the_report_is_that_of_check(self) -> None:
        for policy in ("strict", build_policy("strict", {"repair": "annotate"})):
            for text in (f"{GOOD} {LACKING} {FREE}", LACKING, f"{LACKING} {GOOD}"):
                _, report = await said(guard_of(SentenceJudge(), policy), *cut(text))
                assert comparable(report) == comparable(await guard_of(SentenceJudge(), policy).acheck(ending(text)))

    async def test_refuse_ends_the_stream(self) -> None:
        guard = guard_of(SentenceJudge(), build_policy("strict", {"repair": "refuse"}))
        shown, report = await said(guard, *cut(f"{GOOD} {LACKING} {FREE}"))
        assert shown == [GOOD, f"\n\n{MESSAGE}"]
        assert report.decision.reason == f"could not be repaired: t1.c2 lacking evidence (0.90): {LACKING}"
        assert (report.blocked, await known(guard)) == (True, [GOOD])

    async def test_annotate_marks_as_it_goes_and_explains_at_the_end(self) -> None:
        policy = build_policy("strict", {"repair": "annotate"})
        shown, report = await said(guard_of(SentenceJudge(), policy), *cut(f"{LACKING} {GOOD} So nobody knows why."))
        assert shown == [
            f"{LACKING} [1]",
            f" {GOOD}",
            " So nobody knows why. [2]",
            f"\n\n[1] {LACKING}: not supported by the sources.\n[2] So nobody knows why.: not supported by the sources.",
        ]
        assert report.decision.action is Action.REPAIR

    async def test_nothing_left_to_say_is_a_refusal(self) -> None:
        shown, report = await said(guard_of(SentenceJudge(), "strict"), LACKING, " ", LACKING)
        assert (shown, report.blocked) == ([MESSAGE], True)

    async def test_what_cannot_be_placed_cannot_be_dropped(self) -> None:
        shown, report = await said(guard_of(SentenceJudge(places=False), "strict"), f"{GOOD} {LACKING}")
        assert (shown, report.blocked) == ([MESSAGE], True)


class TestNothingUnjudgedAndNothingLate:
    async def test_a_sentence_waits_for_its_judgement_and_upstream_does_not(self) -> None:
        judge = HeldJudge()

        async def upstream() -> AsyncIterator[str]:
            yield f"{GOOD} {FREE} So"
            await judge.asked.wait()
            for _ in range(20):
                yield " it goes. On"
            judge.go.set()  # never reached, if reading waited for the judge

        async with asyncio.timeout(PATIENCE_S):
            pieces = [piece async for piece in gated(guard_of(judge).parts, ASKED, upstream(), documents=[NOTES])]
        assert "".join(pieces[:-1]) == f"{GOOD} {FREE} So" + " it goes. On" * 20  # type: ignore[arg-type]
        assert len(judge.seen) <= 4  # what came meanwhile was judged at once

    async def test_nothing_goes_out_that_was_not_judged_before(self) -> None:
        judge = SentenceJudge()
        shown = ""
        async for piece in gated(guard_of(judge).parts, ASKED, Upstream(*cut(MIXED))(), documents=[NOTES]):
            if isinstance(piece, str):
                shown += piece
                assert any(text.startswith(shown) for text in judge.seen)
        assert shown == MIXED

    async def test_upstream_waits_when_too_much_is_unreleased(self) -> None:
        judge, upstream = HeldJudge(), Upstream(*["One is. "] * 1000)
        guard = guard_of(judge, limits=Limits(turn_chars=80))
        async with aclosing(gated(guard.parts, ASKED, upstream(), documents=[NOTES])) as stream:
            first = asyncio.create_task(anext(stream))
            await judge.asked.wait()
            for _ in range(200):
                await asyncio.sleep(0)
            assert upstream.said == 10
            judge.go.set()
            assert await first == "One is."

    async def test_a_sentence_without_end_is_judged_in_parts(self) -> None:
        text, limits = "word " * 50, Limits(turn_chars=100)
        _, report = await said(guard_of(SentenceJudge(), limits=limits), *cut(text))
        assert (report.response, report.decision.action) == (text, Action.FLAG)
        assert "more than the 100 of limits.turn_chars" in report.unchecked[0].error
        _, report = await said(guard_of(SentenceJudge(), "strict", limits=limits), *cut(text))
        assert report.response == f"{text[:100]}\n\n{MESSAGE}"
        with raises(InputError, "turn_chars"):
            await said(guard_of(SentenceJudge(), limits=limits), *cut(text), gate="turn")

    async def test_two_hundred_streams_never_mix(self) -> None:
        guard = guard_of(SentenceJudge())

        async def one(number: int) -> None:
            talk = conversation(user("?"), id=f"c{number}")
            text = (
                f"Room {number} is open. It has {number} doors. Number {number} is {'a lie' if number % 3 else 'fine'}."
            )
            _, report = await said(guard, *cut(text, 1 + number % 5), talk=talk)
            good = [f"Room {number} is open.", f"It has {number} doors."]
            if number % 3:
                assert report.response == f"{' '.join(good)}\n\n{MESSAGE}"
            else:
                assert report.response == text
                good.append(f"Number {number} is fine.")
            found = await guard.parts.knowledge.recall(f"c{number}", persona=None, query="", limit=100)
            assert [passage.text for passage in found] == good

        async with asyncio.TaskGroup() as group:
            for number in range(200):
                group.create_task(one(number))

    async def test_earlier_turns_are_judged_once_and_never_flagged(self) -> None:
        judge = SentenceJudge()
        past = conversation(user("Hi."), assistant(f"{BAD} {FREE}", NOTES), user("When?"), id="c")
        _, report = await said(guard_of(judge), *cut(f"{GOOD} And so. It is."), talk=past)
        assert (report.decision.action, len(report.outcomes)) == (Action.ALLOW, 3)
        assert judge.seen.count(f"{BAD} {FREE}") == 1


class TestTheHostsOwnObjects:
    CALL, USAGE, ROLE = Passed({"name": "search"}), Passed("usage"), Passed(object())

    async def test_keep_their_places(self) -> None:
        pieces = (self.ROLE, "The hall ", self.CALL, "opened in 1925.", f" {FREE}", self.USAGE)
        for gate in ("sentence", "turn", "none"):
            shown, _ = await said(guard_of(SentenceJudge(), "monitor"), *pieces, gate=gate)
            assert shown[0] is self.ROLE
            place = shown.index(self.CALL)
            assert "".join(shown[1:place]) == "The hall "
            assert shown[-1] is self.USAGE

    async def test_pass_at_once_when_no_text_waits(self) -> None:
        judge = HeldJudge()
        pieces = Upstream(self.ROLE, self.CALL, GOOD, self.USAGE)
        async with aclosing(gated(guard_of(judge).parts, ASKED, pieces(), documents=[NOTES])) as stream:
            assert [await anext(stream), await anext(stream)] == [self.ROLE, self.CALL]
            judge.go.set()
            assert [piece async for piece in stream][:-1] == [GOOD, self.USAGE]

    async def test_go_with_what_was_withheld(self) -> None:
        for gate in ("sentence", "turn"):
            shown, _ = await said(guard_of(SentenceJudge()), self.ROLE, BAD, self.CALL, " And", self.USAGE, gate=gate)
            assert shown == [self.ROLE, MESSAGE]

    async def test_stay_when_a_sentence_is_dropped(self) -> None:
        shown, _ = await said(guard_of(SentenceJudge(), "strict"), GOOD, " Nobody", self.CALL, " knows why. ", FREE)
        assert shown == [GOOD, self.CALL, f" {FREE}"]

    async def test_a_turn_that_only_calls_a_tool(self) -> None:
        judge = SentenceJudge()
        for gate in ("sentence", "turn", "none"):
            shown, report = await said(guard_of(judge, "monitor"), self.CALL, self.USAGE, gate=gate)
            assert (shown, report.response, report.outcomes) == ([self.CALL, self.USAGE], "", ())
        assert judge.seen == []


class TestHowAStreamEndsEarly:
    @pytest.mark.parametrize("gate", ["sentence", "turn", "none"])
    async def test_upstream_fails(self, gate: Gate) -> None:
        sink, error = Sink(), ConnectionResetError("gone")
        guard = guard_of(SentenceJudge(), "monitor", sinks=[sink])
        shown = []

        async def read() -> None:
            async for piece in gated(guard.parts, ASKED, Upstream(f"{GOOD} Entry", " is", error=error)(), gate=gate):
                shown.append(piece)

        with pytest.raises(ConnectionResetError) as raised:
            await read()
        assert raised.value is error
        assert shown == {"sentence": [GOOD], "turn": [], "none": [f"{GOOD} Entry", " is"]}[gate]
        assert (await known(guard), sink.reports) == ([], [])

    async def test_the_reader_leaves(self) -> None:
        sink, judge, upstream = Sink(), HeldJudge(), Upstream(f"{GOOD} {FREE} So", *[" on."] * 5)
        guard = guard_of(judge, sinks=[sink])

        async def read() -> None:
            async with aclosing(gated(guard.parts, ASKED, upstream(), documents=[NOTES])) as stream:
                async for _ in stream:
                    raise AssertionError("nothing was judged yet")

        reader = asyncio.create_task(read())
        await judge.asked.wait()
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader
        assert (judge.cancelled, upstream.closed) == (True, True)
        assert (await known(guard), sink.reports) == ([], [])

    async def test_the_reader_leaves_and_is_cancelled_at_every_await(self) -> None:
        """As a caller's disconnect does in Starlette: anyio cancels again and again until the scope is left."""
        judge = HeldJudge()
        closed: list[bool] = []

        async def deltas() -> AsyncGenerator[str, None]:
            try:
                yield f"{GOOD} {FREE} So"
                await asyncio.Event().wait()
            finally:
                for _ in range(3):
                    await asyncio.sleep(0)
                closed.append(True)

        async def read() -> None:
            upstream = deltas()
            async with aclosing(upstream), aclosing(gated(guard_of(judge).parts, ASKED, upstream)) as stream:
                async for _ in stream:
                    raise AssertionError("nothing was judged yet")

        reader = asyncio.create_task(read())
        await judge.asked.wait()
        while not reader.done():
            reader.cancel()
            await asyncio.sleep(0)
        assert (reader.cancelled(), judge.cancelled, closed) == (True, True, [True])

    async def test_a_host_that_hangs_while_it_is_closed_is_given_up(self) -> None:
        given_up: list[bool] = []

        async def hang() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                given_up.append(True)

        closing = asyncio.create_task(undisturbed(hang(), most_s=0.02))
        await asyncio.sleep(0)
        closing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await closing
        await asyncio.sleep(0)
        assert given_up == [True]

    @pytest.mark.parametrize("gate", ["sentence", "none"])
    async def test_the_reader_has_read_enough(self, gate: Gate) -> None:
        upstream = Upstream(f"{GOOD} ", *[f"{FREE} "] * 1000)
        guard = guard_of(SentenceJudge(), "monitor")
        async with aclosing(gated(guard.parts, ASKED, upstream(), gate=gate, documents=[NOTES])) as stream:
            await anext(stream)
        assert upstream.closed
        assert upstream.said < 1000
        assert await known(guard) == []

    async def test_the_knowledge_cannot_be_read(self) -> None:
        class Broken(MemoryKnowledge):
            async def recall(self, *args: Any, **kwargs: Any) -> Any:
                from vista_guard import StoreError

                raise StoreError("disk I/O error")

        for policy, response in (("strict", MESSAGE), ("balanced", f"{GOOD} {FREE}")):
            guard = guard_of(SentenceJudge(), policy, knowledge=Broken(WordEmbedder()))
            _, report = await said(guard, *cut(f"{GOOD} {FREE}"))
            assert (report.response, report.unchecked[0].error) == (response, "disk I/O error")


class TestGates:
    async def test_none_shows_all_and_says_what_it_would_have_been(self) -> None:
        guard = guard_of(SentenceJudge(), "monitor")
        shown, report = await said(guard, GOOD, " ", BAD, gate="none")
        assert shown == [GOOD, " ", BAD]
        assert comparable(report) == comparable(
            await guard_of(SentenceJudge(), "monitor").acheck(ending(f"{GOOD} {BAD}"))
        )

    @pytest.mark.parametrize(
        "policy", ["balanced", "strict", build_policy("monitor").model_copy(update={"on_unchecked": Action.BLOCK})]
    )
    async def test_none_is_refused_where_the_policy_withholds(self, policy: Any) -> None:
        upstream = Upstream(GOOD)
        deltas = upstream()
        with raises(ConfigError, "gate", "none", "policy"):
            await anext(gated(guard_of(SentenceJudge(), policy).parts, ASKED, deltas, gate="none"))
        assert [piece async for piece in deltas] == []

    async def test_an_unknown_one(self) -> None:
        with raises(ConfigError, "gate", "word"):
            await said(guard_of(SentenceJudge()), GOOD, gate="word")  # type: ignore[arg-type]

    async def test_a_conversation_over_a_limit_is_refused_before_anything_is_read(self) -> None:
        with raises(InputError, "limits.turns", "1"):
            await said(guard_of(SentenceJudge(), limits=Limits(turns=1)), GOOD)

    @pytest.mark.parametrize(("gate", "draft"), [("sentence", ""), ("turn", GOOD), ("none", GOOD)])
    async def test_documents_are_found_once(self, gate: Gate, draft: str) -> None:
        asked: list[Conversation] = []

        def find(talk: Conversation) -> list[Document]:
            asked.append(talk)
            return [NOTES]

        _, report = await said(guard_of(SentenceJudge(), "monitor"), *cut(GOOD), gate=gate, documents=find)
        assert not report.evidence_missing
        assert asked == [conversation(*ASKED.turns, assistant(draft), id="c")]


PARTS = st.sampled_from(
    [
        *(
            "The hall opened",
            " It is",
            " in",
            " and",
            " The",
            "ok",
            "3.5",
            "Dr.",
            "Inc.",
            "U.S.",
            " No. 5",
            "é",
            "e\u0301",
        ),
        *(". ", ".", " ", "!", "?", "...", " . ", ":", ";", ",", "。", "」", "「", "\n", "\n\n", "\t", "\u00a0"),
        *(
            '"',
            "'",
            "(",
            ")",
            "[",
            "]",
            "[1]",
            "<",
            ">",
            "“",
            "”",
            "’",
            "`",
            "**",
            "_",
            "|",
            "#",
            "- ",
            "\n- ",
            "\n1. ",
        ),
        *(
            "```",
            "\n```\n",
            "| a | b |\n",
            "---",
            "a.b@c.de",
            "http://x.org/y.z?a=b. ",
            "x" * 61,
            "\U0001f600",
            "👩\u200d🚀",
        ),
        *(" A lie.", " Nobody knows why.", "\x00", "\ud83d"),
    ]
)
TEXTS = st.lists(PARTS, max_size=25).map("".join)
MARKS = st.sampled_from(
    [*"\"'`\u201c\u201d\u201e\u2018\u2019\u201a\u201b\u201f\u00ab\u00bb\u2039\u203a\u300a\u300b\u300c\u300d()[] \n", "''", "``",
     ". ", "? ", "\u3002", "\u2026", "The hall opened", "it", " Inc. ", "e.g. ", "3"]
)  # fmt: skip
SETTINGS = settings(deadline=None, suppress_health_check=list(HealthCheck))


def _pieces(text: str, places: Sequence[int]) -> list[str]:
    stops = sorted({place % (len(text) + 1) for place in places})
    return [text[start:stop] for start, stop in zip([0, *stops], [*stops, len(text)], strict=True)]


def _ends(pieces: Sequence[str], longest: int) -> list[int]:
    sentences, text = Sentences(longest), ""
    for piece in pieces:
        before, text = list(sentences.ends), text + piece
        sentences.grow(text)
        assert sentences.ends[: len(before)] == before
    sentences.grow(text, complete=True)
    return sentences.ends


CUTS = st.lists(st.integers(0, 1000), max_size=6)


class TestAnySplitOfAnyText:
    @settings(SETTINGS, max_examples=60)
    @given(TEXTS, CUTS, st.sampled_from([40, 40_000]))
    @example("It is 3.5 m. The (big. One", [7, 8], 40_000)
    def test_sentences_end_at_the_same_places(self, text: str, places: Sequence[int], longest: int) -> None:
        whole = _ends([text], longest)
        assert _ends(list(text), longest) == whole
        assert _ends(_pieces(text, places), longest) == whole
        assert whole == sorted(set(whole))
        assert whole[-1:] == ([len(text)] if text else [])

    @settings(SETTINGS, max_examples=150)
    @given(st.lists(MARKS, max_size=14).map("".join), CUTS)
    @example('"\u201c\u3002The hall opened(\u201d', [])
    @example("`\u3002The hall opened`", [])
    @example("'\u3002\u300c.e.g. e.g. ''", [])
    @example(". `\u2026Mr. e.g. - ``3Mr.  ", [])
    def test_quotation_marks_and_brackets_close_at_any_place(self, text: str, places: Sequence[int]) -> None:
        whole = _ends([text], 40_000)
        assert _ends(list(text), 40_000) == whole
        assert _ends(_pieces(text, places), 40_000) == whole

    @settings(SETTINGS, max_examples=20)
    @given(TEXTS, CUTS, st.sampled_from(["monitor", "balanced", "strict"]))
    @example("It holds \x00 a NUL.\n- ", [10], "strict")
    def test_the_same_goes_out(self, text: str, places: Sequence[int], policy: str) -> None:
        async def run(pieces: Sequence[str]) -> TurnReport:
            stream = gated(guard_of(SentenceJudge(), policy).parts, ASKED, Upstream(*pieces)(), documents=[NOTES])
            *shown, report = [piece async for piece in stream]
            assert isinstance(report, TurnReport)
            said = "".join(shown)  # type: ignore[arg-type]
            assert said.encode(errors="replace").decode() == report.response
            return report

        whole = asyncio.run(run([text]))
        for pieces in (_pieces(text, places), list(text)):
            report = asyncio.run(run(pieces))
            assert (report.response, report.decision) == (whole.response, whole.decision)
            if (
                not whole.blocked
            ):  # how far the judge had read by then shows in the claims that reach past the withheld one
                assert comparable(report) == comparable(whole)
        if policy == "monitor":
            assert whole.response == text.encode(errors="replace").decode()
        if policy == "strict":
            assert " lie" not in whole.response


async def test_a_cancelled_caller_stays_cancelled_although_closing_fails() -> None:
    closing, cancelled = asyncio.Event(), asyncio.Event()

    async def fail() -> None:
        closing.set()
        await cancelled.wait()
        raise ValueError("cannot close")

    caller = asyncio.create_task(undisturbed(fail()))
    await closing.wait()
    caller.cancel()
    cancelled.set()
    await asyncio.wait((caller,))
    assert caller.cancelled()
