"""Documents as a host has them: its own objects, under its own keys, given once as a list or found for each draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, overload

from langchain_core.documents import Document as LangChainDocument

from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.chat_json import distinct, to_document
from vista_guard.types import Conversation, Document

DOCUMENT_KEYS = ("documents", "context", "source_documents")

GivenDocument = Document | LangChainDocument | str | Mapping[str, object]
"""A document, LangChain's, a text, or a mapping that `to_document` reads."""

GivenDocuments = GivenDocument | Sequence[GivenDocument]
"""One document, or several."""

FindDocuments = Callable[[Conversation], Sequence[Document]]
"""Gives the documents of a draft from the conversation that ends with it."""

Find = TypeVar("Find", bound=Callable[[Conversation], object])


@overload
def find_documents_of(documents: None) -> None: ...


@overload
def find_documents_of(documents: GivenDocuments) -> FindDocuments: ...


@overload
def find_documents_of(documents: GivenDocuments | Find | None) -> FindDocuments | Find | None: ...


def find_documents_of(documents: GivenDocuments | Find | None) -> FindDocuments | Find | None:
    """What finds the documents that a host gave by its option `documents`: a function as it is, for others one that gives them.

    Example:
        find_documents_of("Closed on Mondays.")(conversation)  # (Document(id="doc-…", text="Closed on Mondays."),)

    Raises:
        ConfigError: it is neither a document, nor a list of them, nor a function.
    """
    if documents is None or callable(documents):
        return documents
    given = _read_given(documents)
    return lambda _: given


def read_documents(mapping: Mapping[str, object]) -> tuple[Document, ...]:
    """The documents that a request or an answer brings under one of the keys for them."""
    for key in DOCUMENT_KEYS:
        value = mapping.get(key)
        if isinstance(value, str) and value.strip():
            return (to_document(value),)
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            return tuple(read_document(item) for item in value)
    return ()


def read_document(item: object) -> Document:
    """A document from LangChain's, or from a text or mapping."""
    if not isinstance(item, LangChainDocument):
        return to_document(item)
    metadata = {
        str(key): value for key, value in item.metadata.items() if isinstance(value, str | int | float | bool | None)
    }
    named: dict[str, object] = {"text": item.page_content, "metadata": metadata}
    return to_document({**named, "id": item.id} if item.id else named)


def _read_given(documents: object) -> tuple[Document, ...]:
    """Each document once, from one or from a list."""
    if isinstance(documents, Document | LangChainDocument | str | Mapping):
        return (_read_option("documents", documents),)
    if isinstance(documents, Sequence) and not isinstance(documents, bytes | bytearray):
        return distinct(_read_option(f"documents[{place}]", item) for place, item in enumerate(documents))
    raise ConfigError(
        f"documents is {type(documents).__name__}; give a Document or a text, a list of them, or a function that takes the "
        "conversation and returns a list"
    )


def _read_option(name: str, item: object) -> Document:
    if not isinstance(item, Document | LangChainDocument | str | Mapping):
        raise ConfigError(f"{name} is {type(item).__name__}; give a Document, a text, or a mapping with text")
    try:
        return read_document(item)
    except InputError as exc:
        raise ConfigError(f"{name}: {exc}") from exc


__all__ = [
    "DOCUMENT_KEYS",
    "FindDocuments",
    "GivenDocument",
    "GivenDocuments",
    "find_documents_of",
    "read_document",
    "read_documents",
]
