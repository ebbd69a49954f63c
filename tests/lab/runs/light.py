"""A system without a guard, for workers that must be there in a moment: its reports say which earlier turns it knew of."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Action, Claim, Decision, Finding, JudgeInfo, Label, Timings, TurnReport, Usage
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.catalogue import make_system
from vista_lab.systems.protocol import System, SystemInfo


@dataclass
class Light:
    """A claim a turn. `most` turns are judged, at a dollar each, before it is exhausted."""

    version: str = "1"
    most: float | None = None
    unreadable: str = ""
    """Id of a conversation that it cannot judge."""
    deadly: tuple[str, int] | None = None
    """A turn at which its process is killed, as long as `mark` is not there."""
    mark: Path = Path("nowhere")
    pause: float = 0.0
    """Seconds that a turn takes."""
    judged: int = 0
    known: dict[str, list[int]] = field(default_factory=dict)

    @property
    def info(self) -> SystemInfo:
        """See `System`."""
        return SystemInfo(name="light", judge=JudgeInfo(name="light", version=self.version))

    @property
    def why_exhausted(self) -> str | None:
        """See `System`."""
        return f"{self.most:g} turns are spent" if self.most is not None and self.judged >= self.most else None

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """See `System`."""
        name = str(entry.conversation.id)
        if name == self.unreadable:
            raise InputError("the conversation is in a language of its own")
        known = self.known.setdefault(name, [report.turn_index for report in done])
        for index in sorted(set(turns) - set(known)):
            await asyncio.sleep(self.pause)
            if self.why_exhausted is not None:
                return
            if self.deadly == (name, index) and not self.mark.exists():
                self.mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            self.judged += 1
            yield self._report(name, index, entry.conversation.turns[index].text, known)
            known.append(index)

    def _report(self, name: str, index: int, text: str, known: Sequence[int]) -> TurnReport:
        claim = Claim(id=f"t{index}.c1", text=text)
        found = Finding(claim=claim, label=Label.VERIFIED, confidence=0.5, reason=f"knows {sorted(known)}")
        return TurnReport(
            conversation_id=name,
            turn_index=index,
            response=text,
            outcomes=(found,),
            decision=Decision(action=Action.ALLOW, reason="so it was"),
            score=1.0,
            evidence_missing=False,
            judge=self.info.judge,
            policy="monitor",
            timings=Timings(total=12.0),
            usage=Usage(calls=1, cost=1.0),
        )

    async def forget(self, conversation_id: str) -> None:
        """See `System`."""
        del self.known[conversation_id]

    async def aclose(self) -> None:
        """See `System`."""


def light(_cost: float | None) -> System:
    """Judges everything."""
    return Light()


def slow(_cost: float | None) -> System:
    """Judges everything, slowly enough for something to happen meanwhile."""
    return Light(pause=0.2)


def limited(cost: float | None) -> System:
    """Judges what it is given the money for, and one conversation not at all."""
    return Light(most=cost, unreadable="talk-2")


def deadly(mark: Path, _cost: float | None) -> System:
    """Its process dies once in the middle of a conversation."""
    return Light(deadly=("talk-3", 3), mark=mark)


def changing(mark: Path, _cost: float | None) -> System:
    """As `deadly`; who takes the place judges in another way."""
    return Light(deadly=("talk-3", 3), mark=mark, version="2" if mark.exists() else "1")


def impossible(_cost: float | None) -> System:
    """Cannot be built."""
    raise ConfigError("judge is 'nobody', which names none")


def decomposed(url: str, _cost: float | None) -> System:
    """The embedded judge behind the four steps, asked of the model at `url`."""
    return make_system("vista", judge="embedded", decomposer=f"steps:openai:m@{url}", model={"max_retries": 0})
