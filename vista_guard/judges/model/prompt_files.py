"""Reads prompt files, strictly, and renders conversation, evidence and claims for their slots.

A file has instructions, then `=== EXAMPLES ===`, then `=== INPUT ===`, and takes `$slots`; front matter may say `answer: json`.
A file without such lines is used whole, as the paper prints its prompts (VISTA, App. A.1), with [slots in brackets]. Rendered
text is untrusted: it sits inside tags that it cannot close, or on lines that cannot pass for headings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from vista_guard.errors import ConfigError
from vista_guard.types import Claim, Passage, Role, Turn

NOTHING = "(none)"
TAGS = ("documents", "knowledge", "history", "turn", "claims", "claim")
PARTS = ("question", "context", "sentence", "output", "sos", "eos")
"""Tags of decomposers' prompts and answers."""

_ROLE_CHARS = 40

_HIDDEN = "\0"
"""Stands for an invisible character. A model may skip it or read a space: tags are found in both readings."""

_BRACKET = re.compile("[<＜﹤‹〈⟨〈˂ᐸ❮❰⧼≺≪⟪《«≮]")
# Chat templates of open models: some servers read these as their own tokens anywhere.
_CONTROL = re.compile(r"<(?=[|｜])|<(?=/?s>)|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w+)\])", re.IGNORECASE)
_SPECIAL = (
    *TAGS,
    *("system", "user", "assistant", "sys", "think", "thinking", "tool_call", "start_of_turn", "end_of_turn"),
)


def _tag_pattern(tags: Sequence[str]) -> re.Pattern[str]:
    """Pattern for one of the tags behind a bracket."""
    names = "|".join(f"{_HIDDEN}*".join(name) for name in tags)
    return re.compile(rf"[\s{_HIDDEN}/\\∕⁄⧸«|｜]*(?:{names})(?![a-z0-9_-])")


_TAG, _PART = _tag_pattern(_SPECIAL), _tag_pattern((*_SPECIAL, *PARTS))
_ANNOUNCES = re.compile(r"^[^:]{1,60}:[\s*]*(?:\[[^\]]*\])?$")
_CONTROLS = dict.fromkeys((*range(32), 127), _HIDDEN)
_UNSEEN = ("Cf", "Mn", "Me", "Cc", "Zl", "Zp")
_ALIKE = str.maketrans("аеіорсуһԁкѕтмнǀιοτκνυ\u115f\u1160\u2800", f"aeiopcyhdkstmnliotkvu{_HIDDEN}{_HIDDEN}{_HIDDEN}")
"""Cyrillic and Greek letters that look like those of a tag's name; fillers that look like nothing."""


@dataclass(frozen=True)
class Roles:
    """The speakers' names in a prompt and in its claims.

    Raises:
        ConfigError: a name that would break a prompt's lines or tags, or the same name twice.
    """

    assistant: str = "assistant"
    user: str = "user"

    def __post_init__(self) -> None:
        for field in ("assistant", "user"):
            name = getattr(self, field)
            if not name.strip() or len(name) > _ROLE_CHARS or not name.isprintable() or re.search(r"[<>:$\[\]]", name):
                raise ConfigError(
                    f"the name of the {field} in prompts is {name!r}; give up to {_ROLE_CHARS} printable characters "
                    "without any of < > : $ [ ]"
                )
        if self.assistant == self.user:
            raise ConfigError(f"assistant and user are both called {self.user!r} in prompts; give two names")

    def of(self, role: Role) -> str:
        """The speaker's name."""
        return {Role.ASSISTANT: self.assistant, Role.USER: self.user}.get(role, str(role))


@dataclass(frozen=True)
class Style:
    """Delimits untrusted text: in tags, or, given a prompt's `headings`, without any."""

    roles: Roles
    headings: frozenset[str] | None = None
    parts: bool = False
    """True for a decomposer's prompt, which has more tags."""

    def documents(self, passages: Sequence[Passage]) -> str:
        """Numbered documents with titles. Passages of one document are joined, overlaps once."""
        texts = [self._safe(text) for text in _join_sources(passages)]
        if self.headings is not None:
            return "\n\n".join(texts) or NOTHING
        numbered = (f"[{number}] {text}" for number, text in enumerate(texts, 1))
        return _tag("documents", "\n\n".join(numbered))

    def knowledge(self, passages: Sequence[Passage]) -> str:
        """A numbered list."""
        facts = [passage.text for passage in passages if passage.text.strip()]
        return self._lines("knowledge", (f"{number}. {self._entry(fact)}" for number, fact in enumerate(facts, 1)))

    def history(self, turns: Sequence[Turn], *, evidence: bool = False) -> str:
        """One entry per turn; continuation lines are indented, so that no turn can fake another."""
        lines = (f"{self.roles.of(turn.role)}: {self._entry(turn.text)}" for turn in turns)
        return self._lines("history", lines, ' as="evidence"' if evidence else "")

    def turn(self, turn: Turn) -> str:
        """The turn to judge."""
        # Not indented: claims quote it word for word.
        spoken = f"{self.roles.of(turn.role)}: {self._safe(turn.text.strip())}"
        return spoken if self.headings is not None else _tag("turn", spoken)

    def claim(self, claim: Claim) -> str:
        """One claim."""
        text = self._entry(claim.text)
        return text if self.headings is not None else f"<claim>{text}</claim>"

    def claims(self, claims: Sequence[Claim]) -> str:
        """One entry per claim, with ids c1, c2, ... by position."""
        return self._lines(
            "claims", (f"c{number}: {self._entry(claim.text)}" for number, claim in enumerate(claims, 1))
        )

    def part(self, tag: str, text: str) -> str:
        """A question, context or sentence of a decomposer's prompt; "" if empty."""
        safe = self._safe(text.strip())
        return safe if self.headings is not None or not safe else _tag(tag, safe)

    def _lines(self, tag: str, entries: Iterator[str], attributes: str = "") -> str:
        text = "\n".join(entries)
        return text or NOTHING if self.headings is not None else _tag(tag, text, attributes)

    def _entry(self, text: str) -> str:
        return "\n  ".join(self._safe(text.strip()).splitlines())

    def _safe(self, text: str) -> str:
        text = defuse(text, parts=self.parts)
        return text if self.headings is None else _quote_headings(text, self.headings)


