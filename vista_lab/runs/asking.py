"""Asks a chat model for something that is made, and asks again where its answer cannot be read. All answers are hostile input."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from vista_guard.errors import ConfigError, UnreadableError
from vista_guard.judges.model import ChatModel, ChatRequest, Message, ModelOptions
from vista_guard.judges.model import chat_model as known_chat_model
from vista_guard.judges.model.answers.labels import Untrusted
from vista_guard.judges.model.answers.tolerant import read, unreadable
from vista_guard.judges.model.judge import REMINDER
from vista_guard.judges.model.prompt_files import PromptFile, fill
from vista_guard.judges.model.prompt_files import read as read_prompt

ATTEMPTS = 3
"""Most attempts per request."""
T = TypeVar("T")


@dataclass
class Asked:
    """Attempts made for one item, and the last raw answer."""

    attempts: int = 0
    raw: str = ""


@dataclass(frozen=True)
class GenerationEstimate:
    """Calls, tokens and cost of a run, without repeated attempts. `cost` in US dollars; None where no price is known."""

    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


async def ask_until_read(model: ChatModel, request: ChatRequest, read_answer: Callable[[str], T], asked: Asked) -> T:
    """Asks the model and parses its answer; an unreadable one is retried with a reminder, `ATTEMPTS` times in all.

    Args:
        model: the model to ask.
        request: its last message gets the reminder.
        read_answer: parses a reply's text; raises `UnreadableError` if it cannot.
        asked: counts the attempts and keeps the last reply.

    Raises:
        UnreadableError: no attempt gave a readable answer; refusals and truncated answers are unreadable.
    """
    *earlier, last = request.messages
    for left in range(ATTEMPTS - 1, -1, -1):
        asked.attempts += 1
        reply = await model.complete(request)
        asked.raw = reply.text
        try:
            if reply.finish == "refusal":
                raise unreadable("is a refusal", reply.text)
            if reply.finish == "length":
                raise unreadable("was cut off at the token limit; raise model.max_output_tokens", reply.text)
            return read_answer(reply.text)
        except UnreadableError:
            if not left:
                raise
        request = replace(request, messages=(*earlier, replace(last, content=last.content + REMINDER)))
    raise AssertionError("unreachable")


def chat_model(name: str, options: ModelOptions, option: str = "--model", others: str = "") -> ChatModel:
    """The model of a settings string: `openai:MODEL`, `openai:MODEL@URL` or `langchain:PROVIDER:MODEL`.

    The error names the command's `option`, and with `others` what else it takes. Raises ConfigError: it is none of these, or
    cannot be set up.
    """
    kind, _, spec = name.strip().partition(":")
    if kind in ("openai", "langchain") and spec:
        return known_chat_model(name.strip(), options)
    raise ConfigError(
        f"{option} is {name!r}; give openai:MODEL, openai:MODEL@http://host/v1 or langchain:PROVIDER:MODEL{others}"
    )


def whole_objects(text: str, shown: str) -> tuple[int, list[dict[str, Any]]]:
    """Number of whole JSON objects in an answer, and those that do not merely repeat the prompt."""
    answer, untrusted = read(text), Untrusted([shown])
    pieces = [piece for piece in answer.pieces if isinstance(piece.value, dict) and piece.whole]
    own = [piece.value for piece in pieces if not untrusted.hold(answer.text[piece.start : piece.end])]
    return len(pieces), [value for value in own if isinstance(value, dict)]


def letters(text: str) -> str:
    """Letters and digits alone, in lower case."""
    return "".join(filter(str.isalnum, text.casefold()))


def tagged(tag: str, text: str) -> str:
    """A part of a prompt between tags that it cannot close itself."""
    return f"<{tag}>\n{text.replace('<', '&lt;')}\n</{tag}>"


def prompt_file(shipped: Path, slots: tuple[str, ...], folder: Path | None, own: str = "") -> PromptFile:
    """A prompt: the one in the folder, named `own` or like the shipped file, else that file."""
    custom = None if folder is None else folder / f"{own or shipped.stem}.txt"
    path = custom if custom is not None and custom.exists() else shipped
    return read_prompt(path, "fused", examples=True, slots=slots)


def fingerprint(file: PromptFile) -> str:
    """Twelve digits of the SHA-256 of a prompt."""
    return hashlib.sha256(repr((file.system, file.input, file.answer)).encode()).hexdigest()[:12]


def messages_of(file: PromptFile, shown: Mapping[str, str]) -> tuple[Message, ...]:
    """The prompt's messages with slots filled; the last one is the user's."""
    system, user = fill(file.system, {}), fill(file.input, shown)
    return (Message("system", system), Message("user", user)) if system else (Message("user", user),)
