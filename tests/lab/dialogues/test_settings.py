"""Every setting shows what it says: whole messages of a dialogue of three turns are compared, and every query."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from tests.lab.dialogues.runs import HARBOUR, TOWER, BySentence, Literal, Scripted, hold
from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.model import Message
from vista_guard.testing import WordEmbedder
from vista_guard.types import Passage
from vista_lab.dialogues.asking import AssistantReply, Dialogues, ask
from vista_lab.dialogues.histories import TranscriptAssistant, history_of, read_history, read_transcripts
from vista_lab.dialogues.judging import judge_dialogues
from vista_lab.dialogues.questions import QuestionItem, QuestionSet
from vista_lab.dialogues.records import read_answers, read_dialogue_manifest
from vista_lab.dialogues.retrieving import PassageFinder, with_references
from vista_lab.dialogues.scored import read_cohorts
from vista_lab.dialogues.settings import read_setting
from vista_lab.dialogues.tables.papers import sheets
from vista_lab.dialogues.tokens import TokenCounter, token_counter

ONE, TWO, THREE = HARBOUR.questions


def echo(messages: Sequence[Message]) -> str:
    return f"A{len(messages)}"


def asked(assistant: Scripted) -> list[list[str]]:
    return [[one.content for one in messages] for messages in assistant.asked]


class Heard(PassageFinder):
    """Finds the same passage each time, and keeps the queries."""

    queries: ClassVar[list[str]] = []

    async def find(self, item: QuestionItem, query: str) -> list[Passage]:
        self.queries.append(query)
        return (await super().find(item, query))[:1]


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    Heard.queries = []
    monkeypatch.setattr("vista_lab.dialogues.asking.PassageFinder", Heard)
    return Heard.queries


BLOCK = f'1. """{HARBOUR.documents[0]}"""\n\nAnswer the following question from the information above alone:\n'
H1 = f"User: {ONE}\n\nAssistant: A1\n\nUser: {TWO}"
H2 = f"{H1}\n\nAssistant: A3\n\nUser: {THREE}"
CODE1 = f"User: {BLOCK}{ONE}\n\nAssistant: A1\n\nUser: {TWO}"
CODE2 = f"User: {BLOCK}{ONE}\n\nAssistant: A1\n\nUser: {BLOCK}{TWO}\n\nAssistant: A3\n\nUser: {THREE}"


@pytest.mark.parametrize(
    ("setting", "said", "last"),
    [
        ("single+rag=base", [THREE], [BLOCK + THREE]),
        ("multi+rag=base", [THREE], [ONE, "A1", TWO, "A3", BLOCK + THREE]),
        ("multi+rag=last", [H2], [ONE, "A1", TWO, "A3", BLOCK + THREE]),
        ("multi+rag=rounds", [ONE, TWO, THREE], [ONE, "A1", TWO, "A3", BLOCK + THREE]),
        ("multi+rag=all", [f"User: {ONE}", H1, H2], [ONE, "A1", TWO, "A3", BLOCK + THREE]),
        ("multi+rag=last@code", [f"User: {ONE}", CODE1, CODE2], [BLOCK + ONE, "A1", BLOCK + TWO, "A3", BLOCK + THREE]),
    ],
)
def test_what_is_retrieved_and_shown(
    tmp_path: Path, queries: list[str], setting: str, said: list[str], last: list[str]
) -> None:
    assistant = Scripted(echo)
    hold(tmp_path, assistant, setting, items=[HARBOUR])
    assert queries == said
    assert asked(assistant)[-1] == last
    *_, line = read_answers(tmp_path)
    assert line.retrieved == (f"harbour-1:0-{len(HARBOUR.documents[0])}",)


@pytest.mark.parametrize(
    ("budget", "kept", "counts"),
    [
        (5, [], (0, 0)),  # the last round has six tokens
        (6, [TWO, "A3"], (2, 6)),
        (12, [TWO, "A3"], (2, 6)),  # the answer before would fit, and is no beginning
        (13, [ONE, "A1", TWO, "A3"], (4, 13)),
    ],
)
def test_a_budget_keeps_the_latest_rounds_of_the_history(
    tmp_path: Path, budget: int, kept: list[str], counts: tuple[int, int]
) -> None:
    assistant = Scripted(echo)
    hold(tmp_path, assistant, f"multi+budget={budget}", items=[HARBOUR], system={"scripted": "Be brief."})
    shown = [[one.content for one in messages if one.role != "system"] for messages in assistant.asked]
    assert shown == [[ONE], [ONE, "A2", TWO], [*(text.replace("A1", "A2").replace("A3", "A4") for text in kept), THREE]]
    assert all(messages[0] == Message("system", "Be brief.") for messages in assistant.asked)
    assert [line.history for line in read_answers(tmp_path)] == [None, None, counts]
    assert read_dialogue_manifest(tmp_path).tokens == "words"


def test_a_budget_counts_with_the_declared_counter(tmp_path: Path) -> None:
    assistant, letters = Scripted(echo), TokenCounter("letters", len)
    dialogues = Dialogues(
        QuestionSet("own", "0" * 64, (HARBOUR,)), Path("own.jsonl"), [assistant], [read_setting("multi+budget=18")],
        counter=letters,
    )  # fmt: skip
    asyncio.run(ask(dialogues, tmp_path))
    assert asked(assistant)[-1] == [TWO, "A3", THREE]
    assert [line.history for line in read_answers(tmp_path)][-1] == (2, len(TWO) + 2)
    with pytest.raises(ConfigError, match="tokens"):  # another counter is another run
        asyncio.run(ask(replace(dialogues, counter=token_counter("words")), tmp_path))


def test_mitigations_change_the_last_prompt_alone(tmp_path: Path) -> None:
    assistant = Scripted(echo)
    hold(tmp_path, assistant, *(f"multi+mitigate={one}" for one in ("simple", "summarize", "select", "self-refine")),
         items=[HARBOUR])  # fmt: skip
    shown = asked(assistant)
    assert shown[2][:4] == [ONE, "A1", TWO, "A3"]
    assert shown[2][4].endswith(f"know yourself.\n\n{THREE}")
    for place, what in ((5, "Sum up"), (9, "word for word")):
        (prompt,) = shown[place]
        assert what in prompt
        assert H2.removesuffix(f"\n\nUser: {THREE}") in prompt
        assert shown[place + 1] == [f"What is known from the conversation so far:\nA1\n\n{THREE}"]
    first, review, again = shown[13:]
    assert first == [ONE, "A1", TWO, "A3", THREE]
    assert review[:6] == [*first, "A5"]
    assert "strict reviewer" in review[6]
    assert again[:8] == [*review, "A7"]
    assert len(shown) == 3 + 4 + 4 + 5
    answers = [line.answer for line in read_answers(tmp_path) if line.is_last]
    assert answers == ["A5", "A1", "A1", "A9"]


def test_a_mitigation_that_gets_no_answer_is_a_failure(tmp_path: Path) -> None:
    def silent(messages: Sequence[Message]) -> str | AssistantReply:
        return AssistantReply("", failure="empty") if "Sum up" in messages[0].content else "Yes."

    held = hold(tmp_path, Scripted(silent), "multi+mitigate=summarize", items=[HARBOUR])
    assert dict(held.reasons) == {"empty": 1}


def test_drift_asks_about_another_domain_first(tmp_path: Path) -> None:
    far = QuestionItem("loan", ("May I repay early?",), "May I repay early?", domains=("finance",))
    near = replace(TOWER, domains=("history",))
    assistant = Scripted(echo)
    hold(tmp_path, assistant, "single+drift", "multi+drift", items=[HARBOUR, near, far])
    of_harbour = [messages for messages in asked(assistant) if messages[-1] == THREE and len(messages) > 1]
    assert of_harbour == [
        ["May I repay early?", "A1", THREE],
        ["May I repay early?", "A1", ONE, "A3", TWO, "A5", THREE],
    ]


def test_the_history_of_another_run(tmp_path: Path) -> None:
    hold(tmp_path / "strong", Scripted(lambda _: "Of the strong one."), "multi", items=[HARBOUR])
    weak = Scripted(echo)
    setting = f"multi+swap={tmp_path / 'strong'}"
    dialogues = Dialogues(
        QuestionSet("own", "0" * 64, (HARBOUR, TOWER)), Path("own.jsonl"), [weak], [read_setting(setting)],
        histories={(str(tmp_path / "strong"), ""): read_history(tmp_path / "strong")},
    )  # fmt: skip
    held = asyncio.run(ask(dialogues, tmp_path / "weak"))
    assert asked(weak) == [[ONE, "Of the strong one.", TWO, "Of the strong one.", THREE]]
    assert (held.whole, held.dialogues) == (1, 1)
    assert read_dialogue_manifest(tmp_path / "weak").left_out == {setting: ("tower",)}
    with pytest.raises(InputError, match="swap=RUN:MODEL"):
        read_history(tmp_path / "strong", "another")


def test_transcripts_are_a_history_and_an_assistant(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    turns = [(ONE, "In 1866."), (TWO, "The city."), (THREE, "Nine million.")]
    messages = [
        {"role": role, "content": text} for two in turns for role, text in zip(("user", "assistant"), two, strict=True)
    ]
    log.write_text(json.dumps({"id": "a", "messages": messages}) + "\n", "utf-8")
    said = read_transcripts(log)
    assert history_of(said, [HARBOUR, TOWER]) == {"harbour": ((ONE, "In 1866."), (TWO, "The city."))}
    assistant = Scripted(echo)
    setting = f"multi+static={log}"
    dialogues = Dialogues(
        QuestionSet("own", "0" * 64, (HARBOUR,)), Path("own.jsonl"), [assistant], [read_setting(setting)],
        histories={(str(log), ""): history_of(said, [HARBOUR])},
    )  # fmt: skip
    asyncio.run(ask(dialogues, tmp_path / "static"))
    assert asked(assistant) == [[ONE, "In 1866.", TWO, "The city.", THREE]]
    logged = Dialogues(
        QuestionSet("own", "0" * 64, (HARBOUR, TOWER)), Path("own.jsonl"), [TranscriptAssistant(f"answers:{log}")],
        [read_setting("multi")],
    )  # fmt: skip
    held = asyncio.run(ask(logged, tmp_path / "logged"))
    assert (held.whole, dict(held.reasons)) == (1, {"not in the transcripts": 1})
    assert [line.answer for line in read_answers(tmp_path / "logged") if line.is_last] == ["Nine million."]
    log.write_text(json.dumps({"id": "a", "messages": [{"role": "user", "content": "Hello?"}]}) + "\n", "utf-8")
    with pytest.raises(InputError):
        read_transcripts(log)


def test_items_without_documents_are_left_out_of_retrieval_and_told(tmp_path: Path) -> None:
    bare = replace(TOWER, documents=())
    held = hold(tmp_path, Scripted(echo), "multi+rag=base", "multi", items=[HARBOUR, bare])
    assert (held.whole, held.dialogues) == (3, 3)
    assert read_dialogue_manifest(tmp_path).left_out == {"multi+rag=base": ("tower",)}
    asyncio.run(judge_dialogues(tmp_path, [HARBOUR, bare], BySentence(), Literal()))
    cohorts = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, (HARBOUR, bare)), token_counter("words"))
    assert [dict(one.missing) for one in cohorts] == [{"left out": 1}, {}]
    with pytest.raises(ConfigError, match="no item has documents"):
        hold(tmp_path / "none", Scripted(echo), "multi+rag=base", items=[bare])


def test_the_authors_references_and_the_oracle(tmp_path: Path) -> None:
    path = tmp_path / "references.json"
    path.write_text(json.dumps([{"sample_id": "tower", "reference": ["Of the tower.", " "]}]), "utf-8")
    assert [one.documents for one in with_references([HARBOUR, TOWER], str(path))] == [(), ("Of the tower.",)]
    assert with_references([TOWER], "oracle")[0].documents == (TOWER.answer,)
    for content, why in (
        ("[]", "no list"),
        ('[{"sample_id": "x", "reference": "a"}]', "none of"),
        ('[{"reference": 3}]', "lacks"),
    ):
        path.write_text(content, "utf-8")
        with pytest.raises(InputError, match=why):
            with_references([TOWER], str(path))


def test_what_was_retrieved_from_the_answers_is_marked(tmp_path: Path) -> None:
    items = with_references([HARBOUR], "oracle")
    dialogues = Dialogues(
        QuestionSet("own", "0" * 64, tuple(items)), Path("own.jsonl"), [Scripted(echo)], [read_setting("single+rag=base")],
        references="oracle",
    )  # fmt: skip
    asyncio.run(ask(dialogues, tmp_path, finder=PassageFinder(WordEmbedder())))
    asyncio.run(judge_dialogues(tmp_path, items, BySentence(), Literal()))
    (cohort,) = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, tuple(items)), token_counter("words"))
    assert cohort.oracle
    assert any("oracle" in note for sheet in sheets([cohort]) for note in sheet.notes)


async def test_passages_come_in_the_same_order_and_are_five_at_most() -> None:
    text = "\n\n".join(
        f"Paragraph {number} tells of the harbour and of ship {number}. " + "It is long. " * 20 for number in range(40)
    )
    item = replace(HARBOUR, documents=(text,))
    found = await PassageFinder(WordEmbedder()).find(item, "Which ship is of paragraph 7?")
    assert 0 < len(found) <= 5
    assert [one.text for one in found] == [
        one.text for one in await PassageFinder(WordEmbedder()).find(item, "Which ship is of paragraph 7?")
    ]
    assert all(one.text in text for one in found)


def test_the_guard_stands_where_it_is_said(tmp_path: Path) -> None:
    def wrong(messages: Sequence[Message]) -> str:
        return "It was dug in 1999." if messages[-1].content == ONE else "It cost two million."

    item = replace(HARBOUR, questions=(ONE, THREE))
    actions = {}
    for place in ("", "@history", "@final"):
        hold(tmp_path / f"run{place}", Scripted(wrong), f"multi+guard=balanced{place}", items=[item])
        actions[place] = [line.action is not None for line in read_answers(tmp_path / f"run{place}")]
    assert actions == {"": [True, True], "@history": [True, False], "@final": [False, True]}
    with pytest.raises(ConfigError, match="nothing is retrieved"):
        hold(tmp_path / "rag", Scripted(wrong), "multi+rag=base+guard=strict", items=[item])


FIRST, LAST = "What did the harbour cost?", "So what did it cost, and who paid?"
ERRS = QuestionItem(
    "errs", (FIRST, LAST), LAST, answer="It cost nine million.", facts=("It cost nine million.",),
    documents=("The harbour cost nine million. The city paid half.",),
)  # fmt: skip


def errs_where_its_history_errs(messages: Sequence[Message]) -> str:
    """Wrong at the first turn; at the last one wrong again if that wrong answer stands in the history."""
    wrong_before = any("two million" in one.content for one in messages[:-1])
    return "The harbour cost two million." if messages[-1].content == FIRST or wrong_before else "It cost nine million."


def test_a_guard_mends_the_history_the_end_or_both(tmp_path: Path) -> None:
    settings = ("multi", "multi+guard=balanced@history", "multi+guard=balanced@final", "multi+guard=balanced")
    hold(tmp_path, Scripted(errs_where_its_history_errs), *settings, items=[ERRS])
    asyncio.run(judge_dialogues(tmp_path, [ERRS], BySentence(), Literal()))
    cohorts = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, (ERRS,)), token_counter("words"))
    last = {one.setting: one.lines["errs"] for one in cohorts}
    assert last["multi"].answer == "The harbour cost two million."
    assert last["multi+guard=balanced@history"].answer == "It cost nine million."
    assert last["multi+guard=balanced@final"].withheld == "The harbour cost two million."
    assert last["multi+guard=balanced"].answer == "It cost nine million."
    table = next(one for one in sheets(cohorts) if one.title.startswith("Table 12"))
    place = [column.whole for column in table.columns].index("factual: R_f")
    assert [row[place].text for row in table.rows] == ["0.00", "100.00", "0.00", "100.00"]
    guard = next(one for one in sheets(cohorts) if one.title.startswith("What the guard did"))
    assert [[cell.text for cell in row[3:8]] for row in guard.rows] == [
        ["1", "0", "0", "0", "0"],  # it stood before the history alone
        ["1", "0", "0", "0", "1"],
        ["1", "1", "0", "0", "0"],
    ]
    change = next(one for one in sheets(cohorts) if one.title.startswith("Without and with"))
    assert {row[3].text for row in change.rows} == set(settings[1:])
