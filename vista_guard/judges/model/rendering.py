"""Renders conversation, evidence and claims as prompt text; the same input gives the same text.

All of it is untrusted, so none may pass for a part of the prompt: it stands inside tags that it cannot close, or, in a prompt
without tags, on lines that cannot pass for headings.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

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
        texts = [self._safe(_with_title(title, text)) for title, text in _whole(passages)]
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
        return self._lines("history", map(self._turn_line, turns), ' as="evidence"' if evidence else "")

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

    def _turn_line(self, turn: Turn) -> str:
        return f"{self.roles.of(turn.role)}: {self._entry(turn.text)}"

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


def _with_title(title: str | None, text: str) -> str:
    return f"{' '.join(title.split())}\n{text}" if title and title.strip() else text


def _tag(tag: str, text: str, attributes: str = "") -> str:
    return f"<{tag}{attributes}>\n{text or NOTHING}\n</{tag}>"


def _whole(passages: Sequence[Passage]) -> Iterator[tuple[str | None, str]]:
    """Title and text of each source, in the order in which they first appear."""
    sources: dict[str, list[Passage]] = {}
    for passage in passages:
        if passage.text.strip():
            sources.setdefault(passage.source_id, []).append(passage)
    for parts in sources.values():
        if any(part.found for part in parts):  # ranked: neighbours are put together again
            parts.sort(key=lambda part: part.span.start if part.span else 0)
        yield parts[0].title, _join(parts)


def _join(parts: Sequence[Passage]) -> str:
    text, end = _under_headings(parts[0], ()), _end(parts[0])
    for before, part in pairwise(parts):
        shared = end - part.span.start if end is not None and part.span is not None else -1
        overlaps = 0 < shared <= len(part.text) and text.endswith(part.text[:shared])
        text += part.text[shared:] if overlaps else f"\n{_under_headings(part, before.headings)}"
        end = _end(part)
    return text.strip()


def _under_headings(part: Passage, known: Sequence[str]) -> str:
    """The passage's text below the headings that it stands under, those aside that stand there already."""
    return "\n".join((*(heading for heading in part.headings if heading not in known), part.text))


def _end(passage: Passage) -> int | None:
    return passage.span.end if passage.span is not None else None


def headings_of(text: str) -> frozenset[str]:
    """Headings in a prompt without tags: lines in capitals, and words before a colon at a line's end."""
    lines = [line.strip() for line in text.splitlines()]
    found = {heading(line) for line in lines if line.isupper() or _ANNOUNCES.search(line)}
    return frozenset(found) - {""}
