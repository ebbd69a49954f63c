"""What every test may lean on."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import certifi
import pytest
import typer.testing
from hypothesis import HealthCheck, settings

from tests.pace import PATIENCE_S
from vista_guard import Guard, Persona
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, WordEmbedder

settings.register_profile("busy", deadline=None, max_examples=50, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")  # a machine at work elsewhere fails no test

# A tenth of a second for each command that a test runs: Typer puts all of them together, every time.
typer.testing._get_command = cache(typer.testing._get_command)  # type: ignore[attr-defined]

GUIDE = Persona(name="Mira", facts=("The assistant's name is Mira.", "The assistant works at the tide museum."))

TESTS = Path(__file__).parent

LONG = (
    "test_extras.py",
    "dashboard/pages/test_people_at_work.py",
    "cli/test_documents.py",
    "stores/test_search.py",
    "dashboard/pages/test_pages.py",
    "dashboard/pages/test_failures.py",
    "lab/runs/test_ray.py",
    "attacks/test_files.py",
    "dashboard/pages/test_figures.py",
    "lab/runs/test_nodes.py",
    "test_examples.py",
    "attacks/test_turns.py",
    "attacks/test_upstreams.py",
    "stores/test_knowledge_contract.py",
    "proxy/test_several.py",
    "attacks/test_forms.py",
    "lab/evaluate/test_replay_process.py",
    "stores/test_knowledge_chroma.py",
    "proxy/test_tenants.py",
    "attacks/test_speech.py",
    "proxy/test_openapi.py",
    "lab/dialogues/test_tutorial.py",
    "dashboard/pages/test_sign_in.py",
    "lab/dialogues/test_commands.py",
    "cli/test_verify.py",
    "inference/test_hub.py",
    "lab/evaluate/test_replay_model.py",
    "stores/test_full_disk.py",
    "dashboard/test_page_scripts.py",
    "reading/test_web.py",
    "lab/evaluate/test_compare.py",
    "stores/test_documents_contract.py",
    "lab/oasis/test_generate.py",
    "stores/test_schema.py",
    "attacks/test_stalls.py",
    "lab/oasis/test_commands.py",
    "graph/test_checkpoints.py",
    "proxy/test_kill.py",
)
"""Files that take long (browsers, processes, hostile files), longest first: `make test` leaves them out, `make test ALL=1` begins
with them, so that they do not keep one worker busy when the others are done, and tells xdist to keep this order."""


def pytest_sessionstart() -> None:
    """No garbage collection while tests are collected: nothing of it is garbage, and looking takes a third of the time."""
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each worker first imports its share of the files: rewriting their assertions takes half of a first collection, and
    workers that went through the files side by side would each rewrite all of them."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    files = sorted(file for folder in session.config.args for file in Path(folder).resolve().rglob("test_*.py"))
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # what cannot be imported is reported when it is collected
            import_module(".".join(file.relative_to(session.config.rootpath).with_suffix("").parts))


def pytest_collection_finish() -> None:
    """Keeps imported and collected objects out of garbage collection: they stay until the end anyway."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)  # before the marks are looked at
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long files first. A page that a busy machine did not draw in time is opened once more, and the summary says so."""
    again = pytest.mark.flaky(reruns=1, only_rerun=["TimeoutError", "Locator expected"])
    places = {TESTS / name: place for place, name in enumerate(LONG)}
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(again)
        if item.path in places:
            item.add_marker(pytest.mark.long)
    items.sort(key=lambda item: places.get(item.path, len(LONG)))


@pytest.fixture(scope="session", autouse=True)
def _one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whatever could speak TLS reads one certificate, not all there are: hundreds of clients are made, and none speaks it."""
    first, end, _ = Path(certifi.where()).read_text("ascii").partition("-----END CERTIFICATE-----\n")
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text(first[first.index("-----BEGIN") :] + end, encoding="ascii")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


load_careful = EmbeddedJudge.load
"""Loads the embedded judge as it is shipped, with both readers."""


def _load_quick(*args: Any, **options: Any) -> EmbeddedJudge:
    return load_careful(*args, **{**options, "quick": True})


@pytest.fixture(scope="session", autouse=True)
def _quick_judge() -> Iterator[None]:
    """The embedded judge without its careful reader, which takes three times as long, where the verdict is not the point."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddedJudge, "load", _load_quick)
        yield


@pytest.fixture
def careful_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    """The embedded judge of this test is the one that is shipped."""
    monkeypatch.setattr(EmbeddedJudge, "load", load_careful)


@pytest.fixture
def knowledge() -> MemoryKnowledge:
    """Knowledge in memory, with embeddings that need no model."""
    return MemoryKnowledge(WordEmbedder())


_NUMBERS = count()


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    # A developer's own settings and stores must neither change a test nor be changed by one.
    folder = tmp_path_factory.getbasetemp() / f"data-{next(_NUMBERS)}"  # `mktemp` would look through all that there are
    folder.mkdir(0o700)
    monkeypatch.setenv("VISTA_GUARD_DATA_DIR", str(folder))
    monkeypatch.delenv("VISTA_GUARD_CONFIG", raising=False)


@pytest.fixture(autouse=True)
def _new_endpoints() -> None:
    """A scripted server may get the port of an earlier one: what that one refused is forgotten."""
    chat = sys.modules.get("vista_guard.judges.model.chat.calling")
    if chat is not None:
        chat._refused.clear()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report is stored when `write` or `aclose` returns, however slow the machine; tests of a late database turn it off."""
    for name in ("PATIENCE_S", "_OPENING_S", "_CLOSING_S"):
        monkeypatch.setattr(f"vista_guard.stores.reports.store.{name}", PATIENCE_S)


def guard_with(judge: ScriptedJudge, knowledge: MemoryKnowledge, policy: str = "balanced", **more: object) -> Guard:
    """A guard over the scripted judge."""
    return Guard(judge, policy, knowledge=knowledge, **more)  # type: ignore[arg-type]  # passed through as given
