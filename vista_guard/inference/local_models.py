"""Models that users bring, as ONNX: a model's folder, its tokenizer, batches of texts by length, the ONNX networks.

Libraries that load the same models need torch, or read one score a pair only: docs/design/dependencies.md.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from vista_guard._extras import require
from vista_guard.errors import ConfigError
from vista_guard.inference.batching import shared_passes
from vista_guard.inference.onnx import EXACT_PRODUCTS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

ONNX_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx")
SEQ2SEQ_FILES = (
    ("encoder_model.onnx", "decoder_model.onnx"),
    ("onnx/encoder_model.onnx", "onnx/decoder_model.onnx"),
)
"""The two halves of an encoder-decoder, as Optimum exports them."""


def cached_decoder(decoder: str) -> str:
    """The file name of the decoder's variant that takes the cached attention of earlier tokens."""
    return decoder.replace("decoder_model", "decoder_with_past_model")


TORCH_FILES = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")


@dataclass(frozen=True)
class ModelFolder:
    """A model's folder. `name` is the model's name in the settings, `role` the setting that names it."""

    path: Path
    name: str
    config: Mapping[str, Any]
    role: str = "verifier"

    @classmethod
    def read(cls, path: Path, name: str, role: str = "verifier") -> ModelFolder:
        """The folder with its `config.json`.

        Raises:
            ConfigError: no such folder, or no configuration in it that can be read.
        """
        if not path.is_dir():
            raise ConfigError(
                f"{role} is {name!r}, and {path} is not a folder; give one with config.json and model.onnx or safetensors, "
                "or hf:ORG/MODEL"
            )
        folder = cls(path, name, read_json(path / "config.json"), role)
        if not folder.config:
            raise ConfigError(f"{role} {name} has no config.json in {path}; copy the model's own into the folder")
        return folder

    def __str__(self) -> str:
        return f"{self.role} {self.name}"

    @property
    def public_name(self) -> str:
        """The name for reports: a folder's own, since its location is private; for the hub's cache the repository's."""
        if self.name.startswith("hf:"):
            return self.name
        path = self.path.resolve()
        cached = next((part for part in path.parts if part.startswith("models--")), None)
        return cached.removeprefix("models--").replace("--", "/") if cached else path.name

    def json(self, file: str) -> Mapping[str, Any]:
        """Reads a JSON file of the folder; empty when there is none."""
        return read_json(self.path / file)

    def first(self, files: Sequence[str]) -> Path | None:
        """The first of these files that exists."""
        return next((self.path / file for file in files if (self.path / file).is_file()), None)

    def onnx(self, wanted: str | None) -> Path | None:
        """The ONNX graph of an encoder: `wanted`, if given.

        Raises:
            ConfigError: the wanted file does not exist.
        """
        if wanted is None:
            return self.first(ONNX_FILES)
        if not (self.path / wanted).is_file():
            raise ConfigError(f"{self.role}_options.file is {wanted!r}, and {self} has no such file in {self.path}")
        return self.path / wanted

    def seq2seq(self) -> tuple[Path, Path] | None:
        """The ONNX graphs of an encoder-decoder."""
        for encoder, decoder in SEQ2SEQ_FILES:
            if (self.path / encoder).is_file() and (self.path / decoder).is_file():
                return self.path / encoder, self.path / decoder
        return None


def read_json(file: Path) -> Mapping[str, Any]:
    """Reads a JSON object; empty when there is no such file.

    Raises:
        ConfigError: the file is something else.
    """
    if not file.is_file():
        return {}
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{file} cannot be read ({exc}); download the model again") from exc
    if not isinstance(content, dict):
        raise ConfigError(f"{file} is not a JSON object; download the model again")
    return content


def is_quantised(file: Path) -> bool:
    """True for quantised activations, whose range is that of the whole batch: outputs would depend on neighbours in it."""
    return any(word in file.name.lower() for word in ("quant", "int8", "_q4", "_q8"))


Text = str | tuple[str, str]


