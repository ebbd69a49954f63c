"""Decomposers on any chat model: the four steps of DAD (§3.1), FActScore, VeriScore with its extractor, and Claimify.

The prompts of the last three are our own. The sentence replaces invented claims, and is judged beside claims that omit its
figures or names: a guard must not drop what these methods drop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from vista_guard._extras import require
from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import meter
from vista_guard.judges.decomposers.coverage import hold, read_turn, says_something
from vista_guard.judges.decomposers.sentences import (
    SentenceTrace,
    Statement,
    as_claim,
    as_it_stands,
    claims_of,
    question_of,
    window,
)
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.model.answers.parsing import (
    NO_CLAIM,
    NO_CONTEXT,
    Output,
    read_claims,
    read_lines,
    read_output,
    read_rewritten,
    thoughts,
)
from vista_guard.judges.model.answers.tolerant import RAW_CHARS
from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest
from vista_guard.judges.model.judge import ask_model
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.judges.model.prompts import Prompt, PromptInfo, Roles, ask_trimmed, digest, most_claims
from vista_guard.reading.canonical import folded
from vista_guard.settings.model import DECOMPOSER_DEFAULTS, MODEL_DEFAULTS, DecomposerOptions, ModelOptions
from vista_guard.types import Claim, EvidenceSet, JudgeInfo, Turn

T = TypeVar("T")

WAITS = "waits for the sentences behind it"


def load_prompt(stage: Stage, options: ModelOptions) -> Prompt:
    """Loads a stage's prompt with the options' folder, shots and speakers' names."""
    roles = Roles(assistant=options.assistant_name, user=options.user_name)
    return Prompt.load(stage, options.prompts_dir, shots=options.shots, roles=roles)


@dataclass(frozen=True)
class SentenceQuestion:
    """One call: a sentence with its context (x of the paper). `states` is False for a question that claims nothing."""

    sentence: Statement
    context: str
    asked: str
    earlier: tuple[Turn, ...]
    states: bool

    @property
    def key(self) -> str:
        return ensemble.fingerprint(self.sentence.text, self.context, self.asked, self.earlier)

    @property
    def source(self) -> str:
        """All text of the conversation in the prompt."""
        return "\n".join([self.sentence.text, self.context, self.asked, *(turn.text for turn in self.earlier)])


