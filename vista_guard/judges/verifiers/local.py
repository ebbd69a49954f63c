"""A local verifier: a model from a folder, or from a repository of the Hugging Face hub.

Templates and numbers belong to the models: they were trained with them and work with no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from vista_guard.errors import ConfigError
from vista_guard.inference.hub import hub_file, model_folder
from vista_guard.inference.local_models import (
    DecoderGraph,
    EncoderGraph,
    ModelFolder,
    ModelTokens,
    Network,
    Text,
    is_quantised,
    run,
)
from vista_guard.judges.contract import NOT_ENOUGH
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.model import VERIFIER_DEFAULTS, FamilyName, LabelName, VerifierOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Encoding

    from vista_guard.inference.torch_models import Kind


Head = Literal["classes", "first_token", "tokens", "decoder"]
"""Where the answer is: one row per text, its first token's row, the claim tokens' rows, or the first decoded token."""

NO_OR_YES: tuple[LabelName, ...] = ("not_enough", "supported")


@dataclass(frozen=True)
class Family:
    """Input and output format of a model family.

    Attributes:
        name: as in the settings.
        head: where the answer is.
        labels: meaning of the outputs, in order.
        template: the input as one text, with `{evidence}`, `{claim}` and `{eos}`; None for a pair of segments.
        max_tokens: most tokens that the model reads well.
        evidence_tokens: most tokens of evidence per window; None for all the room beside the claim.
        outputs: a decoder's answer tokens, in the order of `labels`.
    """

    name: FamilyName
    head: Head
    labels: tuple[LabelName, ...]
    template: str | None
    max_tokens: int
    evidence_tokens: int | None = None
    outputs: tuple[int, ...] = ()


MINICHECK = Family("minicheck", "classes", NO_OR_YES, "{evidence}{eos}{claim}", 512, 400)
"""MiniCheck-RoBERTa-Large and -DeBERTa-v3-Large (Tang et al. 2024, arXiv 2404.10774): document and claim in one text with the
tokenizer's end token between them; output 1 is support (Liyan06/MiniCheck, `minicheck/inference.py`)."""

MINICHECK_T5 = Family("minicheck", "decoder", NO_OR_YES, "predict: {evidence}{eos}{claim}", 2048, 650, outputs=(3, 209))
"""MiniCheck-Flan-T5-Large: the first decoded token answers, 3 for no support and 209 for support; chunks of 500 words
(the same file)."""

HHEM = Family(
    "hhem",
    "first_token",
    NO_OR_YES,
    "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {text1}\n\nHypothesis: {text2}",
    2048,
)
"""HHEM-2.1-Open (vectara/hallucination_evaluation_model): a T5 encoder with a classifier, read at the first token; the prompt is
that of its configuration; output 1 is consistency (`modeling_hhem_v2.py` of that repository)."""

FACTCG = Family(
    "factcg",
    "classes",
    NO_OR_YES,
    '{evidence}\n\nChoose your answer: based on the paragraph above can we conclude that "{claim}"?\n\n'
    "OPTIONS:\n- Yes\n- No\nI think the answer is ",
    2048,
    700,
)
"""FactCG-DeBERTa-v3-Large (Lei et al. 2025, arXiv 2501.17144): an instruction as one text, chunks of 550 words; output 1 is
support (derenlei/FactCG, `factcg/inference.py` and `factcg/utils.py`)."""

ALIGNSCORE = Family("alignscore", "classes", ("supported", "not_enough", "contradicted"), None, 512, 350)
"""AlignScore (Zha et al. 2023, arXiv 2305.16739): a pair through the three-way head; 0 aligned, 1 neutral, 2 contradicted, as
in the data that it was trained on; chunks of about 350 tokens (yuh-zha/AlignScore, `src/alignscore/`)."""

LETTUCEDETECT = Family("lettucedetect", "tokens", ("supported", "not_enough"), "", 4096)
"""LettuceDetect (Kovács and Recski 2025, arXiv 2502.17125): each token of the answer is supported (0) or not (1), after a prompt
with the evidence; the prompt is that without a question (KRLabsOrg/LettuceDetect, `lettucedetect/detectors/` and `prompts/`)."""

