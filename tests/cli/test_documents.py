"""`vista-guard documents`, with the embeddings that ship and Chroma on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.blocked import run_without
from tests.reading.test_files import pdf
from tests.stores.conftest import emptied
from vista_guard import Guard
from vista_guard._extras import how_to_install
from vista_guard.cli import app
from vista_guard.cli.documents import documents
from vista_guard.cli.serve import build_guard
from vista_guard.stores.chroma.client import chroma_client, close_client
from vista_guard.stores.chroma.engine import FolderClient
from vista_guard.stores.folders import default_dir
from vista_guard.testing import assistant, conversation
from vista_guard.types import Action, Label, SourceKind, TurnReport

PIER = "The old pier was opened in 1889. It is 310 metres long and made of cast iron."
HALLS = "# Halls\n\nThe whale hall opened in 1925.\n\n| Day | Entry |\n|---|---|\n| Sunday | free |\n"
GARDEN = "<title>Garden</title><nav>Home</nav><p>The rose garden was planted in 1931 by Ada Brandt.</p>"


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VISTA_GUARD_DATA_DIR")
    for name in ("HOME", "XDG_DATA_HOME"):  # the user's data folder is below
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    (folder / "halls").mkdir(parents=True)
    (folder / "pier.txt").write_text(PIER, encoding="utf-8")
    (folder / "halls" / "halls.md").write_text(HALLS, encoding="utf-8")
    (folder / "garden.html").write_text(GARDEN, encoding="utf-8")
    (folder / "tower.pdf").write_bytes(
        pdf("The tower has 12 bells.", "Its clock was made by Otto Lind.", title="Tower")
    )
    return folder


@pytest.fixture(autouse=True)
def _one_engine(_nothing_configured: None) -> Iterator[None]:
    # Starting Chroma's process takes most of a command's time: here all commands of a test after the first share one.
    yield
    while engines:
        engines.popitem()[1].close()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder whose engine runs until the end."""
    folder = tmp_path_factory.mktemp("running")
    client = chroma_client(folder / "chroma")
    yield folder
    close_client(client)


@pytest.fixture
def empty(running: Path, _nothing_configured: None) -> None:
    """`data` is a store that holds nothing. For tests that do not ask whether there is one."""
    emptied(str(running / "chroma"))
    Path("data").symlink_to(running)


engines: dict[Path, FolderClient] = {}


def shared(result: Result) -> Result:
    """The result of a command, when the store that it left is open for the next one."""
    for folder in (Path("data/chroma"), default_dir() / "chroma"):
        if not Path("data").is_symlink() and (folder / "chroma.sqlite3").is_file() and folder.resolve() not in engines:
            engines[folder.resolve()] = FolderClient(folder.resolve())
    return result


def run(*arguments: str | Path) -> Result:
    """The command, on the store in the folder `data`."""
    return shared(CliRunner().invoke(documents, [*map(str, arguments), "--data-dir", "data"]))


def lines(*arguments: str | Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in run(*arguments, "--json").stdout.splitlines()]


def stored() -> dict[str, object]:
    return {str(line["id"]): line["title"] for line in lines("list")}


ALL = {"garden.html": "Garden", "halls/halls.md": "Halls", "pier.txt": "pier.txt", "tower.pdf": "Tower"}


@pytest.mark.usefixtures("empty")
def test_a_folder_is_added_and_listed(shelf: Path) -> None:
    result = run("add", shelf, "-v")
    assert result.exit_code == 0
    assert result.stdout == "4 added; 4 passages written to data/chroma\n"
    assert result.stderr == "".join(f"added {name}\n" for name in ALL)
    assert run("list").stdout.splitlines() == [
        "garden.html     1 passage        Garden",
        "halls/halls.md  1 passage        Halls",
        "pier.txt        1 passage        pier.txt",
        "tower.pdf       1 passage        Tower",
    ]
    tower = lines("list")[3]
    assert tower["metadata"] == {
        "format": "pdf",
        "path": str(shelf.resolve() / "tower.pdf"),
        "folder": str(shelf.resolve()),
        "fingerprint": tower["metadata"]["fingerprint"],  # type: ignore[index]  # JSON
        "pages": [0, 25],
    }


