"""What a host may give as `documents`, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from tests.conftest import guard_with
from tests.raising import raises
from vista_guard import ConfigError, Conversation, Document, Finding, Guard, Label, TurnReport
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.integrations.langgraph import guard_node
from vista_guard.reading.chat_json import GivenDocuments, find_documents_of
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict

HOURS = Document(id="hours", text="The museum opens at ten.")
ASKED: Any = {"messages": [HumanMessage("When?")]}
TALK = Conversation(turns=())


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        (HOURS, ["The museum opens at ten."]),
        ("The museum opens at ten.", ["The museum opens at ten."]),
        ({"id": "hours", "text": "The museum opens at ten."}, ["The museum opens at ten."]),
        ([HOURS, "Closed on Mondays."], ["The museum opens at ten.", "Closed on Mondays."]),
        ((LangChainDocument("Closed on Mondays."),), ["Closed on Mondays."]),
        (["Closed on Mondays.", "Closed on Mondays."], ["Closed on Mondays."]),
        ([], []),
    ],
)
def test_whatever_holds_documents_is_read(given: GivenDocuments, texts: list[str]) -> None:
    find = find_documents_of(given)
    assert find is not None
    assert [document.text for document in find(TALK)] == texts


def test_a_function_stays_as_it_is() -> None:
    def find(conversation: Conversation) -> Sequence[Document]:
        return [HOURS]

    assert find_documents_of(find) is find
    assert find_documents_of(None) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, ("documents", "int")),
        (b"text", ("documents", "bytes")),
        ({HOURS.text}, ("documents", "set")),
        (["a text", 7], ("1", "int")),
        ([{"title": "Hours"}], ("0", "title")),
    ],
)
def test_anything_else_is_refused_by_name_and_remedy(given: GivenDocuments, message: tuple[str, ...]) -> None:
    with raises(ConfigError, *message):
        find_documents_of(given)


GIVEN = [
    pytest.param(HOURS, id="a document"),
    pytest.param(HOURS.text, id="a text"),
    pytest.param([HOURS], id="a list of documents"),
    pytest.param([HOURS.text], id="a list of texts"),
    pytest.param(lambda conversation: [HOURS], id="a function"),
    pytest.param(lambda conversation: HOURS, id="a function that gives one"),
    pytest.param(lambda conversation: HOURS.text, id="a function that gives a text"),
    pytest.param(lambda conversation: [HOURS.text], id="a function that gives texts"),
    pytest.param(lambda conversation: (text for text in [HOURS.text]), id="a function that gives a generator"),
    pytest.param(lambda conversation: {HOURS.text}, id="a function that gives a set"),
    pytest.param(lambda conversation: [{"text": HOURS.text}], id="a function that gives mappings"),
    pytest.param(lambda conversation: iter([LangChainDocument(HOURS.text)]), id="a function that gives LangChain's"),
]
Ask = Callable[[Guard, Any], TurnReport]
"""Asks a guarded agent that says a truth and brings no documents; `documents` goes to the surface."""


def wrapped(guard: Guard, documents: Any) -> TurnReport:
    reports: list[TurnReport] = []
    guard.wrap(lambda question: HOURS.text, documents=documents, on_report=reports.append)("When?")
    return reports[0]


def streamed(guard: Guard, documents: Any) -> TurnReport:
    def answer(question: str) -> Iterator[str]:
        yield HOURS.text

    reports: list[TurnReport] = []
    list(guard.wrap(answer, documents=documents, on_report=reports.append)("When?"))
    return reports[0]


def graphed(guard: Guard, documents: Any) -> TurnReport:
    report: TurnReport = guard.graph(lambda messages: HOURS.text, documents=documents).invoke(ASKED)["report"]
    return report


def noded(guard: Guard, documents: Any) -> TurnReport:
    reports: list[TurnReport] = []
    guarded = guard_node(
        guard, lambda state: {"messages": [AIMessage(HOURS.text)]}, documents=documents, on_report=reports.append
    )
    builder = StateGraph(MessagesState)
    builder.add_node("answer", guarded)
    builder.add_edge(START, "answer")
    builder.compile().invoke(ASKED)
    return reports[0]


def in_middleware(guard: Guard, documents: Any) -> TurnReport:
    reports: list[TurnReport] = []
    middleware = VistaGuardMiddleware(guard, documents=documents, on_report=reports.append)
    model = GenericFakeChatModel(messages=iter([AIMessage(HOURS.text)]))
    create_agent(model, middleware=[middleware]).invoke(ASKED)
    return reports[0]


SURFACES = [wrapped, streamed, graphed, noded, in_middleware]


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("ask", SURFACES)
def test_every_surface_takes_documents_in_every_form(ask: Ask, given: Any, knowledge: MemoryKnowledge) -> None:
    guard = guard_with(
        ScriptedJudge({HOURS.text: [Verdict(HOURS.text, Label.LACKING_EVIDENCE, needs=HOURS.text)]}),
        knowledge,
        "strict",
    )
    report = ask(guard, given)
    assert [finding.label for finding in report.outcomes if isinstance(finding, Finding)] == [Label.VERIFIED]
    assert report.response == HOURS.text


async def find_later(conversation: Conversation) -> list[Document]:
    return [HOURS]


@pytest.mark.parametrize("ask", SURFACES)
@pytest.mark.parametrize(
    ("given", "message"),
    [(7, ("documents", "int")), (find_later, ())],
)
def test_every_surface_refuses_what_is_none(
    ask: Ask, given: Any, message: tuple[str, ...], knowledge: MemoryKnowledge
) -> None:
    with raises(ConfigError, *message):
        ask(guard_with(ScriptedJudge({}), knowledge), given)


def test_an_unknown_option_is_named_with_the_known_ones(knowledge: MemoryKnowledge) -> None:
    guard: Any = guard_with(ScriptedJudge({}), knowledge)
    with raises(TypeError, "foo", "on_report", "on_block"):
        guard.wrap(str, foo=1)
    with raises(TypeError, "bar", "foo"):
        guard.graph(str, foo=1, bar=2)
