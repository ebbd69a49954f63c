"""Models that users bring, from the folder to the probabilities: each family is asked as its makers ask it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.judges.verifiers import tiny
from tests.raising import raises
from vista_guard import ConfigError
from vista_guard.judges.verifiers.local import LocalVerifier
from vista_guard.settings.model import VerifierOptions

EVIDENCE, CLAIM = "The hall opened in 1925.", "The hall opened in 1930."
PAIR = (EVIDENCE, CLAIM)
NLI = {"model_type": "roberta", "max_position_embeddings": 514, "architectures": ["RobertaForSequenceClassification"]}
THREE = {"0": "contradiction", "1": "neutral", "2": "entailment"}


def nli(folder: Path, names: dict[str, str] | None = None, outputs: int = 3, **config: Any) -> Path:
    """A cross-encoder in a folder."""
    tiny.write_folder(folder, {**NLI, "id2label": THREE if names is None else names, **config})
    tiny.write_graph(folder / "model.onnx", tiny.table(outputs))
    return folder


def test_a_cross_encoder_is_asked_in_pairs_and_answers_in_the_order_of_the_protocol(tmp_path: Path) -> None:
    verifier = LocalVerifier.load(str(nli(tmp_path / "nli")))
    against, neutral, support = tiny.softmax(tiny.logits(PAIR, tiny.table(3)))
    assert verifier.name == "nli"
    assert np.allclose(verifier.probabilities([PAIR]), [[support, against, neutral]], atol=1e-5)
    assert verifier.probabilities([]).shape == (0, 3)


def test_a_pair_s_answer_does_not_depend_on_its_neighbours(tmp_path: Path) -> None:
    verifier = LocalVerifier.load(str(nli(tmp_path / "nli")), VerifierOptions(batch_size=3))
    pairs = [(" ".join([EVIDENCE] * times), CLAIM) for times in (3, 1, 4, 1, 5, 9, 2, 6)]
    alone = np.concatenate([verifier.probabilities([pair]) for pair in pairs])
    assert np.allclose(verifier.probabilities(pairs), alone, atol=1e-5)
    assert np.allclose(alone.sum(axis=1), 1.0, atol=1e-5)


def test_segments_are_told_apart_where_the_graph_asks_for_it(tmp_path: Path) -> None:
    folder = nli(tmp_path / "nli")
    tiny.write_graph(folder / "model.onnx", tiny.table(3), types=True)
    row = tiny.logits(PAIR, tiny.table(3))
    row[0] += len(tiny.words(CLAIM)) + 1  # the claim's tokens and the end of it
    against, neutral, support = tiny.softmax(row)
    found = LocalVerifier.load(str(folder)).probabilities([PAIR])
    assert np.allclose(found, [[support, against, neutral]], atol=1e-5)


@pytest.mark.parametrize("place", ["onnx/model.onnx", "onnx/model_quantized.onnx"])
def test_the_graph_is_found_in_its_usual_places_or_where_one_says(place: str, tmp_path: Path) -> None:
    folder = nli(tmp_path / "nli")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / place)
    options = VerifierOptions(file=place if "quantized" in place else None)
    assert LocalVerifier.load(str(folder), options).probabilities([PAIR]).shape == (1, 3)


def test_minicheck_reads_document_and_claim_as_one_text(tmp_path: Path) -> None:
    config = {**NLI, "id2label": {"0": "LABEL_0", "1": "LABEL_1"}}
    folder = tiny.write_folder(tmp_path / "MiniCheck-RoBERTa-Large", config)
    tiny.write_graph(folder / "model.onnx", tiny.table(2))
    no, yes = tiny.softmax(tiny.logits(f"{EVIDENCE}</s>{CLAIM}", tiny.table(2)))
    assert np.allclose(LocalVerifier.load(str(folder)).probabilities([PAIR]), [[yes, 0, no]], atol=1e-5)


def test_a_minicheck_that_writes_is_read_at_its_first_token(tmp_path: Path) -> None:
    config = {"model_type": "t5", "is_encoder_decoder": True, "decoder_start_token_id": 0, "pad_token_id": 0}
    folder = tiny.write_folder(tmp_path / "MiniCheck-Flan-T5-Large", config)
    numbers = tiny.table(tiny.SIZE)
    tiny.write_decoder(folder, numbers)
    row = tiny.logits(f"predict: {EVIDENCE}</s>{CLAIM}", numbers) + numbers[0]
    no, yes = tiny.softmax(row[[3, 209]])
    assert np.allclose(LocalVerifier.load(str(folder)).probabilities([PAIR, PAIR]), [[yes, 0, no]] * 2, atol=1e-4)


def test_hhem_is_asked_with_its_prompt_and_read_at_the_first_token(tmp_path: Path) -> None:
    config = {
        "model_type": "HHEMv2",
        "architectures": ["HHEMv2ForSequenceClassification"],
        "foundation": "google/flan-t5-base",
    }
    folder = tiny.write_folder(tmp_path / "hhem", config)
    tiny.write_graph(folder / "model.onnx", tiny.table(2), "both")
    asked = (
        f"<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {EVIDENCE}\n\nHypothesis: {CLAIM}"
    )
    first = tiny.table(2)[tiny.VOCABULARY["<s>"]]  # the tiny tokenizer puts one before the prompt; T5's does not
    no, yes = tiny.softmax(tiny.logits(asked, tiny.table(2)) + first)
    assert np.allclose(LocalVerifier.load(str(folder)).probabilities([PAIR]), [[yes, 0, no]], atol=1e-5)


def test_factcg_is_given_its_instruction(tmp_path: Path) -> None:
    folder = tiny.write_folder(tmp_path / "FactCG-DeBERTa-v3-Large", {"model_type": "deberta-v2"})
    tiny.write_graph(folder / "model.onnx", tiny.table(2))
    asked = (
        f'{EVIDENCE}\n\nChoose your answer: based on the paragraph above can we conclude that "{CLAIM}"?\n\n'
        "OPTIONS:\n- Yes\n- No\nI think the answer is "
    )
    no, yes = tiny.softmax(tiny.logits(asked, tiny.table(2)))
    assert np.allclose(LocalVerifier.load(str(folder)).probabilities([PAIR]), [[yes, 0, no]], atol=1e-5)


def test_alignscore_has_three_outputs_of_an_order_of_its_own(tmp_path: Path) -> None:
    folder = tiny.write_folder(tmp_path / "AlignScore-large", {"model_type": "roberta", "max_position_embeddings": 514})
    tiny.write_graph(folder / "model.onnx", tiny.table(3), output="tri_label_logits")
    aligned, neutral, against = tiny.softmax(tiny.logits(PAIR, tiny.table(3)))
    assert np.allclose(LocalVerifier.load(str(folder)).probabilities([PAIR]), [[aligned, against, neutral]], atol=1e-5)


def test_a_detector_of_tokens_supports_a_claim_as_far_as_its_weakest_token(tmp_path: Path) -> None:
    config = {"model_type": "modernbert", "architectures": ["ModernBertForTokenClassification"]}
    folder = tiny.write_folder(tmp_path / "lettucedect-base", config)
    tiny.write_graph(folder / "model.onnx", tiny.table(2), "tokens")
    numbers = tiny.table(2)[[tiny.VOCABULARY[word] for word in tiny.words(CLAIM)]]
    weakest = min(tiny.softmax(row)[0] for row in numbers)
    found = LocalVerifier.load(str(folder)).probabilities([PAIR])
    assert np.allclose(found, [[weakest, 0, 1 - weakest]], atol=1e-5)


def test_long_evidence_is_read_in_windows_and_the_one_that_says_most_counts(tmp_path: Path) -> None:
    folder = tiny.write_folder(tmp_path / "nli", {**NLI, "id2label": {"0": "neutral", "1": "entailment"}})
    numbers = np.zeros((tiny.SIZE, 2), np.float32)
    numbers[tiny.VOCABULARY["1925"], 1] = 3.0  # the word that supports
    numbers[tiny.VOCABULARY["dogs"], 0] = 1.0  # what distracts from it, the longer the text
    tiny.write_graph(folder / "model.onnx", numbers)
    noise = " ".join(["Dogs travel free on Sundays."] * 9)
    long = f"{noise} {EVIDENCE} {noise}"
    whole = LocalVerifier.load(str(folder)).probabilities([(long, "It opened.")])
    found = LocalVerifier.load(str(folder), VerifierOptions(max_tokens=32)).probabilities([(long, "It opened."), PAIR])
    assert whole[0, 0] < 0.01
    assert 0.5 < found[0, 0] < found[1, 0] == pytest.approx(tiny.softmax([0.0, 3.0])[1])


def test_a_claim_that_the_model_cannot_read_whole_is_not_verified(tmp_path: Path) -> None:
    verifier = LocalVerifier.load(str(nli(tmp_path / "nli")), VerifierOptions(max_tokens=32))
    assert verifier.probabilities([(EVIDENCE, f"{CLAIM} " * 20)]).tolist() == [[0.0, 0.0, 1.0]]


def test_one_output_is_a_score_of_support(tmp_path: Path) -> None:
    folder = nli(tmp_path / "scores", {"0": "entailment"}, 1)
    score = tiny.logits(PAIR, tiny.table(1))[0]
    (row,) = LocalVerifier.load(str(folder)).probabilities([PAIR])
    assert row[0] == pytest.approx(1 / (1 + np.exp(-score)), abs=1e-5)


def test_what_the_user_says_of_outputs_and_family_counts(tmp_path: Path) -> None:
    folder = nli(tmp_path / "own", {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"})
    with raises(ConfigError, "LABEL_0", "LABEL_1", "LABEL_2", "verifier_options.labels"):
        LocalVerifier.load(str(folder))
    told = VerifierOptions(labels=("not_enough", "supported", "contradicted"))
    neutral, support, against = tiny.softmax(tiny.logits(PAIR, tiny.table(3)))
    assert np.allclose(
        LocalVerifier.load(str(folder), told).probabilities([PAIR]), [[support, against, neutral]], atol=1e-5
    )
    same = LocalVerifier.load(str(folder), VerifierOptions(family="alignscore"))
    assert same.family.labels == ("supported", "not_enough", "contradicted")
    with raises(ConfigError, "2", "verifier", "own", "3"):
        LocalVerifier.load(str(folder), VerifierOptions(labels=("supported", "not_enough")))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / "config.json").unlink(), ("config.json",)),
        (lambda folder: (folder / "config.json").write_text("[1]"), ("JSON",)),
        (lambda folder: (folder / "config.json").write_text("{"), ()),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), ("tokenizer.json",)),
        (lambda folder: (folder / "model.onnx").write_bytes(b"no graph"), ()),
    ],
)
def test_a_folder_with_something_wrong_says_what(spoil: Any, said: tuple[str, ...], tmp_path: Path) -> None:
    folder = nli(tmp_path / "nli")
    spoil(folder)
    with raises(ConfigError, *said):
        LocalVerifier.load(str(folder))


def test_options_that_do_not_fit_say_so(tmp_path: Path) -> None:
    folder = nli(tmp_path / "nli")
    with raises(ConfigError, "verifier_options.file", "other.onnx"):
        LocalVerifier.load(str(folder), VerifierOptions(file="other.onnx"))
    with raises(ConfigError, "verifier_options.device", "cuda"):
        LocalVerifier.load(str(folder), VerifierOptions(device="cuda"))
    with pytest.raises(ConfigError):
        LocalVerifier.load(str(tmp_path / "nowhere"))
    seq2seq = tiny.write_folder(tmp_path / "bart", {"model_type": "bart", "is_encoder_decoder": True})
    with raises(ConfigError, "verifier_options.family"):
        LocalVerifier.load(str(seq2seq))
    config = json.loads((folder / "config.json").read_text())
    assert config["id2label"] == THREE
