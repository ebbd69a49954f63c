"""Readers of what people labelled and wrote: small rows of the publishers' forms, and the real files where they are."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import zipfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("lemminflect")
pytest.importorskip("textblob")

from tests.raising import raises
from training import duplicates, mixes
from training.pairs import KindPair
from training.sources import catalogue, close_up, parts, written
from training.sources.answers import students
from training.sources.evidence import trials, vitaminc
from training.sources.questions import as_claim, declared, to_user
from training.sources.reasoning import scope
from training.sources.sentence_pairs import cad, paws
from training.sources.summaries import realsumm
from training.sources.tables import described, infotabs, written_out
from training.sources.unsaid import left_open
from vista_guard.errors import InputError
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED

pytestmark = pytest.mark.filterwarnings(  # textblob leaves its lexicon open
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:unclosed file:ResourceWarning"
)
DATA = os.environ.get("VISTA_GUARD_DATA")


def packed(path: Path, text: str) -> None:
    """A gzipped file, its folder made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def lines(rows: Sequence[Mapping[str, object]]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(rows: Sequence[Mapping[str, str]], delimiter: str = "\t") -> str:
    """A table with a header."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


# Text


def test_tokenised_text_is_mended_and_plain_text_is_left_alone() -> None:
    assert parts.mended("She said : `` It 's 4 : 30 , and 1 , 200 people do n't wait . ''") == (
        "She said: \"It's 4:30, and 1,200 people don't wait.\""
    )
    assert parts.mended("Due to 'mechanical issues' it left on 30 May 1958, 12 hours late.") == (
        "Due to 'mechanical issues' it left on 30 May 1958, 12 hours late."
    )


@pytest.mark.parametrize(
    ("question", "claim"),
    [
        ("Is it likely that the mill closed?", "It is likely that the mill closed."),
        ("Did the ferry leave before noon?", "The ferry left before noon."),
        ("Does the old bridge carry trams?", "The old bridge carries trams."),
        (
            "If a guest arrives late, would the desk charge a fee?",
            "If a guest arrives late, the desk would charge a fee.",
        ),
        ("Can I bring my dog?", "I can bring my dog."),
        ("Were there students in 1925?", "There were students in 1925."),
    ],
)
def test_a_question_becomes_a_statement(question: str, claim: str) -> None:
    assert declared(question) == claim


def test_a_question_that_cannot_be_turned_keeps_an_answer_behind_it() -> None:
    found = {as_claim("Which of the two won?", SUPPORTED_CLASS, Random(seed)) for seed in range(9)}
    assert found == {("Which of the two won? Yes.", SUPPORTED_CLASS), ("Which of the two won? No.", CONTRADICTED_CLASS)}


def test_the_users_first_person_becomes_the_second() -> None:
    assert to_user("I can bring my dog, and I'm told it may stay with me.") == (
        "You can bring your dog, and you're told it may stay with you."
    )


# Readers


def test_the_pairs_of_a_vitaminc_case_are_twins_and_a_tenth_is_kept_apart(tmp_path: Path) -> None:
    rows = [
        {
            "case_id": str(case),
            "label": label,
            "claim": "The choir has 30 members .",
            "evidence": f"It has {n} members .",
        }
        for case in range(60)
        for label, n in (("SUPPORTS", 30), ("REFUTES", 28))
    ]
    for kind in ("real", "synthetic"):
        folder = tmp_path / "train/vitaminc"
        folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / f"vitaminc_{kind}.zip", "w") as archive:
            archive.writestr(f"vitaminc_{kind}/test.jsonl", lines(rows))
    train, dev = list(vitaminc(tmp_path, "train")), list(vitaminc(tmp_path, "dev"))
    assert len(train) + len(dev) == 240
    assert not {pair.twin for pair in train} & {pair.twin for pair in dev}
    assert {pair.allowed for pair in train if pair.premise == "It has 28 members."} == {(CONTRADICTED_CLASS,)}


def test_counterfactual_twins_share_the_hypothesis_or_else_the_premise(tmp_path: Path) -> None:
    rows = [
        {"sentence1": "A man sleeps.", "sentence2": "A man rests", "gold_label": "entailment"},
        {"sentence1": "A man runs.", "sentence2": "A man rests", "gold_label": "contradiction"},
        {"sentence1": "A man runs.", "sentence2": "A man is tired", "gold_label": "neutral"},
    ]
    for name in ("train", "test"):
        packed(tmp_path / f"train/cad-nli/{name}.tsv.gz", table(rows))
    found = list(cad(tmp_path, "train"))[:3]
    assert [pair.allowed for pair in found] == [(SUPPORTED_CLASS,), (CONTRADICTED_CLASS,), (NOT_ENOUGH_CLASS,)]
    assert [pair.twin for pair in found] == ["cad-A man rests", "cad-A man rests", "cad-A man runs."]


def test_paraphrases_hold_both_ways_and_other_orders_leave_two_labels(tmp_path: Path) -> None:
    text = "1\tAnn beat Bo .\tBo lost to Ann .\t1\n2\tAnn beat Bo .\tBo beat Ann .\t0\n"
    packed(tmp_path / "train/paws/dev.tsv.gz", text)
    found = [(pair.premise, pair.hypothesis, pair.allowed) for pair in paws(tmp_path, "train")]
    assert found[:2] == [
        ("Ann beat Bo.", "Bo lost to Ann.", (SUPPORTED_CLASS,)),
        ("Bo lost to Ann.", "Ann beat Bo.", (SUPPORTED_CLASS,)),
    ]
    assert {allowed for *_, allowed in found[2:]} == {UNSUPPORTED}


def test_an_infobox_is_written_out_with_every_value() -> None:
    box = {"title": ["Low Tide"], "Length:": ["112 minutes"], "Starring": ["Ana Roe", "Ben Poe"]}
    forms = {written_out(box, Random(seed)) for seed in range(30)}
    assert len(forms) == 4
    assert all("112 minutes" in form and "Ana Roe, Ben Poe" in form and "Low Tide" in form for form in forms)


def test_claims_of_one_worker_about_one_infobox_are_twins(tmp_path: Path) -> None:
    rows = [
        {"annotater_id": "W1", "table_id": "T1", "hypothesis": f"It runs {n} minutes", "label": label}
        for n, label in ((112, "E"), (90, "C"), (7, "N"))
    ]
    for name in ("train", "dev", "test_alpha1", "test_alpha3"):
        packed(tmp_path / f"train/infotabs/infotabs_{name}.tsv.gz", table(rows))
    packed(tmp_path / "train/infotabs/tables.jsonl.gz", lines([{"table_id": "T1", "table": {"title": ["Low Tide"]}}]))
    found = list(infotabs(tmp_path, "train"))[:3]
    assert [pair.allowed for pair in found] == [(SUPPORTED_CLASS,), (CONTRADICTED_CLASS,), (NOT_ENOUGH_CLASS,)]
    assert {pair.twin for pair in found} == {"infotabs-T1-W1"}


def test_a_place_is_described_with_all_its_attributes() -> None:
    place = {"name": "The Mill", "eatType": "pub", "food": "English", "familyFriendly": "no", "near": "The Quay"}
    assert described(place) == "The Mill: pub, English food, not family-friendly, near The Quay"


def test_only_facts_that_all_voters_agree_on_are_kept(tmp_path: Path) -> None:
    rows = [
        {"doc": "d1", "scu": "The wedding is in May.", "summary": text, "votes": votes}
        for text, votes in (
            ("They marry in May .", ["p"] * 3),
            ("They met .", ["n"] * 3),
            ("It rained .", ["n", "p", "n"]),
        )
    ]
    packed(tmp_path / "train/realsumm-scu/scu_votes.jsonl.gz", lines(rows))
    found = [*realsumm(tmp_path, "train"), *realsumm(tmp_path, "dev")]
    assert {(pair.premise, pair.allowed) for pair in found} == {
        ("They marry in May.", (SUPPORTED_CLASS,)),
        ("They met.", (NOT_ENOUGH_CLASS,)),
    }


def test_a_students_contradiction_holds_the_other_way_round_too(tmp_path: Path) -> None:
    marks = {"correct": "the lamp is in a closed path", "contradictory": "the lamp has an open path"}
    answers = "".join(f'<studentAnswer accuracy="{mark}">{text}</studentAnswer>' for mark, text in marks.items())
    xml = (
        "<question><questionText>Why does it shine?</questionText><referenceAnswers><referenceAnswer>The path is "
        f"closed</referenceAnswer></referenceAnswers><studentAnswers>{answers}</studentAnswers></question>"
    )
    folder = tmp_path / "train/student-answers"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "semeval-3way.zip", "w") as archive:
        archive.writestr("training/3way/beetle/Q.xml", xml)
    found = list(students(tmp_path, "train"))
    assert Counter(pair.allowed for pair in found) == {(SUPPORTED_CLASS,): 1, (CONTRADICTED_CLASS,): 2}
    assert found[-1].hypothesis == "The lamp has an open path."


def test_a_trial_gives_a_true_and_a_false_claim_of_either_group(tmp_path: Path) -> None:
    row = {
        "prompt_id": "7", "pmcid": "1", "outcome": "pain", "intervention": "heat", "comparator": "rest",
        "label": "significantly decreased", "evidence": "Pain fell more with heat than with rest (p < 0.01).",
        "abstract": "We compared both. Pain fell more with heat than with rest (p < 0.01).",
    }  # fmt: skip
    packed(tmp_path / "train/evidence-inference/evidence_inference_v2.jsonl.gz", lines([row]))
    found = [*trials(tmp_path, "train"), *trials(tmp_path, "dev")]
    assert [pair.allowed for pair in found] == [(SUPPORTED_CLASS,), (CONTRADICTED_CLASS,)]
    assert found[0].hypothesis != found[1].hypothesis


def test_rows_that_replacement_broke_are_left_out(tmp_path: Path) -> None:
    row = {
        "sentence1": "He has no hat.", "sentence2": "He has no fedora.", "gold_label": "entailment",
        "sentence1_lex": "hat", "sentence2_lex": "fedora", "group_index": "0",
        "sentence1_edited": "It is false that he has no hat.", "sentence2_edited": "It is false tfedora he has no fedora.",
        "gold_label_edited": "neutral",
    }  # fmt: skip
    good = row | {"sentence1": "He has no pet.", "sentence1_lex": "pet", "sentence2_lex": "cat"} | {
        "sentence1_edited": "He has a pet.", "sentence2_edited": "He has a cat."
    }  # fmt: skip
    for name in (
        "no_negation",
        "one_not_scoped",
        "one_scoped",
        "one_scoped_one_not_scoped",
        "two_not_scoped",
        "two_scoped",
    ):
        packed(tmp_path / f"train/scone/train_{name}.csv.gz", table([row, good], ","))
    assert {pair.premise for pair in scope(tmp_path, "train")} == {"He has a pet."}


# Claims written for this project

TWO_VERSIONS = """# x.001
Pool rules: members swim free on Sundays, guests pay four euros, and the sauna opens at noon for everybody who booked.
===
Pool rules: guests swim free on Sundays, members pay four euros, and the sauna opens at noon for everybody who booked.
---
o S C Members need not pay on Sundays.
k S S You have to book to use the sauna.
"""
TWINS = """@p.1
q S It took a fortnight.
q C It took a month.
"""


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a.txt.gz"
    packed(path, text)
    return path


def both_parts(tmp_path: Path, text: str) -> list[KindPair]:
    documents = written.read(file(tmp_path, text))
    texts = {"p.1": "The repair took fourteen days."}
    return [*written.pairs_of(documents, texts, "train"), *written.pairs_of(documents, texts, "dev")]


def test_a_claim_on_two_versions_is_a_twin_across_premises(tmp_path: Path) -> None:
    found = both_parts(tmp_path, TWO_VERSIONS)
    assert [pair.allowed for pair in found] == [
        (SUPPORTED_CLASS,),
        (CONTRADICTED_CLASS,),
        (SUPPORTED_CLASS,),
        (SUPPORTED_CLASS,),
    ]
    assert [pair.twin for pair in found] == ["written-x.001.0"] * 2 + ["written-x.001.1"] * 2
    assert found[0].premise != found[1].premise
    assert found[0].hypothesis == found[1].hypothesis


def test_claims_on_a_passage_of_another_set_carry_its_id_alone(tmp_path: Path) -> None:
    found = both_parts(tmp_path, TWINS)
    assert {(pair.premise, pair.hypothesis, pair.allowed) for pair in found} == {
        ("The repair took fourteen days.", "It took a fortnight.", (SUPPORTED_CLASS,)),
        ("The repair took fourteen days.", "It took a month.", (CONTRADICTED_CLASS,)),
    }
    assert {pair.twin for pair in found} == {"written-p.1.0"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TWO_VERSIONS + "o S One label where there are two versions.\n", 8),
        (TWO_VERSIONS.replace("o S C", "z S C"), 6),
        (TWO_VERSIONS + TWO_VERSIONS, 8),
        (TWINS.replace("q C", "q S"), 2),
        (TWINS + "q S Alone.\n", 4),
        ("# x.002\nA text that never ends.\n", 2),
        ("# x.003\nToo short.\n---\n", 3),
    ],
)
def test_what_does_not_parse_is_named_with_its_line(tmp_path: Path, text: str, line: int) -> None:
    with raises(InputError, line):
        written.read(file(tmp_path, text))


def test_the_files_of_the_repository_parse_and_no_document_stands_twice() -> None:
    documents = [document for path in sorted(written.FOLDER.glob("*.txt.gz")) for document in written.read(path)]
    invented = Counter(document.id for document in documents if document.invented)
    assert [name for name, count in invented.items() if count > 1] == []


# Test texts


def test_pairs_that_share_a_run_of_words_with_a_test_text_are_left_out() -> None:
    sealed = "the ferry to the island leaves at nine from the small pier behind the market"
    pairs = [
        KindPair(f"Note: {sealed.title()}!", "It leaves at nine.", (SUPPORTED_CLASS,), "s", "s", ""),
        KindPair("The ferry leaves at ten.", "It leaves at nine.", (CONTRADICTED_CLASS,), "s", "s", ""),
    ]
    dropped: Counter[str] = Counter()
    kept = list(duplicates.without_test_texts(pairs, set(duplicates.grams(sealed)), dropped))
    assert kept == pairs[1:]
    assert dropped == {"s": 1}


# The real files


@pytest.mark.skipif(DATA is None, reason="VISTA_GUARD_DATA names no data folder")
@pytest.mark.parametrize("name", ["sharc", "double_negation", "folio", "legal", "papers", "stories"])
def test_the_real_file_gives_pairs_of_more_than_one_label(name: str) -> None:
    found = list(catalogue.READERS[name](Path(str(DATA)), "train"))
    assert len(found) > 400
    assert len({pair.allowed for pair in found}) > 1
    assert all(pair.premise.strip() and pair.hypothesis.strip() for pair in found)


def test_a_source_is_drawn_more_often_and_an_unknown_one_is_named() -> None:
    mix = mixes.Mix({"talk": 0.5}, {"written": 20, "fm2": 7})
    assert mixes.more_often(mix, ["written=3"]) == mixes.Mix({"talk": 0.5}, {"written": 60, "fm2": 7})
    with raises(InputError, "writen"):
        mixes.more_often(mix, ["writen=3"])


def test_a_long_text_is_seen_close_up() -> None:
    text = "Soup is 4 euros. The hall opens at nine on weekdays.\nThe library opens at ten. Dogs stay out."
    piece = close_up.piece_of(text, ["The hall opens at nine.", "The hall opens at ten."])
    assert piece is not None
    assert "The hall opens at nine on weekdays. The library opens at ten." in piece
    assert "Dogs" not in piece
    assert close_up.piece_of(text, ["Pets must wait outside.", "Pets may come in."]) is None


def test_what_a_text_leaves_open_is_not_said_and_what_it_tells_is() -> None:
    text = "The Mole Hotel is closed in May. I stay there every April."
    said, open_ = (
        KindPair(text, claim, (label,), "written", "written_x", "one")
        for claim, label in (
            ("The Mole Hotel is closed in May.", SUPPORTED_CLASS),
            ("They are building a sauna.", NOT_ENOUGH_CLASS),
        )
    )
    told, silent = left_open(said, open_)
    assert (told.allowed, silent.allowed) == ((CONTRADICTED_CLASS,), (SUPPORTED_CLASS,))
    assert "whether they are building a sauna" in silent.hypothesis.lower()
    assert told.twin == silent.twin
    assert list(left_open(said, said)) == [], "nothing is left open"
