"""Each data set's rows as conversations: small files of our own in their publishers' formats."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.lab.datasets import rows
from vista_guard.errors import InputError
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Document, Label, Turn
from vista_lab.datasets.registry import Entry
from vista_lab.datasets.sets import (
    ais,
    begin,
    coconot,
    dialfact,
    fade,
    faithdial,
    mtrag,
    rgm,
    summedits,
    vista,
)
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, TurnGold


def logged(identity: str, *turns: Turn, gold: TurnGold, line: int | None = None) -> LoggedConversation:
    """A conversation of which the last turn has gold."""
    return LoggedConversation(conversation(*turns, id=identity), {}, line, {len(turns) - 1: gold})


def told(text: str, *documents: str | Document) -> Turn:
    """The assistant's turn with documents, named as readers name those without ids."""
    named = [
        one if isinstance(one, Document) else Document(id=f"e{number}", text=one)
        for number, one in enumerate(documents, 1)
    ]
    return assistant(text, *named)


def errors(found: Iterable[Entry]) -> list[tuple[str, str]]:
    """Places and errors of what could not be read."""
    broken = [entry for entry in found if isinstance(entry, BrokenEntry)]
    return [(entry.source.rpartition("/")[2], entry.error) for entry in broken]


def test_begin(tmp_path: Path) -> None:
    file = rows.tsv(tmp_path / "begin_dev_wow.tsv", rows.BEGIN_HEADER, rows.BEGIN)
    assert list(begin.read([file])) == [
        logged(
            "begin_dev_wow-1",
            user("What is the Halm?"),
            told('It is a "river', 'The "Halm" is a river.'),
            gold=TurnGold("Fully attributable", False),
            line=2,
        ),
        logged(
            "begin_dev_wow-2",
            told("It has ten bridges.", "Oslo is a city."),
            gold=TurnGold("Not fully attributable", True),
            line=3,
        ),
        logged(
            "begin_dev_wow-3",
            user("Hi"),
            told("How nice!", "Oslo is a city."),
            gold=TurnGold("Generic", None),
            line=4,
        ),
    ]


def test_faithdial_is_evaluated_by_its_original_responses(tmp_path: Path) -> None:
    file = rows.listed(tmp_path / "test.json.gz", rows.FAITHDIAL)
    (entry,) = faithdial.read([file])
    assert entry == LoggedConversation(
        conversation(
            user("Do you know mills?"),
            told("I own nine mills.", "Mills grind grain."),
            user("And wind?"),
            told("Wind drives some.", "Wind drives some mills."),
            user("Bye!"),
            told("Bye!", "Mills are old."),
            id="faithdial-test-4",
        ),
        {},
        None,
        {1: TurnGold("Hallucination, Generic", True), 3: TurnGold("Entailment", False)},
    )


def test_fade_tells_the_untouched_from_the_corrupted(tmp_path: Path) -> None:
    untouched = {**rows.FADE, "": "72", "hallucination_tags": "['O', 'O']"}
    strange = {**rows.FADE, "": "73", "hallucination_tags": "['X']"}
    unread = {**rows.FADE, "": "74", "history": "['Who"}
    file = rows.table(tmp_path / "human.csv", rows.FADE, untouched, strange, unread)
    first, second, *broken = fade.read([file])
    turns = (
        assistant("Who built the Halm bridge?"),  # whoever spoke: the response is the assistant's
        user("I don't know"),
        told("otto berg built it.", "Halm bridge is built by Ada Vale"),
    )
    assert first == logged("human-71", *turns, gold=TurnGold("hallucinated", True))
    assert second == logged("human-72", *turns, gold=TurnGold("faithful", False))
    assert errors(broken) == [
        ("human.csv row 3", "hallucination_tags is X; the tags are B-HALLUC, I-HALLUC, L-HALLUC, O, U-HALLUC"),
        ("human.csv row 4", 'history is "[\'Who"; expected a list or a mapping as a Python literal'),
    ]


