"""DAD's sets: FActScore's sentences in Lu et al.'s split, FELM and BingCheck, on rows of our own and on the released files."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.types import Label
from vista_lab.datasets.files import Entry
from vista_lab.datasets.registry import DataFolder, find, open_dataset
from vista_lab.datasets.sets import bingcheck, factscore, felm
from vista_lab.logs.source import BrokenEntry, LoggedConversation
from vista_lab.runs.loop import ClaimsMode
from vista_lab.runs.plan import gold_lines

real = pytest.mark.skipif(
    "VISTA_GUARD_DATA" not in os.environ, reason="VISTA_GUARD_DATA names no folder of shared data"
)

SENTENCES = (
    ("The mill is old.", "S"),
    ("It has nine sails.", "NS"),
    ("It is a sight.", None),
    ("Ada Vale built it.", "IR"),
)
RESPONSE = "The mill is old[1][2]. It has\nnine sails [3].\n\nIt is a sight. Ada Vale built it."


def biography(number: int) -> Mapping[str, Any]:
    annotations = [
        {
            "text": text,
            "is-relevant": label is not None,
            "human-atomic-facts": None if label is None else [{"text": f"{text} Fact.", "label": label}],
        }
        for text, label in SENTENCES
    ]
    return {
        "input": f"Question: Tell me a bio of Mill {number}.",
        "output": RESPONSE,
        "topic": f"Mill {number}",
        "annotations": annotations,
    }


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write(tmp_path / "factscore/ChatGPT.jsonl", [biography(number) for number in range(183)])


def good(entries: Sequence[Entry]) -> list[LoggedConversation]:
    assert not [one for one in entries if isinstance(one, BrokenEntry)]
    return [one for one in entries if isinstance(one, LoggedConversation)]


def texts(entry: LoggedConversation) -> list[tuple[str, bool, int]]:
    """Each place's text, whether it is unsupported, and its facts."""
    said = entry.conversation.turns[-1].text
    return [(place.text(said), place.positive, place.facts) for place in entry.gold[1].places]


def test_sentences_are_found_in_the_response_despite_its_citation_marks(model: Path) -> None:
    first = good(list(factscore.reader("test", 1)([model])))[0]
    assert [turn.text for turn in first.conversation.turns] == [f"Tell me a bio of {first.topic}.", RESPONSE]
    assert texts(first) == [
        ("The mill is old[1][2].", False, 1),
        ("It has\nnine sails [3].", True, 1),
        ("Ada Vale built it.", False, 0),
    ]
    claims = first.conversation.turns[-1].claims or ()
    assert [claim.text for claim in claims] == ["The mill is old. Fact.", "It has nine sails. Fact."]


def test_neighbours_are_joined_and_an_odd_one_goes_with_the_first_two(model: Path) -> None:
    first = good(list(factscore.reader("test", 2)([model])))[0]
    assert texts(first) == [("The mill is old[1][2]. It has\nnine sails [3]. Ada Vale built it.", True, 2)]
    sentence = factscore.Sentence(first.gold[1].places[0].spans[0], ())
    assert [[len(unit) for unit in factscore.joined([sentence] * n)] for n in range(7)] == [
        [], [1], [2], [3], [2, 2], [3, 2], [2, 2, 2],
    ]  # fmt: skip


def test_splits_share_no_response_and_hold_all(model: Path) -> None:
    found = [{one.topic for one in good(list(factscore.reader(split, 1)([model])))} for split in
             ("train", "validation", "test")]  # fmt: skip
    assert [len(topics) for topics in found] == [109, 37, 37]
    assert len(set().union(*found)) == 183


