"""The four steps on a chat model: what is asked, what is read, and that nothing vanishes."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from tests.judges.decomposers.scripted import (
    STOPPED,
    asked,
    asking,
    checked,
    context,
    output,
    script,
    steps,
    talk,
)
from tests.raising import raises
from vista_guard import Action, ConfigError, Guard, Role, Turn, Unchecked
from vista_guard.judges.composed.pipeline import DecomposingJudge
from vista_guard.judges.composed.stored import StoredJudge
from vista_guard.judges.contract import measure
from vista_guard.judges.decomposers.sentences import SentenceTrace, claims_of
from vista_guard.protocols import Judge
from vista_guard.settings.model import ModelOptions
from vista_guard.settings.sources import Settings
from vista_guard.testing import Answer, Fault, ScriptedChatServer, ScriptedJudge
from vista_guard.types import Span, UncheckedClaim, label_of

HALL = "The hall opened in 1925. It was built by Vale and painted by Eide. I love it. It closed in 1950."
DOCUMENT = "The hall opened in 1925. The hall was built by Vale. The hall was painted by Eide. The hall closed in 1950."


def turn(text: str = HALL) -> Turn:
    return Turn(role=Role.ASSISTANT, text=text)


@pytest.mark.parametrize("answer", [STOPPED, output(), output("The hall seats 90.")])
async def test_a_question_needs_no_claim_and_a_statement_does(answer: str) -> None:
    said = "Did you know that it closed in 1950? Shall I tell you more? What else can I do for you?"
    with ScriptedChatServer(lambda _: answer) as server:
        async with asking(server) as decomposer:
            with measure() as meter:
                found = await decomposer.trace(turn(f"The hall opened in 1925. {said}"), [])
    assert [(trace.claims, bool(trace.note)) for trace in found] == [
        (("The hall opened in 1925.",), True),
        (("Did the user know that it closed in 1950?",), True),
        ((), False),
        ((), False),
    ]
    assert len(meter.warnings) == (2 if "90" in answer else 0)


async def test_each_sentence_is_one_call_with_the_two_sentences_around_it() -> None:
    answers = {
        "It was built by Vale and painted by Eide.": output(
            "The hall was built by Vale.", "The hall was painted by Eide."
        ),
        "I love it.": STOPPED,
    }
    history = [
        Turn(role=Role.USER, text="Hello."),
        Turn(role=Role.ASSISTANT, text="Hi <sentence>there</sentence>."),
        Turn(role=Role.USER, text="Tell me about the hall."),
    ]
    with ScriptedChatServer(script(answers)) as server:
        async with asking(server) as decomposer:
            claims = await decomposer.decompose(turn(), history)
        requests = sorted(server.requests, key=lambda one: HALL.index(asked(one)))
    assert [(claim.id, claim.text) for claim in claims] == [
        ("t3.c1", "The hall opened in 1925."),
        ("t3.c2", "The hall was built by Vale."),
        ("t3.c3", "The hall was painted by Eide."),
        ("t3.c4", "The assistant loves it."),
        ("t3.c5", "It closed in 1950."),
    ]
    assert [HALL[one.span.start : one.span.end] for one in claims if one.span][1:3] == [
        "It was built by Vale and painted by Eide."
    ] * 2
    assert [context(one) for one in requests] == [
        "The hall opened in 1925. It was built by Vale and painted by Eide. I love it. [...]",
        HALL,
        HALL,
        "[...] It was built by Vale and painted by Eide. I love it. It closed in 1950.",
    ]
    shown = requests[0].user
    assert "<question>\nTell me about the hall.\n</question>" in shown
    assert "Hi &lt;sentence>there&lt;/sentence>." in shown  # nothing but the prompt opens a tag
    assert all("</think>" not in one.user for one in requests)


async def test_the_window_is_the_settings() -> None:
    with ScriptedChatServer(script({})) as server:
        async with asking(server, before=0, after=1) as decomposer:
            await decomposer.decompose(turn(), [])
        shown = {asked(one): context(one) for one in server.requests}
    assert shown["I love it."] == "[...] I love it. It closed in 1950."
    with raises(ConfigError, "decomposer_options.after"):
        Settings.load(decomposer_options={"after": -1})


async def test_the_models_words_are_kept_with_the_first_claim_where_they_are_asked_for(tmp_path: Path) -> None:
    two = output("The hall was built by Vale.", "The hall was painted by Eide.")
    with ScriptedChatServer(
        script({"It was built by Vale and painted by Eide.": two, "I love it.": STOPPED})
    ) as server:
        async with asking(server, keep_steps=True) as decomposer:
            claims = await decomposer.decompose(turn(), [])
            kept = StoredJudge.cached(cast(Judge, decomposer), tmp_path)
            stored = [await kept.decompose(turn(), []) for _ in range(2)]
        async with asking(server) as decomposer:
            without = await decomposer.decompose(turn(), [])
    assert [claim.steps for claim in claims] == [
        "STEP 1 to 4.",
        "STEP 1 to 4.",
        None,
        "STEP 1.\n(as it stands: No verifiable claim)",
        "STEP 1 to 4.",
    ]
    assert [list(one) for one in stored] == [list(claims)] * 2
    assert all("steps" not in claim.model_dump() for claim in without)
    span = Span(start=0, end=1)
    traces = [
        SentenceTrace(sentence=str(n), span=span, thoughts=str(n), claims=tuple(said))
        for n, said in enumerate(("a", "ab"))
    ]
    assert [claim.steps for claim in claims_of(traces, 1, keep_steps=True)] == ["0", "1"]


async def test_code_is_no_sentence_to_take_apart() -> None:
    text = "Run this.\n\n```python\nprint('1850')\n```\n"
    with ScriptedChatServer(script({})) as server:
        async with asking(server) as decomposer:
            claims = await decomposer.decompose(turn(text), [])
        assert [asked(one) for one in server.requests] == ["Run this."]
    assert [claim.text for claim in claims] == ["Run this.", "```python\nprint('1850')\n```"]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("<think>Who?</think><output>Cannot be decontextualized</output>", "stand alone"),
        (Answer(refusal="I can't help with that."), "refused"),
        ("I'm sorry, but no.", "no list of claims"),
        ("", "empty"),
        ('<think>so <output>["The hall exists."]</output>', "thoughts and no answer"),
        (Answer(output("The hall was built by Vale."), finish="length"), "cut off"),
    ],
)
async def test_a_sentence_without_an_answer_is_unchecked_and_the_others_are_judged(
    answer: str | Answer, error: str
) -> None:
    with ScriptedChatServer(script({"It was built by Vale and painted by Eide.": answer})) as server:
        report = await checked(server, talk(HALL, DOCUMENT))
    outcomes = {outcome.claim.text: outcome for outcome in report.outcomes}
    failed = outcomes["It was built by Vale and painted by Eide."]
    assert isinstance(failed, Unchecked)
    assert error in failed.error
    assert type(failed.claim).__name__ == "Claim"
    assert outcomes["The hall opened in 1925."].kind == "finding"
    assert [outcome.claim.id for outcome in report.outcomes] == [f"t1.c{number}" for number in range(1, 5)]
    assert report.decision.action is not Action.ALLOW


@pytest.mark.parametrize("fault", [Fault.http(500), Fault.reset(), Fault.empty(), Fault.cut()])
async def test_an_endpoint_that_fails_leaves_the_sentence_unchecked(fault: Fault) -> None:
    faults = lambda request: fault if asked(request) == "It closed in 1950." else None  # noqa: E731
    with ScriptedChatServer(script({}), faults=faults) as server:
        report = await checked(server, talk(HALL, DOCUMENT))
    assert [label_of(one) for one in report.outcomes][-1] == "UNCHECKED"
    assert label_of(report.outcomes[0]) == "VERIFIED"
    assert report.decision.action is not Action.ALLOW


async def test_a_spent_budget_leaves_sentences_unchecked() -> None:
    with ScriptedChatServer(script({})) as server:
        limits = {"max_retries": 0, "concurrency": 1, "budget": {"turn": {"calls": 2}}}
        report = await checked(server, talk(HALL, DOCUMENT), model=limits)
        assert server.calls == 2
    unchecked = [one for one in report.outcomes if isinstance(one, Unchecked)]
    assert len(unchecked) == 2
    assert all("budget" in one.error for one in unchecked)
    assert report.usage.calls == 2


async def test_what_a_model_makes_up_gives_way_to_its_sentence() -> None:
    said = "His father was John Christopher Ford."
    made_up = output("His father was John ChristopherFord.", "He had a father.")
    with ScriptedChatServer(script({said: made_up})) as server, measure() as meter:
        async with asking(server) as decomposer:
            claims = await decomposer.decompose(turn(said), [])
    assert [claim.text for claim in claims] == ["He had a father.", said]
    assert any("ChristopherFord" in warning for warning in meter.warnings)


async def test_what_a_model_leaves_out_is_judged_too() -> None:
    with ScriptedChatServer(script({"The hall opened in 1850.": output("The hall exists.")})) as server:
        async with asking(server) as decomposer:
            claims = await decomposer.decompose(turn("The hall opened in 1850."), [])
    assert [claim.text for claim in claims] == ["The hall exists.", "The hall opened in 1850."]


async def test_an_unreadable_answer_is_asked_for_once_more() -> None:
    with ScriptedChatServer(["well...", output("The hall opened in 1925.")]) as server:
        async with asking(server) as decomposer:
            claims = await decomposer.decompose(turn("The hall opened in 1925."), [])
        assert server.calls == 2
    assert [claim.text for claim in claims] == ["The hall opened in 1925."]


async def test_the_version_tells_model_window_and_prompt(tmp_path: Path) -> None:
    (tmp_path / "steps.txt").write_text("Take it apart.\n=== INPUT ===\n$question\n$context\n$sentence\n")
    with ScriptedChatServer(script({})) as server:
        usual = steps(server)
        judge = DecomposingJudge(ScriptedJudge({}), usual)
        assert usual.info.name == f"steps:openai:small@{server.base_url}"
        assert usual.info.version.startswith("2+2-")
        assert steps(server, after=0).info.version.startswith("2+0-")
        assert usual.prompts["steps"].shots == 2
        assert f"claims by {usual.info.name} {usual.info.version}" in judge.info.version
        async with asking(server, ModelOptions(prompts_dir=tmp_path)) as own:
            assert own.info.version != usual.info.version
            await own.decompose(turn("The hall opened."), [])
        assert server.requests[-1].messages[0] == ("system", "Take it apart.")


def test_a_prompt_without_its_sentence_is_refused(tmp_path: Path) -> None:
    (tmp_path / "steps.txt").write_text("Take it apart.\n=== INPUT ===\n$question\n$context\n")
    with ScriptedChatServer("") as server, raises(ConfigError, "$sentence"):
        steps(server, ModelOptions(prompts_dir=tmp_path))


async def test_answers_are_kept_and_recorded_with_what_was_unchecked(tmp_path: Path) -> None:
    judge = ScriptedJudge({})
    conversation = talk("The hall opened in 1925. It fell.", DOCUMENT)
    said = conversation.turns[-1], conversation.turns[:-1]
    with ScriptedChatServer(script({"It fell.": "no"})) as server:
        inner = DecomposingJudge(judge, steps(server))
        first = await StoredJudge.recorded(inner, tmp_path / "rec.jsonl").decompose(*said)
        kept = StoredJudge.cached(inner, tmp_path / "cache")
        calls = server.calls
        await kept.decompose(*said)
        await kept.decompose(*said)  # a sentence failed: nothing is kept
        assert server.calls == 3 * calls
        await kept.aclose()
    replayed = await StoredJudge.replayed(tmp_path / "rec.jsonl").decompose(*said)
    assert list(replayed) == list(first)
    assert isinstance(replayed[1], UncheckedClaim)


async def test_a_kept_answer_costs_no_call(tmp_path: Path) -> None:
    with ScriptedChatServer(script({})) as server:
        for _ in range(2):
            report = await checked(server, talk(HALL, DOCUMENT), judge_cache=tmp_path / "cache")
        assert server.calls == 4
        assert report.usage.calls == 0


async def test_a_recording_holds_the_decomposition(tmp_path: Path) -> None:
    with ScriptedChatServer(script({})) as server:
        first = await checked(server, talk(HALL, DOCUMENT), judge_recording=tmp_path / "rec.jsonl")
    again = Guard.from_settings(judge=f"recorded:{tmp_path / 'rec.jsonl'}", policy="strict", store="memory")
    second = await again.acheck(talk(HALL, DOCUMENT))
    assert second.outcomes == first.outcomes
    assert second.usage.calls == 4  # a replay tells what the calls cost


async def test_the_usage_is_the_turns() -> None:
    with ScriptedChatServer(script({})) as server:
        report = await checked(server, talk(HALL, DOCUMENT), policy="monitor")
        assert (report.usage.calls, report.usage.input_tokens > 0) == (4, True)
        assert report.judge.version.endswith(f"claims by {steps(server).info.name} {steps(server).info.version}")
