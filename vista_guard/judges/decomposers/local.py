"""Local decomposers: encoder-decoders that generate the claims of a passage."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError, JudgeError
from vista_guard.inference.hub import model_folder
from vista_guard.inference.local_models import (
    Generator,
    GeneratorGraph,
    ModelFolder,
    ModelTokens,
    group_by_length,
    pad_batch,
)
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.model import DECOMPOSER_DEFAULTS, DecomposerOptions
from vista_guard.types import Claim, JudgeInfo, Span, Turn

if TYPE_CHECKING:
    from tokenizers import Encoding

BATCH_SIZE = 8
_WORD = re.compile(r"\w+")


class LocalDecomposer:
    """Implements `Decomposer` with an encoder-decoder that generates the claims of a passage (LLM-OASIS, §5.1).

    Reads a turn in passages of `options.sentences` sentences. A claim gets the span of its passage's sentence that shares most
    words with it. What the model omits is missing: `Covering` adds it, as settings do.
    """

    def __init__(
        self, name: str, network: Generator, tokens: ModelTokens, options: DecomposerOptions, end: int
    ) -> None:
        """`end` is the token that ends an answer; `options.prefix` is the one to use."""
        self.info = JudgeInfo(name=name, version=f"{options.sentences} sentences")
        self._network = network
        self._tokens = tokens
        self._options = options
        self._end = end

    @classmethod
    def load(cls, name: str, options: DecomposerOptions = DECOMPOSER_DEFAULTS) -> LocalDecomposer:
        """Loads `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a folder's path.

        Raises:
            ConfigError: it cannot be found, downloaded, read or run; says which, and what to do.
        """
        folder = model_folder(name, "decomposer")
        if not folder.config.get("is_encoder_decoder", folder.config.get("model_type") in ("t5", "mt5", "bart")):
            raise ConfigError(
                f"{folder} is a {folder.config.get('model_type')} model, which writes no text; give an encoder-decoder such "
                "as a T5"
            )
        tokens = ModelTokens(folder)
        prefix = options.prefix if options.prefix is not None else str(folder.config.get("prefix") or "")
        read = options.model_copy(update={"prefix": prefix})
        end = int(folder.config["eos_token_id"]) if isinstance(folder.config.get("eos_token_id"), int) else -1
        return cls(folder.public_name, _network(folder, read, tokens), tokens, read, end)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Claims with ids `t{turn index}.c{n}`, in the passages' order; equal texts are one claim.

        Raises:
            JudgeError: a sentence exceeds the model's input, or an answer was cut off.
        """
        return await asyncio.to_thread(self._decompose, turn, len(history))

    def _decompose(self, turn: Turn, index: int) -> list[Claim]:
        passages = list(self._passages(turn.text))
        answers = self._generate([turn.text[passage[0].start : passage[-1].end] for passage in passages])
        spans: dict[str, Span] = {}
        for sentences, answer in zip(passages, answers, strict=True):
            for text in self._claims(answer):
                spans.setdefault(text, _place(text, turn.text, sentences))
        pairs = enumerate(spans.items(), 1)
        return [Claim(id=f"t{index}.c{number}", text=text, span=span) for number, (text, span) in pairs]

    def _passages(self, text: str) -> Iterator[list[Span]]:
        """Groups of sentences that fit the model's input."""
        sentences = sentence_spans(text)
        encoded = self._tokens.encode([text[span.start : span.end] for span in sentences])
        lengths = [len(encoding.ids) for encoding in encoded]
        room = self._options.max_tokens - len(self._tokens.encode([self._options.prefix or ""])[0].ids)
        if lengths and max(lengths) > room:
            raise JudgeError(
                f"{self.info.name} reads {self._options.max_tokens} tokens, and a sentence has {max(lengths)}: raise "
                "decomposer_options.max_tokens"
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

    def _generate(self, passages: Sequence[str]) -> list[str]:
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
                        "decomposer_options.max_output_tokens"
                    )
                answers[place] = self._tokens.decode(ids)
        return answers

    def _claims(self, answer: str) -> list[str]:
        separator = self._options.separator
        if separator is not None:
            parts = answer.split(separator)
        else:
            parts = [answer[span.start : span.end] for span in sentence_spans(answer)]
        return [text for part in parts if _WORD.search(text := " ".join(part.split()))]


def _network(folder: ModelFolder, options: DecomposerOptions, tokens: ModelTokens) -> Generator:
    """The model in memory: ONNX before torch."""
    files = folder.seq2seq()
    if files is not None:
        return GeneratorGraph(files, folder, options.device)
    from vista_guard.inference.torch_models import TorchGenerator

    return TorchGenerator(folder, options.device, tokens.pad)


def _place(claim: str, text: str, sentences: Sequence[Span]) -> Span:
    """The sentence that shares most words with the claim; the first one on a tie."""
    wanted = set(_WORD.findall(claim.casefold()))
    return max(
        sentences, key=lambda sentence: len(wanted & set(_WORD.findall(text[sentence.start : sentence.end].casefold())))
    )