@lru_cache(maxsize=512)  # all claims of a turn share the same evidence
def defuse(text: str, *, parts: bool = False) -> str:
    """The text with everything escaped that a model could read as a prompt's tag or a chat template's token.

    `&lt;` and `&#91;` replace the brackets; everything else stays. Idempotent. `parts`: for a decomposer's prompt, which has
    more tags.
    """
    # Lone surrogates cannot be sent.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub(lambda match: "&lt;" if match.group() == "<" else "&#91;", text)
    if not _BRACKET.search(text):
        return text
    folded = _fold(text)
    tag = _PART if parts else _TAG
    opening = (tag.match(folded, match.end()) is not None for match in re.finditer("<", folded))
    return _BRACKET.sub(lambda match: "&lt;" if next(opening) else match.group(), text)


def heading(line: str) -> str:
    """A line's heading for comparison: the letters before its colon, without markup, numbers, case and spaces."""
    return "".join(re.findall(r"[^\W\d_]+", _fold(unicodedata.normalize("NFKC", line).partition(":")[0])))


def _fold(text: str) -> str:
    """The text as it looks: `<` for any bracket, `_HIDDEN` for invisible characters, look-alikes as plain lower-case letters."""
    return text.translate(_CONTROLS).lower() if text.isascii() else "".join(map(_fold_char, text))


@lru_cache(maxsize=4096)
def _fold_char(char: str) -> str:
    if _BRACKET.match(char):
        return "<"
    letters = unicodedata.normalize("NFKD", char).casefold().translate(_ALIKE)
    return "".join(_HIDDEN if unicodedata.category(letter) in _UNSEEN else letter for letter in letters)


def _quote_headings(text: str, headings: frozenset[str]) -> str:
    return "\n".join(f"> {line}" if heading(line) in headings else line for line in text.splitlines())


