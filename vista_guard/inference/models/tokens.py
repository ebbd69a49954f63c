"""The tokenizer of a model that users bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vista_guard._extras import require
from vista_guard.errors import ConfigError
from vista_guard.inference.models.folder import ModelFolder

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

Text = str | tuple[str, str]


class ModelTokens:
    """Texts, or pairs of texts, to tokens. Nothing is cut: who asks sees to it that a text fits. Safe to share between threads.

    Attributes:
        pad: id of the token that fills a batch.
        eos: the token that ends a text, as text.
        model_max: longest input as the tokenizer's own settings say; None where they don't.
    """

    def __init__(self, tokenizer: Tokenizer, *, pad: int, eos: str, model_max: int | None) -> None:
        self._tokenizer = tokenizer
        self.pad = pad
        self.eos = eos
        self.model_max = model_max

    @classmethod
    def load(cls, folder: ModelFolder, *, instead: Path | None = None) -> ModelTokens:
        """Reads `tokenizer.json`; where a folder has only another form, transformers makes one of that.

        Args:
            folder: of the model.
            instead: a `tokenizer.json` from elsewhere, for a folder that has none.

        Raises:
            ConfigError: no tokenizer, or one that cannot be read.
        """
        tokenizer = _tokenizer(folder, instead)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        told = {**folder.json("special_tokens_map.json"), **folder.json("tokenizer_config.json")}
        eos = _special(told, "eos_token") or _special(told, "sep_token") or _known(tokenizer, "</s>", "[SEP]")
        longest = told.get("model_max_length")
        return cls(
            tokenizer,
            pad=_pad(folder, tokenizer, told),
            eos=eos,
            # transformers writes a number of 31 digits where a tokenizer has no limit.
            model_max=int(longest) if isinstance(longest, int | float) and longest < 1_000_000 else None,
        )

    def encode(self, texts: Sequence[Text]) -> list[Encoding]:
        """With special tokens, in the order of the texts."""
        return self._tokenizer.encode_batch(list(texts))

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each token of a text stands in it, special tokens left out."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).offsets)


def _tokenizer(folder: ModelFolder, instead: Path | None) -> Tokenizer:
    from tokenizers import Tokenizer

    file = folder.first(["tokenizer.json"]) or instead
    if file is None:
        return _converted(folder)
    try:
        return Tokenizer.from_file(str(file))
    except Exception as exc:  # tokenizers raises bare Exceptions
        raise ConfigError(f"verifier {folder.name}: {file} cannot be read ({exc}); download the model again") from exc


def _converted(folder: ModelFolder) -> Tokenizer:
    """A tokenizer of an older form, which transformers knows how to turn into a `tokenizer.json`."""
    require(
        f"verifier {folder.name} has no tokenizer.json, and to make one of its older files it",
        "transformers",
        "sentencepiece",
        extra="torch",
    )
    from transformers import AutoTokenizer

    try:
        made: Any = AutoTokenizer.from_pretrained(str(folder.path), use_fast=True, local_files_only=True)
        return made.backend_tokenizer  # type: ignore[no-any-return]  # transformers has no types for it
    except Exception as exc:  # whatever the conversion of that model's files raises
        why = " ".join(str(exc).split())[:200]
        raise ConfigError(
            f"verifier {folder.name} has no tokenizer.json, and none can be made of {folder.path}: {why}"
        ) from exc


def _pad(folder: ModelFolder, tokenizer: Tokenizer, told: Mapping[str, Any]) -> int:
    given = folder.config.get("pad_token_id")
    if isinstance(given, int):
        return given
    name = _special(told, "pad_token") or _known(tokenizer, "<pad>", "[PAD]")
    return tokenizer.token_to_id(name) or 0 if name else 0


def _special(told: Mapping[str, Any], name: str) -> str:
    """A special token, which is written as a text or as an object with its text."""
    value = told.get(name)
    value = value.get("content") if isinstance(value, Mapping) else value
    return value if isinstance(value, str) else ""


def _known(tokenizer: Tokenizer, *names: str) -> str:
    return next((name for name in names if tokenizer.token_to_id(name) is not None), "")
