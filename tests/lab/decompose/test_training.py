"""Training a decomposer without torch: prompts that fit, rewards for a trainer, collapse, recipes, and plans."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

pytest.importorskip("openai")

from tests.raising import raises
from vista_guard._aio import run
from vista_guard.cli import app
from vista_guard.errors import ConfigError, InputError, JudgeError
from vista_guard.judges.model import ModelOptions, OpenAIChat
from vista_guard.testing import Fault, ScriptedChatServer
from vista_guard.types import Role, Turn
from vista_lab.decompose.judges import ClaimJudge, checklist_judge
from vista_lab.decompose.rewards import CHECK_WEIGHTS, GATE, Checks
from vista_lab.decompose.training.completions import Scoring
from vista_lab.decompose.training.exemplars import (
    EmbeddedTeacher,
    LabelledLog,
    SentenceInput,
    StepsPrompt,
    Teaching,
    teach,
)
from vista_lab.decompose.training.inputs import Chat, Fitting, exemplar_parts, input_of, narrowed, sentence_parts
from vista_lab.decompose.training.plan import memory_of, plan, shape_of
from vista_lab.decompose.training.recipes import GrpoRecipe, SftRecipe, read_policy_recipe
from vista_lab.decompose.training.rollouts import RememberingVerifier, Rollouts, collapse
from vista_lab.decompose.training.train import DecomposerJob, exemplar_chats
from vista_lab.runs.plan import of_log

SENTENCE = "She kept the light from 1911 to 1938."
ASKED = SentenceInput(
    id="a",
    conversation="a",
    question="Who was Runa Holt?",
    context=f"{'Before it was dark. ' * 20}{SENTENCE} {'After it was light. ' * 20}".strip(),
    sentence=SENTENCE,
    earlier=(Turn(role=Role.USER, text="Hello there. " * 30), Turn(role=Role.ASSISTANT, text="Good day.")),
)
PROMPT = StepsPrompt()


def words(chat: Chat) -> int:
    return sum(len(said["content"].split()) for said in chat)


BARE = words(
    Fitting(PROMPT, words, 10**6).chat(ASKED.model_copy(update={"context": f"[...] {SENTENCE} [...]", "earlier": ()}))
    or []
)
"""Instructions, question, sentence, and a context of the sentence alone."""


@pytest.mark.parametrize("room", [0, 3, 40, 170, 400])
def test_a_long_prompt_loses_earlier_turns_and_context_alone(room: int) -> None:
    fitting = Fitting(PROMPT, words, BARE + room)
    chat = fitting.chat(ASKED)
    whole = Fitting(PROMPT, words, 10**6).chat(ASKED)
    assert chat is not None
    assert whole is not None
    assert words(chat) <= BARE + room
    assert chat[0] == whole[0]  # the instructions
    assert f"<sentence>\n{SENTENCE}\n</sentence>" in chat[1]["content"]
    assert f"<question>\n{ASKED.question}\n</question>" in chat[1]["content"]
    assert (chat == whole) == (fitting.cut == 0) == (words(whole) <= BARE + room)


def test_the_oldest_turn_goes_first_and_context_from_its_ends() -> None:
    kept = Fitting(PROMPT, words, BARE + 170).chat(ASKED)
    assert kept is not None
    assert "Hello there." not in kept[1]["content"]
    assert "Good day." in kept[1]["content"]
    assert kept[1]["content"].count("Before it was dark.") == 20
    narrow = narrowed(ASKED, 4).context
    assert narrow == f"[...] Before it was dark. {SENTENCE} After it was light. [...]"


def test_a_sentence_that_does_not_fit_is_left_out_and_never_cut() -> None:
    fitting = Fitting(PROMPT, words, BARE - 1)
    assert fitting.chat(ASKED) is None
    assert (fitting.left_out, fitting.cut, fitting.tokens) == (1, 0, [])


def test_an_answer_is_never_cut() -> None:
    fitting = Fitting(PROMPT, words, BARE + 10)

    class Row:
        asked = ASKED

        def __init__(self, completion: str) -> None:
            self.completion = completion

    chats = exemplar_chats([Row("a b c"), Row("a " * 50)], fitting, lambda text: len(text.split()))
    assert [said for _, said in chats] == ["a b c"]
    assert fitting.left_out == 1


class Counting:
    """P(supported) is 0.9 for claims in the evidence; every pair is counted."""

    name = "counting"

    def __init__(self) -> None:
        self.pairs: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.pairs += pairs
        return np.array(
            [[0.9, 0, 0.1] if claim in evidence else [0.2, 0, 0.8] for evidence, claim in pairs], np.float32
        )


def test_a_pair_is_verified_once() -> None:
    verifier = Counting()
    once = RememberingVerifier(verifier)
    pairs = [
        ("The hall opened.", "The hall opened."),
        ("The hall opened.", "It burnt."),
        ("The hall opened.", "It burnt."),
    ]
    first, again = once.probabilities(pairs), once.probabilities(pairs[::-1])
    assert np.allclose(first[:, 0], [0.9, 0.2, 0.2])
    assert np.allclose(again, first[::-1])
    assert (verifier.pairs, once.asked) == (pairs[:2], 2)
    assert once.probabilities([]).shape == (0, 3)


@contextmanager
def asking(script: Any, **server: Any) -> Iterator[tuple[ClaimJudge[tuple[Checks, ...]], ScriptedChatServer]]:
    """The checklist's judge at a scripted endpoint, as a training asks it: on the loop in the background."""
    with ScriptedChatServer(script, **server) as served:
        judge = checklist_judge(OpenAIChat("m", base_url=served.base_url, options=ModelOptions(max_retries=0)))
        yield judge, served
        run(judge.aclose())


