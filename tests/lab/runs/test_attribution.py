"""Attribution of a dialogue's last answer: a tiny random model against direct autograd."""

from typing import Any

import pytest

from vista_guard.errors import ConfigError, InputError
from vista_lab.runs.dialogues.attribution import DialogueParts, Importance, attribute, heat_map

WHY = "attribution needs the extra `torch`"
PARTS = DialogueParts((0, 5), (5, 8), (8, 12))
IDS = [3, 17, 4, 29, 8, 11, 2, 19, 7, 23, 5, 13]


def _model(attention: str = "eager") -> Any:
    torch = pytest.importorskip("torch", reason=WHY)
    transformers = pytest.importorskip("transformers", reason=WHY)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, initializer_range=0.5, attn_implementation=attention,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config).eval()


def _directly(model: Any, rows: list[int], sign: float = 1.0) -> list[float]:
    import torch

    tokens = torch.tensor([IDS])
    out = model(input_ids=tokens, output_attentions=True)
    for weights in out.attentions:
        weights.retain_grad()
    sum(torch.log_softmax(out.logits[0, t - 1], -1)[IDS[t]] for t in range(8, 12)).backward()
    return [
        sign
        * sum(float(w[0, h, t, j] * w.grad[0, h, t, j].sign()) for w in out.attentions for h in range(2) for t in rows)
        / (4 * len(rows))
        for j in range(12)
    ]


@pytest.mark.parametrize(("useful", "rows"), [(None, [8, 9, 10, 11]), ([(9, 11)], [9, 10])])
def test_equals_direct_autograd_and_no_mutant_sign(useful: Any, rows: list[int]) -> None:
    model = _model()
    found = attribute(model, IDS, PARTS, useful=useful)
    expected = _directly(model, rows)
    assert found.tokens == pytest.approx(expected, abs=1e-6)
    assert found.tokens != pytest.approx(_directly(model, rows, sign=-1.0), abs=1e-3)
    assert found.context == pytest.approx(sum(expected[:5]) / 5, abs=1e-6)


def test_refuses_what_is_too_long_and_a_model_without_attention() -> None:
    with pytest.raises(InputError, match="12 tokens"):
        attribute(_model(), IDS, PARTS, max_gib=1e-9)
    with pytest.raises(ConfigError, match="eager"):
        attribute(_model("sdpa"), IDS, PARTS)


@pytest.mark.parametrize("useful", [[], [(7, 9)], [(9, 9)], [(11, 13)]])
def test_refuses_spans_outside_the_answer(useful: Any) -> None:
    with pytest.raises(InputError):
        attribute(None, IDS, PARTS, useful=useful)


def test_refuses_parts_with_gaps() -> None:
    with pytest.raises(InputError):
        DialogueParts((0, 4), (5, 8), (8, 12))


def test_heat_map_escapes_and_tells_the_sign() -> None:
    page = heat_map(["<b>", "x"], Importance((0.5, -0.25), 0.5, None, -0.25))
    assert "&lt;b&gt;" in page
    assert "+0.50000" in page
    assert "214,39,40,0.50" in page
    with pytest.raises(InputError):
        heat_map(["x"], Importance((), None, None, None))
