"""Access to the dashboard: its own pages only, one-time links without sign-in, viewers and their rights with it.

Every request passes the gates, WebSockets included: Streamlit sends all content through its socket.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING, Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.websockets import WebSocketClose

from vista_guard.dashboard.settings import Permission, Person, SignIn
from vista_guard.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


PARAMETER: Final = "key"
OPEN_PATHS: Final = frozenset({"/_stcore/health"})
"""Says only that the server is up."""

CLOSED: Final = (
    "This dashboard is opened with the link that it printed when it was started.\n"
    "The link works once, in one browser: after that a new one is printed. Copy the latest from the terminal.\n"
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


_DEFAULT_PORTS: Final = {"http": ":80", "https": ":443"}
_OWN_PAGES_ONLY: Final = (
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def origin_of(scheme: str, authority: str) -> str:
    """Returns the origin as browsers write it: ASCII lower case, without the scheme's default port."""
    return f"{scheme}://{ascii_lower(authority).removesuffix(_DEFAULT_PORTS[scheme])}"


def ascii_lower(text: str) -> str:
    """Lower-cases A to Z alone: `ß` is not `ss`, nor is the Kelvin sign a `k`."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


class OriginGate:
    """ASGI middleware that answers to the dashboard's own addresses and to its own pages.

    Cookies know no port, and Streamlit's check of a socket's origin ignores it: without this gate a page on any other port of the
    machine could read the dashboard in the name of its reader.
    """

    def __init__(self, app: ASGIApp, origins: Iterable[str]) -> None:
        """`origins` are those under which browsers reach the dashboard, the one to open first: `http://127.0.0.1:8501`."""
        self._app = app
        self._origins = tuple(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        send = _forbid_frames(send)
        if (
            scope["type"] not in ("http", "websocket")
            or (refusal := self._refusal(scope)) is None
            or scope["path"] in OPEN_PATHS
        ):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, "open the dashboard at its own address")(scope, receive, send)
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = HTTPConnection(scope).headers
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        own = {origin_of(scheme, host) for scheme in _DEFAULT_PORTS for host in hosts}.intersection(self._origins)
        if len(hosts) != 1 or not own:
            return _refused(421, f"This dashboard is at {self._origins[0]}/. Open it there.\n")
        # Browsers name the origin of every socket and of all that is sent; a link that is followed has none.
        if not origins and scope["type"] == "http" and scope["method"] == "GET":
            return None
        scheme, _, authority = origins[0].partition("://") if len(origins) == 1 else ("", "", "")
        if scheme in _DEFAULT_PORTS and origin_of(scheme, authority) in own:
            return None
        return _refused(403, "Only the dashboard's own pages may ask for this.\n")


def _refused(status: int, text: str) -> Response:
    return PlainTextResponse(text, status, {"cache-control": "no-store"})


def _forbid_frames(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_OWN_PAGES_ONLY]}
        await send(message)

    return with_headers


class AccessGate:
    """ASGI middleware that admits a request with the link's key, or with the cookie exchanged for it."""

    def __init__(self, app: ASGIApp, links: Links, *, cookie: str = "vista_guard_dashboard") -> None:
        self._app = app
        self._links = links
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one request."""
        if scope["type"] not in ("http", "websocket") or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        request = HTTPConnection(scope)
        keys = request.query_params.getlist(PARAMETER)
        if self._links.knows(request.cookies.get(self._cookie, "")):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await WebSocketClose(1008, "open the dashboard by its one-time link first")(scope, receive, send)
        elif keys and scope["method"] == "GET" and (session := self._links.exchange(keys[0])):
            await self._home(request, session)(scope, receive, send)
        else:
            await _refused(401, CLOSED)(scope, receive, send)

    def _home(self, request: HTTPConnection, session: str) -> Response:
        """The page that was asked for, without the key, and the session's cookie."""
        query = urlencode([(name, value) for name, value in request.query_params.multi_items() if name != PARAMETER])
        # Never to another server: two slashes at the start of a path would be read as one's name.
        location = "/" + request.scope["path"].lstrip("/\\") + (f"?{query}" if query else "")
        headers = {
            # Lax: a link to a turn that a colleague sent opens; other sites' scripts and sockets do not bring the cookie along.
            "set-cookie": f"{self._cookie}={session}; HttpOnly; SameSite=Lax; Path=/",
            "referrer-policy": "no-referrer",
            "cache-control": "no-store",
        }
        return RedirectResponse(location, 303, headers)


EVERYTHING: Final = "*"


@dataclass(frozen=True)
class Viewer:
    """A user of the dashboard. They see the reports of `tenants`, None for all, and have the rights `may`."""

    name: str
    tenants: tuple[str, ...] | None
    may: frozenset[Permission]

    def allows(self, permission: Permission) -> bool:
        """True when the viewer has the permission."""
        return permission in self.may


THIS_MACHINE: Final = Viewer("local", None, frozenset(Permission))
"""A user of the one-time link. They started the dashboard, or were given its link: they can read the database itself."""


def viewer_of(user: Mapping[str, Any], people: Mapping[str, Person]) -> Viewer | None:
    """Returns the viewer with the e-mail address that the provider verified; None for an address that the settings do not list.

    Args:
        user: claims of the identity token.
        people: by address, or by `*@domain`. The address itself comes before its domain.
    """
    address = ascii_lower(str(user.get("email") or ""))
    # A provider that lets people type any address would let them be anybody: it must have been verified.
    if not address or user.get("email_verified") not in (True, "true"):
        return None
    known = {ascii_lower(name): person for name, person in people.items()}
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
