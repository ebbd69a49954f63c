"""The HTTP server underneath: uvicorn in a thread of its own, and a hold on its connections, so that they can break."""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
import time
from typing import TYPE_CHECKING, Any

from vista_guard._extras import require
from vista_guard.errors import VistaGuardError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp, Receive, Scope

_STARTING_SECONDS = 30.0
_STOPPING_SECONDS = 30.0


def require_extra() -> None:
    """Raises ConfigError when the server's libraries are not installed."""
    require("ScriptedChatServer", "openai", "starlette", "uvicorn", extra="testing")


class Loopback:
    """Serves an ASGI application on 127.0.0.1, on a port that the system chooses, until it is stopped."""

    def __init__(self, app: ASGIApp) -> None:
        self._transports: dict[tuple[str, int], asyncio.Transport] = {}
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._socket.getsockname()[1]
        self._server = self._uvicorn(app)
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name=f"scripted-chat-{self.port}", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _STARTING_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise VistaGuardError(f"the scripted chat server did not start on 127.0.0.1:{self.port}; try again")
            time.sleep(0.002)

    def stop(self) -> None:
        """Breaks off what is open and waits until the thread has ended."""
        self._loop.call_soon_threadsafe(self._break_off)
        self._thread.join(_STOPPING_SECONDS)
        if self._thread.is_alive():
            raise VistaGuardError(
                f"the scripted chat server on 127.0.0.1:{self.port} did not stop: its script does not return"
            )

    async def pause(self, until: float) -> None:
        """Waits until this `time.monotonic()`, or until the server is stopped."""
        seconds = until - time.monotonic()
        if seconds > 0:
            try:
                await asyncio.wait_for(self._stopping.wait(), seconds)
            except TimeoutError:
                return

    async def gone(self, receive: Receive) -> None:
        """Waits until the caller has gone away."""
        while (await receive())["type"] != "http.disconnect":
            pass

    async def close(self, scope: Scope, receive: Receive, *, reset: bool) -> None:
        """Closes the caller's connection in the middle of whatever it is doing; with `reset` the hard way."""
        transport = self._transports.get(tuple(scope["client"]))
        if transport is not None and reset:
            # Lingering for no time makes the kernel send RST instead of FIN.
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif transport is not None:
            transport.close()
        await self.gone(receive)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))

    def _break_off(self) -> None:
        self._stopping.set()
        self._server.should_exit = True
        for transport in list(self._transports.values()):
            transport.abort()

    def _uvicorn(self, app: ASGIApp) -> uvicorn.Server:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol

        transports = self._transports

        class Kept(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                # Or a kept connection's answer waits 40 ms for the acknowledgement of its head.
                transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.client is not None:
                    transports[self.client] = transport

            def connection_lost(self, exc: Exception | None) -> None:
                if self.client is not None:
                    transports.pop(self.client, None)
                super().connection_lost(exc)

        settings: dict[str, Any] = {"access_log": False, "log_config": None, "log_level": "critical"}
        return uvicorn.Server(
            uvicorn.Config(
                app,
                http=Kept,
                ws="none",
                lifespan="off",
                loop="none",
                timeout_keep_alive=300,
                timeout_graceful_shutdown=10,
                **settings,
            )
        )