class ModelTokens:
    """Tokenises texts or pairs of texts. Nothing is cut unless `cut_at` says so. Safe to share between threads.

    Where a folder has no `tokenizer.json`, it reads `instead`, or transformers converts an older form.

    Attributes:
        pad: id of the token that fills a batch.
        eos: the token that ends a text, as text.
        model_max: longest input as the tokenizer's own settings say; None where they don't.

    Raises:
        ConfigError: no tokenizer, or one that cannot be read.
    """

    def __init__(self, folder: ModelFolder, *, instead: Path | None = None) -> None:
        self._tokenizer = tokenizer = _tokenizer(folder, instead)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        special = {**folder.json("special_tokens_map.json"), **folder.json("tokenizer_config.json")}
        self.pad = _pad(folder, tokenizer, special)
        eos = _special(special, "eos_token") or _special(special, "sep_token")
        self.eos = eos or _known_token(tokenizer, "</s>", "[SEP]")
        longest = special.get("model_max_length")
        # transformers writes a number of 31 digits where a tokenizer has no limit.
        self.model_max = int(longest) if isinstance(longest, int | float) and longest < 1_000_000 else None

    def encode(self, texts: Sequence[Text]) -> list[Encoding]:
        """Tokenises texts, with special tokens, in order."""
        return self._tokenizer.encode_batch(list(texts))

    def cut_at(self, tokens: int) -> None:
        """Cuts texts to this many tokens from now on, special ones included."""
        self._tokenizer.enable_truncation(tokens)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of tokens, special ones left out."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=True))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The span of each token in the text, special tokens left out."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)


def _tokenizer(folder: ModelFolder, instead: Path | None) -> Tokenizer:
    from tokenizers import Tokenizer

    file = folder.first(["tokenizer.json"]) or instead
    if file is None:
        return _convert_tokenizer(folder)
    try:
        return Tokenizer.from_file(str(file))
    except Exception as exc:  # tokenizers raises bare Exceptions
        raise ConfigError(f"{folder}: {file} cannot be read ({exc}); download the model again") from exc


def _convert_tokenizer(folder: ModelFolder) -> Tokenizer:
    """Converts a tokenizer of an older form with transformers."""
    what = f"{folder} has no tokenizer.json, and to make one of its older files it"
    require(what, "transformers", "sentencepiece", extra="torch")
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(str(folder.path), use_fast=True, local_files_only=True)
        return tokenizer.backend_tokenizer  # type: ignore[no-any-return]  # transformers has no types for it
    except Exception as exc:  # whatever the conversion of that model's files raises
        why = " ".join(str(exc).split())[:200]
        raise ConfigError(f"{folder} has no tokenizer.json, and none can be made of {folder.path}: {why}") from exc


def _pad(folder: ModelFolder, tokenizer: Tokenizer, special: Mapping[str, Any]) -> int:
    token_id = folder.config.get("pad_token_id")
    if isinstance(token_id, int):
        return token_id
    name = _special(special, "pad_token") or _known_token(tokenizer, "<pad>", "[PAD]")
    return tokenizer.token_to_id(name) or 0 if name else 0


def _special(special: Mapping[str, Any], name: str) -> str:
    """Reads a special token, written as a text or as an object with its text."""
    value = special.get(name)
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else ""


def _known_token(tokenizer: Tokenizer, *names: str) -> str:
    return next((name for name in names if tokenizer.token_to_id(name) is not None), "")


BATCH_TOKENS = 8192
"""Most tokens of a pass, padding included: very long texts go alone."""


@dataclass(frozen=True)
class TokenBatch:
    """Token ids of some texts, filled up to the longest: each array has the shape (texts, tokens)."""

    ids: NDArray[np.int64]
    mask: NDArray[np.int64]
    types: NDArray[np.int64]


class Network(Protocol):
    """A model in memory. Safe to call from several threads."""

    def logits(self, batch: TokenBatch) -> NDArray[np.float32]:
        """Logits of each text (texts, outputs), or of each of its tokens (texts, tokens, outputs)."""
        ...

    def each(self, batches: Sequence[TokenBatch]) -> list[NDArray[np.float32]]:
        """The logits of several batches, in order, side by side where the machine has the cores."""
        ...


def run(network: Network, encodings: Sequence[Encoding], *, pad: int, batch_size: int) -> list[NDArray[np.float32]]:
    """The network's logits of each text, in order, without those of padding.

    `pad` is the id that fills shorter texts up, `batch_size` the most texts of a pass.
    """
    # The longest first: a long one that starts last would leave the other cores without work.
    order = sorted(range(len(encodings)), key=lambda index: -len(encodings[index].ids))
    groups = list(group_by_length(order, lambda index: len(encodings[index].ids), batch_size))
    rows: list[Any] = [None] * len(encodings)
    outputs = network.each([pad_batch([encodings[index] for index in group], pad) for group in groups])
    for group, logits in zip(groups, outputs, strict=True):
        for index, row in zip(group, logits, strict=True):
            rows[index] = row[: len(encodings[index].ids)] if row.ndim == 2 else row
    return rows


