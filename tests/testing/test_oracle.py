"""The ready script answers vista-guard's own prompts, with and without a schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.raising import raises
from vista_guard.judges.model.chat.calling import ChatRequest
from vista_guard.judges.model.prompts import Prompts
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, Verdict, assistant, gold_script, judge_script, user
from vista_guard.types import Claim, EvidenceSet, Label, Passage, SourceKind

TURN = "The lighthouse was built in 1890. It is 40 metres high. I would visit it at dusk."
VERDICTS = {
    "It opens at nine.": [Verdict("It opens at nine.")],
    TURN: [
        Verdict("The lighthouse was built in 1890.", needs="lit in 1890", quote="lit in 1890"),
        Verdict("The lighthouse is 40 metres high.", Label.CONTRADICTED, quote="38 metres"),
        Verdict("I would visit it at dusk.", Label.OUT_OF_SCOPE),
        Verdict("The lighthouse is 40 metres high. Really.", error="hm."),
    ],
}
CLAIMS = [Claim(id=f"t2.c{number}", text=verdict.text) for number, verdict in enumerate(VERDICTS[TURN], 1)]
EVIDENCE = EvidenceSet(
    documents=(Passage(source=SourceKind.DOCUMENT, source_id="d", text="First lit in 1890. 38 metres."),),
    knowledge=(Passage(source=SourceKind.KNOWLEDGE, source_id="k", text="It opens at nine."),),
)
OTHER = EvidenceSet(documents=(Passage(source=SourceKind.DOCUMENT, source_id="d", text="A bakery."),))
HISTORY = (user("When does it open?"), assistant("It opens at nine."))
PROMPTS = Prompts.load()


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedChatServer]:
    with ScriptedChatServer(judge_script(VERDICTS)) as running:
        yield running


@pytest.fixture(params=[True, False], ids=["schema", "text"])
def schema(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def ask(server: ScriptedChatServer, asked: ChatRequest, schema: bool) -> str:
    body: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": message.role, "content": message.content} for message in asked.messages],
    }
    if schema:
        wanted = {"name": f"vista_{asked.stage}", "strict": True, "schema": asked.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": wanted}
    answer = httpx2.post(server.base_url + "/chat/completions", json=body, timeout=20)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["message"]["content"])


def test_decompose_answers_the_last_turn(server: ScriptedChatServer, schema: bool) -> None:
    answer = json.loads(ask(server, PROMPTS.decompose(assistant(TURN), HISTORY), schema))
    assert answer == {
        "claims": [
            {"claim": "The lighthouse was built in 1890.", "quote": "The lighthouse was built in 1890."},
            {"claim": "The lighthouse is 40 metres high.", "quote": ""},
            {"claim": "I would visit it at dusk.", "quote": "I would visit it at dusk."},
            {"claim": "The lighthouse is 40 metres high. Really.", "quote": ""},
        ]
    }


def test_verify_looks_at_the_evidence(server: ScriptedChatServer, schema: bool) -> None:
    told = [ask(server, PROMPTS.verify(claim, EVIDENCE), schema) for claim in CLAIMS]
    assert [json.loads(answer) for answer in told[:3]] == [
        {"quote": "lit in 1890", "label": "VERIFIED"},
        {"quote": "38 metres", "label": "UNVERIFIABLE"},
        {"quote": "", "label": "UNVERIFIABLE"},
    ]
    assert told[3] == "hm."
    assert json.loads(ask(server, PROMPTS.verify(CLAIMS[0], OTHER), schema))["label"] == "UNVERIFIABLE"


def test_categorize_never_says_verified(server: ScriptedChatServer, schema: bool) -> None:
    told = [json.loads(ask(server, PROMPTS.categorize(claim, OTHER), schema)) for claim in CLAIMS[:3]]
    assert [answer["label"] for answer in told] == ["LACKING_EVIDENCE", "CONTRADICTED", "OUT_OF_SCOPE"]
    assert told[1] == {"reason": "scripted as CONTRADICTED", "quote": "38 metres", "label": "CONTRADICTED"}


def test_judge_answers_by_id_and_only_what_was_asked(server: ScriptedChatServer, schema: bool) -> None:
    """The knowledge holds a scripted claim too: it is evidence here."""
    answer = json.loads(ask(server, PROMPTS.judge([CLAIMS[1], CLAIMS[3], CLAIMS[0]], EVIDENCE), schema))
    assert answer == {
        "answers": [
            {"id": "c1", "reason": "scripted as CONTRADICTED", "quote": "38 metres", "label": "CONTRADICTED"},
            {"id": "c3", "reason": "", "quote": "lit in 1890", "label": "VERIFIED"},
        ]
    }


def test_fused_takes_apart_and_judges(server: ScriptedChatServer, schema: bool) -> None:
    answer = json.loads(ask(server, PROMPTS.fused(assistant(TURN), HISTORY, EVIDENCE), schema))
    assert [claim["label"] for claim in answer["claims"]] == ["VERIFIED", "CONTRADICTED", "OUT_OF_SCOPE", "hm."]
    assert answer["claims"][1] == {
        "claim": "The lighthouse is 40 metres high.",
        "quote": "",
        "reason": "scripted as CONTRADICTED",
        "evidence": "38 metres",
        "label": "CONTRADICTED",
    }


def test_what_is_not_scripted_is_rejected() -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        with pytest.raises(AssertionError, match="no scripted turn"):
            ask(server, PROMPTS.decompose(assistant("The bakery is closed."), HISTORY[:1]), True)
        with pytest.raises(AssertionError, match="no scripted claim"):
            ask(server, PROMPTS.verify(Claim(id="c1", text="The bakery is closed."), OTHER), True)
        assert len(server.rejected) == 2


GOLD = {f"The {place} is old. It was built in {year}.": Label.VERIFIED for year, place in enumerate("abcdefgh", 1801)}
TWO_WORDS = 'Answer with {"faithfulness": "faithful" or "hallucinated", "explanation": "..."}.'


def said(gold: dict[str, Label], **how: Any) -> list[str]:
    """What the script says of each turn when it is asked about the whole of it."""
    script = gold_script(gold, **how)
    asked = (
        ReceivedRequest(1, "chat", {"messages": [{"role": "user", "content": f"{TWO_WORDS} {text}"}]}, 0.0)
        for text in gold
    )
    return [json.loads(script(request))["faithfulness"] for request in asked]


def test_a_script_is_right_about_the_share_of_turns_that_it_is_told() -> None:
    assert set(said(GOLD)) == {"faithful"}
    assert set(said(GOLD, accuracy=0.0)) == {"hallucinated"}
    some = [said(GOLD, accuracy=0.5, seed=seed) for seed in (1, 1, 2)]
    assert some[0] == some[1] != some[2]


def test_each_sentence_is_a_claim_and_the_last_one_makes_the_turn_what_it_is() -> None:
    text = "The mill is old. It was built in 1700."
    script = gold_script({text: Label.CONTRADICTED})
    turn = assistant(text)
    asked = PROMPTS.decompose(turn, ()).messages
    body = {"messages": [{"role": message.role, "content": message.content} for message in asked]}
    claims = json.loads(script(ReceivedRequest(1, "chat", body, 0.0)))["claims"]
    assert [claim["claim"] for claim in claims] == ["The mill is old.", "It was built in 1700."]
    evidence = PROMPTS.judge([Claim(id=f"t0.c{n}", text=one["claim"]) for n, one in enumerate(claims, 1)], EVIDENCE)
    body = {"messages": [{"role": message.role, "content": message.content} for message in evidence.messages]}
    answers = json.loads(script(ReceivedRequest(1, "chat", body, 0.0)))["answers"]
    assert [one["label"] for one in answers] == ["VERIFIED", "CONTRADICTED"]


@pytest.mark.parametrize(
    ("gold", "accuracy", "error"),
    [
        ({"It is old.": Label.VERIFIED}, 1.5, ("accuracy", "1.5")),
        ({"It is old. A.": Label.VERIFIED, "It is old. B.": Label.VERIFIED}, 1.0, ("It is old.",)),
    ],
)
def test_a_script_that_could_not_be_followed_is_refused(
    gold: dict[str, Label], accuracy: float, error: tuple[str, ...]
) -> None:
    with raises(ValueError, *error):
        gold_script(gold, accuracy=accuracy)


def test_a_turn_outside_of_the_script_is_an_error() -> None:
    body = {"messages": [{"role": "user", "content": f"{TWO_WORDS} Something else."}]}
    with pytest.raises(LookupError, match="no scripted turn"):
        gold_script(GOLD)(ReceivedRequest(1, "chat", body, 0.0))
