"""Reads a researcher's prompt files, strictly.

In the package's own form, a file has instructions, then `=== EXAMPLES ===`, then `=== INPUT ===`, and takes `$slots`; front
matter may say `answer: json`. A file without such lines is taken whole, as the paper prints its prompts (VISTA, App. A.1), and
takes [slots in brackets].
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vista_guard.errors import ConfigError
from vista_guard.judges.model.rendering import headings_of

Stage = Literal["decompose", "verify", "categorize", "judge", "fused", "steps"]

SLOTS: Mapping[Stage, tuple[str, ...]] = {
    "decompose": ("history", "turn"),
    "verify": ("documents", "knowledge", "history", "claim"),
    "categorize": ("documents", "knowledge", "history", "claim"),
    "judge": ("documents", "knowledge", "history", "claims"),
    "fused": ("documents", "knowledge", "history", "turn"),
    "steps": ("question", "context", "sentence", "history"),
}
"""What the input of each stage may show."""

_OPTIONAL = frozenset({"history", "knowledge"})
_NAMES = ("assistant", "user")
"""Slots that are allowed anywhere: what the speakers are called."""

_BRACKETS = {
    "conversation history": "history",
    "target turn": "turn",
    "background knowledge": "knowledge",
    "reference text": "documents",
    "claim": "claim",
    "claims": "claims",
    **{name: name for name in ("question", "context", "sentence")},
}
_JUDGED = frozenset({"history", "turn", "knowledge", "documents", "claim", "claims"})
"""Slots in brackets that are told to be unknown where a stage has none of them; other words may stand in brackets."""
_IN_BRACKETS = re.compile(r"\[[ \t]*(" + "|".join(name.replace(" ", r"\s+") for name in _BRACKETS) + r")[ \t]*\]", re.I)
_DOLLAR = re.compile(r"\$(\$|[A-Za-z_]\w*|\{\w*\})?")
_MARKER = re.compile(r"^===[ \t]*(\w+)[ \t]*===[ \t]*$", re.MULTILINE)
_EXAMPLE = re.compile(r"^\W*example\W{1,3}\d+", re.IGNORECASE | re.MULTILINE)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Slot:
    """A place in a prompt that is filled. `alone`: it has a line to itself, which goes when there is nothing to show."""

    name: str
    alone: bool = False


Template = tuple[str | Slot, ...]


@dataclass(frozen=True)
class PromptFile:
    """One prompt. `headings` are those of a file taken whole; None for one in the package's own form, which is in tags.

    `shots` is how many examples it shows: lines that begin with `Example 1`, `Example 2` and so on are counted, and a part of
    examples that numbers none is one.
    """

    system: Template
    input: Template
    answer: Literal["json", "text"]
    headings: frozenset[str] | None
    shots: int = 0

    @property
    def slots(self) -> frozenset[str]:
        """The input's slots."""
        return frozenset(part.name for part in self.input if isinstance(part, Slot))


