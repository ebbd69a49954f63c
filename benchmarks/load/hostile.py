"""A hostile upstream among the honest one's answers: its answers, their callers, and the text that nobody may see."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from benchmarks.load.talks import MODEL

if TYPE_CHECKING:
    import httpx2

SECRET = "SECRETVAULT"
"""Placed where nothing is judged: a reader who sees it saw something unjudged."""
ASKED = re.compile(r"hostile (\w+)\b")
BOMB_BYTES = 300_000_000

_STREAM = [(b"content-type", b"text/event-stream")]
_DONE = b"data: [DONE]\n\n"


def _event(delta: Mapping[str, object], **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    event = {"id": "chatcmpl-h", "object": "chat.completion.chunk", "created": 1, "model": MODEL, "choices": [choice]}
    return b"data: " + json.dumps({**event, **more}).encode() + b"\n\n"


def _fields() -> Iterator[bytes]:
    yield _event({"content": "The train leaves. "}, __verbose={"content": SECRET}, system_fingerprint=SECRET * 30)
    yield _event({"content": "It is late.", "thoughts": SECRET}, choices_more=[{"text": SECRET}])
    yield _DONE


def _endless() -> Iterator[bytes]:
    for _ in range(64):
        yield _event({"content": "and so it goes on " * 3500})
    yield _DONE


def _cuts() -> Iterator[bytes]:
    for _ in range(400):
        yield _event({"content": "_. " * 200})
    yield _DONE


def _garbage() -> Iterator[bytes]:
    yield b"data: {\n\n" + b"\xff\xfe" * 500 + b"\n\ndata: 5\n\n" + _DONE


def _wrong_choices() -> Iterator[bytes]:
    yield b'data: {"choices": 5, "text": "' + SECRET.encode() + b'"}\n\n' + _DONE


@cache
def _bomb() -> bytes:
    return gzip.compress(b"data: " + b"a" * BOMB_BYTES, 9)


KINDS = ("fields", "endless", "cuts", "garbage", "choices", "bomb")
_BODIES = {"fields": _fields, "endless": _endless, "cuts": _cuts, "garbage": _garbage, "choices": _wrong_choices}


def answer(kind: str) -> tuple[list[tuple[bytes, bytes]], Iterator[bytes]]:
    """Headers and body of a hostile answer."""
    if kind == "bomb":
        return [*_STREAM, (b"content-encoding", b"gzip")], iter([_bomb()])
    return _STREAM, _BODIES[kind]()


@dataclass
class Attacks:
    """The results of hostile answers: their number and statuses, and how many readers saw what nobody may see."""

    turns: int = 0
    leaks: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)


async def attack(client: httpx2.AsyncClient, callers: int, attacks: Attacks) -> None:
    """Callers in a closed loop, each of whom asks for one hostile answer after the other."""
    numbers = itertools.count()
    async with asyncio.TaskGroup() as group:
        for _ in range(callers):
            group.create_task(_caller(client, numbers, attacks))


async def _caller(client: httpx2.AsyncClient, numbers: Iterator[int], attacks: Attacks) -> None:
    import httpx2

    while True:
        kind = KINDS[next(numbers) % len(KINDS)]
        body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": f"hostile {kind} please"}]}
        try:
            response = await client.post("/chat/completions", json=body)
            outcome, seen = str(response.status_code), response.content
        except httpx2.HTTPError as exc:
            outcome, seen = type(exc).__name__, b""
        attacks.turns += 1
        attacks.leaks += SECRET.encode() in seen
        attacks.outcomes[f"{kind} {outcome}"] += 1
