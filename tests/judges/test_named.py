"""Judges named in settings, from the settings to the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.pace import Clock
from tests.raising import raises
from vista_guard import ConfigError, Conversation, Guard, Label, TurnReport, _aio
from vista_guard.errors import RecordingError
from vista_guard.testing import (
    Answer,
    Fault,
    ReceivedRequest,
    ScriptedChatServer,
    Verdict,
    assistant,
    conversation,
    judge_script,
    user,
)

DOCUMENT = "The harbour ferry leaves every 40 minutes. Dogs travel free."
FACT, WRONG = "The harbour ferry leaves every 40 minutes.", "The harbour ferry leaves every 15 minutes."
VERDICTS = {
    f"{FACT} {WRONG}": [Verdict(FACT, quote=FACT), Verdict(WRONG, Label.LACKING_EVIDENCE)],
    FACT: [Verdict(FACT, quote=FACT)],
}


def asked(text: str = f"{FACT} {WRONG}", *documents: str) -> Conversation:
    return conversation(user("When does it leave?"), assistant(text, *(documents or (DOCUMENT,))))


def check(judge: str, turn: Conversation | None = None, **settings: Any) -> TurnReport:
    with Guard.from_settings(judge=judge, policy="monitor", store="memory", **settings) as guard:
        return guard.check(turn or asked())


def labels(report: TurnReport) -> list[Label]:
    return [finding.label for finding in report.findings]


def test_a_cached_answer_is_paid_for_once(tmp_path: Path) -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        first = check(f"openai:m@{server.base_url}", judge_cache=tmp_path)
        calls = server.calls
        second = check(f"openai:m@{server.base_url}", judge_cache=tmp_path)
        assert (calls, server.calls) == (2, 2)
    assert labels(first) == labels(second) == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert (first.usage.calls, second.usage.calls) == (2, 0)
    assert first.judge == second.judge


def test_a_recording_answers_to_the_letter_and_fails_loudly(tmp_path: Path) -> None:
    file = tmp_path / "calls.jsonl"
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        first = check(f"openai:m@{server.base_url}", judge_recording=file)
    again = check(f"recorded:{file}")
    same = {"outcomes", "decision", "score", "judge", "usage", "warnings"}
    assert again.model_dump(include=same) == first.model_dump(include=same)
    with raises(RecordingError, "calls.jsonl"):
        check(f"recorded:{file}", asked("The ferry is blue."))


def test_a_cascade_asks_the_model_about_what_is_in_doubt_only() -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        report = check(f"cascade:embedded,openai:m@{server.base_url}")
        model = f"openai:m@{server.base_url}"
        assert FACT not in server.requests[0].user.split("<claims>")[1]
    assert labels(report) == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert [finding.judged_by for finding in report.findings] == ["embedded-quick", model]
    assert (server.calls, report.usage.calls) == (1, 1)


def test_a_cascade_whose_model_is_down_leaves_contradictions_unconfirmed_unless_told_otherwise() -> None:
    nobody = "cascade:embedded,openai:m@http://127.0.0.1:9/v1"
    closed = check(nobody, model={"max_retries": 0})
    assert [(found.label, found.unconfirmed) for found in closed.findings] == [
        (Label.VERIFIED, False),
        (Label.CONTRADICTED, True),
    ]
    kept = check(nobody, model={"max_retries": 0}, cascade={"on_second_failure": "keep_first"})
    assert labels(kept) == [Label.VERIFIED, Label.CONTRADICTED]
    assert kept.warnings != ()


def test_an_ensemble_agrees_or_not() -> None:
    other = {text: [Verdict(one.text, Label.CONTRADICTED) for one in given] for text, given in VERDICTS.items()}
    one, two = ScriptedChatServer(judge_script(VERDICTS)), ScriptedChatServer(judge_script(other))
    with one, two:
        report = check(f"ensemble:openai:a@{one.base_url},openai:b@{two.base_url}")
    assert [finding.confidence for finding in report.findings] == [0.5, 0.5]
    assert labels(report)[0] is not Label.VERIFIED  # a tie is no support


def test_strict_reference_asks_one_thing_after_the_other_and_trusts_what_has_no_document() -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        report = check(f"openai:m@{server.base_url}", strict_reference=True)
        assert (server.calls, server.waves()) == (4, 4)  # 1 + C + U
        server.reset()
        trusted = check(f"openai:m@{server.base_url}", conversation(user("?"), assistant(FACT)), strict_reference=True)
        assert server.calls == 1
    assert labels(report) == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert (trusted.outcomes, trusted.score) == ((), None)
    assert [claim.text for claim in trusted.remembered] == [FACT]


def test_strict_reference_takes_the_model_at_its_word() -> None:
    careless = {f"{FACT} {WRONG}": [Verdict(WRONG, quote="")]}  # forgets a sentence, and quotes nothing
    with ScriptedChatServer(judge_script(careless)) as server:
        model = f"openai:m@{server.base_url}"
        believed, held = check(model, strict_reference=True), check(model, model={"strategy": "per_claim"})
    assert [(one.claim.text, one.label) for one in believed.findings] == [(WRONG, Label.VERIFIED)]
    assert believed.warnings == ()
    assert {one.claim.text: one.kind for one in held.outcomes} == {FACT: "unchecked", WRONG: "unchecked"}
    assert believed.judge != held.judge


FAILURES: Mapping[str, Any] = {
    "an error": Fault.http(500),
    "no answer in time": Fault.hang(),
    "a cut answer": Answer('{"answers": [{"id": "c1", "reason": "", "quote": "The harbour', finish="length"),
    "nothing readable": "I had rather not.",
    "a label without a quote": json.dumps({"answers": [{"id": "c1", "reason": "", "quote": "", "label": "VERIFIED"}]}),
}


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("kept", ["unchecked", "keep_first"])
def test_a_cascade_keeps_what_its_first_judge_is_sure_of_however_the_second_fails(how: str, kept: str) -> None:
    clock = Clock(_aio._background()[0])

    def fails(request: ReceivedRequest) -> Any:
        if how == "no answer in time":
            clock.turn(3500)
        return FAILURES[how]

    with ScriptedChatServer(fails) as server:
        report = check(
            f"cascade:embedded,openai:m@{server.base_url}",
            model={"max_retries": 0, "timeout_s": 7200},
            cascade={"on_second_failure": kept},
            limits={"judge_seconds": 3600},
        )
        assert server.calls >= 1
    assert [(one.claim.text, one.judged_by, one.unconfirmed) for one in report.findings] == [
        (FACT, "embedded-quick", False),
        (WRONG, "embedded-quick", kept == "unchecked"),
    ]
    assert report.warnings != ()


def test_the_key_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(0)
    secret = "sk-a-key-that-nobody-may-read"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    with ScriptedChatServer(judge_script(VERDICTS), key=secret) as server:
        kept: dict[str, Any] = {"judge_cache": tmp_path / "cache", "judge_recording": tmp_path / "calls.jsonl"}
        report = check(f"openai:m@{server.base_url}", **kept)
    assert labels(report) == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    written = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    assert b"harbour" in written
    assert secret.encode() not in written
    assert secret not in report.model_dump_json() + caplog.text


def test_a_wrong_key_and_an_unknown_model_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    with ScriptedChatServer(judge_script(VERDICTS), key="right") as server:
        report = check(f"openai:m@{server.base_url}")
    assert "OPENAI_API_KEY" in report.unchecked[0].error
    with ScriptedChatServer(judge_script(VERDICTS), models=["n"]) as server:
        report = check(f"openai:m@{server.base_url}")
    assert "check the model's name, m," in report.unchecked[0].error


def test_openai_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with raises(ConfigError, "OPENAI_API_KEY"):
        check("openai:gpt-4o-mini")
