"""`vista-guard replay --against`: judged once, decided twice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.judges import RuleJudge
from tests.lab.policies.replays import TALKS, guard, written
from vista_guard.cli import app
from vista_lab.evaluate.replay import run
from vista_lab.policies.against import Against


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return written(Path("log.jsonl"))


def test_other_policies_over_the_same_reports_ask_no_judge(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("careful.yaml").write_text("policy: strict\npolicy_overrides: {on_unchecked: FLAG}\n", encoding="utf-8")
    Path("labels.jsonl").write_text('{"conversation_id": "bad", "turn_index": 3, "fine": true}\n', encoding="utf-8")
    judge = RuleJudge()
    for first, second in (("balanced", "strict"), ("strict", "careful.yaml")):
        two = Against.parse(first, second, log, Path("labels.jsonl"), Path("page.html"))
        assert run(guard(judge), log, Path("reports.jsonl"), against=two) == 0
    assert len(judge.asked) == 6
    out = capsys.readouterr().out
    table = [line.replace(" ", "") for line in out.splitlines()]
    assert "│repaired│0(0.0%)│1(16.7%)│+1│" in table
    assert "│flagged│0(0.0%)│1(16.7%)│+1│" in table
    assert re.search(r'^bad, turn t5 \(asked: ".+"\): blocked → flagged$', out, re.MULTILINE)
    assert re.search(r'^bad, turn t3 \(asked: ".+"\): flagged → repaired; people: fine$', out, re.MULTILINE)
    assert "fine turns withheld" in out
    assert out.endswith("wrote page.html\n")
    page = Path("page.html").read_text("utf-8")
    assert "careful.yaml" in page
    assert "on_unchecked = &#34;FLAG&#34;" in page


def test_a_replay_that_stopped_compares_nothing(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    class Spent(RuleJudge):
        @property
        def why_exhausted(self) -> str | None:
            return "the budget is spent" if len(self.asked) > 2 else None

    two = Against.parse("balanced", "strict", log, None, Path("page.html"))
    assert run(guard(Spent()), log, Path("reports.jsonl"), against=two, concurrency=1) == 1
    assert "what each policy would have done" not in capsys.readouterr().out
    assert not Path("page.html").exists()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--html", "x.html"], "--html needs a second policy; name it with --against"),
        (["--labels", "x"], "--labels needs a second policy; name it with --against"),
        (
            ["--against", "lax"],
            "policy is 'lax'",
        ),
        (
            ["--against", "strict", "--html", "no/x.html"],
            "--html no/x.html cannot be written: its folder does not exist",
        ),
        (["--against", "strict", "--labels", "gone"], "labels gone cannot be read: No such file or directory"),
        (["--against", "rate.yaml"], "policy.max_false_alarm_rate is 1e-06, shared by 2 rules: that needs"),
        (["--columns", "wizard=a"], "--columns has 'wizard=a'; give what=column pairs"),
        (["--columns", "answer=a"], "log log.jsonl has no column 'a'; its columns are id, messages"),
    ],
)
def test_wrong_usage_is_told_before_anything_is_judged(log: Path, arguments: list[str], error: str) -> None:
    Path("rate.yaml").write_text("policy_overrides: {max_false_alarm_rate: 0.000001}", encoding="utf-8")
    result = CliRunner().invoke(app, ["replay", "log.jsonl", "--out", "x", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {error}")
    assert not Path("x").exists()


def test_a_file_is_a_policy_to_replay_with_too(log: Path) -> None:
    written(log, TALKS[:1])
    Path("own.toml").write_text('policy = "strict"\n[policy_overrides]\non_no_evidence = "FLAG"\n', encoding="utf-8")
    for name in ("own.toml", "settings"):
        result = CliRunner().invoke(app, ["replay", "log.jsonl", "--out", f"{name}.jsonl", "--policy", name])
        assert result.exit_code == 0
    made = [
        json.loads(Path(f"{name}.jsonl.run.json").read_text("utf-8"))["system"]["options"]["policy"]
        for name in ("own.toml", "settings")
    ]
    assert made == ["strict", "balanced"]
