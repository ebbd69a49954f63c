"""Systems that ask a model about a turn: FActScore and LLM-as-Judge.

FActScore as the paper compares with it (App. B.6); LLM-as-Judge asks one question about the whole turn, without examples, with
the conversation in view (App. A.2).

FActScore sees neither history nor knowledge, and checks each atomic fact against the documents alone. With `by_sentence` each
sentence is decomposed by itself, as FActScore did first (Min et al., 2023); the paper found that worse (§3, footnote 2).

It does not share the prompt of the decomposer `factscore:`, which asks about one sentence and has those without facts judged as
they stand: the baseline asks about the whole turn, and what it finds no fact in is right.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard._extras import require
from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges.composed import ensemble
from vista_guard.judges.model import ChatModel, ChatRequest, Message, ModelJudge, ModelOptions, Roles
from vista_guard.judges.model.answers.labels import Untrusted
from vista_guard.judges.model.answers.tolerant import RAW_CHARS, read, text_field, unreadable
from vista_guard.judges.model.judge import ask_model
from vista_guard.judges.model.prompt_files import PromptFile, Stage, Style, fill
from vista_guard.judges.model.prompt_files import read as read_prompt
from vista_guard.judges.model.prompts import PromptInfo, ask_trimmed
from vista_guard.reading.passages import sentence_spans
from vista_guard.types import Check, Claim, EvidenceSet, JudgeInfo, Label, Role, Span, Turn, Unchecked
from vista_lab.logs.source import Task
from vista_lab.systems.protocol import POSITIVE, LabellingJudge, labelled_check

FACTSCORE_PROMPTS = Path(__file__).parent / "texts" / "factscore"
REASON = "the documents do not support it"


class FActScore(LabellingJudge):
    """Implements `Judge`: FActScore's two questions to a model, each claim in a call of its own, with examples.

    Of `options` it takes what the speakers are called. `by_sentence` takes each sentence apart by itself.
    """

    def __init__(self, model: ChatModel, options: ModelOptions, *, by_sentence: bool = False) -> None:
        overrides = {"strategy": "per_claim", "shots": "few", "knowledge": "off", "prompts_dir": FACTSCORE_PROMPTS}
        self._judge = ModelJudge(model, options.model_copy(update=overrides), net=False)
        self._by_sentence = by_sentence
        self.claims_per_call = 1

    @property
    def prompts(self) -> Mapping[Stage, PromptInfo]:
        """Its two prompts, by stage: there is no third stage."""
        return {stage: prompt for stage, prompt in self._judge.prompts.items() if stage != "categorize"}

    @property
    def info(self) -> JudgeInfo:
        inner = self._judge.info
        return JudgeInfo(name=inner.name, version=f"factscore{'+split' * self._by_sentence}; {inner.version}")

    @property
    def why_exhausted(self) -> str | None:
        return self._judge.why_exhausted

    async def aclose(self) -> None:
        """Closes the connections that were opened for this judge."""
        await self._judge.aclose()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The turn's facts, or those of each sentence, asked concurrently. Earlier turns are ignored."""
        whole = Span(start=0, end=len(turn.text))
        spans = sentence_spans(turn.text) if self._by_sentence else [whole]
        parts = await asyncio.gather(*(self._facts(turn, span) for span in spans))
        facts = [fact for part in parts for fact in part]
        return [fact.model_copy(update={"id": f"t{len(history)}.c{number}"}) for number, fact in enumerate(facts, 1)]

    async def _facts(self, turn: Turn, span: Span) -> list[Claim]:
        piece = turn.model_copy(update={"text": turn.text[span.start : span.end]})
        return [_shift(fact, span.start) for fact in await self._judge.decompose(piece, ())]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Checks each claim as supported by the documents or not, without further labels."""
        answers = await self._judge.verify(claims, EvidenceSet(documents=evidence.documents))
        return [_two_labels(answer) for answer in answers]


def _two_labels(answer: Check | Unchecked) -> Check | Unchecked:
    if isinstance(answer, Unchecked) or answer.supported:
        return answer
    return labelled_check(answer.claim, Label.LACKING_EVIDENCE, REASON)


def _shift(fact: Claim, offset: int) -> Claim:
    if fact.span is None or not offset:
        return fact
    span = Span(start=fact.span.start + offset, end=fact.span.end + offset)
    return fact.model_copy(update={"span": span})


LLM_JUDGE_PROMPTS = Path(__file__).parent / "texts" / "llm_judge"


@dataclass(frozen=True)
class Question:
    """The question about a turn: the field that holds the verdict, and its two values."""

    field: str
    negative: str
    positive: str

    @property
    def schema(self) -> Mapping[str, object]:
        """JSON schema of the answer. The verdict comes first, as in the paper's prompt."""
        text, verdict = {"type": "string"}, {"type": "string", "enum": [self.negative, self.positive]}
        fields = {self.field: verdict, "explanation": text}
        return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


QUESTIONS: Mapping[Task, Question] = {
    Task.UNVERIFIABLE: Question("faithfulness", "faithful", "hallucinated"),
    Task.UNSUPPORTED: Question("faithfulness", "faithful", "hallucinated"),
    Task.CONTRADICTS: Question("consistency", "consistent", "contradictory"),
    Task.ABSTAINS: Question("response", "answered", "abstained"),
}
"""The paper prints the first one's prompt; that of its Table 5 is not published."""


