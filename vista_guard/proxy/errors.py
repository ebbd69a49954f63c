"""What an error says to a caller: OpenAI's shape, and nothing about the inside."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from vista_guard.errors import InputError, VistaGuardError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request

logger = logging.getLogger("vista_guard.proxy")


def install_handlers(app: FastAPI) -> None:
    """Makes every error one that tells nothing about the inside."""
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(VistaGuardError, _guard_error)
    app.add_exception_handler(Exception, _bug)


def error_response(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error as OpenAI's clients read it."""
    kind = "server_error" if status >= 500 else "invalid_request_error"
    content = {"error": {"message": message, "type": kind, "param": None, "code": code}}
    return JSONResponse(content, status, headers=None if headers is None else dict(headers))


async def _http_error(_request: Request, exc: Exception) -> JSONResponse:
    status = getattr(exc, "status_code", 500)
    return error_response(status, str(getattr(exc, "detail", "")), f"http_{status}", getattr(exc, "headers", None))


async def _invalid(_request: Request, exc: Exception) -> JSONResponse:
    first = exc.errors()[0] if isinstance(exc, RequestValidationError) else {"loc": (), "msg": "not valid"}
    where = ".".join(str(part) for part in first["loc"] if part != "body") or "the request"
    return error_response(400, f"{where}: {first['msg']}", "invalid_request")


async def _guard_error(request: Request, exc: Exception) -> JSONResponse:
    if isinstance(exc, InputError):
        # Every message about a limit names the setting.
        over = "limits." in str(exc)
        return error_response(413 if over else 400, str(exc), "over_limit" if over else "invalid_request")
    logger.error("%s %r failed: %s", request.method, request.url.path, exc)
    return error_response(503, "the guard cannot judge or remember right now; try again", "guard_unavailable")


async def _bug(_request: Request, _exc: Exception) -> JSONResponse:
    # The server's own log has the traceback.
    return error_response(500, "something went wrong inside the guard; its log says what", "internal_error")
