"""The texts around a turn, for sinks that were told to keep them. Nothing else of the house hands them on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vista_guard.turn.work import Work
from vista_guard.types import Document, EvidenceSet, Passage, Record, Role, Span, TurnReport, TurnTexts

MOST_CHARS = 400_000
"""Characters of one turn's documents that are kept; the rest is cut. A turn may bring two hundred documents of two million."""

CUT = "kept_characters"
"""In the metadata of a document that was cut: how much of it is there."""


def texts_of(work: Work, report: TurnReport, record: Record) -> TurnTexts:
    """What a sink with this `record` may keep of the turn. Only `full` has a draft that was not delivered as it was.

    Args:
        work: the finished turn.
        report: its report.
        record: `delivered` or `full`; `verdicts` has no texts.
    """
    if record == "verdicts":
        return TurnTexts()
    return TurnTexts(
        user_text=next((turn.text for turn in reversed(work.history) if turn.role is Role.USER), None),
        draft=work.turn.text if record == "full" and not _is_whole(work.turn.text, report) else None,
        documents=tuple(_within(work.turn.documents, MOST_CHARS)),
        evidence=() if work.evidence is None else _passages(work, work.evidence),
    )


def _is_whole(draft: str, report: TurnReport) -> bool:
    """Whether the draft was delivered as it was: the report has it."""
    whole = Span(start=0, end=len(draft))
    return report.response == draft and report.delivered_spans(whole) == (whole,)


def _passages(work: Work, evidence: EvidenceSet) -> tuple[Passage, ...]:
    # Passages of the turn's own documents are in those.
    found = () if work.turn.documents else evidence.documents
    return (*found, *evidence.knowledge)


def _within(documents: Sequence[Document], most: int) -> Iterator[Document]:
    for document in documents:
        kept = document.text[:most]
        most -= len(kept)
        if len(kept) == len(document.text):
            yield document
        else:
            yield document.model_copy(update={"text": kept, "metadata": {**document.metadata, CUT: len(kept)}})
