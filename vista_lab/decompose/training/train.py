"""Trains a decomposer: on a teacher's exemplars, then against a verifier and a checklist (DAD, §3.2, §3.3).

Writes a folder that a server loads as a chat model, for the decomposer `steps:openai:MODEL@URL`, with `training.json` (recipe,
data's hash, figures before and after), `log.jsonl` (a line a step), `held-out.jsonl` (answers to held-out sentences with their
terms) and a card. Rerun the same command to resume a run that was killed or whose judge went down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from statistics import fmean
from typing import Any

import vista_guard
from vista_guard._extras import require
from vista_guard.errors import InputError, VistaGuardError
from vista_guard.stores.line_file import write_whole
from vista_lab.decompose.training.completions import CompletionRow, ScoredRow, Scoring, SentenceRow, as_lines
from vista_lab.decompose.training.exemplars import Exemplar, StepsPrompt
from vista_lab.decompose.training.inputs import Chat, Division, Fitting, input_of, sample
from vista_lab.decompose.training.recipes import PolicyRecipe, SftRecipe
from vista_lab.decompose.training.rollouts import FIELDS, Rollouts
from vista_lab.decompose.training.tiny import TINY, write_tiny_base
from vista_lab.training import record
from vista_lab.training.rows import Stage
from vista_lab.training.trainers import CHECKPOINTS

BEFORE, AFTER = "held-out-before.jsonl", "held-out.jsonl"
"""Answers of the base and of the trained model to held-out sentences, with their rewards."""
LIBRARIES = ("torch", "transformers", "datasets", "accelerate", "trl", "peft")
FORMAT = Scoring(terms=("format",), stop_counts=True)
"""How answers are scored where there is no verifier: a stop phrase is well-formed, since the prompt asks for it."""


class CollapseError(VistaGuardError):
    """Training collapsed; the run stopped at a checkpoint."""


@dataclass(frozen=True)
class DecomposerJob:
    """A training job.

    Args:
        recipe: of the stage.
        parts: exemplars for SFT, labelled sentences for GRPO.
        prompt: the decomposer's prompt.
        out: the model's folder.
        name: of the data.
        how: rewards, with verifier and judge; for SFT the format alone.
        patience: steps without a sign of learning after which the run stops; 0: never.
    """

    recipe: PolicyRecipe
    parts: Division[Exemplar] | Division[SentenceRow]
    prompt: StepsPrompt
    out: Path
    name: str
    how: Scoring = field(default=FORMAT)
    patience: int = 10

    @property
    def stage(self) -> Stage:
        return "sft" if isinstance(self.recipe, SftRecipe) else "grpo"

    def training(self) -> record.Training:
        """The record of this job, unfinished. Another verifier, judge, term or prompt makes it another job."""
        how, parts = self.how, self.parts
        rewards = {
            "terms": ", ".join(how.terms),
            "verifier": how.verifier.name if how.verifier else "none",
            "reward": how.reward if "verifier" in how.terms else "none",
            "threshold": str(how.threshold),
            "judge": how.judge.name if how.judge else "none",
        }
        recipe = self.recipe.model_dump(exclude={"shape", "gpu", "verifier_gb"})
        return record.Training(
            made_by=f"vista-guard {vista_guard.__version__}",
            part=self.stage,
            recipe={**recipe, **(rewards if self.stage == "grpo" else {}), "prompt": self.prompt.fingerprint},
            data=record.TrainingData(
                name=self.name,
                sha256=parts.sha256,
                train=len(parts.train),
                held_out=len(parts.held_out),
                teacher=parts.teacher,
            ),
        )


def require_libraries(recipe: PolicyRecipe | None = None) -> None:
    """Checks that all libraries to train a decomposer are installed. Raises ConfigError: it is not; names the extra."""
    require("training a decomposer", *LIBRARIES, extra="rl")
    if recipe is not None and "8bit" in recipe.optimizer:
        require(f"the optimizer {recipe.optimizer}", "bitsandbytes", extra="rl")


def train(job: DecomposerJob, log: Callable[[str], None] = lambda line: None) -> record.Training:
    """Trains a decomposer and writes its folder. `log` is told of each part of the work before it begins.

    Raises:
        ConfigError: the extra `rl` is missing, there are several GPUs, the base is no chat model, or `out` holds something else.
        InputError: no sentence is short enough for the recipe.
        JudgeError: a reward has no value, since its model is down; the run is resumed from its checkpoint.
        CollapseError: training collapsed, as the message explains; the run stopped at a checkpoint.
    """
    require_libraries(job.recipe)
    recipe, parts = job.recipe, job.parts
    taught = f"; exemplars of {parts.teacher}" if parts.teacher else ""
    counts = f"{len(parts.train):,} sentences to train on, {len(parts.held_out):,} held out"
    log(f"{job.stage}: {counts}; recipe {recipe.name}{taught}")
    log(f"loading torch, trl and {recipe.base}")
    from vista_lab.decompose.training.policy import Policy, check_devices

    check_devices()
    claim(job)
    policy = Policy.load(_base(job))
    run = _Run(job, policy, log)
    training = record.read_training(job.out)
    if not training.before:
        training = training.model_copy(update={"before": run.figures(policy, job.out / BEFORE)})
        _write(job.out / record.TRAINING, training)
    trained = run.train()
    after = run.figures(trained, job.out / AFTER)
    training = training.model_copy(update={"after": after, "finished": datetime.now(UTC)})
    trained.save(job.out)
    write_whole(job.out / record.CARD, card(training))
    _write(job.out / record.TRAINING, training)
    return training


def _base(job: DecomposerJob) -> str:
    """The recipe's base; the random one of recipe `tiny` is made of the data's words, the same each time."""
    recipe = job.recipe
    if recipe.base != TINY:
        return recipe.base
    folder = job.out / CHECKPOINTS / TINY
    rows: Sequence[Any] = [*job.parts.train, *job.parts.held_out]
    asked = [row.asked if isinstance(row, Exemplar) else input_of(row) for row in rows]
    said = [message.content for one in asked for message in job.prompt.request(one).messages]
    said += [row.completion for row in rows if isinstance(row, Exemplar)]
    write_tiny_base(folder, said, recipe.seed, window=recipe.window)
    return str(folder)


def claim(job: DecomposerJob) -> None:
    """Claims the job's folder, new or begun in the same way.

    Raises ConfigError: it is finished, was begun in another way, or holds something else.
    """
    record.claim_out(job.out, job.training())


def _write(path: Path, training: record.Training) -> None:
    write_whole(path, training.model_dump_json(indent=2) + "\n")


class _Run:
    def __init__(self, job: DecomposerJob, policy: Any, log: Callable[[str], None]) -> None:
        recipe = job.recipe
        self._job, self._policy, self._log = job, policy, log
        most = recipe.window if isinstance(recipe, SftRecipe) else recipe.prompt_tokens
        self._fitting = Fitting(job.prompt, policy.count, most)
        self._rollouts = Rollouts(job.how)

    def train(self) -> Any:
        """The trained policy."""
        from vista_lab.decompose.training.policy import train_grpo, train_sft

        job, recipe = self._job, self._job.recipe
        if isinstance(recipe, SftRecipe):
            chats = self._report_cuts(exemplar_chats(job.parts.train, self._fitting, self._policy.length))
            steps = ceil(ceil(len(chats) / recipe.update) * recipe.epochs)
            self._log(f"training: {steps:,} steps of {recipe.update:,} exemplars; the first tells how long one takes")
            return train_sft(self._policy, chats, recipe, job.out, self._log)
        rows = self._report_cuts(sentence_chats(job.parts.train, self._fitting))
        self._log(
            f"training: {recipe.steps:,} steps, each of {recipe.update:,} completions in up to {recipe.completion_tokens:,} "
            f"tokens, scored by {', '.join(job.how.terms)}; the first tells how long one takes"
        )
        policy, why = train_grpo(self._policy, rows, self._rollouts, recipe, job.out, self._log, job.patience)
        if why:
            raise CollapseError(f"{why}. The run stopped at a checkpoint; rerun with --patience 0 to go on")
        return policy

    def _report_cuts(self, rows: list[Any]) -> list[Any]:
        fitting = self._fitting
        if fitting.cut:
            self._log(f"{fitting.cut:,} prompts lost context: they had over {fitting.most:,} tokens")
        over = f"over {fitting.most:,} tokens"
        if fitting.left_out:
            self._log(f"{fitting.left_out:,} sentences are left out: with instructions they have {over}")
        if not rows:
            raise InputError(f"every sentence has {over} with instructions and answer; widen the recipe's")
        return rows

    def figures(self, policy: Any, kept: Path) -> dict[str, float]:
        """Mean of each term, and claims, over answers to held-out sentences; the answers themselves go into `kept`."""
        recipe = self._job.recipe
        most = self._fitting.most - recipe.completion_tokens * isinstance(recipe, SftRecipe)
        fitting = Fitting(self._job.prompt, policy.count, most)
        held_out: Sequence[Any] = self._job.parts.held_out
        rows = map(held_out_row, sample(held_out, recipe.held_out, _name))
        prompts = [(row, chat) for row in rows if (chat := fitting.chat(input_of(row))) is not None] * recipe.samples
        self._log(f"answering {len(prompts):,} held-out sentences, in up to {recipe.completion_tokens:,} tokens each")
        answers = policy.answer(
            [chat for _, chat in prompts],
            recipe,
            seed=recipe.seed,
            told=lambda done: self._log(f"answered {done:,} of {len(prompts):,}"),
        )
        self._log(f"scoring {len(prompts):,} answers by {', '.join(self._job.how.terms)}")
        given = zip((row for row, _ in prompts), answers, strict=True)
        named = ((row.model_dump(), answer, row.id or row.sentence) for row, answer in given)
        completions = [CompletionRow(**row, completion=answer, group=name) for row, answer, name in named]
        scored = self._rollouts.score(completions)
        write_whole(kept, as_lines(scored))
        return _means(scored, self._job.how.terms)


def _name(row: Exemplar | SentenceRow) -> str:
    return row.asked.id if isinstance(row, Exemplar) else f"{row.question} {row.context} {row.sentence}"


def held_out_row(row: Exemplar | SentenceRow) -> SentenceRow:
    """A held-out sentence, whether it comes with a teacher's answer or with a label."""
    if isinstance(row, SentenceRow):
        return row
    asked = row.asked
    return SentenceRow(sentence=asked.sentence, question=asked.question, context=asked.context, id=asked.id)


