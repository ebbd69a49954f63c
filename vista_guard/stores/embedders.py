"""Embedders by their name in the settings: the shipped one, or a local model such as BERT, E5 or Qwen3-Embedding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError
from vista_guard.inference.hub import FOLDER_FORM, HUB_FORM, model_folder
from vista_guard.inference.local_models import (
    VECTOR_OUTPUTS,
    EncoderGraph,
    ModelFolder,
    ModelTokens,
    Network,
    is_quantised,
    run,
)
from vista_guard.protocols import Embedder
from vista_guard.reading.visible import storable
from vista_guard.settings.model import EMBEDDER_DEFAULTS, EmbedderOptions, Pooling
from vista_guard.settings.names import Kinds
from vista_guard.stores.entries import OnnxEmbedder, VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_SIZE = 8
LONGEST = 512
"""Most tokens of a text, unless the model takes fewer: longer passages blur their vector."""
_MAX_CHARS = 16_384
"""Characters of a text that the tokenizer reads; far above `LONGEST` tokens."""


def build_embedder(given: Embedder | str | Path | None, options: EmbedderOptions = EMBEDDER_DEFAULTS) -> Embedder:
    """Loads the embedder of a name; returns an embedder object as it is, and the shipped one for None.

    Raises:
        ConfigError: no such embedder, or one that cannot be loaded.
    """
    if given is not None and not isinstance(given, str | Path):
        return given
    return EMBEDDERS.build("shipped" if given is None else str(given), options)


class LocalEmbedder:
    """Implements `QueryEmbedder` and `BoundedEmbedder` with a model of sentence-transformers' kind.

    Safe to share between threads. The vectors of the `cache_size` texts used last are kept.
    """

    def __init__(
        self,
        network: Network,
        tokens: ModelTokens,
        *,
        pooling: Pooling,
        prefixes: tuple[str, str],
        batch_size: int,
        cache_size: int = 8192,
    ) -> None:
        """`prefixes` are those of queries and of passages; `tokens` truncates texts to what the model reads."""
        self._network = network
        self._tokens = tokens
        self._pooling = pooling
        self._query, self._passage = prefixes
        self._batch_size = batch_size
        self._cache = VectorCache(cache_size)

    @classmethod
    def load(cls, name: str, options: EmbedderOptions = EMBEDDER_DEFAULTS) -> LocalEmbedder:
        """Loads a model by its name in the settings: `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a folder's path.

        Raises:
            ConfigError: it cannot be found, downloaded or run; says which, and what to do.
        """
        folder = model_folder(name, "embedder", file=options.file)
        tokens = ModelTokens(folder)
        tokens.cut_at(options.max_tokens or _longest(folder, tokens))
        network, alone = _network(folder, options)
        return cls(
            network,
            tokens,
            pooling=options.pooling or _pooling(folder),
            prefixes=_prefixes(folder, options),
            batch_size=options.batch_size or (1 if alone else BATCH_SIZE),
        )

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implements `Embedder.embed`, for passages."""
        return self._vectors([self._passage + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Implements `QueryEmbedder.embed_queries`."""
        return self._vectors([self._query + text for text in texts])

    def reads(self, text: str) -> int:
        """Implements `BoundedEmbedder.reads`."""
        prefix_length = len(self._passage)
        (tokens,) = self._tokens.encode([storable(self._passage + text[:_MAX_CHARS])])
        if not tokens.overflowing:
            return min(len(text), _MAX_CHARS)
        spans = zip(tokens.offsets, tokens.special_tokens_mask, strict=True)
        return max(max((end for (_, end), special in spans if not special), default=0) - prefix_length, 1)

    def _vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._cache.vectors(texts, self._run, 0)

    def _run(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np

        encodings = self._tokens.encode([storable(text[:_MAX_CHARS]) for text in texts])
        rows = run(self._network, encodings, pad=self._tokens.pad, batch_size=self._batch_size)
        at = {"cls": 0, "last": -1}.get(self._pooling)
        # A graph that pools by itself answers with the text's vector.
        vectors = [row if row.ndim == 1 else row.mean(axis=0) if at is None else row[at] for row in rows]
        pooled = np.stack(vectors).astype(np.float32)
        lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
        unit: NDArray[np.float32] = pooled / np.maximum(lengths, 1e-12)
        return unit


def _network(folder: ModelFolder, options: EmbedderOptions) -> tuple[Network, bool]:
    """Loads the model, ONNX before torch; True where each text needs a pass of its own."""
    file = folder.onnx(options.file)
    if file is not None:
        return EncoderGraph(file, folder, options.device, VECTOR_OUTPUTS), is_quantised(file)
    from vista_guard.inference.torch_models import TorchNetwork

    return TorchNetwork(folder, "vectors", options.device), False


def _longest(folder: ModelFolder, tokens: ModelTokens) -> int:
    limits = [folder.json("sentence_bert_config.json").get("max_seq_length"), tokens.model_max]
    positions = folder.config.get("max_position_embeddings")
    if isinstance(positions, int):
        # RoBERTa's positions begin after its padding id.
        limits.append(positions - 2 * (folder.config.get("model_type") in ("roberta", "xlm-roberta", "camembert")))
    return min([LONGEST, *(limit for limit in limits if isinstance(limit, int) and limit > 0)])


def _pooling(folder: ModelFolder) -> Pooling:
    """The pooling in the files that sentence-transformers wrote beside the model.

    Raises:
        ConfigError: the pooling is not supported.
    """
    config = folder.json("1_Pooling/config.json")
    mode = config.get("pooling_mode")  # a name or several since sentence-transformers 6, a flag for each way before
    if mode is None:
        chosen = [name for name, value in config.items() if name.startswith("pooling_mode_") and value is True]
    else:
        chosen = [str(way) for way in (mode if isinstance(mode, list) else [mode])]
    if chosen in ([], ["mean"], ["pooling_mode_mean_tokens"]):
        return "mean"
    if chosen in (["cls"], ["pooling_mode_cls_token"]):
        return "cls"
    if chosen in (["lasttoken"], ["last_token"], ["pooling_mode_lasttoken"]):
        return "last"
    raise ConfigError(
        f"{folder} pools by {', '.join(chosen)} (1_Pooling/config.json); mean, cls and the last token are read. "
        "Choose another model, or set embedder_options.pooling"
    )


def _prefixes(folder: ModelFolder, options: EmbedderOptions) -> tuple[str, str]:
    """The prefixes of a query and of a passage."""
    prompts = folder.json("config_sentence_transformers.json").get("prompts")
    defaults: Mapping[str, object] = prompts if isinstance(prompts, Mapping) else {}
    parts = f"{folder.name} {folder.config.get('_name_or_path', '')}".lower().replace("\\", "/").split("/")
    is_e5 = any(part.split()[0].startswith(("e5-", "multilingual-e5")) for part in parts if part.split())
    query = defaults.get("query") or ("query: " if is_e5 else "")
    passage = defaults.get("passage") or defaults.get("document") or ("passage: " if is_e5 else "")
    return (
        str(query) if options.query_prefix is None else options.query_prefix,
        str(passage) if options.passage_prefix is None else options.passage_prefix,
    )


EMBEDDERS = Kinds[EmbedderOptions, Embedder](
    "embedder",
    {
        "shipped": (lambda *_: OnnxEmbedder(), "the model inside this package"),
        "hf:ORG/MODEL": (LocalEmbedder.load, HUB_FORM),
        "PATH": (LocalEmbedder.load, FOLDER_FORM),
    },
)
