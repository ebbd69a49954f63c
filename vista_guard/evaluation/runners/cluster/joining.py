"""A Ray cluster is joined, or started on this machine. What is wrong with an address is said before Ray tries it for minutes."""

from __future__ import annotations

import os
import secrets
import socket
import warnings
from typing import Any

from vista_guard._extras import require
from vista_guard.errors import ConfigError

REACH_SECONDS = 5.0
STORE_BYTES = 200_000_000
"""Shared memory of a cluster that is started here. Reports are small and travel outside of it."""

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of gRPC begins, with settings that change nothing."""
HEADER = 9
SETTINGS = 4
"""Length of a frame's header, and what stands in the fourth byte of the one that a server of gRPC begins with."""
WHICH_PORT = "Give the port of ray start --head, 6379 if it was told none; 8265 is its dashboard, 10001 is for ray://"


def ray_library() -> Any:
    """The library. Its own types would make a checked module of one that is to be checked without it."""
    import ray

    return ray


def connect(address: str | None, workers: int | None) -> bool:
    """Joins a cluster, or starts one here; does nothing in a process that has joined one. Whether one was started or joined.

    Raises:
        ConfigError: see `RaySystem.start`.
    """
    require("--engine ray", "ray", extra="ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Nothing is told to anybody.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if ray_library().is_initialized():
        return False
    if address is not None and "://" in address:
        raise ConfigError(
            f"--address is {address}; reports stream back to a driver on the cluster itself. Run vista-guard eval on its head "
            "node with --address auto, or by ray job submit"
        )
    address = address or os.environ.get("RAY_ADDRESS") or "local"  # A job is told its cluster by the variable.
    options: dict[str, Any] = {"address": address, "logging_level": "error", "log_to_driver": False}
    if address == "local":
        _check_cores(workers)
        _keep_token_to_ourselves()
        options |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    elif address != "auto":
        _check_reachable(address)
    _init(address, options)
    return True


def _init(address: str, options: dict[str, Any]) -> None:
    from ray.exceptions import RayError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray_library().init(**options)
        except (ConnectionError, RuntimeError, ValueError, RayError) as exc:
            raise ConfigError(f"no Ray cluster at {address}: {_why(exc)}") from exc


def _why(exc: BaseException) -> str:
    """What Ray says, and what to do about a token: Ray tells of that in the cause of its error, in fifty lines."""
    if "token" in f"{exc} {exc.__cause__}".lower():
        return (
            "it asks for a token. Set RAY_AUTH_MODE=token, and give the token of its head node (ray get-auth-token) as "
            "RAY_AUTH_TOKEN or in ~/.ray/auth_token"
        )
    told = " ".join(str(exc).split())
    return f"{told}. {WHICH_PORT}" if told.startswith("Failed to connect") else told


def _keep_token_to_ourselves() -> None:
    """Guards a cluster that is started here by a token of its own.

    Ray would write one to the user's home, and every `ray start` that finds one there asks all nodes and drivers for it.
    """
    if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


def _check_cores(workers: int | None) -> None:
    """A cluster that is started here has the cores of this machine, whatever Ray would be told."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is not None and workers > cores:
        raise ConfigError(
            f"--workers is {workers}, and this machine has {cores} cores; each worker takes one. To judge more conversations at "
            "once, as for a model behind an API, give --each"
        )


def _check_reachable(address: str) -> None:
    """Ray itself tries for minutes, and then ends the process."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ConfigError(f"--address is {address!r}; give HOST:PORT of the cluster's head node, or auto")
    try:
        with socket.create_connection((host, int(port)), timeout=REACH_SECONDS) as open_socket:
            if _speaks_grpc(open_socket):
                return
    except TimeoutError as exc:
        raise ConfigError(f"no Ray cluster at {address}: no answer within {REACH_SECONDS:g} seconds") from exc
    except (OSError, OverflowError) as exc:
        raise ConfigError(f"no Ray cluster at {address}: {getattr(exc, 'strerror', None) or exc}") from exc
    raise ConfigError(f"no Ray cluster at {address}: something else listens there. {WHICH_PORT}")


def _speaks_grpc(open_socket: socket.socket) -> bool:
    open_socket.sendall(GREETING)
    answer = b""
    while len(answer) < HEADER and (more := open_socket.recv(HEADER - len(answer))):
        answer += more
    return len(answer) == HEADER and answer[3] == SETTINGS
