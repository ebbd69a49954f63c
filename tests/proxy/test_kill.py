"""The server killed under load: what it kept is what was delivered, and it goes on from there."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import httpx2

from tests.proxy import test_serve
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.chroma.client import chroma_client, close_client
from vista_guard.testing import ReceivedRequest, ScriptedChatServer

STREAMS = 20
ENOUGH = 30
"""Turns read to the end before the server is killed."""

LIE = "never opened."
HALLS = ("whale", "tide", "coral", "anchor", "kelp", "pilot", "harbour", "storm", "salt", "chart")

TURNS = len(HALLS) // 2
"""Of a conversation, with two facts each."""


def facts(number: int, turn: int) -> list[str]:
    """Of a museum of its own for each conversation, and of other halls in each turn."""
    name = "".join(chr(ord("A") + number * 7919 // 26**place % 26) for place in range(4))
    halls = enumerate(HALLS[2 * turn : 2 * turn + 2], 2 * turn)
    return [f"The {hall} hall of museum {name} opened in {1921 + 7 * place}." for place, hall in halls]


def answer(request: ReceivedRequest) -> str:
    """Two facts about the museum that is asked for; in every other turn a lie after the first."""
    number, turn = map(int, re.findall(r"\d+", request.body["messages"][-1]["content"]))
    first, second = facts(number, turn)
    return f"{first} {first.partition(' opened')[0]} {LIE} {second}" if turn % 2 else f"{first} {second}"


class Caller:
    """Has conversations, one after the other, and keeps what it read: `read` by conversation and turn, `whole` when it ended."""

    def __init__(self, client: httpx2.AsyncClient, url: str) -> None:
        self._client, self._url = client, url
        self.read: dict[tuple[int, int], str] = defaultdict(str)
        self.whole: set[tuple[int, int]] = set()
        self.numbers: Iterator[int] = count()

    async def go_on(self) -> None:
        """Until the server is gone."""
        for number in self.numbers:
            for turn in range(TURNS):
                await self.ask(number, turn)

    def texts(self, number: int) -> list[str]:
        """What was read of a conversation, turn by turn."""
        return [text for (owner, _), text in sorted(self.read.items()) if owner == number]

    async def ask(self, number: int, turn: int) -> None:
        """One turn, streamed. What was read of it is kept, however it ends."""
        messages: list[dict[str, str]] = []
        for earlier in range(turn):
            messages += [question(number, earlier), {"role": "assistant", "content": self.read[number, earlier]}]
        body = {"model": "any", "stream": True, "messages": [*messages, question(number, turn)]}
        asked = {**body, "documents": [{"id": "guide", "text": " ".join(facts(number, turn))}]}
        headers = {"x-conversation-id": f"talk-{number}"}
        async with self._client.stream("POST", self._url, json=asked, headers=headers) as response:
            assert response.status_code == 200
            async for line in response.aiter_lines():
                if line.startswith("data: {"):
                    self.read[number, turn] += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
                elif line == "data: [DONE]":
                    self.whole.add((number, turn))


def question(number: int, turn: int) -> dict[str, str]:
    return {"role": "user", "content": f"What of museum {number}, part {turn}?"}


@contextmanager
def serving(tmp_path: Path, upstream: ScriptedChatServer) -> Iterator[test_serve.Running]:
    """The server as it runs by default: embedded judge, Chroma folder, SQLite file."""
    arguments = ("--upstream", upstream.base_url, "--policy", "balanced")
    with test_serve.serving(tmp_path, *arguments, VISTA_GUARD_STORE="chroma") as server:
        yield server


async def killed_under_load(server: test_serve.Running, caller: Caller) -> int:
    """Kills the server when enough was read; says how many streams were open."""
    streams = [asyncio.create_task(caller.go_on()) for _ in range(STREAMS)]
    while len(caller.whole) < ENOUGH:
        await asyncio.sleep(0.01)
        assert not any(stream.done() for stream in streams), [stream.exception() for stream in streams if stream.done()]
    server.process.kill()
    ended = await asyncio.gather(*streams, return_exceptions=True)
    assert {isinstance(end, httpx2.TransportError) for end in ended} == {True}, ended
    return len([key for key in caller.read if key not in caller.whole])


async def kept(client: httpx2.AsyncClient, url: str, number: int) -> dict[str, Any]:
    """What the guard keeps of a conversation; nothing when it does not know of it."""
    response = await client.get(f"{url}/guard/conversations/talk-{number}")
    assert response.status_code in (200, 404)
    return dict(response.json()) if response.is_success else {"reports": [], "knowledge": []}


async def test_a_killed_server_kept_only_what_was_delivered_and_goes_on(tmp_path: Path) -> None:
    with ScriptedChatServer(answer) as upstream:
        async with httpx2.AsyncClient(timeout=60) as client:
            with serving(tmp_path, upstream) as server:
                caller = Caller(client, f"{server.url}/v1/chat/completions")
                assert await killed_under_load(server, caller) > 0
            delivered = [caller.texts(number) for number in range(1 + max(number for number, _ in caller.read))]
            everything = "\n".join(text for texts in delivered for text in texts)
            claims = stored_claims(tmp_path / "chroma")
            assert len(claims) >= ENOUGH
            assert [claim for claim in claims if claim not in everything] == []
            assert LIE not in everything
            with serving(tmp_path, upstream) as server:
                reports = 0
                for number, texts in enumerate(delivered):
                    view = await kept(client, server.url, number)
                    told = [report["response"] for report in view["reports"]]
                    reports += len(told)
                    assert told == texts[: len(told)]
                    # Written before the caller is told that the turn has ended.
                    assert len(told) >= sum(number == ended for ended, _ in caller.whole)
                    known = [passage["text"] for passage in view["knowledge"]]
                    assert [claim for claim in known if claim not in "\n".join(texts)] == []
                assert reports == stored_reports(tmp_path / "reports.sqlite")
                await goes_on(client, server.url, caller)


async def goes_on(client: httpx2.AsyncClient, url: str, before: Caller) -> None:
    """A turn that was cut off is asked for again, and a new conversation has its first."""
    now = Caller(client, f"{url}/v1/chat/completions")
    now.read |= before.read
    cut = max(set(before.read) - before.whole)
    for number, turn in (cut, (700, 0)):
        now.read[number, turn] = ""
        await now.ask(number, turn)
        first, second = facts(number, turn)
        assert now.read[number, turn] == (f"{first}\n\n{MESSAGE}" if turn % 2 else f"{first} {second}")
        view = await kept(client, url, number)
        assert view["reports"][-1]["response"] == now.read[number, turn]
        assert {first, *([] if turn % 2 else [second])} <= {passage["text"] for passage in view["knowledge"]}


def stored_claims(folder: Path) -> list[str]:
    """All that any conversation has established, read from Chroma itself."""
    client = chroma_client(folder)
    shelves = [client.get_collection(shelf.name, embedding_function=None) for shelf in client.list_collections()]
    turns = [json.loads(text) for shelf in shelves for text in shelf.get()["documents"] or () if text]
    close_client(client)
    return [claim["text"] for turn in turns for claim in turn]


def stored_reports(file: Path) -> int:
    with sqlite3.connect(file) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (rows,) = database.execute("SELECT count(*) FROM vista_guard_reports").fetchone()
    return int(rows)