def test_topics_of_the_other_models_training_split_are_left_out(model: Path, tmp_path: Path) -> None:
    everything = good(list(factscore.reader("test", 1)([model])))
    moved = [biography(183 + number) for number in range(183)]
    train = [place for place, split in factscore.splits().items() if split == "train"]
    kept = [place for place, split in factscore.splits().items() if split == "test"]
    moved[train[0]] = {**moved[train[0]], "topic": everything[0].topic}
    moved[train[1]] = {**moved[train[1]], "topic": everything[1].topic, "annotations": None}
    moved[kept[0]] = {**moved[kept[0]], "topic": everything[2].topic}
    other = write(tmp_path / "factscore/PerplexityAI.jsonl", moved)
    disjoint = good(list(factscore.reader("test", 1)([model, other])))
    assert [one.topic for one in disjoint] == [one.topic for one in everything[1:]]


def test_a_file_of_other_rows_has_no_such_split(tmp_path: Path) -> None:
    path = write(tmp_path / "ChatGPT.jsonl", [biography(1)])
    with raises(InputError, "1", "183"):
        list(factscore.reader("test", 1)([path]))


@pytest.mark.parametrize(
    ("part", "named"),
    [
        ({"text": "It is blue."}, "annotations 1: 'It is blue.' is not in the response"),
        ({"human-atomic-facts": [{"text": "Old.", "label": "TRUE"}]}, "'TRUE'"),
        ({"human-atomic-facts": "S"}, "human-atomic-facts is 'S'"),
    ],
)
def test_a_row_that_does_not_fit_is_named(tmp_path: Path, part: Mapping[str, Any], named: str) -> None:
    rows = [dict(biography(number)) for number in range(183)]
    place = next(place for place, split in factscore.splits().items() if split == "test")
    rows[place]["annotations"] = [{**rows[place]["annotations"][0], **part}]
    entries = list(factscore.reader("test", 1)([write(tmp_path / "ChatGPT.jsonl", rows)]))
    (broken,) = [one for one in entries if isinstance(one, BrokenEntry)]
    assert broken.source.endswith(f"line {place + 1}")
    assert named in broken.error


def test_places_are_in_a_runs_gold_without_any_text(model: Path) -> None:
    first = good(list(factscore.reader("test", 1)([model])))[0]
    (line,) = gold_lines(first, ClaimsMode.JUDGE)
    assert [place.positive for place in line.places] == [False, True, False]
    assert "mill is" not in line.model_dump_json()


def test_felm_is_supported_where_all_segments_are_true(tmp_path: Path) -> None:
    row = {"index": "7", "prompt": "Who?", "response": "Ada. Bea.", "segmented_response": ["Ada.", "Bea."]}
    rows: list[Mapping[str, Any]] = [
        {**row, "labels": [True, True]},
        {**row, "index": "8", "response": float("nan"), "labels": [True, False]},
    ]
    rows += [{**row, "index": "9", "labels": [True]}, {**row, "index": "10", "labels": ["yes", True]}]
    found = list(felm.read([write(tmp_path / "wk.jsonl", rows)]))
    logged = [one for one in found if isinstance(one, LoggedConversation)]
    assert [(one.conversation.turns[1].text, one.gold[1].positive) for one in logged] == [
        ("Ada. Bea.", False),
        ("Ada. Bea.", True),
    ]
    assert [one.error for one in found if isinstance(one, BrokenEntry)] == [
        "has 2 segments and 1 labels",
        "labels is \"['yes', True]\"; expected a list of true and false",
    ]


def test_bingcheck_pools_the_evidence_and_keeps_the_publishers_claims(tmp_path: Path) -> None:
    row = {"id": "a", "query": "The Halm?", "response": "A long old river."}
    rows = [
        {
            **row,
            "evidence": {"It is a river.": ["The Halm, a river.", "Rain."], "It is old.": ["Rain."]},
            "subconclusions": {"It is a river.": "supported", "It is old.": "partially supported"},
        },
        {**row, "id": "b", "evidence": {}, "subconclusions": {"It is long.": "not supported"}},
        {**row, "id": "c", "evidence": {"It is long.": "text"}, "subconclusions": {"It is long.": "refuted"}},
    ]
    found = list(bingcheck.read([write(tmp_path / "bingcheck.jsonl", rows)]))
    first, second = (one for one in found if isinstance(one, LoggedConversation))
    assert [one.text for one in first.conversation.turns[1].documents] == ["The Halm, a river.", "Rain."]
    assert [one.text for one in first.conversation.turns[1].claims or ()] == ["It is a river.", "It is old."]
    assert (first.labels, first.gold[1].positive) == ({"t1.c1": Label.VERIFIED}, False)
    assert (second.labels, second.gold[1].positive) == ({"t1.c1": Label.LACKING_EVIDENCE}, True)
    assert [one.error for one in found if isinstance(one, BrokenEntry)] == [
        "evidence of 'It is long.' is 'text'; expected a list of texts"
    ]


