"""Models of the Hugging Face hub: found in the local cache, downloaded where they are not there."""

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


def model_folder(name: str, role: str, *, file: str | None = None) -> ModelFolder:
    """The folder that `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a path stands for.

    Args:
        name: as above.
        role: what the model is for, in errors: the setting that names it.
        file: the ONNX file to take in place of the usual ones.

    Raises:
        ConfigError: there is no such folder or model, it cannot be downloaded, or only torch could run it and is not
            installed.
    """
    if name.startswith("hf:"):
        return _hub_folder(name.removeprefix("hf:"), file, role)
    return ModelFolder.read(Path(name).expanduser(), name, role)


def _hub_folder(name: str, file: str | None, role: str) -> ModelFolder:
    """From the local cache, without the network; downloaded when it is not whole there: ONNX before weights for torch."""
    require(f"{role} hf:{name}", "huggingface_hub", extra="verifiers")
    repo, _, revision = name.partition("@")
    if repo.count("/") != 1 or not all(repo.split("/")):
        raise ConfigError(f"{role} is 'hf:{name}'; it takes hf:ORG/MODEL or hf:ORG/MODEL@REVISION")
    cached = _cached(repo, revision or None)
    if cached is not None and _is_whole(cached, file):
        return ModelFolder.read(cached, f"hf:{name}", role)
    return ModelFolder.read(_downloaded(repo, revision or None, file, role), f"hf:{name}", role)


def hub_file(repo: str, file: str) -> Path:
    """One small file of a repository.

    Raises:
        ConfigError: as for `model_folder`.
    """
    require(f"a verifier that needs {file} of {repo}", "huggingface_hub", extra="verifiers")
    cached = _cached(repo, None)
    if cached is not None and (cached / file).is_file():
        return cached / file
    return _fetched(repo, None, [file]) / file


def wanted_files(files: Collection[str], file: str | None, *, torch: bool, writes: bool = False) -> list[str] | None:
    """Of a repository's files those to download; None when it holds nothing that can be run here.

    Args:
        files: all that the repository has.
        file: the ONNX file that is wanted, if one is.
        torch: whether weights for torch are of use.
        writes: whether the model writes texts, which the second decoder makes quicker.
    """
    small = [name for name in SMALL_FILES if name in files]
    graphs = [(file,)] if file is not None else [*((one,) for one in ONNX_FILES), *SEQ2SEQ_FILES]
    for names in graphs:
        if all(name in files for name in names):
            names = (*names, *(name for name in (cached_decoder(names[-1]),) if writes and name in files))
            beside = [name for name in files if name.startswith(tuple(f"{one}_data" for one in names))]
            return [*small, *names, *(f"{one}.data" for one in names if f"{one}.data" in files), *beside]
    weights = next((name for name in TORCH_FILES if name in files), None)
    if weights is None or not torch or file is not None:
        return None
    if not weights.endswith(".index.json"):
        return [*small, weights]
    suffix = weights.removesuffix(".index.json").rpartition(".")[2]
    return [*small, weights, *(name for name in files if "-of-" in name and name.endswith(suffix))]


def _cached(repo: str, revision: str | None) -> Path | None:
    """The repository's folder in the cache, in which files may be missing."""
    from huggingface_hub import try_to_load_from_cache

    for file in ("config.json", "tokenizer.json"):
        found = try_to_load_from_cache(repo, file, revision=revision, cache_dir=_cache())
        if isinstance(found, str):
            return Path(found).parent
    return None


def _is_whole(path: Path, file: str | None) -> bool:
    """True if the cached files are enough to run the model; a single file may have been fetched before."""
    here = [one.relative_to(path).as_posix() for one in path.rglob("*") if one.is_file()]
    return "config.json" in here and wanted_files(here, file, torch=_has_torch()) is not None


def _downloaded(repo: str, revision: str | None, file: str | None, role: str) -> Path:
    from huggingface_hub import HfApi

    try:
        files = HfApi().list_repo_files(repo, revision=revision)
    except Exception as exc:  # the hub's own errors, and those of whatever HTTP client it was built on
        raise _unreachable(repo, exc, role) from exc
    wanted = wanted_files(files, file, torch=_has_torch(), writes=role == "decomposer")
    if wanted is None:
        raise ConfigError(_nothing_to_run(repo, files, file, role))
    return _fetched(repo, revision, wanted, role)


def _nothing_to_run(repo: str, files: Collection[str], file: str | None, role: str) -> str:
    graphs = sorted(name for name in files if name.endswith(".onnx"))
    if file is not None:
        return f"{role} hf:{repo} has no file {file}; its ONNX files: {', '.join(graphs) or 'none'}"
    if any(name in files for name in TORCH_FILES):
        return (
            f"{role} hf:{repo} has no model.onnx, only weights for torch, and torch or transformers is missing: "
            f"{how_to_install('torch')}; or export it to ONNX and name the folder (docs/verifiers.md)"
        )
    graphs_told = f"; of its ONNX files ({', '.join(graphs)}) {role}_options.file can name one" if graphs else ""
    return f"{role} hf:{repo} has neither model.onnx nor weights for torch{graphs_told}"


def _fetched(repo: str, revision: str | None, files: list[str], role: str = "verifier") -> Path:
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(repo, revision=revision, allow_patterns=files, cache_dir=_cache()))
    except Exception as exc:  # see `_downloaded`
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
    """Where the hub's cache is now: HF_HUB_CACHE or HF_HOME say so, when they are set."""
    from huggingface_hub import constants

    return constants.HF_HUB_CACHE


def _has_torch() -> bool:
    return find_spec("torch") is not None and find_spec("transformers") is not None
