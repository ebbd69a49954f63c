"""Measures an extractor, an embedder or a verifier on rows of a generated set (LLM-OASIS, sections 6.1 and 7)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vista_guard.errors import JudgeError
from vista_guard.protocols import Decomposer, Embedder, Verifier
from vista_guard.types import Role, Turn
from vista_lab.metrics.claim_sets import DecompositionScore, score
from vista_lab.metrics.retrieval import DEPTH, RecallCurve, recall_curve
from vista_lab.oasis.training.nli import balanced_accuracy, predict
from vista_lab.training.rows import LABELS, ExtractorRow, Part, PassageWindow, RetrieverRow, Split, VerifierRow

KS = (1, 5, 10, 30, 100)
"""The depths to report."""


def measure(part: Part, model: str, split: Split[Any]) -> dict[str, float]:
    """Figures of a model, given by its settings name, on the held-out rows."""
    if part == "verifier":
        from vista_guard.judges.verifiers import build_verifier

        return verifier_figures(build_verifier(model).verifier, split.held_out)
    if part == "retriever":
        from vista_guard.stores.embedders import build_embedder

        curve = embedder_curve(build_embedder(model), split.held_out)
        return {f"R@{k}": curve.at(k) for k in KS}
    scored = extractor_score(load_extractor(model), split.held_out)
    easiness = scored.easiness.macro
    figures = {f"easiness {name}": getattr(easiness, name) for name in ("precision", "recall", "f1")}
    return figures | {"share of passages read": 1 - scored.unread / scored.easiness.turns}


def load_extractor(model: str) -> Decomposer:
    """The extractor of a settings name; `shipped` is the shipped rules."""
    from vista_guard.judges.decomposers.named import build_decomposer
    from vista_guard.stores.entries import OnnxEmbedder

    return cast(Decomposer, build_decomposer(model, OnnxEmbedder()))


def verifier_figures(verifier: Verifier, rows: Sequence[VerifierRow]) -> dict[str, float]:
    """Balanced accuracy of the likeliest label: of the three labels, and of supported or not."""
    gold, predicted = [LABELS.index(row.label) for row in rows], predict(verifier, rows)
    binary = ([int(label > 0) for label in labels] for labels in (gold, predicted))
    three = balanced_accuracy(gold, predicted)
    both = balanced_accuracy(*binary)
    return {"balanced accuracy, three labels": three, "balanced accuracy, supported or not": both}


@dataclass(frozen=True)
class ExtractorScore:
    """Easiness over passages. Passages that the extractor could not read count as having no claims."""

    easiness: DecompositionScore
    unread: int


def extractor_score(extractor: Decomposer, rows: Sequence[ExtractorRow]) -> ExtractorScore:
    """Easiness of the claims that the extractor takes from each text (Eq. 8 and 9)."""
    predicted = asyncio.run(_claims(extractor, [row.text for row in rows]))
    scored = score(zip([claims or [] for claims in predicted], [row.claims for row in rows], strict=True))
    assert scored is not None  # a split has held-out rows
    return ExtractorScore(scored, predicted.count(None))


async def _claims(extractor: Decomposer, texts: Sequence[str]) -> list[list[str] | None]:
    answers: list[list[str] | None] = []
    for text in texts:
        try:
            claims = await extractor.decompose(Turn(role=Role.ASSISTANT, text=text), ())
        except JudgeError:
            answers.append(None)
        else:
            answers.append([claim.text for claim in claims])
    return answers


def embedder_curve(
    embedder: Embedder,
    rows: Sequence[RetrieverRow],
    others: Mapping[PassageWindow, str] | None = None,
    depth: int = DEPTH,
) -> RecallCurve:
    """R@k of finding each claim's own passage among those of all rows (Eq. 10).

    Relevant is the passage that the claim was taken from. Windows that overlap it are left out of that claim's ranking: they say
    the same in part, so that they are neither right nor wrong.

    Args:
        embedder: as the settings build it; one with prefixes gets claims as queries.
        rows: claims with passages; the documents' own passages alone are searched, not what was generated of them.
        others: more windows of the documents, to make the corpus as large as in use.
        depth: the deepest k.
    """
    own_rows = [row for row in rows if row.original]
    corpus = dict(others or {}) | {row.source: row.passage for row in own_rows}
    sources = list(corpus)
    claims = list(dict.fromkeys((row.source, row.claim) for row in own_rows))
    vectors = embedder.embed([corpus[source] for source in sources])
    queries = getattr(embedder, "embed_queries", embedder.embed)([claim for _, claim in claims])
    near: dict[str, list[int]] = {}
    for place, source in enumerate(sources):
        near.setdefault(source.document, []).append(place)
    ranked = []
    for (own, _), query in zip(claims, queries, strict=True):
        scores = vectors @ query
        for place in near[own.document]:
            if sources[place] != own and sources[place].overlaps(own):
                scores[place] = -np.inf
        ranked.append([sources[place] for place in np.argsort(-scores, kind="stable")[:depth]])
    return recall_curve(ranked, [{own} for own, _ in claims], [own.document for own, _ in claims], depth)
