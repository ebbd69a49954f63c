"""Documents by tenant: each tenant's turns are held against its own documents, and against nobody else's."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tests.proxy.serving import ASKED, said
from tests.stores.conftest import chroma_server, location
from vista_guard import Guard
from vista_guard.cli import app as command_line
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.proxy.app import build_app
from vista_guard.proxy.security import key_hash, new_key
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.testing import ScriptedChatServer, WordEmbedder
from vista_guard.types import Document, TurnReport

__all__ = ["chroma_server", "location"]  # fixtures

NAMES = ("acme", "zoo", "inn")
KEYS = {name: new_key() for name in NAMES}
SAID = "The whale hall opened in 1925."
LATER = "The whale hall opened in 1987."
EVERYBODY = None

ALLOWED, BLOCKED, UNFOUNDED = (
    ("ALLOW", {"VERIFIED": 1}),
    ("BLOCK", {"CONTRADICTED": 1}),
    ("FLAG", {"LACKING_EVIDENCE": 1}),
)


@dataclass
class Site:
    """The proxy before a chatbot that always says `SAID`, with the judge and the embeddings that ship."""

    client: TestClient

    def post(self, tenant: str | None, path: str, **body: Any) -> Any:
        headers = {} if tenant is None else {"x-vista-guard-key": KEYS[tenant]}
        answer = self.client.post(path, json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer

    def chat(self, tenant: str | None) -> tuple[str, dict[str, int]]:
        """Decision and labels of a chat's next turn."""
        answer = self.post(tenant, "/v1/chat/completions", model="any", messages=ASKED).json()
        return answer["vista_guard"]["action"], answer["vista_guard"]["labels"]

    def stream(self, tenant: str) -> str:
        """What the tenant's user reads."""
        answer = self.post(tenant, "/v1/chat/completions", model="any", messages=ASKED, stream=True)
        lines = [line.removeprefix("data: ") for line in answer.text.splitlines() if line.startswith("data: {")]
        return said([json.loads(line) for line in lines])

    def respond(self, tenant: str) -> str:
        """As `stream`, of the Responses API."""
        answer = self.post(tenant, "/v1/responses", model="any", input=ASKED[0]["content"]).json()
        return str(answer["output"][0]["content"][0]["text"])

    def check(self, tenant: str) -> TurnReport:
        """The report of `/guard/check`."""
        messages = [*ASKED, {"role": "assistant", "content": SAID}]
        return TurnReport.model_validate(self.post(tenant, "/guard/check", messages=messages).json())

    def litellm(self, tenant: str) -> str:
        """What LiteLLM is told to do."""
        body = {"input_type": "response", "texts": [SAID], "structured_messages": ASKED}
        return str(self.post(tenant, "/beta/litellm_basic_guardrail_api", **body).json()["action"])


@dataclass
class Town:
    """Where documents are, and the tools that use them there."""

    stores: dict[str, Any]
    folder: Path

    def documents(self, command: str, *arguments: str, tenant: str | None = EVERYBODY) -> str:
        place = [f"--{name.replace('_', '-')}={value}" for name, value in self.stores.items()]
        chosen = [] if tenant is None else ["--tenant", tenant]
        result = CliRunner().invoke(command_line, ["documents", command, *arguments, *chosen, *place])
        assert result.exit_code == 0, result.output
        return result.stdout

    def add(self, text: str, tenant: str | None = EVERYBODY) -> None:
        (self.folder / "halls.txt").write_text(text, encoding="utf-8")
        self.documents("add", str(self.folder / "halls.txt"), tenant=tenant)

    @contextmanager
    def site(self, *tenants: str, **settings: Any) -> Iterator[Site]:
        keys = {tenant: [key_hash(KEYS[tenant])] for tenant in tenants}
        with (
            ScriptedChatServer(SAID) as upstream,
            Guard.from_settings(**self.stores) as guard,
            TestClient(
                build_app(guard, ProxySettings(upstream=upstream.base_url, keys=keys, **settings)),
                base_url="http://127.0.0.1",
            ) as client,
        ):
            yield Site(client)


@pytest.fixture
def folder(tmp_path: Path) -> Town:
    return Town({"data_dir": str(tmp_path / "data")}, tmp_path)


@pytest.fixture(params=["folder", "server"])
def town(request: pytest.FixtureRequest, location: Callable[[str], str], tmp_path: Path) -> Town:
    if request.param == "server":
        return Town({"chroma_url": location("server")}, tmp_path)
    return Town({"data_dir": str(tmp_path / "data")}, tmp_path)


