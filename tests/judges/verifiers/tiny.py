"""Small models in the form in which real ones are published: config.json, tokenizer.json and an ONNX graph.

A graph adds up random numbers of its tokens, so that a test can say to the last digit what it must answer for an input.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

Shape = Literal["texts", "tokens", "both"]
Floats = NDArray[np.float32]

WORDS = """the hall ferry opened opens leaves every ten two minutes in 1925 1930 dogs travel free on sundays harbour museum is by
blue green ticket costs euros three five and or not predict : determine if hypothesis true given premise ? choose your answer
based paragraph above can we conclude that options - yes no i think " . , summarize following text passage 1 output"""
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
VOCABULARY = {word: number for number, word in enumerate((*SPECIAL, *dict.fromkeys(WORDS.lower().split())))}
SIZE = 256
"""Rows of the tables: more than there are words, for the tokens by which a MiniCheck-Flan-T5 answers."""


def tokenizer() -> Tokenizer:
    """Whole words; `<s> A </s>` for a text, `<s> A </s> B </s>` for a pair."""
    made = Tokenizer(models.WordLevel(VOCABULARY, unk_token="<unk>"))
    made.add_special_tokens(list(SPECIAL))
    made.normalizer = normalizers.Lowercase()
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    ends = [("<s>", VOCABULARY["<s>"]), ("</s>", VOCABULARY["</s>"])]
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=ends
    )
    return made


def table(outputs: int, seed: int = 7) -> Floats:
    """The numbers that a graph adds up: one row a token."""
    return np.random.default_rng(seed).normal(size=(SIZE, outputs)).astype(np.float32)


def logits(text: str | tuple[str, str], numbers: Floats) -> Floats:
    """What a graph of shape "texts" answers."""
    given = tokenizer().encode(text) if isinstance(text, str) else tokenizer().encode(*text)
    summed: Floats = numbers[given.ids].sum(axis=0)
    return summed


def softmax(row: Sequence[float] | Floats) -> Floats:
    """Over a row."""
    powers = np.exp(np.asarray(row, np.float32))
    shares: Floats = powers / powers.sum()
    return shares


def write_folder(folder: Path, config: dict[str, Any], **tokenizer_config: Any) -> Path:
    """A folder with configuration and tokenizer, and no weights."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    tokenizer().save(str(folder / "tokenizer.json"))
    told = {"eos_token": {"content": "</s>"}, "pad_token": "<pad>", "model_max_length": 10**30, **tokenizer_config}
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def write_graph(
    file: Path, numbers: Floats, shape: Shape = "texts", output: str = "logits", types: bool = False
) -> None:
    """A graph of `input_ids` and `attention_mask`.

    Args:
        file: where it goes.
        numbers: its table.
        shape: one row a text, one a token, or one a token with the text's row added to each.
        output: name of what it answers.
        types: whether it also asks for `token_type_ids`, which it adds to every number.
    """
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["looked_up"]),
        helper.make_node("Cast", ["attention_mask"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["floats", "last"], ["weights"]),
        helper.make_node("Mul", ["looked_up", "weights"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "tokens_axis"], ["summed"], keepdims=1),
        helper.make_node("Squeeze", ["summed", "tokens_axis"], ["texts"]),
        helper.make_node("Add", ["masked", "summed"], ["both"]),
        helper.make_node("Identity", ["masked"], ["tokens"]),
    ]
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    if types:
        nodes += [
            helper.make_node("Cast", ["token_type_ids"], ["typed"], to=TensorProto.FLOAT),
            helper.make_node("ReduceSum", ["typed", "tokens_axis"], ["second"], keepdims=1),
            helper.make_node("Mul", ["second", "column"], ["shift"]),
            helper.make_node("Add", ["texts", "shift"], [output]),
        ]
    else:
        nodes.append(helper.make_node("Identity", [shape], [output]))
    constants = {
        "table": numbers,
        "last": np.array([2], np.int64),
        "tokens_axis": np.array([1], np.int64),
    }
    if types:
        constants["column"] = np.eye(1, numbers.shape[1], dtype=np.float32)
    _save(file, nodes, names, output, constants, rank=2 if shape == "texts" else 3)


def write_decoder(folder: Path, numbers: Floats) -> None:
    """An encoder and a decoder: the first step's logits are the sums of the encoder's tokens, and the start token's number."""
    inputs = ["input_ids", "attention_mask"]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    _save(
        folder / "encoder_model.onnx",
        nodes,
        inputs[:1],
        "last_hidden_state",
        {"table": numbers},
        rank=3,
        more=inputs[1:],
    )
    nodes = [
        helper.make_node("Cast", ["encoder_attention_mask"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["floats", "last"], ["weights"]),
        helper.make_node("Mul", ["encoder_hidden_states", "weights"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "tokens_axis"], ["summed"], keepdims=1),
        helper.make_node("Gather", ["table", "input_ids"], ["begun"]),
        helper.make_node("Add", ["summed", "begun"], ["logits"]),
    ]
    constants = {"table": numbers, "last": np.array([2], np.int64), "tokens_axis": np.array([1], np.int64)}
    names = ["input_ids", "encoder_attention_mask"]
    hidden = helper.make_tensor_value_info(
        "encoder_hidden_states", TensorProto.FLOAT, ["texts", "tokens", numbers.shape[1]]
    )
    _save(folder / "decoder_model.onnx", nodes, names, "logits", constants, rank=3, values=[hidden])


def words(text: str) -> list[str]:
    """The words of a text, as the tokenizer parts them."""
    return re.findall(r"\w+|[^\w\s]", text.lower())


def _save(
    file: Path,
    nodes: list[Any],
    inputs: list[str],
    output: str,
    constants: dict[str, Any],
    *,
    rank: int,
    more: Sequence[str] = (),
    values: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
) -> None:
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [f"{name}_0", f"{name}_1"]) for name in (*inputs, *more)
    ]
    told = helper.make_tensor_value_info(output, TensorProto.FLOAT, [f"out_{axis}" for axis in range(rank)])
    weights = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    graph = helper.make_graph(nodes, "tiny", [*given, *values], [told, *outputs], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(file))


