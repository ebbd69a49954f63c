"""Recipes of a decomposer's two trainings: tables `[sft]` and `[grpo]` of `recipes.toml` or your own file (App. H)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from vista_lab.training.recipes import Count, Share, recipe_table, validate_recipe
from vista_lab.training.rows import Stage


class ModelShape(BaseModel):
    """The sizes of a decoder that memory depends on, named as in its `config.json`."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    hidden_size: Count
    intermediate_size: Count
    num_hidden_layers: Count
    num_attention_heads: Count
    num_key_value_heads: Count
    vocab_size: Count
    tie_word_embeddings: bool = False

    @property
    def kv_width(self) -> int:
        """Numbers of a key, and of a value, of one token in one layer."""
        return self.hidden_size // self.num_attention_heads * self.num_key_value_heads

    @property
    def linears(self) -> list[tuple[int, int]]:
        """Inputs and outputs of a layer's projections, those that an adapter sits on."""
        wide, narrow, inner = self.hidden_size, self.kv_width, self.intermediate_size
        attention = [(wide, wide), (wide, narrow), (wide, narrow), (wide, wide)]
        return [*attention, (wide, inner), (wide, inner), (inner, wide)]

    @property
    def parameters(self) -> int:
        """Weights of the whole model.

        Examples:
            >>> llama = dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32)
            >>> ModelShape(**llama, num_key_value_heads=8, vocab_size=128256).parameters
            8030261248
        """
        layer = sum(inputs * outputs for inputs, outputs in self.linears) + 2 * self.hidden_size
        tables = self.vocab_size * self.hidden_size * (1 if self.tie_word_embeddings else 2)
        return self.num_hidden_layers * layer + tables + self.hidden_size

    def adapter(self, rank: int) -> int:
        """Weights of a LoRA adapter of this rank on all projections of attention and MLP."""
        return self.num_hidden_layers * sum(rank * (inputs + outputs) for inputs, outputs in self.linears)


class _PolicyRecipe(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    base: str
    """`hf:ORG/MODEL` or a folder: the weights to begin with, of a chat model."""
    learning_rate: float = Field(gt=0)
    optimizer: str = "adamw_torch"
    rank: int = Field(ge=0)
    """Of the LoRA adapter on attention and MLP; 0 trains all weights."""
    alpha: Count = 1
    batch: Count
    """Sequences that are trained on at once."""
    checkpoint_every: Count
    """Steps."""
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    held_out: Count = 200
    """Most held-out sentences that are answered for the figures."""
    samples: Count = 1
    """Answers to each of them."""
    completion_tokens: Count
    gpu: float | None = Field(default=None, gt=0)
    """GB of the device that the recipe is made for."""
    shape: ModelShape | None = None
    """Of the base, for a plan without its `config.json`."""
    seed: int = 13


class SftRecipe(_PolicyRecipe):
    """Supervised fine-tuning on a teacher's exemplars, loss on the completion alone."""

    epochs: float = Field(gt=0)
    update: Count
    """Exemplars of an update, accumulated."""
    window: Count
    """Tokens of prompt and completion together."""
    decay: Literal["constant", "linear", "cosine"] = "cosine"
    warmup: Share = 0.0
    weight_decay: float = Field(default=0.0, ge=0)


class GrpoRecipe(_PolicyRecipe):
    """Dr. GRPO: advantages are not divided by their deviation, nor losses by their length."""

    steps: Count
    generations: Annotated[int, Field(ge=2)]
    """Completions of one prompt: a group."""
    update: Count
    """Completions of an update, accumulated. TRL counts completions where App. H says prompts."""
    at_once: Count
    """Completions that are sampled at the same time: their keys and values must fit beside the models."""
    prompt_tokens: Count
    window: Count
    warmup_steps: int = Field(default=0, ge=0)
    beta: float = Field(default=0.0, ge=0)
    """Weight of the distance to the start; Eq. 1 has none."""
    epsilon: float = Field(default=0.2, gt=0)
    verifier_gb: float = Field(default=0.0, ge=0)
    """Memory of the verifier on the same device, for the plan."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.prompt_tokens + self.completion_tokens > self.window:
            raise ValueError(
                f"prompt_tokens {self.prompt_tokens:,} + completion_tokens {self.completion_tokens:,} exceed the window of "
                f"{self.window:,}; shorten one, or widen the window if the model reads more"
            )
        for name, part in (("batch", self.batch), ("generations", self.generations), ("at_once", self.at_once)):
            if self.update % part:
                raise ValueError(f"update is {self.update}, which {name} ({part}) does not divide")
        for name, part in (("batch", self.batch), ("generations", self.generations)):
            if self.at_once % part:
                raise ValueError(f"at_once is {self.at_once}, which {name} ({part}) does not divide")
        return self


PolicyRecipe = SftRecipe | GrpoRecipe
_KINDS: dict[Stage, TypeAdapter[PolicyRecipe]] = {"sft": TypeAdapter(SftRecipe), "grpo": TypeAdapter(GrpoRecipe)}


def read_policy_recipe(recipe: str, stage: Stage, base: str | None = None) -> PolicyRecipe:
    """The recipe of a stage.

    Args:
        recipe: `paper`, `one-gpu`, or a TOML file with a table `[sft]` or `[grpo]`.
        stage: `sft` or `grpo`.
        base: begin with these weights instead of the recipe's.

    Raises:
        ConfigError: there is no such recipe, it has nothing for this stage, or a value of it is wrong.

    Examples:
        >>> read_policy_recipe("paper", "grpo").update
        256
    """
    values = recipe_table(recipe, stage) | ({"base": base} if base else {})
    return validate_recipe(_KINDS[stage], recipe, stage, values)
