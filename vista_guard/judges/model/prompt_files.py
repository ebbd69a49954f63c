"""Reads prompt files, strictly, and renders conversation, evidence and claims for their slots.

A file has instructions, then `=== EXAMPLES ===`, then `=== INPUT ===`, and takes `$slots`; front matter may say `answer: json`.
One without such lines is taken whole, as the paper prints its prompts (VISTA, App. A.1), and takes [slots in brackets]. What is
rendered is untrusted: it stands inside tags that it cannot close, or on lines that cannot pass for headings.
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
"""Stands for a character that is not seen. A model may read over it or take it for a space: a tag is found in both readings."""

_BRACKET = re.compile("[<＜﹤‹〈⟨〈˂ᐸ❮❰⧼≺≪⟪《«≮]")
# Chat templates of open models: some servers take these for their own tokens wherever they stand.
_CONTROL = re.compile(r"<(?=[|｜])|<(?=/?s>)|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_\w+)\])", re.IGNORECASE)
_SPECIAL = (
    *TAGS,
    *("system", "user", "assistant", "sys", "think", "thinking", "tool_call", "start_of_turn", "end_of_turn"),
)


def _naming(tags: Sequence[str]) -> re.Pattern[str]:
    """Finds one of the tags behind a bracket."""
    names = "|".join(f"{_HIDDEN}*".join(name) for name in tags)
    return re.compile(rf"[\s{_HIDDEN}/\\∕⁄⧸«|｜]*(?:{names})(?![a-z0-9_-])")


_TAG, _PART = _naming(_SPECIAL), _naming((*_SPECIAL, *PARTS))
_ANNOUNCES = re.compile(r"^[^:]{1,60}:[\s*]*(?:\[[^\]]*\])?$")
_CONTROLS = dict.fromkeys((*range(32), 127), _HIDDEN)
_UNSEEN = ("Cf", "Mn", "Me", "Cc", "Zl", "Zp")
_ALIKE = str.maketrans("аеіорсуһԁкѕтмнǀιοτκνυ\u115f\u1160\u2800", f"aeiopcyhdkstmnliotkvu{_HIDDEN}{_HIDDEN}{_HIDDEN}")
"""Cyrillic and Greek letters that look like those of a tag's name; fillers that look like nothing."""


@dataclass(frozen=True)
class Roles:
    """The speakers' names in a prompt and in its claims.

    Raises:
        ConfigError: a name that would break a prompt's lines or tags, or one name for both.
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
        """The name of a speaker."""
        return {Role.ASSISTANT: self.assistant, Role.USER: self.user}.get(role, str(role))


@dataclass(frozen=True)
class Style:
    """How untrusted text is set apart: in tags, or, given a prompt's `headings`, without any."""

    roles: Roles
    headings: frozenset[str] | None = None
    parts: bool = False
    """True for a decomposer's prompt, which has more tags."""

    def documents(self, passages: Sequence[Passage]) -> str:
        """Numbered, each with its title. Passages of one document are put together, their overlaps once."""
        texts = [self._safe(text) for text in _whole(passages)]
        if self.headings is not None:
            return "\n\n".join(texts) or NOTHING
        numbered = (f"[{number}] {text}" for number, text in enumerate(texts, 1))
        return _tag("documents", "\n\n".join(numbered))

    def knowledge(self, passages: Sequence[Passage]) -> str:
        """A numbered list."""
        facts = [passage.text for passage in passages if passage.text.strip()]
        return self._lines("knowledge", (f"{number}. {self._entry(fact)}" for number, fact in enumerate(facts, 1)))

    def history(self, turns: Sequence[Turn], *, evidence: bool = False) -> str:
        """One entry a turn; what runs on is indented, so that no turn can contain another."""
        lines = (f"{self.roles.of(turn.role)}: {self._entry(turn.text)}" for turn in turns)
        return self._lines("history", lines, ' as="evidence"' if evidence else "")

    def turn(self, turn: Turn) -> str:
        """The turn that is judged."""
        # Not indented: claims quote it word for word.
        spoken = f"{self.roles.of(turn.role)}: {self._safe(turn.text.strip())}"
        return spoken if self.headings is not None else _tag("turn", spoken)

    def claim(self, claim: Claim) -> str:
        """One claim."""
        text = self._entry(claim.text)
        return text if self.headings is not None else f"<claim>{text}</claim>"

    def claims(self, claims: Sequence[Claim]) -> str:
        """One entry a claim, with the ids c1, c2, ... by position."""
        return self._lines(
            "claims", (f"c{number}: {self._entry(claim.text)}" for number, claim in enumerate(claims, 1))
        )

    def part(self, tag: str, text: str) -> str:
        """A question, a context or a sentence of a decomposer's prompt; no text, no part."""
        safe = self._safe(text.strip())
        return safe if self.headings is not None or not safe else _tag(tag, safe)

    def _lines(self, tag: str, entries: Iterator[str], attributes: str = "") -> str:
        text = "\n".join(entries)
        return text or NOTHING if self.headings is not None else _tag(tag, text, attributes)

    def _entry(self, text: str) -> str:
        return "\n  ".join(self._safe(text.strip()).splitlines())

    def _safe(self, text: str) -> str:
        text = defuse(text, parts=self.parts)
        return text if self.headings is None else _quoted_headings(text, self.headings)