@pytest.mark.usefixtures("empty")
def test_adding_again_reads_only_what_changed(shelf: Path) -> None:
    run("add", shelf)
    (shelf / "pier.txt").write_text("The old pier burned down in 1950.", encoding="utf-8")
    (shelf / "halls" / "boats.md").write_text("The ferry sails at noon.", encoding="utf-8")
    result = run("add", shelf, "--verbose")
    assert (result.exit_code, result.stderr) == (0, "added halls/boats.md\nreplaced pier.txt\n")
    assert result.stdout == "1 added, 1 replaced, 3 unchanged; 2 passages written to data/chroma\n"
    assert [line["text"] for line in lines("search", "old pier", "--limit", "1")] == [
        "The old pier burned down in 1950."
    ]
    again = run("add", shelf)
    assert (again.stdout, again.stderr) == ("5 unchanged; 0 passages written to data/chroma\n", "")
    shelf.rename("moved")
    assert run("add", "moved").stdout == "5 unchanged; 0 passages written to data/chroma\n"


@pytest.mark.usefixtures("empty")
def test_what_cannot_be_read_is_named_and_the_rest_goes_on(shelf: Path) -> None:
    (shelf / "a.txt").write_bytes(b"caf\xe9")
    (shelf / "b.pdf").write_bytes(pdf("Iron.", password="secret"))
    (shelf / "c.txt").write_bytes(b"a" * 20_001)
    (shelf / "d.jpg").write_bytes(b"\xff\xd8\x00\x00")
    (shelf / "e.txt").touch()
    (shelf / ".notes.md").write_text("Hidden.", encoding="utf-8")
    result = run("add", shelf, "--max-mb", "0.02")
    assert result.exit_code == 2
    counts = "4 added, 3 skipped, 3 failed; 4 passages written to data/chroma"
    assert result.stdout == f"{counts} (-v names what was skipped)\n"
    assert result.stderr.splitlines() == [
        f"failed {shelf}/a.txt: is not UTF-8 at byte 3 (0xe9); save it as UTF-8",
        f"failed {shelf}/b.pdf: is encrypted; save it without a password",
        f"failed {shelf}/c.txt: has more than 20,000 bytes; split it, or raise --max-mb",
    ]
    again = run("add", shelf, "--max-mb", "0.02", "-v")
    assert [line for line in again.stderr.splitlines() if not line.startswith("failed")] == [
        f"skipped {shelf}/.notes.md: hidden",
        f"skipped {shelf}/d.jpg: a binary file; expected text, Markdown, HTML, PDF, DOCX, PPTX, XLSX, CSV, TSV or JSON",
        f"skipped {shelf}/e.txt: empty",
    ]
    assert stored() == ALL


@pytest.mark.usefixtures("empty")
def test_a_document_that_takes_the_place_of_another_file_is_named(shelf: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "pier.txt").write_text("The new pier was opened in 1961.", encoding="utf-8")
    run("add", shelf)
    result = run("add", other)
    assert result.stdout == "1 replaced; 1 passage written to data/chroma\n"
    assert result.stderr == f"replaced what came from {shelf.resolve()}: pier.txt; --prefix keeps both\n"
    assert run("add", other / "pier.txt", "--prefix", "new").stderr == ""


FLEETS = ("Alma", "Brigid")


