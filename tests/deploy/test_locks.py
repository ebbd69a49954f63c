"""The locks hold what `pyproject.toml` asks for, in one version of each library, with hashes and from no index in particular."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LOCKS = {
    "base": (),
    "dashboard": ("dashboard", "postgres"),
    "dev": ("bench", "dev"),
    "docs": ("docs",),
    "proxy": ("chroma-client", "documents", "model", "otel", "postgres", "proxy"),
    "ray": ("bench", "dev", "ray"),
}
"""Extras by lock, as `make lock` compiles them."""
OURS = {"vista-guard", "vista-guard-reader", "vista-guard-weights"}


def locked(name: str) -> dict[str, set[str]]:
    """Versions by library; several where they differ by Python's version."""
    found: dict[str, set[str]] = {}
    for library, version in re.findall(r"^([\w.-]+)==(\S+)", text(name), re.MULTILINE):
        found.setdefault(canonicalize_name(library), set()).add(version)
    return found


def text(name: str) -> str:
    return (ROOT / f"requirements/{name}.txt").read_text("utf-8")


def asked(extras: tuple[str, ...]) -> list[Requirement]:
    """Requirements of the base and these extras, by themselves and by extras that are part of them."""
    named = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    wanted: list[Requirement] = []
    for requirement in map(Requirement, named):
        wanted += asked(tuple(requirement.extras)) if requirement.name == "vista-guard" else [requirement]
    return [requirement for requirement in wanted if canonicalize_name(requirement.name) not in OURS]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_what_the_project_asks_for(lock: str) -> None:
    versions = locked(lock)
    wrong = [
        str(requirement)
        for requirement in asked(LOCKS[lock])
        if not any(map(requirement.specifier.contains, versions.get(canonicalize_name(requirement.name), ())))
    ]
    assert wrong == [], "run: make lock"
    assert not OURS & versions.keys()  # built from here


@pytest.mark.parametrize("lock", [*LOCKS, "build", "uv"])
def test_every_file_is_known_by_its_hash(lock: str) -> None:
    entries = re.split(r"^(?=[\w.-]+==)", text(lock), flags=re.MULTILINE)[1:]
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text(lock)


@pytest.mark.parametrize("lock", sorted(set(LOCKS) - {"dev"}))
def test_a_library_has_one_version_everywhere(lock: str) -> None:
    everywhere = locked("dev")
    assert {name: found for name, found in locked(lock).items() if not found <= everywhere.get(name, found)} == {}


def test_a_lock_is_for_every_python_and_system() -> None:
    markers = re.findall(r"^[\w.-]+==\S+ ; (.+?) *\\$", text("dev"), re.MULTILINE)
    assert any("python_full_version" in marker for marker in markers)
    assert any("sys_platform" in marker for marker in markers)
    assert all(Marker(marker) for marker in markers)


def test_the_makefile_compiles_these_extras() -> None:
    made = (ROOT / "Makefile").read_text("utf-8")
    for lock, extras in LOCKS.items():
        (line,) = re.findall(rf"^\t(.*) -o requirements/{lock}\.txt$", made, re.MULTILINE)
        called = re.search(r"\$\(call OF,([^)]*)\)", line)
        named = called[1].split() if called else re.findall(r"--extra (\S+)", line)
        assert sorted(named) == sorted(extras), lock