def test_ais_is_joined_with_wizard_of_wikipedia(tmp_path: Path) -> None:
    changes: tuple[dict[str, str], ...] = (
        {},
        {"model-name": "b", "INT & AIS": "0"},
        {"model-name": "c", "INT": "0", "INT & AIS": "0"},
        {"model-name": "d", "Flagged": "1"},
        {"model-name": "e", "ex-idx ": "2:0"},
        {"model-name": "f", "ex-idx ": "1:3"},
        {"model-name": "g", "ex-idx ": "one"},
        {"model-name": "h", "INT": "maybe"},
        {},
    )
    annotations = rows.table(tmp_path / "ann_wow.csv", *({**rows.AIS, **change} for change in changes))
    wizard = rows.listed(tmp_path / "test.json", *rows.WIZARD)
    found = list(ais.read_wow([annotations, wizard]))
    turns = (
        assistant("I like mills."),
        user("What do they do?"),
        told("mills grind grain.", Document(id="e1", text="A mill grinds grain.", title="Mill")),
    )
    assert found[:3] == [
        logged("ais-wow-1:2-t5", *turns, gold=TurnGold("attributable", False)),
        logged("ais-wow-1:2-b", *turns, gold=TurnGold("not attributable", True)),
        logged("ais-wow-1:2-c", *turns, gold=TurnGold("not interpretable", None)),
    ]
    first = f"{annotations} row 1"
    assert errors(found) == [
        ("ann_wow.csv row 4", "was flagged as malformed by the annotators, who did not judge it"),
        ("ann_wow.csv row 5", f"names conversation 2; {wizard} has 2"),
        ("ann_wow.csv row 6", f"{wizard} row 2 has no turn 3: it has 3"),
        ("ann_wow.csv row 7", "ex-idx is 'one'; expected conversation:turn, as in 150:1"),
        ("ann_wow.csv row 8", "INT is 'maybe'; the labels are 0, 1"),
        ("ann_wow.csv row 9", f"has the id 'ais-wow-1:2-t5' of {first}; an id stands for one conversation"),
    ]


def test_ais_is_joined_with_qrecc(tmp_path: Path) -> None:
    annotated = {**rows.AIS, "doc-url": rows.PASSAGE, "ex-idx ": "7:2"}
    changes: tuple[dict[str, str], ...] = ({}, {"doc-url": "http://example.org/other_p1"}, {"ex-idx ": "8:1"})
    annotations = rows.table(tmp_path / "ann_qrecc.csv", *({**annotated, **change} for change in changes))
    questions = rows.listed(tmp_path / "qrecc_test.json", *rows.QRECC)
    texts = rows.lines(
        tmp_path / "passages.jsonl",
        {"id": "http://example.org/unasked_p1", "contents": "x"},
        {"id": rows.PASSAGE, "contents": "The Halm is 12 km long."},
    )
    found = list(ais.read_qrecc([annotations, questions, texts]))
    history = (user("Where is the Halm?"), assistant("In the north."), user("Is it long?"))
    turns = (*history, told("mills grind grain.", "The Halm is 12 km long."))
    assert found[0] == logged("ais-qrecc-7:2-t5", *turns, gold=TurnGold("attributable", False))
    assert errors(found) == [
        ("ann_qrecc.csv row 2", f"cites the passage http://example.org/other_p1, which {texts} lacks"),
        ("ann_qrecc.csv row 3", f"names question 8:1, which {questions} lacks"),
    ]
    with_context = rows.listed(tmp_path / "own.json", {**rows.QRECC[1], "Context": ["Hi", "Hello."]})
    entry = next(ais.read_qrecc([annotations, with_context, texts]))
    assert isinstance(entry, LoggedConversation)
    assert entry.conversation.turns[:3] == (user("Hi"), assistant("Hello."), user("Is it long?"))


