"""Models that users bring as torch weights. Only this module loads torch, where the extra `torch` is installed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from vista_guard._extras import require
from vista_guard.errors import ConfigError
from vista_guard.inference.hub import hub_file
from vista_guard.inference.local_models import TORCH_FILES, ModelFolder, TokenBatch, start_and_end, up_to

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Kind = Literal["classes", "tokens", "decoder", "hhem", "alignscore", "vectors"]
"""The kinds of model that can be built around the weights."""

FLAN_T5_BASE = {
    "d_model": 768,
    "d_kv": 64,
    "d_ff": 2048,
    "num_layers": 12,
    "num_heads": 12,
    "vocab_size": 32128,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
}
"""The shape of google/flan-t5-base, as its config.json gives it: HHEM's own configuration only names that model."""


class TorchNetwork:
    """Implements `Network` with torch. One pass at a time: torch spreads a pass over the cores by itself."""

    def __init__(self, folder: ModelFolder, kind: Kind, device: str, *, start: int = 0) -> None:
        """Reads the weights. No code of the model's repository is ever run.

        Args:
            folder: with config.json and the weights.
            kind: the model to build around them.
            device: `cpu`, `cuda`, `cuda:1`.
            start: the token that a decoder begins with.

        Raises:
            ConfigError: torch or transformers is missing, the device is not there, or the weights are not of that kind.
        """
        module, self._forward = _build_model(folder, device, lambda: _BUILDERS[kind](folder, start))
        module.to(device).eval()
        self._device = device
        # Of kinds built by hand none distinguishes first and second segment.
        self._types = kind in _AUTO and int(folder.config.get("type_vocab_size") or 0) > 1
        self._lock = threading.Lock()

    def logits(self, batch: TokenBatch) -> NDArray[np.float32]:
        """Implements `Network.logits`."""
        import torch

        arrays = {"input_ids": batch.ids, "attention_mask": batch.mask}
        if self._types:
            arrays["token_type_ids"] = batch.types
        with self._lock, torch.inference_mode():
            tensors = {key: torch.from_numpy(value).to(self._device) for key, value in arrays.items()}
            output: NDArray[np.float32] = self._forward(tensors).float().cpu().numpy()
        return output

    def each(self, batches: Sequence[TokenBatch]) -> list[NDArray[np.float32]]:
        """Implements `Network.each`, one after the other."""
        return [self.logits(batch) for batch in batches]


class TorchGenerator:
    """Implements `Generator` with torch. One pass at a time, as `TorchNetwork`."""

    def __init__(self, folder: ModelFolder, device: str, pad: int) -> None:
        """Reads the weights of an encoder-decoder.

        Raises:
            ConfigError: as for `TorchNetwork`, or `config.json` names no end token.
        """
        start, end = start_and_end(folder)
        self._tokens = {"decoder_start_token_id": start, "eos_token_id": end, "pad_token_id": pad}
        model = _build_model(folder, device, lambda: _pretrained(folder, "AutoModelForSeq2SeqLM"))
        self._model, self._device, self._lock = model.to(device).eval(), device, threading.Lock()

    def generate(self, batch: TokenBatch, most: int) -> list[list[int]]:
        """Implements `Generator.generate`. Ignores the folder's own settings of beams and sampling."""
        import torch
        from transformers import GenerationConfig

        config = GenerationConfig(max_new_tokens=most, num_beams=1, do_sample=False, **self._tokens)
        end = self._tokens["eos_token_id"]
        with self._lock, torch.inference_mode():
            ids, mask = (torch.from_numpy(array).to(self._device) for array in (batch.ids, batch.mask))
            rows = self._model.generate(input_ids=ids, attention_mask=mask, generation_config=config).cpu().tolist()
        return [up_to(end, row[1:]) for row in rows]


T = TypeVar("T")


def _build_model(folder: ModelFolder, device: str, build: Callable[[], T]) -> T:
    """Builds the model from the folder's weights; any failure is a `ConfigError`."""
    require(f"{folder} has weights for torch only, and to run them it", "torch", "transformers", extra="torch")
    import torch

    if device.startswith("cuda") and not torch.cuda.is_available():
        raise ConfigError(f"{folder.role}_options.device is {device!r}, and torch finds no such device; use 'cpu'")
    try:
        return build()
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as exc:
        why = " ".join(str(exc).split())[:300]
        raise ConfigError(f"{folder}: its weights in {folder.path} cannot be loaded ({why})") from exc


