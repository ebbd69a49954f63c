"""Training inputs of a policy: exemplars and labelled sentences as chats of bounded length, some of them held out.

A prompt that is too long loses earlier turns, then context, from the ends. Instructions and sentence are never cut: the answer to
half a sentence is another answer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Generic, TypeVar

from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.decomposers.sentences import CUT
from vista_lab.decompose.training.completions import SentenceRow, Term, rows_of
from vista_lab.decompose.training.exemplars import Exemplar, SentenceInput, StepsPrompt, read_exemplars, validation_of
from vista_lab.runs.folder import MANIFEST, read_manifest
from vista_lab.runs.made import named_share

T = TypeVar("T")
Chat = list[dict[str, str]]
"""Messages with `role` and `content`."""


@dataclass(frozen=True)
class Division(Generic[T]):
    """Rows to train on, and held-out rows of other conversations. `sha256`: of all rows; `teacher`: who wrote exemplars."""

    train: Sequence[T]
    held_out: Sequence[T]
    sha256: str
    teacher: str = ""


def exemplar_parts(folder: Path, prompt: StepsPrompt) -> Division[Exemplar]:
    """The kept exemplars of a folder, divided as its `train.jsonl` and `validation.jsonl`.

    Raises:
        ConfigError: they were made with another prompt.
        InputError: the folder is none of exemplars, or has none to train on.
    """
    if not (folder / MANIFEST).is_file():
        raise InputError(f"{folder} has no {MANIFEST}; give a folder that vista-guard decompose exemplars wrote")
    manifest = read_manifest(folder)
    made_with = manifest.system.prompts.get("steps")
    if made_with != prompt.fingerprint:
        raise ConfigError(
            f"{folder} has exemplars of prompt {made_with}, and the decomposer steps: now asks with {prompt.fingerprint}; set "
            "prompts_dir, shots and names as they were, or make exemplars of this prompt"
        )
    exemplars = [exemplar for exemplar in read_exemplars(folder) if exemplar.kept]
    apart = validation_of(manifest.rows.conversations if manifest.rows is not None else ())
    held_out = [exemplar for exemplar in exemplars if exemplar.asked.conversation in apart]
    parts = _parts(folder, exemplars, held_out, (exemplar.model_dump_json() for exemplar in exemplars))
    return replace(parts, teacher=manifest.system.judge.name)


def sentence_parts(path: Path, terms: Sequence[Term]) -> Division[SentenceRow]:
    """The sentences of a file, a tenth of the conversations held out.

    Raises InputError: rows are wrong, lack what a term needs, or are too few; names file, row and value.
    """
    rows = rows_of(SentenceRow, path, terms)
    if not any(row.conversation for row in rows):  # each sentence for itself, equal ones together
        rows = [row.model_copy(update={"conversation": row.sentence}) for row in rows]
    apart = validation_of(row.conversation or "" for row in rows)
    held_out = [row for row in rows if (row.conversation or "") in apart]
    return _parts(path, rows, held_out, (row.model_dump_json() for row in rows))


def _parts(place: Path, rows: Sequence[T], held_out: Sequence[T], lines: Iterable[str]) -> Division[T]:
    apart = set(map(id, held_out))
    train = [row for row in rows if id(row) not in apart]
    if not train or not held_out:
        counts = f"{len(train):,} sentences to train on and {len(held_out):,} to measure with"
        raise InputError(f"{place} has {counts}; give sentences of at least two conversations")
    return Division(train, held_out, hashlib.sha256("\n".join(lines).encode()).hexdigest())


def sample(rows: Sequence[T], most: int, name: Callable[[T], str]) -> list[T]:
    """At most `most` rows, chosen by their names alone, in their order.

    Examples:
        >>> len(sample("abcdef", 2, str))
        2
    """
    chosen = {id(row) for row in sorted(rows, key=lambda row: named_share(f"measured:{name(row)}"))[:most]}
    return [row for row in rows if id(row) in chosen]


def input_of(row: SentenceRow) -> SentenceInput:
    """The row as the prompt shows it."""
    context = row.context or row.sentence
    return SentenceInput(
        id=row.id or "", conversation="", question=row.question, context=context, sentence=row.sentence
    )


@dataclass
class Fitting:
    """Fits sentences into prompts of at most `most` tokens. `count` counts a chat's tokens, with its template."""

    prompt: StepsPrompt
    count: Callable[[Chat], int]
    most: int
    cut: int = field(default=0, init=False)
    """Prompts that lost context or earlier turns."""
    left_out: int = field(default=0, init=False)
    """Sentences that are too long without any context."""
    tokens: list[int] = field(default_factory=list, init=False)
    """Tokens of each prompt."""

    def chat(self, asked: SentenceInput, answer: int = 0) -> Chat | None:
        """The chat of a sentence, short enough for an answer of so many tokens; None if none fits."""
        messages = self._messages(asked)
        if self._keeps(messages, answer):
            return messages
        for shorter in _without_history(asked):
            if self._keeps(messages := self._messages(shorter), answer):
                self.cut += 1
                return messages
        bare = asked.model_copy(update={"earlier": ()})
        low, high, best = 0, len(asked.context.split()), None
        while low <= high:  # the widest window that fits
            middle = (low + high) // 2
            messages = self._messages(narrowed(bare, middle))
            if self.count(messages) + answer <= self.most:
                best, low = messages, middle + 1
            else:
                high = middle - 1
        if best is None:
            self.left_out += 1
            return None
        self.cut += 1
        self.tokens.append(self.count(best))
        return best

    def _messages(self, asked: SentenceInput) -> Chat:
        return [{"role": message.role, "content": message.content} for message in self.prompt.request(asked).messages]

    def _keeps(self, chat: Chat, answer: int) -> bool:
        size = self.count(chat)
        if size + answer <= self.most:
            self.tokens.append(size)
            return True
        return False


def _without_history(asked: SentenceInput) -> Iterable[SentenceInput]:
    """The input with ever fewer earlier turns, the oldest dropped first."""
    for gone in range(1, len(asked.earlier) + 1):
        yield asked.model_copy(update={"earlier": asked.earlier[gone:]})


def narrowed(asked: SentenceInput, words: int) -> SentenceInput:
    """The input with at most so many words of context on each side of its sentence, `[...]` where some were cut.

    Examples:
        >>> asked = SentenceInput(id="", conversation="", question="", context="a b c It opened. d e f", sentence="It opened.")
        >>> narrowed(asked, 1).context
        '[...] c It opened. d [...]'
    """
    before, sentence, behind = asked.context.partition(asked.sentence)
    if not sentence:  # the context says it in other words: it can only be kept or left
        return asked if words >= len(asked.context.split()) else asked.model_copy(update={"context": asked.sentence})
    left, right = before.split(), behind.split()
    before, after = [CUT] * (len(left) > words), [CUT] * (len(right) > words)
    parts = [*before, *left[len(left) - min(words, len(left)) :], sentence, *right[:words], *after]
    return asked.model_copy(update={"context": " ".join(parts)})