def test_vista_has_both_golds(tmp_path: Path) -> None:
    bare = [{"role": "user", "utterance": "Hi"}]
    unlabelled = [rows.VISTA[0], {**rows.VISTA[1], "original_dataset_label": "maybe", "conversation_id": 4}]
    file = rows.listed(tmp_path / "human.json", rows.VISTA, bare, unlabelled, rows.VISTA)
    entry, *broken = vista.read([file])
    assert isinstance(entry, LoggedConversation)
    assert (entry.conversation.id, entry.gold) == ("AIS-3", {1: TurnGold("hallucinated", True)})
    assert entry.labels == {"t1.c1": Label.VERIFIED, "t1.c2": Label.OUT_OF_SCOPE}
    assert errors(broken) == [
        ("human.json conversation 2", "has no turn with human_claims"),
        (
            "human.json conversation 3",
            "turn 1: original_dataset_label is 'maybe'; the labels are faithful, hallucinated",
        ),
        (
            "human.json conversation 4",
            f"has the id 'AIS-3' of {file} conversation 1; an id stands for one conversation",
        ),
    ]


def test_coconot_leaves_incomplete_requests_out(tmp_path: Path) -> None:
    incomplete = {**rows.COCONOT, "prompt_id": "underspecified_contrast_1"}
    known = {"prompt": "Who?", "id": "x", "category": "Indeterminate requests", "chosen": "Ada.", "rejected": "No."}
    kept = {**known, "category": "Unsupported requests"}
    file = rows.lines(tmp_path / "pref.jsonl", rows.COCONOT, incomplete, known, kept)
    asked = user("Who is the mayor?")
    assert list(coconot.read([file])) == [
        logged(
            "pref-privacy_contrast_9-compliant",
            asked,
            assistant("Ada Vale."),
            gold=TurnGold("compliant", False),
            line=1,
        ),
        logged(
            "pref-privacy_contrast_9-non-compliant",
            asked,
            assistant("I cannot say."),
            gold=TurnGold("non-compliant", True),
            line=1,
        ),
        logged("pref-x-compliant", user("Who?"), assistant("Ada."), gold=TurnGold("compliant", False), line=4),
        logged("pref-x-non-compliant", user("Who?"), assistant("No."), gold=TurnGold("non-compliant", True), line=4),
    ]


def test_rgm(tmp_path: Path) -> None:
    faults = (
        {"contradictory_label_count": 4},
        {"annotation_target_pair": [2, 0]},
        {"speakers": ["A"]},
        {"utterances": ["I swim.", "Nice!", "[[TBA]]", "Oh?"]},
    )
    first = rows.lines(tmp_path / "a.jsonl", rows.RGM)
    second = rows.lines(tmp_path / "b.jsonl", *({**rows.RGM, **fault} for fault in faults))
    found = list(rgm.read([first, second]))
    turns = (assistant("I swim."), user("Nice!"), assistant("I never swim."))
    assert found[0] == logged("a-1", *turns, gold=TurnGold("2 of 3", True), line=1)
    assert errors(found) == [
        ("b.jsonl line 1", "contradictory_label_count is 4; it must lie in 0 to 3"),
        ("b.jsonl line 2", "annotation_target_pair is '[2, 0]'; expected two indexes below 4"),
        ("b.jsonl line 3", "has 4 utterances and 1 speakers"),
        ("b.jsonl line 4", "has the response [[TBA]]: the publisher has not released it yet"),
    ]


