"""Checks that callers saw the expected text, and that the stores hold what was delivered. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmarks.load.talks import CODE, LIE, TURNS, UNSAID, Talk


class Fault(StrEnum):
    """Faults of a turn, the worst first."""

    ERROR = "error"
    MIXED = "mixed up"
    LEAKED = "leaked"
    JUDGED = "judged otherwise"
    WRONG = "other text"


@dataclass(frozen=True)
class Seen:
    """A turn's response: the stream's bytes and its headers."""

    status: int
    headers: Mapping[str, str]
    raw: bytes


def fault(talk: Talk, turn: int, seen: Seen, *, off: bool) -> tuple[Fault, str] | None:
    """The turn's fault with details; None if there is none."""
    text = seen.raw.decode("utf-8", "replace")
    events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: {")]
    if seen.status != 200 or not text.rstrip().endswith("[DONE]") or any("error" in event for event in events):
        return Fault.ERROR, f"status {seen.status}: {text[-300:]}"
    verdict: dict[str, Any] = next((event["vista_guard"] for event in events if "vista_guard" in event), {})
    foreign = set(CODE.findall(text)) - {talk.code}
    name = talk.code if not off else None
    names = {verdict.get("conversation_id"), seen.headers.get("x-vista-guard-conversation")}
    if foreign or names != {name} or verdict.get("turn_index", 2 * turn + 1) != 2 * turn + 1:
        return Fault.MIXED, f"{talk.code}: codes {foreign}, named {names}: {text[-300:]}"
    decision = seen.headers.get("x-vista-guard-action") if off else verdict.get("action")
    choices = [choice for event in events for choice in event["choices"]]
    reply = "".join(choice["delta"].get("content") or "" for choice in choices)
    finish = next((choice["finish_reason"] for choice in choices if choice["finish_reason"]), "")
    expected = talk.expected(turn, off=off)
    if not off and decision not in ("ALLOW", "FLAG") and (LIE in text or UNSAID in text):
        return Fault.LEAKED, f"{talk.code}: {text[-300:]}"
    if (decision, verdict.get("labels", {})) != (expected.decision, expected.labels):
        return Fault.JUDGED, f"{talk.code} turn {turn}: {decision} {verdict.get('labels')}: {reply}"
    if (reply, finish) != (expected.text, expected.finish):
        return Fault.WRONG, f"{talk.code} turn {turn}: {finish}: {reply}"
    return None


def storage_fault(talk: Talk, view: Mapping[str, Any]) -> str | None:
    """The fault in the stores' record of a finished conversation; None if they hold what was delivered and verified."""
    knowledge = [passage["text"] for passage in view["knowledge"]]
    responses = [report["response"] for report in view["reports"]]
    if knowledge != talk.known():
        return f"{talk.code} knows {knowledge}"
    if responses != [talk.expected(turn).text for turn in range(TURNS)]:
        return f"{talk.code} has reports on {responses}"
    return None
