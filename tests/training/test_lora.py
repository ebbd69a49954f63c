"""Adapters: nothing changes at first, what they learn becomes plain weights, and a run goes on from a few MB elsewhere."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.raising import raises
from vista_guard.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from vista_lab.training.model import Verifier

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")

from training import average, snapshot  # noqa: E402
from vista_lab.training import lora, train  # noqa: E402
from vista_lab.training.examples import Example  # noqa: E402
from vista_lab.training.model import EncoderConfig, Verifier, base_folder, load_base, verifier_of  # noqa: E402

SIZES = EncoderConfig(50, 24, 3, 4, 48, 40, 1e-12, relative_attention_num_buckets=8, pad_token_id=1)


@pytest.fixture(autouse=True)
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny MPNet on disk, as the published one is laid out."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps({n: getattr(SIZES, n) for n in SIZES.__dataclass_fields__}))
    torch.manual_seed(3)
    safetensors.save_file(Verifier(SIZES).encoder.state_dict(), folder / "model.safetensors")
    monkeypatch.setenv("VISTA_BASE", str(folder))


def adapted() -> Verifier:
    model = Verifier(SIZES, dropout=0.0)
    load_base(model.encoder, base_folder())
    lora.adapt(model, rank=2, alpha=4, freeze=1)
    return model


def logits(model: Verifier) -> Tensor:
    ids = torch.tensor([[5, 9, 7, 3], [8, 2, 4, 1]])
    rows: Tensor = model(ids, (ids != 1).long(), torch.zeros_like(ids))
    return rows


def fitted(out: Path, seed: int = 1) -> train.Run:
    torch.manual_seed(seed)
    rng = random.Random(seed)
    examples = [
        Example([5, rng.randrange(2, 50), 3], [0, 0, 1], [float(i == n % 3) for i in range(3)]) for n in range(24)
    ]
    learner = train.VerifierLearner(adapted(), examples, tokens=32, ranking=0.0, margin=1.0)
    return train.fit(learner, train.Schedule(lr=1e-2, float32=True), out, log=lambda line: None)


def test_fresh_adapters_change_nothing_and_leave_the_lowest_layer_and_the_words_alone() -> None:
    plain = Verifier(SIZES, dropout=0.0)
    load_base(plain.encoder, base_folder())
    model = adapted()
    plain.dense.load_state_dict(model.dense.state_dict())
    plain.classify.load_state_dict(model.classify.state_dict())
    assert torch.allclose(logits(model), logits(plain))
    names = lora.trained(model)
    assert not any("words" in name or "layers.0." in name for name in names)
    assert {name.split(".")[3] for name in names if ".layers.1." in name} == {
        "query", "key", "value", "output", "up", "down", "norm", "final_norm",
    }  # fmt: skip


def test_what_was_learnt_is_the_same_in_plain_weights(tmp_path: Path) -> None:
    run = fitted(tmp_path)
    expected = logits(run.model.eval()).detach()
    plain = verifier_of(lora.plain(run.model, lora.trained(run.model)), 0.0, SIZES).eval()
    assert torch.allclose(logits(plain), expected, atol=1e-5)
    assert not torch.allclose(expected, logits(adapted().eval()), atol=1e-2)


@pytest.mark.parametrize("which", ["last", "mean"])
def test_a_run_goes_on_from_its_adapter_alone(tmp_path: Path, which: str) -> None:
    run = fitted(tmp_path)
    run.save_adapter(examples=24)
    values = lora.trained(run.model) if which == "last" else run.mean
    expected = logits(verifier_of(lora.plain(run.model, values), 0.0, SIZES).eval())
    merged = verifier_of(lora.merged_file(tmp_path / "adapter.pt", which), 0.0, SIZES).eval()
    assert torch.allclose(logits(merged), expected, atol=2e-3)  # half precision


def test_an_interrupted_run_resumes_and_its_save_becomes_a_checkpoint(tmp_path: Path) -> None:
    run = fitted(tmp_path)
    run.keep()
    again = train.Run(train.VerifierLearner(adapted(), [], tokens=8, ranking=0, margin=1), train.Schedule(), tmp_path)
    again.resume()
    assert torch.equal(logits(again.model.eval()), logits(run.model.eval()))
    assert again.at == run.at
    merged = verifier_of(lora.merged_file(tmp_path / "last.pt", "last"), 0.0, SIZES).eval()
    assert torch.allclose(logits(merged), logits(run.model), atol=1e-5)


def test_a_milestone_keeps_the_mean_alone(tmp_path: Path) -> None:
    run = fitted(tmp_path)
    run.keep()
    snapshot.milestone(tmp_path, tmp_path / "milestone.pt")
    own = lora.merged_file(tmp_path / "last.pt", "mean")
    kept = lora.merged_file(tmp_path / "milestone.pt")
    assert own.keys() == kept.keys()
    assert all(torch.allclose(own[name], kept[name], atol=2e-3) for name in own)
    assert (tmp_path / "milestone.pt").stat().st_size < (tmp_path / "last.pt").stat().st_size / 4


def test_the_mean_of_milestones_is_adapters_again() -> None:
    torch.manual_seed(3)
    one, other = ({"x.a": torch.randn(4, 6), "x.b": torch.randn(5, 4), "norm.bias": torch.randn(5)} for _ in range(2))
    same = average.as_adapters([one, one], [0.5, 0.5])
    assert torch.allclose((same["x.b"] @ same["x.a"]).float(), one["x.b"] @ one["x.a"], atol=0.02)
    both = average.as_adapters([one, other], [0.25, 0.75])
    assert {name: tensor.shape for name, tensor in both.items()} == {name: tensor.shape for name, tensor in one.items()}
    assert torch.allclose(both["norm.bias"].float(), 0.25 * one["norm.bias"] + 0.75 * other["norm.bias"], atol=0.01)


def test_an_adapter_of_other_layers_is_refused(tmp_path: Path) -> None:
    run = fitted(tmp_path)
    other = Verifier(SIZES)
    lora.adapt(other, rank=2, alpha=4, freeze=2)
    with raises(InputError, "encoder.layers.1"):
        lora.load(other, lora.trained(run.model))
