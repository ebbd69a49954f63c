"""The embedded judge: no key, no network, no torch. Rules decompose a turn; two small ONNX models judge its claims."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vista_guard._aio import run_long
from vista_guard.errors import JudgeError
from vista_guard.inference.weights import WEIGHTS
from vista_guard.judges.contract import CONTRADICTED, growing, opinion_check
from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.asides import inner_statements
from vista_guard.judges.embedded.english.decompose import MAX_STATEMENT, decompose, sentence_claims
from vista_guard.judges.embedded.english.questions import NOT_TRUE
from vista_guard.judges.embedded.english.segment import foreign_language, language_identifier
from vista_guard.judges.embedded.english.verbs import begins_imperative, finish_sentence, words_of
from vista_guard.judges.embedded.english.words import content_words, word_stems
from vista_guard.judges.embedded.evidence import TOPIC_COSINE, EvidencePiece, Pool, choose, pool, with_nearest
from vista_guard.judges.embedded.forms import is_code, unreadable_parts
from vista_guard.judges.embedded.mentions.passage import as_meant
from vista_guard.judges.embedded.models import (
    ABSTENTION,
    FACTUAL,
    OPINION,
    Calibration,
    CarefulReader,
    ClaimTypeHead,
    ReaderFit,
    ShippedVerifier,
)
from vista_guard.judges.embedded.opposites import is_mentioned, may_be_settled
from vista_guard.judges.embedded.support import (
    MAX_EVIDENCE,
    NOWHERE,
    ClaimPieces,
    Judged,
    Scored,
    about_itself,
    can_affect_verdict,
    contradictions,
    denied_statement,
    evidence_text,
    invert,
    missing_everywhere,
    quotes,
    refutation,
    shorten,
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
    Role,
    SourceKind,
    Turn,
    Unchecked,
    UncheckedClaim,
)

SUBJECTIVE_SUPPORT = 0.7
"""Minimum support for a claim about its speaker's own mind or life; documents never support or refute one."""
SURE_ABSTENTION = 0.98
"""Share from which the claim-type head needs no word of telling: of 1,670 written statements it takes 6 for abstentions."""
TOLD, TOLD_RIGHT = 0.9, 0.75
"""Probability of the careful reader from which a document tells what a claim says it leaves open, and how often that is so."""
SETTLED = 0.8
"""Probability from which a document contradicts what reads like an opinion: of 16 in fine development turns none."""
READS_ENGLISH = (
    'the embedded judge reads English. Use a model judge, for example judge = "openai:gpt-4o-mini" (docs/judges.md), '
    "or a multilingual verifier (docs/verifiers.md)"
)
_MERE_CODE = "it stands in code, and no evidence speaks of it: code is not judged"
_SHORT = 2000
"""Longest turn, in characters, that skips the queue: a few hundredths of a second of work."""
_SAMPLE = "I like the old lighthouse, which was built in 1871. Boats leave daily."
"""A text to load the models with."""


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
        reader: Verifier | None = None,
    ) -> None:
        self._verifier = verifier
        self._reader = reader
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
        quick: bool = False,
    ) -> EmbeddedJudge:
        """Loads the shipped judge, optionally with another verifier.

        Args:
            embedder: finds the evidence for a claim.
            folder: the weights folder.
            verifier: replaces the shipped one, which all judges of the process share.
            thresholds: minimum probabilities for supported, and contradicted; default: the shipped verifier's.
            recommendations: label of advice, instructions and permissions that no document mentions: "out_of_scope" as in
                the paper, or "lacking_evidence".
            multilingual: True if the verifier reads other languages too. Turns in them are judged sentence by sentence against
                whole passages, without the rules of English (claims, denials, claim types).
            quick: True leaves the careful reader out, which reads open claims again. It reads with the shipped verifier only.

        Raises:
            ConfigError: a weights file is missing or damaged.
        """
        calibration = Calibration.load(folder)
        if thresholds is not None:
            calibration = replace(calibration, supported=thresholds[0], contradicted=thresholds[1])
        fit = calibration.reader if verifier is None and not quick else None
        reader = CarefulReader(fit.max_length, folder) if fit else None
        verifier = verifier or ShippedVerifier.load(calibration, folder)
        head = ClaimTypeHead.load(folder)
        return cls(
            verifier,
            embedder,
            head,
            calibration,
            recommendations=recommendations,
            multilingual=multilingual,
            reader=reader,
        )

    @property
    def info(self) -> JudgeInfo:
        version, name = self._calibration.version, "embedded"
        if not isinstance(self._verifier, ShippedVerifier):
            return JudgeInfo(name=name, version=f"{version}+{self._verifier.name}")
        return JudgeInfo(
            name=name if self._reader or not self._calibration.reader else f"{name}-quick", version=version
        )

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with ids `t{turn index}.c{n}` and spans.

        Raises:
            JudgeError: the turn is clearly not English, and the verifier is not multilingual.
        """
        # Long turns share one thread; short ones never queue.
        run = asyncio.to_thread if len(turn.text) <= _SHORT else run_long
        return await run(self._decompose, turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """All claims in one batch. Support is the best piece's probability; no evidence is no support."""
        return await asyncio.to_thread(self._verify, claims, evidence)

    async def categorize(
        self,
        checks: Sequence[Check],
        evidence: EvidenceSet,
    ) -> Sequence[Finding | Unchecked]:
        """Abstention, then contradiction, then out of scope, else lacking evidence (VISTA §3, step 3).

        A claim that the documents mention is out of scope only if it is about a mind or a value: instructions, permissions and
        advice are checked against the documents.
        """
        return await asyncio.to_thread(self._categorize, checks, evidence)

    def warm(self) -> None:
        """Judges a claim of its own, so that no turn waits for models and tables to load. Blocks; asks no endpoint.

        Raises:
            ConfigError: a weights file is missing or damaged.
        """
        claims = self._decompose(Turn(role=Role.ASSISTANT, text=_SAMPLE), ())
        self._types([claim.text for claim in claims])
        language_identifier()
        if isinstance(self._verifier, ShippedVerifier):
            sample = Passage(source=SourceKind.DOCUMENT, source_id="sample", text=_SAMPLE)
            self._verify(claims, EvidenceSet(documents=(sample,)))

    def states(self, claim: Claim, evidence: EvidenceSet) -> bool:
        """True if this judge takes the claim for a statement that a source could settle, not for an opinion or an abstention."""
        (finding,) = self._categorize([Check(claim=claim, supported=False, confidence=1.0)], evidence)
        return not (isinstance(finding, Finding) and finding.label in (Label.OUT_OF_SCOPE, Label.ABSTENTION))

    async def aclose(self) -> None:
        """Closes the verifier, if it has connections."""
        close = getattr(self._verifier, "aclose", None)
        if close is not None:
            await close()

    def _decompose(self, turn: Turn, history: Sequence[Turn]) -> tuple[Claim, ...]:
        language = foreign_language(folded(turn.text))
        if language is not None and self._multilingual:
            return sentence_claims(turn, history)
        if language is not None:
            raise JudgeError(f"the turn looks like {language}; {READS_ENGLISH}")
        return as_meant(self._with_statements(decompose(turn, history, more=growing().more)), turn.text)

    def _with_statements(self, claims: Sequence[Claim]) -> tuple[Claim, ...]:
        """The claims; each opinion or abstention is followed by the statements inside it."""
        within = {
            claim: []
            if isinstance(claim, UncheckedClaim) or claim.text.lower().startswith(NOT_TRUE)
            else list(inner_statements(claim.text))
            for claim in claims
        }
        candidates = [claim for claim, statements in within.items() if statements]
        types = zip(candidates, self._types([claim.text for claim in candidates]), strict=True)
        speech = {claim for claim, shares in types if self._is_speech(shares)}
        spans = dict[str, Claim]()
        for claim in claims:
            texts = (finish_sentence(statement, ()) for statement in within[claim]) if claim in speech else ()
            for text in (claim.text, *texts):
                spans.setdefault(text, claim)
        pairs = enumerate(spans.items(), start=1)
        turn = claims[0].id.partition(".")[0] if claims else ""
        return tuple(
            claim.model_copy(update={"id": f"{turn}.c{number}", "text": text}) for number, (text, claim) in pairs
        )

    def _is_speech(self, types: dict[str, float]) -> bool:
        """True if these type probabilities allow an opinion or an abstention."""
        return types[OPINION] >= self._calibration.opinion or types[ABSTENTION] >= self._calibration.abstention

    def _verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check | Unchecked]:
        unread = _unreadable_claims(claims, evidence, english=not self._multilingual)
        readable = [_unmarked(claim) for claim, why in zip(claims, unread, strict=True) if why is None]
        inner = {claim.id: statement for claim in readable if (statement := denied_statement(claim))}
        results = self._verify_readable([*readable, *inner.values()], evidence)
        inside = dict(zip(inner, results[len(readable) :], strict=True))
        checks = [invert(check, inside.get(check.claim.id)) for check in results[: len(readable)]]
        named = {claim.id: claim for claim in claims}
        checks = [_of_claim(check, named[check.claim.id]) for check in checks]
        answers = iter(self._without_mere_code(checks, evidence))
        return [why or next(answers) for why in unread]

    def _without_mere_code(self, checks: Sequence[Check], evidence: EvidenceSet) -> list[Check | Unchecked]:
        """The checks; a string or comment of which no evidence speaks is code, which is not judged."""
        silent = [check for check in checks if check.claim.in_code and not (check.supported or check.counter_evidence)]
        texts = [folded(check.claim.text) for check in silent]
        pieces = choose(texts, pool(evidence), self._embedder) if texts else []
        near = [
            [(piece, 0.0) for piece in row if any(map(str.isalpha, word_stems(text) & word_stems(piece.text)))]
            for text, row in zip(texts, pieces, strict=True)
        ]
        spoken = self._on_topic(texts, near)
        mere = {check.claim.id for check, row in zip(silent, spoken, strict=True) if not row}
        return [
            Unchecked(claim=check.claim, error=_MERE_CODE, what="code") if check.claim.id in mere else check
            for check in checks
        ]

    def _verify_readable(self, claims: Sequence[Claim], evidence: EvidenceSet) -> list[Check]:
        texts = [folded(claim.text) for claim in claims]
        known = pool(evidence)
        foreign_texts = {text for text in texts if self._multilingual and foreign_language(text)}
        narrow = self._weigh_all(claims, texts, choose(texts, known, self._embedder, whole=foreign_texts))
        # Wider pieces cost as much again, so only undecided claims get them.
        around = [
            known.windows(text, read.pieces) if read.is_open and text not in foreign_texts else []
            for text, read in zip(texts, narrow, strict=True)
        ]
        wide = self._weigh_all(claims, texts, around)
        weighed = [few.with_(more) for few, more in zip(narrow, wide, strict=True)]
        told = self._told_after_all(claims, texts, weighed, known)
        weighed = self._read_again(claims, texts, weighed, known)
        against = [contradictions(*row) for row in zip(claims, weighed, strict=True)]
        checks = [_check(*row) for row in zip(claims, weighed, against, strict=True)]
        return [told.get(check.claim.id, check) for check in checks]

    def _weigh_all(
        self, claims: Sequence[Claim], texts: Sequence[str], by_claim: Sequence[Sequence[EvidencePiece]]
    ) -> list[ClaimPieces]:
        """The verifier's probabilities for all pieces of all claims, in one batch.

        Args:
            claims: the claims to verify.
            texts: the claims' texts, folded.
            by_claim: the pieces of each claim.
        """
        chosen = [
            [candidate for candidate in candidates if can_affect_verdict(candidate, claim)]
            for claim, candidates in zip(claims, by_claim, strict=True)
        ]
        pairs = [piece.pair(text) for text, pieces in zip(texts, chosen, strict=True) for piece in pieces]
        rows = iter(self._verifier.probabilities(pairs) if pairs else ())
        judged = [[(piece, next(rows)) for piece in pieces] for pieces in chosen]
        return [self._weigh(claim, pieces, self._calibration) for claim, pieces in zip(claims, judged, strict=True)]

    def _read_again(
        self, claims: Sequence[Claim], texts: Sequence[str], weighed: Sequence[ClaimPieces], known: Pool
    ) -> list[ClaimPieces]:
        """The pieces as weighed, but of each open claim only the decisive ones, as both readers weigh them together.

        The careful reader reads them with the sentences nearest to the claim.
        """
        reader, fit = self._reader, self._calibration.reader
        if reader is None or fit is None:
            return list(weighed)
        parts = [
            (index, rows, among)
            for index, few in enumerate(weighed)
            if few.disputing or fit.is_open(few.best)
            for rows, among in few.to_read(self._calibration.contradicted)
        ]
        read = with_nearest(
            [texts[index] for index, _, _ in parts],
            [[piece for piece, _ in rows] for _, rows, _ in parts],
            [among for _, _, among in parts],
            known,
            self._embedder,
        )
        again = [
            (index, piece, piece.pair(texts[index]), quick)
            for (index, rows, _), pieces in zip(parts, read, strict=True)
            for piece, (_, quick) in zip(pieces, rows, strict=True)
        ]
        asked = list(dict.fromkeys(pair for _, _, pair, _ in again))
        careful = dict(zip(asked, reader.probabilities(asked), strict=True)) if asked else {}
        judged = defaultdict[int, list[Judged]](list)
        for index, piece, pair, quick in again:
            judged[index].append((piece, fit.combine(quick, careful[pair])))
        return [
            few.read_again(self._weigh(claims[index], judged[index], fit)) if index in judged else few
            for index, few in enumerate(weighed)
        ]

    def _told_after_all(
        self, claims: Sequence[Claim], texts: Sequence[str], weighed: Sequence[ClaimPieces], known: Pool
    ) -> dict[str, Check]:
        """The checks, by claim id, of claims that the documents leave open what they do tell, as the careful reader finds."""
        asked = [index for index, text in enumerate(texts) if cues.may_abstain(text) or cues.abstains(text)]
        if self._reader is None or not asked:
            return {}
        shares = self._types([texts[index] for index in asked])
        silent = [
            i for i, types in zip(asked, shares, strict=True) if types[ABSTENTION] >= self._calibration.abstention
        ]
        found = self._said_otherwise([texts[i] for i in silent], [weighed[i].pieces for i in silent], known, TOLD)
        return {claims[silent[place]].id: _told_check(claims[silent[place]], piece) for place, piece in found.items()}

    def _said_otherwise(
        self, texts: Sequence[str], pieces: Sequence[Sequence[EvidencePiece]], known: Pool, least: float
    ) -> dict[int, EvidencePiece]:
        """The piece that contradicts a text with at least this probability, as the careful reader finds, by the text's place."""
        plain = [[piece for piece in some if piece.is_plain] for some in pieces]
        near = with_nearest(texts, [some[:1] for some in plain], plain, known, self._embedder)
        read = [(place, some[0]) for place, some in enumerate(near) if some]
        pairs = [piece.pair(texts[place]) for place, piece in read]
        rows = self._reader.probabilities(pairs) if self._reader and pairs else ()
        return {
            place: piece for (place, piece), row in zip(read, rows, strict=True) if float(row[CONTRADICTED]) >= least
        }

    def _weigh(self, claim: Claim, judged: Sequence[Judged], limits: Calibration | ReaderFit) -> ClaimPieces:
        needed = max(limits.supported, SUBJECTIVE_SUPPORT if about_itself(claim) else 0.0)
        support = [(piece, support_score(piece, claim, row, needed)) for piece, row in judged if piece.supports]
        denied = [(piece, refutation(piece, claim, row)) for piece, row in judged if piece.refutes]
        against = [(piece, score) for piece, score in denied if score >= limits.contradicted]
        return ClaimPieces(judged, needed, support, against)

    def _on_topic(self, texts: Sequence[str], against: Sequence[Sequence[Scored]]) -> list[list[Scored]]:
        """The pieces of each claim that are on its topic, by one embedding call."""
        pairs = [(text, piece.text) for text, scored in zip(texts, against, strict=True) for piece, _ in scored]
        if not pairs:
            return [[] for _ in texts]
        named = list(dict.fromkeys(text for pair in pairs for text in pair))
        vectors = dict(zip(named, self._embedder.embed(named), strict=True))
        return [
            [(piece, score) for piece, score in scored if float(vectors[text] @ vectors[piece.text]) >= TOPIC_COSINE]
            for text, scored in zip(texts, against, strict=True)
        ]

    def _categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> list[Finding | Unchecked]:
        known_text = evidence_text(evidence)
        types = self._types([type_text(check) for check in checks])
        findings = [
            check.finding or self._finding(check, shares, evidence.documents, known_text)
            for check, shares in zip(checks, types, strict=True)
        ]
        return self._settled(findings, evidence)

    def _settled(self, findings: Sequence[Finding], evidence: EvidenceSet) -> list[Finding | Unchecked]:
        """The findings; what reads like an opinion, but the documents settle otherwise, is contradicted: "Dogs are welcome"."""
        if self._reader is None or not evidence.documents:
            return list(findings)
        open_ones = [
            place
            for place, one in enumerate(findings)
            if one.label is Label.OUT_OF_SCOPE and may_be_settled(one.claim.text)
        ]
        if not open_ones:
            return list(findings)
        texts = [folded(findings[place].claim.text) for place in open_ones]
        known = pool(EvidenceSet(documents=evidence.documents))
        found = self._said_otherwise(texts, choose(texts, known, self._embedder), known, SETTLED)
        settled = {open_ones[place]: piece for place, piece in found.items()}
        return [
            _contradicted(one.claim, settled[place], "says otherwise") if place in settled else one
            for place, one in enumerate(findings)
        ]

    def _types(self, claims: Sequence[str]) -> list[dict[str, float]]:
        """Probabilities of fact, opinion and abstention for each claim: the head's, overruled by cues."""
        if not claims:
            return []
        unsure = [claim for claim in claims if not self._is_surely_fact(claim)]
        texts = [cues.without_quotes(folded(claim)) for claim in unsure]
        rows = self._head.probabilities(self._embedder.embed(texts), texts) if unsure else ()
        names = self._calibration.type_labels
        by_claim = {
            # Rounded: the last digits depend on the batch, and a turn must get the same report from every interface.
            claim: self._with_cues(
                claim, {name: round(float(share), 6) for name, share in zip(names, row, strict=True)}
            )
            for claim, row in zip(unsure, rows, strict=True)
        }
        return [by_claim.get(claim) or {FACTUAL: 1.0, OPINION: 0.0, ABSTENTION: 0.0} for claim in claims]

    def _is_surely_fact(self, claim: str) -> bool:
        """True if the head is not needed, which saves an embedding, or does not know the claim's language."""
        return cues.plain_figure(claim) or (self._multilingual and foreign_language(folded(claim)) is not None)

    def _with_cues(self, text: str, types: dict[str, float]) -> dict[str, float]:
        limits = self._calibration
        if cues.abstains(text):
            types = types | {ABSTENTION: max(types[ABSTENTION], limits.abstention)}
        elif cues.subjective(text):
            types = types | {OPINION: max(types[OPINION], limits.opinion), ABSTENTION: 0.0}
        elif cues.personal(text):
            types = types | {OPINION: max(types[OPINION], limits.opinion)}
        elif cues.of_a_house(text):
            types = types | {ABSTENTION: 0.0}
        elif (orders := begins_imperative(words_of(text))) or not (
            types[ABSTENTION] >= SURE_ABSTENTION or cues.may_abstain(text)
        ):
            # The head takes some denials for abstentions. An order or a permission is advice instead.
            advice = types[ABSTENTION] if orders or cues.recommends(text) else 0.0
            types = types | {OPINION: max(types[OPINION], advice), ABSTENTION: 0.0}
        return types

    def _is_checkable(self, claim: str, documents: Sequence[Passage]) -> bool:
        """True if a claim that reads like an opinion is still checked against the documents."""
        if self._recommendations == "lacking_evidence" and cues.recommends(claim):
            return True
        told = cues.of_a_house(claim) or cues.chooses_freely(claim)
        return may_be_settled(claim) and (told or is_mentioned(claim, documents))

    def _finding(
        self, check: Check, types: dict[str, float], documents: Sequence[Passage], known_text: str | None
    ) -> Finding:
        text, limits = type_text(check), self._calibration
        if types[ABSTENTION] >= limits.abstention:
            reason = "It refuses, or says that its speaker does not know."
            return Finding(claim=check.claim, label=Label.ABSTENTION, confidence=types[ABSTENTION], reason=reason)
        opinion, missing = types[OPINION] >= limits.opinion, missing_everywhere(text, known_text)
        # A figure found nowhere is no opinion if the documents mention the topic, unless it is about the speaker's life.
        is_personal = cues.personal(text) and not (cues.of_a_mind(text) or cues.recommends(text))
        made_up = (
            missing is not None and not is_personal and bool(content_words(text) & content_words(known_text or ""))
        )
        if opinion and (made_up or self._is_checkable(text, documents)):
            opinion, types = False, {**types, OPINION: 0.0}
        against = [quote for quote in check.counter_evidence if not (opinion and quote.source is SourceKind.DOCUMENT)]
        if against:
            worst = against[0]
            reason = f"{source_phrase(worst)} says otherwise: {shorten(worst.quote)}"
            return Finding(
                claim=check.claim,
                label=Label.CONTRADICTED,
                confidence=worst.score,
                evidence=tuple(against),
                reason=reason,
            )
        if cues.marked_unsourced(check.claim.text):
            reason = "It says of itself that no source has it."
            return Finding(claim=check.claim, label=Label.ABSTENTION, confidence=1.0, reason=reason)
        if opinion:
            reason = "It is an opinion, an experience, a recommendation or a remark: no source could prove it."
            return Finding(claim=check.claim, label=Label.OUT_OF_SCOPE, confidence=types[OPINION], reason=reason)
        sure = check.confidence * (1 - types[OPINION])
        sure = max(sure, NOWHERE) if missing else sure
        reason = "No quote was found that decides it."
        if missing:
            reason = f"{missing!r} does not appear in the documents or earlier turns."
        return Finding(claim=check.claim, label=Label.LACKING_EVIDENCE, confidence=sure, reason=reason)


