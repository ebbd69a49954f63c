"""The proxy's own routes: check a turn, look at and forget conversations, LiteLLM's guardrail contract, health."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from pydantic_core import PydanticSerializationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from vista_guard.errors import InputError, VistaGuardError
from vista_guard.openai_api.wire import Json, check_name
from vista_guard.protocols import ReportStore
from vista_guard.proxy.identity import Conversations, own_report, scoped
from vista_guard.proxy.security import check_documents
from vista_guard.proxy.settings import ProxySettings
from vista_guard.reading.chat_json import to_conversation
from vista_guard.types import Action, Conversation, Passage, TurnReport

if TYPE_CHECKING:
    from vista_guard.guard import Guard

logger = logging.getLogger("vista_guard.proxy")

LITELLM_PATH = "/beta/litellm_basic_guardrail_api"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
MOST_TEXTS = 64
MOST_KNOWN = 10_000
PROBE = "readyz"
REPORTS = "reports"

_CHECK_EXAMPLE: JsonValue = {
    "messages": [
        {"role": "user", "content": "When does the museum open?"},
        {"role": "assistant", "content": "The museum opens at nine."},
    ],
    "documents": [{"id": "hours", "text": "The museum is open from nine to five."}],
    "conversation_id": "visit-7",
}
_GUARDRAIL_EXAMPLE: JsonValue = {
    "input_type": "response",
    "texts": ["The museum opens at nine."],
    "structured_messages": [{"role": "user", "content": "When does the museum open?"}],
    "additional_provider_specific_params": {"documents": ["The museum is open from nine to five."]},
}
PROBE_TIMEOUT_S = 5.0


class CheckRequest(BaseModel):
    """A conversation whose last assistant turn is to be judged, as chat messages."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [_CHECK_EXAMPLE]})

    messages: list[Json]
    documents: list[str | Json] = Field(default_factory=list)
    conversation_id: str | None = None


class ConversationView(BaseModel):
    """A stored conversation: its reports, oldest first, and its knowledge."""

    conversation_id: str
    reports: list[TurnReport]
    knowledge: list[Passage]


class Forgotten(BaseModel):
    """How much was forgotten."""

    conversation_id: str
    claims: int
    reports: int


class GuardrailRequest(BaseModel):
    """The request of LiteLLM's generic guardrail; its other fields are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [_GUARDRAIL_EXAMPLE]})

    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    structured_messages: list[Json] | None = None
    additional_provider_specific_params: dict[str, Any] | None = None


class GuardrailAnswer(BaseModel):
    """The answer that LiteLLM's generic guardrail reads."""

    action: Literal["NONE", "BLOCKED", "GUARDRAIL_INTERVENED"]
    blocked_reason: str | None = None
    texts: list[str] | None = None


class ErrorDetail(BaseModel):
    """An error in the form of OpenAI's API."""

    message: str
    type: str
    param: str | None
    code: str


class Failure(BaseModel):
    """An error's body."""

    error: ErrorDetail


_FAILURE: Json = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Failure"}}}}
_FAILURES: dict[int | str, Json] = {
    # The first brings the schema that the others refer to: FastAPI makes a validator for each one that names a model.
    400: {"model": Failure},
    **dict.fromkeys((401, 408, 413, 429, 500, 503, 504), _FAILURE),
}


def router(guard: Guard, settings: ProxySettings) -> APIRouter:
    """`/guard/…`, LiteLLM's route, `/healthz` and `/readyz`. Include it before any route that takes every path."""
    check_documents(guard, settings)
    conversations = Conversations(guard, settings)
    routes = APIRouter(responses=_FAILURES)
    _add_check(routes, conversations, settings)
    _add_conversations(routes, guard, settings)
    _add_litellm(routes, conversations, settings)
    _add_health(routes, guard, settings)

    @routes.api_route("/guard", methods=METHODS, include_in_schema=False)
    @routes.api_route("/guard/{rest:path}", methods=METHODS, include_in_schema=False)
    async def unknown() -> None:
        # Requests meant for the guard, which hold conversations, never go on to upstream.
        raise HTTPException(404, "the guard has no such route; it has /guard/check and /guard/conversations/{id}")

    return routes


def _add_check(routes: APIRouter, conversations: Conversations, settings: ProxySettings) -> None:
    @routes.post("/guard/check")
    async def check(body: CheckRequest, request: Request) -> TurnReport:
        """Judges the conversation's last assistant turn. With a `conversation_id`, what it establishes is remembered."""
        tenant = request.state.tenant
        identity = None if body.conversation_id is None else _stored_id(tenant, body.conversation_id)
        patterns = settings.context_patterns
        conversation = to_conversation(
            body.messages, conversation_id=identity, documents=body.documents, patterns=patterns
        )
        return own_report(tenant, await _check_in_time(conversations.guard(tenant), conversation, settings))


def _add_conversations(routes: APIRouter, guard: Guard, settings: ProxySettings) -> None:
    stores = _report_stores(guard)

    @routes.get("/guard/conversations/{conversation_id:path}", responses={404: _FAILURE})
    async def show(
        conversation_id: str, request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 100
    ) -> ConversationView:
        """The conversation's newest reports, and its knowledge."""
        tenant = request.state.tenant
        stored = _stored_id(tenant, conversation_id)
        async with _in_time(settings):
            reports = [report for store in stores for report in await store.reports(stored, limit=limit)]
            knowledge = await guard.parts.knowledge.recall(stored, persona=None, query="", limit=MOST_KNOWN)
            if not reports and not knowledge and not await guard.parts.knowledge.delivered(stored):
                raise HTTPException(404, f"nothing is known of conversation {conversation_id!r}")
        own_reports = [own_report(tenant, report) for report in reports]
        return ConversationView(conversation_id=conversation_id, reports=own_reports, knowledge=list(knowledge))

    @routes.delete("/guard/conversations/{conversation_id:path}")
    async def forget(conversation_id: str, request: Request) -> Forgotten:
        """Forgets what the conversation established and deletes its reports. Again and again does no harm."""
        stored = _stored_id(request.state.tenant, conversation_id)
        async with _in_time(settings):
            reports = sum([await store.forget(stored) for store in stores])
            claims = await guard.aforget(stored)
        return Forgotten(conversation_id=conversation_id, claims=claims, reports=reports)


