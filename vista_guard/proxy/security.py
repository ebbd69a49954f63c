"""Authentication, tenants, limits and error responses. Every request passes `Gatekeeper` before any route.

A key holds 256 random bits, so one round of SHA-256 is enough: slow hashes are for passwords that people choose.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import re
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse

from vista_guard.errors import ConfigError, InputError, VistaGuardError
from vista_guard.proxy import metrics, shared_account
from vista_guard.proxy.identity import DividedDocuments, shares_documents
from vista_guard.proxy.settings import ProxySettings
from vista_guard.reading.chat_json import read_json
from vista_guard.settings.sources import is_loopback
from vista_guard.types import ANONYMOUS

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from vista_guard.guard import Guard


logger = logging.getLogger("vista_guard.proxy")


def error_response(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    kind = "server_error" if status >= 500 else "invalid_request_error"
    content = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(content, status, headers=None if headers is None else dict(headers))


async def _http_error(_request: Request, exc: Exception) -> JSONResponse:
    status = getattr(exc, "status_code", 500)
    return error_response(status, str(getattr(exc, "detail", "")), f"http_{status}", getattr(exc, "headers", None))


async def _validation_error(_request: Request, exc: Exception) -> JSONResponse:
    first = exc.errors()[0] if isinstance(exc, RequestValidationError) else {"loc": (), "msg": "not valid"}
    where = ".".join(str(part) for part in first["loc"] if part != "body")
    whole = "the request's body is no JSON object; send one, with the header content-type: application/json"
    return error_response(400, f"{where}: {first['msg']}" if where else whole, "invalid_request")


async def _guard_error(request: Request, exc: Exception) -> JSONResponse:
    if isinstance(exc, InputError):
        # Every message about a limit names the setting.
        over = "limits." in str(exc)
        return error_response(413 if over else 400, str(exc), "over_limit" if over else "invalid_request")
    logger.error("%s %r failed: %s", request.method, request.url.path, exc)
    return error_response(503, "the guard cannot judge or remember right now; try again", "guard_unavailable")


async def _internal_error(_request: Request, _exc: Exception) -> JSONResponse:
    # The server's own log has the traceback.
    return error_response(500, "something went wrong inside the guard; its log says what", "internal_error")


PREFIX = "vg_"


@dataclass(frozen=True)
class Caller:
    tenant: str
    key_hash: str


class Keyring:
    def __init__(self, keys: Mapping[str, Sequence[str]]) -> None:
        self._callers = tuple(Caller(tenant, hashed) for tenant, hashes in keys.items() for hashed in hashes)

    def __bool__(self) -> bool:
        return bool(self._callers)

    def caller(self, key: bytes) -> Caller | None:
        """Finds the key's owner. Every hash is compared, so that timing reveals nothing about any of them."""
        digest = key_hash(key)
        owner = None
        for caller in self._callers:
            if hmac.compare_digest(caller.key_hash, digest):
                owner = caller
        return owner


def new_key() -> str:
    """A key that nobody can guess: `vg_` and 43 characters of 256 random bits."""
    return PREFIX + secrets.token_urlsafe(32)


def key_hash(key: str | bytes) -> str:
    """The hash of a key, for the settings: `sha256:` and 64 hex digits."""
    return f"sha256:{sha256(key.encode('utf-8', 'surrogatepass') if isinstance(key, str) else key).hexdigest()}"


OWN_HEADER = b"x-vista-guard-key"
KEY_HEADERS = (OWN_HEADER, b"x-api-key", b"authorization")
"""Headers that may hold a key. The first is never sent on; the others may hold upstream's, and are, unless they hold ours."""

_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@?#\[\]]+)(?::\d*)?")

_NO_SOCKETS = "the guard judges no WebSocket, and passes none; use /v1/chat/completions or /v1/responses"

PROBES = frozenset({"/healthz", "/readyz"})
UNCOUNTED = PROBES | {"/metrics"}
OWN_PATHS = UNCOUNTED | {"/guard", "/openapi.json", "/beta/litellm_basic_guardrail_api"}


