"""Makes pairs with a chat model: one call for all four steps, or one per step (LLM-OASIS, §3, Table 1; the prompts are our own).

Answers are read tolerantly, also in the paper's own form (`step_1` … `step_4`). U is always the text of F with the falsified
claim (Eq. 4): the paper's prompt says "step 2" where it means that. Unreadable answers are retried, three attempts in all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeVar

from vista_guard._extras import require
from vista_guard.errors import ConfigError, ContextTooLongError, UnreadableError
from vista_guard.judges.model import ChatModel, ChatRequest
from vista_guard.judges.model.answers.tolerant import RAW_CHARS, clean, read, unreadable
from vista_guard.judges.model.chat.calling import CHARACTERS_A_TOKEN
from vista_guard.judges.model.prompt_files import fill
from vista_lab.oasis.records import GeneratedPair, NoPair, PairAnswer, Passage
from vista_lab.runs.asking import (
    Asked,
    GenerationEstimate,
    ask_until_read,
    fingerprint,
    letters,
    messages_of,
    prompt_file,
    tagged,
    whole_objects,
)

Calls = Literal["unified", "stepwise"]
PROMPTS = Path(__file__).parent / "texts" / "prompts"
SLOTS: Mapping[str, tuple[str, ...]] = {
    "unified": ("passage",),
    "claims": ("passage",),
    "falsified": ("claims",),
    "factual": ("passage", "claims"),
    "unfactual": ("text", "claims", "changed"),
}
"""The slots of each prompt."""
STEPS: Mapping[Calls, tuple[str, ...]] = {
    "unified": ("unified",),
    "stepwise": ("claims", "falsified", "factual", "unfactual"),
}
_MOST_CLAIMS, _LONGEST_BROKEN, _MOST_QUOTES = 60, 6000, 160
_STEP = {"step_1": "claims", "step_2": "altered", "step_3": "factual", "step_4": "unfactual"}
_WRITTEN = {"unified": 2.6, "claims": 0.75, "falsified": 0.3, "factual": 0.85, "unfactual": 0.9}
"""Answer tokens per passage token: Table 2 (99.7 a passage; 8.381 claims of 8.6; 9.0; 82.9; 86.5), and JSON."""
T = TypeVar("T")


class ModelGenerator:
    """Generates a pair from a passage with a chat model.

    Args:
        model: behind its endpoint.
        calls: `unified`: one call makes all four steps. `stepwise`: one call a step.
        prompts: a folder of prompt files that replace the shipped ones, named `unified.txt`, `claims.txt` and so on.

    Raises:
        ConfigError: the extra `model` is missing, or a prompt file is invalid.
    """

    def __init__(self, model: ChatModel, calls: Calls = "unified", prompts: Path | None = None) -> None:
        require("a generator that asks a model", "json_repair", extra="model")
        if calls not in STEPS:
            raise ConfigError(f"calls is {calls!r}; give {' or '.join(STEPS)}")
        self.model = model
        self.calls: Calls = calls
        if prompts is not None and not prompts.is_dir():
            names = ", ".join(f"{prompt}.txt" for prompt in SLOTS)
            raise ConfigError(f"--prompts {prompts} is not a folder; give one with {names}")
        self._files = {step: prompt_file(PROMPTS / f"{step}.txt", SLOTS[step], prompts) for step in STEPS[calls]}

    @property
    def name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def prompts(self) -> Mapping[str, str]:
        """Fingerprints of the prompts, by step."""
        return {step: fingerprint(file) for step, file in self._files.items()}

    @property
    def options(self) -> Mapping[str, str]:
        """All other settings that change its answers."""
        return {"calls": self.calls, "parameters": json.dumps(dict(self.model.parameters), sort_keys=True)}

    async def generate(self, passage: Passage) -> PairAnswer:
        """The passage's pair, or why there is none.

        Raises:
            BudgetError: the budget is spent.
            JudgeError: the endpoint did not answer.
        """
        asked = Asked()
        try:
            pair = await (self._unified(passage, asked) if self.calls == "unified" else self._stepwise(passage, asked))
        except (UnreadableError, ContextTooLongError) as exc:
            return PairAnswer(NoPair(f"no answer that can be used: {exc}", asked.raw[:RAW_CHARS]), asked.attempts)
        return PairAnswer(pair, asked.attempts)

    async def _unified(self, passage: Passage, asked: Asked) -> GeneratedPair:
        def pair(text: str) -> GeneratedPair:
            content = fields(text, passage.text)
            claims = _claims(content, text)
            altered, falsified = _altered(content, claims, text)
            texts = {name: _text(content, name, text) for name in ("factual", "unfactual")}
            return GeneratedPair(claims=claims, altered=altered, falsified=falsified, **texts)

        request = self._request("unified", passage=tagged("passage", passage.text))
        return await ask_until_read(self.model, request, pair, asked)

    async def _stepwise(self, passage: Passage, asked: Asked) -> GeneratedPair:
        shown = tagged("passage", passage.text)

        async def step(name: str, read_step: Callable[[Mapping[str, Any], str], T], **values: str) -> T:
            request = self._request(name, **values)
            prompt = request.messages[-1].content
            return await ask_until_read(self.model, request, lambda text: read_step(fields(text, prompt), text), asked)

        claims = await step("claims", _claims, passage=shown)
        listed = tagged("claims", "\n".join(claims))
        altered, falsified = await step("falsified", lambda reply, text: _altered(reply, claims, text), claims=listed)
        factual = await step("factual", lambda reply, text: _text(reply, "factual", text), passage=shown, claims=listed)
        changed = tagged("claims", "\n".join([*claims[:altered], falsified, *claims[altered + 1 :]]))
        slots = {"text": tagged("text", factual), "claims": changed, "changed": tagged("changed", falsified)}
        unfactual = await step("unfactual", lambda reply, text: _text(reply, "unfactual", text), **slots)
        return GeneratedPair(claims=claims, altered=altered, falsified=falsified, factual=factual, unfactual=unfactual)

    def _request(self, step: str, **values: str) -> ChatRequest:
        file = self._files[step]
        schema = _schema(step) if file.answer == "json" else None
        most = 512 + 2 * sum(map(len, values.values()))  # a small model may never end a list
        return ChatRequest(messages_of(file, values), "generate", schema, most_tokens=most)

    async def aclose(self) -> None:
        """Closes the model's connections."""
        await self.model.aclose()

    def estimate(self, passages: Iterable[Passage], total: int, sample: int = 40) -> GenerationEstimate:
        """Estimates `total` passages from a sample's prompts and the paper's answer lengths, without a call."""
        sampled = list(islice(passages, sample))
        read_chars = written_chars = 0.0
        for passage in sampled:
            for step, file in self._files.items():
                around = len(fill(file.system, {})) + sum(len(part) for part in file.input if isinstance(part, str))
                read_chars += around + len(passage.text) * _SHOWN[step]
                written_chars += 60 + len(passage.text) * _WRITTEN[step]
        share = total / len(sampled) if sampled else 0.0
        tokens = [round(share * chars / CHARACTERS_A_TOKEN) for chars in (read_chars, written_chars)]
        prices = getattr(self.model, "prices", None)
        cost = prices.cost(tokens[0], tokens[1], 0) if prices is not None else None
        return GenerationEstimate(total * len(self._files), tokens[0], tokens[1], cost)


