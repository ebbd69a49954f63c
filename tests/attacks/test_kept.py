"""Where things are kept: a withheld draft is in no store and no checkpoint, and nobody reads another tenant's."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.attacks.answers import LIE, SECRET, TRUTH
from tests.attacks.hosts import ASKED, NOTES, RUN
from tests.graph.test_checkpoints import database_in, sqlite
from tests.integrations.openai.ways import Script
from tests.proxy.serving import serving
from tests.proxy.test_admin import postgres
from tests.raising import raises
from tests.stores.conftest import chroma_server, location
from vista_guard import Guard, Label, StoreError, TurnReport
from vista_guard.integrations.langgraph import guard_node
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.proxy.app import build_app
from vista_guard.proxy.security import key_hash, new_key
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.chroma.client import chroma_client, close_client
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.reports import SqlReports
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, Verdict, WordEmbedder

__all__ = ["chroma_server", "location", "postgres"]  # fixtures

FACT = "The tide museum has a whale hall."
"""Fine by itself, in a draft that is withheld: it was never said, so it is not known."""
DRAFT = f"{FACT} {LIE}"


def judge() -> ScriptedJudge:
    """Knows the truth, the fact and the secret."""
    known = Verdict(TRUTH, needs="1925"), Verdict(FACT, needs="whale hall"), Verdict(SECRET, Label.CONTRADICTED, 0.99)
    return ScriptedJudge(Script(*known))


def speaking(guard: Guard, saver: Any, gate: Any) -> Any:
    """A host's graph that says the draft in a guarded node, with a checkpointer."""
    builder = StateGraph(MessagesState)
    draft = {"messages": [AIMessage(DRAFT, additional_kwargs={"refusal": LIE})]}
    builder.add_node("speak", guard_node(guard, lambda state: draft, gate=gate, documents=[NOTES]))
    builder.add_edge(START, "speak")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("gate", ["turn", "sentence"])
