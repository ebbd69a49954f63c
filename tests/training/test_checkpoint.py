"""A run goes on elsewhere: what is saved in one small file comes back as checkpoints to start from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.raising import raises
from vista_guard.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from vista_lab.training.model import Verifier

torch = pytest.importorskip("torch")

from training.checkpoint import WORDS, main, packed, read_weights, unpacked  # noqa: E402

FACTS = {
    "examples": 40,
    "step": 3,
    "minutes": 0.1,
    "loss": 0.7,
    "lr": 8e-5,
    "tokens": 64,
    "max_length": 32,
    "ranking": 0.2,
}


@pytest.fixture
def verifier() -> Verifier:
    from vista_lab.training.model import EncoderConfig, Verifier

    torch.manual_seed(4)
    sizes = EncoderConfig(50, 24, 2, 4, 48, 40, 1e-12, type_vocab_size=2)
    model: Verifier = Verifier(sizes).eval()
    return model


def logits(model: Verifier) -> Tensor:
    ids = torch.tensor([[5, 9, 7, 3], [8, 2, 4, 0]])
    rows: Tensor = model(ids, (ids > 0).long(), torch.zeros_like(ids))
    return rows


@pytest.fixture
def run(tmp_path: Path, verifier: Verifier) -> Callable[..., list[str]]:
    """Trains `verifier` a little, as a run with this seed leaves it, and returns the command that saves it."""
    torch.save({"model": verifier.state_dict()}, tmp_path / "base.pt")

    def trained(seed: int, words: bool = False) -> list[str]:
        from vista_lab.training.train import freeze

        freeze(verifier, 0, words=not words)
        optimiser = torch.optim.AdamW([p for p in verifier.parameters() if p.requires_grad], lr=1e-3)
        for _ in range(3):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(logits(verifier), torch.tensor([0, 1])).backward()
            optimiser.step()
        for name in ("final", "mean"):
            torch.save({"model": verifier.state_dict()}, tmp_path / f"{name}.pt")
        (tmp_path / "final.json").write_text(json.dumps({**FACTS, "seed": seed}))
        rows = [{"source": "written"}, {"source": "written"}, {"source": "fever"}]
        (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        return ["save", "--run", str(tmp_path), "--pairs", str(tmp_path / "pairs.jsonl"), *files(tmp_path)]

    return trained


def files(folder: Path, base: str = "base.pt") -> list[str]:
    return ["--file", str(folder / "run" / "judge.npz"), "--base", str(folder / base)]


def test_the_next_machine_begins_where_this_one_stopped(
    tmp_path: Path, verifier: Verifier, run: Callable[..., list[str]]
) -> None:
    before = logits(verifier).detach()
    main(run(seed=7))
    main(["load", "--out", str(tmp_path / "next"), *files(tmp_path)])
    expected = logits(verifier)
    verifier.load_state_dict(torch.load(tmp_path / "next" / "final.pt", weights_only=True)["model"])
    found = logits(verifier)
    assert torch.allclose(found, expected, atol=2e-3)
    assert not torch.allclose(before, expected, atol=2e-2)


def test_the_record_counts_what_every_run_has_seen(tmp_path: Path, run: Callable[..., list[str]]) -> None:
    main(run(seed=7))
    main(run(seed=8))
    main(run(seed=8))  # saved again: counted once
    record = json.loads((tmp_path / "run" / "judge.json").read_text())
    assert record["examples"] == 80
    assert [one["seed"] for one in record["runs"]] == [7, 8]
    assert record["runs"][0]["files"] == {"pairs": {"fever": 1, "written": 2}}


def test_a_change_is_kept_to_a_hundredth_of_the_largest_of_its_row(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    base: dict[str, NDArray[Any]] = {
        WORDS: np.ones((5, 3), np.float32),
        "a.weight": random.normal(size=(40, 30)),
        "a.bias": random.normal(size=40),
    }
    change = random.normal(size=(40, 30)) * 1e-3
    change[7] = 0  # a row that did not move
    parts = packed({**base, "a.weight": base["a.weight"] + change, "a.bias": base["a.bias"] + 1e-3}, base)
    found = unpacked(parts, base)
    off = np.abs(found["a.weight"] - base["a.weight"] - change)
    assert (off <= np.abs(change).max(1, keepdims=True) / 250 + 1e-6).all()
    assert found["a.bias"] == pytest.approx(base["a.bias"] + 1e-3, abs=1e-6)
    assert np.array_equal(found[WORDS], base[WORDS])
    assert not any(name.startswith(WORDS) for name in parts)


def test_other_weights_are_no_base(tmp_path: Path, verifier: Verifier, run: Callable[..., list[str]]) -> None:
    main(run(seed=7))
    torch.save({"model": verifier.state_dict()}, tmp_path / "other.pt")
    with raises(InputError, "--base"):
        main(["load", "--out", str(tmp_path / "next"), *files(tmp_path, "other.pt")])


def test_a_run_that_goes_on_has_no_checkpoints_yet(tmp_path: Path) -> None:
    with raises(InputError, "snapshot"):
        main(["save", "--run", str(tmp_path), "--pairs", "pairs.jsonl", *files(tmp_path)])


def test_a_run_that_trained_the_words_is_not_saved(tmp_path: Path, run: Callable[..., list[str]]) -> None:
    with raises(InputError, "--freeze-words"):
        main(run(seed=7, words=True))
    assert not (tmp_path / "run").exists()


def test_half_precision_checkpoints_are_read(tmp_path: Path, verifier: Verifier) -> None:
    torch.save({"model": {name: tensor.half() for name, tensor in verifier.state_dict().items()}}, tmp_path / "a.pt")
    assert read_weights(tmp_path / "a.pt")[WORDS].dtype == np.float32
