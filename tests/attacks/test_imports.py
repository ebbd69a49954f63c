"""A working folder full of modules that nobody asked for: none of them runs, and every command works there."""

from __future__ import annotations

import ast
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import httpx
import pytest

from tests.blocked import ALL, ROOT
from tests.reading.test_files import pdf
from tests.test_house import FILES, parsed
from vista_guard._child import import_path, leave_working_folder, start_python
from vista_guard.reading.files import DocumentFile, FileReader
from vista_guard.stores.chroma.engine import FolderClient
from vista_guard.types import Document

PIER = "The old pier was opened in 1889."
ROW = {
    "id": "pier",
    "messages": [{"role": "user", "content": "When?"}, {"role": "assistant", "content": PIER}],
    "documents": [{"id": "pier", "text": PIER}],
}
HOOKS = ("conftest", "sitecustomize", "usercustomize")
OWN = "import own_texts\n\n\ndef find(claim):\n    return [own_texts.PIER]\n"
SCRIPT = f"""
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from vista_guard import Guard
from vista_guard.integrations.langchain import VistaGuardMiddleware
with Guard.from_settings(store="chroma", reports="sqlite") as guard:
    model = GenericFakeChatModel(messages=iter([AIMessage({PIER!r})]))
    agent = create_agent(model, middleware=[VistaGuardMiddleware(guard)])
    print(agent.invoke({{"messages": "When?"}})["messages"][-1].content)
"""


def strew(folder: Path) -> None:
    """Puts modules into a folder: one for each of the standard library, and of the libraries that are installed or may be."""
    installed = {name for name in packages_distributions() if name.isidentifier() and not name.startswith("vista_")}
    for name in {*sys.stdlib_module_names, *installed, *(library.partition(".")[0] for library in ALL), *HOOKS}:
        mark = f"open({str(folder / 'MARK')!r}, 'a').write(__name__ + ' ')"
        (folder / f"{name}.py").write_text(f"{mark}\nraise ImportError('of the working folder')\n")


@pytest.fixture(scope="module")
def strewn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a folder with what the commands need beside the modules."""
    folder = tmp_path_factory.mktemp("strewn")
    strew(folder)
    (folder / "notes").mkdir()
    (folder / "notes" / "pier.txt").write_text(PIER)
    (folder / "notes" / "pier.pdf").write_bytes(pdf(PIER))
    (folder / "log.jsonl").write_text(json.dumps(ROW) + "\n")
    (folder / "own_search.py").write_text(OWN)
    (folder / "own_texts.py").write_text(f"PIER = {PIER!r}\n")
    return folder


@pytest.fixture
def here(strewn: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """That folder as the working folder. Afterwards nothing of it has run."""
    monkeypatch.chdir(strewn)
    yield strewn
    assert not (strewn / "MARK").exists(), (strewn / "MARK").read_text()


def start(*command: str) -> subprocess.Popen[str]:
    """An interpreter in the working folder, where the package is found by its own path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, *command], env=environment, stdout=pipe, stderr=pipe, text=True)


def done(*command: str) -> str:
    """Standard output of a command that must succeed."""
    with start(*command) as process:
        out, error = process.communicate(timeout=300)
    assert process.returncode == 0, out + error
    return out


CONSOLE = ("-P", "-c", "import sys; from vista_guard.cli import main; sys.argv[0] = 'vista-guard'; main()")
"""The command as it is installed: a script elsewhere, with its own folder on the path."""


def test_files_are_read_and_chroma_runs_there(here: Path, tmp_path: Path) -> None:
    with FileReader() as reader:
        read = [reader.read(DocumentFile(path, path.name)) for path in (Path("notes/pier.txt"), Path("notes/pier.pdf"))]
    assert [document.text for document in read if isinstance(document, Document)] == [PIER, PIER]
    client = FolderClient(tmp_path / "chroma")
    try:
        assert client.list_collections() == []
    finally:
        client.close()


@pytest.mark.parametrize("relative", ["", ".", "notes/.."])
def test_a_relative_folder_of_the_parent_is_none_of_the_childs(
    relative: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([relative, str(ROOT)]))
    monkeypatch.setattr(sys, "path", [relative, *sys.path])
    with FileReader() as reader:
        assert isinstance(reader.read(DocumentFile(Path("notes/pier.pdf"), "pier.pdf")), Document)


