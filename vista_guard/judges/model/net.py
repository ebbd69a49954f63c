"""The net under a chat model that is careless, or does as a document tells it: why a label does not count.

VERIFIED and CONTRADICTED need words of the evidence, of a fact not those of an opinion; VERIFIED needs words that the shipped
rules and verifier don't read otherwise. OUT_OF_SCOPE and ABSTENTION need a claim that the embedded judge takes for an opinion
or an abstention as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from vista_guard.inference.onnx import shared_encoder
from vista_guard.judges.contract import CONTRADICTED, SUPPORTED
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.embedded.english.words import word_stems
from vista_guard.judges.embedded.evidence import same_statement
from vista_guard.judges.embedded.judge import EmbeddedJudge
from vista_guard.judges.embedded.models import Calibration, ClaimTypeHead, ShippedVerifier
from vista_guard.judges.embedded.opposites import is_mentioned
from vista_guard.judges.embedded.quantities import in_one_form
from vista_guard.judges.embedded.support import (
    decides,
    evidence_text,
    find_veto,
    missing_everywhere,
    shorten,
    tells_of_user,
)
from vista_guard.judges.embedded.veto import other_limit
from vista_guard.judges.model.answers.labels import find_quotes
from vista_guard.judges.model.answers.parsing import ParsedCategory
from vista_guard.policy.turn_risk import FACTS
from vista_guard.reading.canonical import folded
from vista_guard.reading.passages import sentence_spans
from vista_guard.reading.visible import storable
from vista_guard.types import Claim, EvidenceSet, Label, Passage, SourceKind, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SILENT = ((0.0, 0.5), (1 / 3, 0.2), (1.0, 0.08))
"""Support by the shipped verifier below which a quote does not speak of its claim, by the greatest share of the claim's content
words in it. Chosen on 700 pairs of a claim and a sentence on something else, 1.4 % of which pass by the quoted sentence alone,
and on 35 paraphrases, of which 4 are asked about again; none was held out."""
_ASSISTANT = re.compile(r"\bthe assistant\b", re.IGNORECASE)
_FIGURE = re.compile(r"\d[\d.,:]*\d|\d")


def doubts(
    said: Sequence[tuple[Claim, ParsedCategory]], evidence: EvidenceSet, *, quoting: bool = True
) -> list[str | None]:
    """Why each label does not count, for "MODEL ... twice"; None where it does.

    Args:
        said: claims, with the model's labels and quotes.
        evidence: what the model saw.
        quoting: whether the prompt asks for quotes.
    """
    return [_doubt(claim, category, evidence, quoting=quoting) for claim, category in said]


def _doubt(claim: Claim, category: ParsedCategory, evidence: EvidenceSet, *, quoting: bool) -> str | None:
    label = category.label
    if label not in FACTS:
        stated = _states_something(claim, evidence)
        return f"called a statement of fact {label}" if stated else None
    if label is Label.LACKING_EVIDENCE:
        return None
    if not quoting:
        missing = missing_everywhere(claim.text, evidence_text(evidence)) if label is Label.VERIFIED else None
        return missing and f"gave {label}, and {missing!r} does not appear in the evidence"
    found = find_quotes(category.quote, evidence)
    if not found:
        return f"gave {label} without words of the evidence"
    if not any(decides(passage, claim) for passage, _ in found):
        return f"gave {label} for what was only an opinion"
    return _other_words(claim, found) if label is Label.VERIFIED else None


def _other_words(claim: Claim, found: Sequence[tuple[Passage, Span]]) -> str | None:
    """Why the quoted sentences do not carry the claim; None if they do."""
    text = folded(claim.text)
    said_before = all(passage.source is SourceKind.HISTORY for passage, _ in found)
    if said_before and not (tells_of_user(text) or _ASSISTANT.search(text)):
        return "gave VERIFIED for what was only said before"
    quoted = folded("\n".join(_sentences(passage, span) for passage, span in found))
    if foreign_language(text) or foreign_language(quoted):
        lost = [figure for figure in _FIGURE.findall(text) if figure not in _FIGURE.findall(quoted)]
        return f"gave VERIFIED, and its quote lacks {lost[0]!r}" if lost else None
    veto = find_veto(text, quoted) or other_limit(text, quoted, counts=True)
    if veto:
        return f"gave VERIFIED, and its quote has no such {veto!r}"
    if any(same_statement(sentence, text) for sentence in quoted.split("\n")) or _is_read_alike(text, quoted, found):
        return None
    return f"gave VERIFIED, and its quote does not say so: {shorten(quoted, 80)!r}"


def _is_read_alike(text: str, quoted: str, found: Sequence[tuple[Passage, Span]]) -> bool:
    """True if the shipped verifier does not read the quoted sentences, alone and with the one before, as silent or contrary."""
    shipped = _shipped()
    around = folded("\n".join(_sentences(passage, span, before=1) for passage, span in found))
    rows = shipped.verifier.probabilities([in_one_form(quoted, text), in_one_form(around, text)])
    support = float(max(row[SUPPORTED] for row in rows))
    stems = word_stems(text)
    share = len(stems & word_stems(quoted)) / len(stems) if stems else 1.0
    is_silent = support < next(needed for most, needed in SILENT if share <= most)
    is_contrary = max(row[CONTRADICTED] for row in rows) >= shipped.contradicted and support < shipped.supported
    return not (is_silent or is_contrary)


def _sentences(passage: Passage, span: Span, *, before: int = 0) -> str:
    """The sentences in which a quote stands, and so many before, below their passage's title and headings; one a line."""
    spans = sentence_spans(passage.text)
    places = [place for place, sentence in enumerate(spans) if sentence.overlaps(span)]
    first, last = (max(places[0] - before, 0), places[-1]) if places else (0, -1)
    texts = [passage.text[sentence.start : sentence.end] for sentence in spans[first : last + 1]]
    return "\n".join([*filter(None, [passage.title]), *passage.headings, *texts])


def _states_something(claim: Claim, evidence: EvidenceSet) -> bool:
    """True if a claim is neither an opinion nor an abstention to the embedded judge.

    In other languages, if it has a figure and says the rest of it in the words of a document.
    """
    text = folded(claim.text)
    if any(map(foreign_language, (text, *(folded(passage.text) for passage in evidence.documents)))):
        return _FIGURE.search(text) is not None and is_mentioned(text, evidence.documents)
    return _shipped().judge.states(claim, evidence)


class _Embedder:
    """The shipped sentence encoder."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return shared_encoder("embedder", 128).run([storable(text) for text in texts])


@dataclass(frozen=True)
class _Shipped:
    """The shipped models, as the embedded judge reads them."""

    judge: EmbeddedJudge
    verifier: ShippedVerifier
    supported: float
    contradicted: float


@cache
def _shipped() -> _Shipped:
    calibration = Calibration.load()
    verifier = ShippedVerifier.load(calibration)
    judge = EmbeddedJudge(verifier, _Embedder(), ClaimTypeHead.load(), calibration)
    return _Shipped(judge, verifier, calibration.supported, calibration.contradicted)
