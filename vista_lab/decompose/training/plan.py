"""The plan of a training: tokens, steps and memory, before anything is loaded (`vista-guard decompose train --dry-run`).

Tokens are counted with the base's `tokenizer.json` where it is at hand, else by four characters each. Memory is an upper bound
from the model's shape: all sequences of a batch as long as the recipe allows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from vista_guard.errors import ConfigError, InputError
from vista_lab.decompose.training.inputs import Chat, Fitting
from vista_lab.decompose.training.recipes import GrpoRecipe, ModelShape, PolicyRecipe, SftRecipe
from vista_lab.decompose.training.train import DecomposerJob, exemplar_chats, sentence_chats

GB = 1e9
CHARS = 4
"""Characters of an English token, where there is no tokenizer at hand."""
_MESSAGE = 6
"""Tokens of a template around a message, at most."""
_LOGIT = 10
"""Bytes of a logit in training: in 2 bytes, in 4 for the softmax, and its gradient."""


@dataclass(frozen=True)
class TrainingPlan:
    """Cost of a training. `memory`: GB by part, on each device; `peak`: the most in use at the same time."""

    facts: tuple[tuple[str, str], ...]
    memory: tuple[tuple[str, float], ...]
    peak: float
    notes: tuple[str, ...]


def counter(base: str) -> tuple[Callable[[str], int], str]:
    """A token counter of texts, and a note on how it counts."""
    file = Path(base).expanduser() / "tokenizer.json"
    if base.startswith("hf:") or not file.is_file():
        return lambda text: math.ceil(len(text) / CHARS), f"tokens are estimated: {CHARS} characters each"
    from tokenizers import Tokenizer

    tokens = Tokenizer.from_file(str(file))
    return lambda text: len(tokens.encode(text, add_special_tokens=False).ids), "tokens by the base's tokenizer"


def shape_of(recipe: PolicyRecipe) -> ModelShape:
    """The base's sizes, from its folder or else from the recipe. Raises ConfigError: neither has them."""
    file = Path(recipe.base).expanduser() / "config.json"
    if not recipe.base.startswith("hf:") and file.is_file():
        try:
            return ModelShape.model_validate(json.loads(file.read_bytes()))
        except ValueError as exc:
            raise ConfigError(f"{file} does not say the sizes of a decoder: {exc}") from exc
    if recipe.shape is None:
        raise ConfigError(f"recipe {recipe.name} has no shape of {recipe.base}; add one, or give --base a folder")
    return recipe.shape


def plan(job: DecomposerJob) -> TrainingPlan:
    """The plan of a job.

    Raises:
        ConfigError: the base's sizes are not known.
        InputError: no sentence is short enough.
    """
    recipe = job.recipe
    count, how = counter(recipe.base)

    def chat(messages: Chat) -> int:
        return sum(count(message["content"]) + _MESSAGE for message in messages)

    most = recipe.window if isinstance(recipe, SftRecipe) else recipe.prompt_tokens
    fitting = Fitting(job.prompt, chat, most)
    facts = _sft(job, recipe, fitting, count) if isinstance(recipe, SftRecipe) else _grpo(job, recipe, fitting)
    if not fitting.tokens:
        raise InputError(f"every sentence has over {most:,} tokens with instructions; widen the recipe's")
    prompts = f"{fmean(fitting.tokens):,.0f} on average, {max(fitting.tokens):,} at most"
    lost = ("prompts that lose context", f"{fitting.cut:,}"), ("sentences left out", f"{fitting.left_out:,}")
    fitted = (("tokens of a prompt", prompts), *lost)
    memory = memory_of(recipe, shape_of(recipe))
    peak = _peak(memory)
    notes = [how]
    if recipe.gpu is not None:
        room = "fits" if peak <= recipe.gpu else "does not fit"
        notes.append(f"{peak:.0f} GB at the longest {room} into {recipe.gpu:.0f} GB; short sequences take less")
    return TrainingPlan((*facts, *fitted), memory, peak, tuple(notes))


def _sft(
    job: DecomposerJob, recipe: SftRecipe, fitting: Fitting, count: Callable[[str], int]
) -> tuple[tuple[str, str], ...]:
    chats = exemplar_chats(job.parts.train, fitting, lambda text: count(text) + 1)
    steps = math.ceil(recipe.epochs * math.ceil(len(chats) / recipe.update))
    learnt = sum(count(answer) + 1 for _, answer in chats)
    return (
        ("exemplars", f"{len(job.parts.train):,}, and {len(job.parts.held_out):,} held out"),
        ("steps", f"{steps:,} of {recipe.update} exemplars, {recipe.epochs:g} epochs"),
        ("tokens with a loss", f"{learnt * recipe.epochs:,.0f}"),
        ("tokens read", f"{(learnt + sum(fitting.tokens)) * recipe.epochs:,.0f}"),
    )


def _grpo(job: DecomposerJob, recipe: GrpoRecipe, fitting: Fitting) -> tuple[tuple[str, str], ...]:
    rows = sentence_chats(job.parts.train, fitting)
    completions = recipe.steps * recipe.update
    sentences = completions // recipe.generations
    facts = [
        ("sentences", f"{len(job.parts.train):,}, and {len(job.parts.held_out):,} held out"),
        ("steps", f"{recipe.steps:,} of {recipe.update} completions, {recipe.generations} of each sentence"),
        ("completions", f"{completions:,} of {sentences:,} sentences, {sentences / max(len(rows), 1):.1f} epochs"),
        ("tokens written", f"{completions * recipe.completion_tokens:,} at most"),
    ]
    if "verifier" in job.how.terms:
        pieces = fmean(len(row["evidence"]) for row in rows) if rows else 0.0
        facts.append(("verifier", f"{completions * pieces:,.0f} pairs for each claim of a completion, equal ones once"))
    if "checklist" in job.how.terms:
        facts.append(("calls of the judge", f"{completions:,} at most, equal ones once"))
    return tuple(facts)


def memory_of(recipe: PolicyRecipe, shape: ModelShape) -> tuple[tuple[str, float], ...]:
    """GB by part, on each device: weights of 2 bytes, an adapter of 4 with its gradient and two moments."""
    moments = 2 if "8bit" in recipe.optimizer else 8
    whole = shape.parameters * (2 + min(moments, 4))  # moments of 2 bytes, as the weights
    trained = shape.adapter(recipe.rank) * (8 + moments) if recipe.rank else whole
    tokens, layer = recipe.batch * recipe.window, 8 * shape.hidden_size + 3 * shape.intermediate_size
    activations = tokens * 2 * (shape.num_hidden_layers * shape.hidden_size + layer)
    logits = tokens if isinstance(recipe, SftRecipe) else recipe.batch * recipe.completion_tokens
    parts: list[tuple[str, float]] = [
        ("policy", shape.parameters * 2),
        ("trained weights, gradients, moments", trained),
        ("activations", activations),
        ("logits", logits * shape.vocab_size * _LOGIT),
    ]
    if isinstance(recipe, GrpoRecipe):
        cache = recipe.at_once * recipe.window * shape.num_hidden_layers * 2 * shape.kv_width * 2
        parts += [("keys and values while sampling", cache), ("verifier", recipe.verifier_gb * GB)]
    return tuple((name, size / GB) for name, size in parts)


def _peak(memory: Sequence[tuple[str, float]]) -> float:
    """Sampling and training take turns."""
    parts = dict(memory)
    training = parts.pop("activations") + parts.pop("logits")
    sampling = parts.pop("keys and values while sampling", 0.0)
    return sum(parts.values()) + max(training, sampling)