_SHOWN = {"unified": 1.0, "claims": 1.0, "falsified": 0.75, "factual": 1.75, "unfactual": 1.7}
"""Length of a prompt's texts, in passage lengths."""


def fields(text: str, shown: str) -> dict[str, Any]:
    """Fields of the last JSON object in an answer, under our names, whatever surrounds it.

    Raises UnreadableError: there is none, or it only repeats what the prompt showed.
    """
    every, own = whole_objects(text, shown)
    objects = [content for value in own if (content := _known_fields(value))]
    if every and not own:
        raise unreadable("repeats JSON that stands in the passage", text)
    if not objects:
        objects = [_known_fields(raw) for raw in _repair(read(text).text)]
    if not any(objects):
        raise unreadable("holds no JSON object with the fields that were asked for", text)
    return objects[-1]


def _known_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    known = {"claims", "altered", "factual", "unfactual", "original", "falsified"}
    plain = {key.strip().casefold(): entry for key, entry in value.items()}
    renamed = {_STEP.get(key.replace(" ", "_"), key): entry for key, entry in plain.items()}
    return {key: entry for key, entry in renamed.items() if key in known}


def _repair(text: str) -> list[Mapping[str, Any]]:
    """Repairs broken JSON if the answer has all letters of its values. Long hostile text takes too long to repair."""
    from json_repair import loads

    start, end = text.find("{"), text.rfind("}")
    body = text[start : end + 1] if 0 <= start < end else ""
    if not body or len(body) > _LONGEST_BROKEN or sum(map(body.count, "\"'“”")) > _MOST_QUOTES:
        return []
    try:
        value = loads(body)
    except (ValueError, RecursionError):
        return []
    known_letters = "".join(filter(str.isalnum, body))
    invented = [string for string in _strings(value) if "".join(filter(str.isalnum, string)) not in known_letters]
    return [value] if isinstance(value, dict) and not invented else []


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []


