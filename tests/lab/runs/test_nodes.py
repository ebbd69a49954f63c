"""A cluster of two nodes that was there before the run: nodes are lost, are of another kind, and are held by others."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.lab.runs.light import Light, changing, light, slow
from tests.lab.runs.ruled import lasting, source
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.types import TurnReport
from vista_lab.runs import cluster as joining
from vista_lab.runs import cluster as ray_engine
from vista_lab.runs.cluster import RaySystem
from vista_lab.runs.evaluate import Evaluation, evaluate
from vista_lab.runs.loop import ClaimsMode, Event, RunSettings, Steering
from vista_lab.runs.plan import make_plan

IS_MISSING = find_spec("ray") is None
PROMISED = os.environ.get("VISTA_GUARD_REQUIRE_ALL") == "1"
pytestmark = pytest.mark.skipif(IS_MISSING and not PROMISED, reason="needs Ray: pip install 'vista-guard[ray]'")

TALKS = 8
SOON = 60.0
"""Seconds. A run that waits for a worker that does not come takes `START_SECONDS`, five minutes."""
NODE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """Two nodes of one core each, as Ray's own tests make them: raylets that know nothing of one another's processes."""
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
    cluster.add_node(**NODE)
    joining.connect(f"127.0.0.1:{cluster.address.rpartition(':')[2]}", None)
    yield cluster
    import ray

    ray.shutdown()
    cluster.shutdown()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same run without Ray."""
    out = tmp_path_factory.mktemp("local")
    asyncio.run(evaluate(Light(), make_plan(source(TALKS), ClaimsMode.JUDGE), out, RunSettings()))
    return out


async def run(system: RaySystem, out: Path, on_progress: Any = lambda _event: None) -> Evaluation:
    rows = make_plan(source(TALKS), ClaimsMode.JUDGE)
    async with asyncio.timeout(SOON):
        try:
            return await evaluate(system, rows, out, RunSettings(engine="ray"), Steering(system.places, on_progress))
        finally:
            await system.aclose()


@pytest.mark.usefixtures("nodes")
async def test_nodes_that_would_judge_otherwise_than_the_command_are_refused() -> None:
    with raises(ConfigError, "judge", "1", "2"):
        await RaySystem.start(light, expected=Light(version="2").info)


@pytest.mark.usefixtures("nodes")
async def test_a_worker_of_another_kind_takes_no_place_and_the_others_go_on(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both are there when one dies: on a busy machine the other would come after it, and be of another kind as well.
    monkeypatch.setattr(ray_engine, "PATIENCE_SECONDS", SOON)
    told: list[str] = []
    system = await RaySystem.start(partial(changing, tmp_path / "died"), tell=told.append)
    done = await run(system, tmp_path / "run")
    assert (done.figures.complete, done.session.broken) == (True, 0)
    assert lasting(tmp_path / "run") == lasting(here)
    assert "was lost, and another one takes its place: " in told[0]
    assert told[1:] == [] or "would judge differently: judge light 2 instead of light 1" in told[1]


@pytest.mark.usefixtures("nodes")
async def test_two_runs_on_one_cluster_do_not_wait_for_one_another(
    tmp_path: Path, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "PATIENCE_SECONDS", 1.0)
    other = await RaySystem.start(light, workers=1)
    told: list[str] = []
    try:
        system = await RaySystem.start(light, workers=2, tell=told.append)
        done = await run(system, tmp_path)
    finally:
        await other.aclose()
    assert done.figures.complete
    assert lasting(tmp_path) == lasting(here)
    # On a busy machine the first one may take longer than that, too.
    assert re.fullmatch(r"[12] of 2 workers of the Ray cluster are not there after 1 seconds; each begins .+", told[0])


async def test_a_run_goes_on_without_a_node_that_nothing_takes_the_place_of(
    tmp_path: Path, here: Path, nodes: Any
) -> None:
    told: list[str] = []
    seen = 0

    def lose(event: Event) -> None:
        nonlocal seen
        seen += isinstance(event, TurnReport)
        if seen == 5 and len(nodes.worker_nodes) == 1:
            nodes.remove_node(next(iter(nodes.worker_nodes)), allow_graceful=False)

    system = await RaySystem.start(slow, tell=told.append)
    done = await run(system, tmp_path, lose)
    assert (done.figures.complete, done.figures.turns, done.session.broken) == (True, 3 * TALKS, 0)
    assert lasting(tmp_path) == lasting(here)
    assert any("was lost, and another one takes its place: " in one for one in told)
