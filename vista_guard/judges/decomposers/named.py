"""Builds decomposers from their names in the settings (`sentence`, `steps:openai:MODEL@URL`, `hf:ORG/MODEL`, a folder)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from vista_guard.errors import ConfigError
from vista_guard.protocols import Decomposer, Embedder, Judge
from vista_guard.settings.model import DECOMPOSER_DEFAULTS, MODEL_DEFAULTS, DecomposerOptions, ModelOptions

if TYPE_CHECKING:
    from vista_guard.judges.decomposers.steps import RivalName
    from vista_guard.judges.model import ChatModel

Around = Callable[["ChatModel"], "ChatModel"]
"""Stands before a chat model: gives the model itself, or one that only counts."""


@dataclass(frozen=True)
class ChatForm:
    """A way to take turns apart with any chat model: one row of `CHAT_FORMS`."""

    help: str
    build: Callable[[ChatModel, ModelOptions, DecomposerOptions], Decomposer]


def _turns(chat: ChatModel, model: ModelOptions, options: DecomposerOptions) -> Decomposer:  # noqa: ARG001  one form for all
    from vista_guard.judges.model import ModelJudge

    return ModelJudge(chat, model)


def _steps(chat: ChatModel, model: ModelOptions, options: DecomposerOptions) -> Decomposer:
    from vista_guard.judges.decomposers.steps import StepsDecomposer

    return StepsDecomposer(chat, model, options)


def _rival(name: RivalName) -> Callable[[ChatModel, ModelOptions, DecomposerOptions], Decomposer]:
    def build(chat: ChatModel, model: ModelOptions, options: DecomposerOptions) -> Decomposer:
        from vista_guard.judges.decomposers.steps import RivalDecomposer

        return RivalDecomposer(name, chat, model, keep_steps=options.keep_steps)

    return build


def _dydecomp(chat: ChatModel, model: ModelOptions, options: DecomposerOptions) -> Decomposer:  # noqa: ARG001  one form for all
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    return DyDecomp(chat, model)


CHAT_FORMS: Mapping[str, ChatForm] = {
    "": ChatForm("a chat model takes the turn apart in one call", _turns),
    "steps:": ChatForm("four steps of thought, one call a sentence", _steps),
    "factscore:": ChatForm("atomic facts, one call a sentence (FActScore)", _rival("factscore")),
    "veriscore:": ChatForm("verifiable claims alone, one call a sentence (VeriScore)", _rival("veriscore")),
    "veriscore-sft:": ChatForm("the same of a model that VeriScore's makers fine-tuned", _rival("veriscore-sft")),
    "claimify:": ChatForm("select, disambiguate, decompose: three calls a sentence (Claimify)", _rival("claimify")),
    "dydecomp:": ChatForm("splits a turn in two while the judge becomes surer of it (DyDecomp, greedy)", _dydecomp),
}
"""By the prefix that stands before `openai:MODEL@URL` or `langchain:PROVIDER:MODEL`."""

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
        *(f"  {prefix + 'CHAT':<32}  {form.help}" for prefix, form in CHAT_FORMS.items()),
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
    """The decomposer that a name stands for, or the object as it is; None where the judge decomposes by itself.

    Args:
        given: a name in one of the forms of `FORMS`, or an object.
        embedder: the shipped one, for the shipped rules.
        options: how a local model is read and run, and how much of a turn a chat model sees.
        model: how a chat model is asked, and what it may spend.
        around: stands before a chat model, to count its calls.

    Raises:
        ConfigError: no such decomposer, or one that cannot be loaded.
    """
    if given is None or not isinstance(given, str | Path):
        return given
    name = str(given).strip()
    if name in RULES:
        return _by_rules(name, embedder, options)
    parsed = chat_form(name)
    if parsed is not None:
        form, chat = parsed
        asked = chat_model(chat, model)
        return form.build(around(asked) if around else asked, model, options)
    if (name.startswith("hf:") and name != "hf:") or Path(name).expanduser().is_dir():
        from vista_guard.judges.decomposers.local import LocalDecomposer

        return LocalDecomposer.load(name, options)
    raise ConfigError(
        f"decomposer is {name!r}, which is neither a decomposer nor a folder. The decomposers are:\n{FORMS}"
    )


def decomposing(judge: Judge, decomposer: Decomposer) -> Judge:
    """The judge with its turns taken apart by the decomposer, which may want to see the judge's verdicts."""
    from vista_guard.judges.composed.pipeline import DecomposingJudge
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    return decomposer.around(judge) if isinstance(decomposer, DyDecomp) else DecomposingJudge(judge, decomposer)


def chat_form(name: str) -> tuple[ChatForm, str] | None:
    """The row of `CHAT_FORMS` that a name stands for, and the name of the chat model behind its prefix; None for other names.

    Examples:
        >>> chat_form("steps:openai:small@http://localhost:1/v1")[1]
        'openai:small@http://localhost:1/v1'
    """
    for prefix, form in CHAT_FORMS.items():
        provider, _, rest = name.removeprefix(prefix).partition(":")
        if name.startswith(prefix) and provider in ("openai", "langchain") and rest:
            return form, name.removeprefix(prefix)
    return None


def chat_model(name: str, options: ModelOptions) -> ChatModel:
    """The chat model that `openai:MODEL@URL` or `langchain:PROVIDER:MODEL` stands for."""
    from vista_guard.judges.model import LangChainChat, OpenAIChat

    kind, _, rest = name.partition(":")
    if kind == "langchain":
        return LangChainChat.from_name(rest, options=options)
    model, _, url = rest.partition("@")
    return OpenAIChat(model, base_url=url or None, options=options)


def _by_rules(name: str, embedder: Embedder, options: DecomposerOptions) -> Decomposer:
    if name == "shipped":
        from vista_guard.judges.embedded import EmbeddedJudge

        return EmbeddedJudge.load(embedder)
    from vista_guard.judges.decomposers.rules import EmbeddedSteps, SentenceDecomposer

    return SentenceDecomposer() if name == "sentence" else EmbeddedSteps(keep_steps=options.keep_steps)


def cached(decomposer: Decomposer, folder: Path | None) -> Decomposer:
    """The decomposer with its claims kept in a folder, where it asks a model and there is a folder."""
    from vista_guard.judges.decomposers.dydecomp import DyDecomp

    # What DyDecomp asks is no question of a `Judge`: it sees verdicts.
    if folder is None or not hasattr(decomposer, "why_exhausted") or isinstance(decomposer, DyDecomp):
        return decomposer
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.cached(cast(Judge, decomposer), folder)  # nothing but `decompose` is asked of it