def install(app: FastAPI, settings: ProxySettings) -> None:
    """Puts keys, tenants and limits before every route, and keeps internals out of every error.

    Afterwards `request.state.tenant` names the tenant: `default` where no keys are set.
    """
    app.add_middleware(Gatekeeper, settings=settings)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(VistaGuardError, _guard_error)
    app.add_exception_handler(Exception, _internal_error)


def check_exposure(settings: ProxySettings, *, allow_anonymous: bool) -> None:
    """Passes if only permitted callers can connect. ConfigError: other machines can connect without a key."""
    if not settings.loopback and not settings.keys and not allow_anonymous:
        raise ConfigError(
            f"host {settings.host} can be reached from other machines, and no keys are set: everybody could read and forget "
            "conversations and spend upstream's key. Make a key with vista-guard serve --new-key TENANT, or pass "
            "--allow-anonymous"
        )


def check_documents(guard: Guard, settings: ProxySettings) -> None:
    """Passes when no tenant retrieves another's documents. ConfigError: tenants share an undivided store without leave."""
    documents = guard.parts.documents
    if documents is not None and not isinstance(documents, DividedDocuments) and not shares_documents(settings):
        raise ConfigError(
            f"the tenants {', '.join(settings.keys)} would all retrieve from one document store. Set shared_documents = true "
            "in [proxy] when its documents are meant for all of them, or retrieve = false (VISTA_GUARD_RETRIEVE=false)"
        )


