"""The model judge: a chat model decomposes, verifies and categorises (VISTA §3, App. A).

An unreadable answer is requested once more; then its claims are unchecked. No claim is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from vista_guard._extras import require
from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import meter
from vista_guard.judges.model.answers import parsing
from vista_guard.judges.model.answers.labels import place, quoted_evidence
from vista_guard.judges.model.answers.tolerant import RAW_CHARS
from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.judges.model.prompts import PromptInfo, Prompts, Roles, ask_trimmed, digest
from vista_guard.settings.model import ModelOptions
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, SourceKind, Turn, Unchecked

T = TypeVar("T")

REMINDER = (
    "\n\nThe last answer to this could not be read. Answer in exactly the form that is asked for, and nothing else."
)


async def ask_model(
    model: ChatModel, request: ChatRequest, read: Callable[[str], T], *, partial: bool = False, reminders: int = 1
) -> T:
    """Asks the model and parses its answer.

    Args:
        model: behind its endpoint.
        request: the prompt.
        read: parses an answer; raises UnreadableError for an unusable one.
        partial: whether a truncated answer may be parsed.
        reminders: retries after an unreadable answer.

    Raises:
        UnreadableError: no answer could be read.
        JudgeError: there was no answer (see `ChatModel.complete`).
    """
    for left in range(reminders, -1, -1):
        try:
            return await _ask_once(model, request, read, partial=partial)
        except UnreadableError:
            if not left:
                raise
            *earlier, last = request.messages
            # In the last message, since some chat templates reject two user messages in a row.
            request = replace(request, messages=(*earlier, replace(last, content=last.content + REMINDER)))
    raise AssertionError("unreachable")


async def _ask_once(model: ChatModel, request: ChatRequest, read: Callable[[str], T], *, partial: bool) -> T:
    reply = await model.complete(request)
    if reply.finish == "refusal":
        raise UnreadableError(f"{model.name} refused to judge: {reply.text[:200]!r}", reply.text[:RAW_CHARS])
    if reply.finish == "length" and not partial:
        # Half an answer may lack the claim, or the word, that mattered.
        error = f"the answer of {model.name} was cut off at its token limit; raise model.max_output_tokens"
        raise UnreadableError(error, reply.text[:RAW_CHARS])
    return read(reply.text)


_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "per_claim": ("decompose", "verify", "categorize"),
    "batched": ("decompose", "judge"),
    "fused": ("fused", "decompose", "judge"),  # the last two when the first answer is unusable
}

CLAIMS_PER_CALL = 30
"""Most claims in one batched call; more are split into concurrent calls."""


class ModelJudge:
    """Implements `TurnJudge`.

    Args:
        model: the model behind its endpoint: `OpenAIChat`, `LangChainChat`.
        options: strategy, shots, knowledge and so on; `model` applies the endpoint's limits itself.
        prompts: override those named by `options`.
    """

    def __init__(
        self, model: ChatModel, options: ModelOptions | None = None, *, prompts: Prompts | None = None
    ) -> None:
        require("a judge that asks a model", "json_repair", extra="model")
        self.model = model
        self.options = options = options or ModelOptions()
        self._prompts = prompts or Prompts.load(
            options.prompts_dir,
            shots=options.shots,
            roles=Roles(assistant=options.assistant_name, user=options.user_name),
        )

    @property
    def info(self) -> JudgeInfo:
        """The model's name; strategy, shots and a fingerprint of the prompts and parameters."""
        options = self.options
        parts = [options.strategy, options.shots, *(["no-knowledge"] if options.knowledge == "off" else [])]
        shaping = digest(self._prompts.fingerprint, dict(self.model.parameters))
        return JudgeInfo(name=self.model.name, version="-".join([*parts, shaping]))

    def with_model(self, model: ChatModel) -> ModelJudge:
        """The same judge with another model."""
        return ModelJudge(model, self.options, prompts=self._prompts)

    @property
    def prompts(self) -> Mapping[Stage, PromptInfo]:
        """The prompts that this judge's strategy uses, by stage."""
        return {stage: self._prompts.told[stage] for stage in _STAGES[self.options.strategy]}

    @property
    def claims_per_call(self) -> int | None:
        """1 if each claim gets its own call; None if one call judges all."""
        return 1 if self.options.strategy == "per_claim" else None

    @property
    def why_exhausted(self) -> str | None:
        """Why this judge stopped calling (the run's budget is spent), or None."""
        return self.model.why_exhausted

    async def aclose(self) -> None:
        """Closes this judge's connections."""
        await self.model.aclose()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """One call. Spans cover the words that the model quotes, if the turn has them."""
        if not turn.text.strip():
            return []
        claim_texts = await self._ask(
            turn.text,
            lambda _, recent: self._prompts.decompose(turn, recent),
            parsing.read_claims,
            EvidenceSet(),
            history,
        )
        return _claims(claim_texts, turn, history)

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """One call for everything with strategy `fused`; None otherwise, or if its answer is unusable."""
        if self.options.strategy != "fused" or not turn.text.strip():
            return None
        evidence = self._usable_evidence(evidence)
        untrusted = [turn.text, *(past.text for past in history), *_texts(evidence)]
        try:
            judgements = await self._ask(
                turn.text,
                lambda trimmed, recent: self._prompts.fused(turn, recent, trimmed),
                lambda text: parsing.read_fused(text, untrusted),
                evidence,
                history,
                reminders=0,
            )
        except UnreadableError:
            judgements = None
        if judgements is None or not judgements.complete:
            meter().warn(
                f"{self.model.name} did not answer one call about the whole turn in a usable form; two were made"
            )
            return None
        claims = _claims(judgements.claims, turn, history)
        return [
            _labelled_check(
                claim, parsing.ParsedCategory(judgement.label, judgement.reason, judgement.evidence), evidence
            )
            for claim, judgement in zip(claims, judgements.claims, strict=True)
        ]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """One concurrent call per claim with `per_claim`; else one call for all, which also gives the labels."""
        evidence = self._usable_evidence(evidence)
        if self.options.strategy == "per_claim":
            return await ensemble.gather(self._verify_claim(claim, evidence) for claim in claims)
        batches = [claims[start : start + CLAIMS_PER_CALL] for start in range(0, len(claims), CLAIMS_PER_CALL)]
        answers = await ensemble.gather(self._judge_together(batch, evidence) for batch in batches)
        return [answer for batch in answers for answer in batch]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """One concurrent call for each check that has no label yet."""
        evidence = self._usable_evidence(evidence)
        return await ensemble.gather(self._categorize_check(check, evidence) for check in checks)

    def _usable_evidence(self, evidence: EvidenceSet) -> EvidenceSet:
        """The evidence this judge may use: without knowledge in the ablation, except the persona (VISTA, ablations)."""
        if self.options.knowledge == "on":
            return evidence
        persona = tuple(known for known in evidence.knowledge if known.source is SourceKind.PERSONA)
        return evidence.model_copy(update={"knowledge": persona})

    async def _verify_claim(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        if evidence.missing:
            return Check(claim=claim, supported=False, confidence=1.0)
        try:
            verdict = await self._ask(
                claim.text,
                lambda trimmed, _: self._prompts.verify(claim, trimmed),
                lambda text: parsing.read_verdict(text, [claim.text, *_texts(evidence)]),
                evidence,
            )
        except JudgeError as exc:
            return _as_unchecked(claim, exc)
        quotes = quoted_evidence(verdict.quote, evidence)
        if verdict.supported:
            return Check(claim=claim, supported=True, confidence=1.0, evidence=quotes)
        return Check(claim=claim, supported=False, confidence=1.0, counter_evidence=quotes)

    async def _categorize_check(self, check: Check, evidence: EvidenceSet) -> Finding | Unchecked:
        claim = check.claim
        if check.finding is not None:
            return check.finding
        try:
            category = await self._ask(
                claim.text,
                lambda trimmed, _: self._prompts.categorize(claim, trimmed),
                lambda text: parsing.read_category(text, [claim.text, *_texts(evidence)]),
                evidence,
            )
        except JudgeError as exc:
            return _as_unchecked(claim, exc)
        return _finding(claim, category, evidence)

    async def _judge_together(self, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check | Unchecked]:
        """Verdicts with labels. Claims that the first answer omits or answers twice are retried once."""
        answers: dict[int, Check | Unchecked] = {}
        left, raw = list(range(len(claims))), ""
        for _ in range(2):
            try:
                judgements, raw = await self._ask_together([claims[index] for index in left], evidence)
            except JudgeError as exc:
                answers |= {index: _as_unchecked(claims[index], exc) for index in left}
                break
            for index, category in zip(left, judgements, strict=True):
                if category is not None:
                    answers[index] = _labelled_check(claims[index], category, evidence)
            left = [index for index in left if index not in answers]
            if not left:
                break
        error = f"{self.model.name} gave no single label for this claim, though it was asked twice"
        return [
            answers.get(index) or Unchecked(claim=claim, error=error, raw=raw[:RAW_CHARS])
            for index, claim in enumerate(claims)
        ]

    async def _ask_together(
        self, claims: Sequence[Claim], evidence: EvidenceSet
    ) -> tuple[list[parsing.ParsedCategory | None], str]:
        """One call's answer per claim, None if unusable; and the raw text."""
        ids = [f"c{number}" for number in range(1, len(claims) + 1)]
        texts = [claim.text for claim in claims]

        def read(text: str) -> tuple[list[parsing.ParsedCategory | None], str]:
            categories = parsing.read_judgements(text, ids, [*texts, *_texts(evidence)])
            return [categories.get(name) for name in ids], text

        return await self._ask(
            "\n".join(texts), lambda trimmed, _: self._prompts.judge(claims, trimmed), read, evidence, partial=True
        )

    async def _ask(
        self,
        query: str,
        request: Callable[[EvidenceSet, Sequence[Turn]], ChatRequest],
        read: Callable[[str], T],
        evidence: EvidenceSet,
        history: Sequence[Turn] = (),
        *,
        partial: bool = False,
        reminders: int = 1,
    ) -> T:
        """Asks; trims evidence and history if the prompt is too long."""

        async def ask(trimmed: EvidenceSet, recent: Sequence[Turn]) -> T:
            return await ask_model(self.model, request(trimmed, recent), read, partial=partial, reminders=reminders)

        return await ask_trimmed(ask, self.model.name, query, evidence, history)


def _claims(
    texts: Sequence[parsing.ClaimText | parsing.FusedClaim], turn: Turn, history: Sequence[Turn]
) -> list[Claim]:
    return [
        Claim(id=f"t{len(history)}.c{number}", text=entry.text, span=place(entry.quote or entry.text, turn.text))
        for number, entry in enumerate(texts, 1)
    ]


def _labelled_check(claim: Claim, category: parsing.ParsedCategory, evidence: EvidenceSet) -> Check | Unchecked:
    """The verdict and label of an answer that gives both."""
    if category.label is not Label.VERIFIED:
        return Check(claim=claim, supported=False, confidence=1.0, finding=_finding(claim, category, evidence))
    if evidence.missing:
        return Unchecked(claim=claim, error="the judge called the claim VERIFIED though there was no evidence at all")
    return Check(claim=claim, supported=True, confidence=1.0, evidence=quoted_evidence(category.quote, evidence))


def _finding(claim: Claim, category: parsing.ParsedCategory, evidence: EvidenceSet) -> Finding:
    reason = category.reason.strip() or f"the judge gave no reason for {category.label}"
    quotes = quoted_evidence(category.quote, evidence) if category.label is Label.CONTRADICTED else ()
    return Finding(claim=claim, label=category.label, confidence=1.0, evidence=quotes, reason=reason)


def _as_unchecked(claim: Claim, exc: JudgeError) -> Unchecked:
    raw = exc.raw[:RAW_CHARS] if isinstance(exc, UnreadableError) else None
    return Unchecked(claim=claim, error=str(exc), raw=raw)


def _texts(evidence: EvidenceSet) -> list[str]:
    passages = [passage.text for passage in (*evidence.documents, *evidence.knowledge)]
    return [*passages, *(turn.text for turn in evidence.history)]
