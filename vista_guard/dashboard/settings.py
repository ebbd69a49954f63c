"""The dashboard's settings: arguments override the environment, the table `dashboard` of the settings file, the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from string import Formatter
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from vista_guard.errors import ConfigError
from vista_guard.settings.sources import Section, is_loopback

CALLBACK = "/oauth2callback"
"""Path at which Streamlit takes a provider's answer."""

TRACE_FIELDS = frozenset({"trace_id", "span_id"})


class Permission(StrEnum):
    """A right beyond reading reports."""

    DRAFTS = "drafts"
    """Read drafts that were withheld from users."""
    REVIEW = "review"
    """Uphold and overturn verdicts."""
    ANNOTATE = "annotate"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class Person(_Frozen):
    """The tenants and rights of a person who signs in."""

    tenants: tuple[str, ...]
    """Tenants whose reports they see; `["*"]` is all of them, also those of no tenant."""
    may: frozenset[Permission] = frozenset()


class SignIn(_Frozen):
    """An OpenID Connect provider, as Streamlit's `st.login` takes it."""

    client_id: Annotated[str, Field(min_length=1)]
    """This dashboard's id at the provider."""
    client_secret: SecretStr
    """Its secret there."""
    server_metadata_url: str
    """The provider's `https://…/.well-known/openid-configuration`."""
    redirect_uri: str
    """The dashboard's own address as browsers reach it, with the path `/oauth2callback`."""
    cookie_secret: Annotated[SecretStr, Field(min_length=32)]
    """Secret that signs the session cookie: 32 random characters or more."""

    @field_validator("server_metadata_url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        return _web_address(value, "https://accounts.example.com/.well-known/openid-configuration")

    @field_validator("redirect_uri")
    @classmethod
    def _is_callback(cls, value: str) -> str:
        if urlsplit(_web_address(value, f"https://guard.example.com{CALLBACK}")).path.endswith(CALLBACK):
            return value
        raise ValueError(f"it must end in {CALLBACK}, which receives the provider's answer")

    def secrets(self) -> dict[str, Any]:
        """The table `auth` of Streamlit's secrets."""
        values = self.model_dump(exclude={"client_secret", "cookie_secret"})
        return {
            **values,
            "client_secret": self.client_secret.get_secret_value(),
            "cookie_secret": self.cookie_secret.get_secret_value(),
        }


class DashboardSettings(Section):
    """All settings of the dashboard. Unknown names are refused."""

    section: ClassVar[str] = "dashboard"

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """Address to listen on. Other machines need `sign_in`."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8501
    """Port to listen on; 0 for a free one."""
    trace_url: str | None = None
    """Address of a turn's trace, with `{trace_id}` and, if you like, `{span_id}`:
    `http://localhost:6006/redirects/traces/{trace_id}`."""
    sign_in: SignIn | None = None
    """The provider that signs people in. Without it the dashboard listens on this machine only, and its one-time link gives
    access."""
    people: Mapping[str, Person] = Field(default_factory=dict)
    """People with access, by e-mail address; `*@example.com` is everybody of a domain. Needs `sign_in`."""

    @field_validator("trace_url")
    @classmethod
    def _is_template(cls, value: str | None) -> str | None:
        if value is None:
            return None
        example = "http://localhost:6006/redirects/traces/{trace_id}"
        try:
            fields = {name for _, name, _, _ in Formatter().parse(value) if name is not None}
        except ValueError as exc:
            raise ValueError(f"it is not a template ({exc}); give one like {example}") from exc
        if "trace_id" not in fields or fields - TRACE_FIELDS:
            raise ValueError(f"it must hold {{trace_id}}, and may hold {{span_id}}; give one like {example}")
        _web_address(value, example)
        return value

    @property
    def loopback(self) -> bool:
        """True when only this machine can connect."""
        return is_loopback(self.host)

    def check_exposure(self) -> None:
        """Refuses settings that let strangers read the reports.

        Raises:
            ConfigError: other machines could connect and nobody signs them in; or people are named, and nobody signs them in; or
                there is a sign-in, and nobody may come in.
        """
        if self.sign_in is None and not self.loopback:
            raise ConfigError(
                f"dashboard.host is {self.host!r}, which other machines can reach, and reports hold users' conversations: set "
                "[dashboard.sign_in] and [dashboard.people], or listen on 127.0.0.1 and use a tunnel"
            )
        if self.sign_in is None and self.people:
            raise ConfigError("dashboard.people lists people, but there is no sign-in: set [dashboard.sign_in]")
        if self.sign_in is not None and not self.people:
            raise ConfigError(
                "dashboard.sign_in is set, but dashboard.people is empty: add "
                '[dashboard.people."you@example.com"] with tenants = ["*"]'
            )


def _web_address(value: str, example: str) -> str:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"it must be a full URL, such as {example}")
    return value
