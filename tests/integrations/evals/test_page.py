"""The examples of docs/testing-your-agent.md that need what is installed here; the others run in environments of their own."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integrations.evals.page import assert_runs, blocks
from tests.integrations.evals.test_promptfoo import LINE, called
from tests.integrations.evals.test_pytest_plugin import PLUGIN

pytest_plugins = ["pytester"]


@pytest.fixture
def own_loop() -> Iterator[None]:
    """Some tools leave open the loop that they make where there is none."""
    with closing(asyncio.new_event_loop()) as loop:
        asyncio.set_event_loop(loop)
        yield
        asyncio.set_event_loop(None)


NEEDS = {
    "What is the same everywhere": "vista_guard",
    "Pydantic Evals": "pydantic_evals",
    "LangSmith and openevals": "openevals",
}


@pytest.mark.usefixtures("own_loop")
@pytest.mark.parametrize(("section", "library"), NEEDS.items())
def test_an_example_prints_what_the_page_says(section: str, library: str) -> None:
    pytest.importorskip(library, reason=f"{library} is not installed: pip install {library}")
    assert_runs(section)


def without_figures(text: str) -> str:
    """Probabilities and versions differ from one judge to the next."""
    return re.sub(r"\d+(\.\d+)+", "…", text)


def test_the_example_of_pytest_fails_as_the_page_says(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, careful_judge: None
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    assert_runs("What is the same everywhere")  # what a session inside loads first would be unloaded with it
    example, conftest = blocks("pytest")
    compile(conftest, "conftest.py", "exec")
    pytester.makepyfile(example)
    result = pytester.runpytest_inprocess("-p", PLUGIN, "-W", "error", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    [said] = blocks("pytest", "text")
    shown = without_figures(result.stdout.str())
    assert [line for line in without_figures(said).splitlines() if line not in shown] == []


def test_the_example_of_promptfoo_does_not_pass(tmp_path: Path) -> None:
    line, agent = blocks("promptfoo")
    config, _ = blocks("promptfoo", "yaml")
    assert line == LINE
    told: dict[str, Any] = {}
    exec(compile(agent, "agent.py", "exec"), told)
    [test] = yaml.safe_load(config)["tests"]
    given = {"prompt": test["vars"]["question"], "vars": test["vars"], "config": test["assert"][0]["config"]}
    answers = told["call_api"](given["prompt"], {}, {})["output"], test["vars"]["context"]
    assert [called(tmp_path, answer, **given)["pass"] for answer in answers] == [False, True]


def test_the_examples_without_a_model_run(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = blocks("Without a model")
    exec(compile(first, "without a model", "exec"), {})
    assert capsys.readouterr().out.splitlines()[:2] == ["Good morning.", "length"]
    exec(compile(second, "a model that judges", "exec"), {})
