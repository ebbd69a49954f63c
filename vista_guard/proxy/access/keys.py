"""API keys: made once, kept as hashes, told apart in constant time.

A key holds 256 random bits, so one round of SHA-256 is enough: slow hashes protect what people choose, not what can't be guessed.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

PREFIX = "vg_"


@dataclass(frozen=True)
class Caller:
    """Who calls: the tenant, and the key's hash."""

    tenant: str
    key_hash: str


class Keyring:
    """The tenants' keys, as hashes."""

    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        self._callers = tuple(Caller(tenant, hashed) for tenant, hashes in keys.items() for hashed in hashes)

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller(self, key: bytes) -> Caller | None:
        """Whose key this is. Every hash is compared, so the time taken tells nothing about any of them."""
        given = key_hash(key)
        found = None
        for caller in self._callers:
            if hmac.compare_digest(caller.key_hash, given):
                found = caller
        return found


def new_key() -> str:
    """A key that nobody can guess: `vg_` and 43 characters of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str | bytes) -> str:
    """What the settings keep of a key: `sha256:` and 64 hex digits."""
    return f"sha256:{sha256(key.encode('utf-8', 'surrogatepass') if isinstance(key, str) else key).hexdigest()}"