def _tag(tag: str, text: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>\n{text or NOTHING}\n</{tag}>"


def _join_sources(passages: Sequence[Passage]) -> Iterator[str]:
    """Each source below its title, in the order in which they first appear."""
    sources: dict[str, list[Passage]] = {}
    for passage in passages:
        if passage.text.strip():
            sources.setdefault(passage.source_id, []).append(passage)
    for parts in sources.values():
        if any(part.found for part in parts):  # ranked: restore the document's order
            parts.sort(key=lambda part: part.span.start if part.span else 0)
        title = " ".join((parts[0].title or "").split())
        yield f"{title}\n{_join(parts)}" if title else _join(parts)


def _join(parts: Sequence[Passage]) -> str:
    text = _under_headings(parts[0], ())
    for before, part in pairwise(parts):
        shared = before.span.end - part.span.start if before.span and part.span else -1
        overlaps = 0 < shared <= len(part.text) and text.endswith(part.text[:shared])
        text += part.text[shared:] if overlaps else f"\n{_under_headings(part, before.headings)}"
    return text.strip()


def _under_headings(part: Passage, known: Sequence[str]) -> str:
    """The passage's text below its headings, except those already shown."""
    return "\n".join((*(heading for heading in part.headings if heading not in known), part.text))


def headings_of(text: str) -> frozenset[str]:
    """Headings in a prompt without tags: lines in capitals, and words before a colon at a line's end."""
    lines = [line.strip() for line in text.splitlines()]
    headings = {heading(line) for line in lines if line.isupper() or _ANNOUNCES.search(line)}
    return frozenset(headings) - {""}


Stage = Literal[
    # of a model judge
    "decompose",
    "verify",
    "categorize",
    "judge",
    "fused",
    # of decomposers
    "steps",
    "factscore",
    "veriscore",
    "veriscore-sft",
    "claimify-select",
    "claimify-disambiguate",
    "claimify-decompose",
    "dydecomp",
]

SLOTS: Mapping[Stage, tuple[str, ...]] = {
    "decompose": ("history", "turn"),
    "verify": ("documents", "knowledge", "history", "claim"),
    "categorize": ("documents", "knowledge", "history", "claim"),
    "judge": ("documents", "knowledge", "history", "claims"),
    "fused": ("documents", "knowledge", "history", "turn"),
    "steps": ("question", "context", "sentence", "history"),
    "factscore": ("sentence",),
    "veriscore": ("question", "context", "sentence"),
    "veriscore-sft": ("context",),
    "claimify-select": ("question", "context", "sentence"),
    "claimify-disambiguate": ("question", "context", "sentence"),
    "claimify-decompose": ("question", "context", "sentence"),
    "dydecomp": ("history", "claim"),
}
"""Slots that the input of each stage may have."""

_OPTIONAL = frozenset({"history", "knowledge"})
_NAMES = ("assistant", "user")
"""Slots allowed anywhere: the speakers' names."""

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
"""Bracketed words that are always read as slots, so that an unknown one is an error; other brackets are text."""
_IN_BRACKETS = re.compile(r"\[[ \t]*(" + "|".join(name.replace(" ", r"\s+") for name in _BRACKETS) + r")[ \t]*\]", re.I)
_DOLLAR = re.compile(r"\$(\$|[A-Za-z_]\w*|\{\w*\})?")
_MARKER = re.compile(r"^===[ \t]*(\w+)[ \t]*===[ \t]*$", re.MULTILINE)
_EXAMPLE = re.compile(r"^\W*example\W{1,3}\d+", re.IGNORECASE | re.MULTILINE)
_FRONT = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Slot:
    """A slot of a prompt. `alone`: it has a line to itself, which is dropped when the value is empty."""

    name: str
    alone: bool = False


Template = tuple[str | Slot, ...]


@dataclass(frozen=True)
class PromptFile:
    """One prompt. `headings` are those of a file without parts; None for the package's own form, which uses tags.

    `shots` is the number of examples: lines that begin with `Example 1`, `Example 2` and so on; an examples part without
    numbers counts as one.
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
    """Reads one file, with or without its examples. `slots` overrides those of the stage.

    Raises:
        ConfigError: the file cannot be read, or has an unknown part or slot, or lacks a required one;
            names file and slot.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise ConfigError(f"prompt file {path} cannot be read: {exc}. Give a text file in UTF-8") from exc
    answer, text = _front_matter(path, text)
    slots = SLOTS[stage] if slots is None else slots
    if _MARKER.search(text) is None:
        file = PromptFile(
            (),
            _bracket_template(text.strip(), {*_JUDGED, *slots}),
            answer,
            headings_of(text),
            len(_EXAMPLE.findall(text)),
        )
    else:
        instructions, example_part, input_part = _sections(path, text)
        system = "\n\n".join(part for part in (instructions, example_part if examples else "") if part)
        shots = max(len(_EXAMPLE.findall(example_part)), 1) if example_part and examples else 0
        file = PromptFile(_template(path, system), _template(path, input_part), answer, None, shots)
    _check_slots(path, stage, slots, file)
    return file


def fill(template: Template, values: Mapping[str, str]) -> str:
    """The text with its slots filled; slots inside the values are ignored."""
    filled = []
    for part in template:
        if isinstance(part, str):
            filled.append(part)
        elif values[part.name]:
            filled.append(values[part.name] + ("\n" if part.alone else ""))
    return "".join(filled).strip()


def _front_matter(path: Path, text: str) -> tuple[Literal["json", "text"], str]:
    match = _FRONT.match(text)
    if match is None:
        return "text", text
    line = next(filter(None, map(str.strip, match[1].splitlines())), "answer: text")
    key, _, answer = (part.strip() for part in line.partition(":"))
    if key != "answer" or answer not in ("json", "text"):
        raise ConfigError(f"prompt file {path} begins with {line!r}; only answer: json or answer: text is known")
    return ("json" if answer == "json" else "text"), text[match.end() :]


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
    for match in _DOLLAR.finditer(text):
        name = (match.group(1) or "").strip("{}")
        if not name:
            line = text[: match.start()].count("\n") + 1
            raise ConfigError(f"prompt file {path} has a lone $ in line {line} of a part; write $$ for a dollar sign")
        alone = (match.start() == 0 or text[match.start() - 1] == "\n") and text[match.end() : match.end() + 1] == "\n"
        parts += [text[end : match.start()], "$" if name == "$" else Slot(name, alone)]
        end = match.end() + (alone and name != "$")
    return tuple(part for part in (*parts, text[end:]) if part)


def _bracket_template(text: str, known: Collection[str]) -> Template:
    matches = ((_BRACKETS[" ".join(match.group(1).lower().split())], match) for match in _IN_BRACKETS.finditer(text))
    # The last of each: the instructions may mention earlier ones.
    places = {name: match for name, match in matches if name in known}
    parts: list[str | Slot] = []
    end = 0
    for name, match in sorted(places.items(), key=lambda place: place[1].start()):
        parts += [text[end : match.start()], Slot(name)]
        end = match.end()
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
