"""URLs of endpoints: what may be shown of them, and whether one pays there."""

from __future__ import annotations

import ipaddress
from urllib.parse import unquote, urlsplit, urlunsplit

from vista_guard.errors import ConfigError


def read_url(url: str, *, query_allowed: bool = True) -> tuple[str, str]:
    """The URL without what may be secret, and the login that stood in it: `user:password`, or nothing.

    Raises:
        ConfigError: it is no URL of an endpoint.
    """
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else parts.path
    try:
        host, _ = parts.hostname, parts.port
    except ValueError as exc:
        raise ConfigError(f"base_url {shown!r} is no URL: {exc}; it looks like https://host/v1") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ConfigError(f"base_url {shown!r} is no HTTP URL; it looks like https://host/v1")
    if (parts.query or parts.fragment) and not query_allowed:
        raise ConfigError(
            f"base_url {shown!r} has a query or a fragment; pass a client with default_query, such as AsyncAzureOpenAI"
        )
    login = unquote(parts.netloc.rpartition("@")[0])
    clean_url = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
    return clean_url, login


def priced_url(url: str) -> str | None:
    """The URL by which a provider is priced; None for one's own machine, which no price table knows."""
    host = urlsplit(url).hostname or ""
    try:
        own = ipaddress.ip_address(host).is_private
    except ValueError:
        own = "." not in host
    return None if own else url
