"""Ray, the real one, with two workers: the same reports as here, and nothing lost or doubled when a worker is."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.lab.runs.light import Light, deadly, decomposed, impossible, light, limited
from tests.lab.runs.ruled import lasting, source
from tests.pace import PATIENCE_S
from tests.raising import raises
from vista_guard import __version__
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.testing import ScriptedChatServer
from vista_lab.runs import cluster as joining
from vista_lab.runs import cluster as ray_engine
from vista_lab.runs.cluster import Build, RaySystem, Ready
from vista_lab.runs.evaluate import Evaluation, evaluate
from vista_lab.runs.loop import ClaimsMode, RunSettings, Steering
from vista_lab.runs.plan import make_plan

IS_MISSING = find_spec("ray") is None
PROMISED = os.environ.get("VISTA_GUARD_REQUIRE_ALL") == "1"
pytestmark = pytest.mark.skipif(IS_MISSING and not PROMISED, reason="needs Ray: pip install 'vista-guard[ray]'")

TALKS = 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Room for two workers, for all tests: a cluster of its own for each would take seconds."""
    if (os.cpu_count() or 1) < 2:
        pytest.skip("needs two cores: each worker takes one")
    joining.connect(None, workers=2)
    yield
    import ray

    ray.shutdown()


async def run(out: Path, build: Build, *, workers: int = 2, max_cost: float | None = None) -> Evaluation:
    system = await RaySystem.start(build, workers=workers, max_cost=max_cost, each=2)
    try:
        rows = make_plan(source(TALKS), ClaimsMode.JUDGE)
        return await evaluate(system, rows, out, RunSettings(engine="ray"), Steering(system.places))
    finally:
        await system.aclose()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run without Ray."""
    out = tmp_path_factory.mktemp("local")
    asyncio.run(evaluate(Light(), make_plan(source(TALKS), ClaimsMode.JUDGE), out, RunSettings()))
    return out


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("ray://head:10001", ("--address", "ray://head:10001")),
        ("127.0.0.1:9", ("cluster", "127.0.0.1:9")),
        ("head", ("--address", "head")),
    ],
)
async def test_an_address_where_no_cluster_is_reached_is_refused(address: str, message: tuple[str, ...]) -> None:
    with raises(ConfigError, *message):
        await RaySystem.start(light, address=address)


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n", b""])
def test_a_port_of_something_else_is_told_at_once(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray would try it for seven minutes, and then end the process."""
    monkeypatch.setattr(joining, "REACH_SECONDS", PATIENCE_S if answer else 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as other:
        server.settimeout(PATIENCE_S)
        address = f"127.0.0.1:{server.getsockname()[1]}"
        connecting = other.submit(joining.connect, address, None)
        asking, _ = server.accept()
        with asking:
            asking.sendall(answer)
            with raises(ConfigError, address):
                connecting.result()


def test_a_cluster_that_is_started_here_leaves_no_token_in_the_home(tmp_path: Path) -> None:
    """Each later `ray start` would find it, and ask all nodes for it."""
    code = (
        "from vista_lab.runs.cluster import connect\n"
        "import ray; connect(None, 1); print(ray.is_initialized()); ray.shutdown()"
    )
    given = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=given | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("True\n")
    assert not (tmp_path / ".ray").exists()


async def test_a_machine_is_not_given_more_workers_than_it_has_cores() -> None:
    with raises(ConfigError, "--workers", "9999"):
        await RaySystem.start(light, workers=9999)


@pytest.mark.usefixtures("cluster")
async def test_a_worker_that_is_killed_loses_and_doubles_nothing(tmp_path: Path, here: Path) -> None:
    done = await run(tmp_path / "run", partial(deadly, tmp_path / "died"))
    assert (tmp_path / "died").exists()
    assert (done.figures.complete, done.figures.turns, done.session.broken) == (True, 3 * TALKS, 0)
    # The one that took its place was told what had been judged before.
    assert lasting(tmp_path / "run") == lasting(here)


@pytest.mark.usefixtures("cluster")
async def test_a_budget_holds_for_all_workers_together_and_the_run_goes_on(tmp_path: Path, here: Path) -> None:
    first = await run(tmp_path, limited, max_cost=10)
    share = "each of the 2 workers had $5 of the budget"
    assert first.session.exhausted == f"{share}, and the last one says: 5 turns are spent"
    assert (first.figures.complete, first.figures.reported, first.session.broken) == (False, 10, 1)
    # What was begun on a cluster is gone on with anywhere.
    second = await evaluate(Light(), make_plan(source(TALKS), ClaimsMode.JUDGE), tmp_path, RunSettings())
    assert (second.figures.complete, second.session.resumed) == (True, 10)
    assert lasting(tmp_path) == lasting(here)


@pytest.mark.usefixtures("cluster")
async def test_a_conversation_that_kills_its_workers_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "LOSSES", 1)
    with raises(JudgeError, "1"):
        await run(tmp_path / "run", partial(deadly, tmp_path / "died"), workers=1)
    assert ("talk-3", 3) not in lasting(tmp_path / "run")


@pytest.mark.usefixtures("cluster")
async def test_what_is_wrong_with_workers_is_said_as_it_is() -> None:
    with raises(ConfigError, "judge", "nobody"):
        await RaySystem.start(impossible, workers=1)
    with raises(ConfigError, "--workers", "9", "cluster", "2"):
        await RaySystem.start(light, workers=9)


@pytest.mark.usefixtures("cluster", "careful_judge")
async def test_workers_ask_a_decomposer_as_this_process_does(tmp_path: Path) -> None:
    """Usage, claims and what is unchecked come back with the reports."""
    answer = "<think>Refused.</think><output>Cannot be decontextualized</output>"
    with ScriptedChatServer(answer) as server:
        build = partial(decomposed, server.base_url)
        await run(tmp_path / "ray", build)
        calls = server.calls
        rows = make_plan(source(TALKS), ClaimsMode.JUDGE)
        async with aclosing(build(None)) as system:
            await evaluate(system, rows, tmp_path / "here", RunSettings())
        assert server.calls == 2 * calls > 0
    there, here = (_without_cached_tokens(lasting(tmp_path / name)) for name in ("ray", "here"))
    assert there == here
    assert "could not make the sentence stand alone" in (tmp_path / "ray" / "reports.jsonl").read_text()


def _without_cached_tokens(reports: dict[Any, dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """The server has read the same prompts before."""
    return {name: {**one, "usage": {**one["usage"], "cached_tokens": 0}} for name, one in reports.items()}


def test_workers_that_judge_differently_are_refused() -> None:
    ray_engine.check_alike(1, Ready("n1", __version__, Light().info), Light().info)
    with raises(ConfigError, 1, "n1", "light 2", "light 1"):
        ray_engine.check_alike(1, Ready("n1", __version__, Light(version="2").info), Light().info)
    with raises(ConfigError, 1, "n1", "0.0.1", __version__):
        ray_engine.check_alike(1, Ready("n1", "0.0.1", Light().info), Light().info)
