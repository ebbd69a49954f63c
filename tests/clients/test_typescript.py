"""The TypeScript client: its types are those of reports, and its middleware holds the AI SDK's answers until a proxy judged them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.proxy.serving import LIE, NOTES, TRUTH, proxy
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.testing import ScriptedChatServer

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients/typescript"
REPORT = CLIENT / "src/report.ts"

SCRIPT = """
import { generateText, streamText, wrapLanguageModel, jsonSchema, Output } from "ai";
import { MockLanguageModelV4, convertArrayToReadableStream } from "ai/test";
import { vistaGuard, GuardError } from "./dist/index.js";

const [url, truth, lie, notes] = process.argv.slice(2);
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const finish = { unified: "stop", raw: "stop" };
const parts = (text) => text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "1", delta }));
const model = (text) =>
  new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text }], finishReason: finish, usage, warnings: [] }),
    doStream: async () => ({
      stream: convertArrayToReadableStream([
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "1" },
        ...parts(text),
        { type: "text-end", id: "1" },
        { type: "finish", finishReason: finish, usage },
      ]),
    }),
  });
const reports = [];
const guarded = (text, options = {}) =>
  wrapLanguageModel({ model: model(text), middleware: vistaGuard({ url, documents: () => [notes], onReport: (one) => reports.push(one), ...options }) });
const told = (result) => [result.text, result.finishReason, result.providerMetadata?.vistaGuard?.decision ?? null];
const say = (...values) => console.log(JSON.stringify(values));

const prompt = "When did the whale hall open?";
say("good", ...told(await generateText({ model: guarded(truth), prompt })));
say("bad", ...told(await generateText({ model: guarded(lie), prompt })));
for (const [name, text] of [["good stream", truth], ["bad stream", lie]]) {
  const result = streamText({ model: guarded(text), prompt });
  const heard = [];
  for await (const delta of result.textStream) heard.push(delta);
  say(name, heard.join(""), await result.finishReason, (await result.providerMetadata)?.vistaGuard?.decision ?? null);
}
const silent = { documents: () => [] };
const user = { role: "user", content: prompt };
const call = (vistaGuard, ...messages) => generateText({ model: guarded(truth, silent), messages, providerOptions: { vistaGuard } });
say("per call", ...told(await call({ documents: [notes], conversationId: "visit-7" }, user)));
const before = [user, { role: "assistant", content: truth }, user];
say("remembered", ...told(await call({ conversationId: "visit-7" }, ...before)), reports.at(-1).outcomes[0].label);
const messages = [
  { role: "system", content: "Be brief." },
  user,
  { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "look", input: {} }] },
  { role: "tool", content: [{ type: "tool-result", toolCallId: "c1", toolName: "look", output: { type: "text", value: notes } }] },
];
await generateText({ model: guarded(truth, silent), messages, allowSystemInMessages: true });
say("tool", reports.at(-1).outcomes[0].label);
const count = reports.length;
const schema = jsonSchema({ type: "object", properties: { year: { type: "number" } } });
const answer = await generateText({ model: guarded('{"year": 1850}'), prompt, output: Output.object({ schema }) });
say("json", answer.output, reports.length - count);
for (const [name, options] of [["closed", { url: "http://127.0.0.1:9" }], ["refused", { documents: () => [{ title: "no text" }] }]])
  try {
    say(name, (await generateText({ model: guarded(lie, options), prompt, maxRetries: 0 })).text);
  } catch (error) {
    say(name, error instanceof GuardError ? error.status : "failed", String(error).includes("1850"));
  }
"""


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
        install = [npm, "install", "--no-audit", "--no-fund", "--silent"]
        if subprocess.run(install, cwd=folder, capture_output=True, timeout=300, check=False).returncode:
            pytest.skip("the AI SDK cannot be installed: set VISTA_GUARD_NODE_CLIENT to a node_modules that has it")
    run(folder, "tsc")
    return folder


def run(folder: Path, tool: str, *arguments: str) -> str:
    """Runs a package's command; its output."""
    command = [folder / "node_modules/.bin" / tool, *arguments]
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
    assert [field["decision"] for field in fields] == ["ALLOW", "BLOCK"]
    lines = [f"export const field{at}: VistaGuardField = {json.dumps(field)};" for at, field in enumerate(fields)]
    used = 'import type { VistaGuardField } from "./field.js";\n'
    (built / "src/answers.ts").write_text(used + "\n".join(lines), encoding="utf-8")
    run(built, "tsc", "--noEmit")
    (built / "src/answers.ts").write_text(used + lines[0].replace('"decision"', '"decided"'), encoding="utf-8")
    with pytest.raises(AssertionError, match="decided"):
        run(built, "tsc", "--noEmit")
    (built / "src/answers.ts").unlink()


def test_the_middleware_shows_only_what_was_judged(built: Path, served: Any) -> None:
    (built / "script.mjs").write_text(SCRIPT, encoding="utf-8")
    command = ["node", "script.mjs", served.url, TRUTH, LIE, NOTES]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=120, check=False)
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
