"""Settings: arguments over environment over file over defaults."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.raising import raises
from vista_guard import ConfigError, Guard, Settings
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
        ({"polciy": "strict"}, ("polciy",)),
        ({"limits": {"clams": 9}}, ("limits.clams", "turn_chars")),
        ({"limits": {"claims": 0}}, ("limits.claims", "0")),
        ({"store": "redis"}, ("store", "redis", "chroma", "memory")),
    ],
)
def test_a_wrong_setting_is_named(arguments: dict[str, object], message: tuple[str, ...]) -> None:
    with raises(ConfigError, *message):
        Settings.load(**arguments)


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("vista-guard.toml", "policy = ", ()),
        ("vista-guard.toml", "policy = 'strict'\npolicy = 'monitor'", ()),
        ("vista-guard.yaml", "policy: {", ()),
        ("vista-guard.yaml", "policy: strict\njudge: embedded\npolicy: monitor", ("policy", "line 3")),
        ("vista-guard.yaml", "limits: {claims: 1, turns: 2, claims: 3}", ("claims", "line 1")),
        ("vista-guard.yaml", "- policy", ("list",)),
        ("vista-guard.yml", "policy: !!python/name:os.system", ("python/name:os.system",)),
    ],
)
@pytest.mark.parametrize("settings", [Settings, ProxySettings])
def test_a_broken_file_is_named(
    settings: type[Settings | ProxySettings], name: str, text: str, named: tuple[str, ...]
) -> None:
    Path(name).write_text(text, encoding="utf-8")
    with raises(ConfigError, name, *named):
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
    with raises(ConfigError, "VISTA_GUARD_CONFIG", "nowhere.toml"):
        Settings.load()


def test_a_decomposer_is_called_an_extractor_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "guard.toml").write_text('extractor = "shipped"\nextractor_options = {sentences = 2}\n')
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(tmp_path / "guard.toml"))
    settings = Settings.load()
    assert (settings.decomposer, settings.decomposer_options.sentences) == ("shipped", 2)
    assert Settings.load(extractor="ours").decomposer == "ours"


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("VISTA_GUARD_POLCY", "VISTA_GUARD_POLICY"),
        ("VISTA_GUARD_JUGDE", "VISTA_GUARD_JUDGE"),
        ("vista_guard_retreive", "VISTA_GUARD_RETRIEVE"),
        ("VISTA_GUARD_DATADIR", "VISTA_GUARD_DATA_DIR"),
        ("VISTA_GUARD_THREAD", "VISTA_GUARD_THREADS"),
        ("VISTA_GUARD_CONFG", "VISTA_GUARD_CONFIG"),
        ("VISTA_GUARD_LIMIT__CLAIMS", "VISTA_GUARD_LIMITS__CLAIMS"),
        ("VISTA_GUARD_LIMITS_CLAIMS", "VISTA_GUARD_LIMITS__CLAIMS"),
        ("VISTA_GUARD_LIMITS___CLAIMS", None),
        ("VISTA_GUARD_PROXY_PORT", "VISTA_GUARD_PROXY__PORT"),
        ("VISTA_GUARD_POLICY_OVERRIDE__ON_UNCHECKED", "VISTA_GUARD_POLICY_OVERRIDES__ON_UNCHECKED"),
        ("VISTA_GUARD_LIMITS__CLAIM", None),
        ("VISTA_GUARD_QQXXZZ", None),
    ],
)
def test_a_misspelt_variable_is_refused_with_the_nearest_name(
    variable: str, nearest: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "9")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    if nearest is not None:
        assert (variable in str(caught.value), f"did you mean {nearest}?" in str(caught.value)) == (True, True)


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("VISTA_GUARD_PROXY__PROT", ("VISTA_GUARD_PROXY__PORT",)),
        ("VISTA_GUARD_PROXY__UPSTREAMS", ("VISTA_GUARD_PROXY__UPSTREAM",)),
        ("VISTA_GUARD_PROXY__MAX_BODY", ("VISTA_GUARD_PROXY__MAX_BODY_BYTES",)),
    ],
)
def test_so_is_one_of_a_section(variable: str, nearest: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "9")
    assert Settings.load().policy == "balanced"  # the section's own
    with raises(ConfigError, *nearest):
        ProxySettings.load(upstream="http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *((f"VISTA_GUARD_{name}", "x") for name in ("DATA", "KEY", "THREADS", "URL")),
        ("VISTA_GUARD_SERVICE_HOST", "10.0.0.7"),
        ("VISTA_GUARD_SERVICE_PORT", "8080"),
        ("VISTA_GUARD_SERVICE_PORT_HTTP", "8080"),
        ("VISTA_GUARD_PORT", "tcp://10.0.0.7:8080"),
        ("VISTA_GUARD_PORT_8080_TCP", "tcp://10.0.0.7:8080"),
        ("VISTA_GUARD_PORT_8080_TCP_ADDR", "10.0.0.7"),
        ("VISTA_GUARD_PROXY_PORT", "tcp://10.0.0.7:8080"),
        ("VISTA_GUARD_PROXY_SERVICE_HOST", "10.0.0.7"),
        ("MY_VISTA_GUARD_POLCY", "x"),
        ("VISTA_GUARDED", "x"),
        ("VISTA_GUARD_EXTRACTOR", "shipped"),
    ],
)
def test_what_is_known_or_not_ours_is_none_of_these(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, value)
    assert Settings.load().policy == "balanced"


@pytest.mark.parametrize("variable", ["VISTA_GUARD_CHANNEL", "VISTA_GUARD_POLICY_OVERRIDES", "vista_guard_limits"])
def test_a_list_or_table_in_a_variable_that_is_not_json_is_named(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "Prices may change.")
    with pytest.raises(ConfigError) as caught:
        Settings.load()
    assert (variable in str(caught.value), "JSON" in str(caught.value)) == (True, True)
    assert "Prices" not in str(caught.value)  # it may be a secret


def test_so_is_that_of_a_section(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_PROXY__ALLOWED_HOSTS", "guard.example")
    with pytest.raises(ConfigError, match="VISTA_GUARD_PROXY__ALLOWED_HOSTS"):
        ProxySettings.load(upstream="http://127.0.0.1:9/v1")


def test_a_list_in_a_variable_is_read_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_CHANNEL", '["Prices may change."]')
    assert Settings.load().channel == ("Prices may change.",)


def test_every_setting_may_be_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.setenv(f"VISTA_GUARD_{name.upper()}", "")
    with pytest.raises(ConfigError) as caught:  # of a value, and of no name
        Settings.load()
    assert "is no setting" not in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        {"judge": "opnai:m@https://ada:hunter2@host/v1"},
        {"judge": "cascade:embedded,openai:m@https://ada:hunter2@host/v1,embedded"},
        {"judge": "recorded:https://ada:hunter2@host/v1"},
        {"verifier": "openi:m@https://ada:hunter2@host/v1"},
        {"decomposer": "stps:openai:m@https://ada:hunter2@host/v1"},
        {"otel": {"scores": ["langfse:https://ada:hunter2@host"]}},
        {"store": "qdrant", "store_key": ["hunter2"]},
        {"store": "pgvector", "store_url": ["postgresql://ada:hunter2@host/db"]},
    ],
)
def test_no_error_shows_a_login(given: dict[str, Any]) -> None:
    with raises(ConfigError) as caught:
        Guard.from_settings(**{"store": "memory", **given})
    assert "hunter2" not in f"{caught.value}{caught.value.__cause__}"
