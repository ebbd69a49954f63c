"""Policies trained by TRL: the loss is on completions alone, a killed run is resumed to the same log, a collapse is told."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("trl", reason="trl is not installed; extra rl")
pytest.importorskip("peft", reason="peft is not installed; extra rl")

from training.decomposer_proof import PROMPT as SHORT
from training.decomposer_proof import write_base
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.judges.model import ModelOptions
from vista_lab.training.decomposer.completions import Scoring, SentenceRow
from vista_lab.training.decomposer.exemplars import StepsPrompt
from vista_lab.training.decomposer.inputs import Parts, input_of
from vista_lab.training.decomposer.policy import Policy, sft_trainer
from vista_lab.training.decomposer.recipes import GrpoRecipe, SftRecipe
from vista_lab.training.decomposer.train import CollapseError, Job, train

pytestmark = [
    pytest.mark.filterwarnings("default"),  # the libraries' own
]
TOKEN = r"</?(?:think|output)>|\n| ?\w+| ?[^\s\w]"
ANSWER = '<think>a</think><output>["a."]</output>'
ROWS = [SentenceRow(sentence=f"a {n}.", label=bool(n % 2), evidence=("a.",), conversation=str(n)) for n in range(12)]
PARTS = Parts(ROWS[:10], ROWS[10:], "0" * 64)


class Odd:
    """Supports claims of an odd number of words; down after so many pairs."""

    name = "odd"

    def __init__(self, most: int = 10**9) -> None:
        self.left = most

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.left -= len(pairs)
        if self.left < 0:
            raise JudgeError("the verifier is down")
        return np.array([[p := 0.2 + 0.6 * (len(claim.split()) % 2), 0, 1 - p] for _, claim in pairs], np.float32)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model whose few tokens make the format by chance, so that completions of a group differ."""
    folder = tmp_path_factory.mktemp("base") / "tiny"
    write_base(folder, [ANSWER], seed=0, token=TOKEN)
    return str(folder)


@pytest.fixture(scope="module")
def prompt(tmp_path_factory: pytest.TempPathFactory) -> StepsPrompt:
    """A short one: the package's own has some thousand tokens."""
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "steps.txt").write_text(SHORT, encoding="utf-8")
    return StepsPrompt(ModelOptions(prompts_dir=folder))


Made = Callable[..., Job]


@pytest.fixture
def job(base: str, prompt: StepsPrompt, tmp_path: Path) -> Made:
    """A job of six steps into a folder of this name."""

    def made(name: str, verifier: Odd | None = None, **changed: Any) -> Job:
        how = Scoring(("format", "verifier"), verifier or Odd(), threshold=0.5, stop_counts=True)
        return Job(
            recipe(changed.pop("base", base), **changed), PARTS, prompt, tmp_path / name, "rows", how, patience=0
        )

    return made


def recipe(base: str, **changed: Any) -> GrpoRecipe:
    values: dict[str, Any] = {
        "name": "tiny",
        "base": base,
        "learning_rate": 1e-2,
        "steps": 6,
        "generations": 4,
        "update": 8,
        "batch": 4,
        "at_once": 8,
        "rank": 4,
        "alpha": 8,
        "prompt_tokens": 300,
        "completion_tokens": 16,
        "window": 316,
        "checkpoint_every": 2,
        "held_out": 2,
    }
    return GrpoRecipe.model_validate({**values, **changed})


def log(out: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]


def test_the_loss_is_on_the_completion_alone(base: str, prompt: StepsPrompt, tmp_path: Path) -> None:
    from trl import SFTConfig

    policy = Policy.load(base)
    chat = [{"role": said.role, "content": said.content} for said in prompt.request(input_of(ROWS[0])).messages]
    how = SftRecipe.model_validate(
        {"name": "t", "base": base, "learning_rate": 1e-3, "rank": 4, "alpha": 8, "batch": 1, "checkpoint_every": 1}
        | {"epochs": 1, "update": 1, "window": 4000, "completion_tokens": 16}
    )
    settings = SFTConfig(str(tmp_path), max_length=None, completion_only_loss=True, report_to="none", bf16=False)
    trainer = sft_trainer(policy, [(chat, ANSWER)], how, settings)
    batch = next(iter(trainer.get_train_dataloader()))
    learnt = batch["labels"][0]
    assert policy.tokenizer.decode(learnt[learnt != -100]) == f"{ANSWER}<eos>"
    assert batch["input_ids"].shape[1] > 30  # the prompt is there, too
    assert policy.count(chat) + policy.length(ANSWER) == batch["input_ids"].shape[1]


def test_a_run_whose_judge_was_down_is_resumed_to_the_same_log(job: Made, tmp_path: Path) -> None:
    made = train(job("whole"))
    assert made.finished
    whole = log(tmp_path / "whole")
    assert [line["step"] for line in whole] == [1, 2, 3, 4, 5, 6]
    assert any(line["reward_std"] for line in whole)
    assert {"format", "verifier", "dense", "sparse", "claims", "equal_groups", "clipped"} <= set(whole[0])
    down = Odd(most=12)
    with pytest.raises(JudgeError, match="verifier term has no value: the verifier is down"):
        train(job("resumed", down))
    part = log(tmp_path / "resumed")
    assert 0 < len(part) < 6
    assert any((tmp_path / "resumed" / "checkpoints").glob(f"checkpoint-{len(part)}"))
    again = train(job("resumed"))
    assert log(tmp_path / "resumed") == whole
    assert again.after == made.after
    assert not (tmp_path / "resumed" / "checkpoints").exists()
    with pytest.raises(ConfigError, match="holds the finished model"):
        train(job("resumed"))


def test_where_no_group_differs_it_is_said_and_the_run_stops(job: Made, tmp_path: Path) -> None:
    alone = job("out", completion_tokens=2)  # too short for any format
    with pytest.raises(CollapseError, match="no group differs in 2 steps"):
        train(replace(alone, patience=2))
    assert len(log(tmp_path / "out")) == 2
    assert (tmp_path / "out" / "checkpoints" / "checkpoint-2").is_dir()
    with pytest.raises(ConfigError, match="steps"):
        train(job("out", completion_tokens=2, steps=7))


def test_a_base_without_a_chat_template_is_refused(base: str, job: Made, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(base, other)
    (other / "chat_template.jinja").unlink()
    with pytest.raises(ConfigError, match="has no chat template"):
        train(job("out", base=str(other)))
