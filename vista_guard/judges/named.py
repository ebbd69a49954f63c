"""Judges by their names in settings: `embedded`, `openai:MODEL@URL`, `cascade:embedded,openai:MODEL` and the like."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError
from vista_guard.protocols import Embedder, Judge, Verifier
from vista_guard.settings.model import ModelOptions
from vista_guard.settings.sources import Settings

if TYPE_CHECKING:
    from vista_guard.judges.model import ChatModel

Asking = Callable[["ChatModel", ModelOptions], Judge]
"""Makes a judge of a chat model."""

FORMS = """\
  embedded                          the judge inside this package: no key, no network
  openai:MODEL                      a model at OpenAI, or where OPENAI_BASE_URL says; the key is OPENAI_API_KEY
  openai:MODEL@https://host/v1      a model at any endpoint that speaks OpenAI's API: vLLM, Ollama, llama.cpp, DeepSeek
  langchain:PROVIDER:MODEL          a chat model of LangChain, for example langchain:anthropic:claude-sonnet-4-5
  recorded:FILE                     what an earlier run recorded (judge_recording), answered again
  cascade:FIRST,SECOND              FIRST judges; what it is unsure of goes to SECOND
  ensemble:A,B,C                    all judge; agreement is confidence"""


def build_judge(
    settings: Settings,
    embedder: Embedder,
    *,
    verifier: Verifier | None = None,
    asking: Asking | None = None,
    retriever: Embedder | None = None,
    behind: Callable[[Judge], Judge] | None = None,
) -> Judge:
    """The judge that `settings.judge` names, recorded and cached as the settings say.

    Args:
        settings: name the judge, and the verifier inside an embedded one.
        embedder: finds the evidence for an embedded judge.
        verifier: for the embedded judge, in place of the one that the settings name.
        asking: makes a judge of each chat model that the settings name, in place of `ModelJudge`.
        retriever: ranks passages where the first one decides (`weighing`); `embedder` when not given.
        behind: puts something before the judge, such as a decomposer, that is recorded with it.

    Raises:
        ConfigError: no such judge, or one that cannot be set up; says what judges there are.
    """
    _check_verifier(settings, verifier)
    judge = _named(
        settings.judge, settings, _Parts(_Embedded(settings, embedder, verifier, retriever or embedder), asking)
    )
    judge = behind(judge) if behind else judge
    if settings.judge_recording is None:
        return judge
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.recorded(judge, settings.judge_recording)


def _check_verifier(settings: Settings, verifier: Verifier | None) -> None:
    named = settings.verifier if verifier is None else verifier.name
    if "embedded" in re.split("[:,]", settings.judge):
        return
    if named is not None:
        raise ConfigError(
            f"verifier is {named!r}, and judge is {settings.judge!r}, but only the embedded judge has a verifier. "
            "Set judge to 'embedded', or leave verifier out"
        )
    if settings.weighing == "first":
        raise ConfigError(
            f"weighing is 'first', and judge is {settings.judge!r}, but only the embedded judge weighs passages. Set judge to "
            "'embedded', or leave weighing out"
        )


@dataclass(frozen=True)
class _Embedded:
    """How the embedded judge is made, alone or as part of another one."""

    settings: Settings
    embedder: Embedder
    verifier: Verifier | None
    retriever: Embedder

    def load(self) -> Judge:
        from vista_guard.judges.embedded import EmbeddedJudge

        settings = self.settings
        if settings.weighing == "first":
            return self._first_passage()
        if self.verifier is None and settings.verifier is None and settings.verifier_options.calibration is None:
            return EmbeddedJudge.load(self.embedder, recommendations=settings.recommendations)
        from vista_guard.judges.verifiers import build_verifier

        chosen = build_verifier(self.verifier or settings.verifier, settings.verifier_options, settings.model)
        return EmbeddedJudge.load(
            self.embedder,
            verifier=chosen.verifier,
            thresholds=chosen.thresholds,
            recommendations=settings.recommendations,
            multilingual=settings.verifier_options.multilingual,
        )

    def _first_passage(self) -> Judge:
        """Algorithm 1 of LLM-OASIS, with the embedded judge's claims and verifier."""
        from vista_guard.judges.composed.pipeline import FirstPassageJudge
        from vista_guard.judges.embedded import EmbeddedJudge
        from vista_guard.judges.verifiers import build_verifier

        settings = self.settings
        verifier = build_verifier(
            self.verifier or settings.verifier, settings.verifier_options, settings.model
        ).verifier
        judge = EmbeddedJudge.load(self.embedder, verifier=verifier, recommendations=settings.recommendations)
        return FirstPassageJudge(judge, verifier, self.retriever, passages=settings.limits.retrieved)


