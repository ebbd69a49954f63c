"""Write the int8 ONNX files, the tokenizer and their hashes: ``python -m vista_lab.training.export --checkpoint F --out DIR``.

Torch is loaded by what needs it: the later steps use the rest of this file without it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from vista_guard.inference.weights import weights_place

if TYPE_CHECKING:
    from torch import nn

    from vista_lab.training.model import Embedder, Verifier

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_OPSET = 17
_FILES = (
    "verifier.onnx",
    "reader.onnx",
    "reader.embeddings",
    "embedder.onnx",
    "tokenizer.json",
    "reader_tokenizer.json",
    "heads.npz",
    "risk.json",
    "risk-quick.json",
)
"""Files whose hashes stand in ``judge.json``."""
_QUANTISED = ["MatMul", "Gemm", "Gather"]  # Gather: the embedding tables, half of the file


def load_embedder() -> Embedder:
    """The base model, untouched."""
    from vista_lab.training.model import Embedder, EncoderConfig, base_folder, load_base

    model = Embedder(EncoderConfig.read(base_folder()))
    load_base(model.encoder, base_folder())
    return model.eval()


def to_onnx(model: nn.Module, path: Path, output: str) -> None:
    """Export in float32 with free batch and sequence axes."""
    import torch

    ids = torch.randint(1000, 2000, (2, 16))
    axes = {name: {0: "batch", 1: "tokens"} for name in INPUTS} | {output: {0: "batch"}}
    torch.onnx.export(
        model,
        (ids, torch.ones_like(ids), torch.zeros_like(ids)),
        str(path),
        input_names=list(INPUTS),
        output_names=[output],
        dynamic_axes=axes,
        opset_version=_OPSET,
        dynamo=False,
    )


def quantise(source: Path, target: Path) -> None:
    """Dynamic int8 weights, one scale per output channel; activations are quantised at run time."""
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.shape_inference import quant_pre_process

    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.onnx"
        quant_pre_process(str(source), str(ready), skip_symbolic_shape=True)
        options = {"op_types_to_quantize": _QUANTISED, "per_channel": True, "weight_type": QuantType.QInt8}
        quantize_dynamic(ready, target, **options)


def optimise(path: Path) -> None:
    """Fuse the graph's operators once and for all: the same rows, and a session that opens in well under half the time.

    The level is the highest that does not depend on the machine.
    """
    from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions

    options = SessionOptions()
    options.log_severity_level = 3
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    fused = path.with_suffix(".fused")
    options.optimized_model_filepath = str(fused)
    InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    fused.replace(path)


def move_words(path: Path) -> None:
    """Moves the embedding table into NAME.embeddings beside the graph: indexes and code hosts take files up to 100 MB."""
    import onnx
    from onnx.external_data_helper import set_external_data

    model = onnx.load(str(path))
    words = max(model.graph.initializer, key=lambda tensor: len(tensor.raw_data))
    table = path.with_suffix(".embeddings")
    table.write_bytes(words.raw_data)
    set_external_data(words, location=table.name)
    words.ClearField("raw_data")
    words.data_location = onnx.TensorProto.EXTERNAL
    path.write_bytes(model.SerializeToString())


def write_tokenizer(path: Path) -> Tokenizer:
    """The base model's fast tokenizer with no padding or truncation baked in: the caller decides both."""
    from vista_lab.training.model import base_folder

    tokenizer = Tokenizer.from_file(str(base_folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.save(str(path))
    return tokenizer


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def update_judge(folder: Path, **fields: object) -> None:
    """Merge fields into ``judge.json`` and refresh the hashes of the weights' files."""
    path = folder / "judge.json"
    judge = json.loads(path.read_text()) if path.exists() else {}
    judge |= fields
    places = {name: weights_place(name, folder.resolve()) for name in _FILES}
    judge["sha256"] = {name: sha256(place) for name, place in places.items() if place.exists()}
    order = ("version", "labels", "type_labels", "temperature", "thresholds", "max_length")
    judge = {key: judge[key] for key in order if key in judge} | judge
    path.write_text(json.dumps(judge, indent=2) + "\n")


def export_model(model: nn.Module, folder: Path, name: str, output: str, keep: Path | None) -> None:
    """Export one model, quantise it, and keep the float32 file in ``keep`` when asked."""
    with tempfile.TemporaryDirectory() as scratch:
        source = (keep or Path(scratch)) / f"{name}.fp32.onnx"
        to_onnx(model, source, output)
        quantise(source, folder / f"{name}.onnx")
        optimise(folder / f"{name}.onnx")


def write_reader(checkpoint: Path, folder: Path, keep: Path | None = None) -> None:
    """The careful reader of a checkpoint: ``reader.onnx``, its embedding table and its tokenizer.

    Of the shipped weights' folder they go into the package ``vista_guard_reader``.
    """
    from vista_lab.training.model import read_verifier

    graph = weights_place("reader.onnx", folder.resolve())
    export_model(read_verifier(checkpoint).eval(), graph.parent, "reader", "logits", keep)
    move_words(graph)
    write_tokenizer(graph.with_name("reader_tokenizer.json"))
    update_judge(folder)


FOLDER_FILE = "model_quantized.onnx"
"""The name says that activations are quantised: run it on one text at a time, as a batch would change the scores."""


def write_verifier_folder(model: Verifier, folder: Path, max_tokens: int) -> None:
    """A folder that `verifier=` loads: the int8 graph, the tokenizer and the meaning of its outputs."""
    from vista_lab.training.rows import LABELS

    config = {
        "architectures": ["BertForSequenceClassification"],
        "max_position_embeddings": max_tokens,  # longer evidence is read in windows, as it was trained
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: number for number, label in enumerate(LABELS)},
    }
    _write_folder(model, folder, "logits", config, max_tokens)


def write_embedder_folder(model: Embedder, folder: Path, max_tokens: int) -> None:
    """A folder that `embedder=` loads: the int8 graph from tokens to unit vectors, and the tokenizer."""
    _write_folder(model, folder, "sentence_embedding", {"architectures": ["BertModel"]}, max_tokens)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": max_tokens}) + "\n")
    (folder / "1_Pooling").mkdir(exist_ok=True)
    pooling = {"word_embedding_dimension": model.encoder.words.embedding_dim, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling, indent=2) + "\n")


