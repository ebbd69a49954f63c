"""The published benchmarks' rows as conversations: small files of our own in each publisher's form, right and wrong ones."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.lab.datasets import benchmarks, rows
from tests.lab.datasets.benchmarks import FOREIGN, TRUE
from training.papers.checks import agrees
from vista_guard.errors import InputError
from vista_guard.testing import assistant, user
from vista_guard.types import Label, Span
from vista_lab.datasets.opening import DataFolder, survey
from vista_lab.datasets.published.describing import find_published, published
from vista_lab.datasets.registry import find, open_dataset
from vista_lab.logs.source import BrokenEntry, LoggedConversation, PlaceGold, TurnGold


def read(folder: Path, name: str) -> tuple[list[LoggedConversation], list[str]]:
    """The conversations, and what is told of the other rows."""
    entries = list(open_dataset(find(name), folder).entries())
    broken = [entry.error for entry in entries if isinstance(entry, BrokenEntry)]
    return [entry for entry in entries if isinstance(entry, LoggedConversation)], broken


def gold_of(entry: LoggedConversation) -> TurnGold:
    (gold,) = entry.gold.values()
    return gold


def counts(folder: Path, name: str) -> tuple[int, int, int, Mapping[str, int]]:
    """Conversations, turns that are looked for, claims with labels, and rows that were left out, by reason."""
    found = survey(find(name), DataFolder(folder)).counts
    assert found is not None
    return found.conversations, found.positive, found.claims, dict(found.skipped)


def test_ragtruth_joins_responses_with_their_sources(tmp_path: Path) -> None:
    benchmarks.ragtruth(tmp_path)
    found, broken = read(tmp_path, "ragtruth-test")
    sources = tmp_path / "RAGTruth" / "dataset" / "source_info.jsonl"
    assert len(found) == 20
    assert found[0].conversation.id == "ragtruth-1"
    asked, told = found[0].conversation.turns
    assert asked == user("When?")
    assert [one.text.strip() for one in told.documents] == [TRUE, "It is long."]
    assert told.text == FOREIGN
    place = PlaceGold(spans=(Span(start=0, end=5),), positive=True)
    assert gold_of(found[0]) == TurnGold("hallucinated", True, "11", (place,), part="QA")
    assert gold_of(found[4]) == TurnGold("faithful", False, "11", part="QA")
    (data,) = found[8].conversation.turns[-1].documents
    assert data.text == "name: pier\nopened: 1911\nhours, Monday: null\nreviews, 1, text: Long."
    (summary,) = found[14].conversation.turns
    assert summary.documents[0].text == TRUE
    assert broken == [
        "quality is 'truncated': the publisher's own evaluation leaves it out",
        f"source_id is '14', which {sources} does not have",
        "labels 1: start 3 and end 99 are no place in a response of 16 characters",
    ]
    assert len(read(tmp_path, "ragtruth-train")[0]) == 1


def test_a_part_is_a_data_set_of_its_own(tmp_path: Path) -> None:
    benchmarks.ragtruth(tmp_path)
    found, _ = read(tmp_path, "ragtruth-test:Summary")
    assert [gold_of(entry).part for entry in found] == ["Summary"] * 6
    with pytest.raises(InputError, match=r"ragtruth-test has no part 'qa'; its parts are QA, Data2txt, Summary"):
        find("ragtruth-test:qa")
    with pytest.raises(InputError, match="fade has no part 'x'; it has no parts"):
        find("fade:x")


def test_llm_aggrefact_is_one_file_of_eleven_sets(tmp_path: Path) -> None:
    benchmarks.aggrefact(tmp_path)
    found, broken = read(tmp_path, "llm-aggrefact-test")
    assert (len(found), broken) == (20, [])
    first = found[0]
    assert first.conversation.turns[0].text == FOREIGN
    assert (gold_of(first).label, gold_of(first).positive, gold_of(first).part) == ("not supported", True, "Wice")
    assert len({gold_of(entry).group for entry in found}) == 3
    assert len(read(tmp_path, "llm-aggrefact-test:Lfqa")[0]) == 6


def test_a_file_of_another_version_is_told_by_its_fields(tmp_path: Path) -> None:
    benchmarks.parquet(tmp_path, "LLM-AggreFact/test-00000-of-00001.parquet", [{"document": TRUE, "claim": TRUE}])
    with pytest.raises(InputError, match="row 1 has no doc; its fields are document, claim"):
        read(tmp_path, "llm-aggrefact-test")
    with pytest.raises(
        InputError, match=r"dev-00000-of-00001.parquet is missing, to be had from .*lytang/LLM-AggreFact"
    ):
        read(tmp_path, "llm-aggrefact-dev")


def test_faithbench_takes_the_worst_annotation(tmp_path: Path) -> None:
    benchmarks.faithbench(tmp_path)
    found, broken = read(tmp_path, "faithbench")
    assert [(gold_of(entry).label, gold_of(entry).positive) for entry in found] == [
        ("Consistent", False),
        ("Benign", False),
        ("Questionable", True),
        ("Unwanted", True),
    ]
    assert len({gold_of(entry).group for entry in found}) == 2
    assert broken == ["label is 'Wrong'; the labels are Consistent, Benign, Questionable, Unwanted"]


QUESTION = {"knowledge": TRUE, "question": "When?", "right_answer": "1911", "hallucinated_answer": "1912"}
HALUEVAL: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "halueval-qa": ("qa_data.json", QUESTION),
    "halueval-dialogue": ("dialogue_data.json", rows.HALUEVAL),
    "halueval-summarization": (
        "summarization_data.json",
        {"document": TRUE, "right_summary": TRUE, "hallucinated_summary": FOREIGN},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HALUEVAL)
def test_halueval_gives_both_answers(tmp_path: Path, name: str) -> None:
    file, content = HALUEVAL[name]
    rows.lines(tmp_path / file, content)
    found, broken = read(tmp_path, name)
    assert broken == []
    assert [(gold_of(entry).label, gold_of(entry).positive) for entry in found] == [
        ("right", False),
        ("hallucinated", True),
    ]
    assert [entry.conversation.turns[-1].documents != () for entry in found] == [True, True]


def test_halueval_dialogues_keep_who_said_what(tmp_path: Path) -> None:
    strange = {**rows.HALUEVAL, "dialogue_history": "Bridges? [Human]: yes"}
    rows.lines(tmp_path / "dialogue_data.json", rows.HALUEVAL, strange)
    (right, made_up), broken = read(tmp_path, "halueval-dialogue")
    history = (user("I like bridges."), assistant("So do I."), user("Who built the Halm bridge?"))
    assert right.conversation.turns[:-1] == made_up.conversation.turns[:-1] == history
    assert right.conversation.turns[-1].text == "Ada Vale did."
    assert broken == ["dialogue_history begins with 'Bridges?'; expected [Human]: or [Assistant]:"]


def test_halueval_general_has_no_documents(tmp_path: Path) -> None:
    answer = {"ID": "1", "user_query": "When?", "chatgpt_response": "1911.", "hallucination": "yes"}
    rows.lines(tmp_path / "general_data.json", answer, {**answer, "hallucination": "no"})
    found, _ = read(tmp_path, "halueval-general")
    assert [gold_of(entry).label for entry in found] == ["hallucinated", "right"]
    assert (found[0].conversation.turns[-1].documents, find("halueval-general").retrieves) == ((), True)


def test_delucionqa_needs_its_contexts_as_text(tmp_path: Path) -> None:
    row = {
        "": "0",
        "sample_id": "dev_0",
        "Question": "When?",
        "Context": TRUE,
        "Answer": FOREIGN,
        "Label": "Hallucinated",
    }
    fine = {**row, "Label": "Not Hallucinated", "Answer": TRUE}
    file = tmp_path / "DelucionQA-main" / "data" / "DelucionQA_final" / "dev.csv"
    rows.table(file, row, fine)
    assert counts(tmp_path, "delucionqa-dev") == (2, 1, 0, {})
    rows.table(file, {**row, "Context": "[1476, 6203]"})
    with pytest.raises(InputError, match=r"Context is '\[1476, 6203\]'; expected text"):
        read(tmp_path, "delucionqa-dev")
    rows.table(file, {"Question": "When?"})
    with pytest.raises(InputError, match="has no column Context, Answer, Label"):
        read(tmp_path, "delucionqa-dev")


def test_ragbench_leaves_rows_without_a_score_open(tmp_path: Path) -> None:
    row: dict[str, Any] = {"id": "7", "question": "When?", "documents": [TRUE, "It is long."], "response": TRUE}
    content = [{**row, "adherence_score": score} for score in (True, False, None)]
    benchmarks.parquet(tmp_path, "ragbench/covidqa/test-00000-of-00001.parquet", content)
    found, broken = read(tmp_path, "ragbench-test:covidqa")
    assert [gold_of(entry).positive for entry in found] == [False, True, None]
    assert [gold_of(entry).part for entry in found] == ["covidqa"] * 3
    assert (len(found[0].conversation.turns[-1].documents), broken) == (2, [])
    with pytest.raises(InputError, match=r"ragbench/cuad/test-00000-of-00001.parquet is missing"):
        read(tmp_path, "ragbench-test")


def test_summedits_has_all_domains_in_one_file(tmp_path: Path) -> None:
    rows.listed(tmp_path / "summedits.json", *({**rows.SUMMARY, "domain": name} for name in ("news", "podcast")))
    found, _ = read(tmp_path, "summedits")
    assert [(gold_of(entry).part, gold_of(entry).label) for entry in found] == [
        ("news", "inconsistent"),
        ("podcast", "inconsistent"),
    ]


def test_refchecker_has_claims_that_people_labelled(tmp_path: Path) -> None:
    about, _ = find_published("refchecker") or (None, None)
    assert about is not None
    benchmarks.refchecker(tmp_path, "noisy_context", "msmarco", about.each["model"])
    found, broken = read(tmp_path, "refchecker:noisy")
    first, second, *_ = found
    assert [claim.text for claim in first.conversation.turns[-1].claims or ()] == ["pier opened in 1911"] * 3
    assert list(first.labels.values()) == [Label.VERIFIED, Label.CONTRADICTED, Label.LACKING_EVIDENCE]
    assert [(gold_of(entry).label, gold_of(entry).positive) for entry in (first, second)] == [
        ("Contradiction", True),
        ("Entailment", False),
    ]
    assert (len(found), len(broken)) == (12, 12)
    assert {text.partition(":")[0].partition(",")[0] for text in broken} == {
        "claude2_response_kg has no claim",
        "id is '4'",
    }


def test_every_description_names_its_columns_and_printed_means_are_those_of_their_parts() -> None:
    for about in published():
        for line in about.printed:
            *parts, mean = line.cells(about.columns)
            if about.whole == "mean" and mean and None not in parts:
                assert agrees(Decimal(mean), fmean(float(part) for part in parts if part)), line.system
