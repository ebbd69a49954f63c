"""The sentence gate on a live stream: a model on loopback that writes 40 tokens a second, and the embedded judge.

`python -m benchmarks.streams` prints the table. One stream at a time; the same stream ungated is the measure.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.measure import Row, timing_row
from benchmarks.turns import CLAIMS, FACTS, known_claims
from vista_guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.policy.label_policy import build_policy
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stream.boundaries import Sentences
from vista_guard.stream.gates import gated
from vista_guard.testing import ScriptedChatServer
from vista_guard.types import Conversation, Document, Role, Turn, TurnReport

if TYPE_CHECKING:
    from openai import AsyncOpenAI

TOKENS_PER_SECOND = 40
WARM_UP = 2
FIRST_MS, ADDED_PERCENT, P99_MS = 60.0, 5.0, 80.0
"""Targets: first text after its sentence ended; time added to the whole stream; the gate's time for a sentence."""


@dataclass
class Watched:
    """When each character came from upstream, and when each went out, in seconds."""

    came: list[float] = field(default_factory=list)
    went: list[float] = field(default_factory=list)

    def heard(self, text: str) -> None:
        self.came += [perf_counter()] * len(text)

    def said(self, text: str) -> None:
        self.went += [perf_counter()] * len(text)

    def lags(self, ends: Sequence[int]) -> list[float]:
        """Milliseconds from the last character of each sentence to its release."""
        return [(self.went[end - 1] - self.came[end - 1]) * 1000 for end in ends]

    @property
    def added(self) -> float:
        """Time that the reader waits at the end, as a share of the stream's own time, in percent."""
        return (self.went[-1] - self.came[-1]) / (self.came[-1] - self.came[0]) * 100


def rows(runs: int) -> Iterator[Row]:
    """Streams of eight sentences, worded anew for each, so that no cache answers."""
    watched = asyncio.run(_streams(WARM_UP + runs))[WARM_UP:]
    first, every, added = list[float](), list[float](), list[float]()
    for stream, text in watched:
        ends = Sentences(40_000)
        ends.grow(text, complete=True)
        lags = stream.lags([len(text[:end].rstrip()) for end in ends.ends])
        first.append(lags[0])
        every += lags
        added.append(stream.added)
    yield timing_row("first text after the first sentence ended", first, target=FIRST_MS)
    sentence = timing_row("a sentence, from its last character to its release", every)
    yield sentence
    yield Row("  p99", sentence.p99 or 0.0, "ms p99", target=P99_MS, runs=len(every))
    yield Row("added to the stream's time", median(added), "%", target=ADDED_PERCENT, runs=len(added))


async def _streams(count: int) -> list[tuple[Watched, str]]:
    from openai import AsyncOpenAI

    texts = [_answer(number) for number in range(count)]
    knowledge = MemoryKnowledge(OnnxEmbedder())
    # Everything goes through, by the turn's risk too: the answers are full of figures that the document does not have.
    policy = build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "FLAG"}}, "block_at_risk": None})
    guard = Guard(EmbeddedJudge.load(OnnxEmbedder()), policy, knowledge=knowledge)
    done: list[tuple[Watched, str]] = []
    with ScriptedChatServer(texts, tokens_per_second=TOKENS_PER_SECOND) as server:
        async with AsyncOpenAI(base_url=server.base_url, api_key="unused") as client:
            for number, text in enumerate(texts):
                await knowledge.remember(f"bench-{number}", "earlier", known_claims())
                done.append((await _run_stream(guard, client, number), text))
    return done


async def _run_stream(guard: Guard, client: AsyncOpenAI, number: int) -> Watched:
    watched = Watched()
    question = Turn(role=Role.USER, text="What should I know about the lighthouse?")
    talk = Conversation(turns=(question,), id=f"bench-{number}")
    documents = [Document(id="lighthouse", title="The lighthouse", text=FACTS)]
    async for piece in gated(guard.parts, talk, _upstream(client, question.text, watched), documents=documents):
        if isinstance(piece, str):
            watched.said(piece)
        elif isinstance(piece, TurnReport) and len(watched.went) != len(watched.came):
            raise AssertionError(f"stream {number} was withheld: {piece.decision.reason}")
    return watched


async def _upstream(client: AsyncOpenAI, question: str, watched: Watched) -> AsyncIterator[str]:
    stream = await client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": question}], stream=True
    )
    async for chunk in stream:
        text = chunk.choices[0].delta.content if chunk.choices else None
        if text:
            watched.heard(text)
            yield text


def _answer(number: int) -> str:
    return " ".join(claim.format(n=1000 + number + 7 * place) for place in (0, 1) for claim in CLAIMS)


def main() -> None:
    """Parses the arguments and prints the table."""
    from rich.console import Console
    from rich.table import Table

    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="streams; each takes about four seconds (default: 20)")
    chosen = parser.parse_args()
    table = Table("measured", "value", "p95", "p99", "target", "runs", "met")
    for row in rows(max(chosen.runs, 2)):
        tails = ("" if tail is None else f"{tail:.1f}" for tail in (row.p95, row.p99))
        target, met = "" if row.target is None else f"≤ {row.target:g}", "" if row.met is None else str(row.met)
        table.add_row(row.name, f"{row.value:.1f} {row.unit}", *tails, target, str(row.runs), met)
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
