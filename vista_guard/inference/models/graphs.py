"""Models that users bring as ONNX graphs, run by onnxruntime."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError
from vista_guard.inference.batching import shared_passes
from vista_guard.inference.models.batches import Batch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

_OUTPUTS = ("tri_label_logits", "logits")
"""Names of the output that is read, the first that a graph has; else its first output is."""
_KNOWN_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}


class EncoderGraph:
    """Implements `Network`: one graph from tokens to logits."""

    def __init__(self, session: InferenceSession, name: str) -> None:
        self._session = session
        self._inputs = {one.name for one in session.get_inputs()}
        outputs = [one.name for one in session.get_outputs()]
        self._output = next((known for known in _OUTPUTS if known in outputs), outputs[0])
        if odd := sorted(self._inputs - _KNOWN_INPUTS):
            raise ConfigError(
                f"verifier {name}: its ONNX graph asks for {', '.join(odd)}; it must take input_ids, attention_mask and, "
                "where the model has them, token_type_ids"
            )

    @classmethod
    def load(cls, file: Path, name: str, device: str) -> EncoderGraph:
        """Reads the file.

        Raises:
            ConfigError: it is damaged, or no graph of a text classifier; or the device is not there.
        """
        return cls(_session(file, name, device), name)

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """See `Network.logits`."""
        given = {"input_ids": batch.ids, "attention_mask": batch.mask, "token_type_ids": batch.types}
        feed = {key: value for key, value in given.items() if key in self._inputs}
        found: NDArray[np.float32] = self._session.run([self._output], feed)[0].astype("float32")
        return found

    def each(self, batches: Sequence[Batch]) -> list[NDArray[np.float32]]:
        """See `Network.each`: in the queue that all models of the process share."""
        return shared_passes().run(self.logits, batches)


class DecoderGraph:
    """Implements `Network`: an encoder and a decoder, of which the first step is read: (texts, vocabulary)."""

    def __init__(self, encoder: InferenceSession, decoder: InferenceSession, start: int) -> None:
        self._encoder = encoder
        self._decoder = decoder
        self._start = start

    @classmethod
    def load(cls, files: tuple[Path, Path], name: str, device: str, start: int) -> DecoderGraph:
        """Reads both files. `start` is the token that the decoder begins with.

        Raises:
            ConfigError: as for `EncoderGraph`.
        """
        return cls(_session(files[0], name, device), _session(files[1], name, device), start)

    def logits(self, batch: Batch) -> NDArray[np.float32]:
        """See `Network.logits`."""
        import numpy as np

        hidden = self._encoder.run(None, {"input_ids": batch.ids, "attention_mask": batch.mask})[0]
        begin = np.full((len(batch.ids), 1), self._start, np.int64)
        feed = {"input_ids": begin, "encoder_hidden_states": hidden, "encoder_attention_mask": batch.mask}
        found: NDArray[np.float32] = self._decoder.run(["logits"], feed)[0][:, 0, :].astype("float32")
        return found

    def each(self, batches: Sequence[Batch]) -> list[NDArray[np.float32]]:
        """See `Network.each`."""
        return shared_passes().run(self.logits, batches)


def _session(file: Path, name: str, device: str) -> InferenceSession:
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as for the shipped models
    from onnxruntime import InferenceSession, SessionOptions, get_available_providers

    providers = ["CPUExecutionProvider"]
    if device.startswith("cuda"):
        providers.insert(0, "CUDAExecutionProvider")
        if providers[0] not in get_available_providers():
            raise ConfigError(
                f"verifier_options.device is {device!r}, and this onnxruntime has no CUDA: pip install onnxruntime-gpu, "
                "or take device = 'cpu'"
            )
    options = SessionOptions()
    # One thread a pass: the shared queue runs as many passes side by side as there are cores.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors: what else onnxruntime finds odd in a graph is no use to who runs it
    try:
        return InferenceSession(str(file), options, providers=providers)
    except Exception as exc:  # onnxruntime raises bare Exception subclasses for a damaged file
        why = " ".join(str(exc).split())[:300]
        raise ConfigError(
            f"verifier {name}: {file} cannot be loaded by onnxruntime ({why}); download or export it again"
        ) from exc
