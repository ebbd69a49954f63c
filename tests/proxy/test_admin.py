"""The guard's own routes, over real stores: checking, looking, forgetting, LiteLLM's contract, health and metrics."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from tests.raising import raises
from tests.stores.conftest import chroma_server, wheels_postgres
from vista_guard import Guard
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import build_policy
from vista_guard.protocols import KnowledgeStore
from vista_guard.proxy import admin, metrics
from vista_guard.proxy.app import build_app
from vista_guard.proxy.security import install, key_hash, new_key
from vista_guard.proxy.settings import ProxySettings
from vista_guard.settings.sources import Limits
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.stores.memory import MemoryDocuments, MemoryKnowledge
from vista_guard.stores.reports import SqlReports
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict, WordEmbedder
from vista_guard.types import STORE_WARNINGS, Label, TurnReport

__all__ = ["chroma_server"]  # a fixture

ACME, ZOO = new_key(), new_key()
KEYS = {"acme": [key_hash(ACME)], "zoo": [key_hash(ZOO)]}

PIER = "The pier is 300 metres long."
FALSE = "The pier is made of cheese."
SCRIPT = {
    PIER: [Verdict(PIER, Label.LACKING_EVIDENCE, needs="pier is 300 metres")],
    FALSE: [Verdict(FALSE, Label.CONTRADICTED)],
    f"{PIER} {FALSE}": [Verdict(PIER), Verdict(FALSE, Label.CONTRADICTED)],
    "Yes.": [],
}
PLAN = {"id": "plan", "text": "The pier is 300 metres long, and old."}
LITELLM = "/beta/litellm_basic_guardrail_api"


@dataclass
class Site:
    """A guard behind its routes, with its stores at hand."""

    client: TestClient
    guard: Guard

    def post(self, path: str, body: Any, key: str = ACME) -> Any:
        # The client's own JSON would not carry half a surrogate pair.
        headers = {"x-api-key": key, "content-type": "application/json"}
        return self.client.post(path, content=json.dumps(body), headers=headers)

    def get(self, path: str, key: str = ACME) -> Any:
        return self.client.get(path, headers={"x-api-key": key})

    def delete(self, path: str, key: str = ACME) -> Any:
        return self.client.delete(path, headers={"x-api-key": key})


def site(knowledge: KnowledgeStore, reports: SqlReports, policy: Any = "balanced", **options: Any) -> Site:
    guard = Guard(
        ScriptedJudge(SCRIPT), policy, knowledge=knowledge, sinks=[reports], limits=Limits(turn_chars=100, turns=4)
    )
    settings = ProxySettings(upstream="http://127.0.0.1:1/v1", keys=KEYS, **options)
    app = FastAPI()
    install(app, settings)
    metrics.install(app, guard.parts.telemetry)
    app.include_router(admin.router(guard, settings))
    return Site(TestClient(app, base_url="http://127.0.0.1"), guard)


@pytest.fixture
def sqlite(tmp_path: Path) -> SqlReports:
    return SqlReports(f"sqlite:///{tmp_path / 'reports.sqlite'}")


@pytest.fixture
def guarded(knowledge: MemoryKnowledge, sqlite: SqlReports) -> Iterator[Site]:
    made = site(knowledge, sqlite)
    with made.client:
        yield made
        made.client.portal.call(sqlite.aclose)  # type: ignore[union-attr]  # there is one inside the context


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """URL of a Postgres of its own."""
    on_path = all(map(shutil.which, ("postgres", "initdb")))
    with running_postgres(None if on_path else wheels_postgres()) as url:
        yield url


@contextmanager
def running_postgres(programs: Path | None = None) -> Iterator[str]:
    """URL of a Postgres that runs for the block: by the programs of a folder, else by those on the path."""
    initdb, server = (str(programs / name) if programs else name for name in ("initdb", "postgres"))
    driver = pytest.importorskip("psycopg")
    pwd = pytest.importorskip("pwd", reason="users are looked up as on Unix")
    # Postgres refuses to run as root.
    owner = pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    runs_as: dict[str, Any] = {"user": owner.pw_uid, "group": owner.pw_gid} if os.geteuid() == 0 else {}
    home = Path(tempfile.mkdtemp(prefix="vista-guard-pg-"))
    os.chown(home, owner.pw_uid, owner.pw_gid)
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": home, **runs_as}
    subprocess.run([initdb, "-D", home / "data", "-U", "guard", "-A", "trust", "-N"], check=True, **quiet)
    for _ in range(5):  # tests beside these may have taken the free port meanwhile, even for a Postgres
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [server, "-D", str(home / "data"), "-h", "127.0.0.1", "-p", str(port), "-k", str(home), "-F"]
        running = subprocess.Popen(command, **quiet)
        if _answers(driver, port, running, home / "data"):
            break
    else:
        pytest.fail("postgres does not answer")
    with running:
        try:
            yield f"postgresql+psycopg://guard@127.0.0.1:{port}/postgres"
        finally:
            running.send_signal(2)
            running.wait(30)
            shutil.rmtree(home)


def _answers(driver: Any, port: int, running: subprocess.Popen[bytes], data: Path) -> bool:
    """True once this very server answers on the port, False when it ended."""
    for _ in range(300):
        if running.poll() is not None:
            return False
        try:
            with driver.connect(host="127.0.0.1", port=port, user="guard", dbname="postgres") as connection:
                if connection.execute("SHOW data_directory").fetchone()[0] == str(data):
                    return True
        except driver.OperationalError:
            time.sleep(0.1)
    running.kill()
    return False


def check_body(text: str = PIER, **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "How long is it?"}, {"role": "assistant", "content": text}]
    return {"messages": messages, "documents": [PLAN], **more}


def test_a_check_says_what_the_guard_says(guarded: Site) -> None:
    answer = guarded.post("/guard/check", check_body(conversation_id="c1"))
    report = TurnReport.model_validate(answer.json())
    assert answer.status_code == 200
    assert (report.conversation_id, report.response, report.decision.action) == ("c1", PIER, "ALLOW")
    assert [(finding.claim.text, finding.label) for finding in report.findings] == [(PIER, Label.VERIFIED)]
    stored = guarded.get("/guard/conversations/c1").json()
    assert stored == {
        "conversation_id": "c1",
        "reports": [answer.json()],
        "knowledge": [
            {
                "source": "knowledge",
                "source_id": stored["knowledge"][0]["source_id"],
                "text": PIER,
                "title": None,
                "span": None,
                "label": None,
            }
        ],
    }


def test_an_anonymous_check_leaves_nothing_behind(guarded: Site) -> None:
    answer = guarded.post("/guard/check", check_body())
    assert answer.json()["conversation_id"] is None
    assert guarded.get("/guard/conversations/None").status_code == 404


def _isolated(site: Site) -> None:
    names = ("c1", "zoo/c1", "acme/c1", "a b/ü?")
    for name in names:
        assert site.post("/guard/check", check_body(conversation_id=name)).status_code == 200
    for name in (*names, "acme/zoo/c1"):
        path = f"/guard/conversations/{name.replace('?', '%3F')}"
        assert site.get(path, ZOO).json()["error"]["message"] == f"nothing is known of conversation {name!r}"
        assert site.delete(path, ZOO).json() == {"conversation_id": name, "claims": 0, "reports": 0}
    for name in names:
        path = f"/guard/conversations/{name.replace('?', '%3F')}"
        assert [report["conversation_id"] for report in site.get(path).json()["reports"]] == [name]
        assert site.delete(path).json() == {"conversation_id": name, "claims": 1, "reports": 1}
        assert site.get(path).status_code == 404


def test_tenants_do_not_see_each_other(guarded: Site) -> None:
    _isolated(guarded)


def test_tenants_do_not_see_each_other_in_postgres(postgres: str, knowledge: MemoryKnowledge) -> None:
    reports = SqlReports(postgres)
    made = site(knowledge, reports)
    with made.client:
        _isolated(made)
        assert made.client.get("/readyz").json()["checks"] == {"knowledge": "ok", "reports": "ok"}
        made.client.portal.call(reports.aclose)  # type: ignore[union-attr]  # there is one inside the context


def test_workers_on_one_chroma_server_and_one_postgres_know_the_same(
    request: pytest.FixtureRequest, postgres: str
) -> None:
    address = str(request.getfixturevalue("chroma_server"))
    stores = [(ChromaKnowledge(chroma_client(address), WordEmbedder()), SqlReports(postgres)) for _ in range(2)]
    one, other = (site(knowledge, reports) for knowledge, reports in stores)
    with one.client, other.client:
        for worker in (one, other):
            assert worker.client.get("/readyz").json()["checks"] == {"knowledge": "ok", "reports": "ok"}
        one.post("/guard/check", check_body(conversation_id="shared"))
        other.post("/guard/check", check_body("Yes.", conversation_id="shared"))
        seen = one.get("/guard/conversations/shared").json()
        assert seen == other.get("/guard/conversations/shared").json()
        assert [report["response"] for report in seen["reports"]] == [PIER, "Yes."]
        assert [known["text"] for known in seen["knowledge"]] == [PIER]
        assert one.get("/guard/conversations/shared", ZOO).status_code == 404
        assert other.delete("/guard/conversations/shared").json()["reports"] == 2
        assert one.get("/guard/conversations/shared").status_code == 404
        for worker, (knowledge, reports) in zip((one, other), stores, strict=True):
            worker.client.portal.call(knowledge.aclose)  # type: ignore[union-attr]  # there is one inside the context
            worker.client.portal.call(reports.aclose)  # type: ignore[union-attr]  # there is one inside the context


def test_knowledge_of_one_tenant_supports_no_other(guarded: Site) -> None:
    later = {
        "messages": [{"role": "user", "content": "And?"}, {"role": "assistant", "content": PIER}],
        "conversation_id": "c1",
    }
    guarded.post("/guard/check", check_body(conversation_id="c1"))
    known = guarded.client.portal.call(  # type: ignore[union-attr]  # there is one inside the context
        lambda: guarded.guard.parts.knowledge.recall("acme/c1", persona=None, query="", limit=9)
    )
    assert [passage.text for passage in known] == [PIER]
    report = TurnReport.model_validate(guarded.post("/guard/check", later, ZOO).json())
    assert report.evidence_missing
    assert report.findings[0].label is not Label.VERIFIED


def test_tenants_of_the_whole_proxy_are_kept_apart(knowledge: MemoryKnowledge, sqlite: SqlReports) -> None:
    guard = Guard(ScriptedJudge(SCRIPT), "monitor", knowledge=knowledge, sinks=[sqlite])
    asked = {"model": "any", "messages": [{"role": "user", "content": "How long is it?"}]}
    with ScriptedChatServer(PIER, key="sk-up") as upstream:
        account: Any = {"upstream": upstream.base_url, "upstream_key": "sk-up"}
        with TestClient(build_app(guard, ProxySettings(keys=KEYS, **account))) as client:
            labels = []
            for key, more in ((ACME, {"documents": [PLAN]}), (ZOO, {}), (ACME, {})):
                headers = {"authorization": f"Bearer {key}", "x-conversation-id": "c1"}
                answer = client.post("/v1/chat/completions", json={**asked, **more}, headers=headers)
                assert answer.status_code == 200, answer.text
                labels.append(answer.json()["vista_guard"]["labels"])
            reports = [
                client.get("/guard/conversations/c1", headers={"x-api-key": key}).json()["reports"]
                for key in (ACME, ZOO)
            ]
            client.portal.call(sqlite.aclose)  # type: ignore[union-attr]  # there is one inside the context
    assert labels[:2] == [{"VERIFIED": 1}, {"LACKING_EVIDENCE": 1}]
    assert [[report["conversation_id"] for report in each] for each in reports] == [["c1", "c1"], ["c1"]]


def test_reports_are_the_newest_in_order(guarded: Site) -> None:
    for text in (PIER, "Yes.", PIER):
        guarded.post("/guard/check", check_body(text, conversation_id="c1"))
    reports = guarded.get("/guard/conversations/c1?limit=2").json()["reports"]
    assert [report["response"] for report in reports] == ["Yes.", PIER]
    assert guarded.get("/guard/conversations/c1?limit=0").status_code == 400


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({}, 400, "messages: Field required"),
        ({"messages": [], "extra": 1}, 400, "extra: Extra inputs are not permitted"),
        ({"messages": []}, 400, "the conversation is empty; give at least the assistant turn to be judged"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, 400, "the conversation has no assistant turn"),
        ({"messages": [{"role": "elf", "content": "Hi"}]}, 400, "message 0 has the role 'elf'"),
        (check_body(conversation_id=""), 400, "the conversation's id is ''"),
        (check_body(conversation_id="a\x00b"), 400, "it must be a printable text of at most 512 characters"),
        (check_body(conversation_id="x" * 513), 400, "it must be a printable text of at most 512 characters"),
        (check_body("x" * 101), 413, "turn 1 has 101 characters, more than the 100 of limits.turn_chars"),
        ({"messages": [{"role": "assistant", "content": "Hi"}] * 5}, 413, "limits.turns is 4"),
        (check_body("\ud800"), 400, "half a surrogate pair"),
        (
            {"messages": [{"role": "user", "content": "\ud800"}, {"role": "assistant", "content": PIER}]},
            400,
            "half a surrogate",
        ),
        (check_body(documents=[{"title": "no text"}]), 400, "it needs its text under one of"),
        (check_body(documents=[{"text": "t", "title": 7}]), 400, "title is 7"),
    ],
)
def test_what_cannot_be_judged_is_named(guarded: Site, body: dict[str, Any], status: int, message: str) -> None:
    answer = guarded.post("/guard/check", body)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


def test_text_that_is_no_json_is_refused(guarded: Site) -> None:
    answer = guarded.client.post("/guard/check", content=b"{", headers={"x-api-key": ACME})
    assert answer.status_code == 400
    assert guarded.post("/guard/chekc", {}).json()["error"]["message"].startswith("the guard has no such route")


@pytest.mark.parametrize(
    ("path", "content", "kind"),
    [
        ("/guard/check", b"{}", "application/x-www-form-urlencoded"),  # as curl -d sends it
        (LITELLM, b"{}", "text/plain"),
        ("/guard/check", b"[]", "application/json"),
        ("/guard/check", b"", "application/json"),
    ],
)
def test_a_body_that_is_not_read_as_json_names_the_header(guarded: Site, path: str, content: bytes, kind: str) -> None:
    answer = guarded.client.post(path, content=content, headers={"x-api-key": ACME, "content-type": kind})
    assert answer.status_code == 400
    assert "content-type: application/json" in answer.json()["error"]["message"]


def test_a_check_that_takes_too_long_is_ended(knowledge: MemoryKnowledge, sqlite: SqlReports) -> None:
    made = site(knowledge, sqlite, request_timeout_s=1e-9)
    answer = made.post("/guard/check", check_body())
    assert (answer.status_code, answer.json()["error"]["code"]) == (504, "http_504")


def litellm(texts: list[str], **more: Any) -> dict[str, Any]:
    params = {"documents": [PLAN], **more.pop("params", {})}
    return {
        "texts": texts,
        "images": None,
        "tools": None,
        "tool_calls": None,
        "structured_messages": [{"role": "user", "content": "How long is it?"}],
        "request_data": {"user_api_key_hash": "abc", "user_api_key_team_id": None},
        "request_headers": {"User-Agent": "[present]"},
        "litellm_version": "1.99.0",
        "litellm_call_id": "call-1",
        "litellm_trace_id": "trace-1",
        "model": "any",
        "input_type": "response",
        "additional_provider_specific_params": params,
        **more,
    }


@pytest.mark.parametrize(
    ("policy", "body", "expected"),
    [
        ("balanced", litellm([PIER]), {"action": "NONE"}),
        ("balanced", litellm([]), {"action": "NONE"}),
        ("balanced", litellm(["", PIER, " "]), {"action": "NONE"}),
        ("balanced", litellm([FALSE], input_type="request"), {"action": "NONE"}),
        ("strict", litellm([FALSE]), {"action": "BLOCKED", "blocked_reason": None}),
        ("strict", litellm([PIER, FALSE]), {"action": "BLOCKED", "blocked_reason": None}),
        (
            build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}, "repair": "redact"}),
            litellm([PIER, f"{PIER} {FALSE}"]),
            {"action": "GUARDRAIL_INTERVENED", "texts": [PIER, PIER]},
        ),
        ("monitor", litellm([FALSE]), {"action": "NONE"}),
    ],
)
def test_litellm_is_told_what_to_do(
    knowledge: MemoryKnowledge, sqlite: SqlReports, policy: Any, body: dict[str, Any], expected: dict[str, Any]
) -> None:
    made = site(knowledge, sqlite, policy)
    answer = made.post(LITELLM, body)
    if "blocked_reason" in expected:
        expected = {"action": "BLOCKED", "blocked_reason": made.guard.parts.policy.message}
    assert (answer.status_code, answer.json()) == (200, expected)


def test_litellm_remembers_only_what_it_names(guarded: Site) -> None:
    guarded.post(LITELLM, litellm([PIER]))
    assert guarded.get("/guard/conversations/trace-1").status_code == 404
    guarded.post(LITELLM, litellm([PIER], params={"conversation_id": "c9"}))
    assert [known["text"] for known in guarded.get("/guard/conversations/c9").json()["knowledge"]] == [PIER]
    assert guarded.get("/guard/conversations/c9", ZOO).status_code == 404


def test_litellm_gets_errors_it_fails_closed_on(guarded: Site) -> None:
    answers = [
        guarded.post(LITELLM, litellm(["x" * 101])),
        guarded.post(LITELLM, litellm([PIER], params={"documents": "plan"})),
        guarded.post(LITELLM, litellm([PIER] * 65)),
        guarded.post(LITELLM, litellm([PIER], input_type="other")),
    ]
    assert [answer.status_code for answer in answers] == [413, 400, 413, 400]


def test_probes_tell_the_state_of_every_store(knowledge: MemoryKnowledge, tmp_path: Path) -> None:
    made = site(knowledge, SqlReports(f"sqlite:///{tmp_path / 'missing' / 'reports.sqlite'}"))
    assert made.client.get("/healthz").json() == {"status": "ok"}
    answer = made.client.get("/readyz")
    assert (answer.status_code, answer.json()) == (
        503,
        {"status": "not ready", "judge": "scripted", "checks": {"knowledge": "ok", "reports": "unreachable"}},
    )
    (tmp_path / "missing").mkdir()
    answer = made.client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")


def test_reports_that_fail_later_take_no_guard_out_of_service(knowledge: MemoryKnowledge, tmp_path: Path) -> None:
    file = tmp_path / "reports.sqlite"
    made = site(knowledge, SqlReports(f"sqlite:///{file}"))
    assert made.client.get("/readyz").json()["checks"] == {"knowledge": "ok", "reports": "ok"}
    with closing(sqlite3.connect(file)) as other:
        other.execute("DROP TABLE vista_guard_reports")
    answer = made.client.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (200, "ready")
    assert answer.json()["checks"] == {"knowledge": "ok", "reports": "unreachable"}


async def test_the_log_says_that_a_store_was_too_slow(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(admin, "PROBE_TIMEOUT_S", 0.001)
    assert await admin._probe("reports", asyncio.Event().wait()) == "unreachable"
    assert "/readyz: reports: no answer in 0.001 s" in caplog.text


def test_documents_that_tenants_would_share_are_refused(knowledge: MemoryKnowledge) -> None:
    guard = Guard(ScriptedJudge({}), knowledge=knowledge, documents=MemoryDocuments(WordEmbedder()))
    with raises(ConfigError, "store"):
        admin.router(guard, ProxySettings(upstream="http://127.0.0.1:1", keys=KEYS))


def test_metrics_count_turns_and_hold_no_text(guarded: Site) -> None:
    before = _samples(guarded)
    for text, name in ((PIER, "c1"), (FALSE, "c2"), ("Unknown to the script.", "c3")):
        guarded.post("/guard/check", check_body(text, conversation_id=name))
    guarded.client.get("/metrics")
    after = _samples(guarded)
    grown = {name: value - before.get(name, 0) for name, value in after.items() if value != before.get(name, 0)}
    counts = {name: value for name, value in grown.items() if "seconds" not in name and "created" not in name}
    assert counts == {
        "vista_guard_turns_total{'action': 'ALLOW', 'gate': 'turn'}": 1,
        "vista_guard_turns_total{'action': 'FLAG', 'gate': 'turn'}": 1,
        "vista_guard_turns_total{'action': 'BLOCK', 'gate': 'turn'}": 1,
        "vista_guard_claims_total{'label': 'VERIFIED'}": 1,
        "vista_guard_claims_total{'label': 'CONTRADICTED'}": 1,
        "vista_guard_unchecked_claims_total{}": 1,
        "vista_guard_refused_requests_total{'code': 'invalid_api_key'}": 1,
    }
    assert grown["vista_guard_gate_seconds_count{'gate': 'turn'}"] == 3
    page = guarded.get("/metrics").text
    assert not [text for text in ("pier", "c1", "acme", ACME, "Unknown") if text in page]


def test_metrics_count_reports_that_are_not_stored(knowledge: MemoryKnowledge, tmp_path: Path) -> None:
    made = site(knowledge, SqlReports(f"sqlite:///{tmp_path / 'missing' / 'reports.sqlite'}"))
    before = _samples(made)
    for name in ("c1", "c2"):
        made.post("/guard/check", check_body(PIER, conversation_id=name))
    counted = "vista_guard_store_failures_total{'kind': '%s'}"
    grown = {kind: _samples(made)[counted % kind] - before[counted % kind] for kind in STORE_WARNINGS}
    assert grown == {"read": 0, "write": 0, "reports": 2}


def _samples(site: Site) -> dict[str, float]:
    page = site.get("/metrics").text
    families = text_string_to_metric_families(page)
    return {f"{sample.name}{sample.labels}": sample.value for family in families for sample in family.samples}
