"""Settings of the proxy and of its alerts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Annotated, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from vista_guard.openai_api.routes import check_pattern
from vista_guard.openai_api.wire import MAX_STREAM_EVENTS
from vista_guard.reading.chat_json import PATTERNS
from vista_guard.settings.sources import Section, is_loopback
from vista_guard.types import ANONYMOUS

TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
KEY_HASH = re.compile(r"sha256:[0-9a-f]{64}")

Seconds = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(gt=0)]


class ProxySettings(Section):
    """All that can be configured of the proxy. Unknown names are refused."""

    section: ClassVar[str] = "proxy"
    where_to_set: ClassVar[Mapping[str, str]] = {
        "upstream": "give --upstream URL, set VISTA_GUARD_PROXY__UPSTREAM, or put it into [proxy]"
    }

    upstream: str
    """Base URL of the guarded endpoint, as clients used it before: `https://api.openai.com/v1`."""
    gate: Literal["none", "sentence", "turn"] = "sentence"
    """How much of a stream is held back until it is judged."""
    off: bool = False
    """For emergencies: answers of upstream pass unjudged. Keys, limits, timeouts and path rules still hold."""
    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    """Address to listen on. Other machines need `keys`, or `--allow-anonymous`."""
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    """Port to listen on; 0 for a free one."""
    connect_timeout_s: Seconds = 10.0
    """Maximum time for connecting to upstream."""
    request_timeout_s: Seconds = 600.0
    """Maximum time for an answer of upstream that is not streamed, and for a check of the guard."""
    stream_idle_timeout_s: Seconds = 60.0
    """Maximum silence of upstream within a stream."""
    body_timeout_s: Seconds = 30.0
    """Maximum time for a client to send its request."""
    client_idle_timeout_s: Seconds = 300.0
    """Maximum time for which a client may read nothing before its connection is closed. On Linux only."""
    shutdown_timeout_s: Count = 60
    """Maximum time for open streams to end when the server is stopped."""
    max_body_bytes: Count = 20_000_000
    """Larger requests get a 413."""
    max_answer_bytes: Count = 16_000_000
    """Larger answers of upstream, compressed or not, end in a 502."""
    max_stream_events: Count = MAX_STREAM_EVENTS
    """A stream of upstream with more events (empty ones included), or with more than eight times as many lines (comments
    included), ends in an error."""
    streams_per_client: Count = 256
    """Concurrent requests of one client in one process; a further one gets a 429. A client is a key or, without
    keys, an address."""
    max_connections: Count = 2048
    """Open connections of one process; a further one gets a 503."""
    upstream_key: SecretStr | None = None
    """The key sent to upstream; the client's own `Authorization` when not given."""
    keys: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """Hashes of API keys by tenant, as `vista-guard serve --new-key TENANT` prints them. Without keys, everybody may call."""
    shared_documents: bool = False
    """True if several tenants also retrieve documents that were added without a tenant."""
    open_metrics: bool = False
    """True if `/metrics` needs no key even if keys are set."""
    pass_paths: tuple[str, ...] = ()
    """More paths below the base URL that pass unjudged, each a method and a path: `*` stands for one segment, a final `**` for
    the rest. Callers can use them to get around the guard."""
    context_patterns: tuple[str, ...] = PATTERNS
    """Regular expressions with one group, `.` matching newlines too: what the group matches in a system message is a
    document."""
    user_context: bool = False
    """True if blocks in user messages are documents, too. Users can then type evidence for any lie: only for callers that put
    retrieved text into the user's message themselves, and strip such blocks from what users type."""
    conversation_header: str = "x-conversation-id"
    """The request header that names the conversation."""
    allowed_hosts: tuple[str, ...] = ()
    """Accepted names in the header `Host`, without a port. Not set: any name; but without keys on a loopback address only this
    machine's names, so that no web page of another name can call it."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses and networks whose `X-Forwarded-For` is trusted for the client's address. Not set: none."""

    @field_validator("upstream")
    @classmethod
    def _is_base_url(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            _ = parts.port
        except ValueError as exc:
            raise ValueError(f"the upstream URL cannot be read: {exc}") from exc
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("the upstream URL must look like https://api.example.com/v1")
        if parts.username or parts.password:
            raise ValueError("the upstream URL holds a user name or password; set upstream_key instead")
        if parts.query or parts.fragment:
            raise ValueError("the upstream URL has a query or fragment; give the base URL only")
        return value.rstrip("/")

    @field_validator("keys")
    @classmethod
    def _are_hashes(cls, value: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
        owners: dict[str, str] = {}
        for tenant, hashes in value.items():
            check_tenant(tenant)
            if not hashes:
                raise ValueError(f"tenant {tenant!r} has no key; remove it, or give it one")
            for hashed in hashes:
                if not KEY_HASH.fullmatch(hashed):  # what stands there may be the key itself: it is not shown
                    raise ValueError(
                        f"a key of tenant {tenant!r} is not a hash (sha256: and 64 hex digits); "
                        f"make one with vista-guard serve --new-key {tenant}"
                    )
                if owners.setdefault(hashed, tenant) != tenant:
                    raise ValueError(f"the tenants {owners[hashed]!r} and {tenant!r} have the same key; make another")
        return value

    @field_validator("context_patterns")
    @classmethod
    def _are_patterns(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in value:
            try:
                groups = re.compile(pattern).groups
            except re.error as exc:
                raise ValueError(f"{pattern!r} is not a regular expression: {exc}") from exc
            if groups != 1:
                raise ValueError(f"{pattern!r} has {groups} groups; put exactly one around the document's text")
        return value

    @field_validator("pass_paths")
    @classmethod
    def _are_paths(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(check_pattern(pattern) for pattern in value)

    @field_validator("conversation_header")
    @classmethod
    def _is_header(cls, value: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9-]+", value):
            raise ValueError(f"{value!r} is not the name of a header")
        return value.lower()

    @field_validator("trusted_proxies")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            try:
                ip_network(address)
            except ValueError as exc:
                raise ValueError(f"{address!r} is not an address or a network: {exc}") from exc
        return value

    @property
    def loopback(self) -> bool:
        return is_loopback(self.host)

    @property
    def upstream_address(self) -> str:
        """Upstream's scheme, host and port, for the operator: its path may hold a secret."""
        parts = urlsplit(self.upstream)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        return f"{parts.scheme}://{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"

    @property
    def names_upstream(self) -> bool:
        """True if callers may learn where upstream is: they are on this machine, and nobody in front brings others."""
        return self.loopback and not self.keys and not self.trusted_proxies

    @property
    def upstream_name(self) -> str:
        """Upstream's name in errors: its address, or only the word."""
        return f"upstream {self.upstream_address}" if self.names_upstream else "upstream"


def check_tenant(name: str) -> str:
    """Returns a valid tenant's name; else ValueError."""
    if not TENANT.fullmatch(name):
        raise ValueError(f"{name!r} cannot be a tenant's name: it takes 1 to 63 of a-z, 0-9, - and _, no - or _ first")
    if name == ANONYMOUS:
        raise ValueError(f"{name!r} cannot be a tenant's name: what was said before there were keys is kept under it")
    return name


Kind = Literal["block", "errors", "drift"]


class AlertSettings(Section):
    """All settings of alerts. Unknown names are refused."""

    section: ClassVar[str] = "alerts"

    webhook: SecretStr | None = None
    """The URL that alerts are posted to. Without it none are sent."""
    format: Literal["json", "slack"] = "json"
    """`json`: the documented object; `slack`: a message for a Slack webhook, or one that accepts the same format."""
    on: tuple[Kind, ...] = ("block", "errors", "drift")
    """Reasons to alert: a blocked turn, the error rate, drift of the share of turns that were flagged, repaired or blocked."""
    texts: bool = False
    """True if an alert on a blocked turn may carry the question, the withheld claim and the evidence's name."""
    authorization: SecretStr | None = None
    """Sent as the header `Authorization`."""
    dashboard: str | None = None
    """The dashboard's address, for a link to the turn."""
    window_s: Annotated[float, Field(gt=0)] = 900.0
    """Seconds of the window for rates; drift compares it with the twelve windows before it."""
    least_turns: Annotated[int, Field(ge=1)] = 30
    """Minimum number of turns in the window for alerts on rates."""
    error_rate: Annotated[float, Field(gt=0, le=1)] = 0.05
    """The share of turns whose judge failed, or that upstream failed to answer, above which errors alert."""
    drift: Annotated[float, Field(gt=0, le=1)] = 0.15
    """The change of the share of flagged, repaired and blocked turns above which drift alerts, if it is statistically
    significant."""
    per_minute: Annotated[float, Field(gt=0, le=600)] = 6.0
    """Maximum messages a minute. Events in between are counted in the next message."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 4
    """Tries of one message, with growing pauses."""
    timeout_s: Annotated[float, Field(gt=0)] = 5.0
    """Maximum time for the webhook to answer."""

    @field_validator("webhook", "dashboard")
    @classmethod
    def _is_url(cls, value: SecretStr | str | None) -> SecretStr | str | None:
        url = value.get_secret_value() if isinstance(value, SecretStr) else value
        parts = urlsplit(url or "")
        if url is not None and (parts.scheme not in ("http", "https") or not parts.hostname):
            # A webhook's URL is a secret: it is not shown.
            raise ValueError("it must be a full URL, such as https://guard.example.com")
        return value
