"""Open claims are read again by the careful reader; settled ones are not, and no claim is without it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.raising import raises
from vista_guard import ConfigError, Guard
from vista_guard.inference.weights import READER, WEIGHTS
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.evidence import EvidencePiece
from vista_guard.judges.embedded.models import Calibration, CarefulReader, ClaimTypeHead, ReaderFit
from vista_guard.judges.embedded.support import ClaimPieces, quotes
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Document, Finding, Label, Passage, SourceKind, Span

FIT = ReaderFit(
    open_from=0.1,
    open_to=0.9,
    quick=0.0,
    careful=1.0,
    bias=(0, 0, 0),
    supported=0.5,
    contradicted=0.8,
    max_length=192,
)
NOTES = "The harbour cafe is on the quay. It serves soup until nine. Dogs stay outside."
SOUP, DOGS = "Soup is served until nine.", "Dogs may come in."


class Rows:
    """Implements `Verifier` with rows by claim, and keeps what it was asked."""

    name = "rows"

    def __init__(self, rows: Mapping[str, Sequence[float]]) -> None:
        self.rows, self.asked = rows, list[tuple[str, str]]()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        self.asked += pairs
        return np.array([self.rows[claim] for _, claim in pairs], np.float32)


def judged(quick: Rows, careful: Rows | None, fit: ReaderFit = FIT) -> dict[str, Label]:
    """The labels of both claims."""
    embedder = OnnxEmbedder()
    limits = replace(Calibration.load(), reader=fit)
    guard = Guard(EmbeddedJudge(quick, embedder, ClaimTypeHead.load(), limits, reader=careful), "monitor")
    report = guard.check_answer(f"{SOUP} {DOGS}", documents=[NOTES])
    return {finding.claim.text: finding.label for finding in report.findings}


def test_an_open_claim_is_read_again_and_a_settled_one_is_not() -> None:
    quick = Rows({SOUP: (0.95, 0.03, 0.02), DOGS: (0.6, 0.2, 0.2)})
    careful = Rows({DOGS: (0.05, 0.9, 0.05)})
    assert judged(quick, careful) == {SOUP: Label.VERIFIED, DOGS: Label.CONTRADICTED}
    assert {claim for _, claim in careful.asked} == {DOGS}
    assert len(careful.asked) <= 2
    assert judged(quick, None) == {SOUP: Label.VERIFIED, DOGS: Label.VERIFIED}


def test_a_claim_that_nothing_supports_is_settled() -> None:
    quick = Rows({SOUP: (0.95, 0.03, 0.02), DOGS: (0.01, 0.19, 0.8)})
    careful = Rows({})
    assert judged(quick, careful)[DOGS] is Label.LACKING_EVIDENCE
    assert careful.asked == []


def test_both_readers_have_their_say() -> None:
    quick, careful = (
        Rows({SOUP: (0.7, 0.2, 0.1), DOGS: (0.7, 0.2, 0.1)}),
        Rows(dict.fromkeys((SOUP, DOGS), (0.4, 0.3, 0.3))),
    )
    whole = replace(FIT, quick=1.0)
    assert judged(quick, careful)[SOUP] is not Label.VERIFIED
    assert judged(quick, careful, whole)[SOUP] is Label.VERIFIED


def test_a_second_piece_is_read_only_if_it_clearly_speaks_against_the_claim() -> None:
    passages = [Passage(source=SourceKind.DOCUMENT, source_id="d", text=text) for text in ("For it.", "Against it.")]
    best, worst = (EvidencePiece(passage, passage.text, passage) for passage in passages)
    for contradicted, read in ((0.6, [best]), (0.9, [best, worst])):
        rows = [
            (best, np.array((0.8, 0.1, 0.1), np.float32)),
            (worst, np.array((0.05, contradicted, 0.1), np.float32)),
        ]
        assert [piece for piece, _ in ClaimPieces(rows, 0.5, [], []).decisive(0.77)] == read
        assert [piece for piece, _ in ClaimPieces(rows[1:], 0.5, [], []).decisive(0.77)] == [worst]


def test_a_quote_where_two_passages_overlap_stands_once() -> None:
    first, second = (
        Passage(source=SourceKind.DOCUMENT, source_id="d", text=text) for text in ("One. Two.", "Two. Three.")
    )
    same = Passage(source=SourceKind.DOCUMENT, source_id="d", text="Two.", span=Span(start=5, end=9))
    scored = [(EvidencePiece(same, same.text, origin), score) for origin, score in ((first, 0.8), (second, 0.9))]
    (quote,) = quotes(scored)
    assert (quote.quote, quote.score) == ("Two.", 0.9)


LODGE = """# Fell lodge

