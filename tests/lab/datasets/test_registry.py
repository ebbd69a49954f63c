"""Data sets by name, their files in a user's folder, and samples of them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.datasets import rows
from tests.lab.datasets.test_released import FOUND
from tests.raising import raises
from vista_guard.errors import InputError
from vista_lab.datasets.files import sample_balanced
from vista_lab.datasets.opening import survey
from vista_lab.datasets.registry import DataFolder, Task, all_datasets, count_entries, find, open_dataset
from vista_lab.datasets.sets import rgm
from vista_lab.logs.formats import BrokenEntry, LoggedConversation


def begin_file(path: Path) -> Path:
    return rows.tsv(path, rows.BEGIN_HEADER, rows.BEGIN)


def test_names_are_unique_and_every_data_set_says_what_it_is() -> None:
    known = all_datasets()
    assert list(known) == sorted(known)
    for name, dataset in known.items():
        assert dataset.name == name
        assert all((dataset.title, dataset.source, dataset.licence, dataset.split, dataset.sample, dataset.files))
        assert set(dataset.origins) <= set(dataset.files)
    assert {dataset.task for dataset in known.values()} == set(Task)


def test_data_sets_whose_files_were_not_tried_say_so() -> None:
    """The others are those that `test_released` reads."""
    untried = {name for name, dataset in all_datasets().items() if "not tried on its file" in dataset.sample}
    assert set(all_datasets()) - untried == {*FOUND, "summedits-qmsumm", "summedits-sales-email", "summedits-scitldr"}


def test_an_unknown_name_is_told_those_that_come_near() -> None:
    with raises(InputError, "begin-dev"):
        find("begin-dev")


@pytest.mark.parametrize(
    "place",
    [
        "faithdial/valid.json",
        "faithdial/valid.json.gz",
        "FaithDial-main/data/valid.json",
        "sets/faithdial/data/VALID.json.gz",
    ],
)
def test_files_are_found_as_publishers_pack_them(tmp_path: Path, place: str) -> None:
    file = rows.listed(tmp_path / place, rows.FAITHDIAL)
    rows.listed(tmp_path / "other/valid.json", "no dialogue")
    rows.listed(tmp_path / "old/faithdial/deeper/and/deeper/valid.json", "no dialogue")
    opened = open_dataset(find("faithdial-valid"), tmp_path)
    assert list(opened.paths.items()) == [("faithdial/valid.json", file)]
    assert count_entries(opened.entries()).conversations == 1


def test_a_clone_may_be_the_folder_itself(tmp_path: Path) -> None:
    file = rows.listed(tmp_path / "FaithDial" / "data" / "test.json", rows.FAITHDIAL)
    assert open_dataset(find("faithdial-test"), tmp_path / "FaithDial").paths == {"faithdial/test.json": file}


def test_equal_copies_are_one_and_different_ones_an_error(tmp_path: Path) -> None:
    first = begin_file(tmp_path / "a" / "begin_dev_wow.tsv")
    second = tmp_path / "b" / "begin_dev_wow.tsv"
    second.parent.mkdir()
    shutil.copy(first, second)
    assert open_dataset(find("begin-dev-wow"), tmp_path).paths == {"begin_dev_wow.tsv": first}
    second.write_text("other", encoding="utf-8")
    with raises(InputError, "begin_dev_wow.tsv", first, second):
        open_dataset(find("begin-dev-wow"), tmp_path)


def test_links_are_followed_once_and_hidden_folders_never(tmp_path: Path) -> None:
    file = begin_file(tmp_path / "real" / "begin_dev_wow.tsv")
    begin_file(tmp_path / "data" / ".cache" / "begin_dev_cmu.tsv")
    (tmp_path / "data" / "begin").symlink_to(file.parent)
    (file.parent / "up").symlink_to(tmp_path / "data")
    folder = DataFolder(tmp_path / "data")
    assert folder.find("begin_dev_wow.tsv") == tmp_path / "data" / "begin" / "begin_dev_wow.tsv"
    assert folder.find("begin_dev_cmu.tsv") is None
    assert [path for paths in folder.files.values() for path in paths] == [folder.find("begin_dev_wow.tsv")]


def test_missing_files_are_named_with_where_they_are_to_be_had(tmp_path: Path) -> None:
    rows.table(tmp_path / "ann_wow.csv", rows.AIS)
    with raises(
        InputError,
        "ais-wow",
        tmp_path,
        "wizard_of_wikipedia/test_random_split.json",
        "http://parl.ai/downloads/wizard_of_wikipedia/wizard_of_wikipedia.tgz",
    ):
        open_dataset(find("ais-wow"), tmp_path)
    with raises(InputError, "faithdial/test.json"):
        open_dataset(find("faithdial-test"), tmp_path)
    with raises(InputError, "/none", "--data", "VISTA_GUARD_DATA"):
        open_dataset(find("fade"), tmp_path / "none")


def test_the_join_finds_both_files(tmp_path: Path) -> None:
    rows.table(tmp_path / "ais" / "ann_wow.csv", rows.AIS)
    rows.listed(tmp_path / "wizard_of_wikipedia" / "test_random_split.json", *rows.WIZARD)
    rows.listed(tmp_path / "FaithDial" / "test_random_split.json", "another file of that name")
    assert count_entries(open_dataset(find("ais-wow"), tmp_path).entries()).conversations == 1


def test_an_empty_set_is_an_error_that_names_the_first_row(tmp_path: Path) -> None:
    file = rows.tsv(tmp_path / "begin_dev_wow.tsv", rows.BEGIN_HEADER, [("t5", "wow", "K.", "Hi", "", "Generic")])
    with raises(InputError, "begin-dev-wow", file, "1"):
        list(open_dataset(find("begin-dev-wow"), tmp_path).entries())
    rows.tsv(file, rows.BEGIN_HEADER, [])
    with raises(InputError, "begin-dev-wow", file):
        list(open_dataset(find("begin-dev-wow"), tmp_path).entries())


def test_what_is_skipped_is_counted_by_reason(tmp_path: Path) -> None:
    faults = [("t5", "wow", "K.", "Hi", "R.", label) for label in ("Partly", "Mostly", "Generic")]
    rows.tsv(tmp_path / "begin_dev_wow.tsv", rows.BEGIN_HEADER, [*rows.BEGIN, *faults, ("t5", "wow")])
    found = survey(find("begin-dev-wow"), DataFolder(tmp_path))
    counts = found.counts
    assert counts is not None
    assert (counts.conversations, counts.turns, counts.positive, counts.open, counts.claims) == (4, 4, 1, 2, 0)
    assert dict(counts.skipped) == {
        "begin_label is …; the labels are Fully attributable, Not fully attributable, Generic": 2,
        "has … cells, and the header has …": 1,
    }
    assert [one.source.rpartition("/")[2] for one in counts.examples] == [
        f"begin_dev_wow.tsv row {number}" for number in (4, 5, 7)
    ]


def test_claims_with_labels_are_counted(tmp_path: Path) -> None:
    rows.listed(tmp_path / "human_eval_dev.json", rows.VISTA)
    counts = survey(find("vista-human-dev"), DataFolder(tmp_path)).counts
    assert counts is not None
    assert (counts.turns, counts.positive, counts.claims) == (1, 1, 2)


def test_a_sample_is_balanced_and_the_same_for_a_seed(tmp_path: Path) -> None:
    said = [{**rows.RGM, "contradictory_label_count": number % 2 * 3} for number in range(20)]
    file = rows.lines(tmp_path / "a.jsonl", *said, {"no": "row"})

    def drawn(seed: int, each: int = 3) -> list[str | None]:
        found = list(sample_balanced(rgm.read, each, seed)([file]))
        assert isinstance(found[-1], BrokenEntry)
        return [one.conversation.id for one in found if isinstance(one, LoggedConversation)]

    assert drawn(1) == drawn(1) != drawn(2)
    assert sorted(int(str(name).split("-")[1]) % 2 for name in drawn(1)) == [0, 0, 0, 1, 1, 1]
    with raises(InputError, "11", "10"):
        drawn(1, 11)


def test_a_data_set_of_ones_own_is_opened_like_the_others(tmp_path: Path) -> None:
    own = replace(find("begin-dev-wow"), name="own", files=("own/rows.tsv",), origins={})
    begin_file(tmp_path / "own" / "rows.tsv")
    assert [
        one.conversation.id for one in open_dataset(own, tmp_path).entries() if isinstance(one, LoggedConversation)
    ] == [
        "rows-1",
        "rows-2",
        "rows-3",
    ]