def read(path: Path, stage: Stage, *, examples: bool, slots: tuple[str, ...] | None = None) -> PromptFile:
    """Reads one file, with or without its part of examples. `slots`: those of a prompt that is for something else than a stage.

    Raises:
        ConfigError: the file cannot be read, or has a part or slot that it cannot have, or lacks one that it must have;
            names file and slot.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"prompt file {path} cannot be read: {exc}. Give a text file in UTF-8") from exc
    answer, text = _front_matter(path, text)
    if _MARKER.search(text) is None:
        file = PromptFile(
            (),
            _bracket_template(text.strip(), {*_JUDGED, *(SLOTS[stage] if slots is None else slots)}),
            answer,
            headings_of(text),
            len(_EXAMPLE.findall(text)),
        )
    else:
        instructions, shown, asked = _sections(path, text)
        system = "\n\n".join(part for part in (instructions, shown if examples else "") if part)
        shots = max(len(_EXAMPLE.findall(shown)), 1) if shown and examples else 0
        file = PromptFile(_template(path, system), _template(path, asked), answer, None, shots)
    _check_slots(path, stage, SLOTS[stage] if slots is None else slots, file)
    return file


def fill(template: Template, values: Mapping[str, str]) -> str:
    """The text with its slots filled; what is filled in is never looked at for slots."""
    filled = []
    for part in template:
        if isinstance(part, str):
            filled.append(part)
        elif values[part.name]:
            filled.append(values[part.name] + ("\n" if part.alone else ""))
    return "".join(filled).strip()


def _front_matter(path: Path, text: str) -> tuple[Literal["json", "text"], str]:
    found = _FRONT.match(text)
    if found is None:
        return "text", text
    for line in filter(str.strip, found.group(1).splitlines()):
        match [part.strip() for part in line.split(":", 1)]:
            case ["answer", "json"]:
                return "json", text[found.end() :]
            case ["answer", "text"]:
                return "text", text[found.end() :]
        raise ConfigError(
            f"prompt file {path} begins with {line.strip()!r}; only answer: json or answer: text is known"
        )
    return "text", text[found.end() :]


def _sections(path: Path, text: str) -> tuple[str, str, str]:
    """Instructions, examples, input."""
    instructions, *rest = _MARKER.split(text)
    names, parts = [name.upper() for name in rest[::2]], [part.strip() for part in rest[1::2]]
    if names == ["INPUT"]:
        return instructions.strip(), "", parts[0]
    if names == ["EXAMPLES", "INPUT"]:
        return instructions.strip(), parts[0], parts[1]
    raise ConfigError(
        f"prompt file {path} has the parts {', '.join(names)}; they must be === INPUT ===, "
        "or === EXAMPLES === and then === INPUT ==="
    )


def _template(path: Path, text: str) -> Template:
    parts: list[str | Slot] = []
    end = 0
    for found in _DOLLAR.finditer(text):
        name = (found.group(1) or "").strip("{}")
        if not name:
            line = text[: found.start()].count("\n") + 1
            raise ConfigError(f"prompt file {path} has a lone $ in line {line} of a part; write $$ for a dollar sign")
        alone = (found.start() == 0 or text[found.start() - 1] == "\n") and text[found.end() : found.end() + 1] == "\n"
        parts += [text[end : found.start()], "$" if name == "$" else Slot(name, alone)]
        end = found.end() + (alone and name != "$")
    return tuple(part for part in (*parts, text[end:]) if part)


def _bracket_template(text: str, known: Collection[str]) -> Template:
    named = ((_BRACKETS[" ".join(found.group(1).lower().split())], found) for found in _IN_BRACKETS.finditer(text))
    # The last of each: earlier ones may stand in the instructions, which speak of them.
    places = {name: found for name, found in named if name in known}
    parts: list[str | Slot] = []
    end = 0
    for name, found in sorted(places.items(), key=lambda place: place[1].start()):
        parts += [text[end : found.start()], Slot(name)]
        end = found.end()
    return tuple(part for part in (*parts, text[end:]) if part)


def _check_slots(path: Path, stage: Stage, known: tuple[str, ...], file: PromptFile) -> None:
    in_system = {part.name for part in file.system if isinstance(part, Slot)}
    for name in sorted(in_system - {*_NAMES}):
        where = "only the INPUT part shows it" if name in known else f"the slots are {_list_names(known)}"
        raise ConfigError(f"prompt file {path} has the slot ${name} in its instructions or examples; {where}")
    for name in sorted(file.slots - {*known, *_NAMES}):
        raise ConfigError(f"prompt file {path} has the slot ${name}; a {stage} prompt has {_list_names(known)}")
    for name in known:
        if name not in file.slots | _OPTIONAL:
            bracket = next((bracket for bracket, slot in _BRACKETS.items() if slot == name), name)
            raise ConfigError(
                f"prompt file {path} lacks the slot ${name}; put it into its === INPUT === part, or write [{bracket}] "
                "in a file without such parts"
            )


def _list_names(names: tuple[str, ...]) -> str:
    return ", ".join(f"${name}" for name in names)