The lodge has two rooms. Breakfast is from eight. Can we bring our dog? Only on a lead. The tower room is not heated.

If it snows, the road is closed. Keys are at the mill."""
HOUND = "Hounds are welcome, as long as they are tied up."


def test_the_careful_reader_reads_the_nearest_sentences_with_questions_and_conditions() -> None:
    embedder = OnnxEmbedder()
    limits = replace(Calibration.load(), reader=FIT)
    for claim, told in (
        (HOUND, "Can we bring our dog? Only on a lead."),
        ("The road stays open in snow.", "If it snows,"),
    ):
        quick, careful = Rows({claim: (0.4, 0.3, 0.3)}), Rows({claim: (0.9, 0.05, 0.05)})
        judge = EmbeddedJudge(quick, embedder, ClaimTypeHead.load(), limits, reader=careful)
        report = Guard(judge, "monitor").check_answer(claim, documents=[LODGE])
        (read,) = {premise for premise, _ in careful.asked}
        assert told in read
        assert "tower" not in read
        (finding,) = report.findings
        assert finding.label is Label.VERIFIED
        assert finding.evidence[0].quote in LODGE


PARCELS = """# Parcels

## Malta

They take six days. If one is late, ask at the desk.

## Norway

- Letters: free
- Boxes:
  - small: 5
  - large: 9

