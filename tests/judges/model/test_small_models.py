"""Answers of small models, word for word as SmolLM2-135M-Instruct and Qwen2.5-Coder-1.5B-Instruct gave them."""

from __future__ import annotations

import json
from typing import Any

from vista_guard import Guard, Label, TurnReport
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, assistant, conversation, user

TURN = "The lockers are free for up to four hours."
FREE = "Luggage lockers at the bus terminal can be used at no cost for up to four hours."
PAID = "Luggage lockers at the bus terminal cost 3 pounds for up to four hours."
OF_THE_EXAMPLES = [
    {
        "claim": "The assistant declines to say which medicines the user collects.",
        "quote": "What other customers collect is confidential.",
    },
    {"claim": "The Mill Street branch is open until eight.", "quote": "The branch is open until eight"},
    {"claim": "The Elm Hut is the longest footbridge in the county.", "quote": "that is Velden Bridge"},
    {"claim": "The Elm Hut is about 310 metres long.", "quote": "at about 310 metres"},
    {"claim": "The Elm Hut is about 310 metres long.", "quote": "at about 310 metres"},
]
A_RECOMMENDATION = {"reason": "The claim is a recommendation.", "quote": "", "label": "OUT_OF_SCOPE"}


def check(server: ScriptedChatServer, document: str, strategy: str) -> TurnReport:
    judge = f"openai:small@{server.base_url}"
    with Guard.from_settings(policy="strict", store="memory", judge=judge, model={"strategy": strategy}) as guard:
        return guard.check(conversation(user("Do I pay for the luggage lockers?"), assistant(TURN, document)))


def test_claims_of_the_prompts_examples_are_left_out_and_the_turn_is_judged() -> None:
    def model(request: ReceivedRequest) -> Any:
        if request.schema_name == "decompose":
            return json.dumps({"claims": OF_THE_EXAMPLES})
        return json.dumps({"answers": [{"id": "c1", "quote": "cost 3 pounds", "reason": "", "label": "CONTRADICTED"}]})

    with ScriptedChatServer(model) as server:
        report = check(server, PAID, "batched")
    assert [(one.claim.text, one.label) for one in report.findings] == [(TURN, Label.CONTRADICTED)]
    assert not report.unchecked
    assert any("Elm" in warning for warning in report.warnings)


def test_a_fact_taken_for_a_recommendation_is_asked_about_again_with_labels_of_facts_only() -> None:
    offered: list[list[str]] = []

    def model(request: ReceivedRequest) -> Any:
        stage = request.schema_name
        if stage in ("decompose", "fused"):
            claim = {"claim": TURN, "quote": "The lockers are free for up to four hours", "evidence": ""}
            return json.dumps({"claims": [{**A_RECOMMENDATION, **claim}]})
        if stage == "verify":
            return json.dumps({"quote": "", "label": "UNVERIFIABLE"})
        assert request.schema is not None
        labels = request.schema["properties"]
        labels = labels["answers"]["items"]["properties"] if stage == "judge" else labels
        offered.append(labels["label"]["enum"])
        answer = A_RECOMMENDATION
        if "OUT_OF_SCOPE" not in offered[-1]:
            answer = {"quote": "cost 3 pounds", "reason": "They cost 3 pounds.", "label": "CONTRADICTED"}
        return json.dumps({"answers": [{"id": "c1", **answer}]} if stage == "judge" else answer)

    for strategy, first in (("batched", True), ("per_claim", True), ("fused", False)):
        offered.clear()
        with ScriptedChatServer(model) as server:
            report = check(server, PAID, strategy)
        assert [one.label for one in report.findings] == [Label.CONTRADICTED]
        assert ["OUT_OF_SCOPE" in labels for labels in offered] == [True, False][not first :]


def test_a_quote_with_a_day_in_another_form_counts() -> None:
    told = "The new swing bridge opened on March 7th, 2019, after a year of works."
    for day, label in (("07.03.2019", Label.VERIFIED), ("2019-03-07", Label.VERIFIED), ("08.03.2019", None)):
        claim = f"The swing bridge was opened on {day}."
        made = {"claims": [{"claim": claim, "quote": claim}]}
        judged = {"answers": [{"id": "c1", "quote": told, "reason": "", "label": "VERIFIED"}]}

        def model(request: ReceivedRequest, made: Any = made, judged: Any = judged) -> Any:
            return json.dumps(made if request.schema_name == "decompose" else judged)

        with (
            ScriptedChatServer(model) as server,
            Guard.from_settings(policy="strict", store="memory", judge=f"openai:small@{server.base_url}") as guard,
        ):
            report = guard.check(conversation(assistant(claim, told)))
        assert [one.label for one in report.findings] == ([label] if label else []), report
