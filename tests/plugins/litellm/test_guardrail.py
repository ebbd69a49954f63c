"""LiteLLM's proxy as a process, with the guardrail, before a scripted model: whole answers, streams, documents, history."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("litellm", reason="litellm is not installed here: make test-plugins")

import httpx
import openai

from tests.raising import raises
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.testing import ScriptedChatServer
from vista_guard.testing.script import ReceivedRequest

ROOT = Path(__file__).parents[3]
TRUE, FALSE, ASIDE = "The whale hall opened in 1925.", "The whale hall opened in 1850.", "Entry costs 12 euros."
ANSWERS = {
    "When did it open?": TRUE,
    "Tell me a lie.": FALSE,
    "And then?": f"{TRUE} {FALSE} {ASIDE}",
    "Once more?": TRUE,
}
NOTES = {"documents": [{"id": "hall", "text": "The whale hall opened in 1925. Entry costs 12 euros."}]}
CONFIG = """
model_list:
  - model_name: museum
    litellm_params: {{ model: openai/scripted, api_base: "{base}", api_key: unused }}
  - model_name: vectors
    litellm_params: {{ model: openai/embedder, api_base: "{base}", api_key: unused }}
guardrails:
  - guardrail_name: vista-guard
    litellm_params:
      guardrail: vista_guard.integrations.litellm.VistaGuardrail
      mode: post_call
      default_on: true
general_settings: {{ master_key: sk-test }}
"""


def test_a_mode_in_which_nothing_would_be_judged_is_refused() -> None:
    from vista_guard.integrations.litellm import VistaGuardrail

    with raises(ValueError, "pre_call"):
        VistaGuardrail(guardrail_name="vista-guard", event_hook="pre_call")


def answer(request: ReceivedRequest) -> str:
    return ANSWERS[request.body["messages"][-1]["content"]]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[openai.OpenAI]:
    folder = tmp_path_factory.mktemp("litellm")
    with ScriptedChatServer(answer) as model, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        (folder / "config.yaml").write_text(CONFIG.format(base=model.base_url), encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "VISTA_GUARD_STORE": "memory",
            "VISTA_GUARD_POLICY": "balanced",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
        }
        command = [str(Path(sys.executable).parent / "litellm"), "--config", "config.yaml", "--port", str(port)]
        command += ["--host", "127.0.0.1"]
        with (folder / "log").open("w") as log:
            running = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
            try:
                _wait(f"http://127.0.0.1:{port}/health/liveliness", running, folder / "log")
                yield openai.OpenAI(
                    base_url=f"http://127.0.0.1:{port}/v1", api_key="sk-test", max_retries=0, timeout=120
                )
            finally:
                running.kill()
                running.wait(60)


def _wait(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 900  # it imports for minutes on a busy machine
    while time.monotonic() < until:
        assert running.poll() is None, log.read_text()[-3000:]
        try:
            if httpx.get(url, timeout=5).is_success:
                return
        except httpx.HTTPError:
            time.sleep(0.5)
    pytest.fail(log.read_text()[-3000:])


def ask(client: openai.OpenAI, question: str, metadata: Any = NOTES, **more: Any) -> Any:
    messages = [*more.pop("before", ()), {"role": "user", "content": question}]
    return client.chat.completions.create(model="museum", messages=messages, extra_body={"metadata": metadata}, **more)


def told(answered: Any) -> dict[str, Any]:
    found: dict[str, Any] = answered.model_extra["vista_guard"]
    return found


def test_an_answer_is_judged_against_the_documents_of_its_request(client: openai.OpenAI) -> None:
    good = ask(client, "When did it open?")
    assert (good.choices[0].message.content, told(good)["action"]) == (TRUE, "ALLOW")
    assert told(good)["claims"][0]["evidence"][0]["quote"].startswith("The whale hall opened in 1925.")
    bad = ask(client, "Tell me a lie.")
    assert (bad.choices[0].message.content, bad.choices[0].finish_reason) == (MESSAGE, "content_filter")


def test_tools_and_system_messages_bring_documents_too(client: openai.OpenAI) -> None:
    system = {"role": "system", "content": f"Answer from this.\n<context>{TRUE}</context>"}
    assert told(ask(client, "When did it open?", {}, before=[system]))["labels"] == {"VERIFIED": 1}
    bare = told(ask(client, "When did it open?", {}))
    assert (bare["evidence_missing"], bare["labels"]) == (True, {"LACKING_EVIDENCE": 1})


def test_a_stream_shows_nothing_that_was_not_judged(client: openai.OpenAI) -> None:
    chunks = list(ask(client, "And then?", stream=True))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == f"{TRUE}\n\n{MESSAGE}"
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "content_filter"
    assert "1850" not in json.dumps([chunk.model_dump() for chunk in chunks])


def test_a_stream_that_holds_up_comes_whole(client: openai.OpenAI) -> None:
    chunks = list(ask(client, "When did it open?", stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == TRUE


def test_a_named_conversation_is_remembered(client: openai.OpenAI) -> None:
    named = {"conversation_id": "visit-7"}
    ask(client, "When did it open?", {**NOTES, **named})
    before = [{"role": "user", "content": "When did it open?"}, {"role": "assistant", "content": TRUE}]
    again = told(ask(client, "Once more?", named, before=before))
    assert (again["labels"], again["claims"][0]["evidence"][0]["source"]) == ({"VERIFIED": 1}, "knowledge")
    stranger = told(ask(client, "Once more?", {"conversation_id": "visit-8"}))
    assert stranger["labels"] == {"LACKING_EVIDENCE": 1}


@pytest.mark.parametrize(
    "metadata", [{"documents": "no list"}, {"documents": [{"title": "no text"}]}, {"conversation_id": 7}]
)
def test_metadata_that_cannot_be_read_is_refused(client: openai.OpenAI, metadata: Any) -> None:
    with pytest.raises(openai.BadRequestError):
        ask(client, "When did it open?", metadata)


def test_other_routes_in_which_a_model_speaks_are_refused(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIStatusError) as refused:
        client.responses.create(model="museum", input="When did it open?")
    assert "1925" not in str(refused.value)