class Gatekeeper:
    """Pure ASGI: streams pass through it unbuffered, and cancelling them works as without it."""

    def __init__(self, app: ASGIApp, settings: ProxySettings) -> None:
        self._app = app
        self._settings = settings
        self._keyring = Keyring(settings.keys)
        self._shared_account = shared_account.share_account(settings)
        self._open: Counter[str] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": _NO_SOCKETS})  # the server answers 403
        else:
            try:
                if dict(scope["headers"]).get(b"upgrade", b"").lower() == b"websocket":
                    raise _Refused(403, "websocket_not_passed", _NO_SOCKETS)
                tenant, client, headers = self._admit(scope)
                state = {**scope.get("state", {}), "tenant": tenant}
                with self._place(client, scope["path"]) as leave:
                    body = await self._body(scope, receive)
                    self._keep_apart(scope, body)
                    _check_json(scope, body)
                    await self._app(
                        {**scope, "headers": headers, "state": state},
                        _replay(body, receive),
                        _leave_at_end(send, leave),
                    )
            except _Refused as refused:
                metrics.count_refusal(refused.code)
                await refused.response(scope, receive, send)

    def _admit(self, scope: Scope) -> tuple[str, str, list[tuple[bytes, bytes]]]:
        """The tenant, the client that places are counted for, and the headers without our keys."""
        address = (scope.get("client") or ("unknown", 0))[0]
        headers = [(name, value) for name, value in scope["headers"] if name != OWN_HEADER]
        self._check_host(headers)
        open_path = scope["path"] in PROBES or (scope["path"] == "/metrics" and self._settings.open_metrics)
        if not self._keyring:
            self._refuse_foreign_pages(headers)
            return ANONYMOUS, address, headers
        callers: dict[str, str] = {}
        passed_headers = []
        for name, value in scope["headers"]:
            caller = self._keyring.caller(_key(name, value)) if name in KEY_HEADERS else None
            if caller is not None:
                callers[caller.tenant] = caller.key_hash
            elif name != OWN_HEADER:
                passed_headers.append((name, value))
        if len(callers) == 1:
            ((tenant, hashed),) = callers.items()
            return tenant, hashed, passed_headers
        if open_path and not callers:
            return ANONYMOUS, address, passed_headers
        raise _Refused(
            401,
            "invalid_api_key",
            "this guard needs its own API key, in Authorization: Bearer KEY, x-api-key or x-vista-guard-key",
            {"www-authenticate": "Bearer"},
        )

    def _check_host(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Stops DNS rebinding: a page whose name resolves to this machine is same-origin for its browser; only `Host` tells."""
        for name in (b"host", b"origin"):
            if [header for header, _ in headers].count(name) > 1:
                raise _Refused(400, "invalid_request", f"the request has two {name.decode().title()} headers; send one")
        authority = dict(headers).get(b"host")
        if authority is None:  # of HTTP/1.0, which no browser speaks
            return
        host = _host(authority)
        allowed = self._settings.allowed_hosts
        local = not self._keyring and self._settings.loopback
        if host.lower() in map(str.lower, allowed) or (not allowed and (not local or is_loopback(host.lower()))):
            return
        raise _Refused(
            421, "unknown_host", f"the guard is not called {host[:100]!r}; add the name to allowed_hosts in [proxy]"
        )

    def _refuse_foreign_pages(self, headers: list[tuple[bytes, bytes]]) -> None:
        """A web page in this machine's browser can reach loopback too, and spend upstream's key: only local pages may."""
        origin = dict(headers).get(b"origin")
        if origin is None or not self._settings.loopback:
            return
        if not is_loopback(_host(origin.partition(b"://")[2])):
            raise _Refused(403, "foreign_origin", "without API keys, only pages from this machine may call the guard")

    @contextmanager
    def _place(self, client: str, path: str) -> Iterator[Callable[[], None]]:
        """Holds one of the client's places until the context ends or the yielded function is called."""
        if path in UNCOUNTED:
            yield lambda: None
            return
        if self._open[client] >= self._settings.streams_per_client:
            raise _Refused(
                429,
                "too_many_streams",
                f"{self._settings.streams_per_client} requests of this client are being answered; wait for one to end",
                {"retry-after": "1"},
            )
        self._open[client] += 1
        held = True

        def leave() -> None:
            nonlocal held
            if not held:
                return
            held = False
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

        try:
            yield leave
        finally:
            leave()

    def _keep_apart(self, scope: Scope, body: bytes) -> None:
        if not self._shared_account or scope["path"] in OWN_PATHS or scope["path"].startswith("/guard/"):
            return
        raw_path = (scope.get("raw_path") or scope["path"].encode()).decode("ascii", "replace")
        reason = shared_account.refusal(scope["method"], raw_path, body, scope["query_string"].decode("latin-1"))
        if reason is not None:
            raise _Refused(403, "shared_account", reason)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        max_bytes = self._settings.max_body_bytes
        too_large = _Refused(
            413, "request_too_large", f"the request has more than {max_bytes:,} bytes; send less at once"
        )
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > max_bytes:
            raise too_large
        chunks, size = [], 0
        try:
            async with asyncio.timeout(self._settings.body_timeout_s):
                async for chunk in Request(scope, receive).stream():
                    chunks.append(chunk)
                    size += len(chunk)
                    if size > max_bytes:
                        raise too_large
        except ClientDisconnect:
            raise _Refused(400, "client_disconnected", "the client went away before its request was complete") from None
        except TimeoutError:
            seconds = f"{self._settings.body_timeout_s:g} s"
            raise _Refused(408, "request_timeout", f"the request did not arrive within {seconds}") from None
        return b"".join(chunks)


class _Refused(Exception):
    def __init__(self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.response = error_response(status, message, code, headers)


def _key(name: bytes, value: bytes) -> bytes:
    if name != b"authorization":
        return value.strip()
    scheme, _, key = value.strip().partition(b" ")
    return key.strip() if scheme.lower() == b"bearer" else b""


def _host(authority: bytes) -> str:
    """The name in `Host`, or in an origin without its scheme; empty when it is none."""
    # A URL's parser reads "[::1].evil.example" as "::1".
    match = _AUTHORITY.fullmatch(authority.decode("latin-1"))
    return match.group(1).strip("[]") if match else ""


def _check_json(scope: Scope, body: bytes) -> None:
    """Refuses deeply nested JSON on the guard's own routes: FastAPI would walk through it at any depth."""
    if body and (scope["path"] in OWN_PATHS or scope["path"].startswith("/guard/")):
        try:
            read_json(body)
        except ValueError as exc:
            raise _Refused(400, "invalid_request", f"the request's body is not JSON: {exc}") from None


def _leave_at_end(send: Send, leave: Callable[[], None]) -> Send:
    """Wraps `send` to free the place before the last byte, so that the client may ask again at once."""

    async def last(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            leave()
        await send(message)

    return last


def _replay(body: bytes, receive: Receive) -> Receive:
    """Replays the body, then passes on the server's next message: that the client went away."""
    sent = False

    async def receive_body() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body
