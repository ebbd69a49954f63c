"""The shipped ONNX models and their tokenizer, run by onnxruntime: no torch.

Both the embedded judge and the stores' embeddings build on this; neither imports the other.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer

WEIGHTS = Path(__file__).parent / "weights"
"""Folder of the shipped files; `MODEL_CARD.md` in it says what they are."""

BATCH_TOKENS = 4096
"""Most tokens, padding included, in one forward pass: bounds the memory of a long turn."""

Text = str | tuple[str, str]


def weights_file(name: str, folder: Path = WEIGHTS) -> Path:
    """Path of a shipped file.

    Raises:
        ConfigError: the file is missing.
    """
    path = folder / name
    if not path.is_file():
        raise ConfigError(f"weights file {path} is missing. Reinstall: pip install --force-reinstall vista-guard")
    return path


class Encoder:
    """One transformer: texts, or pairs of texts, in; one row of floats for each out. Safe to share between threads."""

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer) -> None:
        self._session = session
        self._tokenizer = tokenizer

    @classmethod
    def load(cls, name: str, *, max_length: int, folder: Path = WEIGHTS) -> Encoder:
        """Loads `name`.onnx. Texts longer than `max_length` tokens are cut, the longer side of a pair first.

        Raises:
            ConfigError: a file is missing or is not what it should be.
        """
        from onnxruntime import InferenceSession
        from tokenizers import Tokenizer

        model, vocabulary = weights_file(f"{name}.onnx", folder), weights_file("tokenizer.json", folder)
        try:
            session = InferenceSession(model, _options(name), providers=["CPUExecutionProvider"])
            tokenizer = Tokenizer.from_file(str(vocabulary))
        except Exception as exc:  # onnxruntime and tokenizers raise bare Exception subclasses for a damaged file
            raise ConfigError(f"weights file {model} cannot be loaded ({exc}). Reinstall vista-guard") from exc
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length)
        return cls(session, tokenizer)

    def tokens(self, texts: Sequence[Text]) -> list[Encoding]:
        """Tokenised inputs, in order."""
        return self._tokenizer.encode_batch(list(texts))

    def run(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The model's output rows, shape (texts, outputs), in the order of `texts`."""
        import numpy as np

        encodings = self.tokens(texts)
        rows: list[NDArray[np.float32]] = [np.empty(0, np.float32)] * len(encodings)
        for batch in _batches([len(encoding.ids) for encoding in encodings]):
            for index, row in zip(batch, self._forward([encodings[index] for index in batch]), strict=True):
                rows[index] = row
        return np.stack(rows) if rows else np.empty((0, 0), np.float32)

    def _forward(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        import numpy as np

        width = max(len(encoding.ids) for encoding in encodings)
        inputs = {
            name: np.zeros((len(encodings), width), np.int64)
            for name in ("input_ids", "attention_mask", "token_type_ids")
        }
        for row, encoding in enumerate(encodings):
            length = len(encoding.ids)
            inputs["input_ids"][row, :length] = encoding.ids
            inputs["attention_mask"][row, :length] = 1
            inputs["token_type_ids"][row, :length] = encoding.type_ids
        output: NDArray[np.float32] = self._session.run(None, inputs)[0]
        return output


@lru_cache(maxsize=4)
def shared_encoder(name: str, max_length: int) -> Encoder:
    """One encoder a process for each shipped model, however many guards use it."""
    return Encoder.load(name, max_length=max_length)


def _options(name: str) -> object:
    from onnxruntime import SessionOptions

    options = SessionOptions()
    # 0 is all cores. The embedder reads a few short texts: one thread is as fast, and leaves the others alone.
    options.intra_op_num_threads = 1 if name == "embedder" else int(os.environ.get("VISTA_GUARD_THREADS", "0"))
    options.inter_op_num_threads = 1
    # Idle threads that spin take the cores from the other model and from the host: on 2 cores a turn took a third longer.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Without its arena onnxruntime gives a long turn's memory back; measured, it costs nothing at these sizes.
    options.enable_cpu_mem_arena = False
    return options


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Groups indices of similar length: padding is work, and so is each extra pass."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    batch: list[int] = []
    for index in order:
        shortest = lengths[batch[0]] if batch else lengths[index]
        too_wide = lengths[index] > 1.5 * shortest + 16
        if batch and (too_wide or (len(batch) + 1) * lengths[index] > BATCH_TOKENS):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