@dataclass(frozen=True)
class _Parts:
    """Ingredients of judges, alone or combined."""

    embedded: _Embedded
    asking: Asking | None


def names_model(judge: str) -> bool:
    """True if a judge's name stands for a single chat model."""
    kind, _, rest = judge.strip().partition(":")
    return kind in ("openai", "langchain") and bool(rest)


def _named(name: str, settings: Settings, parts: _Parts) -> Judge:
    kind, _, rest = name.strip().partition(":")
    if kind == "embedded" and not rest:
        return parts.embedded.load()
    if kind == "recorded" and rest:
        from vista_guard.judges.composed.stored import StoredJudge

        if not Path(rest).is_file():
            raise ConfigError(
                f"judge is {name!r}, and {rest} is not a file; record one with judge_recording = {rest!r}"
            )
        return StoredJudge.replayed(Path(rest))
    if names_model(name):
        return _cached(_model(kind, rest, settings, parts.asking), settings.judge_cache)
    if kind == "cascade" and rest:
        return _cascade([_named(part, settings, parts) for part in _split(name, rest, 2, 2)], settings)
    if kind == "ensemble" and rest:
        from vista_guard.judges.composed.ensemble import EnsembleJudge

        return EnsembleJudge([_named(part, settings, parts) for part in _split(name, rest, 2, 9)])
    raise ConfigError(f"judge is {name!r}, which does not exist. The judges are:\n{FORMS}")


def _split(name: str, rest: str, least: int, most: int) -> Sequence[str]:
    parts = [part.strip() for part in rest.split(",")]
    nested = [part for part in parts if part.startswith(("cascade:", "ensemble:"))]
    if nested or not least <= len(parts) <= most or not all(parts):
        wanted = "two judges" if least == most else f"{least} to {most} judges"
        raise ConfigError(
            f"judge is {name!r}; it takes {wanted} with commas between them, none of them a cascade or an ensemble. "
            "For more, pass a judge object"
        )
    return parts


def _model(kind: str, rest: str, settings: Settings, asking: Asking | None) -> Judge:
    from vista_guard.judges.model import LangChainChat, ModelJudge, OpenAIChat

    options, asking = _options(settings), asking or ModelJudge
    if kind == "langchain":
        return asking(LangChainChat.from_name(rest, options=options), options)
    model, _, url = rest.partition("@")
    return asking(OpenAIChat(model, base_url=url or None, options=options), options)


def _options(settings: Settings) -> ModelOptions:
    if not settings.strict_reference:
        return settings.model
    # The reference implementation asks one thing after the other, and shows the history to decomposition only.
    return settings.model.model_copy(update={"strategy": "per_claim", "concurrency": 1})


def _cached(judge: Judge, folder: Path | None) -> Judge:
    if folder is None:
        return judge
    from vista_guard.judges.composed.stored import StoredJudge

    return StoredJudge.cached(judge, folder)


def _cascade(judges: Sequence[Judge], settings: Settings) -> Judge:
    from vista_guard.judges.composed.cascade import DEFAULT_THRESHOLD, CascadeJudge

    first, second = judges
    threshold = DEFAULT_THRESHOLD if settings.cascade.threshold is None else settings.cascade.threshold
    return CascadeJudge(
        first,
        second,
        threshold=threshold,
        decompose=settings.cascade.decompose,
        on_second_failure=settings.cascade.on_second_failure,
    )
