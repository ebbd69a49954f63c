"""Decomposers that users bring: what an encoder-decoder writes, read as claims with their places."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from tokenizers import Encoding

from tests.judges.verifiers import tiny
from tests.raising import raises
from vista_guard import ConfigError, JudgeError, Role, Turn
from vista_guard.inference.local_models import GeneratorGraph, ModelFolder, Text, pad_batch
from vista_guard.judges.decomposers.local import LocalDecomposer
from vista_guard.judges.decomposers.named import build_decomposer
from vista_guard.judges.model import ModelJudge
from vista_guard.settings.model import DecomposerOptions, ModelOptions
from vista_guard.stores.entries import OnnxEmbedder

T5 = {
    "model_type": "t5",
    "is_encoder_decoder": True,
    "decoder_start_token_id": 0,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
TEXT = "The hall opened in 1925. Dogs travel free. The ferry is blue. The museum costs 5 euros."


def writer(folder: Path, *answer: str, cached: bool = False) -> Path:
    """A model that answers every text with these words."""
    tiny.write_folder(folder, T5)
    tiny.write_writer(folder, tiny.table(tiny.SIZE, seed=3) * 0.01, tiny.saying(*answer), cached=cached)
    return folder


def turn(text: str = TEXT) -> Turn:
    return Turn(role=Role.ASSISTANT, text=text)


@pytest.mark.parametrize("cached", [False, True])
def test_a_model_writes_the_likeliest_token_at_each_step(cached: bool, tmp_path: Path) -> None:
    source, written = tiny.table(tiny.SIZE, seed=3), tiny.table(tiny.SIZE, seed=4)
    folder = tiny.write_folder(tmp_path / "t5", T5)
    tiny.write_writer(folder, source, written, cached=cached)
    read = ModelFolder.read(folder, "t5", "decomposer")
    files = read.seq2seq()
    assert files is not None
    texts = ["The hall opened in 1925.", "Dogs travel free on Sundays, and the ferry leaves every ten minutes."]
    batch = pad_batch([tiny.tokenizer().encode(text) for text in texts], 0)
    found = GeneratorGraph(files, read, "cpu").generate(batch, 12)
    assert found == [tiny.greedy(text, source, written, 12) for text in texts]
    assert len(set(map(tuple, found))) == 2  # each text has its own answer


async def test_each_sentence_of_the_answer_is_a_claim_at_its_place(tmp_path: Path) -> None:
    folder = writer(tmp_path / "claims", "dogs", "travel", ".", "ferry", "blue")
    decomposer = LocalDecomposer.load(str(folder), DecomposerOptions(separator=" . "))
    claims = await decomposer.decompose(turn(), [turn()])
    assert [(claim.id, claim.text) for claim in claims] == [("t1.c1", "dogs travel"), ("t1.c2", "ferry blue")]
    assert [TEXT[one.span.start : one.span.end] for one in claims if one.span] == [
        "Dogs travel free.",
        "The ferry is blue.",
    ]
    assert (decomposer.info.name, decomposer.info.version) == ("claims", "5 sentences")


async def test_a_text_is_read_in_passages_and_equal_claims_are_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    folder = writer(tmp_path / "claims", "dogs", "travel")
    decomposer = LocalDecomposer.load(str(folder), DecomposerOptions(sentences=2, prefix="claims: "))
    encode = decomposer._tokens.encode

    def noting(texts: Sequence[Text]) -> list[Encoding]:
        read.extend(map(str, texts))
        return encode(texts)

    monkeypatch.setattr(decomposer._tokens, "encode", noting)
    claims = await decomposer.decompose(turn(), [])
    assert [text for text in read if text.startswith("claims: ") and len(text) > 8] == [
        "claims: The hall opened in 1925. Dogs travel free.",
        "claims: The ferry is blue. The museum costs 5 euros.",
    ]
    assert [claim.text for claim in claims] == ["dogs travel"]


async def test_an_answer_that_is_cut_off_is_no_answer(tmp_path: Path) -> None:
    folder = writer(tmp_path / "claims", "dogs", "travel", "free", "on", "sundays")
    decomposer = LocalDecomposer.load(str(folder), DecomposerOptions(max_output_tokens=3))
    with raises(JudgeError, "max_output_tokens"):
        await decomposer.decompose(turn(), [])


async def test_a_sentence_that_is_too_long_is_told(tmp_path: Path) -> None:
    decomposer = LocalDecomposer.load(str(writer(tmp_path / "claims", "dogs")), DecomposerOptions(max_tokens=32))
    with raises(JudgeError, "max_tokens"):
        await decomposer.decompose(turn("The hall " * 40 + "opened."), [])


async def test_nothing_said_nothing_claimed(tmp_path: Path) -> None:
    assert await LocalDecomposer.load(str(writer(tmp_path / "claims", "dogs"))).decompose(turn(" "), []) == []


def test_names_of_decomposers(tmp_path: Path) -> None:
    embedder = OnnxEmbedder()
    assert build_decomposer(None, embedder) is None
    assert build_decomposer("shipped", embedder).info.name == "embedded-quick"  # type: ignore[union-attr]
    asked = build_decomposer("openai:small@http://localhost:1/v1", embedder, model=ModelOptions())
    assert isinstance(asked, ModelJudge)
    with raises(ConfigError, "decomposer", "nope"):
        build_decomposer("nope", embedder)
    tiny.write_folder(tmp_path / "nli", {"model_type": "roberta"})
    with raises(ConfigError, "roberta"):
        build_decomposer(str(tmp_path / "nli"), embedder)
    tiny.write_folder(tmp_path / "endless", {**T5, "eos_token_id": None})
    tiny.write_writer(tmp_path / "endless", tiny.table(tiny.SIZE), tiny.table(tiny.SIZE))
    with raises(ConfigError, "eos_token_id"):
        build_decomposer(str(tmp_path / "endless"), embedder)
