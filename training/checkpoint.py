"""The weights of a run in one small file, for the next machine: ``python -m training.checkpoint save --run DIR --pairs FILES``.

``load --out DIR`` writes them as ``final.pt`` (last weights) and ``mean.pt`` (their running mean), to go on from with
``vista_lab.training.train --start DIR/final.pt``. The file holds differences from the verifier that ships, without the table of
words, which such a run leaves as it is (``--freeze-words``); the JSON beside it tells what each run so far has seen.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vista_guard.errors import InputError
from vista_guard.inference.weights import WEIGHTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    State = Mapping[str, NDArray[Any]]

FILE = Path("build/training/judge.npz")
SHIPPED = WEIGHTS / "verifier.onnx"
WORDS = "encoder.words.weight"
_PARTS = {"last": "final.pt", "mean": "mean.pt"}
_SCALE = ".scale"
_TOLD = ("examples", "step", "minutes", "loss", "lr", "tokens", "max_length", "ranking", "seed")
"""Fields that the record keeps of the ``final.json`` of a run."""


def packed(state: State, base: State) -> dict[str, NDArray[Any]]:
    """Differences from the base: matrices in eight bits with a scale a row, vectors in half precision.

    A step of a row is 1/127 of its largest change. Training changes a weight by a few percent, so this is about as exact as the
    weight itself in half precision, at half the size.
    """
    found: dict[str, NDArray[Any]] = {}
    for name in sorted(state.keys() - {WORDS}):
        change = np.asarray(state[name], np.float32) - base[name]
        if change.ndim == 1:
            found[name] = change.astype(np.float16)
        else:
            scale = np.abs(change).max(1, keepdims=True) / 127
            found[name] = np.rint(change / np.where(scale, scale, 1)).astype(np.int8)
            found[name + _SCALE] = scale
    return found


def unpacked(parts: Mapping[str, NDArray[Any]], base: State) -> dict[str, NDArray[np.float32]]:
    """The float32 weights that `packed` was given."""
    return {
        name: np.asarray(values + parts[name].astype(np.float32) * parts.get(name + _SCALE, np.float32(1)), np.float32)
        if name in parts
        else np.asarray(values, np.float32)
        for name, values in base.items()
    }


def fingerprint(state: State) -> str:
    """SHA-256 over the values: the same for an exported file and for the checkpoint that was made from it."""
    digest = hashlib.sha256()
    for name in sorted(state):
        digest.update(name.encode() + np.ascontiguousarray(state[name], np.float32).tobytes())
    return digest.hexdigest()


def read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    """The weights of an exported verifier or of a checkpoint, in float32."""
    import torch

    from vista_lab.training.shipped import read_state

    state = read_state(path) if path.suffix == ".onnx" else torch.load(path, weights_only=True)["model"]
    return {name: tensor.float().numpy() for name, tensor in state.items()}


def save(run: Path, pairs: Sequence[Path], base_file: Path, out: Path) -> dict[str, Any]:
    """Writes the weights of an ended run and adds the run to the record beside them, which it returns.

    A line of runs that begins anew has a file of its own; a run that is saved again, by its seed, counts once.

    Raises:
        InputError: the run has not ended, is of another size than the base, or has changed the table of words.
    """
    if not (run / "final.json").exists():
        raise InputError(
            f"{run} holds no run that has ended; training.snapshot writes the checkpoints of one that goes on"
        )
    base = read_weights(base_file)
    kept: dict[str, NDArray[Any]] = {}
    for part, name in _PARTS.items():
        state = read_weights(run / name)
        _check_trained(run / name, state, base)
        kept |= {f"{part}/{key}": values for key, values in packed(state, base).items()}
    facts = json.loads((run / "final.json").read_text())
    told = {key: facts[key] for key in _TOLD if key in facts}
    entry = {"date": f"{date.today()}", **told, "files": {path.stem: seen(path) for path in pairs}}
    known = json.loads(out.with_suffix(".json").read_text())["runs"] if out.with_suffix(".json").exists() else []
    runs = [one for one in known if one["seed"] != entry["seed"]] + [entry]
    record = {"base": fingerprint(base), "examples": sum(one["examples"] for one in runs), "runs": runs}
    out.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(out, allow_pickle=False, **kept)
    out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")
    return record


def load(base_file: Path, file: Path, out: Path) -> dict[str, Any]:
    """Writes `final.pt` and `mean.pt`, each with its facts, and returns the record.

    Raises:
        InputError: the file was saved against other weights than the base.
    """
    import torch

    base = read_weights(base_file)
    record: dict[str, Any] = json.loads(file.with_suffix(".json").read_text())
    if record["base"] != fingerprint(base):
        raise InputError(f"{file} was saved against other weights than {base_file}; name those with --base")
    out.mkdir(parents=True, exist_ok=True)
    with np.load(file) as parts:
        for part, name in _PARTS.items():
            own = {key.removeprefix(f"{part}/"): parts[key] for key in parts.files if key.startswith(f"{part}/")}
            state = {key: torch.from_numpy(values) for key, values in unpacked(own, base).items()}
            torch.save({"model": state}, out / name)
            facts = {"seed": record["runs"][-1]["seed"], **record}
            (out / name).with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    return record


def _check_trained(path: Path, state: State, base: State) -> None:
    if {name: values.shape for name, values in state.items()} != {name: values.shape for name, values in base.items()}:
        raise InputError(f"{path} has other layers than the base; name the base that it was trained from with --base")
    if not np.allclose(state[WORDS], base[WORDS], rtol=1e-3, atol=1e-6):  # checkpoints are in half precision
        raise InputError(f"{path} has changed the table of words; train with --freeze-words to save the run")


def seen(path: Path) -> dict[str, int]:
    """Pairs of a training file by source."""
    with path.open(encoding="utf-8") as lines:
        return dict(sorted(Counter(json.loads(line)["source"] for line in lines).items()))


def main(arguments: Sequence[str] | None = None) -> None:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--file", type=Path, default=FILE, help="the weights; their record is the JSON beside them")
    shared.add_argument("--base", type=Path, default=SHIPPED, help="the verifier that the first run began with")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(dest="action", required=True)
    saving = actions.add_parser("save", parents=[shared], help="keep the weights of an ended run")
    saving.add_argument("--run", type=Path, required=True, help="folder with final.pt, mean.pt and final.json")
    saving.add_argument("--pairs", type=Path, nargs="+", required=True, help="the files that were trained on")
    loading = actions.add_parser("load", parents=[shared], help="write the weights as checkpoints")
    loading.add_argument("--out", type=Path, required=True, help="folder for final.pt and mean.pt")
    args = parser.parse_args(arguments)
    files = args.base, args.file
    record = save(args.run, args.pairs, *files) if args.action == "save" else load(*files, args.out)
    print(f"{record['examples']} pairs seen in {len(record['runs'])} runs: {args.file}")


if __name__ == "__main__":
    main()