def test_dialfact(tmp_path: Path) -> None:
    short = {**rows.DIALFACT, "evidence_list": [["Halm"]]}
    strange = {**rows.DIALFACT, "response_label": "SOME"}
    file = rows.lines(tmp_path / "valid_split.jsonl", rows.DIALFACT, short, strange)
    first, *broken = dialfact.read([file])
    river = Document(id="e1", title="Halm River", text="It is a river.")
    turns = (user("Do you swim?"), assistant("Yes, often."), user("Where?"), told("In the Halm.", river))
    assert first == logged("valid_split-1", *turns, gold=TurnGold("NOT ENOUGH INFO", True), line=1)
    assert errors(broken) == [
        ("valid_split.jsonl line 2", "piece 1 of evidence_list is \"['Halm']\"; expected [title, link, snippet, …]"),
        (
            "valid_split.jsonl line 3",
            "response_label is 'SOME'; the labels are SUPPORTS, REFUTES, NOT ENOUGH INFO",
        ),
    ]


def test_summedits(tmp_path: Path) -> None:
    file = rows.listed(tmp_path / "summedits_podcast.json.gz", rows.SUMMARY, {**rows.SUMMARY, "id": "b", "label": 2})
    first, broken = summedits.read([file])
    told_of = Document(id="document", text="In week one the mill ground 12 tons.")
    turn = told("The mill ground 13 tons.", told_of)
    assert first == logged("summedits_podcast-week_1_og", turn, gold=TurnGold("inconsistent", True))
    assert errors([broken]) == [("summedits_podcast.json.gz row 2", "label is '2'; the labels are 1, 0")]


def test_mtrag_gives_answers_that_their_passages_carry(tmp_path: Path) -> None:
    others = (
        {"answerability": ["UNANSWERABLE"], "task_id": "b"},
        {"contexts": [], "task_id": "c"},
        {"conversation_id": "ab7", "task_id": "d", "Answerability": ["ANSWERABLE"]},
        {"answerability": ["PERHAPS"], "task_id": "e"},
        {"input": [{"speaker": "bot", "text": "Hi"}], "task_id": "f"},
    )
    file = rows.lines(tmp_path / "reference.jsonl", rows.TASK, *({**rows.TASK, **other} for other in others))
    passages = (
        Document(id="p", text="Pool: 7 a.m. to 9 p.m.", title="Pool"),
        Document(id="q", text="Parking is free."),
    )
    turns = (user("Is there a pool?"), assistant("Yes."), user("When does it open?"), told("At seven.", *passages))
    faithful = TurnGold("ANSWERABLE", False)
    assert list(mtrag.read([file]))[:2] == [
        logged("ab4<::>2", *turns, gold=faithful, line=1),
        logged("d", *turns, gold=faithful, line=4),
    ]
    assert [one for one in mtrag.read_development([file]) if isinstance(one, LoggedConversation)] == [
        logged("ab4<::>2", *turns, gold=faithful, line=1)
    ]
    assert [one.conversation.id for one in mtrag.read_training([file]) if isinstance(one, LoggedConversation)] == ["d"]
    assert [error for _, error in errors(mtrag.read([file]))] == [
        "answerability is ['PERHAPS']; the kinds are ANSWERABLE, CONVERSATIONAL, PARTIAL, UNANSWERABLE, UNDERSPECIFIED",
        "speaker is 'bot'; the labels are user, agent",
    ]


def test_mtrags_human_evaluation_goes_by_the_median(tmp_path: Path) -> None:
    file = rows.write(tmp_path / "human.json", json.dumps(rows.HUMAN))
    good, bad, unjudged = mtrag.read_human([file])
    asked, pool = user("When does the pool open?"), Document(id="p", text="Pool: 7 a.m.", title="Pool")
    assert good == logged("t1-m", asked, told("At seven.", pool), gold=TurnGold("yes", False))
    assert bad == logged("t1-n", asked, told("At nine.", pool), gold=TurnGold("1.5", True))
    assert errors([unjudged]) == [("human.json as a whole, evaluations 3", "has no human judgement of faith")]
    other = rows.write(tmp_path / "RAG.json", json.dumps({**rows.HUMAN, "metrics": rows.HUMAN["metrics"][:1]}))
    with pytest.raises(InputError, match="faithfulness"):
        list(mtrag.read_human([other]))
