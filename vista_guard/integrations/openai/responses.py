"""The responses API: a whole response, with what the guard delivers in place of what it withheld; and the texts of an event."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from openai.types.responses import Response
from openai.types.responses.response import IncompleteDetails

from vista_guard.errors import InputError
from vista_guard.integrations.openai.chat import FILTERED, AskAgain, summed_usage
from vista_guard.integrations.openai.requests import Asked, joined, output_documents, said
from vista_guard.integrations.openai.surface import Surface, mark
from vista_guard.integrations.openai_api import BINDING
from vista_guard.stream.gates import Delta, Found, Passed
from vista_guard.types import TurnReport

TEXT_DONE = "response.output_text.done"

Key = tuple[str, int]
"""Id of an output item, and place of the text in its content."""


async def judge_response(
    surface: Surface, asked: Asked, response: Response, again: AskAgain | None
) -> tuple[Response, dict[int, TurnReport]]:
    """The response, maybe another one than was given, and a report for every text of it.

    One after the other: a later text may lean on an earlier. Only the response with a single text is asked for again.
    """
    reports: dict[int, TurnReport] = {}
    if asked.structured:
        return response, reports
    if again is not None and len(_spoken(response)) == 1:
        response, report = await _judge_again(surface, asked, response, again)
        return response, {0: report}
    asked = grounded(asked, response.output or [])
    for part in _spoken(response):
        reports[len(reports)] = await surface.judge(after(asked, reports), part.text)
    return response, reports


async def _judge_again(
    surface: Surface, asked: Asked, response: Response, ask: AskAgain
) -> tuple[Response, TurnReport]:
    last = response

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal last
        answer: Response = await ask(draft, note)
        if len(_spoken(answer)) > 1 or answer.status == "failed" or not answer.output:
            raise InputError("the answer failed, is empty, or has several texts, each of which is a turn")
        answer.usage = summed_usage(answer.usage, last.usage)
        last = answer
        async for part in _parts(answer):
            yield part

    report = await surface.judge_whole(asked, _parts(response), again)
    return last, report


async def _parts(response: Response) -> AsyncGenerator[Delta, None]:
    yield Found(output_documents(response.output or []))
    for part in _spoken(response):
        yield part.text
    yield Passed(None, binding=any(item.type in BINDING for item in response.output or []))


def deliver_response(surface: Surface, asked: Asked, response: Response, reports: Mapping[int, TurnReport]) -> None:
    """Puts what is delivered into the response.

    Raises:
        Blocked: a text was withheld, and `on_block` is raise.
    """
    surface.tell(reports.values())
    for part, report in zip(_spoken(response), reports.values(), strict=False):
        put(part, report)
    finish(surface, asked, response, reports)


def finish(surface: Surface, asked: Asked, response: Response, reports: Mapping[int, TurnReport]) -> None:
    """Completes a response: says what was withheld, and who may go on from it."""
    if any(report.blocked for report in reports.values()):
        response.status = "incomplete"
        response.incomplete_details = IncompleteDetails(reason=FILTERED)
        for item in response.output or []:
            cut_short(item, reports)
    mark(response, reports)
    conversation = after(grounded(asked, response.output or []), reports).conversation
    surface.chains.put(response.id, conversation)
    surface.chains.put(asked.chain, conversation)


def cut_short(item: Any, reports: Mapping[Any, TurnReport]) -> None:
    """An item with a withheld text is incomplete."""
    withheld = {report.response for report in reports.values() if report.blocked}
    if any(part.text in withheld for _, part in _item_texts(item)):
        item.status = "incomplete"


def put(part: Any, report: TurnReport) -> None:
    """Puts what is delivered in place of a text."""
    if part.text == report.response:
        return
    part.text = report.response
    if hasattr(part, "annotations"):
        part.annotations = []  # They point into the text that was replaced.
    if getattr(part, "logprobs", None):
        part.logprobs = []


def grounded(asked: Asked, output: list[Any]) -> Asked:
    """The request with what tools at OpenAI found."""
    return replace(asked, documents=joined(asked.documents, output_documents(output)))


def after(asked: Asked, reports: Mapping[Any, TurnReport]) -> Asked:
    """The request, with the answers so far."""
    texts = (report.response for report in reports.values() if report.response)
    return replace(asked, conversation=said(asked.conversation, texts, asked.documents))


def texts_of(event: Any) -> list[tuple[Key, Any]]:
    """The texts that an event holds, with what holds them."""
    if event.type == TEXT_DONE:
        return [((event.item_id, event.content_index), event)]
    part = getattr(event, "part", None)
    if part is not None and getattr(part, "type", None) == "output_text":
        return [((event.item_id, event.content_index), part)]
    if getattr(event, "item", None) is not None:
        return _item_texts(event.item)
    response = getattr(event, "response", None)
    return [] if response is None else _response_texts(response)


def _spoken(response: Response) -> list[Any]:
    return [part for _, part in _response_texts(response) if part.text.strip()]


def _response_texts(response: Response) -> list[tuple[Key, Any]]:
    return [text for item in response.output or [] for text in _item_texts(item)]


def _item_texts(item: Any) -> list[tuple[Key, Any]]:
    if getattr(item, "type", None) != "message":
        return []
    parts = enumerate(item.content or [])
    return [((item.id, place), part) for place, part in parts if getattr(part, "type", None) == "output_text"]
