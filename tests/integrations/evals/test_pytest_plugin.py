"""The pytest plugin in sessions of its own: failures, JUnit files, skips, options, and what it costs where nobody uses it."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.integrations.evals.grading import ASKED, BROKEN, FALSE, HALL, HELLO, TRUE, scripted
from vista_guard.integrations.evals.grader import Grader

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[3]
PLUGIN = "vista_guard.integrations.evals.pytest_plugin"

CONFTEST = """
import pytest
from tests.integrations.evals.grading import scripted

@pytest.fixture(scope="session")
def vista_guard_grader():
    return scripted()
"""


@pytest.fixture
def session(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder with a session's settings. Plug-ins that happen to be installed stay out of it."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest(CONFTEST)
    scripted().assert_grounded(TRUE, documents=HALL)  # what a session inside loads first would be unloaded with it
    return pytester


def run(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return session.runpytest_inprocess("-p", PLUGIN, "-W", "error", "-p", "no:cacheprovider", *arguments)


def test_an_assertion_passes_fails_and_shows_why(session: pytest.Pytester) -> None:
    session.makepyfile(
        f"""
        import asyncio

        def test_true(assert_grounded):
            assert assert_grounded({TRUE!r}, documents={HALL!r}, conversation={ASKED!r}).score == 1.0

        def test_false(assert_grounded):
            assert_grounded({FALSE!r}, documents={HALL!r}, conversation={ASKED!r})

        def test_not_judged(assert_grounded):
            assert_grounded({BROKEN!r}, documents={HALL!r})

        def test_awaited(aassert_grounded):
            asyncio.run(aassert_grounded({FALSE!r}, documents=[{HALL!r}]))

        def test_policy(assert_grounded):
            assert_grounded({FALSE!r}, documents={HALL!r}, policy="monitor", min_score=0.0)
        """
    )
    result = run(session, "--junitxml=junit.xml")
    result.assert_outcomes(passed=2, failed=3)
    shown = result.stdout.str()
    assert "CONTRADICTED 1.00  The hall opened in 1850." in shown
    assert f'"{HALL}" (document script, 1.00)' in shown
    assert "not judged: the claim could not be judged: the model timed out" in shown
    assert "in assert_grounded" not in shown  # the traceback ends in the test
    messages = {
        case.get("name"): failure.get("message", "")
        for case in ElementTree.parse(session.path / "junit.xml").iter("testcase")
        for failure in case.iter("failure")
    }
    assert set(messages) == {"test_false", "test_not_judged", "test_awaited"}
    for word in ("not grounded: VISTA score 0.00", "CONTRADICTED 1.00  The hall opened in 1850.", HALL):
        assert word in str(messages["test_false"])


def test_what_an_answer_says_steers_no_terminal(session: pytest.Pytester) -> None:
    session.makeconftest(
        """
        import pytest
        from vista_guard import Guard, Label
        from vista_guard.integrations.evals.grader import Grader
        from vista_guard.testing import ScriptedJudge, Verdict

        @pytest.fixture(scope="session")
        def vista_guard_grader():
            return Grader(Guard(ScriptedJudge({"said": [Verdict("\\x1b[2Jcleared \\u202e", Label.CONTRADICTED)]})))
        """
    )
    session.makepyfile("def test_it(assert_grounded): assert_grounded('said', documents='A hall.')")
    result = run(session, "--junitxml=junit.xml", "--tb=line")
    result.assert_outcomes(failed=1)
    told = result.stdout.str() + (session.path / "junit.xml").read_text("utf-8")
    assert "\x1b[2J" not in told
    assert "\u202e" not in told
    assert "�[2Jcleared �" in told


def test_a_test_that_nothing_was_judged_in_can_be_skipped(session: pytest.Pytester) -> None:
    session.makeini("[pytest]\nvista_guard_unjudged = skip\n")
    session.makepyfile(f"def test_hello(assert_grounded): assert_grounded({HELLO!r}, documents={HALL!r})")
    result = run(session, "-rs")
    result.assert_outcomes(skipped=1)
    assert "not judged: no claim was found in what the assistant said" in result.stdout.str()


def test_tests_know_nothing_of_each_other(session: pytest.Pytester) -> None:
    session.makepyfile(
        f"""
        def test_first(assert_grounded): assert_grounded({TRUE!r}, documents={HALL!r})

        def test_second(assert_grounded, vista_guard_grader):
            try:
                assert_grounded({TRUE!r})
            except AssertionError as exc:
                assert "LACKING_EVIDENCE" in str(exc)
            else:
                raise RuntimeError("it leaned on what the first test established")
            assert len(vista_guard_grader.guard.parts.knowledge.forgotten) == 2
        """
    )
    run(session).assert_outcomes(passed=2)


def test_judge_and_policy_come_from_settings_and_the_command_line(
    session: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    Grader.from_settings(judge="embedded", policy="monitor").close()
    session.makeconftest("")
    session.makeini("[pytest]\nvista_guard_policy = monitor\nvista_guard_judge = embedded\n")
    session.makepyfile(
        """
        import os

        def test_it(vista_guard_grader):
            assert vista_guard_grader.guard.parts.policy.name == os.environ["EXPECTED"]
            assert vista_guard_grader.guard.parts.judge.info.name == "embedded-quick"
        """
    )
    for expected, arguments in (("monitor", ()), ("strict", ("--vista-guard-policy=strict",))):
        monkeypatch.setenv("EXPECTED", expected)
        run(session, *arguments).assert_outcomes(passed=1)
    result = run(session, "--vista-guard-policy=stern")
    result.assert_outcomes(errors=1)
    assert "policy is 'stern'" in result.stdout.str()


def test_an_unknown_choice_is_a_usage_error(session: pytest.Pytester) -> None:
    session.makepyfile("def test_it(assert_grounded): ...")
    result = run(session, "--vista-guard-unjudged=pass")
    result.assert_outcomes(errors=1)
    assert "vista_guard_unjudged is 'pass'" in result.stdout.str()


def test_the_options_are_in_the_help(session: pytest.Pytester) -> None:
    shown = run(session, "--help").stdout.str()
    for name in ("judge", "policy", "unjudged"):
        assert f"--vista-guard-{name}=" in shown
        assert f"vista_guard_{name} " in shown


def test_a_session_that_does_not_use_it_loads_nothing_for_it(tmp_path: Path) -> None:
    heavy = ("chromadb", "langgraph", "numpy", "onnxruntime", "pydantic", "vista_guard.guard", "vista_guard.types")
    (tmp_path / "conftest.py").write_text(
        f"import sys\ndef pytest_unconfigure(): print('loaded', sorted(set({heavy!r}) & set(sys.modules)))\n"
    )
    (tmp_path / "test_it.py").write_text("def test_it(): pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-q", "-s", str(tmp_path)],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "loaded []"), done.stdout + done.stderr


def test_pytest_finds_it_by_its_entry_point() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"vista_guard": PLUGIN}
    assert import_module(PLUGIN).pytest_addoption