class StepsDecomposer:
    """Implements `TracingDecomposer` with one concurrent call per sentence.

    Example:
        `Guard.from_settings(decomposer="steps:openai:llama-8b@http://localhost:8000/v1")`

    Args:
        model: the model behind its endpoint: `OpenAIChat`, `LangChainChat`.
        options: prompts, shots and the speakers' names; `model` applies the endpoint's limits itself.
        windows: number of sentences around each sentence (p and f of the paper).
        name: of this method.
        stages: its prompts, in the order of its calls.
    """

    def __init__(
        self,
        model: ChatModel,
        options: ModelOptions = MODEL_DEFAULTS,
        windows: DecomposerOptions = DECOMPOSER_DEFAULTS,
        *,
        name: str = "steps",
        stages: Sequence[Stage] = ("steps",),
    ) -> None:
        require("a decomposer that asks a model", "json_repair", extra="model")
        self._model = model
        self._windows = windows
        self._name = name
        self._prompts = {stage: load_prompt(stage, options) for stage in stages}

    @property
    def info(self) -> JudgeInfo:
        """The model's name; the window and a fingerprint of prompts and parameters."""
        window_size = f"{self._windows.before}+{self._windows.after}"
        shaping = digest(*(prompt.info.fingerprint for prompt in self._prompts.values()), dict(self._model.parameters))
        return JudgeInfo(name=f"{self._name}:{self._model.name}", version=f"{window_size}-{shaping}")

    @property
    def prompts(self) -> Mapping[Stage, PromptInfo]:
        """Its prompts, by stage."""
        return {stage: prompt.info for stage, prompt in self._prompts.items()}

    @property
    def why_exhausted(self) -> str | None:
        """Why it makes no more calls: the run's budget is spent."""
        return self._model.why_exhausted

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._model.aclose()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with the spans of their sentences; `UncheckedClaim` for a sentence that failed."""
        return claims_of(await self.trace(turn, history), len(history), keep_steps=self._windows.keep_steps)

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record per sentence. One call per sentence and context, also while the turn is being written."""
        sentences, stated = await asyncio.to_thread(read_turn, turn, history)
        live = contract.growing()
        questions = self._questions(sentences, stated, turn, history, live)
        new = {
            question.key: question for question in questions if question is not None and question.key not in live.known
        }
        answers = await ensemble.gather(self._read(new_question, turn) for new_question in new.values())
        live.known.update(zip(new, answers, strict=True))
        return [
            _unasked_trace(sentence)
            if question is None
            else live.known[question.key].model_copy(update={"span": sentence.span})
            for sentence, question in zip(sentences, questions, strict=True)
        ]

    def _questions(
        self,
        sentences: Sequence[Statement],
        stated: Collection[int],
        turn: Turn,
        history: Sequence[Turn],
        live: contract.Growing,
    ) -> list[SentenceQuestion | None]:
        """A call for each statement; None for code, and for statements that wait for the following ones."""
        question, earlier = question_of(history)
        ready = len(sentences) if live.complete or live.hurried else len(sentences) - self._windows.after
        return [
            None
            if sentence.whole or place >= ready
            else SentenceQuestion(
                sentence,
                self._context(sentences, place, turn, complete=live.complete),
                question,
                tuple(earlier),
                states=place in stated or "?" not in sentence.text,
            )
            for place, sentence in enumerate(sentences)
        ]

    def _context(self, sentences: Sequence[Statement], place: int, turn: Turn, *, complete: bool) -> str:  # noqa: ARG002  see RivalDecomposer
        """The context of the statement at `place`."""
        return window(sentences, place, self._windows.before, self._windows.after, complete=complete)

    async def _read(self, question: SentenceQuestion, turn: Turn) -> SentenceTrace:
        sentence = question.sentence
        trace = SentenceTrace(sentence=sentence.text, span=sentence.span, context=question.context)
        try:
            answer, output = await self._ask(question)
        except JudgeError as exc:
            raw = exc.raw[:RAW_CHARS] if isinstance(exc, UnreadableError) else None
            return trace.model_copy(update={"status": "unchecked", "note": str(exc), "raw": raw})
        trace = trace.model_copy(update={"thoughts": thoughts(answer) or answer})
        if output.stopped == NO_CONTEXT:
            note = f"{self._model.name} could not make the sentence stand alone"
            return trace.model_copy(update={"status": "unchecked", "note": note, "raw": answer[:RAW_CHARS]})
        claims = [claim for claim in output.claims if says_something(claim)]
        if not claims and not question.states:
            return trace
        if not claims:
            note = output.stopped or "no claims"
            whole = (as_it_stands(sentence.text, turn),)
            return trace.model_copy(update={"status": "as it stands", "note": note, "claims": whole})
        return trace.model_copy(update=self._ground_claims(question, claims, turn))

    async def _ask(self, question: SentenceQuestion) -> tuple[str, Output]:
        """The model's answer, and its claims."""
        return await self._answer("steps", question, read_output)

    async def _answer(self, stage: Stage, question: SentenceQuestion, read: Callable[[str], T]) -> tuple[str, T]:
        """The model's answer, raw and parsed. Drops the oldest turns if the prompt is too long."""
        return await ask_trimmed(
            lambda _, recent: ask_model(
                self._model, self._request(stage, question, recent), lambda text: (text, read(text))
            ),
            self._model.name,
            question.sentence.text,
            EvidenceSet(),
            question.earlier,
        )

    def _request(self, stage: Stage, question: SentenceQuestion, earlier: Sequence[Turn]) -> ChatRequest:
        prompt = self._prompts[stage]
        style = prompt.style
        return prompt.request(
            **_bounds(question),
            history=style.history(earlier) if earlier else "",
            question=style.part("question", question.asked),
            context=style.part("context", question.context),
            sentence=style.part("sentence", question.sentence.text),
        )

    def _ground_claims(self, question: SentenceQuestion, claims: Sequence[str], turn: Turn) -> dict[str, object]:
        """The claims that count; a statement itself too if one does not, or if they leave something out."""
        sentence = question.sentence.text
        english = foreign_language(folded(turn.text)) is None
        held = hold(sentence, claims, question.source, english=english)
        if held.note is None or not question.states:
            return {"claims": held.claims}
        note = f"{self._model.name} was not held to its claims of {sentence[:80]!r}: {held.note}"
        if held.replaced:
            meter().warn(f"{note}. The sentence itself is judged")
        return {"claims": (*held.claims, as_it_stands(sentence, turn)), "note": note}