@lru_cache(maxsize=512)  # every claim of a turn is shown the same evidence
def defuse(text: str, *, parts: bool = False) -> str:
    """The text without anything that could be taken for a tag of a prompt or a token of a chat template.

    `&lt;` and `&#91;` stand in place of the brackets; everything else stays as it is. Idempotent. `parts`: in a decomposer's
    prompt, which has more tags.
    """
    # Half a character cannot be sent.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    text = _CONTROL.sub(lambda found: "&lt;" if found.group() == "<" else "&#91;", text)
    if not _BRACKET.search(text):
        return text
    seen = _fold(text)
    tag = _PART if parts else _TAG
    opening = (tag.match(seen, found.end()) is not None for found in re.finditer("<", seen))
    return _BRACKET.sub(lambda found: "&lt;" if next(opening) else found.group(), text)


def heading(line: str) -> str:
    """A line's heading for comparison: the letters before its colon, without markup, numbers, case and spaces."""
    return "".join(re.findall(r"[^\W\d_]+", _fold(unicodedata.normalize("NFKC", line).partition(":")[0])))


def _fold(text: str) -> str:
    """The text as it looks: one `<` for each bracket, `_HIDDEN` for what is not seen, look-alikes as plain small letters."""
    return text.translate(_CONTROLS).lower() if text.isascii() else "".join(map(_folded, text))


@lru_cache(maxsize=4096)
def _folded(char: str) -> str:
    if _BRACKET.match(char):
        return "<"
    letters = unicodedata.normalize("NFKD", char).casefold().translate(_ALIKE)
    return "".join(_HIDDEN if unicodedata.category(letter) in _UNSEEN else letter for letter in letters)


def _quoted_headings(text: str, headings: frozenset[str]) -> str:
    return "\n".join(f"> {line}" if heading(line) in headings else line for line in text.splitlines())


def _tag(tag: str, text: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>\n{text or NOTHING}\n</{tag}>"


def _whole(passages: Sequence[Passage]) -> Iterator[str]:
    """Each source below its title, in the order in which they first appear."""
    sources: dict[str, list[Passage]] = {}
    for passage in passages:
        if passage.text.strip():
            sources.setdefault(passage.source_id, []).append(passage)
    for parts in sources.values():
        if any(part.found for part in parts):  # ranked: neighbours are put together again
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
    """The passage's text below the headings that it stands under, those aside that stand there already."""
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
        instructions, shown, asked = _sections(path, text)
        system = "\n\n".join(part for part in (instructions, shown if examples else "") if part)
        shots = max(len(_EXAMPLE.findall(shown)), 1) if shown and examples else 0
        file = PromptFile(_template(path, system), _template(path, asked), answer, None, shots)
    _check_slots(path, stage, slots, file)
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