@pytest.mark.parametrize("policy", ["strict", "balanced"])
@pytest.mark.parametrize("place", ["folder", "server"])
async def test_nothing_is_in_postgres_nor_in_chroma(
    postgres: str, location: Callable[[str], str], place: str, policy: str, gate: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    database, address = database_in(postgres, f"attack_{place}_{policy}_{gate}", True), location(place)
    knowledge = ChromaKnowledge(chroma_client(address), WordEmbedder())
    guard = Guard(judge(), policy, knowledge=knowledge)
    async with database.open() as saver:
        made = speaking(guard, saver, gate)
        result = await made.ainvoke(ASKED, RUN, durability="sync")
    assert result["messages"][-1].content == MESSAGE
    assert (b"SECRET" in database.dump(), FACT.encode() in database.dump()) == (False, False)
    assert MESSAGE.encode() in database.dump()
    assert rows_on(address).count("SECRET") == rows_on(address).count(FACT) == 0
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize("gate", ["turn", "sentence"])
@pytest.mark.parametrize("record", ["verdicts", "delivered", "full"])
async def test_texts_that_may_be_kept_are_with_the_reports_and_nowhere_else(
    tmp_path: Path, record: Any, gate: str, caplog: pytest.LogCaptureFixture
) -> None:
    """`full` is leave for the database of reports, and for no checkpoint and no log."""
    caplog.set_level(logging.DEBUG)
    (tmp_path / "host").mkdir()
    (tmp_path / "reports").mkdir()
    database = sqlite(tmp_path / "host", True)
    store = SqlReports(f"sqlite:///{tmp_path / 'reports' / 'reports.sqlite'}", record=record)
    guard = Guard(judge(), "strict", knowledge=MemoryKnowledge(WordEmbedder()), sinks=[store])
    async with database.open() as saver:
        result = await speaking(guard, saver, gate).ainvoke(ASKED, RUN, durability="sync")
    await store.aclose()
    assert result["messages"][-1].content == MESSAGE
    written = b"".join(file.read_bytes() for file in (tmp_path / "reports").iterdir())
    # The fact was verified and never said: it is a claim of the report, as ever. The draft as it was said is not.
    assert (DRAFT.encode() in written) is (record == "full")
    assert (b"SECRET" in database.dump(), FACT.encode() in database.dump()) == (False, False)
    assert DRAFT not in caplog.text
    assert "SECRET" not in caplog.text


def rows_on(address: str) -> str:
    """All rows of all collections of a Chroma server."""
    client = chroma_client(address)
    rows = [json.dumps(one.get(include=["documents", "metadatas"])) for one in client.list_collections()]
    close_client(client)
    return "\n".join(rows)


class TestAFolderThatCannotBeWritten:
    """A guard that keeps nothing says so, and withholds as ever."""

    def test_it_is_not_opened(self, tmp_path: Path) -> None:
        (tmp_path / "store").write_text("a file where the store's folder should be")
        with raises(StoreError, "Chroma"):
            chroma_client(str(tmp_path / "store" / "chroma"))

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    @pytest.mark.parametrize("said", [DRAFT, TRUTH])
    def test_what_became_read_only(self, tmp_path: Path, said: str, caplog: pytest.LogCaptureFixture) -> None:
        folder = chroma_client(str(tmp_path / "chroma"))
        told: list[TurnReport] = []
        with Guard(judge(), "strict", knowledge=ChromaKnowledge(folder, WordEmbedder())) as guard:
            for path in (tmp_path / "chroma", *(tmp_path / "chroma").rglob("*")):
                path.chmod(0o500 if path.is_dir() else 0o400)
            agent: Any = guard.wrap(lambda asked: said, documents=[NOTES], on_report=told.append)
            shown = agent([{"role": "user", "content": "When?"}], conversation_id="read-only")
        assert shown in ((TRUTH, MESSAGE) if said == TRUTH else (MESSAGE,))
        assert told[0].warnings or told[0].blocked
        assert "SECRET" not in f"{shown}{caplog.text}"


KEYS = {name: new_key() for name in ("acme", "zoo")}
OWN = "The whale hall was painted by Ida."


class Tenants:
    """Two tenants of one proxy before one upstream, which gives both the same ids."""

    def __init__(self, url: str, knowledge: MemoryKnowledge, upstream: ScriptedChatServer) -> None:
        self.url, self.knowledge, self.upstream = url, knowledge, upstream

    def respond(self, tenant: str, text: str, **more: Any) -> httpx2.Response:
        """One turn by the Responses API."""
        body = {"model": "any", "input": [{"role": "user", "content": text}], **more}
        headers = {"x-vista-guard-key": KEYS[tenant]}
        return httpx2.post(f"{self.url}/v1/responses", json=body, headers=headers, timeout=30)


@pytest.fixture(scope="module")
def tenants() -> Iterator[Tenants]:
    knowledge = MemoryKnowledge(WordEmbedder())
    known = ScriptedJudge(Script(Verdict(OWN, needs="Ida")))
    guard = Guard(known, "strict", knowledge=knowledge)
    keys = {name: (key_hash(key),) for name, key in KEYS.items()}
    with ScriptedChatServer(lambda asked: f"As I said: {OWN}" if asked.user == "Again?" else OWN) as upstream:
        settings = ProxySettings(upstream=upstream.base_url, keys=keys, shared_documents=True)
        with serving(build_app(guard, settings)) as url:
            yield Tenants(url, knowledge, upstream)


WAYS: tuple[dict[str, Any], ...] = (
    {},
    {"metadata": {"conversation_id": "talk"}},
    {"metadata": {"conversation_id": "acme/talk"}},
    {"metadata": {"conversation_id": "../acme/talk"}},
    {"conversation": "talk"},
    {"store": True},
)
"""How another tenant may try to stand in the conversation of the first one, beside naming its response."""


@pytest.mark.parametrize("more", WAYS, ids=str)
@pytest.mark.parametrize("stream", [False, True])
def test_another_tenants_response_is_no_past(tenants: Tenants, more: dict[str, Any], stream: bool) -> None:
    documents = [{"id": "d", "text": "Ida painted the whale hall."}]
    named = {"metadata": {"conversation_id": "talk"}} if "metadata" in more else {}
    first = tenants.respond("acme", "Who painted it?", documents=documents, **named)
    assert (first.status_code, OWN in first.text) == (200, True)
    known = asyncio.run(
        tenants.knowledge.recall(
            "acme/talk" if named else f"acme/{first.json()['id']}", persona=None, query="", limit=9
        )
    )
    assert [one.text for one in known] == [OWN]
    # What is known to acme would verify the same words: whoever is told so reads acme's memory.
    stolen = tenants.respond("zoo", "Again?", previous_response_id=first.json()["id"], stream=stream, **more)
    assert OWN not in stolen.text.partition("vista_guard")[0] or stolen.status_code != 200
    assert "VERIFIED" not in stolen.text


def test_the_same_tenant_goes_on(tenants: Tenants) -> None:
    documents = [{"id": "d", "text": "Ida painted the whale hall."}]
    first = tenants.respond("acme", "Who painted it?", documents=documents)
    again = tenants.respond("acme", "Again?", previous_response_id=first.json()["id"])
    assert (again.status_code, again.json()["vista_guard"]["labels"]) == (200, {"VERIFIED": 1}), again.text


@pytest.mark.parametrize(
    "key", ["", "vg-wrong", KEYS["zoo"][:-1], f"{KEYS['acme']}x"], ids=["none", "made-up", "cut", "longer"]
)
def test_a_wrong_key_learns_nothing(tenants: Tenants, key: str) -> None:
    body = {"model": "any", "input": "Again?", "previous_response_id": "resp_1"}
    given = httpx2.post(f"{tenants.url}/v1/responses", json=body, headers={"x-vista-guard-key": key}, timeout=30)
    assert (given.status_code, "resp_1" in given.text, "acme" in given.text) == (401, False, False)
