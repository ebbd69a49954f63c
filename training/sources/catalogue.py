"""Every set that people wrote or labelled, and the claims written for this project: name, reader, files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from training.sources import (
    answers,
    evidence,
    questions,
    reasoning,
    sentence_pairs,
    summaries,
    tables,
    written,
)
from training.sources.parts import Part
from vista_lab.synthesis.rewriters.carrier import KindPair

Reader = Callable[[Path, Part], Iterable[KindPair]]
FILES = tuple(
    name
    for module in (answers, evidence, questions, reasoning, sentence_pairs, summaries, tables, written)
    for name in module.FILES
)
"""Training files; development files are known to the readers alone."""
READERS: Mapping[str, Reader] = {
    "written": written.written,
    "vitaminc": evidence.vitaminc,
    "fm2": evidence.fm2,
    "cad": sentence_pairs.cad,
    "taxinli": sentence_pairs.taxinli,
    "paws": sentence_pairs.paws,
    "minimal_refutations": sentence_pairs.minimal_refutations,
    "double_negation": sentence_pairs.double_negation,
    "infotabs": tables.infotabs,
    "condaqa": questions.condaqa,
    "sharc": questions.sharc,
    "students": answers.students,
    "realsumm": summaries.realsumm,
    "defacto": summaries.defacto,
    "feverous": evidence.feverous,
    "scifact": evidence.scifact,
    "creak": evidence.creak,
    "trials": evidence.trials,
    "esnli": sentence_pairs.esnli,
    "onestop": sentence_pairs.onestop,
    "perspectives": sentence_pairs.perspectives,
    "key_points": sentence_pairs.key_points,
    "papers": tables.papers,
    "venues": tables.venues,
    "in_car": tables.in_car,
    "boolq": questions.boolq,
    "strategy": questions.strategy,
    "pubmed": questions.pubmed,
    "graded": answers.graded,
    "reviews": answers.reviews,
    "bump": summaries.bump,
    "legal": summaries.legal,
    "qmsum": summaries.qmsum,
    "clapnq": summaries.clapnq,
    "folio": reasoning.folio,
    "science": reasoning.science,
    "one_word": reasoning.one_word,
    "swaps": reasoning.swaps,
    "aspect": reasoning.aspect,
    "scope": reasoning.scope,
    "stories": reasoning.stories,
}