def _add_litellm(routes: APIRouter, conversations: Conversations, settings: ProxySettings) -> None:
    @routes.post(LITELLM_PATH, response_model_exclude_none=True)
    async def guardrail(body: GuardrailRequest, request: Request) -> GuardrailAnswer:
        """LiteLLM's generic guardrail API, for `mode: post_call`: what users say isn't judged.

        `documents` and `conversation_id` are read from `additional_provider_specific_params`. Without a `conversation_id` nothing
        is remembered: LiteLLM also sends what of a stream has come so far.
        """
        texts = body.texts or []
        if len(texts) > MOST_TEXTS:
            raise HTTPException(413, f"{len(texts)} texts were sent; {MOST_TEXTS} are the most")
        if body.input_type == "request" or settings.off:
            return GuardrailAnswer(action="NONE")
        tenant = request.state.tenant
        delivered = []
        for text in texts:
            if not text.strip():
                delivered.append(text)
                continue
            conversation = _answered_conversation(body, text, tenant, settings)
            report = await _check_in_time(conversations.guard(tenant), conversation, settings)
            if report.decision.action is Action.BLOCK:
                return GuardrailAnswer(action="BLOCKED", blocked_reason=report.response)
            delivered.append(report.response)
        if delivered == texts:
            return GuardrailAnswer(action="NONE")
        return GuardrailAnswer(action="GUARDRAIL_INTERVENED", texts=delivered)


def _add_health(routes: APIRouter, guard: Guard, settings: ProxySettings) -> None:
    @routes.get("/healthz")
    async def alive() -> dict[str, str]:
        """The process answers."""
        return {"status": "ok"}

    answered: set[str] = set()

    @routes.get("/readyz")
    async def ready() -> JSONResponse:
        """Knowledge and documents answer, and reports have answered once. The judge was loaded before the server started;
        upstream is named, not asked."""
        checks = await _readiness(guard)
        failing = {name for name, answer in checks.items() if answer != "ok"}
        answered.update(checks.keys() - failing)
        # Later reports wait in memory, and answers go on: their database must not take all guards out of service at once.
        status = "not ready" if failing - {name for name in answered if name.startswith(REPORTS)} else "ready"
        content: Json = {"status": status, "judge": guard.parts.judge.info.name, "checks": checks}
        if settings.names_upstream:  # who asks needs no key: elsewhere only the log says it
            content["upstream"] = settings.upstream_address
        return JSONResponse(content, 200 if status == "ready" else 503)


def _answered_conversation(body: GuardrailRequest, text: str, tenant: str, settings: ProxySettings) -> Conversation:
    options = body.additional_provider_specific_params or {}
    messages: Sequence[Mapping[str, object]] = body.structured_messages or []
    while messages and messages[-1].get("role") == "assistant" and messages[-1].get("content") == text:
        messages = messages[:-1]
    conversation_id = options.get("conversation_id")
    identity = None if conversation_id is None else _stored_id(tenant, str(conversation_id))
    answer = {"role": "assistant", "content": text}
    documents = options.get("documents") or ()
    patterns = settings.context_patterns
    return to_conversation([*messages, answer], conversation_id=identity, documents=documents, patterns=patterns)


def _stored_id(tenant: str, name: str) -> str:
    return scoped(tenant, check_name(name, "the conversation's id"))


async def _check_in_time(guard: Guard, conversation: Conversation, settings: ProxySettings) -> TurnReport:
    try:
        conversation.model_dump_json()  # Half a surrogate pair can be read from JSON, but not be written.
    except PydanticSerializationError as exc:
        raise InputError(f"the conversation holds half a surrogate pair: {exc}; repair it") from exc
    async with _in_time(settings):
        return await guard.acheck(conversation)


@asynccontextmanager
async def _in_time(settings: ProxySettings) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(settings.request_timeout_s):
            yield
    except TimeoutError:
        seconds = f"{settings.request_timeout_s:g} s"
        raise HTTPException(504, f"the guard did not answer within {seconds}; send less at once") from None


def _report_stores(guard: Guard) -> list[ReportStore]:
    readable = [sink for sink in guard.parts.sinks if hasattr(sink, "reports") and hasattr(sink, "forget")]
    return [cast(ReportStore, sink) for sink in readable]


async def _readiness(guard: Guard) -> dict[str, str]:
    probes: dict[str, Awaitable[object]] = {"knowledge": guard.parts.knowledge.delivered(PROBE)}
    if guard.parts.documents is not None:
        probes["documents"] = guard.parts.documents.search(PROBE, 1)
    for number, store in enumerate(_report_stores(guard), 1):
        probes[REPORTS if number == 1 else f"{REPORTS}_{number}"] = store.reports(PROBE, limit=1)
    answers = await asyncio.gather(*(_probe(name, probe) for name, probe in probes.items()))
    return dict(zip(probes, answers, strict=True))


async def _probe(name: str, probe: Awaitable[object]) -> str:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT_S):
            await probe
    except (VistaGuardError, TimeoutError) as exc:
        logger.error("/readyz: %s: %s", name, str(exc) or f"no answer in {PROBE_TIMEOUT_S:g} s")
        return "unreachable"
    return "ok"
