"""The model judge behind the guard, against a real HTTP server that answers as a model would."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

import pytest

from tests.pace import waves
from vista_guard import Action, Conversation, Guard, Label, TurnReport
from vista_guard.judges.model import ModelJudge, ModelOptions, OpenAIChat
from vista_guard.testing import (
    Answer,
    Fault,
    ReceivedRequest,
    ScriptedChatServer,
    Verdict,
    WordEmbedder,
    assistant,
    conversation,
    judge_script,
    user,
)
from vista_guard.testing.server import Loopback
from vista_guard.types import Claim, Passage, SourceKind

Strategy = Literal["per_claim", "batched", "fused"]
STRATEGIES: tuple[Strategy, ...] = ("per_claim", "batched", "fused")

DOCUMENT = "The harbour ferry leaves every 40 minutes. A ticket costs 6 euros. Dogs travel free. Bicycles need their own ticket."
TURN = (
    "The ferry leaves every 40 minutes, a ticket costs 9 euros and dogs travel free. "
    "There is a café on board. I think the morning boat is the prettiest."
)
VERDICTS = {
    TURN: [
        Verdict("The ferry leaves every 40 minutes", quote="The harbour ferry leaves every 40 minutes."),
        Verdict("a ticket costs 9 euros", Label.CONTRADICTED, quote="A ticket costs 6 euros."),
        Verdict("dogs travel free", quote="Dogs travel free."),
        Verdict("There is a café on board", Label.LACKING_EVIDENCE),
        Verdict("the morning boat is the prettiest", Label.OUT_OF_SCOPE),
    ]
}
LABELS = [Label.VERIFIED, Label.CONTRADICTED, Label.VERIFIED, Label.LACKING_EVIDENCE, Label.OUT_OF_SCOPE]


def asked(*turns: Any) -> Conversation:
    return conversation(user("When does the ferry leave?"), *(turns or (assistant(TURN, DOCUMENT),)))


def check(
    server: ScriptedChatServer,
    strategy: Strategy = "batched",
    turns: Conversation | None = None,
    policy: str = "monitor",
    **options: Any,
) -> TurnReport:
    chosen = ModelOptions(strategy=strategy, max_retries=0, **options)
    model = OpenAIChat("gpt-4o-mini", base_url=server.base_url, options=chosen)
    with Guard(ModelJudge(model, chosen), policy=policy, knowledge=memory()) as guard:
        return guard.check(turns or asked())


def memory() -> Any:
    from vista_guard.stores.memory import MemoryKnowledge

    return MemoryKnowledge(WordEmbedder())


def labels(report: TurnReport) -> list[Label | str]:
    return [outcome.label if outcome.kind == "finding" else "UNCHECKED" for outcome in report.outcomes]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_gives_the_same_report(strategy: Strategy) -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        report, url = check(server, strategy), server.base_url
        server.assert_accepted()
    assert labels(report) == LABELS
    assert [outcome.claim.text for outcome in report.outcomes] == [verdict.text for verdict in VERDICTS[TURN]]
    assert [TURN[o.claim.span.start : o.claim.span.end] if o.claim.span else None for o in report.outcomes] == [
        verdict.text for verdict in VERDICTS[TURN]
    ]
    first = report.findings[0].evidence[0]
    assert (first.quote, first.source, first.source_id, first.score) == (
        "The harbour ferry leaves every 40 minutes", SourceKind.DOCUMENT, "d1", 1.0,
    )  # fmt: skip
    assert first.span is not None
    assert DOCUMENT[first.span.start : first.span.end] == first.quote
    assert [found.quote for found in report.findings[1].evidence] == ["A ticket costs 6 euros"]
    assert report.findings[3].reason == "scripted as LACKING_EVIDENCE"
    assert report.warnings == ()
    assert report.usage.calls == server.calls
    assert report.usage.input_tokens == server.usage.input_tokens > 0
    assert report.judge.name == f"openai:gpt-4o-mini@{url}"
    assert report.judge.version.startswith(f"{strategy}-few-")


@pytest.mark.parametrize(("strategy", "calls"), [("per_claim", (1, 5, 3)), ("batched", (1, 1)), ("fused", (1,))])
def test_calls_and_waves(strategy: Strategy, calls: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loopback, "pause", waves(*calls))
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        check(server, strategy)
    assert (server.calls, server.waves()) == (sum(calls), len(calls))


def test_shots_strategy_and_prompts_are_part_of_the_version() -> None:
    def version(**options: Any) -> str:
        chosen = ModelOptions(**options)
        return ModelJudge(OpenAIChat("m", base_url="http://127.0.0.1:1/v1", options=chosen), chosen).info.version

    told = [
        version(),
        version(shots="zero"),
        version(strategy="fused"),
        version(temperature=1.0),
        version(knowledge="off"),
    ]
    assert len(set(told)) == 5
    assert version() == told[0]


def answering(change: Callable[[ReceivedRequest, str], Any]) -> Callable[[ReceivedRequest], Any]:
    """The right answers, changed."""
    oracle = judge_script(VERDICTS)
    return lambda request: change(request, oracle(request))


def without(*ids: str) -> Callable[[ReceivedRequest, str], str]:
    def change(request: ReceivedRequest, answer: str) -> str:
        said = json.loads(answer)
        said["answers"] = [one for one in said.get("answers", []) if one["id"] not in ids] or said.get("answers")
        return json.dumps(said) if request.schema_name == "judge" else answer

    return change


def test_a_claim_that_the_answer_leaves_out_is_asked_about_again() -> None:
    # The second question is about the one claim that was left out, as c1.
    with ScriptedChatServer(answering(without("c2"))) as server:
        report = check(server)
    assert (labels(report), server.calls) == (LABELS, 3)
    assert "a ticket costs 9 euros" in server.requests[2].user
    assert "There is a café on board" not in server.requests[2].user


def test_a_claim_that_is_left_out_twice_is_unchecked_with_what_was_said() -> None:
    def change(request: ReceivedRequest, answer: str) -> str:
        if request.schema_name != "judge":
            return answer
        said = [one for one in json.loads(answer)["answers"] if one["label"] != "CONTRADICTED"]
        return json.dumps({"answers": said})

    with ScriptedChatServer(answering(change)) as server:
        report = check(server, policy="strict")
    assert labels(report) == [*LABELS[:1], "UNCHECKED", *LABELS[2:]]
    (left,) = report.unchecked
    assert "gave no single label for this claim, though it was asked twice: it answered" in left.error
    assert left.raw == '{"answers": []}'
    assert report.decision.action is not Action.ALLOW


@pytest.mark.parametrize("said", ["", "I'm sorry, but I can't help with that."])
def test_an_answer_without_labels_is_told(said: str) -> None:
    with ScriptedChatServer(
        answering(lambda request, answer: said if request.schema_name == "judge" else answer)
    ) as server:
        report = check(server)
    assert labels(report) == ["UNCHECKED"] * len(LABELS)
    assert all(left.error.endswith(f"it answered {said!r}") for left in report.unchecked)


def test_two_labels_for_one_claim_are_none() -> None:
    def change(request: ReceivedRequest, answer: str) -> str:
        said = json.loads(answer)
        if request.schema_name == "judge":
            said["answers"].append({"id": "c1", "reason": "", "quote": "", "label": "CONTRADICTED"})
        return json.dumps(said)

    with ScriptedChatServer(answering(change)) as server:
        report = check(server)
    assert labels(report)[1:] == LABELS[1:]
    assert labels(report)[0] == "UNCHECKED"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(
    "nonsense", ["", "The weather is fine.", "{}", "<html></html>", "VERIFIED?", "null", "[[[[", "��"]
)
def test_nonsense_is_never_a_clean_pass(strategy: Strategy, nonsense: str) -> None:
    with ScriptedChatServer(nonsense) as server:
        report = check(server, strategy, policy="strict")
    assert set(labels(report)) == {"UNCHECKED"}
    assert report.score is None
    assert report.decision.action is Action.BLOCK
    assert TURN not in report.response


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_model_that_refuses_to_judge(strategy: Strategy) -> None:
    with ScriptedChatServer([Answer(refusal="I cannot help with that.")] * 9) as server:
        report = check(server, strategy)
    assert set(labels(report)) == {"UNCHECKED"}
    assert "refused to judge: 'I cannot help with that.'" in report.unchecked[0].error


def test_an_answer_that_is_cut_off_loses_no_claim() -> None:
    def cut(request: ReceivedRequest, answer: str) -> Any:
        return Answer(answer[: len(answer) * 2 // 3], finish="length") if request.schema_name == "judge" else answer

    with ScriptedChatServer(answering(cut)) as server:
        report = check(server)
    assert len(report.outcomes) == 5
    assert labels(report)[:2] == LABELS[:2]
    assert all(told in (label, "UNCHECKED") for told, label in zip(labels(report), LABELS, strict=True))


def test_a_decomposition_that_is_cut_off_is_no_decomposition() -> None:
    with ScriptedChatServer(
        [Answer('{"claims": [{"claim": "Dogs travel free", "quote": ""}', finish="length")] * 2
    ) as server:
        report = check(server)
    assert labels(report) == ["UNCHECKED"]
    assert "raise model.max_output_tokens" in report.unchecked[0].error


def test_half_a_fused_answer_is_asked_for_in_two_calls() -> None:
    def cut(request: ReceivedRequest, answer: str) -> Any:
        return Answer(answer[:-40], finish="stop") if request.schema_name == "fused" else answer

    with ScriptedChatServer(answering(cut)) as server:
        report = check(server, "fused")
    assert (labels(report), server.calls) == (LABELS, 3)
    assert "two were made" in report.warnings[0]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_turn_without_claims(strategy: Strategy) -> None:
    small_talk = asked(assistant("Hello! How can I help you today?", DOCUMENT))
    with ScriptedChatServer('{"claims": []}') as server:
        report = check(server, strategy, small_talk)
    assert (labels(report), report.score, server.calls) == ([], None, 1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_nothing_is_verified_without_evidence(strategy: Strategy) -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        report = check(server, strategy, asked(assistant(TURN)))
    assert report.evidence_missing
    assert Label.VERIFIED not in labels(report)
    assert len(report.outcomes) == 5


def test_given_claims_are_judged_in_one_call_even_when_fused() -> None:
    claims = [verdict.text for verdict in VERDICTS[TURN]]
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        report = check(server, "fused", asked(assistant(TURN, DOCUMENT, claims=claims)))
    assert (labels(report), server.calls) == (LABELS, 1)


def test_more_claims_than_fit_into_one_call() -> None:
    claims = [f"The ferry number {number} is white." for number in range(70)]
    verdicts = {TURN: [Verdict(claim, Label.LACKING_EVIDENCE) for claim in claims]}
    with ScriptedChatServer(judge_script(verdicts)) as server:
        report = check(server, turns=asked(assistant(TURN, DOCUMENT, claims=claims)))
    assert (labels(report), server.calls) == ([Label.LACKING_EVIDENCE] * 70, 3)


def test_a_prompt_that_is_too_long_is_shortened_knowledge_first_and_the_report_says_so() -> None:
    claims = ("The ferry leaves every 40 minutes.",)
    verdicts = {TURN: [Verdict(claims[0], needs="leaves every 40 minutes")]}
    filler = "\n\n".join(
        f"Paragraph {number} tells of lighthouse {number} and its keeper. " * 8 for number in range(60)
    )
    turns = asked(assistant(TURN, f"{filler}\n\n{DOCUMENT}", claims=claims))
    with ScriptedChatServer(judge_script(verdicts), context_tokens=4500) as server:
        report = check(server, turns=turns)
    assert labels(report) == [Label.VERIFIED]
    assert "judged without" in report.warnings[0]
    assert "document passages" in report.warnings[0]


def test_a_prompt_that_is_too_long_however_short() -> None:
    with ScriptedChatServer(judge_script(VERDICTS), context_tokens=50) as server:
        report = check(server)
    assert labels(report) == ["UNCHECKED"]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("knowledge", ["on", "off"])
async def test_accumulated_knowledge_can_be_hidden_and_the_persona_stays(
    strategy: Strategy, knowledge: Literal["on", "off"]
) -> None:
    from vista_guard.types import EvidenceSet

    chosen = ModelOptions(strategy=strategy, knowledge=knowledge)
    evidence = EvidenceSet(
        knowledge=(
            Passage(source=SourceKind.PERSONA, source_id="p1", text="The assistant is called Marlow."),
            Passage(source=SourceKind.KNOWLEDGE, source_id="k1", text="The user travels with a dog."),
        )
    )
    claim = Claim(id="c1", text="dogs travel free")
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        judge = ModelJudge(OpenAIChat("m", base_url=server.base_url, options=chosen), chosen)
        await judge.verify([claim], evidence)
        await judge.aclose()
    request = server.requests[0]
    assert "Marlow" in request.user
    assert ("travels with a dog" in request.user) is (knowledge == "on")


def test_a_failing_call_leaves_only_its_own_claim_unchecked() -> None:
    def fault(request: ReceivedRequest) -> Fault | None:
        about_dogs = request.schema_name == "verify" and request.user.count("dogs travel free")
        return Fault.http(500) if about_dogs else None

    with ScriptedChatServer(judge_script(VERDICTS), faults=fault) as server:
        report = check(server, "per_claim")
    assert labels(report) == [*LABELS[:2], "UNCHECKED", *LABELS[3:]]


def test_the_budget_of_a_turn() -> None:
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        report = check(server, "per_claim", budget={"turn": {"calls": 4}})
    assert server.calls == 4
    assert report.usage.calls == 4
    assert len(report.outcomes) == 5
    assert "UNCHECKED" in labels(report)


async def test_both_doors_share_the_judge() -> None:
    import asyncio

    chosen = ModelOptions()
    with ScriptedChatServer(judge_script(VERDICTS)) as server:
        judge = ModelJudge(OpenAIChat("m", base_url=server.base_url, options=chosen), chosen)
        guard = Guard(judge, policy="monitor", knowledge=memory())
        here = await guard.acheck(asked())
        there = await asyncio.to_thread(guard.check, asked())
        elsewhere = await asyncio.to_thread(lambda: asyncio.run(guard.acheck(asked())))
        await guard.aclose()
    assert [labels(report) for report in (here, there, elsewhere)] == [LABELS] * 3
    assert [report.usage.calls for report in (here, there, elsewhere)] == [2, 2, 2]