def test_one_question_is_judged_by_each_tenants_own_documents(town: Town) -> None:
    town.add(SAID, "acme")
    town.add(LATER, "zoo")
    with town.site(*NAMES) as site:
        assert [site.chat(tenant) for tenant in NAMES] == [ALLOWED, BLOCKED, UNFOUNDED]
        assert [site.stream(tenant) for tenant in NAMES] == [SAID, MESSAGE, SAID]
        assert [site.respond(tenant) for tenant in NAMES] == [SAID, MESSAGE, SAID]
        assert [site.litellm(tenant) for tenant in NAMES] == ["NONE", "BLOCKED", "NONE"]
        reports = [site.check(tenant) for tenant in NAMES]
    assert [report.decision.action for report in reports] == ["ALLOW", "BLOCK", "FLAG"]
    assert [report.evidence_missing for report in reports] == [False, False, True]
    quotes = [{piece.quote for finding in report.findings for piece in finding.evidence} for report in reports]
    assert quotes == [{SAID}, {LATER}, set()]


def test_documents_of_no_tenant_are_shared_only_when_they_may_be(
    folder: Town, caplog: pytest.LogCaptureFixture
) -> None:
    folder.add(SAID)
    with caplog.at_level(logging.WARNING, "vista_guard.proxy"), folder.site("acme", "zoo") as site:
        assert [site.chat(tenant) for tenant in ("acme", "zoo")] == [UNFOUNDED, UNFOUNDED]
    assert [record.message.partition(":")[0] for record in caplog.records] == [
        "documents were added for no tenant, and no tenant retrieves them"
    ]
    caplog.clear()
    with caplog.at_level(logging.WARNING, "vista_guard.proxy"):
        with folder.site("acme", "zoo", shared_documents=True) as site:
            assert [site.chat(tenant) for tenant in ("acme", "zoo")] == [ALLOWED, ALLOWED]
        with folder.site("acme") as site:  # A single tenant has always had them.
            assert site.chat("acme") == ALLOWED
        with folder.site() as site:
            assert site.chat(None) == ALLOWED
    assert caplog.records == []


def test_a_tenant_has_its_own_documents_beside_the_shared_ones(folder: Town) -> None:
    folder.add("The whale hall has a glass roof.")
    folder.add(LATER, "zoo")
    with folder.site("acme", "zoo", shared_documents=True) as site:
        assert [site.chat(tenant) for tenant in ("acme", "zoo")] == [("FLAG", {"LACKING_EVIDENCE": 1}), BLOCKED]
        assert [site.check(tenant).evidence_missing for tenant in ("acme", "zoo")] == [False, False]
    with folder.site("zoo") as site:
        assert site.chat("zoo") == BLOCKED
    with folder.site() as site:  # Nobody's key, nobody's documents.
        assert site.chat(None) == ("FLAG", {"LACKING_EVIDENCE": 1})


def test_removing_and_listing_reach_one_tenant_only(folder: Town) -> None:
    for tenant in ("acme", "zoo", EVERYBODY):
        folder.add(SAID, tenant)
    folder.documents("remove", "halls.txt", tenant="acme")
    listed = [folder.documents("list", tenant=tenant) for tenant in ("acme", "zoo", EVERYBODY, "inn")]
    assert [bool(lines) for lines in listed] == [False, True, True, False]
    with folder.site("acme", "zoo") as site:
        assert [site.chat(tenant) for tenant in ("acme", "zoo")] == [UNFOUNDED, ALLOWED]


async def test_no_two_names_lead_to_the_same_documents(tmp_path: Path) -> None:
    names = ["a", "a-", "a_", "a-b", "a_b", "0", "documents", "x" * 62, "x" * 63, "Acme", "acme", "a.b", "größe"]
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    for name in names:
        await store.of_tenant(name).add([Document(id="motto", text=f"The motto is {name}.")])
    found = {name: [one.text for one in await store.of_tenant(name).search("motto", 99)] for name in names}
    assert found == {name: [f"The motto is {name}."] for name in names}
    assert list(await store.search("motto", 99)) == []
    shared = store.of_tenant("acme", shared=True)
    await store.add([Document(id="motto", text="The motto is peace.")])
    assert [one.text for one in await shared.search("The motto is peace.", 1)] == ["The motto is peace."]
    assert {one.text for one in await shared.search("motto", 99)} == {"The motto is acme.", "The motto is peace."}
    assert ([one.id for one in await shared.stored()], await shared.delete("motto")) == (["motto"], 1)
    assert [one.text for one in await shared.search("motto", 99)] == ["The motto is peace."]
    await store.aclose()