LETTUCE_PROMPT = "Summarize the following text:\npassage 1: {evidence}\noutput:"
"""LettuceDetect's text before the claim, as the first segment of a pair."""

NLI = Family("nli", "classes", (), None, 512)
"""Any cross-encoder for natural language inference: premise and hypothesis as a pair; `id2label` gives the outputs' meaning."""

_BY_NAME: tuple[tuple[str, Family], ...] = (
    ("hhem", HHEM),
    ("hallucination_evaluation_model", HHEM),
    ("alignscore", ALIGNSCORE),
    ("factcg", FACTCG),
    ("minicheck", MINICHECK),
    ("lettucedect", LETTUCEDETECT),  # so their models are spelt
    ("lettucedetect", LETTUCEDETECT),
)
_BY_FAMILY: dict[FamilyName, Family] = {family.name: family for _, family in _BY_NAME} | {"nli": NLI}


def family_of(name: str, config: Mapping[str, Any], options: VerifierOptions) -> Family:
    """A model's family, with outputs and length from its configuration and the options.

    The options take precedence.

    Raises:
        ConfigError: the model's name and configuration do not give the meaning of its outputs.
    """
    family = _BY_FAMILY[options.family] if options.family else _recognise(name, config)
    if family is MINICHECK and _is_seq2seq(config):
        family = MINICHECK_T5
    if family is HHEM and isinstance(config.get("prompt"), str):
        family = replace(family, template=config["prompt"])
    if family is NLI and options.labels is None:
        family = replace(family, labels=labels_of(name, config))
    if options.labels is not None:
        family = replace(family, labels=_given_labels(name, config, options.labels))
    return replace(family, max_tokens=options.max_tokens or _longest(family, config))


def _recognise(name: str, config: Mapping[str, Any]) -> Family:
    architectures = " ".join(map(str, config.get("architectures") or ()))
    code = " ".join(map(str, (config.get("auto_map") or {}).values()))
    known = f"{name} {config.get('_name_or_path', '')} {config.get('model_type', '')} {architectures} {code}".lower()
    known_family = next((family for word, family in _BY_NAME if word in known), None)
    if known_family is None and "ForTokenClassification" in architectures:
        return LETTUCEDETECT
    if known_family is None and _is_seq2seq(config):
        raise ConfigError(
            f"verifier {name} is a text-generating model ({config.get('model_type')}), and which family it belongs to its name "
            "does not say: set verifier_options.family, for example to 'minicheck'"
        )
    return known_family or NLI


def _is_seq2seq(config: Mapping[str, Any]) -> bool:
    return bool(config.get("is_encoder_decoder")) or config.get("model_type") in ("t5", "mt5", "bart")


def _given_labels(name: str, config: Mapping[str, Any], labels: tuple[LabelName, ...]) -> tuple[LabelName, ...]:
    outputs = config.get("id2label") or {}
    if outputs and len(outputs) != len(labels):
        raise ConfigError(
            f"verifier_options.labels has {len(labels)} names, and verifier {name} has {len(outputs)} outputs; give one for each"
        )
    if "supported" not in labels:
        raise ConfigError(f"verifier_options.labels is {list(labels)}; one of the outputs must be 'supported'")
    return labels


def _longest(family: Family, config: Mapping[str, Any]) -> int:
    """The family's input length, bounded by the model's positions."""
    if config.get("model_type") in ("deberta", "deberta-v2") and family.name in ("minicheck", "factcg"):
        return 2048  # relative positions: both are used with as many
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int) or config.get("model_type") in ("t5", "HHEMv2"):
        return family.max_tokens
    # RoBERTa's positions begin after its padding id.
    start = 2 if config.get("model_type") in ("roberta", "xlm-roberta", "camembert") else 0
    longest = positions - start
    return longest if family is NLI and longest <= 1024 else min(family.max_tokens, longest)


COLUMNS: tuple[LabelName, ...] = ("supported", "contradicted", "not_enough")
"""The columns of a verifier's output, in order."""

