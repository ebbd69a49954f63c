"""Names of outputs, templates and windows: pure parts of asking a model that users bring."""

from __future__ import annotations

import numpy as np
import pytest

from tests.raising import raises
from vista_guard import ConfigError
from vista_guard.judges.verifiers.local import (
    family_of,
    fill_template,
    label_probabilities,
    labels_of,
    meaning,
    window_spans,
)
from vista_guard.settings.model import VerifierOptions


@pytest.mark.parametrize(
    ("label", "column"),
    [
        ("entailment", "supported"),
        ("ENTAILMENT", "supported"),
        ("Entails", "supported"),
        ("entailed", "supported"),
        ("SUPPORTS", "supported"),
        ("supported", "supported"),
        ("consistent", "supported"),
        ("factual", "supported"),
        ("True", "supported"),
        ("yes", "supported"),
        ("neutral", "not_enough"),
        ("NOT ENOUGH INFO", "not_enough"),
        ("NEI", "not_enough"),
        ("not_entailment", "not_enough"),
        ("notEntailment", "not_enough"),
        ("non-entailment", "not_enough"),
        ("not_supported", "not_enough"),
        ("UNSUPPORTED", "not_enough"),
        ("inconsistent", "not_enough"),
        ("hallucinated", "not_enough"),
        ("no", "not_enough"),
        ("contradiction", "contradicted"),
        ("CONTRADICTORY", "contradicted"),
        ("REFUTES", "contradicted"),
        ("refuted", "contradicted"),
        ("LABEL_0", None),
        ("positive", None),
    ],
)
def test_an_output_means_what_its_name_says_however_it_is_spelt(label: str, column: str | None) -> None:
    assert meaning(label) == column


def test_the_order_is_that_of_the_numbers() -> None:
    mnli = {"id2label": {"2": "contradiction", "0": "entailment", "1": "neutral"}}
    assert labels_of("m", mnli) == ("supported", "not_enough", "contradicted")
    assert labels_of("m", {"id2label": {0: "not_entailment", 1: "entailment"}}) == ("not_enough", "supported")
    for odd in ({}, {"id2label": {"0": "neutral"}}, {"id2label": {"0": "true", "1": "entailment"}}):
        with raises(ConfigError, "verifier_options.labels"):
            labels_of("m", odd)


def test_logits_become_rows_of_three() -> None:
    logits = np.log(np.array([[0.2, 0.5, 0.3]], np.float32))
    assert np.allclose(
        label_probabilities(logits, ("contradicted", "not_enough", "supported")), [[0.3, 0.2, 0.5]], atol=1e-6
    )
    assert np.allclose(label_probabilities(np.array([[0.0]], np.float32), ("supported",)), [[0.5, 0.0, 0.5]])


@pytest.mark.parametrize(
    ("name", "config", "family", "most"),
    [
        (
            "hf:lytang/MiniCheck-DeBERTa-v3-Large",
            {"model_type": "deberta-v2", "max_position_embeddings": 512},
            "minicheck",
            2048,
        ),
        (
            "hf:lytang/MiniCheck-RoBERTa-Large",
            {"model_type": "roberta", "max_position_embeddings": 514},
            "minicheck",
            512,
        ),
        ("hf:lytang/MiniCheck-Flan-T5-Large", {"model_type": "t5", "is_encoder_decoder": True}, "minicheck", 2048),
        ("hf:vectara/hallucination_evaluation_model", {"model_type": "HHEMv2"}, "hhem", 2048),
        (
            "hf:yaxili96/FactCG-DeBERTa-v3-Large",
            {"model_type": "deberta-v2", "max_position_embeddings": 512},
            "factcg",
            2048,
        ),
        (
            "hf:liuyanyi/AlignScore-large-hf",
            {"model_type": "roberta", "max_position_embeddings": 514},
            "alignscore",
            512,
        ),
        (
            "hf:KRLabsOrg/lettucedect-base-modernbert-en-v1",
            {"model_type": "modernbert", "max_position_embeddings": 8192},
            "lettucedetect",
            4096,
        ),
        ("own", {"architectures": ["ModernBertForTokenClassification"]}, "lettucedetect", 4096),
        ("own", {"_name_or_path": "lytang/MiniCheck-RoBERTa-Large", "model_type": "roberta"}, "minicheck", 512),
        (
            "hf:cross-encoder/nli-deberta-v3-base",
            {
                "model_type": "deberta-v2",
                "max_position_embeddings": 512,
                "id2label": {"0": "contradiction", "1": "entailment"},
            },
            "nli",
            512,
        ),
    ],
)
def test_a_family_is_told_from_name_and_configuration(
    name: str, config: dict[str, object], family: str, most: int
) -> None:
    found = family_of(name, config, VerifierOptions())
    assert (found.name, found.max_tokens) == (family, most)


def test_what_fills_a_template_is_never_read_as_a_part_of_it() -> None:
    assert (
        fill_template("{evidence} | {claim}", {"evidence": "{claim} {0}", "claim": "{evidence}"})
        == "{claim} {0} | {evidence}"
    )


def test_windows_hold_the_whole_text_and_share_a_sentence_where_both_fit() -> None:
    text = "One two three. Four five. Six seven eight nine ten. Eleven."
    offsets = [(found, found + len(word)) for word in text.split() for found in [text.index(word)]]
    windows = [text[start:end] for start, end in window_spans(text, offsets, 7)]
    assert windows == [
        "One two three. Four five.",
        "Four five. Six seven eight nine ten.",
        "Six seven eight nine ten. Eleven.",
    ]
    assert [text[a:b] for a, b in window_spans(text, offsets, 3)] == [
        "One two three.",
        "Four five.",
        "Six seven eight",
        "nine ten. Eleven.",
    ]
