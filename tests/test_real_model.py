"""The run with a real model, here with a scripted one that never answers in the asked form."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks import real_model
from vista_guard.testing import ScriptedChatServer


def test_each_judge_is_asked_once_about_each_answer_and_the_figures_say_what_was_unread(tmp_path: Path) -> None:
    kept = real_model.Kept(tmp_path / "turns.jsonl")
    with ScriptedChatServer("I would rather not say.") as server:
        model = f"openai:small@{server.base_url}"
        asyncio.run(real_model.turns(model, kept, 2))
        asked = server.calls
        asyncio.run(real_model.turns(model, real_model.Kept(tmp_path / "turns.jsonl"), 2))
        assert server.calls == asked > 0
    rows = real_model.Kept(tmp_path / "turns.jsonl").rows
    assert [(row["setup"], row["right"]) for row in rows] == [
        (setup, side) for setup in real_model.SETUPS for side in ("pass", "stop")
    ]
    assert all(row["unchecked"] for row in rows if row["setup"] != "cascade")
    lines = list(real_model.report(tmp_path))
    assert [line.split(" | ")[0] for line in lines[2:6]] == [f"| {setup}" for setup in real_model.SETUPS]