def causal_model(folder: ModelFolder, device: str) -> tuple[Any, Any]:
    """A language model that returns its attention, and its tokenizer.

    Raises:
        ConfigError: torch or transformers is missing, or the weights are of no such model.
    """
    model = _build_model(
        folder, device, lambda: _pretrained(folder, "AutoModelForCausalLM", attn_implementation="eager")
    )
    return model.to(device).eval(), _build_model(folder, device, lambda: _pretrained(folder, "AutoTokenizer"))


RANKER_SYSTEM = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".'
)
RANKER_TASK = "Given a web search query, retrieve relevant passages that answer the query"
"""Qwen3-Reranker was trained with both, in its own turns and with closed thoughts (its model card); nothing else works."""
_RANKER_TURNS = (
    f"<|im_start|>system\n{RANKER_SYSTEM}<|im_end|>\n<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
)
_MOST_RANKED = 8192


class TorchRanker:
    """Scores passages for a query with a cross-encoder, or with a language model that says yes or no as Qwen3-Reranker does.

    Raises:
        ConfigError: torch or transformers is missing, or the weights are of neither kind.
    """

    def __init__(self, folder: ModelFolder, device: str) -> None:
        self._speaks = any("CausalLM" in str(name) for name in folder.config.get("architectures") or ())
        kind = "AutoModelForCausalLM" if self._speaks else "AutoModelForSequenceClassification"
        model = _build_model(folder, device, lambda: _pretrained(folder, kind))
        self._tokens = _build_model(folder, device, lambda: _pretrained(folder, "AutoTokenizer"))
        self._model, self._device, self._lock = model.to(device).eval(), device, threading.Lock()
        most = getattr(model.config, "max_position_embeddings", None) or _MOST_RANKED
        self._most = min(most, self._tokens.model_max_length, _MOST_RANKED)

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A score for each text, the higher the better: one pass a text, which depends on no neighbour."""
        import torch

        with self._lock, torch.inference_mode():
            return [self._score(query, text) for text in texts]

    def _score(self, query: str, text: str) -> float:
        import torch

        inputs = self._prompt(query, text) if self._speaks else self._pair(query, text)
        logits = self._model(**{key: torch.tensor([ids], device=self._device) for key, ids in inputs.items()}).logits[0]
        if self._speaks:
            yes, no = (self._tokens.convert_tokens_to_ids(word) for word in ("yes", "no"))
            return float(torch.log_softmax(logits[-1, [no, yes]].float(), 0)[1])
        return float(logits[0] if len(logits) == 1 else torch.log_softmax(logits.float(), 0)[-1])

    def _pair(self, query: str, text: str) -> Mapping[str, list[int]]:
        inputs: Mapping[str, list[int]] = self._tokens(query, text, truncation=True, max_length=self._most)
        return inputs

    def _prompt(self, query: str, text: str) -> Mapping[str, list[int]]:
        before, after = (self._tokens(part, add_special_tokens=False)["input_ids"] for part in _RANKER_TURNS)
        content = f"<Instruct>: {RANKER_TASK}\n<Query>: {query}\n<Document>: {text}"
        room = self._most - len(before) - len(after)
        inside = self._tokens(content, add_special_tokens=False, truncation=True, max_length=room)["input_ids"]
        return {"input_ids": [*before, *inside, *after]}


def _pretrained(folder: ModelFolder, kind: str, **options: Any) -> Any:
    """Loads the folder by the class of transformers with this name."""
    import transformers

    return getattr(transformers, kind).from_pretrained(str(folder.path), local_files_only=True, **options)


_Forward = Callable[[Mapping[str, Any]], Any]
_AUTO: dict[Kind, tuple[str, str]] = {
    "classes": ("AutoModelForSequenceClassification", "logits"),
    "tokens": ("AutoModelForTokenClassification", "logits"),
    "vectors": ("AutoModel", "last_hidden_state"),
}
"""Kinds that transformers builds: its class, and the output that is read."""


def _auto(kind: Kind) -> Callable[[ModelFolder, int], tuple[Any, _Forward]]:
    name, output = _AUTO[kind]

    def build(folder: ModelFolder, start: int) -> tuple[Any, _Forward]:  # noqa: ARG001  one signature for all
        model = _pretrained(folder, name)
        return model, lambda given: getattr(model(**given), output)

    return build


def _decoder(folder: ModelFolder, start: int) -> tuple[Any, _Forward]:
    import torch

    model = _pretrained(folder, "AutoModelForSeq2SeqLM")

    def forward(tensors: Mapping[str, Any]) -> Any:
        ids = tensors["input_ids"]
        begin = torch.full((len(ids), 1), start, dtype=ids.dtype, device=ids.device)
        return model(**tensors, decoder_input_ids=begin).logits[:, 0, :]

    return model, forward


def _hhem(folder: ModelFolder, start: int) -> tuple[Any, _Forward]:  # noqa: ARG001
    """A T5 encoder with a classifier on its tokens, under the prefix `t5.`: what the repository's own code builds."""
    from transformers import T5Config, T5ForTokenClassification

    model = T5ForTokenClassification(T5Config(**_foundation(folder), num_labels=2))
    state = {key.removeprefix("t5."): value for key, value in _state(folder).items()}
    # The encoder's embeddings are the shared ones; files hold them once or twice.
    state.setdefault("transformer.encoder.embed_tokens.weight", state["transformer.shared.weight"])
    _load(model, state)
    return model, lambda given: model(**given).logits


