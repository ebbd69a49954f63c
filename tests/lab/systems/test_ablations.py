"""What each stage gets to see, system by system; and that a run which was interrupted ends as one that was not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from tests.lab.systems.rows import gold_of, museum, run, verdicts
from vista_guard.testing import ScriptedChatServer, assistant, conversation, gold_script, user
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Persona, Turn
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.catalogue import make_system
from vista_lab.systems.recipes import Ablated

TALK = conversation(
    user("When was the tower built?"),
    assistant("The tower was built in 1888.", "The tower was built in 1888."),
    user("And since when is it blue?"),
    assistant("It is blue since 1950.", "The barn is red."),
    id="talk",
)
PERSONA = Persona(name="Mira", facts=("The assistant's name is Mira.",))


@dataclass
class Witness:
    """A judge that writes down what it sees. The first turn is verified, the rest lacks evidence."""

    at_once: bool = False
    seen: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    info: JudgeInfo = field(default_factory=lambda: JudgeInfo(name="witness", version="1"))

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        self.seen["decompose"] = (0, 0, len(history))
        return [Claim(id=f"t{len(history)}.c1", text=turn.text)]

    async def judge_turn(self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet) -> Sequence[Check] | None:
        if not self.at_once:
            return None
        claims = await self.decompose(turn, history)
        return [self._check(claim) for claim in claims if self._saw("verify", evidence)]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        self._saw("verify", evidence)
        return [self._check(claim) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding]:
        self._saw("categorize", evidence)
        return [self._finding(check.claim) for check in checks]

    def _saw(self, stage: str, evidence: EvidenceSet) -> bool:
        self.seen[stage] = (len(evidence.documents), len(evidence.knowledge), len(evidence.history))
        return True

    def _check(self, claim: Claim) -> Check:
        if "tower" in claim.text:
            return Check(claim=claim, supported=True, confidence=1.0)
        return Check(
            claim=claim, supported=False, confidence=1.0, finding=self._finding(claim) if self.at_once else None
        )

    def _finding(self, claim: Claim) -> Finding:
        return Finding(claim=claim, label=Label.LACKING_EVIDENCE, confidence=1.0, reason="unknown")


# Documents, known claims (the persona's is one), earlier turns; at the last turn.
SEES = {
    "vista": {"decompose": (0, 0, 3), "verify": (1, 2, 0), "categorize": (1, 2, 0)},
    "vista+ctx": {"decompose": (0, 0, 3), "verify": (1, 2, 3), "categorize": (1, 2, 3)},
    "no-ac": {"decompose": (0, 0, 3), "verify": (1, 1, 0), "categorize": (1, 2, 0)},
    "no-ac+ctx": {"decompose": (0, 0, 3), "verify": (1, 1, 3), "categorize": (1, 1, 3)},
    "no-history": {"decompose": (0, 0, 0), "verify": (1, 2, 0), "categorize": (1, 2, 0)},
}


@pytest.mark.parametrize("name", SEES)
@pytest.mark.parametrize("at_once", [False, True])
def test_each_stage_sees_what_the_paper_says(name: str, at_once: bool) -> None:
    judge = Witness(at_once)
    entry = LoggedConversation(TALK, {})
    reports = run(make_system(name, judge=judge, persona=PERSONA), [entry], turns=[1, 3])
    # A turn that is judged at once brings its labels along.
    left_out = {"categorize"} if at_once else set[str]()
    seen, expected = ({k: v for k, v in one.items() if k not in left_out} for one in (judge.seen, SEES[name]))
    assert seen == expected
    assert [outcome.claim.id for report in reports for outcome in report.outcomes] == ["t1.c1", "t3.c1"]
    labels = [finding.label for report in reports for finding in report.findings]
    assert labels == [Label.VERIFIED, Label.LACKING_EVIDENCE]


@pytest.mark.parametrize(("name", "known"), [("vista", 2), ("no-ac+ctx", 1)])
def test_earlier_turns_that_nobody_asks_about_establish_what_they_would_live(name: str, known: int) -> None:
    witness = Witness()
    system = make_system(name, judge=witness, persona=PERSONA)
    reports = run(system, [LoggedConversation(TALK, {})], turns=[3])
    assert [report.turn_index for report in reports] == [3]
    assert witness.seen["verify"][1] == known


def test_what_was_left_out_is_part_of_the_judges_version() -> None:
    judge = Witness()
    assert Ablated(judge, history=False).info.version == "1; no history in decompose"
    assert Ablated(judge, knowledge=()).info.version == "1; no knowledge in verify; no knowledge in categorize"
    assert Ablated(judge).info == judge.info


RESUMED = museum(1, turns=3)


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedChatServer]:
    with ScriptedChatServer(gold_script(gold_of(RESUMED), accuracy=0.7)) as running:
        yield running


@pytest.mark.parametrize("name", ["vista", "no-ac+ctx", "no-history", "factscore", "llm-judge", "overlap"])
def test_what_was_interrupted_ends_as_if_it_had_not_been(name: str, server: ScriptedChatServer) -> None:
    (entry,) = RESUMED
    judge = f"openai:m@{server.base_url}"
    server.reset()
    whole = run(make_system(name, judge=judge), RESUMED)
    prompts = sorted(request.text for request in server.requests)
    server.reset()
    first = run(make_system(name, judge=judge), RESUMED, turns=list(entry.gold)[:2])
    # A runner may name the turns that are done among those that are wanted, or not.
    rest = run(make_system(name, judge=judge), RESUMED, done=first, turns=list(entry.gold)[2:])
    again = run(make_system(name, judge=judge), RESUMED, done=[*first, *rest])
    assert verdicts([*first, *rest]) == verdicts(whole)
    assert again == []
    assert sorted(request.text for request in server.requests) == prompts