# Released files: the figures of the sets' notes


PLACES = {
    "factscore-chatgpt-a1-test": (96, 153),
    "factscore-chatgpt-a2-test": (19, 96),
    "factscore-perplexity-a1-test": (234, 66),
    "factscore-perplexity-a2-test": (87, 56),
    "factscore-chatgpt-a1-test-disjoint": (43, 78),
    "factscore-perplexity-a2-test-disjoint": (40, 36),
}


def released(name: str) -> list[LoggedConversation]:
    folder = DataFolder(Path(os.environ["VISTA_GUARD_DATA"]))
    if folder.missing(find(name)):
        pytest.skip(f"VISTA_GUARD_DATA has no files of {name}")
    return good(list(open_dataset(find(name), folder).entries()))


def sizes(name: str) -> tuple[int, int]:
    counted = Counter(place.positive for one in released(name) for place in one.gold[1].places)
    return counted[False], counted[True]


@real
@pytest.mark.parametrize("name", PLACES)
def test_class_sizes_are_those_that_the_paper_scored(name: str) -> None:
    assert sizes(name) == PLACES[name]
    assert (
        "{} {} supported and {} not".format(
            PLACES[name][0], "sentences" if "-a1-" in name else "pairs of sentences", PLACES[name][1]
        )
        in find(name).sample
    )


@real
def test_the_training_splits_have_as_many_units_as_the_paper_trains_on() -> None:
    names = [f"factscore-{model}-a{number}-train" for model in ("chatgpt", "perplexity") for number in (1, 2)]
    assert sum(chain.from_iterable(map(sizes, names))) == 2324


@real
@pytest.mark.parametrize(("model", "alone"), [("chatgpt", 1), ("perplexity", 9)])
def test_sentences_with_irrelevant_facts_alone_count_as_supported(model: str, alone: int) -> None:
    places = [place for one in released(f"factscore-{model}-a1-test") for place in one.gold[1].places]
    assert [place.positive for place in places if not place.facts] == [False] * alone


@real
@pytest.mark.parametrize(
    ("name", "verbatim", "without_marks", "without_blanks"), [("ChatGPT", 1241, 0, 0), ("PerplexityAI", 618, 911, 96)]
)
def test_all_sentences_are_in_the_responses(name: str, verbatim: int, without_marks: int, without_blanks: int) -> None:
    path = DataFolder(Path(os.environ["VISTA_GUARD_DATA"])).find(f"factscore/{name}.jsonl")
    if path is None:
        pytest.skip("VISTA_GUARD_DATA has no FActScore")
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = map(json.loads, raw.splitlines())
    found = Counter(_how(part["text"], row["output"]) for row in rows for part in row["annotations"] or ())
    assert found == Counter(
        {key: n for key, n in (("verbatim", verbatim), ("marks", without_marks), ("blanks", without_blanks)) if n}
    )


def _how(sentence: str, response: str) -> str:
    """How much must be left out of a response for a sentence to be in it."""

    def unmarked(text: str) -> str:
        return " ".join(re.sub(r"\[\d+\]", "", text).split())

    if sentence in response:
        return "verbatim"
    if unmarked(sentence) in unmarked(response):
        return "marks"
    return "blanks" if factscore.without_marks(sentence)[0] in factscore.without_marks(response)[0] else "missing"
