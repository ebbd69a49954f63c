"""Access to the dashboard: one-time links without sign-in, viewers and their rights with it.

Every request passes `AccessGate`, WebSockets included: Streamlit sends all content through its socket.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, urlencode
from urllib.request import Request, urlopen

from vista_guard.dashboard.settings import Permission, Person, SignIn
from vista_guard.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


PARAMETER: Final = "key"
OPEN_PATHS: Final = frozenset({"/_stcore/health"})
"""Says only that the server is there."""

CLOSED: Final = (
    b"This dashboard is opened with the link that it printed when it was started.\n"
    b"The link works once, in one browser: after that a new one is printed. Copy the latest from the terminal.\n"
)


class Links:
    """The current one-time link, and the sessions of earlier ones. Kept in memory: a restart closes them all."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        """Starts with a new link. `announce` is called with each link's key."""
        self._announce = announce
        self._sessions: set[str] = set()
        self._renew()

    def exchange(self, key: str) -> str | None:
        """Exchanges a valid key, once, for the secret of a new session. None for any other key."""
        if not compare_digest(key.encode(), self._key.encode()):
            return None
        session = token_urlsafe(32)
        self._sessions.add(session)
        self._renew()
        return session

    def knows(self, session: str) -> bool:
        """True for a session that a link opened."""
        return any(compare_digest(session.encode(), known.encode()) for known in self._sessions)

    def _renew(self) -> None:
        self._key = token_urlsafe(24)
        self._announce(self._key)


class AccessGate:
    """ASGI middleware that admits a request with the link's key, or with the cookie exchanged for it."""

    def __init__(self, app: ASGIApp, links: Links, *, cookie: str = "vista_guard_dashboard") -> None:
        self._app = app
        self._links = links
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] not in ("http", "websocket") or scope["path"] in OPEN_PATHS or self._known(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send(
                {"type": "websocket.close", "code": 1008, "reason": "open the dashboard by its one-time link first"}
            )
        elif session := self._exchanged(scope):
            await _send_home(scope, send, f"{self._cookie}={session}")
        else:
            await _refuse(send)

    def _known(self, scope: Scope) -> bool:
        return any(self._links.knows(value) for value in _cookies(scope, self._cookie))

    def _exchanged(self, scope: Scope) -> str | None:
        keys = [value for name, value in _query(scope) if name == PARAMETER]
        return self._links.exchange(keys[0]) if keys and scope["method"] == "GET" else None


async def _send_home(scope: Scope, send: Send, cookie: str) -> None:
    rest = urlencode([(name, value) for name, value in _query(scope) if name != PARAMETER])
    # Never to another server: two slashes at the start of a path would be read as one's name.
    place = "/" + scope["path"].lstrip("/\\") + (f"?{rest}" if rest else "")
    headers = [
        (b"location", place.encode("utf-8")),
        # Lax: a link to a turn that a colleague sent opens; other sites' scripts and sockets do not bring the cookie along.
        (b"set-cookie", f"{cookie}; HttpOnly; SameSite=Lax; Path=/".encode()),
        (b"referrer-policy", b"no-referrer"),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": 303, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": CLOSED})


def _query(scope: Scope) -> list[tuple[str, str]]:
    return parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)


def _cookies(scope: Scope, wanted: str) -> list[str]:
    found = []
    for name, value in scope["headers"]:
        if name == b"cookie":
            try:
                jar = SimpleCookie(value.decode("latin-1"))
            except CookieError:
                continue
            found += [jar[wanted].value] if wanted in jar else []
    return found


EVERYTHING: Final = "*"


@dataclass(frozen=True)
class Viewer:
    """The person who looks. They see the reports of `tenants`, None for all, and `may` do this."""

    name: str
    tenants: tuple[str, ...] | None
    may: frozenset[Permission]

    def allows(self, permission: Permission) -> bool:
        """True when the viewer has the permission."""
        return permission in self.may


THIS_MACHINE: Final = Viewer("local", None, frozenset(Permission))
"""Whoever opened the one-time link. They started the dashboard, or were handed its link: they can read the database itself."""


def viewer_of(user: Mapping[str, Any], people: Mapping[str, Person]) -> Viewer | None:
    """Returns the viewer with the e-mail address that the provider verified; None for an address that the settings do not list.

    Args:
        user: claims of the identity token.
        people: by address, or by `*@domain`. The address itself comes before its domain.
    """
    address = str(user.get("email") or "").casefold()
    # A provider that lets people type any address would let them be anybody: it must have been verified.
    if not address or user.get("email_verified") not in (True, "true"):
        return None
    known = {name.casefold(): person for name, person in people.items()}
    person = known.get(address) or known.get("*@" + address.rpartition("@")[2])
    if person is None:
        return None
    everything = EVERYTHING in person.tenants
    return Viewer(address, None if everything else person.tenants, person.may)


WAIT_S = 10.0
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


def check_provider(sign_in: SignIn) -> None:
    """Checks that the OpenID Connect provider's metadata can be read and names a sign-in address.

    Raises:
        ConfigError: they cannot, or do not; says which address was asked.
    """
    address = sign_in.server_metadata_url
    wrong = f"dashboard.sign_in.server_metadata_url is {address}"
    try:
        with urlopen(Request(address, headers={"accept": "application/json"}), timeout=WAIT_S) as answer:
            metadata = json.load(answer)
    except HTTPError as exc:
        exc.close()
        raise ConfigError(f"{wrong}, which answered {exc.code} {exc.reason}. Check the address") from exc
    except URLError as exc:
        raise ConfigError(
            f"{wrong}, which cannot be reached: {exc.reason}. Check the address, and the network"
        ) from exc
    except (OSError, ValueError) as exc:
        raise ConfigError(f"{wrong}, which does not answer with a provider's metadata (JSON): {exc}") from exc
    missing = [name for name in NEEDED if not isinstance(metadata, dict) or name not in metadata]
    if missing:
        raise ConfigError(
            f"{wrong}, whose answer lacks {', '.join(missing)}; the address ends in /.well-known/openid-configuration"
        )