def test_two_commands_at_once_leave_the_whole_of_the_last_one(tmp_path: Path) -> None:
    names = [f"{number}.txt" for number in range(6)]
    for fleet in FLEETS:
        (tmp_path / fleet).mkdir()
        for number, name in enumerate(names):
            rooms = " ".join(f"Cabin {number}{room} of the {fleet} has {room} berths." for room in range(90))
            (tmp_path / fleet / name).write_text(rooms, encoding="utf-8")
    command = [sys.executable, "-c", "from vista_guard.cli.documents import documents; documents()", "add"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    both = [subprocess.Popen([*command, fleet, "--data-dir", "data"], **pipes) for fleet in FLEETS]
    said = [" ".join(process.communicate(timeout=300)) for process in both]
    assert {process.returncode for process in both} <= {0, 2}
    texts: dict[str, list[str]] = {name: [] for name in names}
    for passage in lines("search", "cabin", "--limit", "1000"):
        texts[str(passage["source_id"])].append(str(passage["text"]))
    for name in names:
        fleet = next(fleet for fleet in FLEETS if fleet in texts[name][0])
        assert all(fleet in text for text in texts[name])
        assert all(f"has {room} berths" in " ".join(texts[name]) for room in range(90))
    # Every document that lost its place is told by one of the two.
    assert all(name in " ".join(said) for name in names), said


DOCX = "PK\x03\x04"


@pytest.mark.parametrize("missing", ["pypdf", "docx"])
def test_without_a_library_what_needs_none_is_added(missing: str, shelf: Path, tmp_path: Path) -> None:
    (shelf / "plan.docx").write_bytes(DOCX.encode())
    (shelf / "deck.docx").write_bytes(DOCX.encode())
    main = "-c", "from vista_guard.cli import main; main()"
    done = run_without((missing,), [*main, "documents", "add", str(shelf), "--data-dir", "data"], tmp_path)
    kind, files = {"pypdf": ("PDF", ["tower.pdf"]), "docx": ("DOCX", ["deck.docx", "plan.docx"])}[missing]
    places = ", ".join(f"{shelf}/{name}" for name in files)
    assert f"failed {places}: a {kind} file, which needs {missing}: {how_to_install('documents')}\n" in done.stderr
    assert (done.returncode, {"garden.html", "halls/halls.md", "pier.txt"} <= stored().keys()) == (2, True)


def test_without_the_extra_addresses_are_told_and_files_are_added(shelf: Path, tmp_path: Path) -> None:
    main = "-c", "from vista_guard.cli import main; main()"
    places = (str(shelf / "pier.txt"), "https://example.com/terms")
    done = run_without(("defusedxml",), [*main, "documents", "add", *places, "--data-dir", "data"], tmp_path)
    needs = f"reading from the web needs defusedxml: {how_to_install('documents')}"
    assert (done.returncode, done.stderr) == (2, f"failed https://example.com/terms: {needs}\n")
    assert list(stored()) == ["pier.txt"]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from vista_guard.cli import main
sys.argv = ["vista-guard", *sys.argv[2:]]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size here")
def test_a_disk_that_fails_names_the_file_and_the_next_step(shelf: Path) -> None:
    """SQLite's own message, "disk I/O error", names neither."""
    run("add", shelf / "pier.txt")
    for arguments in (("documents", "add", str(shelf), "--data-dir", "data"), ("check", TURN, "--data-dir", "data")):
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        command = [sys.executable, "-c", LIMITED, "1000", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "disk I/O error" in done.stderr
        assert "data/chroma/chroma.sqlite3" in done.stderr
        assert "--data-dir" in done.stderr


@pytest.mark.usefixtures("empty")
def test_a_file_that_was_asked_for_itself_must_be_readable(shelf: Path) -> None:
    (shelf / "d.jpg").write_bytes(b"\xff\xd8\x00\x00")
    result = run("add", shelf / "d.jpg", shelf / "pier.txt")
    assert (result.exit_code, stored()) == (2, {"pier.txt": "pier.txt"})
    assert f"failed {shelf}/d.jpg: a binary file" in result.stderr


@pytest.mark.usefixtures("empty")
def test_two_files_cannot_have_one_id(shelf: Path) -> None:
    (shelf / "halls" / "pier.txt").write_text("Another pier.", encoding="utf-8")
    result = run("add", shelf / "pier.txt", shelf / "pier.txt", shelf / "halls" / "pier.txt")
    assert (result.exit_code, stored()) == (2, {"pier.txt": "pier.txt"})
    assert f"{shelf}/halls/pier.txt: has the id 'pier.txt', as has {shelf}/pier.txt; add it" in result.stderr
    assert run("add", shelf / "halls" / "pier.txt", "--prefix", "halls/").exit_code == 0
    assert list(stored()) == ["halls/pier.txt", "pier.txt"]


def test_a_dry_run_writes_nothing(shelf: Path) -> None:
    result = run("add", shelf, "--dry-run")
    assert (result.exit_code, result.stderr, Path("data").exists()) == (0, "", False)
    assert result.stdout == "".join(f"would be added: {name}\n" for name in ALL) + (
        "dry run, nothing was written to data/chroma: 4 added\n"
    )
    run("add", shelf / "pier.txt")
    (shelf / "pier.txt").write_text("Other.", encoding="utf-8")
    again = run("add", shelf / "pier.txt", shelf / "garden.html", "--dry-run").stdout.splitlines()
    assert again[:2] == ["would be replaced: pier.txt", "would be added: garden.html"]
    assert [line["text"] for line in lines("search", "pier")] == [PIER]


@pytest.mark.usefixtures("empty")
def test_documents_whose_files_are_gone_are_named_and_pruned(shelf: Path) -> None:
    run("add", shelf)
    (shelf / "pier.txt").unlink()
    named = run("add", shelf)
    assert (named.exit_code, stored()) == (0, ALL)
    assert "1 stored, but gone from the folder, such as pier.txt; --prune removes such documents" in named.stderr
    assert run("add", shelf, "--prune", "--dry-run").stdout.startswith("would be removed: pier.txt\n")
    assert stored() == ALL
    pruned = run("add", shelf / "halls", "--prefix", "halls", "--prune")
    assert (pruned.stderr, stored()) == ("", ALL)
    pruned = run("add", shelf, "--prune")
    assert (pruned.stdout.startswith("3 unchanged, 1 removed"), "pier.txt" in stored()) == (True, False)


@pytest.mark.usefixtures("empty")
def test_a_folder_that_moved_is_still_the_same_folder(shelf: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "boats.md").write_text("The ferry sails at noon.", encoding="utf-8")
    run("add", shelf, other)
    shelf.rename("moved")
    (other / "boats.md").unlink()
    Path("moved/pier.txt").unlink()
    assert run("add", "moved", "--prune", "-v").stderr == "removed pier.txt\n"
    assert list(stored()) == ["boats.md", "garden.html", "halls/halls.md", "tower.pdf"]


@pytest.mark.usefixtures("empty")
def test_removing(shelf: Path) -> None:
    run("add", shelf)
    result = run("remove", "pier.txt", "nothing", "tower.pdf")
    assert (result.exit_code, result.stdout) == (2, "removed pier.txt (1 passage)\nremoved tower.pdf (1 passage)\n")
    assert result.stderr == "error: there is no document 'nothing' in data/chroma; see: vista-guard documents list\n"
    assert list(stored()) == ["garden.html", "halls/halls.md"]
    assert run("remove", "garden.html", "halls/halls.md").exit_code == 0
    emptied = run("list")
    assert (emptied.exit_code, emptied.stdout, emptied.stderr) == (0, "", "there are no documents in data/chroma\n")
    assert run("search", "pier").stderr == "there are no documents in data/chroma\n"


@pytest.mark.usefixtures("empty")
def test_search_shows_what_the_guard_would_find(shelf: Path) -> None:
    run("add", shelf)
    found = lines("search", "Who made the clock of the tower?")
    assert found[0]["source_id"] == "tower.pdf"
    assert len(found) == 4
    scores = [float(str(line["score"])) for line in found]
    assert 0.3 < scores[0] == max(scores) <= 1
    assert [line["found"]["rank"] for line in found] == [1, 2, 3, 4]  # type: ignore[index]
    shown = run("search", "Who made the clock of the tower?", "--limit", "1").stdout
    tower = "   The tower has 12 bells.\n\n   Its clock was made by Otto Lind.\n\n"
    assert shown == f"1. {scores[0]:.2f}  by vectors and words  tower.pdf  page 1  characters 0-57  Tower\n{tower}"


@pytest.mark.usefixtures("empty")
def test_search_names_the_page(tmp_path: Path) -> None:
    filler = "\n".join(f"Room {number} shows object number {number * 7}." for number in range(40))
    (tmp_path / "long.pdf").write_bytes(pdf(filler, filler, "The lighthouse was built by Ada Brandt."))
    run("add", "long.pdf")
    found = lines("search", "The lighthouse was built by Ada Brandt.", "--limit", "20")
    pages = {bool("Ada" in str(line["text"])): line["page"] for line in found}
    assert pages[True] in (2, 3)  # a passage begins on the page before, where it overlaps
    assert {line["page"] for line in found} >= {1, 2}


@pytest.mark.usefixtures("empty")
def test_what_documents_hold_does_not_steer_the_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# \x1b[31mRed\n\nThe anchor is red.", encoding="utf-8")
    (tmp_path / "b\nfailed c.md").write_text("The buoy is green.", encoding="utf-8")
    added = run("add", "a.md", "b\nfailed c.md", "-v")
    listed = run("list").stdout
    assert "\x1b" not in listed + run("search", "anchor").stdout
    assert len(listed.splitlines()) == 2
    assert "\nfailed" not in listed + added.stderr


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("add", "", "hollow"), "an argument is empty, as an unset variable of the shell is; the working folder is ."),
        (("add", "nowhere"), "nowhere does not exist; give a file or a folder"),
        (("add", "hollow"), "there is no file to add in hollow\n  hollow/.hidden: hidden"),
        (
            ("list",),
            "there is no document store at data/chroma; make one with: vista-guard documents add FOLDER_OR_FILE",
        ),
        (
            ("search", "pier"),
            "there is no document store at data/chroma; make one with: vista-guard documents add FOLDER_OR_FILE",
        ),
        (
            ("remove", "pier"),
            "there is no document store at data/chroma; make one with: vista-guard documents add FOLDER_OR_FILE",
        ),
        (("search", " "), "TEXT is empty; give what to search for"),
        (("list", "--chroma-url", "http://127.0.0.1:1"), "--data-dir and --chroma-url are two places; give one"),
    ],
)
def test_wrong_input(tmp_path: Path, arguments: tuple[str, ...], error: str) -> None:
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / ".hidden").touch()
    result = run(*arguments)
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"error: {error}\n")
    assert not Path("data").exists()


