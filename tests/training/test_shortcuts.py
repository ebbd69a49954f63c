"""The check that bags of words cannot guess the labels."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("num2words")

from training.worlds import build
from vista_lab.oasis.shortcuts import check, read


def written(path: Path, rows: Sequence[Mapping[str, object]]) -> Path:
    """The rows as a JSONL file."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def pair(premise: str, claim: str, supported: bool, twin: int, kind: str = "k") -> dict[str, object]:
    """One row."""
    return {
        "premise": premise,
        "hypothesis": claim,
        "allowed": [0] if supported else [1],
        "source": "s",
        "kind": kind,
        "twin": str(twin),
    }


def test_a_negation_that_means_false_is_found(tmp_path: Path) -> None:
    rng = random.Random(1)
    names = [f"name{i}" for i in range(40)]
    rows = []
    for i in range(400):
        a, b = rng.sample(names, 2)
        rows += [pair(f"{a} met {b}", f"{a} met {b}", True, i), pair(f"{a} met {b}", f"{a} did not meet {b}", False, i)]
    results = {r.kind: r for r in check(read(written(tmp_path / "a.jsonl", rows)))}
    assert results["k"].claim > 0.9
    assert results["k"].fails
    assert results["all"].fails


def test_a_number_that_the_premise_lacks_is_found(tmp_path: Path) -> None:
    rng = random.Random(2)
    rows = []
    for i in range(400):
        a, b = rng.sample(range(10, 99), 2)
        rows += [pair(f"it costs {a}", f"it costs {n}", n == a, i) for n in (a, b)]
    result = check(read(written(tmp_path / "b.jsonl", rows)))[0]
    assert result.claim < 0.6
    assert result.sets > 0.9
    assert result.fails


def test_few_rows_do_not_fail(tmp_path: Path) -> None:
    rows = [pair("it costs 1", "it costs one" if i % 2 else "it costs two", i % 2 == 1, i // 2) for i in range(40)]
    assert not any(r.fails for r in check(read(written(tmp_path / "c.jsonl", rows))))


def test_small_worlds_have_no_shortcut(tmp_path: Path) -> None:
    rows = [
        {
            "premise": p.premise,
            "hypothesis": p.hypothesis,
            "allowed": list(p.allowed),
            "kind": p.kind,
            "twin": p.twin,
            "source": p.source,
        }
        for kind in ("neighbour", "flag", "roles")
        for p in build(kind, 500, 11, "train")
    ]
    assert not [r for r in check(read(written(tmp_path / "d.jsonl", rows))) if r.fails]
