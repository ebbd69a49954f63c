"""Where files are kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from platformdirs import user_data_dir

from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.folders import data_dir, documents_added
from vista_guard.testing import WordEmbedder
from vista_guard.types import Document


def test_the_argument_wins_then_the_environment_then_the_users_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISTA_GUARD_DATA_DIR", str(tmp_path / "environment"))
    assert data_dir(tmp_path / "argument") == tmp_path / "argument"
    assert data_dir(None) == data_dir() == tmp_path / "environment"
    monkeypatch.delenv("VISTA_GUARD_DATA_DIR")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert data_dir() == Path(user_data_dir("vista-guard", appauthor=False))
    assert data_dir("~/guard") == tmp_path / "home" / "guard"


def test_the_folder_is_created_and_left_empty(tmp_path: Path) -> None:
    folder = data_dir(tmp_path / "a" / "b")
    assert folder.is_dir()
    assert list(folder.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises(ConfigError, tmp_path / "file" / "below"):
        data_dir(tmp_path / "file" / "below")


def test_a_folder_that_takes_no_files_is_named() -> None:
    with raises(ConfigError, "/proc", "VISTA_GUARD_DATA_DIR"):
        data_dir("/proc")


async def test_chroma_still_notes_where_documents_were_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`documents_added` reads Chroma's own tables: an upgrade that changes them fails here, and drops no documents in silence."""

    def added() -> bool:
        with monkeypatch.context() as unloaded:
            unloaded.delitem(sys.modules, "chromadb", raising=False)
            return documents_added(tmp_path)

    assert not added()
    documents = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    assert (tmp_path / "chroma.sqlite3").is_file()
    assert not added()  # which an unreadable table is not
    await documents.add([Document(id="fees", text="Adults pay 5 euros.")])
    assert added()
    await documents.aclose()
