"""Models as weights for torch: each kind answers as the same module does when it is called directly. Needs the extra `torch`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.judges.verifiers import tiny
from tests.raising import raises
from vista_guard import ConfigError
from vista_guard.inference.local_models import ModelFolder, pad_batch
from vista_guard.inference.torch_models import TorchGenerator
from vista_guard.judges.verifiers.local import LocalVerifier
from vista_guard.settings.model import VerifierOptions
from vista_guard.stores.embedders import LocalEmbedder

torch = pytest.importorskip(
    "torch", reason="the extra `torch` is not installed: no model's weights for torch can be run"
)
transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
safetensors = pytest.importorskip("safetensors.torch", reason="the extra `torch` is not installed")

PAIRS = [
    ("The hall opened in 1925.", "The hall opened in 1930."),
    ("Dogs travel free on Sundays.", "The ferry is blue."),
]
SMALL = {
    "vocab_size": tiny.SIZE,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 130,
    "pad_token_id": 0,
}
T5 = {
    "vocab_size": tiny.SIZE,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
}


def saved(model: Any, folder: Path, **config: Any) -> Path:
    """The model's folder as its publisher would have it."""
    model.eval().save_pretrained(folder)
    told = {**model.config.to_dict(), **config, "architectures": [type(model).__name__]}
    return tiny.write_folder(folder, told)


def ids(text: str | tuple[str, str]) -> Any:
    given = tiny.tokenizer().encode(text) if isinstance(text, str) else tiny.tokenizer().encode(*text)
    return torch.tensor([given.ids])


def answer(model: Any, **given: Any) -> Any:
    with torch.inference_mode():
        return model(**given).logits[0]


def check(folder: Path, expected: list[Any]) -> None:
    found = LocalVerifier.load(str(folder), VerifierOptions(batch_size=2)).probabilities(PAIRS)
    assert np.allclose(found, expected, atol=1e-5)


def no_yes(logits: Any) -> list[float]:
    no, yes = tiny.softmax(logits.numpy())
    return [float(yes), 0.0, float(no)]


def test_a_cross_encoder(tmp_path: Path) -> None:
    torch.manual_seed(1)
    config = transformers.RobertaConfig(
        **SMALL, type_vocab_size=1, num_labels=3, id2label={0: "contradiction", 1: "entailment", 2: "neutral"}
    )
    model = transformers.RobertaForSequenceClassification(config)
    folder = saved(model, tmp_path / "nli")
    rows = [tiny.softmax(answer(model, input_ids=ids(pair)).numpy()) for pair in PAIRS]
    check(folder, [[support, against, neutral] for against, support, neutral in rows])


def test_segments_reach_a_model_that_tells_them_apart(tmp_path: Path) -> None:
    torch.manual_seed(2)
    names = {0: "entailment", 1: "not_entailment"}
    model = transformers.BertForSequenceClassification(
        transformers.BertConfig(**SMALL, type_vocab_size=2, num_labels=2, id2label=names)
    )
    folder = saved(model, tmp_path / "nli")
    expected = []
    for pair in PAIRS:
        given = tiny.tokenizer().encode(*pair)
        types = torch.tensor([given.type_ids])
        yes, no = tiny.softmax(answer(model, input_ids=ids(pair), token_type_ids=types).numpy())
        expected.append([yes, 0.0, no])
    check(folder, expected)


