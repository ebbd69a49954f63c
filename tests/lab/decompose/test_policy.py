"""Policies trained by TRL: the loss is on completions alone, a killed run is resumed to the same log, a collapse is told."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("trl", reason="trl is not installed; extra rl")
pytest.importorskip("peft", reason="peft is not installed; extra rl")

from training.decomposer_proof import PROMPT as SHORT
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.judges.model import ModelOptions
from vista_lab.decompose.training.completions import Scoring, SentenceRow
from vista_lab.decompose.training.exemplars import StepsPrompt
from vista_lab.decompose.training.inputs import Division, input_of
from vista_lab.decompose.training.policy import Policy, sft_trainer
from vista_lab.decompose.training.recipes import GrpoRecipe, SftRecipe
from vista_lab.decompose.training.tiny import write_tiny_base
from vista_lab.decompose.training.train import CollapseError, DecomposerJob, train

pytestmark = pytest.mark.filterwarnings("default")  # the libraries' own

TOKEN = r"<think>a</think>|<output>.*?</output>|\n| ?\w+| ?[^\s\w]"
"""Both parts of an answer are single tokens, so that a random model makes the format by chance, and completions differ."""
ANSWER = '<think>a</think><output>["a."]</output>'
OTHER = '<output>["a b."]</output>'
ROWS = [
    SentenceRow(sentence=f"a {n}.", label=bool(n % 2), evidence=(f"a {n}.",), conversation=str(n)) for n in range(12)
]
PARTS = Division(ROWS[:10], ROWS[10:], "0" * 64)


class Odd:
    """Supports claims of an odd number of words. After so many pairs it is down, or kills the process."""

    name = "odd"

    def __init__(self, most: int = 10**9, *, fatal: bool = False) -> None:
        self.left, self.fatal = most, fatal

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.left -= len(pairs)
        if self.left < 0 and self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.left < 0:
            raise JudgeError("the verifier is down")
        return np.array([[p := 0.2 + 0.6 * (len(claim.split()) % 2), 0, 1 - p] for _, claim in pairs], np.float32)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A random model of a few tokens."""
    folder = tmp_path_factory.mktemp("base") / "tiny"
    write_tiny_base(folder, [ANSWER, OTHER], seed=0, token=TOKEN)
    return str(folder)


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short prompt: the package's own has a thousand tokens."""
    folder = tmp_path_factory.mktemp("prompts")
    (folder / "steps.txt").write_text(SHORT, encoding="utf-8")
    return folder


RECIPE = {
    "name": "tiny",
    "learning_rate": 1e-2,
    "steps": 6,
    "generations": 4,
    "update": 8,
    "batch": 4,
    "at_once": 8,
    "rank": 4,
    "alpha": 8,
    "prompt_tokens": 300,
    "completion_tokens": 12,
    "window": 312,
    "checkpoint_every": 2,
    "held_out": 2,
}


def make_job(base: str, prompts: Path, out: Path, verifier: Odd | None = None, **changed: Any) -> DecomposerJob:
    """A job of six steps."""
    how = Scoring(("format", "verifier"), verifier or Odd(), threshold=0.5, stop_counts=True)
    recipe = GrpoRecipe.model_validate({**RECIPE, "base": base, **changed})
    return DecomposerJob(recipe, PARTS, StepsPrompt(ModelOptions(prompts_dir=prompts)), out, "rows", how, patience=0)


def train_until_killed(base: str, prompts: Path, out: Path) -> None:
    train(make_job(base, prompts, out, Odd(most=8, fatal=True)))


Make = Callable[..., DecomposerJob]


@pytest.fixture
def job(base: str, prompts: Path, tmp_path: Path) -> Make:
    """Makes a job into a folder of this name."""
    return lambda name, verifier=None, **changed: make_job(
        changed.pop("base", base), prompts, tmp_path / name, verifier, **changed
    )


def log(out: Path) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in (out / "log.jsonl").read_text("utf-8").splitlines()]


def test_the_loss_is_on_the_completion_alone(base: str, prompts: Path, tmp_path: Path) -> None:
    from trl import SFTConfig

    policy, prompt = Policy.load(base), StepsPrompt(ModelOptions(prompts_dir=prompts))
    chat = [{"role": said.role, "content": said.content} for said in prompt.request(input_of(ROWS[0])).messages]
    recipe = SftRecipe.model_validate(
        {name: RECIPE[name] for name in ("name", "learning_rate", "rank", "alpha", "checkpoint_every")}
        | {"base": base, "batch": 1, "epochs": 1, "update": 1, "window": 300, "completion_tokens": 16}
    )
    settings = SFTConfig(str(tmp_path), max_length=None, completion_only_loss=True, report_to="none", bf16=False)
    batch = next(iter(sft_trainer(policy, [(chat, ANSWER)], recipe, settings).get_train_dataloader()))
    learnt = batch["labels"][0]
    assert policy.tokenizer.decode(learnt[learnt != -100]) == f"{ANSWER}<eos>"
    assert batch["input_ids"].shape[1] == policy.count(chat) + policy.length(ANSWER) > 30  # the prompt is there, too


def test_a_run_whose_judge_was_down_and_that_was_killed_is_resumed_to_the_same_log(
    base: str, prompts: Path, job: Make, tmp_path: Path
) -> None:
    made = train(job("whole"))
    assert made.finished
    whole = log(tmp_path / "whole")
    assert [line["step"] for line in whole] == [1, 2, 3, 4, 5, 6]
    assert any(line["reward_std"] for line in whole)
    assert {"format", "verifier", "dense", "sparse", "claims", "equal_groups", "clipped"} <= set(whole[0])
    with pytest.raises(JudgeError, match="verifier term has no value: the verifier is down"):
        train(job("resumed", Odd(most=8)))
    part = log(tmp_path / "resumed")
    assert 0 < len(part) < 4
    assert (tmp_path / "resumed" / "checkpoints" / f"checkpoint-{len(part)}").is_dir()
    child = get_context("spawn").Process(target=train_until_killed, args=(base, prompts, tmp_path / "resumed"))
    child.start()
    child.join(600)
    assert child.exitcode == -signal.SIGKILL
    assert log(tmp_path / "resumed")[: len(part)] == part
    again = train(job("resumed"))
    assert log(tmp_path / "resumed") == whole
    assert again.after == made.after
    assert not (tmp_path / "resumed" / "checkpoints").exists()
    with pytest.raises(ConfigError, match="holds the finished model"):
        train(job("resumed"))


def test_where_no_group_differs_it_is_said_and_the_run_stops(job: Make, tmp_path: Path) -> None:
    write_tiny_base(tmp_path / "plain", ["a b c"], seed=0)  # has no words for the format
    plain = str(tmp_path / "plain")
    with pytest.raises(CollapseError, match="no group differs in 2 steps"):
        train(replace(job("out", base=plain), patience=2))
    assert len(log(tmp_path / "out")) == 2
    assert (tmp_path / "out" / "checkpoints" / "checkpoint-2").is_dir()
    with pytest.raises(ConfigError, match="steps"):
        train(job("out", base=plain, steps=7))


def test_a_base_without_a_chat_template_is_refused(base: str, job: Make, tmp_path: Path) -> None:
    other = tmp_path / "other"
    shutil.copytree(base, other)
    (other / "chat_template.jinja").unlink()
    with pytest.raises(ConfigError, match="has no chat template"):
        train(job("out", base=str(other)))
