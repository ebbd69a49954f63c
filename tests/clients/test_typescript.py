"""The TypeScript client: its types are those of reports; its middleware holds answers until a proxy judged them."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.browser import chromium
from tests.policy.test_presets import finding
from tests.policy.test_scoring import report
from tests.proxy.serving import LIE, NOTES, TRUTH, proxy, serving
from vista_guard import Guard
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.testing import ScriptedChatServer
from vista_guard.types import Action, Claim, Label, Span

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/typescript"
REPORT = CLIENT / "src/report.ts"

SCRIPT = Path(__file__).parent / "middleware.mjs"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client with its packages, compiled."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node is not installed")
    folder = tmp_path_factory.mktemp("client") / "typescript"
    shutil.copytree(CLIENT, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    given = os.environ.get("VISTA_GUARD_NODE_CLIENT")
    if given is not None:
        (folder / "node_modules").symlink_to(Path(given).absolute(), target_is_directory=True)
    else:
        install = [npm, "ci", "--no-audit", "--no-fund", "--silent"]
        if subprocess.run(install, cwd=folder, capture_output=True, timeout=300, check=False).returncode:
            pytest.skip("the AI SDK cannot be installed: set VISTA_GUARD_NODE_CLIENT to a node_modules that has it")
    run(folder, "tsc")
    return folder


def run(folder: Path, tool: str, *arguments: str) -> str:
    """Runs a package's command; its output."""
    command: list[str | Path] = [folder / "node_modules/.bin" / tool, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_types_of_a_report_are_those_of_its_schema(built: Path) -> None:
    schema = ROOT / "docs/report.schema.json"
    run(built, "json2ts", "-i", str(schema), "-o", "now.ts", "--no-additionalProperties")
    assert REPORT.read_text("utf-8") == (built / "now.ts").read_text("utf-8"), "run: npm run types"


@pytest.fixture(scope="module")
def served() -> Iterator[Any]:
    with ScriptedChatServer(lambda request: TRUTH if "open" in request.user else LIE) as model, proxy(model) as running:
        yield running


def test_the_field_of_an_answer_has_its_type(built: Path, served: Any) -> None:
    """A literal with a field that the type lacks, or without one that it has, does not compile."""
    fields = []
    for question in ("When did it open?", "Tell me a lie."):
        body = {"model": "any", "messages": [{"role": "user", "content": question}], "documents": [NOTES]}
        fields.append(served.post("/v1/chat/completions", body).json()["vista_guard"])
    assert [field["action"] for field in fields] == ["ALLOW", "BLOCK"]
    lines = [f"export const field{at}: VistaGuardField = {json.dumps(field)};" for at, field in enumerate(fields)]
    used = 'import type { VistaGuardField } from "./field.js";\n'
    (built / "src/answers.ts").write_text(used + "\n".join(lines), encoding="utf-8")
    run(built, "tsc", "--noEmit")
    (built / "src/answers.ts").write_text(used + lines[0].replace('"action"', '"acted"'), encoding="utf-8")
    with pytest.raises(AssertionError, match="acted"):
        run(built, "tsc", "--noEmit")
    (built / "src/answers.ts").unlink()


def test_the_middleware_shows_only_what_was_judged(built: Path, served: Any) -> None:
    shutil.copy(SCRIPT, built)
    command = ["node", SCRIPT.name, served.url, TRUTH, LIE, NOTES]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        ["good", TRUTH, "stop", "ALLOW"],
        ["bad", MESSAGE, "content-filter", "BLOCK"],
        ["good stream", TRUTH, "stop", "ALLOW"],
        ["bad stream", MESSAGE, "content-filter", "BLOCK"],
        ["per call", TRUTH, "stop", "ALLOW"],
        ["remembered", TRUTH, "stop", "ALLOW", "VERIFIED"],
        ["tool", "VERIFIED"],
        ["json", {"year": 1850}, 0],
        ["closed", "failed", False],
        ["refused", 400, False],
    ]


def test_the_client_tests_itself(built: Path) -> None:
    """The run of `npm test`, which compiles it first."""
    done = subprocess.run(["node", "--test"], cwd=built, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout


def test_the_example_shows_what_the_proxy_lets_through(built: Path, tmp_path: Path) -> None:
    answers = runpy.run_path(str(ROOT / "examples/proxy_client.py"))["ANSWERS"]
    shutil.copy(ROOT / "examples/ai_sdk.mjs", built)
    with (
        ScriptedChatServer(lambda request: answers[request.user]) as model,
        Guard.from_settings(store="memory") as guard,
        serving(build_app(guard, ProxySettings(upstream=model.base_url))) as url,
    ):
        given = {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "unused", "VISTA_GUARD_URL": url}
        command = ["node", "ai_sdk.mjs"]
        ran = subprocess.run(
            command, cwd=built, env={**os.environ, **given}, capture_output=True, text=True, timeout=600
        )
        model.assert_accepted()
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "user: What does the ferry cost?",
        "bot:  A ticket costs 4 euros.",
        "  finish reason stop, guard ALLOW",
        "user: How big and how old is it?",
        f"bot:  {MESSAGE}",
        "  finish reason content-filter, guard BLOCK",
    ]


def test_what_is_published_says_where_it_comes_from() -> None:
    package = json.loads((CLIENT / "package.json").read_text("utf-8"))
    lock = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
    assert package["repository"]["directory"] == "clients/typescript"
    assert (lock["version"], lock["packages"][""]["devDependencies"]) == (
        package["version"],
        package["devDependencies"],
    )
    assert [name for name, entry in lock["packages"].items() if name and not entry.get("integrity")] == []
    assert "resolved" not in json.dumps(lock)  # from whatever registry npm is set to
    assert (CLIENT / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")


@pytest.fixture
def page_folder(built: Path) -> Iterator[tuple[Path, str]]:
    """The compiled client, served on loopback."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(built))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield built, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_element_marks_claims_in_the_delivered_text(page_folder: tuple[Path, str]) -> None:
    """Places are counted as Python counts them, and nothing of an answer becomes markup."""
    folder, address = page_folder
    said, wrong = "\N{SPOUTING WHALE} The hall is free. ", "The <b>hall</b> opened in 1850."
    claims = [
        finding(Label.VERIFIED).model_copy(update={"claim": placed(said.strip(), 0)}),
        finding(Label.CONTRADICTED).model_copy(update={"claim": placed(wrong, len(said))}),
    ]
    flagged = report(*claims).model_copy(update={"response": said + wrong, "gate": None})
    flagged = flagged.model_copy(update={"decision": flagged.decision.model_copy(update={"action": Action.FLAG})})
    element = '<!doctype html><script type="module" src="dist/element.js"></script><vista-report></vista-report>'
    (folder / "page.html").write_text(element, encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"{address}/page.html")
        drawn = "report => { document.querySelector('vista-report').setAttribute('report', report); }"
        page.evaluate(drawn, flagged.model_dump_json())
        marks = "[...document.querySelector('vista-report').shadowRoot.querySelectorAll('mark')]"
        seen = page.evaluate(f"{marks}.map(mark => [mark.title, mark.textContent, mark.children.length])")
    assert seen == [["VERIFIED", said.strip(), 0], ["CONTRADICTED", wrong, 0]]


def placed(text: str, start: int) -> Claim:
    """A claim at this place of the answer."""
    return Claim(id="c", text=text, span=Span(start=start, end=start + len(text)))
