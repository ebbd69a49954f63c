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
        asyncio.run(real_model.turns(model, kept, real_model.chosen_cases(2)))
        asked = server.calls
        asyncio.run(real_model.turns(model, real_model.Kept(tmp_path / "turns.jsonl"), real_model.chosen_cases(2)))
        assert server.calls == asked > 0
    rows = real_model.Kept(tmp_path / "turns.jsonl").rows
    assert [(row["right"], row["setup"]) for row in rows] == [
        (side, setup) for side in ("pass", "stop") for setup in real_model.SETUPS
    ]
    assert all(row["unchecked"] for row in rows if row["setup"] != "cascade")
    lines = list(real_model.report(tmp_path))
    assert [line.split(" | ")[0] for line in lines[2:6]] == [f"| {setup}" for setup in real_model.SETUPS]


def test_an_answer_that_nobody_judged_does_not_pass() -> None:
    read = {"passes": True, "unchecked": []}
    assert real_model.verdict(read) == "pass"
    assert real_model.verdict({**read, "unchecked": ["the model did not finish"]}) == "unread"
    assert real_model.verdict({"passes": False, "unchecked": ["the model did not finish"]}) == "stop"


def test_the_answers_of_a_first_look_are_in_no_other_run() -> None:
    reported, looked_at = (real_model.chosen_cases(200, first_look=look) for look in (False, True))
    assert len(reported) > len(looked_at) > 0
    assert not {case.model_dump_json() for case in reported} & {case.model_dump_json() for case in looked_at}
    assert [case.right for case in real_model.chosen_cases(4)] == ["pass", "stop"] * 2
