"""Settings: arguments over environment over file over defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from vista_guard import ConfigError, Settings
from vista_guard.proxy.settings import ProxySettings


@pytest.fixture(autouse=True)
def _in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VISTA_GUARD_DATA_DIR")


def test_defaults() -> None:
    settings = Settings.load()
    assert (settings.judge, settings.policy, settings.store, settings.limits.turn_chars) == (
        "embedded",
        "balanced",
        None,
        40_000,
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vista-guard.toml", 'policy = "strict"\ncontext = "full"\n[limits]\nclaims = 9\n'),
        ("vista-guard.yaml", "policy: strict\ncontext: full\nlimits:\n  claims: 9\n"),
    ],
)
def test_arguments_over_environment_over_file(name: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(name).write_text(text)
    monkeypatch.setenv("VISTA_GUARD_CONTEXT", "none")
    monkeypatch.setenv("VISTA_GUARD_LIMITS__TURNS", "7")
    settings = Settings.load(policy="monitor")
    assert (settings.policy, settings.context, settings.limits.claims, settings.limits.turns) == (
        "monitor",
        "none",
        9,
        7,
    )


def test_a_named_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('policy = "strict"')
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(tmp_path / "mine.toml"))
    assert Settings.load().policy == "strict"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"polciy": "strict"}, "there is no setting 'polciy'; the settings are judge, verifier, "),
        ({"limits": {"clams": 9}}, "there is no setting 'limits.clams'; the settings of limits are turn_chars, "),
        ({"limits": {"claims": 0}}, "setting limits.claims is 0: Input should be greater than 0"),
        ({"store": "redis"}, "setting store is 'redis': Input should be 'chroma', 'memory'"),
    ],
)
def test_a_wrong_setting_is_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Settings.load(**arguments)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("vista-guard.toml", "policy = ", "Invalid value"),
        ("vista-guard.toml", "policy = 'strict'\npolicy = 'monitor'", "Cannot overwrite a value"),
        ("vista-guard.yaml", "policy: {", "while parsing a flow node"),
        ("vista-guard.yaml", "policy: strict\njudge: embedded\npolicy: monitor", "policy stands there twice .* line 3"),
        ("vista-guard.yaml", "limits: {claims: 1, turns: 2, claims: 3}", "claims stands there twice .* line 1"),
        ("vista-guard.yaml", "- policy", "it holds list; expected a mapping"),
        ("vista-guard.yml", "policy: !!python/name:os.system", "could not determine a constructor"),
    ],
)
@pytest.mark.parametrize("settings", [Settings, ProxySettings])
def test_a_broken_file_is_named(settings: type[Settings | ProxySettings], name: str, text: str, why: str) -> None:
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=rf"the settings file {name} cannot be read: .*{why}"):
        settings.load()


def test_yaml_merges_and_an_empty_file_are_read() -> None:
    Path("vista-guard.yaml").write_text("limits: &limits {claims: 5}\nmodel: {}\n", encoding="utf-8")
    assert Settings.load().limits.claims == 5
    Path("vista-guard.yaml").write_text("policy_overrides: {<<: {on_unchecked: BLOCK}, on_unchecked: FLAG}\n", "utf-8")
    assert Settings.load().policy_overrides == {"on_unchecked": "FLAG"}
    Path("vista-guard.yaml").write_text("# nothing yet\n", encoding="utf-8")
    assert Settings.load().policy == "balanced"


def test_a_missing_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_CONFIG", "nowhere.toml")
    with pytest.raises(ConfigError, match=r"VISTA_GUARD_CONFIG names nowhere.toml"):
        Settings.load()


def test_a_decomposer_is_called_an_extractor_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "guard.toml").write_text('extractor = "shipped"\nextractor_options = {sentences = 2}\n')
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(tmp_path / "guard.toml"))
    settings = Settings.load()
    assert (settings.decomposer, settings.decomposer_options.sentences) == ("shipped", 2)
    assert Settings.load(extractor="ours").decomposer == "ours"