_SPELLINGS: tuple[tuple[LabelName, str], ...] = (
    # The first match counts: "not entailed" and "unsupported" must not be read as their opposite.
    ("not_enough", r"neutral|unknown|neither|maybe|nei\b|not ?enough|insufficient|no ?info"),
    ("not_enough", r"\b(not|non|un|in) ?(entail|support|consisten|align|ground|faithful|factual)|hallucinat"),
    ("contradicted", r"contradict|refut|conflict|disagree|false\b"),
    ("supported", r"entail|support|consisten|align|ground|faithful|factual|true\b|agree|verified"),
    ("not_enough", r"^no$"),
    ("supported", r"^yes$"),
)


def labels_of(name: str, config: Mapping[str, Any]) -> tuple[LabelName, ...]:
    """The meaning of each output of a classifier, in order, from `id2label` in any spelling and order.

    For a model with only supported and not supported, the latter is "not_enough".

    Raises:
        ConfigError: the names are unclear; says what to set.
    """
    id2label = config.get("id2label")
    names = [str(label) for _, label in sorted(id2label.items(), key=_number)] if isinstance(id2label, Mapping) else []
    meanings = [meaning(label) for label in names]
    known = [column for column in meanings if column is not None]
    if len(known) != len(names) or "supported" not in known or len(set(known)) != len(known):
        outputs = f"calls its outputs {', '.join(map(repr, names))}" if names else "names no outputs (id2label)"
        raise ConfigError(
            f"verifier {name} {outputs}, which does not say what they mean: set verifier_options.labels to the meaning of each, "
            f"in order, for example {list(COLUMNS)}, or verifier_options.family"
        )
    return tuple(known)


