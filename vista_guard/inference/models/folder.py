"""A model's folder: its configuration, its tokenizer's files, its weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vista_guard.errors import ConfigError

ONNX_FILES = ("model.onnx", "onnx/model.onnx")
SEQ2SEQ_FILES = (
    ("encoder_model.onnx", "decoder_model.onnx"),
    ("onnx/encoder_model.onnx", "onnx/decoder_model.onnx"),
)
"""The two halves of an encoder-decoder, as Optimum exports them."""
TORCH_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True)
class ModelFolder:
    """Where a model's files are. `name` is how the settings call it."""

    path: Path
    name: str
    config: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path, name: str) -> ModelFolder:
        """The folder with its `config.json`.

        Raises:
            ConfigError: no such folder, or no configuration in it that can be read.
        """
        if not path.is_dir():
            raise ConfigError(
                f"verifier is {name!r}, and {path} is no folder; name one with config.json and model.onnx or safetensors, "
                "or hf:ORG/MODEL"
            )
        folder = cls(path, name, read_json(path / "config.json"))
        if not folder.config:
            raise ConfigError(f"verifier {name} has no config.json in {path}; copy the model's own into the folder")
        return folder

    def json(self, file: str) -> Mapping[str, Any]:
        """A JSON file of the folder; empty when there is none."""
        return read_json(self.path / file)

    def first(self, files: Sequence[str]) -> Path | None:
        """The first of these files that is there."""
        return next((self.path / file for file in files if (self.path / file).is_file()), None)

    def onnx(self, wanted: str | None) -> Path | None:
        """The ONNX graph of an encoder; the one that is `wanted`, where one is.

        Raises:
            ConfigError: the wanted file is not there.
        """
        if wanted is None:
            return self.first(ONNX_FILES)
        if not (self.path / wanted).is_file():
            raise ConfigError(
                f"verifier_options.file is {wanted!r}, and verifier {self.name} has no such file in {self.path}"
            )
        return self.path / wanted

    def seq2seq(self) -> tuple[Path, Path] | None:
        """The ONNX graphs of an encoder-decoder."""
        for encoder, decoder in SEQ2SEQ_FILES:
            if (self.path / encoder).is_file() and (self.path / decoder).is_file():
                return self.path / encoder, self.path / decoder
        return None

    @property
    def has_torch_weights(self) -> bool:
        """Whether there are weights for torch."""
        return self.first(TORCH_FILES) is not None


def read_json(file: Path) -> Mapping[str, Any]:
    """A JSON object; empty when there is no such file.

    Raises:
        ConfigError: the file is something else.
    """
    if not file.is_file():
        return {}
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{file} cannot be read ({exc}); download the model again") from exc
    if not isinstance(found, dict):
        raise ConfigError(f"{file} holds no JSON object; download the model again")
    return found