def _of_claim(check: Check, claim: Claim) -> Check:
    """The check, and its finding if it has one, of the claim as it was made."""
    if check.claim == claim:
        return check
    finding = check.finding and check.finding.model_copy(update={"claim": claim})
    return check.model_copy(update={"claim": claim, "finding": finding})


def _unmarked(claim: Claim) -> Claim:
    """The claim to look up: what it says of its sources itself is no part of it."""
    marked = cues.marked_unsourced(claim.text)
    return claim.model_copy(update={"text": cues.without_mark(claim.text)}) if marked else claim


def _unreadable_claims(claims: Sequence[Claim], evidence: EvidenceSet, *, english: bool) -> list[Unchecked | None]:
    """`Unchecked` for each claim that cannot be judged (code, or unreadable and not in the evidence), None for the others."""
    known = " ".join(passage.text for passage in (*evidence.documents, *evidence.knowledge))
    return [_unreadable_claim(claim, known, english=english) for claim in claims]


def _unreadable_claim(claim: Claim, known: str, *, english: bool) -> Unchecked | None:
    if is_code(claim.text):
        return Unchecked(claim=claim, error="code is not judged", what="code")
    if len(claim.text) > MAX_STATEMENT:
        # The verifier truncates long texts: the rest would pass on the beginning's verdict.
        error = f"it has {len(claim.text):,} characters without an end; a claim of more than {MAX_STATEMENT:,} is not judged"
        return Unchecked(claim=claim, error=error)
    text = folded(claim.text)
    language = None if text.strip(" .!?") in known else foreign_language(text)
    if language is not None and not english:
        return None
    parts = [part for part in unreadable_parts(text) if part.strip(" .!?") not in known]
    if language is not None:
        error = f"it looks like {language}; {READS_ENGLISH}"
    elif parts:
        error = f"it looks encoded, or is no English: {shorten(parts[0], 60)!r} cannot be read"
    else:
        return None
    return Unchecked(claim=claim, error=error, what="encoded")