def answered(request: Any) -> str:
    numbers = re.findall(r"^(\d+)\. ", request.user, re.MULTILINE)
    names = (GATE, *CHECK_WEIGHTS)
    one = {"checks": dict.fromkeys(names, "Yes"), "rationales": dict.fromkeys(names, "So.")}
    return json.dumps({"claims": [{"id": int(number), **one} for number in numbers]})


COMPLETIONS = [
    [{"role": "assistant", "content": said}]
    for said in (
        '<think>.</think><output>["The hall opened."]</output>',
        '<think>.</think><output>["It burnt."]</output>',
        "<think>.</think><output>No verifiable claim</output>",
        "Nonsense",
    )
]
COLUMNS: dict[str, Any] = {
    "sentence": ["The hall opened."] * 4,
    "question": [""] * 4,
    "context": [""] * 4,
    "label": [True] * 4,
    "evidence": [["The hall opened."]] * 4,
}


def rewards_of(rollouts: Rollouts, metrics: dict[str, float]) -> dict[str, list[float]]:
    return {
        one.__name__: one(completions=COMPLETIONS, log_metric=metrics.__setitem__, prompts=[], **COLUMNS)
        for one in rollouts.functions
    }


def test_a_trainer_gets_each_term_of_a_batch_that_is_scored_once() -> None:
    verifier, metrics = Counting(), dict[str, float]()
    with asking(answered) as (judge, server):
        found = rewards_of(Rollouts(Scoring(verifier=verifier, judge=judge, threshold=0.5, stop_counts=True)), metrics)
        assert server.calls == 2  # nobody is asked about no claims
    assert found["format"] == [1.0, 1.0, 1.0, 0.0]
    assert found["verifier"] == pytest.approx([0.99, 0.36, 0, 0])
    assert found["checklist"] == [1.0, 1.0, 0.0, 0.0]
    assert metrics == pytest.approx({"claims": 0.5, "no_list": 0.5, "dense": 0.3375, "sparse": 0.25, "malformed": 0.0})
    assert len(verifier.pairs) == 2


def test_terms_are_switched_off_one_by_one() -> None:
    found = rewards_of(Rollouts(Scoring(("format", "verifier"), Counting(), threshold=0.5, reward="sparse")), {})
    assert found == {"format": [1.0, 1.0, 0.5, 0.0], "verifier": [1.0, 0.0, 0.0, 0.0]}