How long do boxes take? Two days."""


def test_the_careful_reader_reads_each_sentence_below_its_headings_once() -> None:
    for claim, told in (
        ("A package for Malta takes six days.", "Parcels: Malta: They take six days. If one is late, ask at the desk."),
        ("A big one costs 9 in Norway.", "Boxes: small: 5 large: 9"),
        ("A crate needs two days to Norway.", "9 How long do boxes take? Two days."),
    ):
        quick, careful = Rows({claim: (0.4, 0.3, 0.3)}), Rows({claim: (0.9, 0.05, 0.05)})
        judge = EmbeddedJudge(
            quick, OnnxEmbedder(), ClaimTypeHead.load(), replace(Calibration.load(), reader=FIT), reader=careful
        )
        Guard(judge, "monitor").check_answer(claim, documents=[PARCELS])
        (read,) = {premise for premise, _ in careful.asked}
        assert told in read
        assert read.count("Parcels:") == 1


SILENT = "The page doesn't say whether the tower room is heated."


def said_of(claim: str, careful: Rows | None) -> Finding:
    """The finding on a claim that the quick reader takes for nothing."""
    quick = Rows({claim: (0.01, 0.19, 0.8)})
    limits = replace(Calibration.load(), reader=FIT)
    judge = EmbeddedJudge(quick, OnnxEmbedder(), ClaimTypeHead.load(), limits, reader=careful)
    (finding,) = Guard(judge, "monitor").check_answer(claim, documents=[LODGE]).findings
    return finding


def test_what_a_document_tells_is_not_left_open() -> None:
    found = said_of(SILENT, Rows({SILENT: (0.03, 0.95, 0.02)}))
    assert (found.label, found.evidence[0].quote) == (Label.CONTRADICTED, "The tower room is not heated.")
    assert "does say" in found.reason
    assert said_of(SILENT, Rows({SILENT: (0.1, 0.85, 0.05)})).label is Label.ABSTENTION, "not sure enough"
    assert said_of(SILENT, None).label is Label.ABSTENTION, "the quick reader does not know"


def test_what_a_document_settles_is_no_opinion() -> None:
    welcome, lovely = "Heaters are very welcome here.", "Warm tower rooms are lovely."
    found = said_of(welcome, Rows({welcome: (0.03, 0.85, 0.12)}))
    assert (found.label, "says otherwise" in found.reason) == (Label.CONTRADICTED, True)
    assert said_of(welcome, Rows({welcome: (0.1, 0.75, 0.15)})).label is Label.OUT_OF_SCOPE, "not sure enough"
    assert said_of(welcome, None).label is Label.OUT_OF_SCOPE, "the quick reader does not know"
    assert said_of(lovely, Rows({lovely: (0.0, 0.99, 0.01)})).label is Label.OUT_OF_SCOPE, "a taste"


class Sides:
    """Implements `Verifier`: what has "not" contradicts, the rest supports."""

    name = "sides"

    def __init__(self) -> None:
        self.read = set[str]()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        self.read |= {premise for premise, _ in pairs}
        return np.array(
            [(0.05, 0.9, 0.05) if "not" in premise else (0.95, 0.02, 0.03) for premise, _ in pairs], np.float32
        )


def test_documents_that_disagree_are_read_each_by_itself() -> None:
    careful, limits = Sides(), replace(Calibration.load(), reader=FIT)
    judge = EmbeddedJudge(Sides(), OnnxEmbedder(), ClaimTypeHead.load(), limits, reader=careful)
    for ours, theirs in ((0, 1), (1, 0)):
        sides = ["The garden lets dogs in on a lead.", "Dogs are not allowed in the garden."]
        documents = [sides[ours], sides[theirs]]
        (found,) = (
            Guard(judge, "balanced").check_answer("Dogs are allowed in the garden.", documents=documents).findings
        )
        assert found.label is Label.LACKING_EVIDENCE
        assert {quote.quote for quote in found.evidence} == set(sides)
        assert careful.read == set(sides)


LONG = " ".join(
    (
        "The Fell line opened in 1874 and climbs to the lake.",
        *(
            f"Its {place} station has a waiting room, a kiosk and a clock that is older than the line."
            for place in ["lower", "middle", "upper"]
        ),
        "Series production of the cars began at Holm works on 20 October 1899.",
        *(
            f"The line carried guests of the {name} hotel to the lake and back all summer long."
            for name in ["Alpine", "Grand", "Lake", "Park", "Royal"]
        ),
    )
)


def test_the_careful_reader_reads_a_sentence_once_and_the_piece_too() -> None:
    claim = "The line has carried guests to the lake since 20 October 1899."
    quick, careful = Rows({claim: (0.4, 0.3, 0.3)}), Rows({claim: (0.9, 0.05, 0.05)})
    limits = replace(Calibration.load(), reader=FIT)
    judge = EmbeddedJudge(quick, OnnxEmbedder(), ClaimTypeHead.load(), limits, reader=careful)
    halves = [Document(id=name, title="Fell line", text=text) for name, text in (("a", LONG[:700]), ("b", LONG[400:]))]
    Guard(judge, "monitor").check_answer(claim, documents=halves)
    ((premise, _),) = careful.asked
    assert "20 October 1899" in premise
    told = premise.removeprefix("Fell line. ").split(". ")
    assert len(set(told)) == len(told) == 3  # the piece and two of the nearest: a third makes more than TOGETHER_WORDS
    assert premise.count("Fell line.") == 1


def test_the_quote_is_the_sentence_with_most_of_the_claims_words() -> None:
    claim, row = "The Comfort plan costs €8 a month.", "| Monthly fee | €3 | €8 |"
    page = f"| | Basic | Comfort |\n|---|---|---|\n{row}\n\nThe savings plan of the Oak starts at €25 a month."
    quick, careful = Rows({claim: (0.4, 0.3, 0.3)}), Rows({claim: (0.9, 0.05, 0.05)})
    limits = replace(Calibration.load(), reader=FIT)
    judge = EmbeddedJudge(quick, OnnxEmbedder(), ClaimTypeHead.load(), limits, reader=careful)
    (found,) = Guard(judge, "monitor").check_answer(claim, documents=[page]).findings
    assert (found.label, found.evidence[0].quote) == (Label.VERIFIED, row)


def test_rows_about_another_are_not_read_again() -> None:
    table = "| bike | per day |\n|---|---|\n| city bike | 18 euros |\n| cargo bike | 35 euros |"
    claim = "A cargo bike costs 35 euros a day."
    quick, careful = Rows({claim: (0.4, 0.3, 0.3)}), Rows({claim: (0.9, 0.05, 0.05)})
    limits = replace(Calibration.load(), reader=FIT)
    judge = EmbeddedJudge(quick, OnnxEmbedder(), ClaimTypeHead.load(), limits, reader=careful)
    Guard(judge, "monitor").check_answer(claim, documents=[table])
    assert careful.asked
    assert not any("18" in premise for premise, _ in careful.asked)


def test_a_fit_that_is_not_whole_is_named(tmp_path: Path) -> None:
    shutil.copy(WEIGHTS / "judge.json", tmp_path)
    fields = json.loads((tmp_path / "judge.json").read_text())
    (tmp_path / "judge.json").write_text(json.dumps({**fields, "reader": {"open_from": 0.1}}))
    with raises(ConfigError, "judge.json"):
        Calibration.load(tmp_path)


def test_a_reader_without_its_tokenizer_reads_nothing(tmp_path: Path) -> None:
    for name in ("reader.onnx", "reader.embeddings"):
        (tmp_path / name).symlink_to(READER / name)
    (tmp_path / "tokenizer.json").symlink_to(WEIGHTS / "tokenizer.json")
    with raises(ConfigError, "reader_tokenizer.json"):
        CarefulReader(192, tmp_path).probabilities([("Dogs stay outside.", "Dogs may come in.")])