def group_by_length(order: Sequence[int], length: Callable[[int], int], most: int) -> Iterator[list[int]]:
    """Groups neighbours in `order`, the longest first, as many as a pass may hold."""
    group: list[int] = []
    for index in order:
        if group and (len(group) == most or length(group[0]) * (len(group) + 1) > BATCH_TOKENS):
            yield group
            group = []
        group.append(index)
    if group:
        yield group


def pad_batch(encodings: Sequence[Encoding], pad: int) -> TokenBatch:
    """The tokens of some texts as arrays."""
    import numpy as np

    longest = max(len(encoding.ids) for encoding in encodings)
    ids = np.full((len(encodings), longest), pad, np.int64)
    mask, types = np.zeros_like(ids), np.zeros_like(ids)
    for row, encoding in enumerate(encodings):
        ids[row, : len(encoding.ids)] = encoding.ids
        mask[row, : len(encoding.ids)] = 1
        types[row, : len(encoding.ids)] = encoding.type_ids
    return TokenBatch(ids, mask, types)


_OUTPUTS = ("tri_label_logits", "logits")
"""Output to read: the first of these names that a graph has, else its first output."""
VECTOR_OUTPUTS = ("sentence_embedding", "token_embeddings", "last_hidden_state")
"""The same for an embedder: the text's own vector, else those of its tokens."""
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class _Graph(ABC):
    @abstractmethod
    def logits(self, batch: TokenBatch) -> NDArray[np.float32]: ...

    def each(self, batches: Sequence[TokenBatch]) -> list[NDArray[np.float32]]:
        """Implements `Network.each`, in the queue that all models of the process share."""
        return shared_passes().run(self.logits, batches)


class EncoderGraph(_Graph):
    """Implements `Network`: one graph from tokens to logits, or to vectors. `wanted` are names of the output to read.

    Raises:
        ConfigError: the file is damaged, or no graph of a text encoder; or the device is not there.
    """

    def __init__(self, file: Path, folder: ModelFolder, device: str, wanted: Sequence[str] = _OUTPUTS) -> None:
        self._session = _session(file, folder, device)
        self._inputs = {node.name for node in self._session.get_inputs()}
        outputs = [node.name for node in self._session.get_outputs()]
        self._output = next((known for known in wanted if known in outputs), outputs[0])
        if unknown := sorted(self._inputs - _KNOWN_INPUTS):
            raise ConfigError(
                f"{folder}: its ONNX graph asks for {', '.join(unknown)}; it must take input_ids, attention_mask and, "
                "where the model has them, token_type_ids"
            )

    def logits(self, batch: TokenBatch) -> NDArray[np.float32]:
        arrays = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        feed = {key: value for key, value in arrays.items() if key in self._inputs}
        logits: NDArray[np.float32] = self._session.run([self._output], feed)[0].astype("float32")
        return logits


class DecoderGraph(_Graph):
    """Implements `Network`: an encoder and the first step of a decoder, (texts, vocabulary).

    `start` is the token that the decoder begins with.

    Raises:
        ConfigError: as for `EncoderGraph`.
    """

    def __init__(self, files: tuple[Path, Path], folder: ModelFolder, device: str, start: int) -> None:
        self._encoder, self._decoder = (_session(file, folder, device) for file in files)
        self._start = start

    def logits(self, batch: TokenBatch) -> NDArray[np.float32]:
        begin, source = _encode(self._encoder, batch, self._start)
        feed = {"input_ids": begin, **source}
        logits: NDArray[np.float32] = self._decoder.run(["logits"], feed)[0][:, 0, :].astype("float32")
        return logits


def _encode(encoder: InferenceSession, batch: TokenBatch, start: int) -> tuple[NDArray[np.int64], dict[str, Any]]:
    """The decoder's first inputs: the first token of each text, (texts, 1), and the encoder's reading of it."""
    import numpy as np

    hidden = encoder.run(None, {"input_ids": batch.ids, "attention_mask": batch.mask})[0]
    begin = np.full((len(batch.ids), 1), start, np.int64)
    return begin, {"encoder_hidden_states": hidden, "encoder_attention_mask": batch.mask}


