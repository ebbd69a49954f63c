"""The model judge's prompts, in the structure of the paper's (VISTA, App. A.1).

Constant parts come first, so that a provider's prompt cache serves all claims of a turn.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

from vista_guard.errors import ConfigError, ContextTooLongError
from vista_guard.judges.contract import meter
from vista_guard.judges.model.chat.calling import ChatRequest, Message
from vista_guard.judges.model.prompt_files import SLOTS, PromptFile, Roles, Stage, Style, fill, read
from vista_guard.reading.passages import nearest_passages
from vista_guard.types import Claim, EvidenceSet, Label, Turn

STAGES: tuple[Stage, ...] = ("decompose", "verify", "categorize", "judge", "fused")
"""Stages of a model judge. The others belong to decomposers, one prompt each."""
FOLDER = Path(__file__).parent / "texts"
"""The package's own prompt files."""

_FORM = 1
"""Part of the fingerprint; raise it when the rendering of evidence changes."""


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: object) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _one_of(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


_TEXT = {"type": "string"}
_REASONS = [str(label) for label in Label if label is not Label.VERIFIED]
_LABELS = [str(Label.VERIFIED), *_REASONS]

_CLAIM_TEXTS = _object(claims=_list(_TEXT))
_REWRITTEN = _object(reason=_TEXT, sentence=_TEXT)

# Words of the material, then what follows from them, then the label: a model writes in this order, and a small one that gives
# its reason first copies that of an example.
ANSWERS: Mapping[str, Mapping[str, Any]] = {
    "decompose": _object(claims=_list(_object(claim=_TEXT, quote=_TEXT))),
    "verify": _object(quote=_TEXT, label=_one_of("VERIFIED", "UNVERIFIABLE")),
    "categorize": _object(quote=_TEXT, reason=_TEXT, label=_one_of(*_REASONS)),
    "judge": _object(answers=_list(_object(id=_TEXT, quote=_TEXT, reason=_TEXT, label=_one_of(*_LABELS)))),
    "fused": _object(
        claims=_list(_object(claim=_TEXT, quote=_TEXT, evidence=_TEXT, reason=_TEXT, label=_one_of(*_LABELS)))
    ),
    "factscore": _CLAIM_TEXTS,
    "veriscore": _CLAIM_TEXTS,
    "claimify-select": _REWRITTEN,
    "claimify-disambiguate": _REWRITTEN,
    "claimify-decompose": _CLAIM_TEXTS,
    "dydecomp": _CLAIM_TEXTS,
}
"""JSON schema of each stage's answer, in the subset that strict structured output takes."""


@dataclass(frozen=True)
class PromptInfo:
    """A prompt in a run's manifest: `fingerprint` (12 hex digits) changes with its text, `shots` are its examples."""

    fingerprint: str
    shots: int


@dataclass(frozen=True)
class Prompt:
    """The prompt of one stage, with the speakers' names in it."""

    stage: Stage
    info: PromptInfo
    style: Style
    _file: PromptFile = field(repr=False)
    _system: str = field(repr=False)

    @classmethod
    def load(
        cls,
        stage: Stage,
        folder: Path | None = None,
        *,
        shots: Literal["few", "zero"] = "few",
        roles: Roles | None = None,
    ) -> Self:
        """Reads one prompt, from `folder` if it has one, else the package's own.

        Raises:
            ConfigError: see `Prompts.load`.
        """
        roles = roles or Roles()
        path = (_own_files(folder) if folder is not None else {}).get(stage, FOLDER / f"{stage}.txt")
        file = read(path, stage, examples=shots == "few")
        system = fill(file.system, asdict(roles))
        info = PromptInfo(digest(_FORM, asdict(roles), [stage, system, repr(file.input), file.answer]), file.shots)
        return cls(stage, info, Style(roles, file.headings, parts=stage not in STAGES), file, system)

    def texts(self) -> list[str]:
        """The inputs of its fingerprint, except the speakers' names."""
        return [self.stage, self._system, repr(self._file.input), self._file.answer]

    @property
    def slots(self) -> frozenset[str]:
        """Slots of its input."""
        return self._file.slots

    @property
    def instructions(self) -> str:
        """Its constant text."""
        return "\n".join([self._system, *(part for part in self._file.input if isinstance(part, str))])

    def request(
        self,
        *,
        most_tokens: int | None = None,
        most_items: int | None = None,
        labels: Sequence[Label] = (),
        **values: str,
    ) -> ChatRequest:
        """The request with these values in the slots.

        Args:
            most_tokens: bound on the answer's tokens.
            most_items: bound on the entries of its list.
            labels: those that its schema offers; all if empty.
            values: by slot.
        """
        text = fill(self._file.input, {**values, **asdict(self.style.roles)})
        messages = tuple(Message(*pair) for pair in (("system", self._system), ("user", text)) if pair[1])
        schema = _bounded(ANSWERS[self.stage], most_items, labels) if self.answers_json else None
        return ChatRequest(messages, self.stage, schema, most_tokens=most_tokens)

    @property
    def answers_json(self) -> bool:
        """True if it asks for an object with the fields of its schema, quotes among them."""
        return self._file.answer == "json"


@dataclass(frozen=True)
class Prompts:
    """One prompt for each stage of a model judge, and its requests.

    `fingerprint`: 12 hex digits that change with any text in use, with `shots` and with the names of the speakers.
    """

    roles: Roles
    fingerprint: str
    told: Mapping[Stage, PromptInfo]
    """Info of each prompt, by stage."""
    _prompts: Mapping[Stage, Prompt] = field(repr=False)

    @classmethod
    def load(
        cls, folder: Path | None = None, *, shots: Literal["few", "zero"] = "few", roles: Roles | None = None
    ) -> Self:
        """Reads the prompts; those missing from `folder` are the package's own.

        `shots="zero"` drops the examples part; a file without parts is used as is.

        Raises:
            ConfigError: a folder or file that cannot be read, a file that is no prompt, a slot that is missing or
                unknown; names file and slot.
        """
        roles = roles or Roles()
        prompts = {stage: Prompt.load(stage, folder, shots=shots, roles=roles) for stage in STAGES}
        fingerprint = digest(_FORM, shots, asdict(roles), [prompt.texts() for prompt in prompts.values()])
        return cls(roles, fingerprint, {stage: prompt.info for stage, prompt in prompts.items()}, prompts)

    def __getitem__(self, stage: Stage) -> Prompt:
        return self._prompts[stage]

    def decompose(self, turn: Turn, history: Sequence[Turn]) -> ChatRequest:
        """Asks for the claims of `turn`; `history` holds the turns before it."""
        prompt, size = self._prompts["decompose"], len(turn.text)
        return prompt.request(
            most_tokens=256 + 4 * size,
            most_items=most_claims(size),
            history=prompt.style.history(history),
            turn=prompt.style.turn(turn),
        )

    def verify(self, claim: Claim, evidence: EvidenceSet) -> ChatRequest:
        """Asks whether the evidence establishes the claim."""
        return self._ask_about(claim, evidence, "verify")

    def categorize(self, claim: Claim, evidence: EvidenceSet, labels: Sequence[Label] = ()) -> ChatRequest:
        """Asks why the evidence does not establish the claim; `labels` are those to choose from, all if empty."""
        return self._ask_about(claim, evidence, "categorize", labels)

    def _ask_about(
        self, claim: Claim, evidence: EvidenceSet, stage: Stage, labels: Sequence[Label] = ()
    ) -> ChatRequest:
        prompt = self._prompts[stage]
        values = {**_evidence_values(prompt, evidence), "claim": prompt.style.claim(claim)}
        return prompt.request(most_tokens=512, most_items=1, labels=labels, **values)

    def judge(self, claims: Sequence[Claim], evidence: EvidenceSet, labels: Sequence[Label] = ()) -> ChatRequest:
        """Asks for the label of each claim; the prompt calls them c1, c2, ... by position. `labels`: as in `categorize`."""
        prompt = self._prompts["judge"]
        return prompt.request(
            most_tokens=256 + 150 * len(claims),
            most_items=_bucket(len(claims)),
            labels=labels,
            **_evidence_values(prompt, evidence),
            claims=prompt.style.claims(claims),
        )

    def fused(self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet) -> ChatRequest:
        """Asks for the claims of `turn` and the label of each. `history` is evidence too when `evidence` holds it."""
        prompt = self._prompts["fused"]
        values = _evidence_values(prompt, evidence)
        if not evidence.history:
            values["history"] = prompt.style.history(history)
        values["turn"] = prompt.style.turn(turn)
        size = len(turn.text)
        return prompt.request(most_tokens=384 + 7 * size, most_items=most_claims(size), labels=(), **values)


def most_claims(size: int) -> int:
    """Most claims of a text with this many characters. The package's examples have one in 19 to 35 characters."""
    return _bucket(4 + size // 20)


def _bucket(count: int) -> int:
    """The count rounded up to 8, 16, 32, …: endpoints compile each schema once, and cache prompts behind it."""
    return max(8, 1 << (count - 1).bit_length())


def _bounded(schema: Mapping[str, Any], most: int | None, labels: Sequence[Label] = ()) -> dict[str, Any]:
    """The schema of an answer with at most this many entries in its list, for a grammar never ends a list by itself; and with
    only these labels, if there are any.
    """
    fields = dict(schema["properties"])
    for name, one in fields.items():
        if one["type"] == "array":
            items = _bounded(one["items"], None, labels) if "properties" in one["items"] else one["items"]
            fields[name] = {**one, "items": items, **({"maxItems": most} if most else {})}
        elif labels and "enum" in one:
            fields[name] = _one_of(*(value for value in one["enum"] if value in labels))
    return {**schema, "properties": fields}


def _evidence_values(prompt: Prompt, evidence: EvidenceSet) -> dict[str, str]:
    for name in ("knowledge", "history"):
        if getattr(evidence, name) and name not in prompt.slots:
            meter().warn(f"the {prompt.stage} prompt has no slot ${name}: the judge did not see the {name}")
    style = prompt.style
    return {
        "documents": style.documents(evidence.documents),
        "knowledge": style.knowledge(evidence.knowledge),
        # "(none)" would claim that there were no earlier turns; they are only not shown.
        "history": style.history(evidence.history, evidence=True) if evidence.history else "",
    }


def digest(*parts: object) -> str:
    """12 hex digits that change with any of the parts, which are JSON types."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def _own_files(folder: Path) -> dict[Stage, Path]:
    """The prompt files of a researcher's folder, by stage."""
    known: dict[str, Stage] = {f"{stage}.txt": stage for stage in SLOTS}
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as exc:
        raise ConfigError(f"prompts_dir {folder} cannot be read: {exc}. Give a folder with prompt files") from exc
    for path in paths:
        if path.name not in known:
            raise ConfigError(f"prompts_dir {folder} holds {path.name}; the prompt files are {', '.join(known)}")
    return {known[path.name]: path for path in paths}


T = TypeVar("T")


async def ask_trimmed(
    ask: Callable[[EvidenceSet, Sequence[Turn]], Awaitable[T]],
    model: str,
    query: str,
    evidence: EvidenceSet,
    history: Sequence[Turn],
) -> T:
    """Asks with all the evidence and history; halves one kind after another while the prompt is too long.

    Raises:
        ContextTooLongError: even the claim with one passage is too long.
    """
    trimmed, recent = evidence, tuple(history)
    while True:
        try:
            answer = await ask(trimmed, recent)
        except ContextTooLongError:
            halved = _halve(query, trimmed, recent)
            if halved is None:
                raise
            trimmed, recent = halved
            continue
        left_out = _left_out(evidence, trimmed, history, recent)
        if left_out:
            meter().warn(f"{model} cannot read the whole prompt; judged without {left_out}")
        return answer


def _halve(query: str, trimmed: EvidenceSet, recent: tuple[Turn, ...]) -> tuple[EvidenceSet, tuple[Turn, ...]] | None:
    """Halves the first kind that is left: knowledge, history (oldest turns first), documents."""
    if trimmed.knowledge:
        known = nearest_passages(query, trimmed.knowledge, len(trimmed.knowledge) // 2)
        return trimmed.model_copy(update={"knowledge": known}), recent
    if trimmed.history or recent:
        turns = trimmed.history[(len(trimmed.history) + 1) // 2 :]
        return trimmed.model_copy(update={"history": turns}), recent[(len(recent) + 1) // 2 :]
    if len(trimmed.documents) > 1:
        passages = nearest_passages(query, trimmed.documents, len(trimmed.documents) // 2)
        return trimmed.model_copy(update={"documents": passages}), recent
    return None


def _left_out(whole: EvidenceSet, trimmed: EvidenceSet, history: Sequence[Turn], recent: Sequence[Turn]) -> str:
    counts = (
        (len(whole.knowledge) - len(trimmed.knowledge), "known claims"),
        (max(len(whole.history) - len(trimmed.history), len(history) - len(recent)), "earlier turns"),
        (len(whole.documents) - len(trimmed.documents), "document passages"),
    )
    return ", ".join(f"{count} {name}" for count, name in counts if count)


__all__ = ["ANSWERS", "FOLDER", "STAGES", "Prompt", "PromptInfo", "Prompts", "Roles"]