def _write_folder(
    model: Verifier | Embedder, folder: Path, output: str, config: Mapping[str, object], max_tokens: int
) -> None:
    from vista_lab.training.shipped import shipped_tokenizer

    folder.mkdir(parents=True, exist_ok=True)
    export_model(model, folder, Path(FOLDER_FILE).stem, output, keep=None)
    tokenizer = shipped_tokenizer(max_tokens)
    tokenizer.no_truncation()
    tokenizer.save(str(folder / "tokenizer.json"))
    sizes = model.encoder.config
    model_config = {"model_type": "bert", "pad_token_id": 0, **asdict(sizes), **config}
    (folder / "config.json").write_text(json.dumps(model_config, indent=2) + "\n")
    tokenizer_config = {
        "model_max_length": max_tokens,
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "cls_token": "[CLS]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer_config, indent=2) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, help="verifier checkpoint; without it only the embedder is written")
    parser.add_argument("--out", type=Path, default=Path("weights/vista_guard_weights"))
    parser.add_argument(
        "--keep-fp32", type=Path, help="folder for the float32 ONNX files (for the fp32/int8 comparison)"
    )
    parser.add_argument("--verifier-only", action="store_true", help="the embedder is there already, or not needed")
    parser.add_argument("--reader", action="store_true", help="the checkpoint is the careful reader's: reader.onnx")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.reader:
        write_reader(args.checkpoint, args.out, args.keep_fp32)
        return
    write_tokenizer(args.out / "tokenizer.json")
    if not args.verifier_only:
        export_model(load_embedder(), args.out, "embedder", "embedding", args.keep_fp32)
    if args.checkpoint:
        from vista_lab.training.model import read_verifier

        export_model(read_verifier(args.checkpoint).eval(), args.out, "verifier", "logits", args.keep_fp32)
    update_judge(args.out)


if __name__ == "__main__":
    main()