def _foundation(folder: ModelFolder) -> Mapping[str, Any]:
    """The T5 configuration that an HHEM names, or has in its own."""
    if "d_model" in folder.config:
        return {key: folder.config[key] for key in FLAN_T5_BASE if key in folder.config}
    name = str(folder.config.get("foundation", "google/flan-t5-base"))
    if name == "google/flan-t5-base":
        return FLAN_T5_BASE
    config = json.loads(hub_file(name, "config.json").read_text(encoding="utf-8"))
    return {key: config[key] for key in FLAN_T5_BASE if key in config}


def _alignscore(folder: ModelFolder, start: int) -> tuple[Any, _Forward]:  # noqa: ARG001
    """A RoBERTa encoder whose pooled first token goes through the three-way head of AlignScore, `tri_layer`."""
    import torch
    from transformers import RobertaConfig, RobertaModel

    state = _state(folder)
    head = next((key.removesuffix(".weight") for key in state if key.endswith("tri_layer.weight")), None)
    anchor = "embeddings.word_embeddings.weight"
    prefix = next((key.removesuffix(anchor) for key in state if key.endswith(anchor)), None)
    if head is None or prefix is None:
        raise ConfigError(f"{folder}: its weights have no tri_layer, so they are not AlignScore's")
    encoder = RobertaModel(RobertaConfig(**folder.config), add_pooling_layer=True)
    own = {key.removeprefix(prefix): value for key, value in state.items() if key.startswith(prefix)}
    _load(encoder, {key: value for key, value in own.items() if key.startswith(("embeddings.", "encoder.", "pooler."))})
    three = torch.nn.Linear(encoder.config.hidden_size, 3)
    _load(three, {"weight": state[f"{head}.weight"], "bias": state[f"{head}.bias"]})
    whole = torch.nn.ModuleList([encoder, three])
    return whole, lambda given: three(encoder(**given).pooler_output)


_BUILDERS: dict[Kind, Callable[[ModelFolder, int], tuple[Any, _Forward]]] = {
    **{kind: _auto(kind) for kind in _AUTO},
    "decoder": _decoder,
    "hhem": _hhem,
    "alignscore": _alignscore,
}


def _state(folder: ModelFolder) -> dict[str, Any]:
    """All tensors of the weights, from one file or from several. Pickles are read as tensors only."""
    import torch
    from safetensors.torch import load_file

    file = folder.first(TORCH_FILES)
    if file is None:
        raise ConfigError(f"{folder} has no weights in {folder.path}; expected one of {', '.join(TORCH_FILES)}")
    names = [file.name]
    if file.name.endswith(".index.json"):
        names = sorted(set(folder.json(file.name)["weight_map"].values()))
    state: dict[str, Any] = {}
    for name in names:
        part = folder.path / name
        whole = part.suffix == ".safetensors"
        state |= load_file(part) if whole else torch.load(part, map_location="cpu", weights_only=True)
    return dict(state.get("state_dict", state))


def _load(module: Any, state: Mapping[str, Any]) -> None:
    """Loads every weight of the module; ignores anything else in the file, such as position ids."""
    missing = [
        key for key in module.load_state_dict(state, strict=False).missing_keys if not key.endswith("position_ids")
    ]
    if missing:
        raise ValueError(f"the weights lack {', '.join(missing[:3])}{' and more' if len(missing) > 3 else ''}")
