"""A verifier that is a model on this machine: a folder, or a repository of the Hugging Face hub in its local cache."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.inference.hub import hub_file, hub_folder
from vista_guard.inference.local_models import (
    DecoderGraph,
    EncoderGraph,
    ModelFolder,
    ModelTokens,
    Network,
    Text,
    folder_name,
    is_quantised,
    run,
)
from vista_guard.judges.verifiers.families import COLUMNS, LETTUCE_PROMPT, Family, family_of, label_probabilities
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.model import VERIFIER_DEFAULTS, VerifierOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from vista_guard.inference.torch_models import Kind

BATCH_SIZE = 8
NOT_ENOUGH = COLUMNS.index("not_enough")
SLACK = 8
"""Tokens left free: a window cut out of a text may have a few tokens more than it had inside."""

_SLOT = re.compile(r"\{(evidence|text1|claim|text2|eos)\}")


class LocalVerifier:
    """Implements `Verifier` with a model of one of the families of `families`.

    Evidence that is longer than the model reads is read in windows, and the window that says most counts, as the makers of
    these models do it. A claim that is itself too long is not verified.
    """

    def __init__(self, name: str, network: Network, tokens: ModelTokens, family: Family, *, batch_size: int) -> None:
        self.name = name
        self.family = family
        self._network = network
        self._inputs = Inputs(tokens, family)
        self._pad = tokens.pad
        self._batch_size = batch_size

    @classmethod
    def load(cls, name: str, options: VerifierOptions = VERIFIER_DEFAULTS) -> LocalVerifier:
        """The model that a name of the settings stands for: `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a folder's path.

        Args:
            name: as above.
            options: how it is read and run.

        Raises:
            ConfigError: it cannot be found, downloaded, understood or run; says which, and what to do.
        """
        hub = name.startswith("hf:")
        folder = (
            hub_folder(name.removeprefix("hf:"), file=options.file)
            if hub
            else ModelFolder.read(Path(name).expanduser(), name)
        )
        called = name if hub else folder_name(name)
        family = family_of(called, folder.config, options)
        network, quantised = _network(folder, family, options)
        tokens = ModelTokens.load(folder, instead=_foundation_tokens(folder))
        size = options.batch_size or (1 if quantised else BATCH_SIZE)
        return cls(called, network, tokens, family, batch_size=size)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        import numpy as np

        inputs = [self._inputs.windows(evidence, claim) for evidence, claim in pairs]
        encodings = [window for windows in inputs for window in windows]
        logits = iter(run(self._network, encodings, pad=self._pad, batch_size=self._batch_size))
        found = np.zeros((len(pairs), len(COLUMNS)), np.float32)
        found[:, NOT_ENOUGH] = 1.0
        for row, windows in enumerate(inputs):
            if windows:
                found[row] = self._row([(window, next(logits)) for window in windows])
        return found

    def _row(self, windows: Sequence[tuple[Encoding, NDArray[np.float32]]]) -> NDArray[np.float32]:
        """One pair's probabilities, from the logits of its windows."""
        import numpy as np

        if self.family.head == "tokens":
            return _least_supported(windows)
        shares = label_probabilities(np.stack(list(self._answers(logits for _, logits in windows))), self.family.labels)
        best: NDArray[np.float32] = shares[int(shares[:, NOT_ENOUGH].argmin())]
        return best

    def _answers(self, logits: Iterator[NDArray[np.float32]]) -> Iterator[NDArray[np.float32]]:
        for one in logits:
            if self.family.head == "first_token":
                yield one[0] if one.ndim == 2 else one
            elif self.family.head == "decoder":
                yield one[list(self.family.outputs)]
            else:
                yield one


def _least_supported(windows: Sequence[tuple[Encoding, NDArray[np.float32]]]) -> NDArray[np.float32]:
    """The claim is supported as far as its least supported token is; a token that any window supports is."""
    import numpy as np

    shares = []
    for encoding, logits in windows:
        claim = [index for index, sequence in enumerate(encoding.sequence_ids) if sequence == 1]
        difference = logits[claim, 1] - logits[claim, 0]
        shares.append(1.0 / (1.0 + np.exp(difference)))
    least = float(np.max(shares, axis=0).min(initial=1.0))
    return np.array([least, 0.0, 1.0 - least], np.float32)


def _network(folder: ModelFolder, family: Family, options: VerifierOptions) -> tuple[Network, bool]:
    """The model in memory, and whether its weights are quantised: ONNX before torch."""
    from vista_guard.inference.torch_models import TorchNetwork

    start = int(folder.config.get("decoder_start_token_id") or 0)
    if family.head == "decoder":
        both = folder.seq2seq()
        if both is not None:
            return DecoderGraph.load(both, folder, options.device, start), is_quantised(both[0])
        return TorchNetwork.load(folder, "decoder", options.device, start=start), False
    file = folder.onnx(options.file)
    if file is not None:
        return EncoderGraph.load(file, folder, options.device), is_quantised(file)
    kinds: dict[str, Kind] = {"hhem": "hhem", "alignscore": "alignscore", "lettucedetect": "tokens"}
    return TorchNetwork.load(folder, kinds.get(family.name, "classes"), options.device), False


def _foundation_tokens(folder: ModelFolder) -> Path | None:
    """The tokenizer of the model that an HHEM names as its foundation, where its own folder has none."""
    foundation = folder.config.get("foundation")
    if not isinstance(foundation, str) or folder.first(["tokenizer.json"]) is not None:
        return None
    return hub_file(foundation, "tokenizer.json")


class Inputs:
    """Pairs of evidence and claim, made into what a model of a family reads."""

    def __init__(self, tokens: ModelTokens, family: Family) -> None:
        self._tokens = tokens
        self._family = family

    def windows(self, evidence: str, claim: str) -> list[Encoding]:
        """The model's inputs for one pair: one, or one for each window of long evidence; none where the claim alone is too long.

        A claim is never cut: what a model did not read it could not verify.
        """
        (whole,) = self._tokens.encode([self._text(evidence, claim)])
        offsets = self._tokens.offsets(evidence)
        if len(whole.ids) <= self._family.max_tokens and len(offsets) <= (self._family.evidence_tokens or len(offsets)):
            return [whole]
        room = self._family.max_tokens - (len(whole.ids) - len(offsets)) - SLACK
        most = min(room, self._family.evidence_tokens or room)
        if most < SLACK:
            return []
        texts = [self._text(evidence[start:end], claim) for start, end in window_spans(evidence, offsets, most)]
        return [one for one in self._tokens.encode(texts) if len(one.ids) <= self._family.max_tokens]

    def _text(self, evidence: str, claim: str) -> Text:
        if self._family.head == "tokens":
            return fill_template(LETTUCE_PROMPT, {"evidence": evidence}), claim
        if self._family.template is None:
            return evidence, claim
        slots = {"evidence": evidence, "text1": evidence, "claim": claim, "text2": claim, "eos": self._tokens.eos}
        return fill_template(self._family.template, slots)


def fill_template(template: str, slots: Mapping[str, str]) -> str:
    """The template with its slots filled; braces in what fills them mean nothing."""
    return _SLOT.sub(lambda found: slots.get(found[1], found[0]), template)


def window_spans(text: str, offsets: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Character spans of windows over a text, each of at most `most` tokens, which together hold all of it.

    A window ends with a sentence, and the next one begins with the same sentence where both fit: what two neighbours say together
    is then seen together. A sentence that is too long by itself is cut between tokens.
    """
    units = list(_units(text, offsets, most))
    first = 0
    while first < len(units):
        last = first + 1
        while last < len(units) and units[last][1] - units[first][0] <= most:
            last += 1
        yield offsets[units[first][0]][0], offsets[units[last - 1][1] - 1][1]
        if last == len(units):
            return
        again = last - 1
        first = again if again > first and units[last][1] - units[again][0] <= most else last


def _units(text: str, offsets: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Runs of tokens, [first, last): sentences, and parts of those that are longer than a window."""
    first = 0
    ends = [span.end for span in sentence_spans(text)]
    for end in [*ends[:-1], len(text)]:
        last = first
        while last < len(offsets) and offsets[last][0] < end:
            last += 1
        for start in range(first, last, most):
            yield start, min(last, start + most)
        first = last
