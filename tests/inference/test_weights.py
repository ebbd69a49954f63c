"""The weights' package: the version that the code needs, every file as listed, and clear words where it is not."""

from __future__ import annotations

import json
import re
import runpy
import sys
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.blocked import ROOT, run_without
from vista_guard._extras import how_to_install_weights
from vista_guard.errors import ConfigError
from vista_guard.inference import weights
from vista_guard.inference.weights import VERSION, WEIGHTS, weights_file

MEGABYTES = 1_000_000
INSTALL = how_to_install_weights(VERSION)
READER = {"reader.onnx": b"graph", "reader.embeddings": b"table", "reader_tokenizer.json": b"{}"}


def listed() -> dict[str, str]:
    return dict(json.loads((WEIGHTS / "judge.json").read_text("utf-8"))["sha256"])


def test_code_package_and_card_name_one_version() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert [name for name in required if name.startswith("vista-guard-weights")] == [f"vista-guard-weights=={VERSION}"]
    assert json.loads((WEIGHTS / "judge.json").read_text("utf-8"))["version"] == VERSION
    assert f"Version {VERSION}." in (WEIGHTS / "MODEL_CARD.md").read_text("utf-8")


def test_every_file_is_listed_and_small_enough_for_an_index() -> None:
    files = {path.name: path for path in WEIGHTS.iterdir() if path.suffix not in (".py", ".md") and path.is_file()}
    assert files.keys() - {"judge.json", "py.typed"} == listed().keys()
    assert {name: sha256(files[name].read_bytes()).hexdigest() for name in listed()} == listed()
    assert [name for name, path in files.items() if path.stat().st_size >= 100 * MEGABYTES] == []


def test_the_licence_is_the_codes() -> None:
    assert (ROOT / "weights/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package of weights, which is found before the installed one."""
    folder = tmp_path / "vista_guard_weights"
    folder.mkdir()
    (folder / "__init__.py").write_text((WEIGHTS / "__init__.py").read_text("utf-8"), encoding="utf-8")
    for name, content in READER.items():
        (folder / name).write_bytes(content)
    told(folder)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vista_guard_weights", raising=False)
    return folder


def told(folder: Path, version: str = VERSION) -> None:
    """Writes the package's `judge.json`."""
    hashes = {name: sha256(content).hexdigest() for name, content in READER.items()}
    (folder / "judge.json").write_text(json.dumps({"version": version, "sha256": hashes}), encoding="utf-8")


def ask(name: str) -> Path:
    """What a new process finds."""
    find: Any = runpy.run_path(weights.__file__)["weights_file"]
    return Path(find(name))


def test_shipped_files_are_found_in_their_package(package: Path) -> None:
    assert [ask(name) for name in READER] == [package / name for name in READER]


def test_another_version_is_refused(package: Path) -> None:
    told(package, "1.3.1")
    with pytest.raises(ConfigError) as refused:
        ask("reader.onnx")
    assert all(part in str(refused.value) for part in (str(package), "1.3.1", VERSION, INSTALL))


@pytest.mark.parametrize("name", READER)
def test_a_file_that_is_not_as_listed_is_refused(name: str, package: Path) -> None:
    (package / name).write_bytes(b"other")
    with pytest.raises(ConfigError) as refused:
        ask(name)
    assert all(part in str(refused.value) for part in (str(package / name), sha256(b"other").hexdigest(), INSTALL))


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "changed"])
def test_what_a_graph_keeps_outside_itself_is_checked_with_it(lost: bool, package: Path) -> None:
    outside = package / "reader.embeddings"
    outside.unlink() if lost else outside.write_bytes(b"other")
    with pytest.raises(ConfigError, match=re.escape(str(outside))):
        ask("reader.onnx")
    assert ask("reader_tokenizer.json").is_file()


@pytest.mark.parametrize("content", ["", "[]", '{"version": "1"}', '{"version": "1", "sha256": 3}'])
def test_a_broken_list_is_refused(content: str, package: Path) -> None:
    (package / "judge.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=re.escape(str(package / "judge.json"))):
        ask("reader.onnx")


def test_a_file_that_is_missing_is_named(package: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        ask("heads.npz")
    assert all(part in str(refused.value) for part in (str(package / "heads.npz"), INSTALL))


def test_a_folder_of_ones_own_is_not_measured_by_the_shipped_list(tmp_path: Path) -> None:
    (tmp_path / "verifier.onnx").write_bytes(b"mine")
    assert weights_file("verifier.onnx", tmp_path) == tmp_path / "verifier.onnx"
    with pytest.raises(ConfigError, match=re.escape(str(tmp_path / "heads.npz"))):
        weights_file("heads.npz", tmp_path)


def test_without_the_package_a_command_says_what_to_install(tmp_path: Path) -> None:
    check = ["-m", "vista_guard", "check", "The hall opened in 1925."]
    done = run_without(["vista_guard_weights"], check, tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert all(part in done.stderr for part in ("vista-guard-weights is missing", INSTALL))
