"""The baselines that understand nothing, and what they may be fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.systems.rows import museum, run
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Label
from vista_lab.datasets.files import DataSet, Entry
from vista_lab.logs.source import BrokenEntry, LoggedConversation, Task, TurnGold
from vista_lab.systems.baselines import fit, share, words
from vista_lab.systems.catalogue import make_system


def labels(name: str, turn: tuple[str, str], claims: Sequence[str] | None = None, **options: str) -> list[Label]:
    """Of one answer to one document."""
    answer, document = turn
    talk = conversation(user("And?"), assistant(answer, document, claims=claims), id="c")
    (report,) = run(make_system(name, options=options), [LoggedConversation(talk, {})], turns=[1])
    return [finding.label for finding in report.findings]


def test_words_are_those_that_carry_content() -> None:
    found = words("The tower’s door, of 1,250 stones, wasn't built by 3.5 men.")
    assert found == {"tower", "door", "1,250", "stones", "built", "3.5", "men"}
    assert share("The blue tower.", {"tower"}) == 0.5
    assert share("And how are they?", set()) == 1.0


@pytest.mark.parametrize(
    ("threshold", "label"), [("0.5", Label.VERIFIED), ("0.51", Label.LACKING_EVIDENCE), ("0", Label.VERIFIED)]
)
def test_overlap_counts_words_of_the_documents(threshold: str, label: Label) -> None:
    assert labels("overlap", ("The blue tower.", "A tower stands here."), threshold=threshold) == [label]


def test_claims_that_a_turn_brings_are_looked_at_one_by_one() -> None:
    turn = ("It is a tower, and blue.", "A tower stands here.")
    assert labels("overlap", turn, ["A tower.", "It is blue."]) == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert labels("majority", turn, ["A tower.", "It is blue."], label="out_of_scope") == [Label.OUT_OF_SCOPE] * 2
    assert labels("majority", turn, label="LACKING_EVIDENCE") == [Label.LACKING_EVIDENCE]


def dataset(name: str, split: str = "dev", task: Task = Task.UNVERIFIABLE, *, test: bool = False) -> DataSet:
    """A set that is never read from disk."""

    def read(files: Sequence[Path]) -> object:
        raise AssertionError("the rows are given")

    return DataSet(name, name, "here", "CC0", split, (), read, task, test=test)  # type: ignore[arg-type]


MEASURED = dataset("museum", "test", test=True)
DEV = dataset("museum")


def test_the_majority_is_that_of_labelled_turns_or_of_labelled_claims() -> None:
    rows: list[Entry] = [*museum(9), BrokenEntry("line 4", "not JSON")]
    options = fit("majority", DEV, rows, measured=MEASURED)
    assert options == {"fitted on": "museum dev", "label": "VERIFIED"}
    assert make_system("majority", options=options).info.options["fitted on"] == "museum dev"
    talk = conversation(assistant("A.", claims=["A.", "B."]), id="t")
    labelled = LoggedConversation(
        talk, {"c1": Label.CONTRADICTED, "c2": Label.CONTRADICTED}, gold={0: TurnGold("x", None)}
    )
    assert fit("majority", DEV, [labelled], measured=MEASURED, claims="given")["label"] == "CONTRADICTED"


def test_the_threshold_is_the_share_that_tells_most_turns_right() -> None:
    options = fit("overlap", DEV, museum(9), measured=MEASURED)
    reports = run(make_system("overlap", options=options), museum(6))
    said = [report.findings[0].label is not Label.VERIFIED for report in reports]
    assert said == [gold.positive for entry in museum(6) for gold in entry.gold.values()]


@pytest.mark.parametrize(
    ("name", "on", "rows", "said"),
    [
        ("vista", DEV, museum(1), ("system", "vista", "majority", "overlap")),
        ("majority", MEASURED, museum(1), ("museum", "set")),
        ("overlap", dataset("museum", "test"), museum(1), ("museum",)),
        ("overlap", dataset("rgm", task=Task.CONTRADICTS), museum(1), ("rgm", "contradicts")),
        ("majority", DEV, [], ("museum", "dev")),
        ("overlap", DEV, [], ("museum", "dev")),
    ],
)
def test_nothing_is_fitted_on_what_is_measured(
    name: str, on: DataSet, rows: Sequence[LoggedConversation], said: tuple[str, ...]
) -> None:
    with raises(ConfigError, *said):
        fit(name, on, rows, measured=MEASURED)