def test_settings_without_a_lasting_store(monkeypatch: pytest.MonkeyPatch, shelf: Path) -> None:
    monkeypatch.setenv("VISTA_GUARD_STORE", "memory")
    result = run("add", shelf)
    assert result.exit_code == 2
    assert result.stderr == 'error: the setting store is "memory", which keeps no documents; set it to "chroma"\n'


def test_a_server_that_does_not_answer(shelf: Path) -> None:
    result = CliRunner().invoke(documents, ["list", "--chroma-url", "http://127.0.0.1:9"])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: cannot open Chroma at http://127.0.0.1:9: ")


def test_settings_name_the_store(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shelf: Path) -> None:
    monkeypatch.setenv("VISTA_GUARD_DATA_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("VISTA_GUARD_RETRIEVE", "false")
    result = CliRunner().invoke(documents, ["add", str(shelf)])
    assert (result.exit_code, (tmp_path / "elsewhere" / "chroma").is_dir()) == (0, True)
    assert result.stderr.endswith("note: the setting retrieve is off, so the guard does not look for documents\n")


def test_an_interrupted_run_can_be_gone_on_with(shelf: Path) -> None:
    for number in range(160):
        (shelf / f"{number:03}.txt").write_text(f"Ledger {number} lists {number * 3} ships.", encoding="utf-8")
    command = "from vista_guard.cli.documents import documents; documents()"
    arguments = [sys.executable, "-c", command, "add", str(shelf), "--data-dir", "data", "-v"]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        for _ in range(10):
            assert process.stderr.readline().startswith("added")
        process.kill()
        process.stderr.read()
    survived = len(stored())
    assert 10 <= survived < 164
    result = run("add", shelf)
    kept = f"{164 - survived} added, {survived} unchanged; "
    assert (result.exit_code, result.stdout.startswith(kept)) == (0, True)
    assert len(stored()) == len(lines("search", "ships", "--limit", "1000")) == 164


@pytest.fixture
def report(shelf: Path, empty: None) -> TurnReport:
    """What `check` says of a turn that brings no documents, after the shelf was added."""
    assert run("add", shelf).exit_code == 0
    turn = "The whale hall opened in 1925. The rose garden was planted in 1850 by Ada Brandt."
    arguments = ["check", "--json", "--policy", "monitor", "--data-dir", "data", turn]
    return TurnReport.model_validate_json(CliRunner().invoke(app, arguments).stdout)


def test_a_turn_without_documents_is_verified_against_what_was_added(report: TurnReport) -> None:
    assert (report.evidence_missing, report.decision.action) == (False, Action.FLAG)
    assert report.findings[0].label is Label.VERIFIED
    assert {finding.label for finding in report.findings[1:]} & {Label.CONTRADICTED, Label.LACKING_EVIDENCE}
    supporting = report.findings[0].evidence[0]
    assert (supporting.source, supporting.source_id, supporting.title) == (
        SourceKind.DOCUMENT,
        "halls/halls.md",
        "Halls",
    )
    assert supporting.quote.endswith("The whale hall opened in 1925.")


TURN = "The whale hall opened in 1925."


def anywhere(*arguments: str | Path) -> Result:
    """A command that is told no place, as nobody told any of them."""
    return shared(CliRunner().invoke(app, [*map(str, arguments)]))


def checked() -> TurnReport:
    result = anywhere("check", "--json", "--policy", "monitor", TURN)
    assert (result.exit_code, result.stderr) == (0, "")
    return TurnReport.model_validate_json(result.stdout)


def replayed(name: str) -> TurnReport:
    messages = [{"role": "user", "content": "When?"}, {"role": "assistant", "content": TURN}]
    Path("log.json").write_text(json.dumps([{"messages": messages}]), encoding="utf-8")
    assert anywhere("replay", "log.json", "--out", name).exit_code == 0
    return TurnReport.model_validate_json(Path(name).read_text("utf-8"))


def held_against(*, by_all: bool = True) -> list[tuple[bool, Label]]:
    """Whether evidence was missing, and the label: for `check` and the library, and with `by_all` for `replay` and `serve`."""
    said = conversation(assistant(TURN))
    reports = [checked(), *([replayed(f"{len(list(Path().glob('*.out')))}.out")] if by_all else [])]
    for guard in (Guard.from_settings(), *([build_guard({}, data_dir=None)] if by_all else [])):
        with guard:
            reports.append(guard.check(said))
    return [(report.evidence_missing, report.findings[0].label) for report in reports]


UNFOUNDED, FOUNDED = (True, Label.LACKING_EVIDENCE), (False, Label.VERIFIED)


def test_every_command_finds_what_was_added_without_being_told_where(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert held_against() == [UNFOUNDED] * 4
    added = anywhere("documents", "add", shelf)
    assert (added.exit_code, added.stderr) == (0, "")
    assert held_against() == [FOUNDED] * 4
    with monkeypatch.context() as off:
        off.setenv("VISTA_GUARD_RETRIEVE", "false")
        assert held_against(by_all=False) == [UNFOUNDED] * 2
    assert anywhere("documents", "remove", *ALL).exit_code == 0
    assert held_against(by_all=False) == [UNFOUNDED] * 2


def test_a_tenants_documents_are_nobody_elses(shelf: Path) -> None:
    added = anywhere("documents", "add", shelf, "--tenant", "acme")
    assert added.stdout == f"4 added; 4 passages written to {default_dir() / 'chroma'} for the tenant acme\n"
    assert anywhere("documents", "list").stdout == ""
    assert anywhere("documents", "list", "--tenant", "acme").stdout.count("1 passage ") == 4
    assert anywhere("documents", "search", "pier", "--tenant", "zoo").stdout == ""
    assert "pier.txt" in anywhere("documents", "search", "pier", "--tenant", "acme", "--limit", "1").stdout
    removed = anywhere("documents", "remove", "pier.txt", "--tenant", "zoo")
    assert (removed.exit_code, removed.stderr) == (
        2,
        f"error: there is no document 'pier.txt' in {default_dir() / 'chroma'} for the tenant zoo; "
        "see: vista-guard documents list --tenant zoo\n",
    )
    assert checked().evidence_missing
    (shelf / "pier.txt").unlink()
    assert anywhere("documents", "add", shelf, "--prune").stdout.startswith("3 added; ")
    assert anywhere("documents", "add", shelf, "--tenant", "acme", "--prune").stdout.startswith(
        "3 unchanged, 1 removed"
    )


@pytest.mark.parametrize("name", ["", "Acme", "a/b", "default", "a b"])
def test_names_that_no_tenant_can_have(name: str, shelf: Path) -> None:
    result = anywhere("documents", "add", shelf, "--tenant", name)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {name!r} cannot be a tenant's name: ")


COMMAND = """
import sys
from vista_guard.cli import main
sys.argv[0] = "vista-guard"
try:
    main()
finally:
    print("vista_guard.stores.chroma.client" in sys.modules, file=sys.stderr)
"""


def alone(*arguments: str) -> tuple[int | None, str]:
    """A command in a process of its own: its exit code, and whether Chroma was asked, behind what it said on stderr."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", COMMAND, *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_chroma_is_asked_only_where_something_was_added(shelf: Path) -> None:
    assert checked().evidence_missing
    assert not default_dir().exists()
    with Guard.from_settings() as guard:  # keeps knowledge there, and looks for documents
        guard.check(conversation(assistant(TURN), id="c"))
    anywhere("documents", "add", shelf, "--tenant", "acme")
    assert (default_dir() / "chroma" / "chroma.sqlite3").is_file()
    assert alone("check", TURN) == (0, "False\n")
    anywhere("documents", "add", shelf)
    assert alone("check", TURN) == (0, "True\n")
    assert alone("check", TURN, "-d", str(shelf / "pier.txt"), "--policy", "monitor") == (0, "False\n")


def test_a_store_that_cannot_be_read_is_not_taken_for_an_empty_one() -> None:
    folder = default_dir() / "chroma"
    folder.mkdir(parents=True)
    (folder / "chroma.sqlite3").write_bytes(b"not a database, whatever its name says")
    code, error = alone("check", TURN)
    assert (code, error.startswith(f"error: cannot open Chroma at {folder}: ")) == (1, True)
