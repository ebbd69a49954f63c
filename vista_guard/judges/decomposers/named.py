"""Builds decomposers from their names in the settings (`sentence`, `steps:openai:MODEL@URL`, `hf:ORG/MODEL`, a folder)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from vista_guard.judges.named import names_model
from vista_guard.protocols import Decomposer, Embedder, Judge
from vista_guard.settings.model import DECOMPOSER_DEFAULTS, MODEL_DEFAULTS, DecomposerOptions, ModelOptions
from vista_guard.settings.names import Kinds

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel

Around = Callable[["ChatModel"], "ChatModel"]
"""Wraps a chat model: returns the model itself, or one that only counts."""


@dataclass(frozen=True)
class _Making:
    embedder: Embedder
    options: DecomposerOptions
    model: ModelOptions
    around: Around | None


def build_decomposer(
    given: Decomposer | str | Path | None,
    embedder: Embedder,
    options: DecomposerOptions = DECOMPOSER_DEFAULTS,
    model: ModelOptions = MODEL_DEFAULTS,
    *,
    around: Around | None = None,
) -> Decomposer | None:
    """Builds the decomposer with this name, or returns the object unchanged; None if the judge decomposes by itself.

    Args:
        given: a name that `DECOMPOSERS` knows, or an object.
        embedder: the shipped one, for the shipped rules.
        options: how to load and run a local model, and how much of a turn a chat model sees.
        model: parameters and budget of a chat model.
        around: wraps a chat model, to count its calls.

    Raises:
        ConfigError: unknown decomposer, or one that cannot be loaded.
    """
    if given is None or not isinstance(given, str | Path):
        return given
    return DECOMPOSERS.build(str(given), _Making(embedder, options, model, around))


def attach_decomposer(judge: Judge, decomposer: Decomposer) -> Judge:
    """Puts the decomposer before the judge; DyDecomp also sees the judge's verdicts."""
    from vista_guard.judges.composed.pipeline import DecomposingJudge
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    return decomposer.around(judge) if isinstance(decomposer, DyDecomp) else DecomposingJudge(judge, decomposer)


def cached(decomposer: Decomposer, folder: Path | None) -> Decomposer:
    """The decomposer with its claims cached in the folder, if it asks a model and there is a folder."""
    from vista_guard.judges.decomposers.coverage import Covering
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    # DyDecomp is not cached as a `Judge`: it depends on verdicts. What is covered here is a local model's.
    if folder is None or not hasattr(decomposer, "why_exhausted") or isinstance(decomposer, DyDecomp | Covering):
        return decomposer
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.cached(cast(Judge, decomposer), folder)  # only `decompose` is called


def _by_rules(name: str, making: _Making) -> Decomposer:
    if name == "shipped":
        from vista_guard.judges.embedded import EmbeddedJudge

        return EmbeddedJudge.load(making.embedder)
    from vista_guard.judges.decomposers.rules import EmbeddedSteps, SentenceDecomposer

    return SentenceDecomposer() if name == "sentence" else EmbeddedSteps(keep_steps=making.options.keep_steps)


def _local(name: str, making: _Making) -> Decomposer:
    from vista_guard.judges.decomposers.coverage import Covering
    from vista_guard.judges.decomposers.local import LocalDecomposer

    return Covering(LocalDecomposer.load(name, making.options), history=False)


def _by_model(name: str, making: _Making) -> Decomposer:
    from vista_guard.judges.decomposers.dydecomp import DyDecomp
    from vista_guard.judges.decomposers.steps import RivalDecomposer, RivalName, StepsDecomposer
    from vista_guard.judges.model import ModelJudge, chat_model

    kind, _, rest = ("", "", name) if names_model(name) else name.partition(":")
    if not names_model(rest):
        raise DECOMPOSERS.unknown(name)
    chat, options = chat_model(rest, making.model), making.options
    chat = making.around(chat) if making.around else chat
    if not kind:
        return ModelJudge(chat, making.model)
    if kind == "steps":
        return StepsDecomposer(chat, making.model, options)
    if kind == "dydecomp":
        return DyDecomp(chat, making.model)
    return RivalDecomposer(cast(RivalName, kind), chat, making.model, keep_steps=options.keep_steps)


DECOMPOSERS = Kinds[_Making, Decomposer](
    "decomposer",
    {
        "shipped": (_by_rules, "the rules of the embedded judge, before any judge"),
        "sentence": (_by_rules, "each sentence is a claim"),
        "steps:embedded": (
            _by_rules,
            "finer claims than shipped, by rules of English; no model, its trace has the format of the four steps",
        ),
        "hf:ORG/MODEL[@REVISION]": (_local, "an encoder-decoder of the Hugging Face hub, such as a T5"),
        "PATH": (
            _local,
            "a folder with config.json, a tokenizer, and an encoder and a decoder in ONNX, or weights for torch",
        ),
        "openai:MODEL": (_by_model, "a chat model takes the turn apart in one call"),
        "langchain:PROVIDER:MODEL": (_by_model, "the same by LangChain"),
        "steps:CHAT": (_by_model, "four steps of thought, one call a sentence"),
        "factscore:CHAT": (_by_model, "atomic facts, one call a sentence (FActScore)"),
        "veriscore:CHAT": (_by_model, "verifiable claims alone, one call a sentence (VeriScore)"),
        "veriscore-sft:CHAT": (_by_model, "the same of a model that VeriScore's makers fine-tuned"),
        "claimify:CHAT": (_by_model, "select, disambiguate, decompose: three calls a sentence (Claimify)"),
        "dydecomp:CHAT": (_by_model, "splits a turn in two while the judge becomes surer of it (DyDecomp, greedy)"),
    },
    "CHAT is openai:MODEL, openai:MODEL@https://host/v1 (any endpoint that speaks OpenAI's API) or langchain:PROVIDER:MODEL",
)
