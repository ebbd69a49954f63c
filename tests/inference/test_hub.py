"""Models of the hub: what is downloaded, what is taken from the cache, and what is said where neither works."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.inference.hub import serving
from tests.judges.verifiers import tiny
from tests.judges.verifiers.test_local import nli
from vista_guard.inference.hub import wanted_files

REPO = "someone/nli-tiny"
SCRIPT = """
import sys
from vista_guard import ConfigError
from vista_guard.judges.verifiers.local import LocalVerifier
try:
    verifier = LocalVerifier.load(sys.argv[1])
    print(verifier.name, verifier.probabilities([("The hall opened.", "It opened.")]).shape)
except ConfigError as exc:
    print(exc)
"""


def load(name: str, hub: str, cache: Path, **environment: str) -> str:
    """What a process says that loads a verifier: the client reads where the hub is when it is imported."""
    own = {
        "HF_ENDPOINT": hub,
        "HF_HUB_CACHE": str(cache),
        "HF_HUB_DISABLE_PROGRESS_BARS": "1",
        "HF_HUB_DISABLE_XET": "1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        env={**os.environ, **own, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(folder: Path, *more: str) -> dict[str, bytes]:
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return files | dict.fromkeys(more, b"not of use here")


def test_a_model_is_downloaded_once_and_only_what_is_needed_of_it(tmp_path: Path) -> None:
    files = repository(nli(tmp_path / "nli"), "README.md", "model.safetensors", "onnx/model_fp16.onnx")
    with serving(REPO, files) as (url, asked):
        assert load(f"hf:{REPO}", url, tmp_path / "cache") == f"hf:{REPO} (1, 3)"
        fetched = {path.rpartition("/")[2] for path in asked if "/resolve/" in path}
        assert fetched == {"config.json", "tokenizer.json", "tokenizer_config.json", "model.onnx"}
        before = len(asked)
        assert load(f"hf:{REPO}", url, tmp_path / "cache") == f"hf:{REPO} (1, 3)"
        assert asked[before:] == []
    assert load(f"hf:{REPO}", "http://127.0.0.1:9", tmp_path / "cache", HF_HUB_OFFLINE="1") == f"hf:{REPO} (1, 3)"


def test_without_a_network_it_says_what_to_do(tmp_path: Path) -> None:
    for environment in ({}, {"HF_HUB_OFFLINE": "1"}):
        said = load(f"hf:{REPO}", "http://127.0.0.1:9", tmp_path / "cache", **environment)
        assert said.startswith(f"verifier hf:{REPO} is not in the local Hugging Face cache ({tmp_path / 'cache'})")
        assert f"hf download {REPO}" in said


def test_a_model_that_is_not_there_or_cannot_be_run_says_so(tmp_path: Path) -> None:
    files = repository(tiny.write_folder(tmp_path / "bare", {"model_type": "roberta"}), "onnx/model_fp16.onnx")
    with serving(REPO, files) as (url, _):
        assert "the hub has no such model" in load("hf:someone/else", url, tmp_path / "cache")
        said = load(f"hf:{REPO}", url, tmp_path / "cache")
        assert "neither model.onnx nor weights for torch" in said
        assert "onnx/model_fp16.onnx" in said


@pytest.mark.parametrize(
    ("files", "torch", "wanted"),
    [
        ({"model.onnx", "onnx/model.onnx", "model.safetensors"}, True, ["model.onnx"]),
        ({"onnx/model.onnx", "onnx/model.onnx_data", "x"}, False, ["onnx/model.onnx", "onnx/model.onnx_data"]),
        (
            {"onnx/encoder_model.onnx", "onnx/decoder_model.onnx"},
            False,
            ["onnx/encoder_model.onnx", "onnx/decoder_model.onnx"],
        ),
        ({"model.safetensors", "pytorch_model.bin"}, True, ["model.safetensors"]),
        ({"model.safetensors"}, False, None),
        ({"README.md"}, True, None),
        (
            {"model.safetensors.index.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"},
            True,
            ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"],
        ),
    ],
)
def test_of_a_repository_the_smallest_part_that_runs_is_taken(
    files: set[str], torch: bool, wanted: list[str] | None
) -> None:
    found = wanted_files(files, None, torch=torch)
    assert (None if found is None else sorted(found)) == (None if wanted is None else sorted(wanted))


def test_the_file_that_one_names_is_taken() -> None:
    files = {"config.json", "onnx/model.onnx", "onnx/model_quantized.onnx", "model.safetensors"}
    assert wanted_files(files, "onnx/model_quantized.onnx", torch=True) == ["config.json", "onnx/model_quantized.onnx"]
    assert wanted_files(files, "onnx/other.onnx", torch=True) is None
