"""FActScore as the paper compares with it (App. B.6): atomic facts of a turn by itself, held against its documents alone.

It knows neither what was said before nor what is established, and says of a claim only whether the documents support it. With
`by_sentence` each sentence is taken apart by itself, as FActScore did first (Min et al., 2023); the paper found that to be worse
(§3, footnote 2) and compares with whole turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from vista_guard.evaluation.systems.verdicts import labelled
from vista_guard.judges.composed import calls
from vista_guard.judges.model import ChatModel, ModelJudge, ModelOptions
from vista_guard.judges.model.prompting.files import Stage
from vista_guard.judges.model.prompting.prompts import PromptInfo
from vista_guard.reading.sentences import sentence_spans
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Span, Turn, Unchecked

FOLDER = Path(__file__).parent / "texts" / "factscore"
REASON = "the documents do not support it"


class FActScore:
    """Implements `Judge`: FActScore's two questions to a model, each claim in a call of its own, with examples.

    Args:
        model: the model behind its endpoint.
        options: what the speakers are called; its strategy and shots mean nothing here.
        by_sentence: whether each sentence is taken apart by itself.
    """

    def __init__(self, model: ChatModel, options: ModelOptions, *, by_sentence: bool = False) -> None:
        asked = {"strategy": "per_claim", "shots": "few", "knowledge": "off", "prompts_dir": FOLDER}
        self._judge = ModelJudge(model, options.model_copy(update=asked))
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
        """See `ChatModel.why_exhausted`."""
        return self._judge.why_exhausted

    async def aclose(self) -> None:
        """Closes the connections that were opened for this judge."""
        await self._judge.aclose()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The turn's facts, or those of each of its sentences, all asked at once. What was said before is not looked at."""
        whole = Span(start=0, end=len(turn.text))
        spans = sentence_spans(turn.text) if self._by_sentence else [whole]
        found = await asyncio.gather(*(self._facts(turn, span) for span in spans))
        facts = [fact for part in found for fact in part]
        return [fact.model_copy(update={"id": f"t{len(history)}.c{number}"}) for number, fact in enumerate(facts, 1)]

    async def _facts(self, turn: Turn, span: Span) -> list[Claim]:
        piece = turn.model_copy(update={"text": turn.text[span.start : span.end]})
        return [_shifted(fact, span.start) for fact in await self._judge.decompose(piece, ())]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Supported by the documents, or not, which is all that is said."""
        answers = await self._judge.verify(claims, EvidenceSet(documents=evidence.documents))
        return [_two_labels(answer) for answer in answers]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """What `verify` said: there is no third stage."""
        return [calls.finding(check) for check in checks]


def _two_labels(answer: Check | Unchecked) -> Check | Unchecked:
    if isinstance(answer, Unchecked) or answer.supported:
        return answer
    return labelled(answer.claim, Label.LACKING_EVIDENCE, REASON)


def _shifted(fact: Claim, offset: int) -> Claim:
    if fact.span is None or not offset:
        return fact
    span = Span(start=fact.span.start + offset, end=fact.span.end + offset)
    return fact.model_copy(update={"span": span})
