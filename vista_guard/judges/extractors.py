"""Extractors that the settings name: models that write the claims of a passage, on this machine or behind an endpoint."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError, JudgeError
from vista_guard.inference.hub import hub_folder
from vista_guard.inference.local_models import (
    Generator,
    GeneratorGraph,
    ModelFolder,
    ModelTokens,
    folder_name,
    group_by_length,
    pad_batch,
)
from vista_guard.protocols import Embedder, Extractor
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.model import EXTRACTOR_DEFAULTS, MODEL_DEFAULTS, ExtractorOptions, ModelOptions
from vista_guard.types import Claim, JudgeInfo, Span, Turn

if TYPE_CHECKING:
    from tokenizers import Encoding

FORMS = """\
  shipped                           the rules of the embedded judge
  hf:ORG/MODEL                      an encoder-decoder of the Hugging Face hub, such as a T5; hf:ORG/MODEL@REVISION
  PATH                              a folder with config.json, a tokenizer, and ONNX files of an encoder and a decoder, or
                                    weights for torch
  openai:MODEL@https://host/v1      a chat model at any endpoint that speaks OpenAI's API
  langchain:PROVIDER:MODEL          a chat model of LangChain"""
BATCH_SIZE = 8
_WORD = re.compile(r"\w+")


def build_extractor(
    given: Extractor | str | Path | None,
    embedder: Embedder,
    options: ExtractorOptions = EXTRACTOR_DEFAULTS,
    model: ModelOptions = MODEL_DEFAULTS,
) -> Extractor | None:
    """The extractor that a name stands for, or the object as it is; None where the judge decomposes by itself.

    Args:
        given: a name in one of the forms of `FORMS`, or an object.
        embedder: the shipped one, for the shipped rules.
        options: how a local model is read and run.
        model: how a chat model is asked, and what it may spend.

    Raises:
        ConfigError: no such extractor, or one that cannot be loaded.
    """
    if given is None or not isinstance(given, str | Path):
        return given
    name = str(given).strip()
    kind, _, rest = name.partition(":")
    if name == "shipped":
        from vista_guard.judges.embedded import EmbeddedJudge

        return EmbeddedJudge.load(embedder)
    if kind in ("openai", "langchain") and rest:
        return _chat(kind, rest, model)
    if (kind == "hf" and rest) or Path(name).expanduser().is_dir():
        return LocalExtractor.load(name, options)
    raise ConfigError(
        f"extractor is {name!r}, which is neither an extractor nor a folder. The extractors are:\n{FORMS}"
    )


def _chat(kind: str, rest: str, options: ModelOptions) -> Extractor:
    from vista_guard.judges.model import LangChainChat, ModelJudge, OpenAIChat

    if kind == "langchain":
        return ModelJudge(LangChainChat.from_name(rest, options=options), options)
    name, _, url = rest.partition("@")
    return ModelJudge(OpenAIChat(name, base_url=url or None, options=options), options)


class LocalExtractor:
    """Implements `Extractor` with an encoder-decoder that writes the claims of a passage (LLM-OASIS, §5.1).

    A turn is read in passages of `options.sentences` sentences. Claims get the span of the sentence of their passage that shares
    most words with them. What the model leaves out is not judged: measure it (`easiness`) before you rely on it.
    """

    def __init__(self, name: str, network: Generator, tokens: ModelTokens, options: ExtractorOptions, end: int) -> None:
        """`end` is the token that ends an answer; `options.prefix` is the one to use."""
        self.info = JudgeInfo(name=name, version=f"{options.sentences} sentences")
        self._network = network
        self._tokens = tokens
        self._options = options
        self._end = end

    @classmethod
    def load(cls, name: str, options: ExtractorOptions = EXTRACTOR_DEFAULTS) -> LocalExtractor:
        """The model that a name of the settings stands for: `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a folder's path.

        Raises:
            ConfigError: it cannot be found, downloaded, understood or run; says which, and what to do.
        """
        hub = name.startswith("hf:")
        if hub:
            folder = hub_folder(name.removeprefix("hf:"), role="extractor")
        else:
            folder = ModelFolder.read(Path(name).expanduser(), name, "extractor")
        if not folder.config.get("is_encoder_decoder", folder.config.get("model_type") in ("t5", "mt5", "bart")):
            raise ConfigError(
                f"{folder} is a {folder.config.get('model_type')} model, which writes no text; give an encoder-decoder such "
                "as a T5"
            )
        tokens = ModelTokens.load(folder)
        prefix = options.prefix if options.prefix is not None else str(folder.config.get("prefix") or "")
        read = options.model_copy(update={"prefix": prefix})
        end = int(folder.config["eos_token_id"]) if isinstance(folder.config.get("eos_token_id"), int) else -1
        return cls(name if hub else folder_name(name), _network(folder, read, tokens), tokens, read, end)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with ids `t{turn index}.c{n}`, in the order of the passages; equal texts are one claim.

        Raises:
            JudgeError: a sentence is longer than the model reads, or an answer was cut off.
        """
        return await asyncio.to_thread(self._decompose, turn, len(history))

    def _decompose(self, turn: Turn, index: int) -> list[Claim]:
        passages = list(self._passages(turn.text))
        answers = self._written([turn.text[some[0].start : some[-1].end] for some in passages])
        found: dict[str, Span] = {}
        for sentences, answer in zip(passages, answers, strict=True):
            for text in self._claims(answer):
                found.setdefault(text, _place(text, turn.text, sentences))
        pairs = enumerate(found.items(), 1)
        return [Claim(id=f"t{index}.c{number}", text=text, span=span) for number, (text, span) in pairs]

    def _passages(self, text: str) -> Iterator[list[Span]]:
        """Runs of sentences that the model reads at once."""
        sentences = sentence_spans(text)
        encoded = self._tokens.encode([text[one.start : one.end] for one in sentences])
        lengths = [len(one.ids) for one in encoded]
        room = self._options.max_tokens - len(self._tokens.encode([self._options.prefix or ""])[0].ids)
        if lengths and max(lengths) > room:
            raise JudgeError(
                f"{self.info.name} reads {self._options.max_tokens} tokens, and a sentence has {max(lengths)}: raise "
                "extractor_options.max_tokens"
            )
        passage: list[Span] = []
        used = 0
        for sentence, length in zip(sentences, lengths, strict=True):
            if passage and (len(passage) == self._options.sentences or used + length > room):
                yield passage
                passage, used = [], 0
            passage.append(sentence)
            used += length
        if passage:
            yield passage

    def _written(self, passages: Sequence[str]) -> list[str]:
        """The model's answers, in order."""
        texts = [(self._options.prefix or "") + passage for passage in passages]
        encodings: Sequence[Encoding] = self._tokens.encode(texts)
        order = sorted(range(len(texts)), key=lambda place: -len(encodings[place].ids))
        answers = [""] * len(texts)
        size = self._options.batch_size or BATCH_SIZE
        for group in group_by_length(order, lambda place: len(encodings[place].ids), size):
            batch = pad_batch([encodings[place] for place in group], self._tokens.pad)
            for place, ids in zip(group, self._network.generate(batch, self._options.max_output_tokens), strict=True):
                if not ids or ids[-1] != self._end:
                    # Half an answer may lack the claim that mattered.
                    raise JudgeError(
                        f"the claims of {self.info.name} were cut off at {self._options.max_output_tokens} tokens; raise "
                        "extractor_options.max_output_tokens"
                    )
                answers[place] = self._tokens.decode(ids)
        return answers

    def _claims(self, answer: str) -> list[str]:
        separator = self._options.separator
        if separator is not None:
            parts = answer.split(separator)
        else:
            parts = [answer[one.start : one.end] for one in sentence_spans(answer)]
        return [text for part in parts if _WORD.search(text := " ".join(part.split()))]


def _network(folder: ModelFolder, options: ExtractorOptions, tokens: ModelTokens) -> Generator:
    """The model in memory: ONNX before torch."""
    both = folder.seq2seq()
    if both is not None:
        return GeneratorGraph.load(both, folder, options.device)
    from vista_guard.inference.torch_models import TorchGenerator

    return TorchGenerator.load(folder, options.device, tokens.pad)


def _place(claim: str, text: str, sentences: Sequence[Span]) -> Span:
    """The sentence that shares most words with the claim; the first of equals."""
    wanted = set(_WORD.findall(claim.casefold()))
    return max(sentences, key=lambda one: len(wanted & set(_WORD.findall(text[one.start : one.end].casefold()))))
