"""The OpenID Connect provider, looked at before anybody is sent there."""

from __future__ import annotations

import json
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from vista_guard.dashboard.settings import SignIn
from vista_guard.errors import ConfigError

WAIT_S = 10.0
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def check_provider(sign_in: SignIn) -> None:
    """Passes when the provider's metadata can be read, and say where people are sent.

    Raises:
        ConfigError: they cannot, or do not; says which address was asked.
    """
    address = sign_in.server_metadata_url
    wrong = f"dashboard.sign_in.server_metadata_url is {address}"
    try:
        with urlopen(Request(address, headers={"accept": "application/json"}), timeout=WAIT_S) as answer:
            told = json.load(answer)
    except HTTPError as exc:
        exc.close()
        raise ConfigError(f"{wrong}, which answers {exc.code} {exc.reason}. Check the address") from exc
    except URLError as exc:
        raise ConfigError(
            f"{wrong}, which cannot be reached: {exc.reason}. Check the address, and the network"
        ) from exc
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{wrong}, which does not answer with a provider's metadata (JSON): {exc}") from exc
    missing = [name for name in NEEDED if not isinstance(told, dict) or name not in told]
    if missing:
        raise ConfigError(
            f"{wrong}, whose answer lacks {', '.join(missing)}; the address ends in /.well-known/openid-configuration"
        )