def write_writer(folder: Path, source: Floats, written: Floats, *, cached: bool = False) -> None:
    """An encoder-decoder that writes: the next token's logits are the sums of `source` over the text and of `written` over the
    answer so far. With `cached` there is a second decoder, which takes both sums so far and reads the last token alone."""
    hidden = helper.make_tensor_value_info("encoder_hidden_states", TensorProto.FLOAT, ["texts", "tokens", SIZE])
    _save(
        folder / "encoder_model.onnx",
        [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])],
        ["input_ids"],
        "last_hidden_state",
        {"table": source},
        rank=3,
        more=["attention_mask"],
    )
    axis = {"last": np.array([2], np.int64), "tokens_axis": np.array([1], np.int64), "one": np.array(1, np.int64)}
    nodes = [
        helper.make_node("Cast", ["encoder_attention_mask"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["floats", "last"], ["weights"]),
        helper.make_node("Mul", ["encoder_hidden_states", "weights"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "tokens_axis"], ["present.0.encoder.key"], keepdims=1),
        helper.make_node("Gather", ["table", "input_ids"], ["looked_up"]),
        helper.make_node("CumSum", ["looked_up", "one"], ["so_far"]),
        helper.make_node("ReduceSum", ["looked_up", "tokens_axis"], ["present.0.decoder.key"], keepdims=1),
        helper.make_node("Add", ["so_far", "present.0.encoder.key"], ["logits"]),
    ]
    sums = [
        helper.make_tensor_value_info(f"present.0.{part}.key", TensorProto.FLOAT, ["texts", 1, SIZE])
        for part in ("decoder", "encoder")
    ]
    names = ["input_ids", "encoder_attention_mask"]
    constants = {"table": written, **axis}
    _save(
        folder / "decoder_model.onnx",
        nodes,
        names,
        "logits",
        constants,
        rank=3,
        values=[hidden],
        outputs=sums if cached else (),
    )
    if not cached:
        return
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["looked_up"]),
        helper.make_node("Add", ["looked_up", "past_key_values.0.decoder.key"], ["present.0.decoder.key"]),
        helper.make_node("Add", ["present.0.decoder.key", "past_key_values.0.encoder.key"], ["logits"]),
    ]
    past = [
        helper.make_tensor_value_info(f"past_key_values.0.{part}.key", TensorProto.FLOAT, ["texts", 1, SIZE])
        for part in ("decoder", "encoder")
    ]
    _save(
        folder / "decoder_with_past_model.onnx",
        nodes,
        ["input_ids"],
        "logits",
        {"table": written},
        rank=3,
        values=past,
        outputs=sums[:1],
    )


def greedy(text: str, source: Floats, written: Floats, most: int) -> list[int]:
    """The text that such a model writes, up to its end token."""
    total = source[tokenizer().encode(text).ids].sum(axis=0) + written[0]
    found: list[int] = []
    while len(found) < most and (not found or found[-1] != VOCABULARY["</s>"]):
        found.append(int(total.argmax()))
        total = total + written[found[-1]]
    return found


def saying(*answer: str) -> Floats:
    """A table by which a model writes these words, whatever it read: each word asks for the next one, and takes its own wish
    back."""
    numbers = np.zeros((SIZE, SIZE), np.float32)
    tokens = [0, *(VOCABULARY[word] for word in answer), VOCABULARY["</s>"]]
    for number, (token, following) in enumerate(pairwise(tokens)):
        numbers[token, following] += 100.0 * (number + 1)
    return numbers
