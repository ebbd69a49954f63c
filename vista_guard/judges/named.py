"""Judges by their names in settings: `embedded`, `openai:MODEL@URL`, `cascade:embedded,openai:MODEL` and the like."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError
from vista_guard.protocols import Embedder, Judge, Verifier
from vista_guard.settings.model import ModelOptions
from vista_guard.settings.names import Kinds
from vista_guard.settings.sources import Settings

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel

EMBEDDED = ("embedded", "embedded-quick")
Asking = Callable[["ChatModel", ModelOptions], Judge]
"""Builds a judge from a chat model."""


@dataclass(frozen=True)
class _Making:
    settings: Settings
    embedded: Callable[[str], Judge]
    asking: Asking | None


def build_judge(
    settings: Settings,
    embedder: Embedder,
    *,
    verifier: Verifier | None = None,
    asking: Asking | None = None,
    retriever: Embedder | None = None,
    behind: Callable[[Judge], Judge] | None = None,
) -> Judge:
    """Builds the judge named by `settings.judge`, with recording and caching from the settings.

    Args:
        settings: names of the judge and of an embedded judge's verifier.
        embedder: finds the evidence for an embedded judge.
        verifier: for the embedded judge; overrides the settings.
        asking: builds the judge for each chat model in the settings, in place of `ModelJudge`.
        retriever: ranks passages with `weighing = "first"`; defaults to `embedder`.
        behind: wraps the judge, for example with a decomposer, before it is recorded.

    Raises:
        ConfigError: unknown judge, or one that cannot be set up; lists the judges.
    """
    _check_verifier(settings, verifier)
    embedded = partial(_embedded_judge, settings, embedder, verifier, retriever or embedder)
    judge = JUDGES.build(settings.judge, _Making(settings, embedded, asking))
    judge = behind(judge) if behind else judge
    if settings.judge_recording is None:
        return judge
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.recorded(judge, settings.judge_recording)


def _check_verifier(settings: Settings, verifier: Verifier | None) -> None:
    name = settings.verifier if verifier is None else verifier.name
    if name in (None, "shipped") and settings.verifier_options.multilingual:
        raise ConfigError(
            "verifier_options.multilingual is true, and the shipped verifier reads English alone. Set verifier to a model that "
            "reads the other languages too, for example 'hf:MoritzLaurer/mDeBERTa-v3-base-mnli-xnli', or leave it out"
        )
    if any(part in EMBEDDED for part in re.split("[:,]", settings.judge)):
        return
    if name is not None:
        raise ConfigError(
            f"verifier is {name!r}, and judge is {settings.judge!r}, but only the embedded judge has a verifier. "
            "Set judge to 'embedded', or leave verifier out"
        )
    if settings.weighing == "first":
        raise ConfigError(
            f"weighing is 'first', and judge is {settings.judge!r}, but only the embedded judge weighs passages. Set judge to "
            "'embedded', or leave weighing out"
        )


def _embedded_judge(
    settings: Settings, embedder: Embedder, verifier: Verifier | None, retriever: Embedder, name: str
) -> Judge:
    """The embedded judge, alone or inside another judge."""
    from vista_guard.judges.embedded import EmbeddedJudge

    load = partial(
        EmbeddedJudge.load,
        embedder,
        recommendations=settings.recommendations,
        multilingual=settings.verifier_options.multilingual,
    )
    by_first_passage = settings.weighing == "first"
    named = verifier or settings.verifier
    if named is None and settings.verifier_options.calibration is None and not by_first_passage:
        return load(quick=name != EMBEDDED[0])
    from vista_guard.judges.verifiers import build_verifier

    chosen = build_verifier(named, settings.verifier_options, settings.model)
    if not by_first_passage:
        return load(verifier=chosen.verifier, thresholds=chosen.thresholds)
    from vista_guard.judges.composed.pipeline import FirstPassageJudge

    judge = load(verifier=chosen.verifier)
    return FirstPassageJudge(judge, chosen.verifier, retriever, passages=settings.limits.retrieved)


def names_model(judge: str) -> bool:
    """True if the judge's name is that of a single chat model."""
    kind, _, rest = judge.strip().partition(":")
    return kind in ("openai", "langchain") and bool(rest)


def _embedded(name: str, making: _Making) -> Judge:
    return making.embedded(name)


def _recorded(name: str, _: _Making) -> Judge:
    from vista_guard.judges.composed.stored import StoredJudge

    file = name.partition(":")[2]
    if not Path(file).is_file():
        raise ConfigError(f"judge is {name!r}, and {file} is not a file; record one with judge_recording = {file!r}")
    return StoredJudge.replayed(Path(file))


def _cascade(name: str, making: _Making) -> Judge:
    from vista_guard.judges.composed.cascade import DEFAULT_THRESHOLD, CascadeJudge

    first, second = (JUDGES.build(part, making) for part in JUDGES.parts(name))
    cascade = making.settings.cascade
    return CascadeJudge(
        first,
        second,
        threshold=DEFAULT_THRESHOLD if cascade.threshold is None else cascade.threshold,
        decompose=cascade.decompose,
        on_second_failure=cascade.on_second_failure,
    )


def _ensemble(name: str, making: _Making) -> Judge:
    from vista_guard.judges.composed.ensemble import EnsembleJudge

    return EnsembleJudge([JUDGES.build(part, making) for part in JUDGES.parts(name, most=9)])


def _asking(name: str, making: _Making) -> Judge:
    from vista_guard.judges.model import ModelJudge, chat_model

    settings, options = making.settings, making.settings.model
    if settings.strict_reference:
        # The reference implementation asks sequentially, shows the history to decomposition only, and believes its model.
        options = options.model_copy(update={"strategy": "per_claim", "concurrency": 1})
    ask = making.asking or partial(ModelJudge, net=not settings.strict_reference)
    judge = ask(chat_model(name, options), options)
    if settings.judge_cache is None:
        return judge
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.cached(judge, settings.judge_cache)


JUDGES = Kinds[_Making, Judge](
    "judge",
    {
        "embedded": (_embedded, "the judge inside this package: no key, no network"),
        "embedded-quick": (_embedded, "the same without its careful reader: faster, and more often wrong"),
        "openai:MODEL": (_asking, "a model at OpenAI, or where OPENAI_BASE_URL says; the key is OPENAI_API_KEY"),
        "openai:MODEL@https://host/v1": (
            _asking,
            "a model at any endpoint that speaks OpenAI's API: vLLM, Ollama, llama.cpp, DeepSeek",
        ),
        "langchain:PROVIDER:MODEL": (
            _asking,
            "a chat model of LangChain, for example langchain:anthropic:claude-sonnet-4-5",
        ),
        "recorded:FILE": (_recorded, "what an earlier run recorded (judge_recording), answered again"),
        "cascade:FIRST,SECOND": (_cascade, "FIRST judges; what it is unsure of goes to SECOND"),
        "ensemble:A,B,C": (_ensemble, "all judge; agreement is confidence"),
    },
)
