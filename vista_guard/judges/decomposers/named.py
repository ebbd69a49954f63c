"""Builds decomposers from their names in the settings (`sentence`, `steps:openai:MODEL@URL`, `hf:ORG/MODEL`, a folder)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from vista_guard.errors import ConfigError
from vista_guard.protocols import Decomposer, Embedder, Judge
from vista_guard.settings.model import DECOMPOSER_DEFAULTS, MODEL_DEFAULTS, DecomposerOptions, ModelOptions

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel

Around = Callable[["ChatModel"], "ChatModel"]
"""Wraps a chat model: returns the model itself, or one that only counts."""

CHAT_FORMS: Mapping[str, str] = {
    "": "a chat model takes the turn apart in one call",
    "steps:": "four steps of thought, one call a sentence",
    "factscore:": "atomic facts, one call a sentence (FActScore)",
    "veriscore:": "verifiable claims alone, one call a sentence (VeriScore)",
    "veriscore-sft:": "the same of a model that VeriScore's makers fine-tuned",
    "claimify:": "select, disambiguate, decompose: three calls a sentence (Claimify)",
    "dydecomp:": "splits a turn in two while the judge becomes surer of it (DyDecomp, greedy)",
}
"""Decomposers on any chat model, by the prefix before `openai:MODEL@URL` or `langchain:PROVIDER:MODEL`."""

RULES = {
    "shipped": "the rules of the embedded judge, before any judge",
    "sentence": "each sentence is a claim",
    "steps:embedded": "the four steps by rules of English: finer claims than shipped, no model",
}
"""Decomposers without a model."""

FORMS = "\n".join(
    [
        *(f"  {name:<32}  {said}" for name, said in RULES.items()),
        "  hf:ORG/MODEL[@REVISION]           an encoder-decoder of the Hugging Face hub, such as a T5",
        "  PATH                              a folder with config.json, a tokenizer, and ONNX files of an encoder and a decoder,",
        "                                    or weights for torch",
        *(f"  {prefix + 'CHAT':<32}  {said}" for prefix, said in CHAT_FORMS.items()),
        "CHAT is openai:MODEL, openai:MODEL@https://host/v1 (any endpoint that speaks OpenAI's API) or langchain:PROVIDER:MODEL",
    ]
)


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
        given: a name in one of the forms of `FORMS`, or an object.
        embedder: the shipped one, for the shipped rules.
        options: how to load and run a local model, and how much of a turn a chat model sees.
        model: parameters and budget of a chat model.
        around: wraps a chat model, to count its calls.

    Raises:
        ConfigError: unknown decomposer, or one that cannot be loaded.
    """
    if given is None or not isinstance(given, str | Path):
        return given
    name = str(given).strip()
    if name in RULES:
        return _rule_decomposer(name, embedder, options)
    for prefix in CHAT_FORMS:
        provider, _, rest = name.removeprefix(prefix).partition(":")
        if name.startswith(prefix) and provider in ("openai", "langchain") and rest:
            return _model_decomposer(prefix, name.removeprefix(prefix), options, model, around)
    if (name.startswith("hf:") and name != "hf:") or Path(name).expanduser().is_dir():
        from vista_guard.judges.decomposers.coverage import Covering
        from vista_guard.judges.decomposers.local import LocalDecomposer

        return Covering(LocalDecomposer.load(name, options), history=False)
    raise ConfigError(
        f"decomposer is {name!r}, which is neither a decomposer nor a folder. The decomposers are:\n{FORMS}"
    )


def attach_decomposer(judge: Judge, decomposer: Decomposer) -> Judge:
    """Puts the decomposer before the judge; DyDecomp also sees the judge's verdicts."""
    from vista_guard.judges.composed.pipeline import DecomposingJudge
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    return decomposer.around(judge) if isinstance(decomposer, DyDecomp) else DecomposingJudge(judge, decomposer)


def _model_decomposer(
    prefix: str, name: str, options: DecomposerOptions, model: ModelOptions, around: Around | None
) -> Decomposer:
    from vista_guard.judges.decomposers.dydecomp import DyDecomp
    from vista_guard.judges.decomposers.steps import RivalDecomposer, RivalName, StepsDecomposer
    from vista_guard.judges.model import ModelJudge, chat_model

    chat = chat_model(name, model)
    chat = around(chat) if around else chat
    if not prefix:
        return ModelJudge(chat, model)
    if prefix == "steps:":
        return StepsDecomposer(chat, model, options)
    if prefix == "dydecomp:":
        return DyDecomp(chat, model)
    rival = cast(RivalName, prefix.removesuffix(":"))
    return RivalDecomposer(rival, chat, model, keep_steps=options.keep_steps)


def _rule_decomposer(name: str, embedder: Embedder, options: DecomposerOptions) -> Decomposer:
    if name == "shipped":
        from vista_guard.judges.embedded import EmbeddedJudge

        return EmbeddedJudge.load(embedder)
    from vista_guard.judges.decomposers.rules import EmbeddedSteps, SentenceDecomposer

    return SentenceDecomposer() if name == "sentence" else EmbeddedSteps(keep_steps=options.keep_steps)


def cached(decomposer: Decomposer, folder: Path | None) -> Decomposer:
    """The decomposer with its claims cached in the folder, if it asks a model and there is a folder."""
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    # DyDecomp is not cached as a `Judge`: it depends on verdicts.
    if folder is None or not hasattr(decomposer, "why_exhausted") or isinstance(decomposer, DyDecomp):
        return decomposer
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.cached(cast(Judge, decomposer), folder)  # only `decompose` is called
