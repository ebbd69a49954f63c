"""The shipped ONNX models and their tokenizer, run by onnxruntime, without torch, for the embedded judge and the stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard._aio import load_once
from vista_guard.inference.batching import Passes, shared_passes
from vista_guard.inference.weights import WEIGHTS, damaged, has_weights, weights_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession
    from tokenizers import Encoding, Tokenizer


Text = str | tuple[str, str]

_FEW = 64
"""Most texts that the calling thread tokenises alone."""


class Encoder:
    """One transformer: texts, or pairs of texts, in; one row of floats for each out.

    Safe to share between threads: their passes are run side by side. A row depends on its own text only, not on what else
    is asked at the same time.
    """

    def __init__(self, session: InferenceSession, tokenizer: Tokenizer, passes: Passes | None = None) -> None:
        self._session = session
        self._inputs = [one.name for one in session.get_inputs()]
        self._tokenizer = tokenizer
        self._passes = passes or shared_passes()

    @classmethod
    def load(cls, name: str, *, max_length: int, folder: Path = WEIGHTS) -> Encoder:
        """Loads `name`.onnx. Texts longer than `max_length` tokens are cut, the longer side of a pair first.

        Raises:
            ConfigError: a file is missing or is not what it should be.
        """
        # Else onnxruntime reports its use to its makers, and keeps an id of this machine below the user's cache folder.
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
        from onnxruntime import InferenceSession

        model = weights_file(f"{name}.onnx", folder)
        own = f"{name}_tokenizer.json"
        # The reader has words of its own: with another tokenizer it would read something else, without an error.
        if name == "reader" or has_weights(own, folder):
            tokenizer = _read_tokenizer(folder, own)
        else:
            tokenizer = _shared_tokenizer() if folder == WEIGHTS else _read_tokenizer(folder)
        try:
            session = InferenceSession(model, _options(), providers=["CPUExecutionProvider"])
        except Exception as exc:  # onnxruntime raises bare Exception subclasses for a damaged file
            raise damaged(model, exc) from exc
        return cls(session, _with_limit(tokenizer, max_length))

    def tokens(self, texts: Sequence[Text]) -> list[Encoding]:
        """Tokenises the inputs, in order."""
        if len(texts) > _FEW:
            return self._tokenizer.encode_batch(list(texts))
        # A batch goes through a pool of threads, which costs a few texts more than it saves: 4 ms of 5 on a busy machine.
        return [self._tokenizer.encode(*((text,) if isinstance(text, str) else text)) for text in texts]

    def run(self, texts: Sequence[Text]) -> NDArray[np.float32]:
        """The model's output rows, shape (texts, outputs), in the order of `texts`."""
        import numpy as np

        if not texts:
            return np.empty((0, 0), np.float32)
        encodings = self.tokens(texts)
        # The longest first: a long one that starts last would leave the other cores without work.
        order = sorted(range(len(encodings)), key=lambda index: -len(encodings[index].ids))
        rows = self._passes.run(self._forward, [encodings[index] for index in order])
        return np.stack([row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])])

    def _forward(self, encoding: Encoding) -> NDArray[np.float32]:
        import numpy as np

        inputs = {
            "input_ids": np.array([encoding.ids], np.int64),
            "attention_mask": np.ones((1, len(encoding.ids)), np.int64),
            "token_type_ids": np.array([encoding.type_ids], np.int64),
        }
        row: NDArray[np.float32] = self._session.run(None, {name: inputs[name] for name in self._inputs})[0][0]
        return row


def _read_tokenizer(folder: Path, name: str = "tokenizer.json") -> Tokenizer:
    from tokenizers import Tokenizer

    path = weights_file(name, folder)
    try:
        return Tokenizer.from_file(str(path))
    except Exception as exc:  # tokenizers raises bare Exceptions for a damaged file
        raise damaged(path, exc) from exc


@load_once
def _shared_tokenizer() -> Tokenizer:
    """The package's own, which both models read with: reading it holds the interpreter's lock for its whole time."""
    return _read_tokenizer(WEIGHTS)


def _with_limit(tokenizer: Tokenizer, max_length: int) -> Tokenizer:
    """A tokenizer that cuts texts at `max_length` tokens, of the parts of another, which stays as it is."""
    from tokenizers import Tokenizer

    limited = Tokenizer(tokenizer.model)
    limited.normalizer = tokenizer.normalizer
    limited.pre_tokenizer = tokenizer.pre_tokenizer
    limited.post_processor = tokenizer.post_processor
    limited.decoder = tokenizer.decoder
    limited.add_special_tokens([token for _, token in sorted(tokenizer.get_added_tokens_decoder().items())])
    limited.no_padding()
    limited.enable_truncation(max_length)
    return limited


@load_once
def shared_encoder(name: str, max_length: int) -> Encoder:
    """One encoder per process for each shipped model, however many guards use it."""
    return Encoder.load(name, max_length=max_length)


def _options() -> object:
    from onnxruntime import GraphOptimizationLevel, SessionOptions

    options = SessionOptions()
    # Passes run side by side, one a core, each on the thread that asks: threads within a pass would only compete. And a
    # session without threads of its own outlives a fork.
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Without its arena onnxruntime gives a long text's memory back; measured, it costs nothing at these sizes.
    options.enable_cpu_mem_arena = False
    # The files hold a graph that was optimised when they were made (vista_lab.training.export): doing it again is most of a load.
    level = GraphOptimizationLevel.ORT_ENABLE_EXTENDED if _saturates() else GraphOptimizationLevel.ORT_DISABLE_ALL
    options.graph_optimization_level = level
    options.add_session_config_entry(*EXACT_PRODUCTS)
    return options


EXACT_PRODUCTS = ("session.x64quantprecision", "1")
"""Setting of a session that optimises its graph: int8 weights become uint8 on a CPU that would cut their products off."""


@load_once
def _saturates() -> bool:
    """True if this CPU cuts off sums of int8 products at 16 bits, as x86 does without VNNI: verdicts would depend on it."""
    import numpy as np
    from onnxruntime import InferenceSession

    (product,) = InferenceSession(_PRODUCT).run(None, {"a": np.full((1, 4), 255, np.uint8)})
    return bool(product[0, 0] != 4 * 255 * 127)


# An ONNX model, opset 17: c = MatMulInteger(a, b), of a uint8 (1, 4) and b = int8 [[127], [127], [127], [127]].
_PRODUCT = (
    b'\x08\x08\x12\x00:X\n\x18\n\x01a\n\x01b\x12\x01c"\rMatMulInteger\x12\x01g*\x0f\x08\x04\x08\x01\x10\x03B\x01b'
    b"J\x04\x7f\x7f\x7f\x7fZ\x13\n\x01a\x12\x0e\n\x0c\x08\x02\x12\x08\n\x02\x08\x01\n\x02\x08\x04"
    b"b\x13\n\x01c\x12\x0e\n\x0c\x08\x06\x12\x08\n\x02\x08\x01\n\x02\x08\x01B\x04\n\x00\x10\x11"
)


@load_once
def known_words() -> frozenset[str]:
    """Words in lower case, of two letters or more.

    Raises:
        ConfigError: the tokenizer's file is missing or damaged.
    """
    tokenizer = _shared_tokenizer()
    # One by one: all at once would hold the interpreter's lock, and with it the event loop, for as long as a short turn takes.
    words = (tokenizer.id_to_token(number) or "" for number in range(tokenizer.get_vocab_size()))
    return frozenset(word for word in words if len(word) > 1 and word.isalpha())
