"""Rows of a generated set by part, and `vista-guard oasis score` and `train` on it, as far as they need no torch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner, Result

from tests.raising import raises
from vista_guard import InputError
from vista_guard._extras import how_to_install
from vista_guard.cli import app
from vista_guard.types import Claim, JudgeInfo, Turn
from vista_lab.oasis.records import GeneratedPair, Passage, Record
from vista_lab.oasis.splits import Splitting
from vista_lab.oasis.training.figures import embedder_curve, extractor_score, verifier_figures
from vista_lab.oasis.training.generated import maker, read_held_out, read_split, source_of, windows_of
from vista_lab.runs.made import State
from vista_lab.training.rows import ExtractorRow, PassageWindow, RetrieverRow, VerifierRow, label_counts

TOWNS = ("Ghent", "Bruges", "Antwerp", "Leuven", "Namur", "Mons", "Dinant", "Arlon")


def record(number: int, first: int = 0, state: State = State.ACCEPTED) -> Record:
    """A passage about one town's ferry. Half of the piers opened and half closed: no word tells what is falsified."""
    town = TOWNS[number % len(TOWNS)]
    did, other = ("opened", "closed")[:: 1 if number // len(TOWNS) % 2 else -1]
    claims = (f"The ferry of {town} leaves at noon.", f"The mayor of {town} {did} pier {first} of {town}.")
    pair = GeneratedPair(
        claims=claims,
        altered=1,
        falsified=claims[1].replace(did, other),
        factual=f"At noon the ferry of {town} leaves. Pier {first} of {town} was {did} by the mayor.",
        unfactual=f"At noon the ferry of {town} leaves. Pier {first} of {town} was {other} by the mayor.",
    )
    text = f"{' '.join(claims)} Number {number}."
    passage = Passage(document=f"{town.lower()}-{number}.md", first=first, sentences=3, text=text)
    return Record(passage=passage, made_by="test", state=state, pair=pair)


def mate(word: str) -> Record:
    """A passage of another document with a word that tells a claim from its falsified version."""
    passage = Passage(document=f"{word}.md", first=0, sentences=3, text=f"Each of the shops {word} early.")
    return Record(passage=passage, made_by="test", state=State.REJECTED)


MATES = [mate("opened"), mate("closed")]


def written(folder: Path, records: Sequence[Record]) -> Path:
    folder.mkdir(exist_ok=True)
    lines = "".join(one.model_dump_json() + "\n" for one in records)
    (folder / "records.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def ours(tmp_path: Path) -> Path:
    """Forty documents with two windows each that do not overlap."""
    return written(tmp_path / "ours", [record(number, first) for number in range(40) for first in (0, 3)])


class Unsure:
    """Calls every pair neutral."""

    name = "unsure"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        return np.tile(np.array([0.1, 0.1, 0.8], np.float32), (len(pairs), 1))


def test_the_triplets_of_section_5_3_with_neutrals_of_other_windows() -> None:
    rows: list[VerifierRow] = list(maker("verifier", Unsure())([record(1, 0), record(1, 3), *MATES]))
    assert label_counts(rows) == {"supported": 10, "contradicted": 6, "not_enough": 4}
    for row in rows:
        own = record(1, row.source.first)
        if row.label == "not_enough":
            assert row.passage == record(1, 3 - row.source.first).passage.text
        else:
            assert own.pair is not None
            texts = own.passage.text, own.pair.factual, own.pair.unfactual
            assert any(text in row.passage for text in texts)
            edited = row.claim in {own.pair.original, own.pair.falsified} and row.source.first == own.passage.first
            assert (row.passage in texts) != (edited and row.twin.count("/") == 1)


def test_a_claim_and_its_falsified_twin_are_ranked_and_no_other_rows_are() -> None:
    twins = Counter(row.twin for row in maker("verifier")([record(1), *MATES]))
    assert sorted(twins.values()) == [1, 1, 2, 2, 2]


def test_the_pairs_of_section_5_2_tell_the_original_passage_from_generated_texts() -> None:
    rows: list[RetrieverRow] = list(maker("retriever")([record(1)]))
    assert len(rows) == 9
    assert {row.passage for row in rows if row.original} == {record(1).passage.text}
    assert len({row.claim for row in rows}) == 3


def test_a_split_is_by_document_and_sets_a_test_part_aside(ours: Path) -> None:
    split = read_split(ours, "extractor")
    test = read_held_out(ours, "extractor")
    sides = [{row.source.document for row in rows} for rows in (split.train, split.held_out, test)]
    assert sum(map(len, sides)) == len(set().union(*sides)) == 40
    assert all(isinstance(row, ExtractorRow) for row in split.train)


def test_a_set_without_a_test_part_is_measured_whole(ours: Path) -> None:
    assert len(read_held_out(ours, "extractor", splitting=Splitting(test=0))) == 80


def test_copies_of_a_document_by_another_name_leak(tmp_path: Path) -> None:
    records = [record(number) for number in range(40)]
    copies = [
        one.model_copy(update={"passage": one.passage.model_copy(update={"document": f"copy-{one.passage.document}"})})
        for one in records
    ]
    with raises(InputError, "copies"):
        read_split(written(tmp_path / "ours", records + copies), "retriever")


def test_doubtful_pairs_are_left_out_unless_asked_for(tmp_path: Path) -> None:
    ours = written(tmp_path / "ours", [record(number, state=State.DOUBTFUL) for number in range(9)])
    with pytest.raises(InputError):
        read_held_out(ours, "extractor")
    assert read_held_out(ours, "extractor", doubtful=True)


def test_a_folder_that_is_no_set_is_refused(tmp_path: Path) -> None:
    with raises(InputError, "records.jsonl"):
        read_split(tmp_path, "verifier")


def test_a_passages_name_gives_its_window() -> None:
    assert source_of("a/b#c.md#12+5/F/3") == PassageWindow("a/b#c.md", 12, 17)
    with raises(InputError, "a.md"):
        source_of("a.md")


class Exact:
    """An embedder of whole words that are capitalised or numbers: a text lies along each."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        rows = np.array([[float(town in text) for town in TOWNS] + [1e-3] for text in texts], np.float32)
        vectors: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return vectors


def test_recall_leaves_overlapping_windows_out_and_counts_the_others() -> None:
    rows = list(maker("retriever")([record(number) for number in range(4)]))
    assert embedder_curve(Exact(), rows, depth=3).at(1) == 1.0
    own = {row.source: row.passage for row in rows}
    overlapping = {PassageWindow(one.document, 1, 4): text for one, text in own.items()}
    assert embedder_curve(Exact(), rows, overlapping, depth=3).at(1) == 1.0
    apart = {PassageWindow(f"a-{one.document}", 0, 3): text for one, text in own.items()}
    # Two passages with the same vector: the one that came first, which is the other, is ranked first.
    curve = embedder_curve(Exact(), rows, apart, depth=3)
    assert (curve.at(1), curve.at(2)) == (0.0, 1.0)


class Sentences:
    info = JudgeInfo(name="sentences", version="1")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        texts = [text.strip() + "." for text in turn.text.split(".") if text.strip()]
        return [Claim(id=f"c{number}", text=text) for number, text in enumerate(texts)]


def test_easiness_of_an_extractor() -> None:
    scored = extractor_score(Sentences(), list(maker("extractor")([record(1)])))
    assert scored.unread == 0
    assert scored.easiness.macro.recall == 1.0
    assert scored.easiness.macro.precision == pytest.approx(2 / 3)  # "Number 1." is no claim of the set


def test_figures_of_a_verifier_that_is_never_sure() -> None:
    rows = list(maker("verifier", Unsure())([record(1, 0), record(1, 3), *MATES]))
    assert verifier_figures(Unsure(), rows) == pytest.approx(
        {"balanced accuracy, three labels": 1 / 3, "balanced accuracy, supported or not": 1 / 2}
    )


def test_windows_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("One is here. Two is here. Three is here.", encoding="utf-8")
    assert windows_of(tmp_path, sentences=2) == {
        PassageWindow("a.md", 0, 2): "One is here. Two is here.",
        PassageWindow("a.md", 1, 3): "Two is here. Three is here.",
    }


def oasis(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["oasis", *arguments])


def test_score_measures_the_shipped_embedder_for_every_k(ours: Path) -> None:
    found = oasis("score", "retriever", str(ours), "--json", "--depth", "7")
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told["embedder"] == "shipped"
    assert len(told["recall"]) == 7
    assert told["recall"] == sorted(told["recall"])
    table = oasis("score", "retriever", str(ours), "--depth", "7")
    assert "R@k" in table.stdout


def test_score_measures_the_shipped_rules(ours: Path) -> None:
    found = oasis("score", "extractor", str(ours), "--json")
    assert found.exit_code == 0, found.output
    assert 0.5 < json.loads(found.stdout)["macro"]["f1"] <= 1.0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("score", "retriever", "nowhere"), "nowhere"),
        (("score", "retriever", "ours", "--model", "sbert"), "sbert"),
        (("score", "extractor", "ours", "--model", "t5"), "t5"),
        (("score", "extractor", "ours", "--documents", "docs"), "--documents"),
        (("score", "verifier", "ours"), "verifier"),
        (("train", "judge", "ours", "--out", "o"), "judge"),
    ],
)
def test_wrong_input_is_told(
    arguments: tuple[str, ...], told: str, ours: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ours.parent)
    found = oasis(*arguments)
    assert found.exit_code == 2
    assert told in found.stderr
    assert "Traceback" not in found.output


def test_training_names_its_extra(ours: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vista_guard._extras.is_installed", lambda library: library != "accelerate")
    found = oasis("train", "verifier", str(ours), "--out", "o")
    assert found.exit_code == 2
    assert "accelerate" in found.stderr
    assert how_to_install("train") in found.stderr
