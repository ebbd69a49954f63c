"""Chat models that mark the claims of one sentence: the checklist of DAD's rewards (K.2), and the five desiderata (App. A).

One call a sentence, in our own prompts; answers are strict JSON with a rationale for each mark. An answer with a claim missing or
there twice is unreadable; it is asked for once more. Answers that were read are kept in a file, so that no call is paid twice.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from vista_guard._extras import require
from vista_guard.errors import JudgeError
from vista_guard.judges.model import ChatModel, ChatRequest, Message
from vista_guard.judges.model.answers.tolerant import read as readable
from vista_guard.judges.model.judge import ask_model
from vista_guard.judges.model.prompt_files import NOTHING, Roles, Style, fill
from vista_guard.judges.model.prompt_files import read as read_prompt
from vista_guard.stores.line_file import LineFile, LineKind
from vista_lab.decompose.measures import OF_CLAIMS, OF_SENTENCES, Decomposition, Marks, read_desiderata
from vista_lab.decompose.rewards import CHECK_WEIGHTS, GATE, MAY_BE_NA, CheckAnswer, Checks, read_checklist
from vista_lab.systems.protocol import AnyMaker

PROMPTS = Path(__file__).parent / "texts"
SLOTS = ("question", "context", "sentence", "claims")
_STYLE = Style(Roles(), parts=True)
AT_ONCE = 16
"""Sentences asked about at the same time."""
T = TypeVar("T")
_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)


class KeptAnswer(BaseModel):
    """A stored answer of a judge. `key` names the prompt, the model with its parameters, and the sentence with its claims."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str
    text: str


_KEPT = LineKind(
    KeptAnswer,
    noun="judge's answer",
    group=lambda answer: answer.key,
    key=lambda answer: answer.key,
    again=lambda answer: f"has the answer {answer.key} again",
)


@contextmanager
def kept_answers(path: Path) -> Iterator[LineFile[KeptAnswer]]:
    """Opens the file of answers at `path`, creating it if missing.

    Raises ConfigError if it holds something else, is in use, or cannot be opened.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = LineFile.open(path, _KEPT, AnyMaker())
    try:
        yield file
    finally:
        file.close()


class ClaimJudge(Generic[T]):
    """Asks a chat model about the claims of a sentence. `checklist_judge` and `desiderata_judge` make one.

    Args:
        model: behind its endpoint.
        prompt: its name.
        read: parses an answer into verdicts on the claims.
        schema: the answer's JSON schema.
        kept: the file of answers, which new ones are added to.

    Raises:
        ConfigError: the extra `model` is missing.
    """

    def __init__(
        self,
        model: ChatModel,
        prompt: str,
        read: Callable[[str, Sequence[str]], T],
        schema: Mapping[str, Any],
        kept: LineFile[KeptAnswer] | None = None,
    ) -> None:
        require("a judge that asks a model", "json_repair", extra="model")
        self.model = model
        self._prompt, self._read, self._schema, self._kept = prompt, read, schema, kept
        self._file = read_prompt(PROMPTS / f"{prompt}.txt", "judge", examples=True, slots=SLOTS)
        self._known: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The model, with a fingerprint of the prompt and of the request's parameters."""
        shaping = repr((self._file.system, self._file.input)) + json.dumps(dict(self.model.parameters), sort_keys=True)
        return f"{self.model.name} {self._prompt}-{hashlib.sha256(shaping.encode()).hexdigest()[:12]}"

    async def ask(self, about: Decomposition) -> T:
        """The verdicts on these claims.

        Raises UnreadableError if neither answer could be read; JudgeError if there was no answer.
        """
        key = hashlib.sha256(
            json.dumps([self.name, about.question, about.context, about.sentence, *about.claims]).encode()
        ).hexdigest()[:32]
        if key not in self._known and self._kept is not None:
            self._known.update((answer.key, answer.text) for answer in self._kept.of_group(key))
        if key in self._known:
            return self._read(self._known[key], about.claims)
        replies: list[str] = []

        def read(text: str) -> T:
            replies.append(_json_of(text))
            return self._read(replies[-1], about.claims)

        verdicts = await ask_model(self.model, self._request(about), read)
        if key not in self._known:  # the same claims may have been asked about meanwhile
            self._known[key] = replies[-1]
            if self._kept is not None:
                self._kept.append(KeptAnswer(key=key, text=replies[-1]))
        return verdicts

    def _request(self, about: Decomposition) -> ChatRequest:
        numbered = "\n".join(f"{number}. {' '.join(claim.split())}" for number, claim in enumerate(about.claims, 1))
        texts = {"question": about.question, "context": about.context or about.sentence, "sentence": about.sentence}
        slots = {name: _STYLE.part(name, text) for name, text in {**texts, "claims": numbered or NOTHING}.items()}
        messages = (Message("system", fill(self._file.system, {})), Message("user", fill(self._file.input, slots)))
        return ChatRequest(messages, "judge", self._schema)

    async def aclose(self) -> None:
        """Closes the model's connections."""
        await self.model.aclose()


