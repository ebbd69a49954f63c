"""The embedded judge: no key, no network, no torch. Rules take a turn apart; two small ONNX models judge its claims."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard._aio import run_long
from vista_guard.errors import JudgeError
from vista_guard.inference.onnx import WEIGHTS
from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.asides import inner_statements
from vista_guard.judges.embedded.english.decompose import MAX_STATEMENT, decompose, sentence_claims
from vista_guard.judges.embedded.english.segment import foreign
from vista_guard.judges.embedded.english.verbs import finish_sentence
from vista_guard.judges.embedded.english.words import content_words
from vista_guard.judges.embedded.evidence import COUNTER_COSINE, EvidencePiece, choose, pool
from vista_guard.judges.embedded.forms import is_code, unreadable_parts
from vista_guard.judges.embedded.mentions.passage import as_meant
from vista_guard.judges.embedded.models import ABSTENTION, FACTUAL, OPINION, Calibration, ClaimTypeHead, ShippedVerifier
from vista_guard.judges.embedded.opposites import is_mentioned, may_be_settled
from vista_guard.judges.embedded.support import (
    MAX_EVIDENCE,
    NOWHERE,
    Scored,
    Weighed,
    about_itself,
    can_affect_verdict,
    contested,
    denied_statement,
    evidence_text,
    inverted,
    missing_everywhere,
    quotes,
    refutation,
    short,
    source_phrase,
    support_score,
    type_text,
)
from vista_guard.protocols import Embedder, Verifier
from vista_guard.reading.canonical import folded
from vista_guard.types import (
    Check,
    Claim,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Passage,
    Recommendations,
    SourceKind,
    Turn,
    Unchecked,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUBJECTIVE_SUPPORT = 0.7
"""Least support of a claim about its own speaker's mind or life; documents never support or refute one."""
READS_ENGLISH = (
    'the embedded judge reads English. Use a model judge, for example judge = "openai:gpt-4o-mini" (docs/judges.md), '
    "or a multilingual verifier (docs/verifiers.md)"
)
_SHORT = 2000
"""Characters that are taken apart in a thread of their own: a few hundredths of a second of work."""


