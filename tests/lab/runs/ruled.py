"""A system of simple rules over a real guard, and a data set for it: small, quick, the same wherever it is built."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab.judges import RuleJudge
from vista_guard.guard import Guard
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import WordEmbedder, assistant, conversation, user
from vista_guard.types import TurnReport
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, TurnGold
from vista_lab.runs.loop import Entry
from vista_lab.runs.plan import Source
from vista_lab.systems.protocol import SystemInfo

VOLATILE = {"id", "created_at", "timings", "trace_id", "span_id"}


@dataclass
class Ruled:
    """VISTA by `RuleJudge`. `most` turns are judged before it is exhausted."""

    judge_: RuleJudge = field(default_factory=RuleJudge)
    options: Mapping[str, str] = field(default_factory=dict)
    most: int | None = None
    name: str = "vista"

    def __post_init__(self) -> None:
        self.guard = Guard(self.judge_, "monitor", knowledge=MemoryKnowledge(WordEmbedder()))
        self.info = SystemInfo(name=self.name, judge=self.judge_.info, options=self.options)
        self.forgotten: list[str] = []

    @property
    def why_exhausted(self) -> str | None:
        """See `System`."""
        spent = self.most is not None and len(self.judge_.asked) >= self.most
        return f"the run's budget of {self.most} turns is spent" if spent else None

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """See `System`."""
        finished = {report.turn_index for report in done}
        missing = sorted(set(turns) - finished)
        while missing:
            if self.why_exhausted is not None:
                return
            async for report in self.guard.areplay(entry.conversation, done=done, turns={*finished, missing.pop(0)}):
                yield report
                finished.add(report.turn_index)
                done = [*done, report]

    async def forget(self, conversation_id: str) -> None:
        """See `System`."""
        self.forgotten.append(conversation_id)
        await self.guard.aforget(conversation_id)

    async def aclose(self) -> None:
        """See `System`."""
        await self.guard.aclose()


def talk(name: str, turns: int = 3) -> LoggedConversation:
    """Every turn but the first leans on what the first one established; the last one is wrong in every second talk."""
    fact = f"Pier {name} is old"
    said = [user("?"), assistant(fact, f"{fact} and long.")]
    for number in range(1, turns):
        said += [user("?"), assistant(f"{fact}. I like pier {name} {number} times")]
    wrong = int(name.rpartition("-")[2]) % 2 == 1
    if wrong:
        said[-1] = assistant(f"{fact}. It is not new")
    gold = {
        2 * number + 1: TurnGold("faithful" if number < turns - 1 or not wrong else "wrong", number > 0)
        for number in range(turns)
    }
    return LoggedConversation(conversation(*said, id=name), {}, line=1, gold=gold)


def rows(count: int, *broken: BrokenEntry) -> Iterator[Entry]:
    """So many talks."""
    yield from (talk(f"talk-{number}") for number in range(count))
    yield from broken


def source(count: int = 6, *broken: BrokenEntry, sha256: str = "aa") -> Source:
    """A data set of `rows`."""
    return Source("piers", lambda: rows(count, *broken), {"piers.jsonl": sha256}, split="dev")


def lasting(folder: Path) -> dict[tuple[str | None, int], dict[str, object]]:
    """A run's reports by turn, without what differs from run to run."""
    lines = (folder / "reports.jsonl").read_bytes().splitlines()
    reports = [TurnReport.model_validate_json(line) for line in lines]
    found = {(one.conversation_id, one.turn_index): one.model_dump(mode="json", exclude=VOLATILE) for one in reports}
    assert len(found) == len(reports), "a turn is reported twice"
    return found
