"""Decomposers on any chat model: the four steps of DAD (§3.1), FActScore, VeriScore with its extractor, and Claimify.

Prompts of the others are in words of our own. What a model made up gives way to its sentence, and a sentence whose figures or
names it left out is judged beside its claims: what their makers drop, a guard may not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from vista_guard._extras import require
from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import meter
from vista_guard.judges.decomposers.sentences import (
    SentenceTrace,
    Statement,
    as_claim,
    as_it_stands,
    claims_of,
    invented,
    left_out,
    question_of,
    says_something,
    statements,
    window,
)
from vista_guard.judges.embedded.english.segment import foreign
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
from vista_guard.judges.model.prompts import Prompt, PromptInfo, Roles, ask_trimmed, digest
from vista_guard.reading.canonical import folded
from vista_guard.settings.model import DECOMPOSER_DEFAULTS, MODEL_DEFAULTS, DecomposerOptions, ModelOptions
from vista_guard.types import Claim, EvidenceSet, JudgeInfo, Turn

T = TypeVar("T")

WAITS = "waits for the sentences behind it"


def load_prompt(stage: Stage, options: ModelOptions) -> Prompt:
    """The prompt of a stage as the options say: whose, with how many examples, and what it calls the speakers."""
    roles = Roles(assistant=options.assistant_name, user=options.user_name)
    return Prompt.load(stage, options.prompts_dir, shots=options.shots, roles=roles)


@dataclass(frozen=True)
class SentenceQuestion:
    """One call: a sentence with its context (x of the paper)."""

    sentence: Statement
    context: str
    asked: str
    earlier: tuple[Turn, ...]

    @property
    def key(self) -> str:
        return ensemble.fingerprint(self.sentence.text, self.context, self.asked, self.earlier)

    @property
    def source(self) -> str:
        """All that the model is shown of the conversation."""
        return "\n".join([self.sentence.text, self.context, self.asked, *(turn.text for turn in self.earlier)])


class StepsDecomposer:
    """Implements `TracingDecomposer` with one call a sentence, all at once.

    Example:
        `Guard.from_settings(decomposer="steps:openai:llama-8b@http://localhost:8000/v1")`

    Args:
        model: the model behind its endpoint: `OpenAIChat`, `LangChainChat`.
        options: prompts, shots and what the speakers are called; limits of the endpoint are read by `model` itself.
        windows: how many sentences around a sentence are shown (p and f of the paper).
        name: of this way to ask.
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
        """The model's name; the window and a fingerprint of the prompt and of all that shapes an answer."""
        shown = f"{self._windows.before}+{self._windows.after}"
        shaping = digest(*(prompt.info.fingerprint for prompt in self._prompts.values()), dict(self._model.parameters))
        return JudgeInfo(name=f"{self._name}:{self._model.name}", version=f"{shown}-{shaping}")

    @property
    def prompts(self) -> Mapping[Stage, PromptInfo]:
        """The prompts that it asks with."""
        return {stage: prompt.info for stage, prompt in self._prompts.items()}

    @property
    def why_exhausted(self) -> str | None:
        """Why it makes no further call: the budget of the run is spent."""
        return self._model.why_exhausted

    async def aclose(self) -> None:
        """Closes the connections that were opened for it."""
        await self._model.aclose()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with the spans of their sentences; `UncheckedClaim` where a sentence could not be taken apart."""
        return claims_of(await self.trace(turn, history), len(history), keep_steps=self._windows.keep_steps)

    async def trace(self, turn: Turn, history: Sequence[Turn]) -> Sequence[SentenceTrace]:
        """One record a sentence. A sentence is asked about once a context, also while its turn is being written."""
        sentences = await asyncio.to_thread(statements, turn.text)
        live = contract.growing()
        questions = self._questions(sentences, turn, history, live)
        new = {
            question.key: question for question in questions if question is not None and question.key not in live.known
        }
        answers = await ensemble.together(self._read(one, turn) for one in new.values())
        live.known.update(zip(new, answers, strict=True))
        return [
            _unasked(one) if question is None else live.known[question.key].model_copy(update={"span": one.span})
            for one, question in zip(sentences, questions, strict=True)
        ]

    def _questions(
        self, found: Sequence[Statement], turn: Turn, history: Sequence[Turn], live: contract.Growing
    ) -> list[SentenceQuestion | None]:
        """A call for each statement; None where none is made: for code, and for what waits for the sentences behind it."""
        asked, earlier = question_of(history)
        ready = len(found) if live.complete or live.hurried else len(found) - self._windows.after
        return [
            None
            if one.whole or place >= ready
            else SentenceQuestion(one, self._context(found, place, turn, complete=live.complete), asked, tuple(earlier))
            for place, one in enumerate(found)
        ]

    def _context(self, found: Sequence[Statement], place: int, turn: Turn, *, complete: bool) -> str:  # noqa: ARG002  see RivalDecomposer
        """The part of the turn that is shown with the statement at `place`."""
        return window(found, place, self._windows.before, self._windows.after, complete=complete)

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
        if not claims:
            note = output.stopped or "no claims"
            whole = (as_it_stands(sentence.text, turn),)
            return trace.model_copy(update={"status": "as it stands", "note": note, "claims": whole})
        return trace.model_copy(update=self._held_to(question, claims, turn))

    async def _ask(self, question: SentenceQuestion) -> tuple[str, Output]:
        """The model's words, and the claims that they hold."""
        return await self._answer("steps", question, read_output)

    async def _answer(self, stage: Stage, question: SentenceQuestion, read: Callable[[str], T]) -> tuple[str, T]:
        """The model's words, and what they say. The oldest turns are left out where it cannot read all of them."""
        return await ask_trimmed(
            lambda _, kept: ask_model(
                self._model, self._request(stage, question, kept), lambda text: (text, read(text))
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
            history=style.history(earlier) if earlier else "",
            question=style.part("question", question.asked),
            context=style.part("context", question.context),
            sentence=style.part("sentence", question.sentence.text),
        )

    def _held_to(self, question: SentenceQuestion, claims: Sequence[str], turn: Turn) -> dict[str, object]:
        """The claims that keep to what the model was shown; the sentence itself in place of others, and beside a gap."""
        sentence = question.sentence.text
        english = foreign(folded(turn.text)) is None
        made_up = {claim: words for claim in claims if (words := invented(claim, question.source, english=english))}
        kept = [claim for claim in claims if claim not in made_up]
        gap = left_out(sentence, kept)
        if not made_up and not gap:
            return {"claims": tuple(claims)}
        notes = [f"{', '.join(words)} in {claim!r} stands nowhere" for claim, words in made_up.items()]
        notes += [f"no claim has {', '.join(gap)}"] if gap else []
        note = f"{self._model.name} was not held to its claims of {sentence[:80]!r}: {'; '.join(notes)}"
        if made_up:
            meter().warn(f"{note}. The sentence itself is judged")
        return {"claims": (*kept, as_it_stands(sentence, turn)), "note": note}


def _unasked(one: Statement) -> SentenceTrace:
    if one.whole:
        return as_claim(one, one.text, "not taken apart")
    return SentenceTrace(sentence=one.text, span=one.span, status="pending", note=WAITS)


RivalName = Literal["factscore", "veriscore", "veriscore-sft", "claimify"]


_WINDOWS: Mapping[RivalName, tuple[int, int]] = {
    "factscore": (0, 0),
    "veriscore": (3, 1),
    "veriscore-sft": (10_000, 10_000),
    "claimify": (5, 5),
}
"""Sentences shown before and behind: none in FActScore (Min et al., 2023), three and one in VeriScore (Song et al., 2024), the
whole response to its fine-tuned model. Claimify (Metropolitansky & Larson, 2025) leaves the window open."""

_CLAIMIFY: Sequence[Stage] = ("claimify-select", "claimify-disambiguate", "claimify-decompose")
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
        keep_steps: claims carry the model's words (`Claim.steps`).
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
        """Selection, disambiguation, decomposition; the sentence goes on as the call before left it."""
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
    return [claim.text for claim in read_claims(answer)]


def _with_sentence(question: SentenceQuestion, sentence: str) -> SentenceQuestion:
    return replace(question, sentence=replace(question.sentence, text=sentence))
