"""Where files are kept."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing
from pathlib import Path

import pytest
from platformdirs import user_data_dir

from tests.raising import raises
from vista_guard._private import make_file
from vista_guard.errors import ConfigError
from vista_guard.judges.composed.stored import StoredJudge
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.folders import data_dir, documents_added
from vista_guard.stores.reports.database import Database
from vista_guard.testing import ScriptedJudge, WordEmbedder
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


@pytest.mark.skipif(sys.platform == "win32", reason="rights there are no bits")
def test_what_holds_conversations_is_its_owners_and_what_exists_keeps_its_rights(tmp_path: Path) -> None:
    folder = data_dir(tmp_path / "parent" / "data")
    assert _rights(folder) == 0o700
    (tmp_path / "volume").mkdir(mode=0o755)
    assert _rights(data_dir(tmp_path / "volume")) == 0o755
    for place in (tmp_path, tmp_path / "volume"):
        file = place / "reports.sqlite"
        with closing(Database(f"sqlite:///{file}")) as database:
            database.run("look", lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
            assert {_rights(each) for each in place.glob("reports.sqlite*")} == {0o600}
    file.chmod(0o644)
    with closing(Database(f"sqlite:///{file}")) as database:
        database.run("look", lambda connection: connection.exec_driver_sql("SELECT 1").scalar())
    assert _rights(file) == 0o644
    chroma_client(tmp_path / "chroma").close()
    assert _rights(tmp_path / "chroma") == 0o700
    StoredJudge.cached(ScriptedJudge({}), tmp_path / "cache")
    StoredJudge.recorded(ScriptedJudge({}), tmp_path / "calls.jsonl")
    assert (_rights(tmp_path / "cache"), _rights(tmp_path / "calls.jsonl")) == (0o700, 0o600)


@pytest.mark.skipif(sys.platform == "win32", reason="rights there are no bits")
def test_a_folder_that_a_group_shares_stays_shared(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o2770)
    allowed = 0o777 & ~_umask()
    assert _rights(data_dir(shared / "data")) & 0o777 == allowed
    make_file(shared / "reports.sqlite")
    assert _rights(shared / "reports.sqlite") == allowed & 0o666


def _rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


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
