"""The application: the guard's own routes, and everything else in front of upstream, with their schema for `/openapi.json`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request
from starlette.responses import JSONResponse, Response

import vista_guard
from vista_guard.errors import VistaGuardError
from vista_guard.judges.composed.ensemble import warm
from vista_guard.openai_api.wire import Json, Problem, judged_api
from vista_guard.proxy import admin, metrics, security
from vista_guard.proxy.identity import shares_documents
from vista_guard.proxy.routes import Proxy
from vista_guard.proxy.security import error_response
from vista_guard.proxy.settings import ProxySettings
from vista_guard.proxy.upstream import Upstream
from vista_guard.stream.gates import check_gate
from vista_guard.telemetry.propagation import Scope, TracedRequests

if TYPE_CHECKING:
    from vista_guard.guard import Guard


_TEXT: Final[Json] = {"type": "string", "minLength": 1}
_DOCUMENT: Final[Json] = {
    "anyOf": [
        _TEXT,
        {
            "type": "object",
            "required": ["text"],
            "properties": {"id": _TEXT, "text": _TEXT, "title": {"type": "string"}, "url": {"type": "string"}},
        },
    ]
}
_DOCUMENTS: Final[Json] = {
    "type": "array",
    "items": _DOCUMENT,
    "description": "Documents to verify the answer against. The guard's own field: upstream does not see it.",
}
_STREAM: Final[Json] = {"type": "boolean", "description": "Whether the answer comes as server-sent events."}
_MESSAGE: Final[Json] = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {"role": {"enum": ["system", "user", "assistant"]}, "content": _TEXT},
}
_ASKED: Final = {"role": "user", "content": "When does the museum open?"}
_NOTES: Final = [{"id": "hours", "text": "The museum is open from nine to five."}]


def _body(required: list[str], properties: Json, *examples: Json) -> Json:
    schema = {"type": "object", "required": required, "properties": properties}
    by_name = {f"example {number}": {"value": example} for number, example in enumerate(examples, 1)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema, "examples": by_name}}}}


CHAT: Final = _body(
    ["model", "messages"],
    {
        "model": _TEXT,
        "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
        "stream": _STREAM,
        "documents": _DOCUMENTS,
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    {"model": "gpt-4o-mini", "messages": [_ASKED], "documents": _NOTES},
    {"model": "gpt-4o-mini", "messages": [_ASKED], "documents": _NOTES, "stream": True},
)
RESPONSES: Final = _body(
    ["model", "input"],
    {
        "model": _TEXT,
        "input": {"anyOf": [_TEXT, {"type": "array", "items": _MESSAGE, "minItems": 1}]},
        "instructions": {"type": "string"},
        "stream": _STREAM,
        "documents": _DOCUMENTS,
    },
    {"model": "gpt-4o-mini", "input": "When does the museum open?", "documents": _NOTES},
    {"model": "gpt-4o-mini", "input": [_ASKED], "documents": _NOTES, "stream": True},
)

logger = logging.getLogger("vista_guard.proxy")

_FAILURES: dict[int | str, Json] = {code: {"description": "An error in OpenAI's shape."} for code in ("4XX", "5XX")}


def build_app(guard: Guard, settings: ProxySettings) -> FastAPI:
    """Builds the proxy. At shutdown it closes its upstream connections, not the guard."""
    check_gate(settings.gate, guard.parts.policy, "proxy.gate")
    upstream = Upstream(settings)
    proxy = Proxy(guard, settings, upstream)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        if settings.off:
            logger.warning("the proxy is off (proxy.off): nothing that upstream says is judged")
        await _warm(guard)
        await _warn_of_unread_documents(guard, settings)
        try:
            yield
        finally:
            await upstream.aclose()

    app = FastAPI(
        title="vista-guard proxy",
        version=vista_guard.__version__,
        lifespan=lifespan,
        redirect_slashes=False,
        docs_url=None,
        redoc_url=None,
        # Its own spans would double ours, its records of errors may quote the conversation, and its exporters send all twice.
        # Versions without telemetry of their own leave this unread.
        telemetry={"tracing": False, "logs": False, "auto_configure": False},
    )
    metrics.install(app, guard.parts.telemetry)
    # Behind the security middleware: callers without a key start no spans.
    app.add_middleware(TracedRequests, telemetry=guard.parts.telemetry, is_judged=_is_judged)
    security.install(app, settings)
    app.add_exception_handler(Problem, _problem_response)
    app.include_router(admin.router(guard, settings))
    _add_routes(app, proxy)
    return app


def _is_judged(scope: Scope) -> bool:
    return scope["method"] == "POST" and judged_api(str(scope["path"])) is not None


def _add_routes(app: FastAPI, proxy: Proxy) -> None:
    @app.post("/v1/chat/completions", openapi_extra=CHAT, responses=_FAILURES)
    async def chat_completions(request: Request) -> Response:
        """Chat completions of upstream, judged; also as server-sent events."""
        return await proxy.answer(request)

    @app.post("/v1/responses", openapi_extra=RESPONSES, responses=_FAILURES)
    async def responses(request: Request) -> Response:
        """Responses of upstream, judged; also as server-sent events."""
        return await proxy.answer(request)

    @app.api_route("/{path:path}", methods=admin.METHODS, include_in_schema=False)
    async def anything_else(request: Request) -> Response:
        return await proxy.answer(request)


async def _warm(guard: Guard) -> None:
    """Loads the models before the first request, so that none waits for them. What fails here fails each turn, which says so."""
    try:
        await asyncio.to_thread(warm, guard.parts.judge)
    except VistaGuardError as exc:
        logger.error("%s", exc)


async def _warn_of_unread_documents(guard: Guard, settings: ProxySettings) -> None:
    documents = guard.parts.documents
    if documents is None:
        return
    try:
        async with asyncio.timeout(admin.PROBE_TIMEOUT_S):
            passages = await documents.search(admin.PROBE, 1)  # which also loads what the first request's search would
    except (VistaGuardError, TimeoutError):
        return  # /readyz says so
    if passages and not shares_documents(settings):
        logger.warning(
            "documents were added for no tenant, and no tenant retrieves them: set shared_documents = true in [proxy] when they "
            "are for all, or add them anew with vista-guard documents add --tenant"
        )


async def _problem_response(_: Request, exc: Exception) -> JSONResponse:
    status, code = (exc.status, exc.code) if isinstance(exc, Problem) else (500, "internal_error")
    return error_response(status, str(exc), code)
