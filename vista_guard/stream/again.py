"""Another draft in place of one that did not hold up, as long as nobody has read a word of it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from functools import lru_cache

from vista_guard.protocols import Policy
from vista_guard.stream.source import Delta, close
from vista_guard.turn.repair import feedback
from vista_guard.turn.work import Work
from vista_guard.types import Action, Claim, Finding, Label, Outcome, RepairMode, Unchecked

Again = Callable[[str, str], AsyncIterator[Delta]]
"""Asks the agent again: takes the draft that was withheld and a note on it, gives the next answer as it comes."""

_CODE = re.compile(r"[a-z_]{1,40}")


class NoAnswer(Exception):
    """The agent was asked again and did not say a word. The text is for the report's warnings."""


async def ask_again(again: Again, draft: str, rejected: Work) -> AsyncGenerator[Delta, None]:
    """The next answer. It has begun to speak by then, or came to its end without a word: called a tool, refused.

    Raises:
        NoAnswer: upstream failed before the first word, or its answer was empty.
    """
    begun = list[Delta]()
    deltas = again(draft, feedback(rejected))
    try:
        async for delta in deltas:
            begun.append(delta)
            if isinstance(delta, str) and delta.strip():
                break
    except Exception as exc:
        await close(deltas)
        raise NoAnswer(f"the agent was asked again and failed ({_name(exc)}); its draft was not let through") from exc
    except BaseException:
        await close(deltas)
        raise
    if not begun:
        raise NoAnswer("the agent was asked again and answered nothing; its draft was not let through")
    return _resumed(begun, deltas)


def broke_off(exc: BaseException) -> str:
    """The warning for an answer that was asked for again and failed after its first word."""
    return f"the agent was asked again and broke off its answer ({_name(exc)}); nothing of it was let through"


def regenerates(policy: Policy) -> bool:
    """Whether a policy would ever ask the agent again."""
    return policy.repair is RepairMode.REGENERATE and policy.max_attempts > 0 and Action.REPAIR in _actions(policy)


def withholds(policy: Policy) -> bool:
    """Whether a policy would withhold or mend any turn."""
    return not _actions(policy).isdisjoint((Action.REPAIR, Action.BLOCK))


def _actions(policy: Policy) -> set[Action]:
    """What it does, asked about an outcome of each kind."""
    return {policy([outcome], evidence_missing=missing).action for outcome in _probes() for missing in (False, True)}


@lru_cache(maxsize=1)
def _probes() -> tuple[Outcome, ...]:
    claim = Claim(id="t0.c1", text="?")
    found = (
        Finding(claim=claim, label=label, confidence=confidence, reason="?")
        for label in Label
        for confidence in (0.0, 0.5, 1.0)
    )
    return (Unchecked(claim=claim, error="?"), *found)


async def _resumed(begun: list[Delta], deltas: AsyncIterator[Delta]) -> AsyncGenerator[Delta, None]:
    try:
        for delta in begun:
            yield delta
        async for delta in deltas:
            yield delta
    finally:
        await close(deltas)


def _name(exc: BaseException) -> str:
    # What an error says may quote what was sent, and with it the draft.
    code = getattr(exc, "code", None)
    return code if isinstance(code, str) and _CODE.fullmatch(code) else type(exc).__name__
