"""Optional libraries: checks for them, and the error when one is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import url2pathname

from vista_guard.errors import ConfigError


def require(what: str, *libraries: str, extra: str) -> None:
    """Checks for the libraries without loading them. ConfigError: one is missing; says what needs and installs it."""
    missing = [library for library in libraries if not is_installed(library)]
    if missing:
        raise ConfigError(f"{what} needs {', '.join(missing)}: {how_to_install(extra)}")


def require_chroma(what: str) -> None:
    """Checks for Chroma with its engine, which a folder needs. ConfigError: it is missing; says what needs and installs it."""
    if not has_chroma():
        client = " (chromadb-client only talks to servers)" if is_installed("chromadb") else ""
        raise ConfigError(f"{what} needs chromadb{client}: {how_to_install('chroma')}")


def has_chroma() -> bool:
    """True if Chroma can keep a folder. `chromadb-client` is imported by the same name and cannot."""
    return is_installed("chromadb") and is_installed("chromadb_rust_bindings")


def is_installed(library: str) -> bool:
    """True if the library can be imported. Loads nothing."""
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # a package that it is part of is missing
        return False


def how_to_install(extra: str) -> str:
    """The command that installs an extra from where this package came from: an index, a checkout, a wheel, or a repository."""
    direct, url = _origin()
    if direct is None:
        return f"pip install 'vista-guard[{extra}]'"
    if url.scheme == "file":
        in_place = "-e " if direct.get("dir_info", {}).get("editable") else ""
        return f"pip install {in_place}'{url2pathname(url.path)}[{extra}]'"
    if vcs := direct.get("vcs_info", {}).get("vcs"):
        return f"pip install 'vista-guard[{extra}] @ {vcs}+{url.geturl()}'"
    checkout = Path(__file__).parent.parent
    place = str(checkout) if (checkout / "pyproject.toml").is_file() else "."
    return f"pip install -e '{place}[{extra}]'{', in the checkout of vista-guard' if place == '.' else ''}"


def how_to_install_weights(version: str) -> str:
    """The command that installs both packages of weights of this version, from where this package came from."""
    return " ".join(["pip install --force-reinstall", *(_from_origin(part, version) for part in ("weights", "reader"))])


def _from_origin(part: str, version: str) -> str:
    """pip's arguments for the package of weights in this folder of the repository."""
    direct, url = _origin()
    if direct is None:
        return f"vista-guard-{part}=={version}"
    if vcs := direct.get("vcs_info", {}).get("vcs"):
        return f"'vista-guard-{part} @ {vcs}+{url.geturl()}#subdirectory={part}'"
    place = Path(url2pathname(url.path)) if url.scheme == "file" else Path(__file__).parent.parent
    if place.suffix == ".whl":
        return f"'{place.with_name(f'vista_guard_{part}-{version}-py3-none-any.whl')}'"
    if (place / part / "pyproject.toml").is_file():
        return f"-e '{place / part}'"
    return f"vista-guard-{part}=={version}"


def _origin() -> tuple[Mapping[str, Any] | None, SplitResult]:
    """pip's note of where it took this package from, and its URL. None for an index, empty where it is not installed."""
    try:
        direct_url = distribution("vista-guard").read_text("direct_url.json")
        direct = json.loads(direct_url) if direct_url else None
    except (PackageNotFoundError, ValueError):
        direct = {}
    return direct, urlsplit(str((direct or {}).get("url", "")))
