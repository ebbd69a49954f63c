"""LLM-OASIS's fact checker: its prompts and options, its reading of an answer, and the evidence it is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.lab.systems.rows import run
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.judges.model import ModelJudge, ModelOptions, OpenAIChat
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, assistant, conversation
from vista_guard.types import Document, Label, Passage, SourceKind, TurnReport, Unchecked
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.catalogue import make_system
from vista_lab.systems.fact_check import RETRIEVED, read_verdict

TEXT = "Oil is pressed in the mill."


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("Factual", True),
        ("factual.", True),
        ("**Factual**", True),
        ("Output: Factual", True),
        ("Factual. The mill is known for it.", True),
        ("Not Factual", False),
        ('"Not Factual"', False),
        ("not factual.", False),
        ("Non-Factual", False),
        ("unfactual", False),
        ("not_factual", False),
        ("Final answer: **Not Factual**", False),
        ("Not Factual. Rye is ground there.", False),
        ("The mill grinds rye.\nNot Factual", False),
        ("", None),
        ("Not", None),
        ("Factual or Not Factual", None),
        ("Factual\nNot Factual", None),
        ("The text is not entirely factual.", None),
        ("It is not the case that this is\nsurely factual", None),
        ("It isn't factual", None),
        ("Factual: no", None),
        ("Factual?", None),
        ("Factually wrong", None),
        ("Satisfactual", None),
    ],
)
def test_an_answer_is_read_as_what_it_says_and_no_other(answer: str, verdict: bool | None) -> None:
    """ "Not Factual" has the word Factual in it."""
    assert read_verdict(answer) is verdict


@contextmanager
def serving(script: Callable[[ReceivedRequest], str]) -> Iterator[tuple[ScriptedChatServer, str]]:
    with ScriptedChatServer(script) as server:
        yield server, f"openai:m@{server.base_url}"


def checked(name: str, judge: str, *documents: str, **given: Any) -> TurnReport:
    talk = conversation(assistant(TEXT, *documents), id="c")
    (report,) = run(make_system(name, judge=judge, **given), [LoggedConversation(talk, {})], turns=[0])
    return report


@pytest.mark.parametrize(("answer", "label"), [("Factual", Label.VERIFIED), ("Not Factual", Label.LACKING_EVIDENCE)])
def test_the_text_is_the_one_claim(answer: str, label: Label) -> None:
    with serving(lambda _: answer) as (server, judge):
        report = checked("fact-check", judge, "The mill presses oil.")
    assert [(finding.claim.text, finding.label) for finding in report.findings] == [(TEXT, label)]
    (request,) = server.requests
    assert [role for role, _ in request.messages] == ["system", "user"]
    assert request.body["temperature"] == 0.7
    assert request.schema is None
    assert TEXT in request.user
    assert "The mill presses oil." not in request.text
    assert request.text.count("Example ") == 4


def test_evidence_is_shown_where_it_is_asked_for() -> None:
    with serving(lambda _: "Factual") as (server, judge):
        checked("fact-check+evidence", judge, "The mill presses oil.")
    (request,) = server.requests
    assert request.user.index("The mill presses oil.") < request.user.index(TEXT)
    assert request.text.count("Example ") == 3


def test_a_model_without_a_system_role_gets_all_in_one_message() -> None:
    with serving(lambda _: "Not Factual") as (server, judge):
        options = {"system_role": "no", "temperature": "0"}
        checked("fact-check", judge, options=options)
        system = make_system("fact-check", judge=judge, options=options).info
        other = make_system("fact-check", judge=judge).info
    (request,) = server.requests
    assert [role for role, _ in request.messages] == ["user"]
    assert request.body["temperature"] == 0
    assert request.text.index("Example 1") < request.text.index(TEXT)
    assert system.prompts != other.prompts
    assert dict(other.options) | dict(system.options) == dict(other.options) | options


class Store:
    """Documents by the thousand, of which so many are asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    async def add(self, documents: list[Document]) -> int:
        return len(documents)

    async def search(self, query: str, limit: int) -> list[Passage]:
        self.asked.append(limit)
        return [
            Passage(source=SourceKind.DOCUMENT, source_id=f"d{number}", text=f"Passage {number} is of the mill.")
            for number in range(limit)
        ]


def test_a_text_without_documents_gets_the_thirty_nearest() -> None:
    """Section 7.1: k = 30, of the text as a whole."""
    store = Store()
    with serving(lambda _: "Factual") as (server, judge):
        checked("fact-check+evidence", judge, documents=store)
        checked("fact-check+evidence", judge, documents=store, limits={"retrieved": 3})
    assert store.asked == [RETRIEVED, 3] == [30, 3]
    assert f"Passage {RETRIEVED - 1} is" in server.requests[0].user


def test_what_cannot_be_read_is_asked_for_once_more_and_then_unchecked() -> None:
    with serving(lambda _: "It depends.") as (server, judge):
        report = checked("fact-check", judge)
    (outcome,) = report.outcomes
    assert isinstance(outcome, Unchecked)
    assert outcome.raw == "It depends."
    assert len(server.requests) == 2


def test_a_model_with_a_temperature_of_its_own_is_refused_unless_it_is_the_one_that_was_named() -> None:
    cold, warm = (
        ModelJudge(OpenAIChat("m", base_url="http://127.0.0.1:9/v1", options=options), options)
        for options in (ModelOptions(), ModelOptions(temperature=0.7))
    )
    with raises(ConfigError, "temperature"):
        make_system("fact-check", judge=cold)
    assert make_system("fact-check", judge=cold, options={"temperature": "0"}).info.options["temperature"] == "0"
    by_name = make_system("fact-check", judge="openai:m@http://127.0.0.1:9/v1").info
    assert make_system("fact-check", judge=warm).info == by_name


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"temperature": "warm"}, ("temperature",)),
        ({"temperature": "3"}, ("temperature",)),
        ({"system_role": "maybe"}, ("system_role",)),
        ({"beams": "5"}, ("beams",)),
    ],
)
def test_options_that_are_none_are_refused(options: dict[str, str], said: tuple[str, ...]) -> None:
    with raises(ConfigError, *said):
        make_system("fact-check", judge="openai:m@http://127.0.0.1:9/v1", options=options)
