"""`vista-guard init`: the file it writes shows every setting and changes none."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from typer.testing import CliRunner

from vista_guard import Settings
from vista_guard.cli import app
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.proxy.settings import AlertSettings, ProxySettings

SETTING = re.compile(r"^#(\w+) = (.*)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def written() -> str:
    done = CliRunner().invoke(app, ["init"])
    assert (done.exit_code, done.stdout, done.stderr) == (0, "wrote vista-guard.toml\n", "")
    return Path("vista-guard.toml").read_text(encoding="utf-8")


def loaded() -> list[BaseModel]:
    sections = [ProxySettings.load(upstream="http://localhost/v1"), DashboardSettings.load(), AlertSettings.load()]
    return [Settings.load(), *sections]


def test_the_file_changes_nothing() -> None:
    before = loaded()
    written()
    assert loaded()[1:] == before[1:]
    tables: dict[str, Any] = {"proxy": {}, "dashboard": {}, "alerts": {}}  # the file's own, each read by its command
    assert loaded()[0] == before[0].model_copy(update=tables)


def test_each_line_without_its_mark_is_the_default() -> None:
    before = loaded()
    text = re.sub(r"^#(\w+ = (?! ).*)$", r"\1", written(), flags=re.MULTILINE)
    text = text.partition("#[dashboard.sign_in]")[0] + "[otel]" + text.partition("[otel]")[2]
    Path("vista-guard.toml").write_text(text, encoding="utf-8")
    assert len(tomllib.loads(text)) > 20
    settings, *sections = loaded()
    assert sections == before[1:]
    assert settings.model_copy(update={"proxy": {}, "dashboard": {}, "alerts": {}}) == before[0]


def names(model: type[BaseModel]) -> list[str]:
    """A model's settings and those of the models inside it."""
    inner: dict[str, Any] = {name: field.annotation for name, field in model.model_fields.items()}
    own = [name for name, kind in inner.items() if not _is_model(kind)]
    return own + [name for kind in inner.values() if _is_model(kind) for name in names(kind)]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def test_every_setting_stands_there_with_an_explanation() -> None:
    text = written()
    expected = [*names(Settings), *names(ProxySettings), *names(DashboardSettings)]
    shown = [name for name, _ in SETTING.findall(text)]
    sign_in = ["client_id", "client_secret", "server_metadata_url", "redirect_uri", "cookie_secret"]
    tables = ["proxy", "dashboard", "alerts", "sign_in"]
    assert sorted(shown) == sorted([name for name in expected if name not in tables] + names(AlertSettings) + sign_in)
    lines = text.splitlines()
    bare = [line for before, line in pairwise(lines) if SETTING.match(line) and before[:2] != "# "]
    assert bare == []


def test_an_edited_line_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    text = written().replace('#policy = "balanced"', 'policy = "strict"').replace("#claims = 500", "claims = 9")
    Path("vista-guard.toml").write_text(text, encoding="utf-8")
    settings = Settings.load()
    assert (settings.policy, settings.limits.claims) == ("strict", 9)


@pytest.mark.parametrize(
    ("there", "wanted", "named"),
    [
        ("vista-guard.toml", "vista-guard.toml", "vista-guard.toml"),
        ("vista-guard.yaml", "vista-guard.toml", "vista-guard.yaml"),  # it would no longer be read
        ("mine.toml", "mine.toml", "mine.toml"),
        ("other", "mine.yaml", "mine.yaml"),
        ("other", "none/mine.toml", "none/mine.toml"),
    ],
)
def test_nothing_is_overwritten_or_hidden(there: str, wanted: str, named: str) -> None:
    Path(there).write_text("policy: strict\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["init", wanted])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: {named} ")
    assert Path(there).read_text(encoding="utf-8") == "policy: strict\n"
