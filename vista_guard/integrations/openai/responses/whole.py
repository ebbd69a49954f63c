"""The responses API: a whole response, with what the guard delivers in place of what it withheld."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from openai.types.responses import Response, ResponseOutputItem
from openai.types.responses.response import IncompleteDetails

from vista_guard.errors import InputError
from vista_guard.integrations.openai.answering import FILTERED, AskAgain, summed_usage
from vista_guard.integrations.openai.client_guard import ClientGuard
from vista_guard.integrations.openai.reports import mark
from vista_guard.integrations.openai.requests import Asked, output_documents
from vista_guard.integrations.openai.responses.texts import (
    HoldsText,
    is_message,
    put_in_place,
    texts_of_item,
    texts_of_response,
)
from vista_guard.integrations.openai_api import BINDING, judge_or_ask_again, with_answer
from vista_guard.stream.gates import Delta, Found, Passed
from vista_guard.stream.source import join_documents
from vista_guard.types import TurnReport

Key = TypeVar("Key")


async def judge_response(
    guard: ClientGuard, asked: Asked, response: Response, again: AskAgain[Response] | None
) -> tuple[Response, dict[int, TurnReport]]:
    """The response, maybe another one than was given, and a report for every text of it.

    One after the other: a later text may lean on an earlier. Only the response with a single text is asked for again.
    """
    reports: dict[int, TurnReport] = {}
    if asked.structured:
        return response, reports
    if again is not None and len(_spoken(response)) == 1:
        ask = partial(_ask_again, again)
        response, report = await judge_or_ask_again(response, _parts, ask, partial(guard.judge_whole, asked))
        return response, {0: report}
    asked = with_found_documents(asked, response.output or [])
    for part in _spoken(response):
        reports[len(reports)] = await guard.judge(after_answers(asked, reports), part.text)
    return response, reports


async def _ask_again(again: AskAgain[Response], draft: str, note: str, before: Response) -> Response:
    response = await again(draft, note)
    if len(_spoken(response)) > 1 or response.status == "failed" or not response.output:
        raise InputError("the answer failed, is empty, or has several texts, each of which is a turn")
    response.usage = summed_usage(response.usage, before.usage)
    return response


async def _parts(response: Response) -> AsyncGenerator[Delta, None]:
    yield Found(output_documents(response.output or []))
    for part in _spoken(response):
        yield part.text
    yield Passed(None, binding=any(item.type in BINDING for item in response.output or []))


def deliver_response(guard: ClientGuard, asked: Asked, response: Response, reports: Mapping[int, TurnReport]) -> None:
    """Puts what is delivered into the response.

    Raises:
        Blocked: a text was withheld, and `on_block` is raise.
    """
    guard.tell(reports.values())
    for part, report in zip(_spoken(response), reports.values(), strict=False):
        put_in_place(part, report)
    finish(guard, asked, response, reports)


def finish(guard: ClientGuard, asked: Asked, response: Response, reports: Mapping[int, TurnReport]) -> None:
    """Completes a response: says what was withheld, and who may go on from it."""
    if any(report.blocked for report in reports.values()):
        response.status = "incomplete"
        response.incomplete_details = IncompleteDetails(reason=FILTERED)
        for item in response.output or []:
            cut_short(item, reports)
    mark(response, reports)
    conversation = after_answers(with_found_documents(asked, response.output or []), reports).conversation
    if response.status == "incomplete" and any(report.blocked for report in reports.values()):
        # What tools were asked, and what was thought, may repeat the draft.
        response.output = [item for item in response.output or [] if is_message(item)]
    guard.chains.put(response.id, conversation)
    guard.chains.put(asked.chain, conversation)


def cut_short(item: ResponseOutputItem, reports: Mapping[Key, TurnReport]) -> None:
    """Marks an item with a withheld text as incomplete."""
    withheld = {report.response for report in reports.values() if report.blocked}
    if is_message(item) and any(text.holder.text in withheld for text in texts_of_item(item)):
        item.status = "incomplete"


def with_found_documents(asked: Asked, output: Sequence[ResponseOutputItem]) -> Asked:
    """The request with what tools at OpenAI found."""
    return replace(asked, documents=join_documents(asked.documents, output_documents(output)))


def after_answers(asked: Asked, reports: Mapping[Key, TurnReport]) -> Asked:
    """The request, with the answers so far."""
    conversation = asked.conversation
    for report in reports.values():
        if report.response:
            conversation = with_answer(conversation, report.response, asked.documents)
    return replace(asked, conversation=conversation)


def _spoken(response: Response) -> list[HoldsText]:
    return [text.holder for text in texts_of_response(response) if text.holder.text.strip()]
