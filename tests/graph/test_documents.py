"""What a host may give as `documents`, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.documents import Document as LangChainDocument

from vista_guard import ConfigError, Conversation, Document
from vista_guard.graph.documents import GivenDocuments, find_documents_of

HOURS = Document(id="hours", text="The museum opens at ten.")
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
    assert [document.text for document in find_documents_of(given)(TALK)] == texts


def test_a_function_stays_as_it_is() -> None:
    def find(conversation: Conversation) -> Sequence[Document]:
        return [HOURS]

    assert find_documents_of(find) is find
    assert find_documents_of(None) is None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (7, "documents is int; give a Document or a text, a list of them, or a function"),
        (b"text", "documents is bytes; give a Document or a text"),
        ({HOURS.text}, "documents is set; give a Document or a text"),
        (["a text", 7], r"documents\[1\] is int; give a Document, a text, or a mapping with text"),
        ([{"title": "Hours"}], r"documents\[0\]: a document has the keys title; it needs its text under one of"),
    ],
)
def test_anything_else_is_refused_by_name_and_remedy(given: GivenDocuments, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        find_documents_of(given)