def _check(claim: Claim, weighed: ClaimPieces, against: Sequence[Scored]) -> Check:
    """The check of a claim: `against` are contradicting pieces, which outrank the confirming ones."""
    best, confirming = weighed.best, weighed.found
    if confirming and not against:
        if all(piece.origin.label is Label.OUT_OF_SCOPE for piece, _ in confirming):
            return opinion_check(claim, quotes(confirming), best)
        return Check(claim=claim, supported=True, confidence=best, evidence=quotes(confirming), support=best)
    counter_evidence = quotes(against)
    if any(piece.origin.source is SourceKind.DOCUMENT for piece, _ in confirming):
        return _disputed_check(claim, confirming, against)
    confidence = against[0][1] if confirming else 1.0 - best
    return Check(claim=claim, supported=False, confidence=confidence, counter_evidence=counter_evidence, support=best)


def _told_check(claim: Claim, piece: EvidencePiece) -> Check:
    """The check of a claim that nothing is said about something that this piece tells."""
    finding = _contradicted(claim, piece, "does say")
    return Check(
        claim=claim, supported=False, confidence=TOLD_RIGHT, counter_evidence=finding.evidence, finding=finding
    )


def _contradicted(claim: Claim, piece: EvidencePiece, says: str) -> Finding:
    """The finding that a piece contradicts a claim, as the careful reader alone has it."""
    evidence = quotes([(piece, TOLD_RIGHT)])
    reason = f"{source_phrase(evidence[0])} {says}: {shorten(evidence[0].quote)}"
    return Finding(claim=claim, label=Label.CONTRADICTED, confidence=TOLD_RIGHT, evidence=evidence, reason=reason)


def _disputed_check(claim: Claim, confirming: Sequence[Scored], against: Sequence[Scored]) -> Check:
    """The check of a claim that one document confirms and another denies: neither verified nor contradicted."""
    for_it, against_it = quotes(confirming), quotes(against)
    reason = f"The sources disagree: {shorten(for_it[0].quote)} / {shorten(against_it[0].quote)}"
    confidence = against_it[0].score
    finding = Finding(
        claim=claim,
        label=Label.LACKING_EVIDENCE,
        confidence=confidence,
        evidence=(*for_it[: MAX_EVIDENCE - 1], *against_it)[:MAX_EVIDENCE],
        reason=reason,
    )
    return Check(
        claim=claim,
        supported=False,
        confidence=confidence,
        counter_evidence=against_it,
        finding=finding,
        support=max(score for _, score in confirming),
    )