def test_minicheck_flan_t5(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = transformers.T5ForConditionalGeneration(
        transformers.T5Config(**T5, decoder_start_token_id=0, pad_token_id=0)
    )
    folder = saved(model, tmp_path / "MiniCheck-Flan-T5-Large")
    begin = torch.zeros((1, 1), dtype=torch.long)
    asked = [f"predict: {evidence}</s>{claim}" for evidence, claim in PAIRS]
    expected = [no_yes(answer(model, input_ids=ids(text), decoder_input_ids=begin)[0, [3, 209]]) for text in asked]
    check(folder, expected)


def test_hhem(tmp_path: Path) -> None:
    torch.manual_seed(4)
    model = transformers.T5ForTokenClassification(transformers.T5Config(**T5, num_labels=2)).eval()
    config = {**T5, "model_type": "HHEMv2", "foundation": "google/flan-t5-base", "pad_token_id": 0}
    folder = tiny.write_folder(tmp_path / "hallucination_evaluation_model", config)
    state = {f"t5.{key}": value.clone() for key, value in model.state_dict().items() if "embed_tokens" not in key}
    safetensors.save_file(state, folder / "model.safetensors")
    prompt = "<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {}\n\nHypothesis: {}"
    check(folder, [no_yes(answer(model, input_ids=ids(prompt.format(*pair)))[0]) for pair in PAIRS])


@pytest.mark.parametrize("form", ["safetensors", "checkpoint"])
def test_alignscore(form: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    config = transformers.RobertaConfig(**SMALL, type_vocab_size=1)
    encoder, head = transformers.RobertaModel(config).eval(), torch.nn.Linear(32, 3)
    folder = tiny.write_folder(tmp_path / "AlignScore-base", {**config.to_dict(), "model_type": "roberta"})
    state = {f"base_model.{key}": value.clone() for key, value in encoder.state_dict().items()}
    state |= {"tri_layer.weight": head.weight.data, "tri_layer.bias": head.bias.data, "bin_layer.bias": torch.zeros(2)}
    if form == "safetensors":
        safetensors.save_file(state, folder / "model.safetensors")
    else:
        torch.save({"state_dict": state}, folder / "pytorch_model.bin")
    with torch.inference_mode():
        rows = [tiny.softmax(head(encoder(input_ids=ids(pair)).pooler_output)[0].numpy()) for pair in PAIRS]
    check(folder, [[aligned, against, neutral] for aligned, neutral, against in rows])
    (folder / "pytorch_model.bin").unlink(missing_ok=True)
    safetensors.save_file({"other.weight": torch.zeros(1)}, folder / "model.safetensors")
    with raises(ConfigError, "tri_layer"):
        LocalVerifier.load(str(folder))


def test_lettucedetect(tmp_path: Path) -> None:
    torch.manual_seed(6)
    special = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
    config = transformers.ModernBertConfig(**SMALL, **special, num_labels=2)
    model = transformers.ModernBertForTokenClassification(config)
    folder = saved(model, tmp_path / "lettucedect-base")
    expected = []
    for evidence, claim in PAIRS:
        asked = (f"Summarize the following text:\npassage 1: {evidence}\noutput:", claim)
        inside = [index for index, sequence in enumerate(tiny.tokenizer().encode(*asked).sequence_ids) if sequence == 1]
        least = min(tiny.softmax(row.numpy())[0] for row in answer(model, input_ids=ids(asked))[inside])
        expected.append([least, 0.0, 1 - least])
    check(folder, expected)


def test_weights_that_are_not_the_model_s_are_refused(tmp_path: Path) -> None:
    config = {**T5, "model_type": "HHEMv2", "pad_token_id": 0}
    folder = tiny.write_folder(tmp_path / "hhem", config)
    with pytest.raises(ConfigError):
        LocalVerifier.load(str(folder))
    safetensors.save_file({"t5.transformer.shared.weight": torch.zeros(tiny.SIZE, 32)}, folder / "model.safetensors")
    with pytest.raises(ConfigError):
        LocalVerifier.load(str(folder))
    with raises(ConfigError, "torch", "device"):
        LocalVerifier.load(str(folder), VerifierOptions(device="cuda:9"))


def test_an_encoder_decoder_writes_what_the_module_writes(tmp_path: Path) -> None:
    torch.manual_seed(11)
    config = transformers.T5Config(**T5, decoder_start_token_id=0, pad_token_id=0, eos_token_id=2)
    model = transformers.T5ForConditionalGeneration(config)
    folder = saved(model, tmp_path / "claims")
    # The publisher's own settings of beams are not followed.
    (folder / "generation_config.json").write_text('{"num_beams": 4, "max_length": 3}', encoding="utf-8")
    encodings = [tiny.tokenizer().encode(text) for text in ("The hall opened.", "Dogs travel free on Sundays.")]
    network = TorchGenerator(ModelFolder.read(folder, "claims", "decomposer"), "cpu", 0)
    found = network.generate(pad_batch(encodings, 0), 9)
    for encoding, answer in zip(encodings, found, strict=True):
        assert answer == greedy(model, torch.tensor([encoding.ids]), 9)


def greedy(model: Any, source: Any, most: int) -> list[int]:
    """The likeliest token at each step, up to the end token."""
    written = [0]
    while len(written) <= most and written[-1] != 2:
        with torch.inference_mode():
            logits = model(input_ids=source, decoder_input_ids=torch.tensor([written])).logits[0, -1]
        written.append(int(logits.argmax()))
    return written[1:]


def test_a_text_s_vector_is_the_mean_of_the_module_s_last_layer(tmp_path: Path) -> None:
    torch.manual_seed(12)
    model = transformers.BertModel(transformers.BertConfig(**SMALL))
    folder = saved(model, tmp_path / "e5-small")
    texts = ["The hall opened in 1925.", "Dogs travel free."]
    expected = []
    for text in texts:
        with torch.inference_mode():
            mean = model(input_ids=ids(f"passage: {text}")).last_hidden_state[0].mean(dim=0)
        expected.append((mean / mean.norm()).numpy())
    assert np.allclose(LocalEmbedder.load(str(folder)).embed(texts), expected, atol=1e-5)