def _json_of(text: str) -> str:
    """The answer without thoughts and without the fence that many models put around JSON."""
    body = readable(text).text.strip()
    fenced = _FENCE.fullmatch(body)
    return fenced.group(1) if fenced else body


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _entries(field: str, marks: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    # Reasons first: a model writes in this order.
    reasons = _object(**{name: {"type": "string"} for name in marks})
    return _object(id={"type": "integer"}, rationales=reasons, **{field: _object(**marks)})


def _checks_schema() -> dict[str, Any]:
    def answers(name: str) -> dict[str, Any]:
        return {"type": "string", "enum": [str(one) for one in CheckAnswer if one != "NA" or name in MAY_BE_NA]}

    entry = _entries("checks", {name: answers(name) for name in (GATE, *CHECK_WEIGHTS)})
    return _object(claims={"type": "array", "items": entry})


def _marks_schema() -> dict[str, Any]:
    bit = {"type": "integer", "enum": [0, 1]}
    properties = _entries("marks", dict.fromkeys(OF_SENTENCES, bit))["properties"]
    sentence = _object(**{name: properties[name] for name in ("rationales", "marks")})
    items = _entries("marks", dict.fromkeys(OF_CLAIMS, bit))
    return _object(claims={"type": "array", "items": items}, sentence=sentence)


def checklist_judge(model: ChatModel, kept: LineFile[KeptAnswer] | None = None) -> ClaimJudge[tuple[Checks, ...]]:
    """Five answers about each claim (K.2), for `checklist_reward`."""
    return ClaimJudge(model, "checklist", read_checklist, _checks_schema(), kept)


def desiderata_judge(model: ChatModel, kept: LineFile[KeptAnswer] | None = None) -> ClaimJudge[Marks]:
    """Three marks of each claim and two of all together (App. A)."""
    return ClaimJudge(model, "desiderata", read_desiderata, _marks_schema(), kept)


async def ask_all(
    judge: ClaimJudge[T], about: Mapping[str, Decomposition], told: Callable[[int], None] = lambda done: None
) -> tuple[dict[str, T], dict[str, str]]:
    """Verdicts on many sentences by name, asked concurrently, and the errors of those that failed."""
    verdicts: dict[str, T] = {}
    failed: dict[str, str] = {}
    free = asyncio.Semaphore(AT_ONCE)

    async def one(name: str, decomposition: Decomposition) -> None:
        async with free:
            try:
                verdicts[name] = await judge.ask(decomposition)
            except JudgeError as exc:
                failed[name] = str(exc)
        told(1)

    await asyncio.gather(*(one(name, sentence) for name, sentence in about.items()))
    return {name: verdicts[name] for name in about if name in verdicts}, failed
