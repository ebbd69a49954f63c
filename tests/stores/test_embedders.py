"""Embedders that users bring: pooling, prefixes, how much they read, and a store that finds with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.judges.verifiers import tiny
from tests.raising import raises
from vista_guard import ConfigError, Document
from vista_guard.settings.model import EmbedderOptions
from vista_guard.stores.embedders import LocalEmbedder, build_embedder
from vista_guard.stores.entries import OnnxEmbedder, query_vector
from vista_guard.stores.memory import MemoryDocuments

TEXTS = ["The hall opened in 1925.", "Dogs travel free on Sundays.", "The ferry leaves every ten minutes."]
BERT = {"model_type": "bert", "max_position_embeddings": 130, "architectures": ["BertModel"]}


def model(folder: Path, output: str = "last_hidden_state", shape: tiny.Shape = "tokens", **files: Any) -> Path:
    """A folder as sentence-transformers and Optimum write it."""
    tiny.write_folder(folder, BERT)
    tiny.write_graph(folder / "model.onnx", tiny.table(16), shape, output)
    for name, content in files.items():
        file = folder / {"pooling": "1_Pooling/config.json", "prompts": "config_sentence_transformers.json"}[name]
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(content), encoding="utf-8")
    return folder


def mean_of(text: str) -> NDArray[np.float32]:
    """The unit vector of the mean of a text's tokens."""
    mean = tiny.table(16)[tiny.tokenizer().encode(text).ids].mean(axis=0)
    vector: NDArray[np.float32] = mean / np.linalg.norm(mean)
    return vector


def test_a_text_s_vector_is_the_mean_of_its_tokens(tmp_path: Path) -> None:
    found = LocalEmbedder.load(str(model(tmp_path / "mean"))).embed(TEXTS)
    assert np.allclose(found, [mean_of(text) for text in TEXTS], atol=1e-5)
    assert found.dtype == np.float32


def test_neighbours_in_a_pass_change_nothing(tmp_path: Path) -> None:
    texts = [" ".join(TEXTS[:number]) for number in (3, 1, 2)]
    together = LocalEmbedder.load(str(model(tmp_path / "mean")), EmbedderOptions(batch_size=3)).embed(texts)
    alone = LocalEmbedder.load(str(tmp_path / "mean"), EmbedderOptions(batch_size=1))
    assert np.allclose(together, np.concatenate([alone.embed([text]) for text in texts]), atol=1e-6)


@pytest.mark.parametrize(
    ("pooling", "token"),
    [({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, "<s>"), ({"pooling_mode": "cls"}, "<s>"),
     ({"pooling_mode_lasttoken": True}, "</s>"), ({"pooling_mode": "lasttoken"}, "</s>")],
)  # fmt: skip
def test_one_token_counts_where_the_folder_or_the_settings_say_so(
    pooling: dict[str, object], token: str, tmp_path: Path
) -> None:
    folder = model(tmp_path / "cls", pooling=pooling)
    alone = tiny.table(16)[tiny.VOCABULARY[token]]
    expected = [alone / np.linalg.norm(alone)] * 2
    assert np.allclose(LocalEmbedder.load(str(folder)).embed(TEXTS[:2]), expected, atol=1e-5)
    asked = LocalEmbedder.load(str(folder), EmbedderOptions(pooling="mean")).embed(TEXTS[:1])
    assert np.allclose(asked, [mean_of(TEXTS[0])], atol=1e-5)


def test_a_graph_that_pools_by_itself_is_taken_at_its_word(tmp_path: Path) -> None:
    folder = model(tmp_path / "pooled", "sentence_embedding", "texts")
    summed = tiny.logits(TEXTS[0], tiny.table(16))
    found = LocalEmbedder.load(str(folder)).embed(TEXTS[:1])
    assert np.allclose(found, [summed / np.linalg.norm(summed)], atol=1e-5)


@pytest.mark.parametrize(
    ("name", "prompts", "options", "query", "passage"),
    [
        ("e5-base-v2", None, {}, "query: ", "passage: "),
        ("multilingual-e5-small", None, {}, "query: ", "passage: "),
        ("size5-base", None, {}, "", ""),
        ("gte", {"query": "ask: ", "document": ""}, {}, "ask: ", ""),
        ("e5-base-v2", None, {"query_prefix": "", "passage_prefix": "text: "}, "", "text: "),
    ],
)
def test_queries_and_passages_have_the_prefixes_they_were_trained_with(
    name: str, prompts: dict[str, str] | None, options: dict[str, str], query: str, passage: str, tmp_path: Path
) -> None:
    files = {} if prompts is None else {"prompts": {"prompts": prompts}}
    embedder = LocalEmbedder.load(str(model(tmp_path / name, **files)), EmbedderOptions(**options))  # type: ignore[arg-type]
    assert np.allclose(query_vector(embedder, TEXTS[0]), mean_of(query + TEXTS[0]), atol=1e-5)
    assert np.allclose(embedder.embed(TEXTS[:1]), [mean_of(passage + TEXTS[0])], atol=1e-5)


def test_passages_are_no_longer_than_the_model_reads(tmp_path: Path) -> None:
    embedder = LocalEmbedder.load(str(model(tmp_path / "e5-tiny")), EmbedderOptions(max_tokens=24))
    text = " ".join(TEXTS * 20)
    read = embedder.reads(text)
    assert 0 < read < len(text)
    # Start and end token, "passage" and its colon; what is left over is cut.
    assert len(tiny.words(text[:read])) == 24 - 2 - 2
    assert embedder.reads(TEXTS[0]) == len(TEXTS[0])
    assert np.allclose(embedder.embed([text]), embedder.embed([text[:read]]), atol=1e-6)


async def test_a_store_searches_with_queries_and_keeps_passages(tmp_path: Path) -> None:
    embedder = LocalEmbedder.load(str(model(tmp_path / "e5-tiny")))
    store = MemoryDocuments(embedder)
    await store.add([Document(id=str(number), text=text) for number, text in enumerate(TEXTS)])
    scores = [float(mean_of(f"passage: {text}") @ mean_of("query: When did it open?")) for text in TEXTS]
    found = await store.search("When did it open?", 3)
    assert [one.text for one in found] == [TEXTS[place] for place in np.argsort([-score for score in scores])]


def test_names_of_embedders(tmp_path: Path) -> None:
    assert isinstance(build_embedder(None), OnnxEmbedder)
    assert isinstance(build_embedder("shipped"), OnnxEmbedder)
    given = OnnxEmbedder()
    assert build_embedder(given) is given
    with raises(ConfigError, "embedder", "nope"):
        build_embedder("nope")
    (tmp_path / "bare").mkdir()
    with raises(ConfigError, "embedder", "config.json"):
        build_embedder(str(tmp_path / "bare"))
    odd = model(tmp_path / "odd", pooling={"pooling_mode_max_tokens": True})
    with raises(ConfigError, "pooling_mode_max_tokens"):
        build_embedder(str(odd))
    both = model(tmp_path / "both", pooling={"pooling_mode": ["cls", "mean"]})
    with raises(ConfigError, "cls", "mean"):
        build_embedder(str(both))
