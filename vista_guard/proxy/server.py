"""The proxy's server: uvicorn on a bound socket, its log, and clients that stop reading."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import uvicorn
from uvicorn.config import LOGGING_CONFIG

from vista_guard._listening import stop_signals
from vista_guard.errors import VistaGuardError
from vista_guard.guard import Guard
from vista_guard.proxy.app import build_app
from vista_guard.proxy.settings import ProxySettings


def close_on_unread(listener: socket.socket, seconds: float) -> None:
    """Makes the system close connections whose client leaves data unread for this long, which the server itself cannot see.
    Does nothing where the system cannot, as outside Linux."""
    option: int | None = getattr(socket, "TCP_USER_TIMEOUT", None)
    if option is not None:
        listener.setsockopt(socket.IPPROTO_TCP, option, max(1, int(seconds * 1000)))


def run(guard: Guard, settings: ProxySettings, listener: socket.socket, tell: Callable[[str], None]) -> int:
    """Serves until a signal; returns its number, 0 when the server stopped by itself.

    Args:
        guard: judges what passes; closing it is the caller's.
        settings: those of the proxy.
        listener: the bound socket.
        tell: shows the line that says what is guarded, and where.

    Raises:
        VistaGuardError: the app could not start.
    """
    close_on_unread(listener, settings.client_idle_timeout_s)
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(guard, settings),
            log_config=_log_config(),
            server_header=False,
            ws="none",  # an upgrade comes as the request that it is, and is refused with a reason
            proxy_headers=bool(settings.trusted_proxies),
            forwarded_allow_ips=list(settings.trusted_proxies),
            limit_concurrency=settings.max_connections,
            timeout_graceful_shutdown=settings.shutdown_timeout_s,
        )
    )
    with stop_signals() as signals:
        listener.listen(2048)
        tell(_greeting(settings, guard, listener))
        server.run(sockets=[listener])
    if not server.started:
        raise VistaGuardError("the server could not start; its log above says why")
    return signals[0] if signals else 0


def _log_config() -> dict[str, Any]:
    """Returns uvicorn's log configuration with times and our log added, and queries removed, which hold whatever clients send."""
    config = deepcopy(LOGGING_CONFIG)
    for formatter in config["formatters"].values():
        formatter |= {"fmt": f"%(asctime)s {formatter['fmt']}", "datefmt": "%Y-%m-%dT%H:%M:%S%z"}
    config["filters"] = {"without_query": {"()": WithoutQuery}}
    config["handlers"]["access"]["filters"] = ["without_query"]
    config["loggers"]["vista_guard"] = {"handlers": ["default"], "level": "INFO", "propagate": False}
    return config


class WithoutQuery(logging.Filter):
    """Removes the query from the path of an access record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Returns True."""
        if isinstance(record.args, tuple) and len(record.args) == 5:
            client, method, path, version, status = record.args
            record.args = (client, method, str(path).partition("?")[0], version, status)
        return True


def _greeting(settings: ProxySettings, guard: Guard, listener: socket.socket) -> str:
    host = f"[{settings.host.strip('[]')}]" if ":" in settings.host else settings.host
    who = f"tenants with keys: {len(settings.keys)}" if settings.keys else "no keys: anyone who can connect may call"
    where = f"guarding {settings.upstream} on http://{host}:{listener.getsockname()[1]}/v1"
    if settings.off:
        return f"NOT {where} (OFF: NOTHING IS JUDGED; {who})"
    return (
        f"{where} (gate {settings.gate}, policy {guard.parts.policy.name}, judge {guard.parts.judge.info.name}; {who})"
    )
