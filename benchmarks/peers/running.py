"""Runs a contender in a process of its own, and measures what it does in each scenario."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryFile
from typing import Any, Literal

from benchmarks.peers.contenders import Contender
from benchmarks.peers.scenarios import Scenario, Stage
from benchmarks.peers.turn import MODEL, conversation

ROOT = Path(__file__).parents[2]
STARTING_S = 300.0
"""Longest that imports and the first turn may take: they are not measured."""
LOG_LENGTH = 3000


@dataclass(frozen=True)
class Measured:
    """What a contender did in one scenario. Calls, waves and tokens are a turn's; seconds are the median over `runs` turns.

    `verdict`: found (something is wrong with the turn), clean, unknown (it says that it could not judge), raised (an
    exception), or hung (no result within the patience of the benchmark).
    """

    contender: str
    scenario: Scenario
    verdict: Literal["found", "clean", "unknown", "raised", "hung"]
    said: str
    seconds: float
    all_seconds: tuple[float, ...]
    calls: int
    waves: int
    prompt_tokens: int

    @property
    def runs(self) -> int:
        """Number of turns measured."""
        return len(self.all_seconds)

    def as_json(self) -> dict[str, Any]:
        """All fields."""
        return {**asdict(self), "runs": self.runs}


@dataclass(frozen=True)
class Limits:
    """How often and how long. `timeout_s` is told to contenders, `patience_s` is the benchmark's own."""

    runs: int
    latency_s: float
    timeout_s: float
    patience_s: float


async def measure(
    contender: Contender, environments: Path, scenarios: Sequence[Scenario], limits: Limits
) -> list[Measured]:
    """All scenarios, with the contender's own timeouts, but for the server that hangs: then with `limits.timeout_s`.

    Raises:
        RuntimeError: the process ended, or asked the server what no endpoint takes.
    """
    answering = [scenario for scenario in scenarios if scenario is not Scenario.HANG]
    measured = await _in_one_process(contender, environments, answering, limits, told_to_wait=0)
    if Scenario.HANG in scenarios:
        measured += await _in_one_process(
            contender, environments, [Scenario.HANG], limits, told_to_wait=limits.timeout_s
        )
    return measured


async def _in_one_process(
    contender: Contender, environments: Path, scenarios: Sequence[Scenario], limits: Limits, *, told_to_wait: float
) -> list[Measured]:
    """The first turn warms up and is not measured."""
    stage, measured = Stage(limits.latency_s), []
    with stage.server:
        arguments = [contender.adapter, stage.server.base_url, MODEL, str(told_to_wait), *contender.arguments]
        async with _process(contender.python(environments), arguments) as process:
            warm = await _turn(process, STARTING_S)
            if warm.get("verdict") != "found":
                raise RuntimeError(f"{contender.name} could not judge the turn at all: {warm['said']}")
            for scenario in scenarios:
                measured.append(await _measure(contender, process, stage, scenario, limits))
                if measured[-1].verdict == "hung":
                    break
    return measured


async def _measure(
    contender: Contender, process: asyncio.subprocess.Process, stage: Stage, scenario: Scenario, limits: Limits
) -> Measured:
    seconds = []
    for _ in range(limits.runs if scenario is Scenario.FINE else 1):
        stage.play(scenario)
        result = await _turn(process, limits.patience_s)
        if stage.server.rejected:
            raise RuntimeError(f"{contender.name}: {stage.server.rejected[0].message}")
        seconds.append(float(result["seconds"]))
        if result.get("verdict") == "hung":
            break
    return Measured(
        contender=contender.name,
        scenario=scenario,
        verdict="raised" if "raised" in result else result["verdict"],
        said=f"{result['raised']}: {result['said']}" if "raised" in result else result["said"],
        seconds=median(seconds),
        all_seconds=tuple(seconds),
        calls=stage.server.calls,
        waves=stage.server.waves(),
        prompt_tokens=stage.server.usage.input_tokens,
    )


async def _turn(process: asyncio.subprocess.Process, patience: float) -> Mapping[str, Any]:
    assert process.stdin is not None
    process.stdin.write((json.dumps(conversation()) + "\n").encode())
    await process.stdin.drain()
    try:
        return await _line(process, patience)
    except TimeoutError:
        return {"verdict": "hung", "said": f"no result within {patience:.0f} s", "seconds": patience}


async def _line(process: asyncio.subprocess.Process, patience: float) -> Mapping[str, Any]:
    assert process.stdout is not None
    line = await asyncio.wait_for(process.stdout.readline(), patience)
    if not line:
        raise RuntimeError(f"the process ended with status {await process.wait()}")
    result: dict[str, Any] = json.loads(line)
    return result


@asynccontextmanager
async def _process(python: Path, arguments: Sequence[str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Starts an adapter and waits until it is ready. Its log is shown only when it ends early.

    The caller's variables that name an endpoint or a key are removed from its environment.
    """
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "DEEPEVAL_", "NEMO"))
    }
    adapter, *rest = arguments
    with TemporaryFile() as log:
        process = await asyncio.create_subprocess_exec(
            *(str(python), "-m", f"benchmarks.peers.adapters.{adapter}", *rest),
            cwd=ROOT,
            env=environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=log,
        )
        try:
            await _line(process, STARTING_S)
            yield process
        except RuntimeError as exc:
            log.seek(0)
            exc.add_note(log.read().decode(errors="replace")[-LOG_LENGTH:])
            raise
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
