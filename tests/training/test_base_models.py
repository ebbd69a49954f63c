"""Another base model: MPNet's encoder gives what transformers' gives."""

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from vista_lab.training.model import Encoder, EncoderConfig, distance_buckets, load_base  # noqa: E402


def test_mpnet_says_what_transformers_says(tmp_path: Path) -> None:
    torch.manual_seed(7)
    sizes = {"vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.MPNetConfig(
        **sizes, intermediate_size=48, max_position_embeddings=300, relative_attention_num_buckets=32, pad_token_id=1
    )
    known = transformers.MPNetModel(config, add_pooling_layer=False).eval()
    known.save_pretrained(tmp_path)
    encoder = Encoder(EncoderConfig.read(tmp_path), dropout=0.0).eval()
    load_base(encoder, tmp_path)

    ids = torch.randint(4, 60, (2, 290))
    mask = torch.ones_like(ids)
    ids[1, 200:], mask[1, 200:] = 1, 0
    with torch.no_grad():
        found = encoder(ids, mask, torch.zeros_like(ids))[mask.bool()]
        expected = known(input_ids=ids, attention_mask=mask).last_hidden_state[mask.bool()]
    assert torch.allclose(found, expected, atol=1e-5)


def test_near_distances_have_buckets_of_their_own_and_far_ones_share_them() -> None:
    row = distance_buckets(torch.arange(300), 32)[0].tolist()
    assert row[:8] == [0, *range(17, 24)]
    assert row[128] == row[299] == 31
    assert sorted(row) == row