def test_a_judge_that_is_down_stops_and_is_no_zero() -> None:
    down = asking("", faults=lambda request: Fault.http(500))
    with down as (judge, _), raises(JudgeError, "checklist"):
        rewards_of(Rollouts(Scoring(verifier=Counting(), judge=judge)), {})


def line(equal: float = 0.0, clipped: float = 0.0, claims: float = 2.0) -> dict[str, float]:
    return {"equal_groups": equal, "clipped": clipped, "claims": claims}


@pytest.mark.parametrize(
    ("log", "said"),
    [
        ([line(equal=1.0)] * 4, "no group differs in 4 steps"),
        ([line(clipped=0.95)] * 4, "95% of the completions are cut off"),
        ([line()] * 4 + [line(claims=0.8)] * 4, "claims a completion fell from 2.00 to 0.80"),
        ([line(equal=1.0)] * 3, ""),
        ([line(equal=1.0)] * 3 + [line()], ""),
        ([line()] * 4 + [line(claims=1.49)] * 4, ""),
    ],
)
def test_a_collapse_is_told_from_the_last_steps(log: list[dict[str, float]], said: str) -> None:
    assert collapse(log, 4).startswith(said)
    assert bool(collapse(log, 4)) == bool(said)
    assert collapse(log, 0) == ""


def test_the_papers_recipes_are_those_of_appendix_h() -> None:
    sft, grpo = read_policy_recipe("paper", "sft"), read_policy_recipe("paper", "grpo")
    assert isinstance(sft, SftRecipe)
    assert isinstance(grpo, GrpoRecipe)
    assert (sft.rank, sft.alpha, sft.update, sft.learning_rate, sft.epochs, sft.warmup) == (32, 64, 32, 2e-4, 1, 0.1)
    assert (grpo.rank, grpo.alpha, grpo.steps, grpo.learning_rate, grpo.warmup_steps) == (16, 32, 600, 2e-6, 20)
    assert grpo.update == grpo.batch * 8 * 8 == 256
    assert grpo.update // grpo.generations == 32


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ("completion_tokens = 3072", "prompt_tokens 2,048 + completion_tokens 3,072 exceed the window of 4,096"),
        ("generations = 7", "update is 256, which generations (7) does not divide"),
        ("at_once = 24", "update is 256, which at_once (24) does not divide"),
        ("generations = 1", "generations"),
        ("temprature = 1.0", "temprature"),
    ],
)
def test_a_recipe_that_cannot_hold_is_refused(changed: str, said: str, tmp_path: Path) -> None:
    name = changed.split(" ")[0]
    values = read_policy_recipe("one-gpu", "grpo").model_dump(exclude={"name", "shape", "gpu"})
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if key != name]
    (tmp_path / "own.toml").write_text("\n".join(["[grpo]", *lines, changed]), encoding="utf-8")
    with pytest.raises(ConfigError) as told:
        read_policy_recipe(str(tmp_path / "own.toml"), "grpo")
    assert said in str(told.value)


def sentences(folder: Path, count: int = 40, **changed: Any) -> Path:
    rows = [
        {
            "sentence": f"The hall {number} opened in 1925.",
            "question": "Tell me.",
            "label": number % 2,
            "evidence": ["The hall opened."],
            "conversation": f"c{number // 2}",
            **changed,
        }
        for number in range(count)
    ]
    path = folder / "sentences.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_conversation_is_trained_on_or_held_out(tmp_path: Path) -> None:
    parts = sentence_parts(sentences(tmp_path), ("format", "verifier"))
    assert (len(parts.train), len(parts.held_out)) == (36, 4)
    assert not {row.conversation for row in parts.train} & {row.conversation for row in parts.held_out}
    assert input_of(parts.train[0]).context == parts.train[0].sentence


