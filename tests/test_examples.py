"""The examples: short, and they run as they are, without a network."""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.blocked import ALL, run_without
from tests.node import run_node
from tests.proxy.serving import serving
from vista_guard import Guard
from vista_guard._extras import how_to_install
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.testing import ScriptedChatServer

EXAMPLES = Path(__file__).parents[1] / "examples"

THROUGH_THE_PROXY = [
    "user: What does the ferry cost?",
    "bot:  A ticket costs 4 euros.",
    "  finish_reason stop, guard ALLOW",
    "user: How big and how old is it?",
    "bot:  The ferry carries 80 passengers.",
    "",
    MESSAGE,
    "  finish_reason content_filter, guard BLOCK",
]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.*")), ids=lambda path: path.name)
def test_it_is_short_and_says_what_it_shows(example: Path) -> None:
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 70
    assert lines[0].startswith({".py": '"""', ".mjs": "// "}[example.suffix])


def _run(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_langchain_agent(capsys: pytest.CaptureFixture[str]) -> None:
    good, said, bad, withheld = _run("langchain_agent.py", capsys)
    assert good.startswith("  [ALLOW] VERIFIED")
    assert said == "agent: The tide museum is closed on Mondays."
    assert bad.startswith("  [BLOCK] CONTRADICTED")
    assert withheld == f"agent: {MESSAGE}"


def test_langgraph_rag(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("langgraph_rag.py", capsys) == [
        "user:  When was the lighthouse built?",
        "agent: The lighthouse was built in 1888.",
        "  [ALLOW]",
        "user:  What about the tower?",
        f"agent: {MESSAGE}",
        "  [BLOCK]",
    ]


def test_openai_client(capsys: pytest.CaptureFixture[str]) -> None:
    streamed, told, withheld, *replaced = _run("openai_client.py", capsys)
    assert (streamed, told) == ("The whale hall opened in 1925. Entry costs 12 euros.", "  ALLOW, VISTA score 1.0")
    assert "t1.c1 contradicted" in withheld
    assert replaced == [MESSAGE, "  BLOCK, VISTA score 0.5, finish_reason content_filter"]


def test_own_system(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("own_system.py", capsys) == [
        "numbers: 2 of 3 turns right",
        "vista: 3 of 3 turns right",
        "majority: 2 of 3 turns right",
    ]


def test_proxy_client_starts_a_proxy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    greeting, *talk = _run("proxy_client.py", capsys)
    assert greeting.startswith("guarding http://127.0.0.1:")
    assert talk == THROUGH_THE_PROXY


@contextmanager
def _proxy() -> Iterator[str]:
    """The base URL of a proxy before the model of the proxy's examples."""
    answers = runpy.run_path(str(EXAMPLES / "proxy_client.py"))["ANSWERS"]
    with (
        ScriptedChatServer(lambda request: answers[request.user]) as model,
        Guard.from_settings(store="memory") as guard,
        serving(build_app(guard, ProxySettings(upstream=model.base_url))) as url,
    ):
        yield f"{url}/v1"


def test_proxy_client_uses_one_that_is_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with _proxy() as base_url:
        monkeypatch.setenv("OPENAI_BASE_URL", base_url)
        assert _run("proxy_client.py", capsys) == THROUGH_THE_PROXY


def test_proxy_client_for_node(tmp_path: Path) -> None:
    script = (EXAMPLES / "proxy_client.mjs").read_text(encoding="utf-8")
    with _proxy() as base_url:
        ran = run_node(script, tmp_path, OPENAI_BASE_URL=base_url, OPENAI_API_KEY="unused")
    assert ran.stderr == ""
    assert ran.stdout.splitlines() == THROUGH_THE_PROXY


@pytest.mark.parametrize(
    ("example", "extra", "library"),
    [
        ("langchain_agent.py", "langchain", "langchain"),
        ("openai_client.py", "testing", "openai"),
        ("proxy_client.py", "proxy,testing", "openai"),
        ("streamlit_chat.py", "dashboard", "streamlit"),
    ],
)
def test_in_the_base_it_says_what_to_install(example: str, extra: str, library: str, tmp_path: Path) -> None:
    done = run_without(ALL, [str(EXAMPLES / example)], tmp_path)
    said = f"No module named '{library}'. This example needs: pip install 'vista-guard[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


@pytest.mark.parametrize("example", ["langgraph_rag.py", "own_system.py"])
def test_it_needs_the_base_alone(example: str, tmp_path: Path) -> None:
    done = run_without(ALL, [str(EXAMPLES / example)], tmp_path, VISTA_GUARD_STORE="memory")
    assert (done.returncode, done.stderr) == (0, "")


def test_proxy_client_says_what_its_proxy_lacks(tmp_path: Path) -> None:
    done = run_without(["fastapi"], [str(EXAMPLES / "proxy_client.py")], tmp_path, OPENAI_BASE_URL="")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: the proxy needs fastapi: {how_to_install('proxy')}\n"


def test_proxy_client_for_node_says_what_to_install(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    script = tmp_path / "proxy_client.mjs"
    script.write_text((EXAMPLES / script.name).read_text(encoding="utf-8"), encoding="utf-8")
    done = subprocess.run([node, str(script)], capture_output=True, text=True, check=False)
    said = "This example needs the package openai: npm install openai\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


class TestStreamlitChat:
    """The page without a browser: Streamlit's own test harness."""

    @pytest.fixture
    def page(self) -> Any:
        testing = pytest.importorskip("streamlit.testing.v1", reason="streamlit is not installed")
        page = testing.AppTest.from_file(str(EXAMPLES / "streamlit_chat.py"), default_timeout=60).run()
        assert not page.exception
        return page

    def _ask(self, page: Any, question: str) -> list[str]:
        """What the page says, message by message."""
        page.chat_input[0].set_value(question).run()
        assert not page.exception
        return [message.children[0].value for message in page.chat_message]

    def test_each_claim_has_its_label_its_reason_and_its_quotes(self, page: Any) -> None:
        page.pills[0].select("Tell me about the lighthouse.").run()
        asked, answered = (message.children[0].value for message in page.chat_message)
        assert _text(asked) == "Tell me about the lighthouse."
        assert _claims(answered) == [
            ("VERIFIED", "The lighthouse was built in 1888."),
            ("LACKING_EVIDENCE", "It was painted red in 1950."),
            ("OUT_OF_SCOPE", "I find it lovely."),
        ]
        assert 'supported by document “tower”\nThe lighthouse was built in 1888."' in answered

    def test_a_withheld_claim_is_not_on_the_page(self, page: Any) -> None:
        _, answered = self._ask(page, "Who was its last keeper?")
        assert _text(answered) == f"The last keeper was Marta Eide.\n\n{MESSAGE}"
        assert _claims(answered) == [("VERIFIED", "The last keeper was Marta Eide.")]
        assert "1999" not in answered

    def test_a_conversation_goes_on(self, page: Any) -> None:
        self._ask(page, "How do I get there?")
        said = self._ask(page, "And what is there to eat?")
        assert [_claims(text) for text in said[1::2]] == [
            [
                ("VERIFIED", "The ferry from Port Hallow sails twice a day."),
                ("ABSTENTION", "I don't know whether it takes dogs."),
            ],
            [("ABSTENTION", "I don't know that.")],
        ]

    def test_what_is_said_is_no_html(self, page: Any) -> None:
        asked, _ = self._ask(page, '<img src="x" onerror="alert(1)">')
        assert "&lt;img src=&quot;x&quot;" in asked
        assert "<img" not in asked


def _claims(page: str) -> list[tuple[str, str]]:
    """The highlighted claims with their labels."""
    marks = re.findall(r'<mark [^>]*title="(\w+): [^"]*">(.*?)</mark>', page)
    return [(label, unescape(text)) for label, text in marks]


def _text(page: str) -> str:
    """What a reader sees of it."""
    return unescape(re.sub("<[^>]+>", "", page))
