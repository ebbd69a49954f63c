"""The model judge: a chat model decomposes, verifies and categorises (VISTA §3, App. A).

An unreadable answer is requested once more; then its claims are unchecked. No claim is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from vista_guard._aio import run_long
from vista_guard._extras import require
from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import meter
from vista_guard.judges.decomposers.coverage import SHORT, cover
from vista_guard.judges.model import net
from vista_guard.judges.model.answers import parsing
from vista_guard.judges.model.answers.labels import place, quoted_evidence
from vista_guard.judges.model.answers.tolerant import RAW_CHARS
from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest
from vista_guard.judges.model.prompt_files import Stage
from vista_guard.judges.model.prompts import PromptInfo, Prompts, Roles, ask_trimmed, digest
from vista_guard.policy.turn_risk import FACTS
from vista_guard.settings.model import ModelOptions
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, SourceKind, Turn, Unchecked

T = TypeVar("T")

REMINDER = (
    "\n\nThe last answer to this could not be read. Answer in exactly the form that is asked for, and nothing else."
)
NOT_COUNTED = (
    "\n\nThe last answer to this did not count. The quote of VERIFIED and CONTRADICTED is a whole sentence of the documents or "
    'the knowledge above, copied exactly, that decides this very claim with all of its figures; put "..." between two of them. '
    "The words of the claim itself are no quote. OUT_OF_SCOPE and ABSTENTION are for claims that state no fact. Where the "
    "material does not decide, the label is another one."
)
NET = 5
"""Part of a judge's version: raise it when other labels count, or other sentences are judged beside the model's claims."""


class UnfinishedError(UnreadableError):
    """The answer was cut off at its token limit. Asking again would only take as long."""


async def ask_model(
    model: ChatModel,
    request: ChatRequest,
    read: Callable[[str], T],
    *,
    partial: Callable[[str], T] | None = None,
    reminders: int = 1,
) -> T:
    """Asks the model and parses its answer.

    Args:
        model: behind its endpoint.
        request: the prompt.
        read: parses an answer; raises UnreadableError for an unusable one.
        partial: parses an answer that was cut off; without it such an answer is unusable.
        reminders: retries after an unreadable answer.

    Raises:
        UnreadableError: no answer could be read.
        UnfinishedError: the answer was cut off.
        JudgeError: there was no answer (see `ChatModel.complete`).
    """
    for left in range(reminders, -1, -1):
        try:
            return await _ask_once(model, request, read, partial=partial)
        except UnfinishedError:
            raise
        except UnreadableError:
            if not left:
                raise
            request = _with_note(request, REMINDER)
    raise AssertionError("unreachable")


def _with_note(request: ChatRequest, note: str) -> ChatRequest:
    """The request with a note in its last message: some chat templates reject two user messages in a row."""
    *earlier, last = request.messages
    return replace(request, messages=(*earlier, replace(last, content=last.content + note)))


async def _ask_once(
    model: ChatModel, request: ChatRequest, read: Callable[[str], T], *, partial: Callable[[str], T] | None
) -> T:
    reply = await model.complete(request)
    if reply.finish == "refusal":
        raise UnreadableError(f"{model.name} refused to judge: {reply.text[:200]!r}", reply.text[:RAW_CHARS])
    if reply.finish != "length":
        return read(reply.text)
    if partial is None:
        # Half an answer may lack the claim, or the word, that mattered.
        raise UnfinishedError(_unfinished(model.name), reply.text[:RAW_CHARS])
    return partial(reply.text)


def _unfinished(model: str) -> str:
    return (
        f"the model did not finish: the answer of {model} was cut off at its token limit; raise model.max_output_tokens"
    )


_STAGES: Mapping[str, tuple[Stage, ...]] = {
    "per_claim": ("decompose", "verify", "categorize"),
    "batched": ("decompose", "judge"),
    "fused": ("fused", "decompose", "judge"),  # the last two when the first answer is unusable
}

CLAIMS_PER_CALL = 30
"""Most claims in one batched call; more are split into concurrent calls."""


@dataclass(frozen=True)
class _Judged:
    """The labels of one call, None where it gives none; its text, and what is wrong with it then."""

    labels: list[parsing.ParsedCategory | None]
    raw: str
    error: str


class ModelJudge:
    """Implements `TurnJudge`.

    Args:
        model: the model behind its endpoint: `OpenAIChat`, `LangChainChat`.
        options: strategy, shots, knowledge and so on; `model` applies the endpoint's limits itself.
        prompts: override those named by `options`.
        net: False takes the model at its word, as published methods do: for measuring them, not for guarding.
    """

    def __init__(
        self,
        model: ChatModel,
        options: ModelOptions | None = None,
        *,
        prompts: Prompts | None = None,
        net: bool = True,
    ) -> None:
        require("a judge that asks a model", "json_repair", extra="model")
        self.model = model
        self.options = options = options or ModelOptions()
        self._net = net
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
        shaping = digest(NET if self._net else 0, self._prompts.fingerprint, dict(self.model.parameters))
        return JudgeInfo(name=self.model.name, version="-".join([*parts, shaping]))

    def with_model(self, model: ChatModel) -> ModelJudge:
        """The same judge with another model."""
        return ModelJudge(model, self.options, prompts=self._prompts, net=self._net)

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
        """One call. Spans cover the words that the model quotes, if the turn has them; sentences without a claim are claims."""
        if not turn.text.strip():
            return []
        claim_texts = await self._ask(
            turn.text,
            lambda _, recent: self._prompts.decompose(turn, recent),
            parsing.read_claims,
            EvidenceSet(),
            history,
        )
        return await self._cover(
            _claims(claim_texts, turn, history), turn, history, self._prompts["decompose"].instructions
        )

    async def _cover(self, claims: Sequence[Claim], turn: Turn, history: Sequence[Turn], plain: str) -> Sequence[Claim]:
        if not self._net:
            return claims
        run = asyncio.to_thread if len(turn.text) <= SHORT else run_long
        return await run(cover, claims, turn, history, self.model.name, plain)

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
        except UnfinishedError:
            raise
        except UnreadableError:
            judgements = None
        if judgements is None or not judgements.complete:
            meter().warn(
                f"{self.model.name} did not answer one call about the whole turn in a usable form; two were made"
            )
            return None
        said = {claim.text: claim.category for claim in judgements.claims}
        plain = "\n".join([self._prompts["fused"].instructions, *_texts(evidence)])
        claims = await self._cover(_claims(judgements.claims, turn, history), turn, history, plain)
        return await contract.except_unchecked(
            claims, lambda left: self._judge_all(left, evidence, {claim.id: said.get(claim.text) for claim in left})
        )

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """One concurrent call per claim with `per_claim`; else one call for all, which also gives the labels."""
        evidence = self._usable_evidence(evidence)
        if self.options.strategy == "per_claim":
            return await ensemble.gather(self._verify_claim(claim, evidence) for claim in claims)
        return await self._judge_all(claims, evidence)

    async def _judge_all(
        self,
        claims: Sequence[Claim],
        evidence: EvidenceSet,
        said: Mapping[str, parsing.ParsedCategory | None] | None = None,
    ) -> list[Check | Unchecked]:
        """As many concurrent calls as needed; `said` are the labels that the model gave some of the claims before, by id."""
        batches = [claims[start : start + CLAIMS_PER_CALL] for start in range(0, len(claims), CLAIMS_PER_CALL)]
        answers = await ensemble.gather(self._judge_together(batch, evidence, said or {}) for batch in batches)
        return [answer for batch in answers for answer in batch]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """One concurrent call for each check that has no label yet."""
        evidence = self._usable_evidence(evidence)
        return await ensemble.gather(self._categorize_check(check, evidence) for check in checks)

    def _usable_evidence(self, evidence: EvidenceSet) -> EvidenceSet:
        """The evidence this judge may use: without knowledge in the ablation, except the persona (VISTA, ablations)."""
        if self.options.knowledge == "on":
            return evidence
        persona = tuple(
            known for known in evidence.knowledge if known.source in (SourceKind.PERSONA, SourceKind.CHANNEL)
        )
        return evidence.model_copy(update={"knowledge": persona})

    async def _verify_claim(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        if evidence.missing:
            return Check(claim=claim, supported=False, confidence=1.0)

        said = await self._ask_until_it_counts(
            claim, "verify", lambda trimmed, _: self._prompts.verify(claim, trimmed), parsing.read_verdict, evidence
        )
        if isinstance(said, Unchecked):
            return said
        quotes = quoted_evidence(said.quote, evidence)
        if said.label is Label.VERIFIED:
            return Check(claim=claim, supported=True, confidence=1.0, evidence=quotes)
        return Check(claim=claim, supported=False, confidence=1.0, counter_evidence=quotes)

    async def _categorize_check(self, check: Check, evidence: EvidenceSet) -> Finding | Unchecked:
        if check.finding is not None:
            return check.finding
        said = await self._ask_until_it_counts(
            check.claim, "categorize", partial(self._prompts.categorize, check.claim), parsing.read_category, evidence
        )
        return said if isinstance(said, Unchecked) else _finding(check.claim, said, evidence)

    async def _ask_until_it_counts(
        self,
        claim: Claim,
        stage: Stage,
        request: Callable[[EvidenceSet, Sequence[Label]], ChatRequest],
        read: Callable[[str, Sequence[str]], parsing.ParsedCategory],
        evidence: EvidenceSet,
    ) -> parsing.ParsedCategory | Unchecked:
        """The first of two answers that counts. `request` takes the labels to choose from, `read` the untrusted texts."""
        untrusted = [claim.text, *_texts(evidence)]

        async def ask(note: str, labels: Sequence[Label]) -> parsing.ParsedCategory:
            return await self._ask(
                claim.text,
                lambda trimmed, _: _with_note(request(trimmed, labels), note),
                lambda text: read(text, untrusted),
                evidence,
            )

        why: str | None = None
        labels: Sequence[Label] = ()
        for note in ("", NOT_COUNTED):
            try:
                said = await ask(note, labels)
            except JudgeError as exc:
                return _as_unchecked(claim, exc)
            (why,) = await self._doubts([(claim, said)], evidence, stage)
            if why is None:
                return said
            labels = () if said.label in FACTS else FACTS
        return self._not_counted(claim, why or "")

    async def _doubts(
        self, said: Sequence[tuple[Claim, parsing.ParsedCategory]], evidence: EvidenceSet, stage: Stage
    ) -> list[str | None]:
        if not self._net or getattr(self.model, "rehearses", False):
            return [None] * len(said)
        quoting = self._prompts[stage].answers_json
        return await asyncio.to_thread(net.doubts, said, evidence, quoting=quoting) if said else []

    def _not_counted(self, claim: Claim, why: str) -> Unchecked:
        return Unchecked(claim=claim, error=f"{self.model.name} {why}, though it was asked twice")

    async def _judge_together(
        self, claims: Sequence[Claim], evidence: EvidenceSet, said: Mapping[str, parsing.ParsedCategory | None]
    ) -> list[Check | Unchecked]:
        """Verdicts with labels. Each claim is asked about twice at most: again if an answer omits it, or does not count.

        `said` are labels that the model gave before, by id.
        """
        given = {index: category for index, claim in enumerate(claims) if (category := said.get(claim.id)) is not None}
        answers, faults = await self._weigh(claims, given, evidence, "fused")
        facts = {index for index in faults if given[index].label not in FACTS}
        asked = [int(index in given) for index in range(len(claims))]
        while left := [index for index in range(len(claims)) if index not in answers and asked[index] < 2]:
            try:
                wanted = FACTS if facts.issuperset(left) else ()
                judged = await self._ask_together(
                    [claims[index] for index in left], evidence, again=bool(faults), wanted=wanted
                )
            except JudgeError as exc:
                answers |= {index: _as_unchecked(claims[index], exc) for index in left}
                break
            labels = {index: label for index, label in zip(left, judged.labels, strict=True) if label is not None}
            counted, doubted = await self._weigh(claims, labels, evidence, "judge")
            facts |= {index for index in doubted if labels[index].label not in FACTS}
            answers |= counted
            faults |= {
                index: doubted.get(index) or Unchecked(claim=claims[index], error=judged.error, raw=judged.raw)
                for index in left
                if index not in counted
            }
            for index in left:
                asked[index] += 1
        return [answers.get(index) or faults[index] for index in range(len(claims))]

    async def _weigh(
        self,
        claims: Sequence[Claim],
        labels: Mapping[int, parsing.ParsedCategory],
        evidence: EvidenceSet,
        stage: Stage,
    ) -> tuple[dict[int, Check | Unchecked], dict[int, Unchecked]]:
        """The answers that count, and the reasons against the others."""
        said = [(claims[index], category) for index, category in labels.items()]
        whys = dict(zip(labels, await self._doubts(said, evidence, stage), strict=True))
        doubted = {index: self._not_counted(claims[index], why) for index, why in whys.items() if why is not None}
        counted = {
            index: _labelled_check(claims[index], category, evidence)
            for index, category in labels.items()
            if index not in doubted
        }
        return counted, doubted

    async def _ask_together(
        self, claims: Sequence[Claim], evidence: EvidenceSet, *, again: bool, wanted: Sequence[Label]
    ) -> _Judged:
        """One call's labels. `again`: the model's last answer did not count; `wanted`: the labels to choose from."""
        ids = [f"c{number}" for number in range(1, len(claims) + 1)]
        texts = [claim.text for claim in claims]

        def read(text: str, *, cut: bool = False) -> _Judged:
            categories = parsing.read_judgements(text, ids, [*texts, *_texts(evidence)])
            error = f"{self.model.name} gave no single label for this claim, though it was asked twice"
            if not categories:
                error += f": it answered {text[:80]!r}"
            return _Judged(
                [categories.get(name) for name in ids],
                text[:RAW_CHARS],
                _unfinished(self.model.name) if cut else error,
            )

        return await self._ask(
            "\n".join(texts),
            lambda trimmed, _: _with_note(self._prompts.judge(claims, trimmed, wanted), NOT_COUNTED if again else ""),
            read,
            evidence,
            partial=lambda text: read(text, cut=True),
        )

    async def _ask(
        self,
        query: str,
        request: Callable[[EvidenceSet, Sequence[Turn]], ChatRequest],
        read: Callable[[str], T],
        evidence: EvidenceSet,
        history: Sequence[Turn] = (),
        *,
        partial: Callable[[str], T] | None = None,
        reminders: int = 1,
    ) -> T:
        """Asks; trims evidence and history if the prompt is too long."""

        async def ask(trimmed: EvidenceSet, recent: Sequence[Turn]) -> T:
            return await ask_model(self.model, request(trimmed, recent), read, partial=partial, reminders=reminders)

        return await ask_trimmed(ask, self.model.name, query, evidence, history)


def _claims(texts: Sequence[parsing.ClaimText], turn: Turn, history: Sequence[Turn]) -> list[Claim]:
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