def _claims(content: Mapping[str, Any], text: str) -> tuple[str, ...]:
    value = content.get("claims")
    claims = tuple(_tidy(claim) for claim in value if isinstance(claim, str)) if isinstance(value, list) else ()
    claims = tuple(dict.fromkeys(claim for claim in claims if claim))
    if not claims:
        raise unreadable("lists no claims", text)
    if len(claims) > _MOST_CLAIMS:
        raise unreadable(f"lists {len(claims)} claims, more than the {_MOST_CLAIMS} that a passage can have", text)
    return claims


def _altered(content: Mapping[str, Any], claims: tuple[str, ...], text: str) -> tuple[int, str]:
    """Index of the original claim, and the falsified claim; a pair of texts may come in either order."""
    value = content.get("altered", content)
    if isinstance(value, dict):
        versions = [value.get("original"), value.get("falsified", value.get("altered"))]
    else:
        versions = list(value) if isinstance(value, list | tuple) else []
    if len(versions) != 2 or not all(isinstance(version, str) and version.strip() for version in versions):
        raise unreadable("has no original claim with its falsified version", text)
    first, second = (_tidy(str(version)) for version in versions)
    for original, falsified in ((first, second), (second, first)):
        place = next((place for place, claim in enumerate(claims) if letters(claim) == letters(original)), None)
        if place is not None and letters(falsified) != letters(original):
            return place, falsified
    raise unreadable("falsifies a claim that is none of its claims", text)


def _text(content: Mapping[str, Any], name: str, text: str) -> str:
    value = content.get(name)
    if not isinstance(value, str) or not value.strip():
        raise unreadable(f"has no {name} text", text)
    return _tidy(value)


def _tidy(text: str) -> str:
    return re.sub(r"^\s*(?:[-*•]|\(?\d{1,2}[.)])\s+", "", " ".join(clean(text).split()))


def _schema(step: str) -> Mapping[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    parts: dict[str, dict[str, Any]] = {
        "claims": {"claims": {"type": "array", "items": text}},
        "falsified": {"altered": _object(original=text, falsified=text)},
        "factual": {"factual": text},
        "unfactual": {"unfactual": text},
    }
    properties = parts.get(step) or {name: schema for part in parts.values() for name, schema in part.items()}
    return _object(**properties)


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}
