"""A system of your own, measured beside others: here one that only looks whether an answer's numbers stand in its documents."""

import asyncio
import re
from collections.abc import Sequence

from vista_guard import Check, Claim, EvidenceSet, Finding, Guard, JudgeInfo, Label, Turn
from vista_guard.testing import assistant, conversation, user
from vista_lab.logs.source import LoggedConversation, TurnGold
from vista_lab.systems.catalogue import make_system
from vista_lab.systems.guarded import GuardSystem
from vista_lab.systems.protocol import System, labelled_check, whole_turn


class Numbers:
    """A judge of whole turns. It may look at documents, at what was said before and at what is known, and at nothing else."""

    info = JudgeInfo(name="numbers", version="1")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return whole_turn(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        known = set(re.findall(r"\d+", " ".join(passage.text for passage in evidence.documents)))
        return [self._check(claim, set(re.findall(r"\d+", claim.text)) - known) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding]:
        return [check.finding for check in checks if check.finding is not None]

    def _check(self, claim: Claim, unknown: set[str]) -> Check:
        label = Label.LACKING_EVIDENCE if unknown else Label.VERIFIED
        return labelled_check(claim, label, f"numbers that no document has: {', '.join(sorted(unknown)) or 'none'}")


LEAFLET = "The lighthouse was built in 1888. Its tower is 38 metres high. It is open from May to September."
ANSWERS = {"It was built in 1888.": False, "The tower is 40 metres high.": True, "It is open all year.": True}


async def measure(system: System) -> None:
    """Asks about each turn, and counts where the system says what the people say."""
    right = 0
    for number, (answer, unverifiable) in enumerate(ANSWERS.items()):
        talk = conversation(user("What about the lighthouse?"), assistant(answer, LEAFLET), id=f"talk-{number}")
        entry = LoggedConversation(talk, {}, gold={1: TurnGold("by hand", unverifiable)})
        async for report in system.judge(entry, [1], []):
            found = any(finding.label is not Label.VERIFIED for finding in report.findings)
            right += found == entry.gold[report.turn_index].positive
    await system.aclose()
    print(f"{system.info.name}: {right} of {len(ANSWERS)} turns right")


asyncio.run(measure(GuardSystem("numbers", Guard(Numbers(), "monitor"))))
asyncio.run(measure(make_system("vista", judge="embedded")))
asyncio.run(measure(make_system("majority", options={"label": "LACKING_EVIDENCE"})))