def test_sentences_without_labels_are_refused_where_the_verifier_needs_them(tmp_path: Path) -> None:
    path = sentences(tmp_path, 4, label=None)
    with raises(InputError, "1"):
        sentence_parts(path, ("format", "verifier"))
    assert sentence_parts(path, ("format",)).train
    with pytest.raises(InputError):
        sentence_parts(sentences(tmp_path, 1), ("format",))


async def exemplars(folder: Path) -> Path:
    talks = [
        {
            "id": f"c{number}",
            "messages": [
                {"role": "user", "content": f"Tell me about tower {number}."},
                {
                    "role": "assistant",
                    "content": f"The tower has {number + 30} steps. It was built in {1900 + number}.",
                },
            ],
        }
        for number in range(20)
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(talk) + "\n" for talk in talks), encoding="utf-8")
    log = LabelledLog(of_log(folder / "log.jsonl", None), "log", "")
    await teach([log], folder / "exemplars", Teaching(EmbeddedTeacher(), PROMPT))
    return folder / "exemplars"


async def test_exemplars_are_divided_as_their_files_and_of_one_prompt(tmp_path: Path) -> None:
    folder = await exemplars(tmp_path)
    parts = exemplar_parts(folder, PROMPT)
    ids = [json.loads(text)["id"] for text in (folder / "validation.jsonl").read_text("utf-8").splitlines()]
    assert [one.asked.id for one in parts.held_out] == ids
    with raises(ConfigError, "exemplars"):
        exemplar_parts(folder, StepsPrompt(ModelOptions(shots="zero")))
    with raises(InputError, "nowhere", "manifest.json"):
        exemplar_parts(tmp_path / "nowhere", PROMPT)


def test_memory_follows_from_the_models_shape() -> None:
    recipe = read_policy_recipe("one-gpu", "grpo")
    parts = dict(memory_of(recipe, shape_of(recipe)))
    assert parts["policy"] == pytest.approx(16.06, abs=0.01)
    assert parts["trained weights, gradients, moments"] == pytest.approx(41_943_040 * 16 / 1e9)
    assert parts["keys and values while sampling"] == pytest.approx(64 * 4096 * 32 * 2 * 1024 * 2 / 1e9)


async def test_a_plan_counts_what_the_run_will_do(tmp_path: Path) -> None:
    sft = plan(
        DecomposerJob(
            read_policy_recipe("one-gpu", "sft"),
            exemplar_parts(await exemplars(tmp_path), PROMPT),
            PROMPT,
            tmp_path,
            "e",
        )
    )
    assert dict(sft.facts)["steps"] == "2 of 32 exemplars, 1 epochs"
    parts = sentence_parts(sentences(tmp_path), ("format", "verifier"))
    grpo = plan(
        DecomposerJob(read_policy_recipe("one-gpu", "grpo"), parts, PROMPT, tmp_path, "s", Scoring(threshold=0.5))
    )
    facts = dict(grpo.facts)
    assert facts["completions"] == "153,600 of 19,200 sentences, 533.3 epochs"
    assert facts["calls of the judge"] == "153,600 at most, equal ones once"
    assert facts["sentences left out"] == "0"
    assert grpo.peak < 141


def test_a_dry_run_prints_the_plan_and_writes_nothing(tmp_path: Path) -> None:
    path = sentences(tmp_path)
    told = CliRunner().invoke(
        app, ["decompose", "train", "grpo", str(path), "--out", str(tmp_path / "out"), "--dry-run"]
    )
    assert told.exit_code == 0, told.stderr
    assert "153,600 of 19,200 sentences" in told.stdout
    assert "GB at the longest fits into 141 GB" in told.stdout
    assert not (tmp_path / "out").exists()


def test_rewards_are_not_for_sft(tmp_path: Path) -> None:
    told = CliRunner().invoke(
        app,
        ["decompose", "train", "sft", str(tmp_path), "--out", str(tmp_path / "o"), "--terms", "format", "--dry-run"],
    )
    assert told.exit_code == 2
    assert "--terms is for grpo" in told.stderr
