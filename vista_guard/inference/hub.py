"""Models of the Hugging Face hub, from the local cache or downloaded."""

from __future__ import annotations

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from vista_guard._extras import how_to_install, require
from vista_guard.errors import ConfigError
from vista_guard.inference.local_models import ONNX_FILES, SEQ2SEQ_FILES, TORCH_FILES, ModelFolder, cached_decoder

SMALL_FILES = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "spiece.model",
    "spm.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "sentence_bert_config.json",
)
"""Configuration, tokenizer and pooling, in whatever form: kilobytes to a few megabytes."""

HUB_FORM = "a model of the Hugging Face hub, from the local cache or downloaded; hf:ORG/MODEL@REVISION"
FOLDER_FORM = "a folder with config.json, a tokenizer, and model.onnx or weights for torch"
"""What `model_folder` takes, in words for errors."""


def model_folder(name: str, role: str, *, file: str | None = None) -> ModelFolder:
    """Finds or downloads the folder of `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a path.

    Args:
        name: as above.
        role: the setting that names the model, for errors.
        file: the ONNX file to take in place of the usual ones.

    Raises:
        ConfigError: there is no such folder or model, it cannot be downloaded, or only torch could run it and is not
            installed.
    """
    if name.startswith("hf:"):
        return _hub_folder(name.removeprefix("hf:"), file, role)
    return ModelFolder.read(Path(name).expanduser(), name, role)


def _hub_folder(name: str, file: str | None, role: str) -> ModelFolder:
    """Reads the local cache, without the network; downloads a model that is not complete there, ONNX before torch weights."""
    require(f"{role} hf:{name}", "huggingface_hub", extra="verifiers")
    repo, _, revision = name.partition("@")
    if repo.count("/") != 1 or not all(repo.split("/")):
        raise ConfigError(f"{role} is 'hf:{name}'; it takes hf:ORG/MODEL or hf:ORG/MODEL@REVISION")
    cached = _cached_folder(repo, revision or None)
    if cached is not None and _is_whole(cached, file):
        return ModelFolder.read(cached, f"hf:{name}", role)
    return ModelFolder.read(_download(repo, revision or None, file, role), f"hf:{name}", role)


def hub_file(repo: str, file: str) -> Path:
    """One small file of a repository.

    Raises:
        ConfigError: as for `model_folder`.
    """
    require(f"a verifier that needs {file} of {repo}", "huggingface_hub", extra="verifiers")
    cached = _cached_folder(repo, None)
    if cached is not None and (cached / file).is_file():
        return cached / file
    return _fetch(repo, None, [file]) / file


def wanted_files(files: Collection[str], file: str | None, *, torch: bool, writes: bool = False) -> list[str] | None:
    """Selects the files of a repository to download; None when it holds nothing that can be run here.

    Args:
        files: all files of the repository.
        file: the requested ONNX file, if any.
        torch: True if torch weights can be run.
        writes: True for a model that writes texts, which the second decoder speeds up.
    """
    small = [name for name in SMALL_FILES if name in files]
    graphs = [(file,)] if file is not None else [*((graph,) for graph in ONNX_FILES), *SEQ2SEQ_FILES]
    for names in graphs:
        if all(name in files for name in names):
            names = (*names, *(name for name in (cached_decoder(names[-1]),) if writes and name in files))
            external_data = [name for name in files if name.startswith(tuple(f"{graph}_data" for graph in names))]
            return [*small, *names, *(f"{graph}.data" for graph in names if f"{graph}.data" in files), *external_data]
    weights = next((name for name in TORCH_FILES if name in files), None)
    if weights is None or not torch or file is not None:
        return None
    if not weights.endswith(".index.json"):
        return [*small, weights]
    suffix = weights.removesuffix(".index.json").rpartition(".")[2]
    return [*small, weights, *(name for name in files if "-of-" in name and name.endswith(suffix))]


def _cached_folder(repo: str, revision: str | None) -> Path | None:
    """The repository's folder in the cache, in which files may be missing."""
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "tokenizer.json"):
        path = try_to_load_from_cache(repo, file, revision=revision, cache_dir=_cache())
        if isinstance(path, str):
            return Path(path).parent
    return None


def _is_whole(path: Path, file: str | None) -> bool:
    """True if the cached files are enough to run the model; a single file may have been fetched before."""
    names = [entry.relative_to(path).as_posix() for entry in path.rglob("*") if entry.is_file()]
    return "config.json" in names and wanted_files(names, file, torch=_has_torch()) is not None


def _download(repo: str, revision: str | None, file: str | None, role: str) -> Path:
    from huggingface_hub import HfApi

    try:
        files = HfApi().list_repo_files(repo, revision=revision)
    except Exception as exc:  # the hub's own errors, and those of whatever HTTP client it was built on
        raise _unreachable(repo, exc, role) from exc
    wanted = wanted_files(files, file, torch=_has_torch(), writes=role == "decomposer")
    if wanted is None:
        raise ConfigError(_nothing_to_run(repo, files, file, role))
    return _fetch(repo, revision, wanted, role)


def _nothing_to_run(repo: str, files: Collection[str], file: str | None, role: str) -> str:
    graphs = sorted(name for name in files if name.endswith(".onnx"))
    if file is not None:
        return f"{role} hf:{repo} has no file {file}; its ONNX files: {', '.join(graphs) or 'none'}"
    if any(name in files for name in TORCH_FILES):
        return (
            f"{role} hf:{repo} has no model.onnx, only weights for torch, and torch or transformers is missing: "
            f"{how_to_install('torch')}; or export it to ONNX and name the folder (docs/verifiers.md)"
        )
    graphs_hint = f"; of its ONNX files ({', '.join(graphs)}) {role}_options.file can name one" if graphs else ""
    return f"{role} hf:{repo} has neither model.onnx nor weights for torch{graphs_hint}"


def _fetch(repo: str, revision: str | None, files: list[str], role: str = "verifier") -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repo, revision=revision, allow_patterns=files, cache_dir=_cache()))
    except Exception as exc:  # as above
        raise _unreachable(repo, exc, role) from exc


def _unreachable(repo: str, exc: Exception, role: str) -> ConfigError:
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    if isinstance(exc, GatedRepoError):
        return ConfigError(f"{role} hf:{repo} is gated: accept its terms at huggingface.co, then set HF_TOKEN")
    if isinstance(exc, RepositoryNotFoundError):
        return ConfigError(
            f"{role} hf:{repo}: the hub has no such model, or it is private: check the name, or set HF_TOKEN"
        )
    why = " ".join(str(exc).split())[:200] or type(exc).__name__
    return ConfigError(
        f"{role} hf:{repo} is not in the local Hugging Face cache ({_cache()}), and the hub cannot be reached ({why}). "
        f"Where there is a network: hf download {repo}; then copy the folder here and name it: {role} = PATH"
    )


def _cache() -> Any:
    """The folder of the hub's cache, from HF_HUB_CACHE or HF_HOME when they are set."""
    from huggingface_hub import constants

    return constants.HF_HUB_CACHE


def _has_torch() -> bool:
    return find_spec("torch") is not None and find_spec("transformers") is not None