def _bounds(question: SentenceQuestion) -> dict[str, Any]:
    """Bounds on the answer about a sentence, thoughts included."""
    size = len(question.sentence.text)
    return {"most_tokens": 1024 + 8 * size, "most_items": most_claims(size)}


def _unasked_trace(sentence: Statement) -> SentenceTrace:
    if sentence.whole:
        return as_claim(sentence, sentence.text, "not split")
    return SentenceTrace(sentence=sentence.text, span=sentence.span, status="pending", note=WAITS)


RivalName = Literal["factscore", "veriscore", "veriscore-sft", "claimify"]


_WINDOWS: Mapping[RivalName, tuple[int, int]] = {
    "factscore": (0, 0),
    "veriscore": (3, 1),
    "veriscore-sft": (10_000, 10_000),
    "claimify": (5, 5),
}
"""Context sentences before and behind: none in FActScore (Min et al., 2023), three and one in VeriScore (Song et al., 2024), the
whole response for its fine-tuned model. Claimify (Metropolitansky & Larson, 2025) leaves the window open."""

_CLAIMIFY: Sequence[Stage] = ("claimify-select", "claimify-disambiguate", "claimify-decompose")
_START, _END = "\ue000", "\ue001"
"""Stand for <SOS> and <EOS> until the response is escaped, so that its own text cannot fake them."""


class RivalDecomposer(StepsDecomposer):
    """Implements `TracingDecomposer` with published methods: one call per sentence, up to three in Claimify.

    Example:
        `Guard.from_settings(decomposer="claimify:openai:gpt-4o-mini")`

    Args:
        name: of the method.
        model: the model behind its endpoint; for `veriscore-sft` one that was trained on this form of input.
        options: prompts, shots and the speakers' names.
        keep_steps: whether claims keep the model's steps (`Claim.steps`).
    """

    def __init__(
        self, name: RivalName, model: ChatModel, options: ModelOptions = MODEL_DEFAULTS, *, keep_steps: bool = False
    ) -> None:
        before, after = _WINDOWS[name]
        windows = DecomposerOptions(before=before, after=after, keep_steps=keep_steps)
        stages: Sequence[Stage] = (name,) if name != "claimify" else _CLAIMIFY
        super().__init__(model, options, windows, name=name, stages=stages)

    async def _ask(self, question: SentenceQuestion) -> tuple[str, Output]:
        if self._name == "claimify":
            return await self._claimify(question)
        (stage,) = self._prompts
        answer, claims = await self._answer(stage, question, read_lines if self._is_trained else _texts)
        return answer, Output(tuple(claims))

    async def _claimify(self, question: SentenceQuestion) -> tuple[str, Output]:
        """Selection, disambiguation, decomposition; each call gets the sentence from the one before."""
        selecting, clear = await self._answer("claimify-select", question, read_rewritten)
        if not clear:
            return selecting, Output(stopped=NO_CLAIM)
        question = _with_sentence(question, clear)
        resolving, clear = await self._answer("claimify-disambiguate", question, read_rewritten)
        if not clear:
            return f"{selecting}\n{resolving}", Output(stopped=NO_CONTEXT)
        answer, claims = await self._answer("claimify-decompose", _with_sentence(question, clear), _texts)
        return f"{selecting}\n{resolving}\n{answer}", Output(tuple(claims))

    @property
    def _is_trained(self) -> bool:
        return self._name == "veriscore-sft"

    def _context(self, sentences: Sequence[Statement], place: int, turn: Turn, *, complete: bool) -> str:
        if not self._is_trained:
            return super()._context(sentences, place, turn, complete=complete)
        text, span = turn.text.translate({ord(_START): " ", ord(_END): " "}), sentences[place].span
        return f"{text[: span.start]}{_START}{text[span.start : span.end]}{_END}{text[span.end :]}"

    def _request(self, stage: Stage, question: SentenceQuestion, earlier: Sequence[Turn]) -> ChatRequest:
        if not self._is_trained:
            return super()._request(stage, question, earlier)
        part = self._prompts[stage].style.part
        response = part("context", question.context).replace(_START, "<SOS>").replace(_END, "<EOS>")
        query = part("question", question.asked)
        return self._prompts[stage].request(
            **_bounds(question), context=f"Questions:\n{query}\nResponse:\n{response}" if query else response
        )


def _texts(answer: str) -> list[str]:
    return [claim.text for claim in read_claims(answer)]


def _with_sentence(question: SentenceQuestion, sentence: str) -> SentenceQuestion:
    return replace(question, sentence=replace(question.sentence, text=sentence))