def _means(scored: Sequence[ScoredRow], terms: Sequence[str]) -> dict[str, float]:
    means = {term: fmean(getattr(row, term) for row in scored) for term in terms}
    if len(terms) > 1:
        means["R"] = sum(means.values())
    return {**means, "claims a sentence": fmean(len(row.claims or ()) for row in scored)}


def exemplar_chats(rows: Sequence[Any], fitting: Fitting, length: Callable[[str], int]) -> list[tuple[Chat, str]]:
    """Prompt and answer of each exemplar that fits the window. A cut answer would teach to stop in its middle, so none is cut."""
    chats = ((fitting.chat(row.asked, length(row.completion)), row.completion) for row in rows)
    return [(chat, completion) for chat, completion in chats if chat is not None]


def sentence_chats(rows: Sequence[Any], fitting: Fitting) -> list[dict[str, Any]]:
    """Prompt of each sentence that fits, with the columns that its rewards are made of."""
    chats = ((row, fitting.chat(input_of(row))) for row in rows)
    known = ((row, chat) for row, chat in chats if chat is not None)
    return [{"prompt": chat, **{name: getattr(row, name) for name in FIELDS}} for row, chat in known]


def card(made: record.Training) -> str:
    """The card of a trained decomposer, in Markdown."""
    teacher = f"exemplars of {made.data.teacher or 'a teacher'}"
    how = teacher if made.part == "sft" else "the rewards of a verifier and a checklist"
    return "\n".join(
        [
            f"# A decomposer trained on {made.data.name}",
            "",
            f"Made by {made.made_by} from `{made.recipe['base']}` by {how}, recipe `{made.recipe['name']}`. Serve this "
            "folder as a chat model, and set `decomposer` to `steps:openai:MODEL@URL`.",
            "",
            f"Trained on {made.data.train:,} sentences; measured on answers to sentences of other conversations, of which there "
            f"are {made.data.held_out:,}. sha256 of all: `{made.data.sha256}`. The prompt is `{made.recipe['prompt']}`.",
            "",
            *record.figures_table(made, "held-out sentences"),
            "",
            "Rewards are not truth: before you rely on the model, measure its claims and verdicts on texts that people labelled.",
            "",
            *record.recipe_lines(made),
            "",
        ]
    )
