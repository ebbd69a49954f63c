"""People's word on turns and claims."""

from __future__ import annotations

import json
from pathlib import Path

from tests.lab.policies.turns import finding, unchecked
from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.policy.labels import GoldTurn, is_right
from vista_guard.types import Label
from vista_lab.runs.gold import read_gold

LINES = [
    {"conversation_id": "visit", "turn_index": 1, "fine": True},
    {"conversation_id": "visit", "turn_index": 3, "claim": "It is old.", "fine": False},
    {"conversation_id": "visit", "turn_index": 3, "claim_id": "t3.c2", "fine": True},
]


def written(path: Path, *values: object) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def test_labels_as_calibrate_takes_them(tmp_path: Path) -> None:
    assert read_gold(written(tmp_path / "labels.jsonl", *LINES)) == {
        ("visit", 1): GoldTurn(fine=True),
        ("visit", 3): GoldTurn(claims={"It is old.": False, "t3.c2": True}),
    }


def test_a_bad_line_is_named(tmp_path: Path) -> None:
    with raises(InputError, "2", "turn_index"):
        read_gold(written(tmp_path / "labels.jsonl", LINES[0], {"conversation_id": "visit", "fine": True}))


def test_neither_labels_nor_a_log_with_some(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "It is old."}]
    with raises(InputError, "labels"):
        read_gold(written(tmp_path / "log.jsonl", {"messages": said}))
    with raises(InputError, "gone.jsonl"):
        read_gold(tmp_path / "gone.jsonl")


def test_the_judge_is_right_where_it_agrees() -> None:
    assert is_right(finding(Label.VERIFIED), Label.VERIFIED)
    assert not is_right(finding(Label.OUT_OF_SCOPE), Label.VERIFIED)
    assert is_right(finding(Label.OUT_OF_SCOPE), True)
    assert is_right(finding(Label.CONTRADICTED), False)
    assert not is_right(unchecked(), True)


def test_a_turn_is_fine_when_all_of_its_claims_are() -> None:
    claims = [finding(Label.VERIFIED, claim="c1"), finding(Label.VERIFIED, claim="c2")]
    assert GoldTurn(claims={"c1": True, "c2": Label.OUT_OF_SCOPE}).verdict(claims) is True
    assert GoldTurn(claims={"c1": True}).verdict(claims) is None
    assert GoldTurn(claims={"c2": Label.LACKING_EVIDENCE}).verdict(claims) is False
    assert GoldTurn(fine=True, claims={"c2": False}).verdict(claims) is True
    assert GoldTurn().verdict([]) is None
