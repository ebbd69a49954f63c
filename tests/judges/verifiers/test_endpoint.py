"""A fact-checking model behind an endpoint, from the settings to the report: the scripted server plays it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vista_guard import ConfigError, Guard, JudgeError, Label, TurnReport, _aio
from vista_guard.judges.model.chat.calling import Reply
from vista_guard.judges.verifiers.calibrated import SYSTEM, EndpointVerifier, support
from vista_guard.testing import Answer, Fault, ReceivedRequest, ScriptedChatServer, assistant, conversation

HALL, RIGHT, WRONG = "The tide hall opened in 1925.", "The hall opened in the year 1925.", "The hall is painted green."


def says(request: ReceivedRequest) -> Answer:
    """Yes to what names the year, with the probabilities that it might have said no."""
    yes = "1925" in request.user.rpartition("Claim:")[2]
    likely = {"Yes": 0.8, "No": 0.15, " yes": 0.05} if yes else {"No": 0.9, "Yes": 0.1}
    return Answer("Yes" if yes else "No", first={token: math.log(share) for token, share in likely.items()})


def check(server: ScriptedChatServer, text: str, **settings: Any) -> TurnReport:
    verifier = f"openai:bespoke-minicheck@{server.base_url}"
    with Guard.from_settings(policy="monitor", store="memory", verifier=verifier, **settings) as guard:
        return guard.check(conversation(assistant(text, HALL)))


def test_it_is_asked_document_and_claim_and_its_probability_counts() -> None:
    with ScriptedChatServer(says) as server:
        report = check(server, f"{RIGHT} {WRONG}")
        asked = server.requests[0]
        assert report.judge.version.partition("+")[2] == f"openai:bespoke-minicheck@{server.base_url}"
    assert [finding.label for finding in report.findings] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert report.findings[0].confidence == pytest.approx(0.85)
    assert (report.usage.calls, server.calls) == (2, 2)
    assert asked.messages == [("system", SYSTEM), ("user", f"Document: {HALL}\nClaim: {RIGHT}")]
    assert (asked.body["logprobs"], asked.body["top_logprobs"]) == (True, 5)


def test_without_probabilities_the_word_counts() -> None:
    with ScriptedChatServer(
        lambda request: "Yes" if "1925" in request.user.rpartition("Claim:")[2] else "No."
    ) as server:
        report = check(server, f"{RIGHT} {WRONG}")
    assert [finding.label for finding in report.findings] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert report.findings[0].confidence == 1.0


def test_an_endpoint_that_refuses_to_give_them_is_asked_without() -> None:
    def refuse(request: ReceivedRequest) -> Fault | None:
        if "top_logprobs" not in request.body and "logprobs" not in request.body:
            return None
        return Fault.http(400, message="logprobs is not supported with this model")

    with ScriptedChatServer("Yes", faults=refuse) as server:
        verifier = EndpointVerifier.from_name(f"proud@{server.base_url}")
        assert verifier.probabilities([(HALL, RIGHT)]).tolist() == [[1.0, 0.0, 0.0]]
        _aio.run(verifier.aclose())
        assert "logprobs" not in server.requests[-1].body


def test_equal_pairs_are_asked_once_and_answered_in_order() -> None:
    with ScriptedChatServer(says) as server:
        verifier = EndpointVerifier.from_name(f"m@{server.base_url}")
        found = verifier.probabilities([(HALL, WRONG), (HALL, RIGHT), (HALL, WRONG)])
        assert server.calls == 2
        assert verifier.probabilities([]).shape == (0, 3)
        _aio.run(verifier.aclose())
    assert np.allclose(found[:, 0], [0.1, 0.85, 0.1])
    assert np.allclose(found.sum(axis=1), 1.0)


def test_what_it_cannot_say_is_unchecked_and_never_a_pass() -> None:
    with ScriptedChatServer("I would rather not say.") as server:
        report = check(server, RIGHT)
    (outcome,) = report.outcomes
    assert outcome.kind == "unchecked"
    assert "instead of yes or no" in str(outcome)


def test_an_endpoint_that_is_down_leaves_the_claims_unchecked(tmp_path: Path) -> None:
    with Guard.from_settings(
        store="memory", verifier="openai:m@http://127.0.0.1:9/v1", model={"max_retries": 0}, policy="strict"
    ) as guard:
        report = guard.check(conversation(assistant(RIGHT, HALL)))
    assert (report.outcomes[0].kind, report.blocked) == ("unchecked", True)


def test_answers_are_read_however_they_are_spelt() -> None:
    for said, share in {"yes": 1.0, "**No**, it is not.": 0.0, "<think>yes?</think> No": 0.0, "Yes.": 1.0}.items():
        assert support(Reply(said), "m") == share
    half = {"YES": math.log(0.3), "no": math.log(0.3), "The": math.log(0.4)}
    assert support(Reply("The", first=half), "m") == pytest.approx(0.5)
    with pytest.raises(JudgeError):
        support(Reply("Perhaps"), "m")
    with pytest.raises(ConfigError):
        EndpointVerifier.from_name("gpt-4o-mini")
