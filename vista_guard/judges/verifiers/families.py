"""Kinds of fact-checking models: how each takes its input, and what its outputs mean.

Templates and numbers belong to the models: they were trained with them and work with nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from vista_guard.errors import ConfigError
from vista_guard.settings.model import FamilyName, LabelName, VerifierOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Head = Literal["classes", "first_token", "tokens", "decoder"]
"""Where the answer is: one row a text, the row of its first token, rows of the claim's tokens, or the first decoded token."""

NO_OR_YES: tuple[LabelName, ...] = ("not_enough", "supported")


@dataclass(frozen=True)
class Family:
    """How a kind of model is asked.

    Attributes:
        name: as in the settings.
        head: where the answer is.
        labels: what the outputs mean, in order.
        template: the input as one text, with `{evidence}`, `{claim}` and `{eos}`; None for a pair of segments.
        max_tokens: most tokens that the model reads well.
        evidence_tokens: most tokens of evidence in one window; None for what is left beside the claim.
        outputs: of a decoder the tokens that answer, in the order of `labels`.
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
"""What stands before the claim for LettuceDetect, as the first segment of a pair."""

NLI = Family("nli", "classes", (), None, 512)
"""Any cross-encoder of natural language inference: premise and hypothesis as a pair; what its outputs mean is in `id2label`."""

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
    """The family that a model belongs to, with what its configuration and the options say about its outputs and its length.

    Args:
        name: the model's, as the settings call it.
        config: its `config.json`.
        options: what the user says; it counts before all else.

    Raises:
        ConfigError: the model's name and configuration do not tell what its outputs mean.
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
    found = next((family for word, family in _BY_NAME if word in known), None)
    if found is None and "ForTokenClassification" in architectures:
        return LETTUCEDETECT
    if found is None and _is_seq2seq(config):
        raise ConfigError(
            f"verifier {name} is a text-generating model ({config.get('model_type')}), and which family it belongs to its name "
            "does not say: set verifier_options.family, for example to 'minicheck'"
        )
    return found or NLI


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
        return 2048  # relative positions: both are asked with as much
    positions = config.get("max_position_embeddings")
    if not isinstance(positions, int) or config.get("model_type") in ("t5", "HHEMv2"):
        return family.max_tokens
    # RoBERTa's positions begin after its padding id.
    start = 2 if config.get("model_type") in ("roberta", "xlm-roberta", "camembert") else 0
    longest = positions - start
    return longest if family is NLI and longest <= 1024 else min(family.max_tokens, longest)


COLUMNS: tuple[LabelName, ...] = ("supported", "contradicted", "not_enough")
"""The columns of what a verifier answers, in order."""

_SPELLINGS: tuple[tuple[LabelName, str], ...] = (
    # The first that fits counts: "not entailed" and "unsupported" must not be read as their opposite.
    ("not_enough", r"neutral|unknown|neither|maybe|nei\b|not ?enough|insufficient|no ?info"),
    ("not_enough", r"\b(not|non|un|in) ?(entail|support|consisten|align|ground|faithful|factual)|hallucinat"),
    ("contradicted", r"contradict|refut|conflict|disagree|false\b"),
    ("supported", r"entail|support|consisten|align|ground|faithful|factual|true\b|agree|verified"),
    ("not_enough", r"^no$"),
    ("supported", r"^yes$"),
)


def labels_of(name: str, config: Mapping[str, Any]) -> tuple[LabelName, ...]:
    """The meaning of each output of a classifier, in order, from `id2label` in any spelling and order.

    A model that tells supported from not supported alone has "not_enough" for the latter: it does not say more.

    Raises:
        ConfigError: the names do not say it; what to set instead.
    """
    id2label = config.get("id2label")
    names = [str(label) for _, label in sorted(id2label.items(), key=_number)] if isinstance(id2label, Mapping) else []
    meanings = [meaning(label) for label in names]
    known = [one for one in meanings if one is not None]
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
    found = np.zeros((len(logits), len(COLUMNS)), np.float32)
    for column, label in enumerate(labels):
        found[:, COLUMNS.index(label)] += shares[:, column]
    return found


def _number(item: tuple[str, Any]) -> int:
    return int(item[0]) if str(item[0]).isdecimal() else 0
