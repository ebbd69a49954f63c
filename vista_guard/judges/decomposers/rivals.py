"""Decomposers that others published, on any chat model: FActScore, VeriScore with its fine-tuned extractor, and Claimify.

The prompts are in words of our own. What their makers drop, a guard may not: see `sentences`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from vista_guard.judges.decomposers.sentences import Statement
from vista_guard.judges.decomposers.steps import SentenceQuestion, StepsDecomposer
from vista_guard.judges.model.answers.outputs import NO_CLAIM, NO_CONTEXT, Output
from vista_guard.judges.model.answers.parsing import read_claims, read_lines, read_rewritten
from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.settings.model import MODEL_DEFAULTS, DecomposerOptions, ModelOptions
from vista_guard.types import Turn

RivalName = Literal["factscore", "veriscore", "veriscore-sft", "claimify"]


@dataclass(frozen=True)
class Rival:
    """The prompts of a published decomposer, in the order of its calls, and its window in sentences."""

    stages: tuple[Stage, ...]
    before: int = 0
    after: int = 0


_ALL = 10_000
RIVALS: Mapping[RivalName, Rival] = {
    "factscore": Rival(("factscore",)),
    "veriscore": Rival(("veriscore",), before=3, after=1),
    "veriscore-sft": Rival(("veriscore-sft",), before=_ALL, after=_ALL),
    "claimify": Rival(("claimify-select", "claimify-disambiguate", "claimify-decompose"), before=5, after=5),
}
"""FActScore (Min et al., 2023) shows the sentence alone, VeriScore (Song et al., 2024) three sentences before it and one behind
it, its fine-tuned model the whole response. Claimify (Metropolitansky & Larson, 2025) leaves the window open."""

_START, _END = "\ue000", "\ue001"
"""Stand for <SOS> and <EOS> until the response is made safe: what is written there can then be taken for neither."""


class RivalDecomposer(StepsDecomposer):
    """Implements `TracingDecomposer` as others published it: one call a sentence, up to three in Claimify.

    Example:
        `Guard.from_settings(decomposer="claimify:openai:gpt-4o-mini")`

    Args:
        name: whose it is.
        model: the model behind its endpoint; for `veriscore-sft` one that was trained on this form of input.
        options: prompts, shots and what the speakers are called.
    """

    def __init__(self, name: RivalName, model: ChatModel, options: ModelOptions = MODEL_DEFAULTS) -> None:
        rival = RIVALS[name]
        windows = DecomposerOptions(before=rival.before, after=rival.after)
        super().__init__(model, options, windows, name=name, stages=rival.stages)

    async def _ask(self, question: SentenceQuestion) -> tuple[str, Output]:
        if self._name == "claimify":
            return await self._claimify(question)
        (stage,) = self._prompts
        said, claims = await self._answer(stage, question, read_lines if self._is_trained else _texts)
        return said, Output(tuple(claims))

    async def _claimify(self, question: SentenceQuestion) -> tuple[str, Output]:
        """Selection, disambiguation, decomposition; the sentence goes on as the call before left it."""
        selecting, clear = await self._answer("claimify-select", question, read_rewritten)
        if not clear:
            return selecting, Output(stopped=NO_CLAIM)
        question = _about(question, clear)
        resolving, clear = await self._answer("claimify-disambiguate", question, read_rewritten)
        if not clear:
            return f"{selecting}\n{resolving}", Output(stopped=NO_CONTEXT)
        said, claims = await self._answer("claimify-decompose", _about(question, clear), _texts)
        return f"{selecting}\n{resolving}\n{said}", Output(tuple(claims))

    @property
    def _is_trained(self) -> bool:
        return self._name == "veriscore-sft"

    def _context(self, found: Sequence[Statement], place: int, turn: Turn, *, complete: bool) -> str:
        if not self._is_trained:
            return super()._context(found, place, turn, complete=complete)
        text, span = turn.text.translate({ord(_START): " ", ord(_END): " "}), found[place].span
        return f"{text[: span.start]}{_START}{text[span.start : span.end]}{_END}{text[span.end :]}"

    def _request(self, stage: Stage, question: SentenceQuestion, earlier: Sequence[Turn]) -> ChatRequest:
        if not self._is_trained:
            return super()._request(stage, question, earlier)
        part = self._prompts[stage].style.part
        shown = part("context", question.context).replace(_START, "<SOS>").replace(_END, "<EOS>")
        asked = part("question", question.asked)
        return self._prompts[stage].request(context=f"Questions:\n{asked}\nResponse:\n{shown}" if asked else shown)


def _texts(answer: str) -> list[str]:
    return [one.text for one in read_claims(answer)]


def _about(question: SentenceQuestion, sentence: str) -> SentenceQuestion:
    return replace(question, sentence=replace(question.sentence, text=sentence))
