"""The dashboard's settings: what is refused, and how it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.raising import raises
from vista_guard import ConfigError
from vista_guard.dashboard.settings import DashboardSettings, Permission, Person

SIGN_IN = """
[dashboard.sign_in]
client_id = "guard"
client_secret = "s3cret"
server_metadata_url = "https://login.example.com/.well-known/openid-configuration"
redirect_uri = "https://guard.example.com/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
"""
PEOPLE = """
[dashboard.people."ada@example.com"]
tenants = ["*"]
may = ["drafts", "review"]

[dashboard.people."*@north.example.com"]
tenants = ["north"]
"""


def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> DashboardSettings:
    """Settings of a file with this text."""
    file = tmp_path / "vista-guard.toml"
    file.write_text(text, encoding="utf-8")
    monkeypatch.setenv("VISTA_GUARD_CONFIG", str(file))
    return DashboardSettings.load()


def test_the_file_the_environment_and_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_DASHBOARD__PORT", "9001")
    settings = load(tmp_path, monkeypatch, '[dashboard]\nport = 9000\nhost = "::1"')
    assert (settings.port, settings.host, settings.loopback) == (9001, "::1", True)
    assert DashboardSettings.load(port=0).port == 0


def test_people_and_their_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(tmp_path, monkeypatch, SIGN_IN + PEOPLE)
    settings.check_exposure()
    assert settings.people == {
        "ada@example.com": Person(tenants=("*",), may=frozenset({Permission.DRAFTS, Permission.REVIEW})),
        "*@north.example.com": Person(tenants=("north",)),
    }
    assert settings.sign_in is not None
    assert settings.sign_in.secrets()["client_secret"] == "s3cret"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[dashboard]\nhots = 1", "there is no setting 'dashboard.hots'; the dashboard's settings are host, port"),
        ('[dashboard]\nport = "x"', "setting dashboard.port"),
        (SIGN_IN.replace('client_id = "guard"\n', ""), "setting dashboard.sign_in.client_id is missing"),
        (SIGN_IN.replace("/oauth2callback", "/callback"), "must end in /oauth2callback"),
        (SIGN_IN.replace("https://login.example.com", "login.example.com"), "must be a full URL"),
        (SIGN_IN.replace("0123456789abcdef", ""), "cookie_secret"),
        ('[dashboard]\ntrace_url = "http://localhost:6006/{trace}"', "it must hold {trace_id}"),
        ('[dashboard]\ntrace_url = "javascript:{trace_id}"', "must be a full URL"),
        ('[dashboard.people."a@b.c"]\ntenants = []\nmay = ["everything"]', "dashboard.people.a@b.c.may"),
        ("dashboard = 3", "dashboard is int; expected a table"),
    ],
)
def test_what_makes_no_sense_is_told_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, monkeypatch, text)
    assert told in str(caught.value)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[dashboard]\nhost = "0.0.0.0"', ()),
        (PEOPLE, ()),
        (SIGN_IN, ("dashboard.people",)),
    ],
)
def test_nobody_unknown_gets_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, told: tuple[str, ...]
) -> None:
    with raises(ConfigError, *told):
        load(tmp_path, monkeypatch, text).check_exposure()
