"""Servers as processes of their own, which share one Chroma server and one Postgres: together they are one."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy
from typer.testing import CliRunner

from tests.pace import PATIENCE_S, held
from tests.proxy.test_admin import postgres
from tests.stores.conftest import chroma_server
from vista_guard import Guard
from vista_guard.cli import app
from vista_guard.proxy.security import key_hash, new_key
from vista_guard.stores.reports import SqlReports
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, assistant, conversation, count_tokens
from vista_guard.testing.script import ReceivedRequest
from vista_guard.testing.server import Loopback

__all__ = ["chroma_server", "postgres"]  # fixtures

ROOT = Path(__file__).parents[2]
GREETING = re.compile(r"guarding \S+ on (http://\S+)/v1")
ACME, ZOO = new_key(), new_key()
NOTES = "The whale hall opened in 1925. The pier is 300 metres long."
HALL, PIER = "The whale hall opened in 1925.", "The pier is 300 metres long."
ANSWERS = {"When did the hall open?": HALL, "How long is the pier?": PIER, "Are you sure about the hall?": HALL}
LONG = " ".join([HALL, PIER] * 20)


def answer(request: ReceivedRequest) -> str:
    return ANSWERS.get(request.body["messages"][-1]["content"], LONG)


@dataclass
class Worker:
    """A server process."""

    process: subprocess.Popen[str]
    url: str

    def ask(self, talk: Talk, question: str, *documents: str) -> dict[str, Any]:
        """Goes on with the conversation here; returns what the proxy tells of its verdict on the answer."""
        talk.messages.append({"role": "user", "content": question})
        body = {"model": "any", "messages": talk.messages, "documents": documents}
        told = self._send("POST", "/v1/chat/completions", talk.key, json=body, headers=talk.headers)
        talk.messages.append({"role": "assistant", "content": told["choices"][0]["message"]["content"]})
        found: dict[str, Any] = told["vista_guard"]
        return found

    def labels(self, talk: Talk, question: str, *documents: str) -> dict[str, int]:
        """As `ask`, only the labels of the answer's claims."""
        labels: dict[str, int] = self.ask(talk, question, *documents)["labels"]
        return labels

    def kept(self, talk: Talk) -> tuple[list[str], list[str]]:
        """Texts of the reports and of the knowledge that are kept of the conversation."""
        found = self._send("GET", f"/guard/conversations/{talk.name}", talk.key)
        reports = [report["response"] for report in found.get("reports", ())]
        return reports, [known["text"] for known in found.get("knowledge", ())]

    def forget(self, talk: Talk) -> dict[str, Any]:
        """The answer to a request to forget the conversation."""
        return self._send("DELETE", f"/guard/conversations/{talk.name}", talk.key)

    def _send(self, method: str, path: str, key: str, *, headers: Any = None, **options: Any) -> dict[str, Any]:
        sent = {"x-vista-guard-key": key, **(headers or {})}
        body: dict[str, Any] = httpx2.request(method, f"{self.url}{path}", headers=sent, timeout=60, **options).json()
        return body


@dataclass
class Talk:
    """A conversation as its client has it."""

    name: str
    key: str = ACME
    messages: list[dict[str, str]] = field(default_factory=list)

    @property
    def headers(self) -> dict[str, str]:
        return {"x-vista-guard-key": self.key, "x-conversation-id": self.name}


@dataclass
class Town:
    """What all processes share."""

    chroma: str
    reports: str
    upstream: str
    folder: Path

    @contextmanager
    def workers(self, count: int) -> Iterator[list[Worker]]:
        """Processes that are started at the same moment."""
        keys = {"acme": [key_hash(ACME)], "zoo": [key_hash(ZOO)]}
        shared = {
            "VISTA_GUARD_CHROMA_URL": self.chroma,
            "VISTA_GUARD_REPORTS": self.reports,
            "VISTA_GUARD_PROXY__KEYS": json.dumps(keys),
            "OMP_NUM_THREADS": "1",
        }
        environment = {**os.environ, "PYTHONPATH": str(ROOT), **shared}
        command = [sys.executable, "-m", "vista_guard", "serve", "--upstream", self.upstream, "--port", "0"]
        options: dict[str, Any] = {"cwd": self.folder, "env": environment, "text": True}
        with ExitStack() as stack:
            running = [
                stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, **options)) for _ in range(count)
            ]
            try:
                yield [self._greeted(process, stack) for process in running]
            finally:
                for process in running:
                    process.kill()

    def _greeted(self, process: subprocess.Popen[str], stack: ExitStack) -> Worker:
        assert process.stderr is not None
        greeting = GREETING.search(process.stderr.readline())
        assert greeting is not None, process.stderr.read()
        # What is logged goes on being read, so that the process never waits for a reader.
        with (self.folder / f"log-{process.pid}").open("w") as log:
            stack.callback(subprocess.Popen(["cat"], stdin=process.stderr, stdout=log).wait)
        return Worker(process, greeting[1])


