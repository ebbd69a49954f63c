"""Training recipes of each part, as data in `recipes.toml` or your own file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from vista_guard.errors import ConfigError
from vista_lab.files import reading
from vista_lab.training.rows import Part

RECIPES = Path(__file__).with_name("recipes.toml")
SHIPPED = "shipped"
"""Base name of the model inside this package."""

Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(gt=0)]
T = TypeVar("T")


class _Recipe(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    base: str
    """`shipped`, `hf:ORG/MODEL` or a folder: the weights to begin with."""
    learning_rate: float = Field(gt=0)
    warmup: Share = 0.0
    """Share of the run in which the rate rises."""
    max_tokens: Count
    """Tokens of a text, or of a pair, that are read."""
    neutrals: str = SHIPPED
    """Verifier: the verifier that chooses each claim's neutral passage, named as in the settings."""
    least_per_label: Count = 1
    """Verifier: fewest rows of a label to train on."""
    seed: int = 13


class LibraryRecipe(_Recipe):
    """Training by transformers or sentence-transformers, as the paper does: so many steps, and the best one is kept."""

    optimizer: str
    steps: Count
    batch: Count
    decay: Literal["constant", "linear"] = "linear"
    evaluate_every: Count
    scale: float = Field(default=1.0, gt=0)
    """Retriever: the cosine of claim and passage is multiplied with it, so that vectors have the length of its root."""
    claim_prefix: str = ""
    passage_prefix: str = ""


class ShippedRecipe(_Recipe):
    """Training of a shipped model on a CPU, by `vista_lab.training.train`."""

    epochs: Count = 1
    max_minutes: float = Field(gt=0)
    batch: Count = 64
    """Retriever: rows of a batch, each the negative of the others."""
    tokens: Count = 4096
    """Verifier: padded tokens of a batch."""
    scale: float = Field(default=1.0, gt=0)
    """As in `LibraryRecipe`."""
    ranking: float = Field(default=0.0, ge=0)
    """Verifier: weight of the term between a claim and its falsified twin."""
    keep: Share
    """Share of the shipped weights in the mean that is written: what they were good at is kept in part."""
    replay_share: Share = 0.5
    """Verifier: most rows of --replay, as a share of all."""
    threads: Count = 2


Recipe = LibraryRecipe | ShippedRecipe


def read_recipe(recipe: str, part: Part, base: str | None = None) -> Recipe:
    """The recipe of a part.

    Args:
        recipe: `paper`, `small`, or a TOML file with a table `[extractor]`, `[retriever]` or `[verifier]`.
        part: the part to train.
        base: begin with these weights instead of the recipe's.

    Raises:
        ConfigError: there is no such recipe, it has nothing for this part, or a value of it is wrong.

    Examples:
        >>> read_recipe("paper", "retriever").learning_rate
        1e-06
    """
    values = recipe_table(recipe, part) | ({"base": base} if base else {})
    kind: TypeAdapter[Recipe] = TypeAdapter(ShippedRecipe if "keep" in values else LibraryRecipe)
    return validate_recipe(kind, recipe, part, values)


def recipe_table(recipe: str, part: str) -> dict[str, Any]:
    """The table of a part, with the recipe's name. Raises ConfigError: there is no such recipe, or it has no such table."""
    shipped = _tables(RECIPES)
    file = Path(recipe)
    if recipe not in shipped and not file.is_file():
        raise ConfigError(f"recipe is {recipe!r}; it is one of {', '.join(shipped)}, or a TOML file")
    tables = shipped[recipe] if recipe in shipped else _tables(file)
    if part not in tables:
        others = ", ".join(name for name in shipped if part in shipped[name])
        raise ConfigError(f"recipe {recipe} has no table [{part}]; {others} has one")
    values: dict[str, Any] = {"name": recipe if recipe in shipped else file.stem} | tables[part]
    return values


def validate_recipe(kind: TypeAdapter[T], recipe: str, part: str, values: dict[str, Any]) -> T:
    """Validates a recipe's values. Raises ConfigError: a value is wrong; names recipe, table and field."""
    with reading(f"recipe {recipe}, [{part}]", error=ConfigError):
        return kind.validate_python(values)


def _tables(file: Path) -> dict[str, Any]:
    with reading(f"recipe {file}", "; give a TOML file", ConfigError):
        return tomllib.loads(file.read_text(encoding="utf-8"))