def meaning(label: str) -> LabelName | None:
    """The meaning of one output's name; None if it is unclear."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    plain = re.sub(r"[^a-z]+", " ", plain.lower()).strip()
    spaced = re.sub(r"\b(un|in)(?=(support|consisten|faithful|align|ground|factual))", r"\1 ", plain)
    return next((column for column, pattern in _SPELLINGS if re.search(pattern, spaced)), None)


def label_probabilities(logits: NDArray[np.float32], labels: Sequence[LabelName]) -> NDArray[np.float32]:
    """Logits (texts, outputs) as probabilities (texts, 3) in the order of `COLUMNS`.

    A single output is a score of support, read through the logistic function.
    """
    import numpy as np

    if logits.shape[1] == 1:
        logits = np.concatenate([logits, np.zeros_like(logits)], axis=1)
        labels = ("supported", "not_enough")
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares = powers / powers.sum(axis=1, keepdims=True)
    columns = np.zeros((len(logits), len(COLUMNS)), np.float32)
    for column, label in enumerate(labels):
        columns[:, COLUMNS.index(label)] += shares[:, column]
    return columns


def _number(item: tuple[str, Any]) -> int:
    return int(item[0]) if str(item[0]).isdecimal() else 0


BATCH_SIZE = 8
SLACK = 8
"""Spare tokens: a window by itself may have a few tokens more than inside its text."""

_SLOT = re.compile(r"\{(evidence|text1|claim|text2|eos)\}")


class LocalVerifier:
    """Implements `Verifier` with a model of a known `Family`.

    Long evidence is read in windows, and the most decisive window counts, as in the models' own code. A claim that is itself
    too long is not verified.
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
        """Loads `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION` or a folder's path.

        Raises:
            ConfigError: it cannot be found, downloaded, read or run; says which, and what to do.
        """
        folder = model_folder(name, "verifier", file=options.file)
        model_name = folder.public_name
        family = family_of(model_name, folder.config, options)
        network, quantised = _network(folder, family, options)
        tokens = ModelTokens(folder, instead=_foundation_tokens(folder))
        size = options.batch_size or (1 if quantised else BATCH_SIZE)
        return cls(model_name, network, tokens, family, batch_size=size)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        import numpy as np

        inputs = [self._inputs.windows(evidence, claim) for evidence, claim in pairs]
        encodings = [window for windows in inputs for window in windows]
        logits = iter(run(self._network, encodings, pad=self._pad, batch_size=self._batch_size))
        rows = np.zeros((len(pairs), len(COLUMNS)), np.float32)
        rows[:, NOT_ENOUGH] = 1.0
        for row, windows in enumerate(inputs):
            if windows:
                rows[row] = self._row([(window, next(logits)) for window in windows])
        return rows

    def _row(self, windows: Sequence[tuple[Encoding, NDArray[np.float32]]]) -> NDArray[np.float32]:
        """One pair's probabilities, from the logits of its windows."""
        import numpy as np

        if self.family.head == "tokens":
            return _least_supported(windows)
        answers = np.stack([self._answer(logits) for _, logits in windows])
        shares = label_probabilities(answers, self.family.labels)
        best: NDArray[np.float32] = shares[int(shares[:, NOT_ENOUGH].argmin())]
        return best

    def _answer(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        if self.family.head == "decoder":
            return logits[list(self.family.outputs)]
        first: NDArray[np.float32] = logits[0]
        return first if self.family.head == "first_token" and logits.ndim == 2 else logits


def _least_supported(windows: Sequence[tuple[Encoding, NDArray[np.float32]]]) -> NDArray[np.float32]:
    """The support of the claim's least supported token; a token has its best window's support."""
    import numpy as np

    shares = []
    for encoding, logits in windows:
        claim = [index for index, sequence in enumerate(encoding.sequence_ids) if sequence == 1]
        difference = logits[claim, 1] - logits[claim, 0]
        shares.append(1.0 / (1.0 + np.exp(difference)))
    least = float(np.max(shares, axis=0).min(initial=1.0))
    return np.array([least, 0.0, 1.0 - least], np.float32)


def _network(folder: ModelFolder, family: Family, options: VerifierOptions) -> tuple[Network, bool]:
    """Loads the model, ONNX before torch; also returns whether its weights are quantised."""
    from vista_guard.inference.torch_models import TorchNetwork

    start = int(folder.config.get("decoder_start_token_id") or 0)
    if family.head == "decoder":
        files = folder.seq2seq()
        if files is not None:
            return DecoderGraph(files, folder, options.device, start), is_quantised(files[0])
        return TorchNetwork(folder, "decoder", options.device, start=start), False
    file = folder.onnx(options.file)
    if file is not None:
        return EncoderGraph(file, folder, options.device), is_quantised(file)
    kinds: dict[str, Kind] = {"hhem": "hhem", "alignscore": "alignscore", "lettucedetect": "tokens"}
    return TorchNetwork(folder, kinds.get(family.name, "classes"), options.device), False


def _foundation_tokens(folder: ModelFolder) -> Path | None:
    """The tokenizer of an HHEM's foundation model, if its own folder has none."""
    foundation = folder.config.get("foundation")
    if not isinstance(foundation, str) or folder.first(["tokenizer.json"]) is not None:
        return None
    return hub_file(foundation, "tokenizer.json")


class Inputs:
    """Encodes pairs of evidence and claim for a model family."""

    def __init__(self, tokens: ModelTokens, family: Family) -> None:
        self._tokens = tokens
        self._family = family

    def windows(self, evidence: str, claim: str) -> list[Encoding]:
        """The model's inputs for one pair: one, or one per window of long evidence; none if the claim alone is too long.

        A claim is never cut: a model cannot verify words that it did not read.
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
        return [encoding for encoding in self._tokens.encode(texts) if len(encoding.ids) <= self._family.max_tokens]

    def _text(self, evidence: str, claim: str) -> Text:
        if self._family.head == "tokens":
            return fill_template(LETTUCE_PROMPT, {"evidence": evidence}), claim
        if self._family.template is None:
            return evidence, claim
        slots = {"evidence": evidence, "text1": evidence, "claim": claim, "text2": claim, "eos": self._tokens.eos}
        return fill_template(self._family.template, slots)


def fill_template(template: str, slots: Mapping[str, str]) -> str:
    """The template with its slots filled; braces in the values are literal."""
    return _SLOT.sub(lambda match: slots.get(match[1], match[0]), template)


def window_spans(text: str, offsets: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[int, int]]:
    """Character spans of windows of at most `most` tokens that together cover the text.

    A window ends with a sentence, and the next one repeats it if both fit, so that neighbours are read together. A sentence
    that is too long by itself is cut between tokens.
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
    """Runs of tokens, [first, last): sentences, and parts of sentences longer than a window."""
    first = 0
    ends = [span.end for span in sentence_spans(text)]
    for end in [*ends[:-1], len(text)]:
        last = first
        while last < len(offsets) and offsets[last][0] < end:
            last += 1
        for start in range(first, last, most):
            yield start, min(last, start + most)
        first = last