class Generator(Protocol):
    """A model in memory that writes. Safe to call from several threads."""

    def generate(self, batch: TokenBatch, most: int) -> list[list[int]]:
        """The tokens of the answer to each text, the likeliest at each step, with the end token where that came within
        `most` tokens."""
        ...


class GeneratorGraph:
    """Implements `Generator` with the ONNX graphs of an encoder-decoder.

    With the decoder that takes the attention of earlier tokens each step reads one token; without it, the whole answer so far.

    Raises:
        ConfigError: as for `EncoderGraph`, or `config.json` names no end token.
    """

    def __init__(self, files: tuple[Path, Path], folder: ModelFolder, device: str) -> None:
        self._start, self._end = start_and_end(folder)
        self._encoder, self._decoder = (_session(file, folder, device) for file in files)
        cached = files[1].with_name(cached_decoder(files[1].name))
        self._cached = _session(cached, folder, device) if cached.is_file() else None

    def generate(self, batch: TokenBatch, most: int) -> list[list[int]]:
        """Implements `Generator.generate`, in the queue that all models of the process share."""
        return shared_passes().run(lambda inputs: self._generate(inputs, most), [batch])[0]

    def _generate(self, batch: TokenBatch, most: int) -> list[list[int]]:
        import numpy as np

        ids, source = _encode(self._encoder, batch, self._start)
        past: dict[str, Any] = {}
        is_open = np.ones(len(batch.ids), bool)
        for _ in range(most):
            logits, past = self._step(ids, source, past)
            next_ids = np.where(is_open, logits.argmax(axis=-1), self._end)
            ids = np.concatenate([ids, next_ids[:, None]], axis=1)
            is_open &= next_ids != self._end
            if not is_open.any():
                break
        return [up_to(self._end, row[1:].tolist()) for row in ids]

    def _step(
        self, ids: NDArray[np.int64], source: Mapping[str, Any], past: Mapping[str, Any]
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """The logits of the next token, and the attention of all tokens so far."""
        session = self._cached if past and self._cached is not None else self._decoder
        feed = {**source, **past, "input_ids": ids[:, -1:] if past else ids}
        inputs = {node.name for node in session.get_inputs()}
        names = [node.name for node in session.get_outputs()]
        outputs = dict(zip(names, session.run(None, {key: feed[key] for key in inputs if key in feed}), strict=True))
        present = {
            name.replace("present", "past_key_values"): value for name, value in outputs.items() if "present" in name
        }
        # The attention to the source comes with the first step alone.
        return outputs["logits"][:, -1, :], {**past, **present} if self._cached is not None else {}


def start_and_end(folder: ModelFolder) -> tuple[int, int]:
    """The tokens with which a decoder begins and ends.

    Raises:
        ConfigError: `config.json` does not say how an answer ends.
    """
    end = folder.config.get("eos_token_id")
    if not isinstance(end, int):
        raise ConfigError(
            f"{folder}: its config.json has eos_token_id = {end!r}; it must be the number of the end token"
        )
    return int(folder.config.get("decoder_start_token_id") or 0), end


def up_to(end: int, ids: list[int]) -> list[int]:
    """The ids up to the end token, all of them where there is none."""
    return ids[: ids.index(end) + 1] if end in ids else ids


def _session(file: Path, folder: ModelFolder, device: str) -> InferenceSession:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as for the shipped models
    from onnxruntime import InferenceSession, SessionOptions, get_available_providers

    providers = ["CPUExecutionProvider"]
    if device.startswith("cuda"):
        providers.insert(0, "CUDAExecutionProvider")
        if providers[0] not in get_available_providers():
            raise ConfigError(
                f"{folder.role}_options.device is {device!r}, and this onnxruntime has no CUDA: pip install onnxruntime-gpu, "
                "or set device = 'cpu'"
            )
    options = SessionOptions()
    # One thread a pass: the shared queue runs as many passes side by side as there are cores.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry(*EXACT_PRODUCTS)
    options.log_severity_level = 3  # errors only: its remarks on a graph are of no use to users
    try:
        return InferenceSession(str(file), options, providers=providers)
    except Exception as exc:  # onnxruntime raises bare Exception subclasses for a damaged file
        why = " ".join(str(exc).split())[:300]
        raise ConfigError(
            f"{folder}: {file} cannot be loaded by onnxruntime ({why}); download or export it again"
        ) from exc
