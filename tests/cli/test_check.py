"""`vista-guard check`, with the judge that ships."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.reading.test_files import pdf
from vista_guard.cli import app
from vista_guard.cli.inputs import read_document
from vista_guard.reading import files
from vista_guard.reading.files import FORMATS
from vista_guard.types import Action, Document, Label, SourceKind, TurnReport

PIER = "The old pier was opened in 1889. It is 310 metres long and made of cast iron."


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VISTA_GUARD_DATA_DIR")
    for name in ("HOME", "XDG_DATA_HOME"):  # where documents would be that a developer once added
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "pier.txt"
    path.write_text(PIER, encoding="utf-8")
    return path


def check(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(app, ["check", *map(str, arguments)], input=stdin)


def report(*arguments: str | Path, stdin: str | bytes | None = None) -> TurnReport:
    result = check("--json", *arguments, stdin=stdin)
    assert result.stderr == ""
    return TurnReport.model_validate_json(result.stdout)


def test_a_delivered_turn(document: Path) -> None:
    result = check("-d", document, "--policy", "monitor", PIER)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("╭─ delivered")
    assert "pier.txt" in result.stdout
    assert "· policy monitor" in " ".join(result.stdout.split())


def test_a_blocked_turn_shows_what_is_delivered_instead() -> None:
    result = check("--policy", "strict", "The old pier was opened in 1889.")
    assert (result.exit_code, result.stderr) == (3, "")
    assert result.stdout.startswith("╭─ blocked; delivered instead ─")
    assert "There was no evidence to verify against." in result.stdout


def test_json_is_all_there_is_on_stdout() -> None:
    run = [
        sys.executable,
        "-m",
        "vista_guard",
        "check",
        "--json",
        "--policy",
        "strict",
        "Der Pier ist 310 m lang – schön!",
    ]
    homes = {name: os.environ[name] for name in ("HOME", "XDG_DATA_HOME")}
    environment = {"LC_ALL": "C", "PYTHONPATH": str(Path(__file__).parents[2]), **homes}
    done = subprocess.run(run, capture_output=True, check=False, env=environment)
    made = TurnReport.model_validate_json(done.stdout)
    assert (done.returncode, done.stderr) == (3, b"")
    assert (made.decision.action, made.evidence_missing, made.policy) == (Action.BLOCK, True, "strict")
    assert made.conversation_id is None
    assert json.loads(done.stdout)["outcomes"][0]["claim"]["text"].startswith("Der Pier")


def test_the_turn_can_come_from_stdin(document: Path) -> None:
    given = [report("-d", document, PIER), report("-d", document, "-", stdin=f"{PIER}\n".encode())]
    assert [one.response for one in given] == [PIER, PIER]
    assert given[0].outcomes == given[1].outcomes


def test_the_persona_is_evidence(tmp_path: Path) -> None:
    persona = tmp_path / "mira.yaml"
    persona.write_text("name: Mira\nfacts: [The assistant works at the tide museum.]\n", encoding="utf-8")
    made = report("--persona", persona, "I work at the tide museum.")
    sources = {evidence.source for finding in made.findings for evidence in finding.evidence}
    assert (made.evidence_missing, sources) == (False, {SourceKind.PERSONA})


MESSAGES = [
    {"role": "user", "content": "How old is the pier?"},
    {"role": "assistant", "content": "The old pier was opened in 1889.", "documents": [PIER]},
    {"role": "user", "content": "And how long?"},
]
TURNS = {"turns": [{"role": "user", "text": "?"}, {"role": "assistant", "text": "It is 310 metres long."}]}


@pytest.mark.parametrize(
    ("content", "text", "turn"),
    [
        (MESSAGES, ("It is 310 metres long.",), 3),
        ({"messages": MESSAGES}, ("It is 310 metres long.",), 3),
        ({"messages": MESSAGES}, (), 1),
        (TURNS, (), 1),
    ],
)
def test_a_conversation_file(tmp_path: Path, document: Path, content: object, text: Sequence[str], turn: int) -> None:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    made = report("--conversation", path, "-d", document, *text)
    response = "It is 310 metres long." if turn == 3 or content is TURNS else "The old pier was opened in 1889."
    assert (made.turn_index, made.response, made.evidence_missing) == (turn, response, False)


def test_a_named_conversation_keeps_its_knowledge_in_the_data_folder(tmp_path: Path, document: Path) -> None:
    path, data = tmp_path / "talk.json", tmp_path / "data"
    path.write_text(json.dumps({"id": "pier", "messages": MESSAGES[:2]}), encoding="utf-8")
    first = report("--conversation", path, "--data-dir", data, "--policy", "monitor")
    assert (first.conversation_id, data.is_dir()) == ("pier", True)
    report("-d", document, PIER)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["data", "pier.txt", "talk.json"]


def file(folder: Path, content: bytes) -> Path:
    path = folder / "given"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "document given is empty; a turn cannot be grounded in it"),
        (b" \n", "document given is empty; a turn cannot be grounded in it"),
        (b"%PDF-1.7 ...", "document given is damaged, or no PDF: "),
        (b"caf\xe9", "document given is not UTF-8 at byte 3 (0xe9); save it as UTF-8"),
        (
            b"a" * 50_000_001,
            "document given has more than 50,000,000 bytes; split it, or raise limits.document_chars",
        ),
        (
            b"a" * 2_000_001,
            "document 'given' has 2,000,001 characters, more than the 2,000,000 of limits.document_chars; split it, raise the "
            "limit, or put it into the document store",
        ),
        (
            b"a\x00b",
            f"document given is a binary file; expected {FORMATS}; a turn cannot be grounded in it",
        ),
    ],
    ids=["empty", "blank", "pdf", "latin-1", "huge", "big", "nul"],
)
def test_documents_that_cannot_be_used(tmp_path: Path, content: bytes, error: str) -> None:
    file(tmp_path, content)
    result = check("-d", "given", "A turn.")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {error}")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pier.pdf", pdf(PIER, title="Piers")),
        ("pier.html", f"<title>Piers</title><nav>Home</nav><p>{PIER.replace('pier', '<b>pier</b>')}</p>".encode()),
        ("pier.md", f"# Piers\n\n{PIER.replace('pier', '**pier**')}\n".encode()),
        ("pier.txt", PIER.encode("utf-16")),
        ("pier", pdf(PIER)),
    ],
)
def test_documents_are_read_as_documents_add_reads_them(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    made = report("-d", name, PIER)
    assert {finding.label for finding in made.findings} == {Label.VERIFIED}
    assert made.findings[0].evidence[0].source_id == name
    kept = read_document(tmp_path / name, 1000)
    added = files.read_document(files.DocumentFile(tmp_path / name, name), content)
    assert isinstance(added, Document)
    assert (kept.text, kept.title, kept.metadata) == (added.text, added.title, added.metadata)


def test_a_block_of_a_system_message_is_evidence(tmp_path: Path) -> None:
    content = [{"role": "system", "content": f"Be brief. <context>{PIER}</context>"}, *MESSAGES[::2]]
    file(tmp_path, json.dumps(content).encode())
    made = report("--conversation", "given", PIER)
    assert ({finding.label for finding in made.findings}, made.evidence_missing) == ({Label.VERIFIED}, False)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"{", "is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        (b"\xff", "byte 0 (0xff) is not UTF-8 text; save it as UTF-8"),
        (
            b'{"messages": [{"role": "assistant", "content": "\\ud83d"}]}',
            "holds a lone surrogate: Error serializing to JSON: UnicodeEncodeError: 'utf-8' codec can't encode character "
            "'\\ud83d' in position 0: surrogates not allowed; repair it",
        ),
        (b"7", 'holds no conversation; expected chat messages, {"messages": […]} or {"turns": […]}'),
        (b'{"turns": [{"role": "elf"}]}', "turns.0.role: Input should be 'user', 'assistant', 'system' or 'tool'"),
        (
            b'[{"role": "elf"}]',
            "message 0 has the role 'elf'; the roles are system, developer, user, assistant, tool, function",
        ),
    ],
)
def test_conversations_that_cannot_be_used(tmp_path: Path, content: bytes, error: str) -> None:
    file(tmp_path, content)
    result = check("--conversation", "given")
    # A problem with the file as text or JSON follows its name directly, one with its content follows a colon.
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.replace("given: ", "given ") == f"error: conversation given {error}\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ([], "there is no assistant turn to check: give it as TEXT, or - to read it from stdin"),
        ([""], "the turn to check (TEXT) is empty"),
        (["-"], "the turn to check (stdin) is empty"),
        (["-d", "missing", "A turn."], "document missing cannot be read: No such file or directory"),
        (["-d", ".", "A turn."], "document . cannot be read: Is a directory"),
        (["--conversation", "missing"], "conversation missing cannot be read: No such file or directory"),
        (["--policy", "lax", "A turn."], "policy is 'lax'"),
        (["--judge", "oracle", "A turn."], "judge is 'oracle', which does not exist. The judges are:"),
        (
            ["--persona", "missing", "A turn."],
            "persona file missing cannot be read: [Errno 2] No such file or directory",
        ),
        (["A\udcff turn."], "TEXT is not UTF-8 at character 1; set a UTF-8 locale or send it to stdin"),
    ],
)
def test_wrong_input(arguments: list[str], error: str) -> None:
    result = check(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {error}")
    assert "Traceback" not in result.stderr


def test_stdin_that_is_no_text() -> None:
    result = check("-", stdin=b"caf\xe9")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: stdin: byte 3 (0xe9) is not UTF-8 text; send the turn as UTF-8 text\n"


def test_wrong_usage() -> None:
    result = check("--documents", "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No such option: --documents" in result.stderr