@pytest.fixture(scope="module")
def town(chroma_server: str, postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    with ScriptedChatServer(answer, tokens_per_second=40) as upstream:
        yield Town(chroma_server, postgres, upstream.base_url, tmp_path_factory.mktemp("several"))


@pytest.fixture(scope="module")
def workers(town: Town) -> Iterator[list[Worker]]:
    with town.workers(3) as started:
        yield started


@pytest.fixture
def pair(workers: list[Worker]) -> tuple[Worker, Worker]:
    return workers[0], workers[1]


@pytest.fixture
def victim(workers: list[Worker]) -> Worker:
    """One that no other test uses."""
    return workers[2]


def test_a_conversation_goes_on_in_another_process(pair: tuple[Worker, Worker]) -> None:
    one, other = pair
    talk, stranger = Talk("c1"), Talk("c2")
    first = one.labels(talk, "When did the hall open?", NOTES)
    again = other.ask(talk, "Are you sure about the hall?")
    unknown = other.labels(stranger, "Are you sure about the hall?")
    back = one.labels(talk, "How long is the pier?", NOTES)
    assert (first, again["labels"], unknown, back) == ({"VERIFIED": 1}, {"VERIFIED": 1}, {"LACKING_EVIDENCE": 1}, first)
    # No document came with it: what the other process verified is all that supports it.
    assert [(piece["source"], piece["quote"]) for piece in again["claims"][0]["evidence"]] == [("knowledge", HALL)]
    assert one.kept(talk) == other.kept(talk) == ([HALL, HALL, PIER], [HALL, HALL, PIER])
    assert other.forget(talk) == {"conversation_id": "c1", "claims": 3, "reports": 3}
    assert one.kept(talk) == other.kept(talk) == ([], [])
    assert one.labels(Talk("c1"), "Are you sure about the hall?") == {"LACKING_EVIDENCE": 1}


def test_tenants_are_kept_apart_in_every_process(pair: tuple[Worker, Worker], town: Town) -> None:
    one, other = pair
    mine, theirs = Talk("c3"), Talk("c3", ZOO)
    assert one.labels(mine, "When did the hall open?", NOTES) == {"VERIFIED": 1}
    assert other.labels(theirs, "When did the hall open?") == {"LACKING_EVIDENCE": 1}
    assert other.labels(theirs, "Are you sure about the hall?") == {"LACKING_EVIDENCE": 1}
    assert (one.kept(theirs), other.kept(mine)) == (([HALL, HALL], []), ([HALL], [HALL]))
    assert other.forget(theirs)["reports"] == 2
    assert one.kept(mine) == ([HALL], [HALL])
    # Documents that are added while the servers run are found by all of them, for their tenant.
    (town.folder / "notes.txt").write_text(NOTES, encoding="utf-8")
    arguments = ["documents", "add", str(town.folder / "notes.txt"), "--tenant", "zoo", "--chroma-url", town.chroma]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    for worker in pair:
        assert worker.labels(Talk("c4", ZOO), "How long is the pier?") == {"VERIFIED": 1}
        assert worker.labels(Talk("c4"), "How long is the pier?") == {"LACKING_EVIDENCE": 1}


def test_when_one_is_killed_the_other_goes_on(
    pair: tuple[Worker, Worker], victim: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    survivor, _ = pair
    talk = Talk("c5")
    assert victim.labels(talk, "When did the hall open?", NOTES) == {"VERIFIED": 1}
    with monkeypatch.context() as patch:  # the end of the answer is held back until the process is gone
        patch.setattr(Loopback, "pause", held(count_tokens(HALL) + 3, lambda: victim.process.poll() is not None))
        assert _killed_while_it_streams(victim, talk)
    # The turn that was being told is nobody's knowledge; the one before is.
    assert survivor.kept(talk) == ([HALL], [HALL])
    assert survivor.labels(talk, "Are you sure about the hall?") == {"VERIFIED": 1}
    ready = httpx2.get(f"{survivor.url}/readyz", timeout=60).json()
    assert ready["checks"] == {"knowledge": "ok", "documents": "ok", "reports": "ok"}


def _killed_while_it_streams(worker: Worker, talk: Talk) -> bool:
    """Kills the process once its client has read something; whether the client was left with a broken stream."""
    messages = [*talk.messages, {"role": "user", "content": "Tell me all."}]
    body = {"model": "any", "stream": True, "messages": messages, "documents": [NOTES]}
    url = f"{worker.url}/v1/chat/completions"
    try:
        with httpx2.stream("POST", url, json=body, headers=talk.headers, timeout=60) as stream:
            for line in stream.iter_lines():
                if "hall" in line:
                    worker.process.send_signal(signal.SIGKILL)
    except httpx2.HTTPError:
        return worker.process.wait(PATIENCE_S) == -signal.SIGKILL
    return False


async def test_all_may_be_the_first_to_write_a_report(postgres: str) -> None:
    engine = sqlalchemy.create_engine(postgres)
    report = await Guard(ScriptedJudge({"Yes.": []})).acheck(conversation(assistant("Yes."), id="first"))
    for _ in range(10):
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE")
            connection.exec_driver_sql("CREATE SCHEMA public")
        stores = [SqlReports(postgres) for _ in range(4)]
        reports = [report.model_copy(update={"id": f"{number:032x}"}) for number in range(len(stores))]
        await asyncio.gather(*(store.write(one) for store, one in zip(stores, reports, strict=True)))
        for store in stores:  # A report that a busy database kept waiting is written by then.
            await store.aclose()
        reader = SqlReports(postgres)
        assert len(await reader.reports("first")) == 4
        await reader.aclose()
    engine.dispose()
