"""The weights' two packages: the version that the code needs, every file as listed, and clear words where it is not."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import sys
import tomllib
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.blocked import ROOT, run_without
from tests.judges.verifiers.tiny import SIZE, tokenizer, write_graph
from tests.raising import raises
from vista_guard._extras import how_to_install_weights
from vista_guard.errors import ConfigError
from vista_guard.inference import weights
from vista_guard.inference.weights import READER, VERSION, WEIGHTS, has_weights, weights_file
from vista_lab.training.export import move_words

MEGABYTES = 1_000_000
INSTALL = how_to_install_weights(VERSION)
OWN = {"verifier.onnx": b"quick", "tokenizer.json": b"{}"}
READERS = {"reader.onnx": b"graph", "reader.embeddings": b"table", "reader_tokenizer.json": b"{}"}


def listed() -> dict[str, str]:
    return dict(json.loads((WEIGHTS / "judge.json").read_text("utf-8"))["sha256"])


def test_code_package_and_card_name_one_version() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert {f"vista-guard-{part}=={VERSION}" for part in ("weights", "reader")} <= set(required)
    for path in (WEIGHTS / "judge.json", READER / "reader.json"):
        assert json.loads(path.read_text("utf-8"))["version"] == VERSION
        assert f"Version {VERSION}." in path.with_name("MODEL_CARD.md").read_text("utf-8")


def test_every_file_is_listed_and_small_enough_for_an_index() -> None:
    held = [*WEIGHTS.iterdir(), *READER.iterdir()]
    files = {path.name: path for path in held if path.suffix not in (".py", ".md") and path.is_file()}
    assert files.keys() - {"judge.json", "reader.json", "py.typed"} == listed().keys()
    assert {name: sha256(files[name].read_bytes()).hexdigest() for name in listed()} == listed()
    assert [name for name, path in files.items() if path.stat().st_size >= 100 * MEGABYTES] == []


def test_the_licence_is_the_codes() -> None:
    for part in ("weights", "reader"):
        assert (ROOT / part / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """Two small packages of weights, which are found before the installed ones: where each of their files is."""
    monkeypatch.syspath_prepend(tmp_path)
    found = {}
    for installed, files in ((WEIGHTS, OWN), (READER, READERS)):
        folder = tmp_path / installed.name
        folder.mkdir()
        (folder / "__init__.py").write_text((installed / "__init__.py").read_text("utf-8"), encoding="utf-8")
        for name, content in files.items():
            (folder / name).write_bytes(content)
            found[name] = folder / name
        monkeypatch.delitem(sys.modules, installed.name, raising=False)
    told(found["verifier.onnx"].with_name("judge.json"), {**OWN, **READERS})
    told(found["reader.onnx"].with_name("reader.json"))
    return found


def told(path: Path, files: Mapping[str, bytes] | None = None, version: str = VERSION) -> None:
    """Writes what a package says of itself, and of these files."""
    hashes = {} if files is None else {"sha256": {name: sha256(content).hexdigest() for name, content in files.items()}}
    path.write_text(json.dumps({"version": version, **hashes}), encoding="utf-8")


def ask(name: str, what: str = "weights_file") -> Any:
    """The answer of a fresh copy of the module, which has checked nothing yet."""
    find: Any = runpy.run_path(weights.__file__)[what]
    return find(name)


def test_shipped_files_are_found_in_their_packages(places: Mapping[str, Path]) -> None:
    assert {name: ask(name) for name in places} == places
    assert places["reader.onnx"].parent != places["verifier.onnx"].parent


@pytest.mark.parametrize("name", ["judge.json", "reader.json"])
def test_another_version_is_refused(name: str, places: Mapping[str, Path]) -> None:
    path = places["verifier.onnx" if name == "judge.json" else "reader.onnx"].with_name(name)
    told(path, {**OWN, **READERS} if name == "judge.json" else None, version="1.3.1")
    with pytest.raises(ConfigError) as refused:
        ask("verifier.onnx")
    assert all(part in str(refused.value) for part in (str(path), "1.3.1", VERSION, INSTALL))


@pytest.mark.parametrize("name", [*OWN, *READERS])
def test_a_file_that_is_not_as_listed_is_refused(name: str, places: Mapping[str, Path]) -> None:
    places[name].write_bytes(b"other")
    with pytest.raises(ConfigError) as refused:
        ask(name)
    assert all(part in str(refused.value) for part in (str(places[name]), sha256(b"other").hexdigest(), INSTALL))


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "changed"])
def test_what_a_graph_keeps_outside_itself_is_checked_with_it(lost: bool, places: Mapping[str, Path]) -> None:
    outside = places["reader.embeddings"]
    outside.unlink() if lost else outside.write_bytes(b"other")
    with raises(ConfigError, str(outside)):
        ask("reader.onnx")
    assert ask("reader_tokenizer.json").is_file()


def test_a_tokenizer_that_is_listed_and_lost_is_not_replaced_by_the_shared_one(places: Mapping[str, Path]) -> None:
    places["reader_tokenizer.json"].unlink()
    assert ask("reader_tokenizer.json", "has_weights")
    assert not ask("verifier_tokenizer.json", "has_weights")


def test_weights_that_list_no_reader_need_none(places: Mapping[str, Path]) -> None:
    told(places["verifier.onnx"].with_name("judge.json"), OWN)
    for name in (*READERS, "reader.json"):
        places["reader.onnx"].with_name(name).unlink()
    assert ask("verifier.onnx") == places["verifier.onnx"]
    assert not ask("reader_tokenizer.json", "has_weights")
    with raises(ConfigError, str(places["reader.onnx"])):
        ask("reader.onnx")


@pytest.mark.parametrize("content", ["", "[]", '{"version": "1"}', '{"version": "1", "sha256": 3}'])
def test_a_broken_list_is_refused(content: str, places: Mapping[str, Path]) -> None:
    path = places["verifier.onnx"].with_name("judge.json")
    path.write_text(content.replace('"1"', f'"{VERSION}"'), encoding="utf-8")
    with raises(ConfigError, path):
        ask("reader.onnx")


def test_a_file_that_is_missing_is_named(places: Mapping[str, Path]) -> None:
    with pytest.raises(ConfigError) as refused:
        ask("heads.npz")
    assert all(part in str(refused.value) for part in (str(places["verifier.onnx"].with_name("heads.npz")), INSTALL))


def test_a_folder_of_ones_own_is_not_measured_by_the_shipped_list(tmp_path: Path) -> None:
    for name in (*OWN, *READERS):
        (tmp_path / name).write_bytes(b"mine")
        assert weights_file(name, tmp_path) == tmp_path / name
        assert has_weights(name, tmp_path)
    assert not has_weights("heads.npz", tmp_path)
    with raises(ConfigError, str(tmp_path / "heads.npz")):
        weights_file("heads.npz", tmp_path)


@pytest.mark.parametrize("lost", [WEIGHTS, READER], ids=lambda folder: str(folder.name))
def test_without_a_package_a_command_says_what_to_install(
    lost: Path, places: Mapping[str, Path], tmp_path: Path
) -> None:
    shutil.rmtree(places["reader.onnx" if lost == READER else "verifier.onnx"].parent)
    check = ["-m", "vista_guard", "check", "The hall opened in 1925."]
    path = os.pathsep.join((str(tmp_path / "hook"), str(tmp_path), str(ROOT)))
    done = run_without([lost.name], check, tmp_path, PYTHONPATH=path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert all(part in done.stderr for part in (f"{lost.name.replace('_', '-')} is missing", INSTALL))


def test_a_reader_that_is_shipped_reads_what_the_quick_one_leaves_open(
    places: Mapping[str, Path], tmp_path: Path
) -> None:
    """The installed weights, with a graph that finds every claim contradicted as their reader."""
    shipped, readers = places["verifier.onnx"].parent, places["reader.onnx"].parent
    for name in listed().keys() - READERS.keys():
        shutil.copy(WEIGHTS / name, shipped)
    write_reader(readers)
    files = {path.name: path for path in (*shipped.iterdir(), *readers.iterdir()) if path.name in {*listed(), *READERS}}
    judge = json.loads((WEIGHTS / "judge.json").read_text("utf-8"))
    judge |= {"reader": FIT, "sha256": {name: sha256(path.read_bytes()).hexdigest() for name, path in files.items()}}
    (shipped / "judge.json").write_text(json.dumps(judge), encoding="utf-8")
    (tmp_path / "notes.txt").write_text("Dogs stay outside.", encoding="utf-8")
    check = ["-m", "vista_guard", "check", "--document", "notes.txt", "Dogs may come in.", "--json"]
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    done = run_without([], check, tmp_path, PYTHONPATH=path)
    assert [one["label"] for one in json.loads(done.stdout)["outcomes"]] == ["CONTRADICTED"], done.stderr


FIT = {
    "open_from": 0,
    "open_to": 1,
    "quick": 0,
    "careful": 1,
    "bias": [0, 0, 0],
    "supported": 0.5,
    "contradicted": 0.8,
    "max_length": 192,
}


def write_reader(folder: Path) -> None:
    """A reader with its embedding table outside the graph, for which every pair is a contradiction."""
    write_graph(folder / "reader.onnx", np.tile(np.array([0, 5, 0], np.float32), (SIZE, 1)))
    move_words(folder / "reader.onnx")
    tokenizer().save(str(folder / "reader_tokenizer.json"))