class EmbeddedJudge:
    """Implements `Judge`. The work runs in a worker thread: the event loop stays free."""

    def __init__(
        self,
        verifier: Verifier,
        embedder: Embedder,
        head: ClaimTypeHead,
        calibration: Calibration,
        *,
        recommendations: Recommendations = "out_of_scope",
        multilingual: bool = False,
    ) -> None:
        self._verifier = verifier
        self._recommendations = recommendations
        self._embedder = embedder
        self._head = head
        self._calibration = calibration
        self._multilingual = multilingual

    @classmethod
    def load(
        cls,
        embedder: Embedder,
        folder: Path = WEIGHTS,
        *,
        verifier: Verifier | None = None,
        thresholds: tuple[float, float] | None = None,
        recommendations: Recommendations = "out_of_scope",
        multilingual: bool = False,
    ) -> EmbeddedJudge:
        """The shipped judge, or the shipped judge with another verifier.

        Args:
            embedder: finds the evidence that a claim is held against.
            folder: where the weights are.
            verifier: in place of the shipped one, which is shared by all judges of the process.
            thresholds: probabilities from which a claim is supported, and contradicted; the shipped verifier's when not given.
            recommendations: what advice, instructions and permissions are that no document speaks of: as in the paper
                "out_of_scope", or "lacking_evidence".
            multilingual: True if the verifier reads other languages too. Turns in them are judged sentence by sentence against
                whole passages; the rules that know English (claims, denials, claim types) are left out.

        Raises:
            ConfigError: a weights file is missing or damaged.
        """
        calibration = Calibration.load(folder)
        if thresholds is not None:
            calibration = replace(calibration, supported=thresholds[0], contradicted=thresholds[1])
        verifier = verifier or ShippedVerifier.load(calibration, folder)
        head = ClaimTypeHead.load(folder)
        return cls(verifier, embedder, head, calibration, recommendations=recommendations, multilingual=multilingual)

    @property
    def info(self) -> JudgeInfo:
        version = self._calibration.version
        own = isinstance(self._verifier, ShippedVerifier)
        return JudgeInfo(name="embedded", version=version if own else f"{version}+{self._verifier.name}")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with ids `t{turn index}.c{n}` and spans.

        Raises:
            JudgeError: the turn is surely not English, and the verifier is not multilingual.
        """
        # A long turn waits for others of its kind, and short ones for nobody.
        run = asyncio.to_thread if len(turn.text) <= _SHORT else run_long
        return await run(self._decompose, turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """All claims at once. Support is the best piece's probability; nothing to hold against is no support."""
        return await asyncio.to_thread(self._verify, claims, evidence)

    async def categorize(
        self,
        checks: Sequence[Check],
        evidence: EvidenceSet,
    ) -> Sequence[Finding | Unchecked]:
        """Abstention, then contradiction, then out of scope, else lacking evidence (VISTA §3, step 3).

        What a document speaks of is out of scope only where it tells of a mind or a value: an instruction, a permission or
        advice that the documents speak of is held against them.
        """
        return await asyncio.to_thread(self._categorize, checks, evidence)

    async def aclose(self) -> None:
        """Closes the verifier, where it holds connections."""
        close = getattr(self._verifier, "aclose", None)
        if close is not None:
            await close()

    def _decompose(self, turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
        language = foreign(folded(turn.text))
        if language is not None and self._multilingual:
            return sentence_claims(turn, history)
        if language is not None:
            raise JudgeError(f"the turn looks like {language}; {READS_ENGLISH}")
        return as_meant(self._with_statements(decompose(turn, history)), turn.text)

    def _with_statements(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims, and behind each that reads like an opinion or an abstention the statements inside it."""
        within = {claim: list(inner_statements(claim.text)) for claim in claims}
        asked = [claim for claim, statements in within.items() if statements]
        types = zip(asked, self._types([claim.text for claim in asked]), strict=True)
        speech = {claim for claim, found in types if self._is_speech(found)}
        spans = dict[str, Claim]()
        for claim in claims:
            texts = (finish_sentence(one, ()) for one in within[claim]) if claim in speech else ()
            for text in (claim.text, *texts):
                spans.setdefault(text, claim)
        pairs = enumerate(spans.items(), start=1)
        turn = claims[0].id.partition(".")[0] if claims else ""
        return tuple(Claim(id=f"{turn}.c{number}", text=text, span=claim.span) for number, (text, claim) in pairs)

    def _is_speech(self, types: dict[str, float]) -> bool:
        """True if a claim of these types may be called an opinion or an abstention."""
        return types[OPINION] >= self._calibration.opinion or types[ABSTENTION] >= self._calibration.abstention

    def _verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check | Unchecked]:
        unread = _unread(claims, evidence, english=not self._multilingual)
        readable = [claim for claim, why in zip(claims, unread, strict=True) if why is None]
        inner = {claim.id: statement for claim in readable if (statement := denied_statement(claim))}
        found = self._verify_readable([*readable, *inner.values()], evidence)
        inside = dict(zip(inner, found[len(readable) :], strict=True))
        checks = iter([inverted(check, inside.get(check.claim.id)) for check in found[: len(readable)]])
        return [why or next(checks) for why in unread]

    def _verify_readable(self, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check]:
        texts = [folded(claim.text) for claim in claims]
        known = pool(evidence)
        foreign_texts = {text for text in texts if self._multilingual and foreign(text)}
        narrow = self._read(claims, texts, choose(texts, known, self._embedder, whole=foreign_texts))
        # Wider pieces cost as much again, so they are read for those claims alone that nothing has settled yet.
        around = [
            known.windows(text, read.pieces) if read.is_open and text not in foreign_texts else []
            for text, read in zip(texts, narrow, strict=True)
        ]
        wide = self._read(claims, texts, around)
        weighed = [few.with_(more) for few, more in zip(narrow, wide, strict=True)]
        against = self._on_topic(texts, [contested(*one) for one in zip(claims, weighed, strict=True)])
        return [_check(*one) for one in zip(claims, weighed, against, strict=True)]

    def _read(
        self, claims: Sequence[Claim], texts: Sequence[str], found: Sequence[Sequence[EvidencePiece]]
    ) -> list[Weighed]:
        """The verifier's probabilities for all pieces of all claims, in one batch.

        Args:
            claims: what is held against its pieces.
            texts: the claims' texts, folded.
            found: the pieces of each claim.
        """
        chosen = [
            [one for one in some if can_affect_verdict(one, text)] for text, some in zip(texts, found, strict=True)
        ]
        pairs = [(piece.text, text) for text, pieces in zip(texts, chosen, strict=True) for piece in pieces]
        rows = iter(self._verifier.probabilities(pairs) if pairs else ())
        judged = [[(piece, next(rows)) for piece in pieces] for pieces in chosen]
        return [self._weigh(claim, pieces) for claim, pieces in zip(claims, judged, strict=True)]

    def _weigh(self, claim: Claim, judged: Sequence[tuple[EvidencePiece, NDArray[np.float32]]]) -> Weighed:
        needed = max(self._calibration.supported, SUBJECTIVE_SUPPORT if about_itself(claim) else 0.0)
        support = [(piece, support_score(piece, claim, row, needed)) for piece, row in judged if piece.supports]
        denied = [(piece, refutation(piece, claim, row)) for piece, row in judged if piece.refutes]
        against = [(piece, score) for piece, score in denied if score >= self._calibration.contradicted]
        return Weighed([piece for piece, _ in judged], needed, support, against)

    def _on_topic(self, texts: Sequence[str], against: Sequence[Sequence[Scored]]) -> list[list[Scored]]:
        """The evidence against each claim, where both are on one topic. All are embedded in one call."""
        pairs = [(text, piece.text) for text, found in zip(texts, against, strict=True) for piece, _ in found]
        if not pairs:
            return [[] for _ in texts]
        named = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(named, self._embedder.embed(named), strict=True))
        return [
            [(piece, score) for piece, score in found if float(vectors[text] @ vectors[piece.text]) >= COUNTER_COSINE]
            for text, found in zip(texts, against, strict=True)
        ]

    def _categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> list[Finding | Unchecked]:
        said = evidence_text(evidence)
        types = self._types([type_text(check) for check in checks])
        return [
            self._finding(check, found, evidence.documents, said) for check, found in zip(checks, types, strict=True)
        ]

    def _types(self, claims: Sequence[str]) -> list[dict[str, float]]:
        """How likely each claim is a fact, an opinion and an abstention: what the head finds, where no cue knows better."""
        if not claims:
            return []
        asked = [claim for claim in claims if not self._is_surely_fact(claim)]
        texts = [cues.without_quotes(folded(claim)) for claim in asked]
        rows = self._head.probabilities(self._embedder.embed(texts), texts) if asked else ()
        names = self._calibration.type_labels
        found = {
            # Rounded: what else was in the batch shows in the last digits, and one turn has one report on every way in.
            claim: self._with_cues(
                claim, {name: round(float(share), 6) for name, share in zip(names, row, strict=True)}
            )
            for claim, row in zip(asked, rows, strict=True)
        }
        return [found.get(claim) or {FACTUAL: 1.0, OPINION: 0.0, ABSTENTION: 0.0} for claim in claims]

    def _is_surely_fact(self, claim: str) -> bool:
        """True if the head need not be asked, which saves an embedding, or knows no word of the claim's language."""
        return cues.plain_figure(claim) or (self._multilingual and foreign(folded(claim)) is not None)

    def _with_cues(self, text: str, types: dict[str, float]) -> dict[str, float]:
        limits = self._calibration
        if cues.abstains(text):
            types = types | {ABSTENTION: max(types[ABSTENTION], limits.abstention)}
        elif cues.subjective(text):
            types = types | {OPINION: max(types[OPINION], limits.opinion), ABSTENTION: 0.0}
        elif cues.personal(text):
            types = types | {OPINION: max(types[OPINION], limits.opinion)}
        return types

    def _is_held(self, claim: str, documents: Sequence[Passage]) -> bool:
        """True if a claim that reads like an opinion is still checked against the documents."""
        if self._recommendations == "lacking_evidence" and cues.recommends(claim):
            return True
        return may_be_settled(claim) and is_mentioned(claim, documents)

    def _finding(
        self, check: Check, types: dict[str, float], documents: Sequence[Passage], said: str | None
    ) -> Finding:
        text, limits = type_text(check), self._calibration
        if types[ABSTENTION] >= limits.abstention:
            reason = "It refuses, or says that its speaker does not know."
            return Finding(claim=check.claim, label=Label.ABSTENTION, confidence=types[ABSTENTION], reason=reason)
        opinion, missing = types[OPINION] >= limits.opinion, missing_everywhere(text, said)
        # A figure that stands nowhere is no opinion where the documents speak of its matter, unless it is of the speaker's life.
        own = cues.personal(text) and not (cues.of_a_mind(text) or cues.recommends(text))
        made_up = missing is not None and not own and bool(content_words(text) & content_words(said or ""))
        if opinion and (made_up or self._is_held(text, documents)):
            opinion, types = False, {**types, OPINION: 0.0}
        against = [found for found in check.counter_evidence if not (opinion and found.source is SourceKind.DOCUMENT)]
        if against:
            worst = against[0]
            reason = f"{source_phrase(worst)} says otherwise: {short(worst.quote)}"
            return Finding(
                claim=check.claim,
                label=Label.CONTRADICTED,
                confidence=worst.score,
                evidence=tuple(against),
                reason=reason,
            )
        if opinion:
            reason = "It is an opinion, an experience, a recommendation or a remark: no source could prove it."
            return Finding(claim=check.claim, label=Label.OUT_OF_SCOPE, confidence=types[OPINION], reason=reason)
        sure = check.confidence * (1 - types[OPINION])
        sure = max(sure, NOWHERE) if missing else sure
        reason = "Nothing in the documents or in what is known confirms it or speaks against it."
        if missing:
            reason = f"{missing!r} stands nowhere in the documents or in what is known."
        return Finding(claim=check.claim, label=Label.LACKING_EVIDENCE, confidence=sure, reason=reason)


def _unread(claims: Sequence[Claim], evidence: EvidenceSet, *, english: bool) -> list[Unchecked | None]:
    """For each claim that is nothing to judge why it is none: code, or what cannot be read and stands in no evidence either."""
    known = " ".join(passage.text for passage in (*evidence.documents, *evidence.knowledge))
    return [_unread_claim(claim, known, english=english) for claim in claims]


def _unread_claim(claim: Claim, known: str, *, english: bool) -> Unchecked | None:
    if is_code(claim.text):
        return Unchecked(claim=claim, error="code is not judged", what="code")
    if len(claim.text) > MAX_STATEMENT:
        # The verifier reads the beginning of what is too long for it: the rest would pass on the beginning's verdict.
        error = f"it has {len(claim.text):,} characters without an end; a claim of more than {MAX_STATEMENT:,} is not judged"
        return Unchecked(claim=claim, error=error)
    text = folded(claim.text)
    language = None if text.strip(" .!?") in known else foreign(text)
    if language is not None and not english:
        return None
    parts = [part for part in unreadable_parts(text) if part.strip(" .!?") not in known]
    if language is not None:
        error = f"it looks like {language}; {READS_ENGLISH}"
    elif parts:
        error = f"it looks encoded, or is no English: {short(parts[0], 60)!r} cannot be read"
    else:
        return None
    return Unchecked(claim=claim, error=error, what="encoded")


def _check(claim: Claim, read: Weighed, against: Sequence[Scored]) -> Check:
    """The check of a claim: `against` are the pieces that contradict it, and outrank those that confirm it."""
    best, found = read.best, read.found
    if found and not against:
        return Check(claim=claim, supported=True, confidence=best, evidence=quotes(found), support=best)
    counter_evidence = quotes(against)
    if found and all(one.origin.source is SourceKind.DOCUMENT for one, _ in found):
        return _disputed_check(claim, found, against)
    confidence = against[0][1] if found else 1.0 - best
    return Check(claim=claim, supported=False, confidence=confidence, counter_evidence=counter_evidence, support=best)


def _disputed_check(claim: Claim, found: Sequence[Scored], against: Sequence[Scored]) -> Check:
    """A claim that one document confirms and another one denies: neither verified nor contradicted."""
    for_it, against_it = quotes(found), quotes(against)
    reason = f"The sources disagree: {short(for_it[0].quote)} / {short(against_it[0].quote)}"
    confidence = against_it[0].score
    finding = Finding(
        claim=claim,
        label=Label.LACKING_EVIDENCE,
        confidence=confidence,
        evidence=(*for_it, *against_it)[:MAX_EVIDENCE],
        reason=reason,
    )
    return Check(
        claim=claim,
        supported=False,
        confidence=confidence,
        counter_evidence=against_it,
        finding=finding,
        support=max(score for _, score in found),
    )
