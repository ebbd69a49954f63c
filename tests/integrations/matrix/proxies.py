"""One server for the proxies of many tests: each is mounted for as long as its test runs."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from tests.proxy.serving import serving


class SharedProxy:
    """A server on loopback that answers with the application that is mounted.

    Starting and stopping a server takes a quarter of a second, and there are some eighty tests.
    """

    def __init__(self) -> None:
        self.url = ""
        self._app: Any = None
        self._loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def running(self) -> Iterator[SharedProxy]:
        """Serves until the end of the block."""
        with serving(self) as self.url:
            yield self

    @contextmanager
    def mounted(self, app: Any) -> Iterator[str]:
        """Serves this application, its own start and end included; its URL."""
        life = app.router.lifespan_context(app)
        self._await(life.__aenter__())
        self._app = app
        try:
            yield self.url
        finally:
            self._app = None
            self._await(life.__aexit__(None, None, None))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        self._loop = asyncio.get_running_loop()
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})

    def _await(self, step: Coroutine[Any, Any, Any]) -> None:
        assert self._loop is not None, "the server is not running"
        asyncio.run_coroutine_threadsafe(step, self._loop).result(20)