def test_a_child_has_the_import_path_of_its_parent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "only_here.py").write_text("import sys\n\n\ndef say():\n    print(sys.path)\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with start_python("only_here", "say") as child:
        said, _ = child.communicate()
    assert ast.literal_eval(said.decode()) == import_path()


def loaded_by_python() -> list[str]:
    """The modules that `python -m` itself loads before it looks for any module."""
    Path("looked_for").mkdir()
    Path("looked_for/__init__.py").write_text("import sys; print(*sys.modules)")
    Path("looked_for/__main__.py").touch()
    return done("-m", "looked_for").split()


def test_the_package_as_a_module_leaves_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = loaded_by_python()
    strew(tmp_path)
    for name in loaded:
        Path(f"{name}.py").unlink(missing_ok=True)
    for way in (("-m", "vista_guard"), ("-mvista_guard",), ("-Wignore", "-Bm", "vista_guard")):
        assert done(*way, "--version").startswith("vista-guard ")
    done("-m", "vista_lab.evaluate.vista.tables")
    assert not Path("MARK").exists(), Path("MARK").read_text()


@pytest.mark.parametrize("named", ["vista_guard", "vista_lab.evaluate.vista.tables", "-mvista_guard", "-Imvista_guard"])
def test_a_checkout_that_is_not_installed_keeps_its_folder_behind_the_libraries(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["-m", "demo"])
    monkeypatch.setattr(sys, "orig_argv", ["python", *([] if named[0] == "-" else ["-m"]), named, "demo"])
    monkeypatch.setattr(sys, "path", [str(ROOT), "/libraries"])
    leave_working_folder()
    assert sys.path == ["/libraries", str(ROOT)]


@pytest.mark.parametrize("command", [["-m", "pytest"], ["-m", "my_vista_guard"], ["-c", "vista_guard"], ["bot.py"]])
def test_the_path_of_other_programs_stays(command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [command[0]])
    monkeypatch.setattr(sys, "orig_argv", ["python", *command])
    monkeypatch.setattr(sys, "path", [str(ROOT), "/libraries"])
    leave_working_folder()
    assert sys.path == [str(ROOT), "/libraries"]


COMMANDS = (
    ("documents", "add", "notes"),
    ("documents", "list"),
    ("documents", "search", "pier"),
    ("check", PIER),
    ("verify", "notes/pier.txt", "--documents", "notes"),
    ("decompose", "show", "notes/pier.txt"),
    ("replay", "log.jsonl", "--out", "{out}/replay.jsonl"),
    ("eval", "log.jsonl", "--out", "{out}/eval"),
    ("eval", "log.jsonl", "--evidence", "search:own_search:find", "--out", "{out}/own"),
    ("reports", "list"),
    ("init", "{out}/guard.toml"),
    ("schema",),
    ("demo",),
)


@pytest.mark.long
def test_every_command_works_there_and_so_does_a_script_elsewhere(here: Path, tmp_path: Path) -> None:
    script = tmp_path / "bot.py"
    script.write_text(SCRIPT)
    assert done("-Wignore", str(script)).strip() == PIER  # also writes the report that `reports list` reads
    for command in COMMANDS:
        assert done(*CONSOLE, *(part.format(out=tmp_path) for part in command)), command
        assert not (here / "MARK").exists(), (command, (here / "MARK").read_text())


SERVERS = {
    "serve": ("serve", "--port", "0", "--upstream", "http://127.0.0.1:9/v1"),
    "dashboard": ("dashboard", "--port", "0", "--demo"),
}


@pytest.mark.long
@pytest.mark.parametrize("server", SERVERS)
def test_the_servers_work_there(server: str, here: Path) -> None:
    with start(*CONSOLE, *SERVERS[server]) as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        try:
            places = re.findall(r"http://127[^/]+/", line)
            assert places, line + process.stderr.read()
            health = {"serve": "healthz", "dashboard": "_stcore/health"}[server]
            assert httpx.get(places[-1] + health, timeout=60).status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


STARTERS = {"multiprocessing", "pty", "runpy", "subprocess"}
"""Modules that start processes, or run files."""
CALLS = {
    "ProcessPoolExecutor",
    "create_subprocess_exec",
    "create_subprocess_shell",
    "subprocess_exec",
    "subprocess_shell",
}
OF_THE_SYSTEM = ("exec", "spawn", "fork", "posix_spawn", "popen", "system", "startfile")
"""Beginnings of the names of functions of `os`."""


def starts(tree: ast.AST) -> Iterator[str]:
    """Each call in a module that could start a process."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in STARTERS)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in STARTERS:
            yield str(node.module)
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (alias.name for alias in node.names if alias.name.startswith(OF_THE_SYSTEM))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "os":
            yield from [node.attr] if node.attr.startswith(OF_THE_SYSTEM) else []
        elif isinstance(node, ast.Attribute | ast.Name | ast.alias):
            name = (
                node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else node.name
            )
            yield from [name] if name in CALLS else []


@pytest.mark.parametrize(
    "line",
    [
        "import subprocess",
        "from subprocess import run as ask",
        "import multiprocessing.pool",
        "from concurrent.futures import ProcessPoolExecutor",
        "import concurrent.futures; concurrent.futures.ProcessPoolExecutor()",
        "import asyncio; asyncio.create_subprocess_exec('python')",
        "import os; os.execv('python', [])",
        "import os; os.posix_spawn('python', [], {})",
        "from os import spawnl",
        "import os; os.fork()",
    ],
)
def test_what_starts_a_process_is_recognised(line: str) -> None:
    assert list(starts(ast.parse(line)))
    assert not list(starts(ast.parse("import os; os.kill(1, 9); os.environ['system']")))


def test_one_module_starts_all_processes() -> None:
    found = {path.relative_to(ROOT).as_posix(): {*starts(parsed(path))} for path in FILES}
    assert {name: calls for name, calls in found.items() if calls} == {
        "vista_guard/_child.py": {"subprocess"},
        "vista_guard/reading/files.py": {"subprocess"},  # `Popen` in an annotation
    }