class WholeTurnJudge(LabellingJudge, ABC):
    """Implements `Judge` by one call a turn. It takes no turn apart: the one claim is the turn.

    Of `options` it takes what the speakers are called. `kind` names the judge in its version; `shaping` is whatever else shapes
    an answer, as JSON, and part of the prompt's fingerprint.
    """

    def __init__(self, model: ChatModel, options: ModelOptions, file: PromptFile, kind: str, shaping: object) -> None:
        self._model = model
        self._kind = kind
        self._shaping = shaping
        self._names = {"assistant": options.assistant_name, "user": options.user_name}
        self._style = Style(Roles(**self._names), file.headings)
        self._file = file
        self._system = fill(file.system, self._names)

    @property
    def model(self) -> ChatModel:
        return self._model

    @property
    def prompts(self) -> Mapping[str, PromptInfo]:
        """Its one prompt, under the stage `turn`."""
        texts = [self._names, self._system, repr(self._file.input), self._shaping]
        fingerprint = hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()[:12]
        return {"turn": PromptInfo(fingerprint, self._file.shots)}

    @property
    def info(self) -> JudgeInfo:
        """The model's name; the kind and a fingerprint of the prompt and of all that shapes an answer."""
        shaping = json.dumps([self.prompts["turn"].fingerprint, dict(self._model.parameters)], sort_keys=True)
        fingerprint = hashlib.sha256(shaping.encode()).hexdigest()[:12]
        return JudgeInfo(name=self._model.name, version=f"{self._kind}-{fingerprint}")

    @property
    def why_exhausted(self) -> str | None:
        return self._model.why_exhausted

    async def aclose(self) -> None:
        """Closes the connections that were opened for this judge."""
        await self._model.aclose()

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """One call a claim, which is the turn. An unreadable answer is asked for once more, then unchecked."""
        return await ensemble.gather([self._check_turn(claim, evidence) for claim in claims])

    @abstractmethod
    async def _judged(self, claim: Claim, evidence: EvidenceSet) -> Check:
        """Asks about one turn. Raises JudgeError if there is no answer that can be read."""

    async def _check_turn(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        try:
            return await self._judged(claim, evidence)
        except JudgeError as exc:
            raw = exc.raw[:RAW_CHARS] if isinstance(exc, UnreadableError) else None
            return Unchecked(claim=claim, error=str(exc), raw=raw)

    def _input(self, claim: Claim, evidence: EvidenceSet, history: str = "") -> str:
        turn = self._style.turn(Turn(role=Role.ASSISTANT, text=claim.text))
        documents = self._style.documents(evidence.documents)
        return fill(self._file.input, {"documents": documents, "history": history, "turn": turn, **self._names})


class LLMJudge(WholeTurnJudge):
    """Asks whether a turn is what the task looks for. A guard shows it the conversation with `context="full"`."""

    def __init__(self, model: ChatModel, options: ModelOptions, task: Task) -> None:
        require("a judge that asks a model", "json_repair", extra="model")
        # A fused prompt has the same slots: documents, history and turn.
        # Both tasks ask whether the documents carry the turn; they differ in what opinions and abstentions count as.
        asked = Task.UNVERIFIABLE if task is Task.UNSUPPORTED else task
        file = read_prompt(LLM_JUDGE_PROMPTS / f"{asked}.txt", "fused", examples=False)
        self._task = task
        self._question = QUESTIONS[task]
        super().__init__(model, options, file, f"llm-judge-{task}", self._question.schema)

    async def _judged(self, claim: Claim, evidence: EvidenceSet) -> Check:
        texts = [passage.text for passage in evidence.documents]
        untrusted = [claim.text, *texts, *(turn.text for turn in evidence.history)]
        documents_only = evidence.model_copy(update={"knowledge": ()})

        async def ask(trimmed: EvidenceSet, _: Sequence[Turn]) -> tuple[bool, str]:
            return await ask_model(self._model, self._request(claim, trimmed), lambda text: self._read(text, untrusted))

        positive, why = await ask_trimmed(ask, self._model.name, claim.text, documents_only, ())
        label = POSITIVE[self._task] if positive else Label.VERIFIED
        word = self._question.positive if positive else self._question.negative
        return labelled_check(claim, label, why or f"the judge called the turn {word}")

    def _request(self, claim: Claim, evidence: EvidenceSet) -> ChatRequest:
        text = self._input(claim, evidence, self._style.history(evidence.history))
        messages = (Message("system", self._system), Message("user", text))
        return ChatRequest(messages, "turn", self._question.schema)

    def _read(self, text: str, untrusted: Sequence[str]) -> tuple[bool, str]:
        """The verdict and its explanation. Verdicts that differ, and those quoted from the prompt, do not count."""
        question, sources, answer = self._question, Untrusted(untrusted), read(text)
        answers = [
            (text_field(piece.value.get(question.field)).casefold(), text_field(piece.value.get("explanation")))
            for piece in answer.pieces
            if isinstance(piece.value, dict)
            and piece.closed
            and question.field in piece.value
            and not sources.hold(answer.text[piece.start : piece.end])
        ]
        verdicts = {verdict for verdict, _ in answers}
        if len(verdicts) != 1 or not verdicts <= {question.negative, question.positive}:
            raise unreadable(f"has neither {question.negative} nor {question.positive}", text)
        verdict, why = answers[-1]
        return verdict == question.positive, why[:RAW_CHARS]
