"""Calls of a model judge as spans, and W3C context from caller to upstream."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from tests.conftest import guard_with
from tests.proxy.serving import ASKED, FINE, TRUTH, Sentencewise, serving
from tests.telemetry.recording import Recording
from vista_guard import Guard, to_conversation
from vista_guard.judges.model import ModelJudge, OpenAIChat
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.telemetry.attributes import LATEST_METRICS
from vista_guard.telemetry.spans import is_instrumented
from vista_guard.testing import ScriptedChatServer

TURN = "The kiln burns oak."
TALK: list[Any] = [
    {"role": "user", "content": "What does it burn?"},
    {"role": "assistant", "content": TURN, "documents": ["The kiln burns oak."]},
]
ANSWERS = [json.dumps({"claims": [{"quote": TURN, "claim": TURN}]}), "no JSON at all", "nor here"]
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def checked(knowledge: MemoryKnowledge, recording: Recording) -> None:
    with ScriptedChatServer(ANSWERS * 3) as server:
        judge = ModelJudge(OpenAIChat("scripted-model", base_url=server.base_url))
        with Guard(judge, knowledge=knowledge, telemetry=recording.telemetry) as guard:
            guard.check(to_conversation(TALK, conversation_id="c1"))


@pytest.mark.parametrize("wanted", ["auto", "on", "off"])
def test_a_call_of_a_model_judge_is_a_span(wanted: Any, knowledge: MemoryKnowledge) -> None:
    recording = Recording(model_spans=wanted)
    checked(knowledge, recording)
    calls = [span for span in recording.spans if span.name == "chat scripted-model"]
    assert bool(calls) is (wanted != "off")
    for span in calls:
        told = dict(span.attributes or {})
        assert span.kind.name == "CLIENT"
        assert (told["gen_ai.operation.name"], told["gen_ai.provider.name"]) == ("chat", "openai")
        assert (told["session.id"], told["openinference.span.kind"]) == ("c1", "LLM")
    below = recording.tree()["vista_guard.turn"]["vista_guard.decompose"]
    assert below == ({"chat scripted-model": {}} if wanted != "off" else {})
    assert "kiln" not in recording.all_told()


def test_a_client_that_is_instrumented_tells_by_itself(knowledge: MemoryKnowledge, monkeypatch: Any) -> None:
    class FunctionWrapper:
        """As the library wrapt calls it, which instrumentations use."""

        def __init__(self, wrapped: Any) -> None:
            self._wrapped = wrapped

        def __get__(self, instance: Any, owner: Any) -> Any:
            return self if instance is None else self._wrapped.__get__(instance, owner)

    monkeypatch.setattr(openai.AsyncOpenAI, "request", FunctionWrapper(openai.AsyncOpenAI.request))
    assert is_instrumented(openai.AsyncOpenAI.request)
    recording = Recording()
    checked(knowledge, recording)
    assert "chat scripted-model" not in {span.name for span in recording.spans}


@pytest.mark.parametrize("opted", ["", "http", "database, gen_ai_latest_experimental"])
@pytest.mark.parametrize("sampled", [True, False])
def test_who_opts_in_gets_the_newest_metrics(
    opted: str, sampled: bool, knowledge: MemoryKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", opted)
    recording = Recording(sampler=None if sampled else ALWAYS_OFF)
    checked(knowledge, recording)
    measured = {name: points for name, points in recording.metrics().items() if name.startswith("gen_ai.")}
    if "gen_ai_latest_experimental" not in opted:
        assert measured == {}
        return
    assert set(measured) == {metric.name for metric in LATEST_METRICS}
    names = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "scripted-model",
    }
    [(told, calls)] = measured["gen_ai.client.inference.duration"]
    assert (told, calls > 0) == (names, True)
    [(told, tokens)] = measured["gen_ai.client.inference.usage.input_tokens"]
    assert (told, tokens > 0) == ({**names, "gen_ai.token.modality": "text"}, True)
    assert bool(recording.spans) is sampled


@pytest.mark.parametrize("stream", [False, True])
def test_a_callers_trace_goes_on_through_the_proxy_to_upstream(stream: bool, knowledge: MemoryKnowledge) -> None:
    recording = Recording()
    guard = guard_with(Sentencewise({TRUTH: FINE}), knowledge, "monitor", telemetry=recording.telemetry)
    with ScriptedChatServer(TRUTH) as server:
        app = build_app(guard, ProxySettings(upstream=server.base_url))
        with serving(app) as url, openai.OpenAI(base_url=f"{url}/v1", api_key="unused", max_retries=0) as caller:
            asked: Any = ASKED
            made: Any = caller.chat.completions.create(
                model="m", messages=asked, stream=stream, extra_headers={"traceparent": CALLER}
            )
            if stream:
                list(made)
        heard = server.requests[0].headers["traceparent"]
    proxy, turn = recording.named("vista_guard.proxy"), recording.named("vista_guard.turn")
    assert proxy.parent is not None
    assert proxy.context is not None
    assert turn.parent is not None
    assert (f"{proxy.parent.span_id:016x}", f"{proxy.context.trace_id:032x}") == (CALLER[36:52], CALLER[3:35])
    assert turn.parent.span_id == proxy.context.span_id
    assert heard == f"00-{CALLER[3:35]}-{proxy.context.span_id:016x}-01"
    assert dict(proxy.attributes or {})["http.response.status_code"] == 200
