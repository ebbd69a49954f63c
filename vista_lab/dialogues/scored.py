"""Turns a run's lines into scored answers: one cohort per model, setting, decomposer and judge."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vista_guard.errors import ConfigError, InputError
from vista_lab.dialogues.asking import DialogueManifest, read_dialogue_manifest
from vista_lab.dialogues.delivery import JudgedAnswer, PairFinding
from vista_lab.dialogues.questions import QuestionItem, QuestionSet, read_questions
from vista_lab.dialogues.records import (
    JUDGEMENT_LINES,
    JUDGEMENTS,
    STATEMENTS,
    STATEMENTS_LINES,
    AnswerLine,
    JudgementLine,
    last_answer,
    read_dialogues,
    read_lines,
)
from vista_lab.dialogues.retrieving import ORACLE

O200K = "o200k_base"
"""The paper's tokenizer."""
WORDS = "words"
"""Words and punctuation marks: needs no table, and gives fewer tokens than `o200k_base`."""
_CACHE = "TIKTOKEN_CACHE_DIR"
_CACHED_AS = hashlib.sha1(b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken").hexdigest()
"""Name of the table in tiktoken's cache: a hash of its address."""
_PIECE = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of answers. Runs with different counters don't share a table."""

    name: str
    count: Callable[[str], int]


def token_counter(name: str | None = None) -> TokenCounter:
    """A counter of tokens.

    Args:
        name: `o200k_base` (tiktoken fetches its table once), the path of the table `o200k_base.tiktoken`, or `words`. None:
            `o200k_base` if its table is in tiktoken's cache, else `words`.

    Raises:
        ConfigError: the counter is unknown, or its table cannot be loaded.

    Examples:
        >>> token_counter("words").count("It closes at six, not seven.")
        8
    """
    if name is None:
        name = O200K if _is_cached() else WORDS
    if name == WORDS:
        return TokenCounter(WORDS, lambda text: len(_PIECE.findall(text)))
    if name == O200K:
        return _o200k()
    path = Path(name)
    if not path.is_file():
        raise ConfigError(f"tokens {name!r} are unknown; give {O200K}, {WORDS} or the path of {O200K}.tiktoken")
    with tempfile.TemporaryDirectory() as folder, _cache_at(Path(folder)):
        shutil.copy(path, Path(folder) / _CACHED_AS)
        return _o200k()


def _is_cached() -> bool:
    """True if tiktoken has its table without the network."""
    folder = os.environ.get(_CACHE) or os.environ.get("DATA_GYM_CACHE_DIR")
    place = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    return (place / _CACHED_AS).is_file()


@contextmanager
def _cache_at(folder: Path) -> Iterator[None]:
    """Lets tiktoken read its table from the folder; its own reader checks the hash."""
    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(_CACHE)
        if before is not None:
            os.environ[_CACHE] = before


def _o200k() -> TokenCounter:
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(O200K)
    except ImportError as exc:
        raise ConfigError(f"tokens {O200K} need tiktoken: install the extra evaluation, or take {WORDS}") from exc
    except Exception as exc:  # of the network, of a broken table
        raise ConfigError(
            f"the table of {O200K} cannot be had ({type(exc).__name__}); give its file, or take {WORDS}"
        ) from exc
    return TokenCounter(O200K, lambda text: len(encoding.encode(text, disallowed_special=())))


@dataclass(frozen=True)
class Cohort:
    """The last answers of one model in one setting, as one decomposer and one judge see them.

    Attributes:
        run: name of the run's folder.
        data: first letters of the question set's SHA-256.
        counter: of the answers' tokens.
        lines: the answer to each dialogue that has one, by item.
        answers: those that can be scored: their item has facts and a reference answer.
        missing: dialogues without a last answer, by reason.
        bare: answered items without facts or without a reference answer.
        items: items of the question set, by id.
    """

    run: str
    data: str
    model: str
    setting: str
    decomposer: str
    judge: str
    counter: str
    lines: Mapping[str, AnswerLine]
    answers: tuple[JudgedAnswer, ...]
    missing: Mapping[str, int]
    bare: int
    items: Mapping[str, QuestionItem]
    statements: Mapping[str, tuple[str, ...]]
    """Statements of each decomposed answer, by item."""
    guarded_by: str = ""
    """The judge of the guard; empty without a guard."""
    oracle: bool = False
    """True if retrieval used the reference answers: the best that it could give."""
    most_tokens: int = 0
    """Token limit of the model's answers; 0 for an assistant without one."""

    @property
    def judged_by(self) -> tuple[str, str, str, str]:
        """Data, decomposer, judge and counter, which cohorts of one table share."""
        return self.data, self.decomposer, self.judge, self.counter

    @cached_property
    def by_id(self) -> Mapping[str, JudgedAnswer]:
        """Fully judged answers, by item."""
        return {one.id: one for one in self.answers if all(pair.judged for pair in (*one.facts, *one.statements))}

    @property
    def withheld(self) -> frozenset[str]:
        """Items whose own answer the guard did not deliver."""
        return frozenset(name for name, line in self.lines.items() if line.withheld is not None)


def run_questions(folder: Path, path: Path | None = None) -> QuestionSet:
    """The question set of a run, from its original path or from another one.

    Raises InputError if it cannot be read, or its content differs from the run's.
    """
    manifest = read_dialogue_manifest(folder)
    questions = read_questions(path or Path(manifest.questions))
    if questions.sha256 != manifest.questions_sha256:
        raise InputError(
            f"{path or manifest.questions} is not the set that {folder} was asked from (SHA-256 {questions.sha256[:12]}, "
            f"not {manifest.questions_sha256[:12]}); give the run's own file with --questions"
        )
    return questions


def read_cohorts(folder: Path, questions: QuestionSet, counter: TokenCounter, name: str = "") -> list[Cohort]:
    """The cohorts of a judged run, in the manifest's order of models and settings; `name` is for tables, the folder's by default.

    Raises InputError if nothing is judged yet; ConfigError if a line is malformed; names it.
    """
    manifest = read_dialogue_manifest(folder)
    items = {item.id: item for item in questions.items if item.id in set(manifest.items)}
    dialogues, statements, judgements = read_dialogues(folder), _statements(folder), _judgements(folder)
    judges = _judges(statements, judgements)
    if not judges:
        raise InputError(f"nothing in {folder} is judged yet; run vista-guard knowmt judge {folder}")
    reader = _Reader(name or folder.resolve().name, manifest, items, counter, dialogues, statements, judgements)
    return [
        reader.cohort(model, setting, *pair)
        for model in manifest.models
        for setting in manifest.settings
        for pair in judges
    ]


Place = tuple[str, str, str]
"""Model, setting, item."""


def _statements(folder: Path) -> dict[tuple[Place, str], tuple[str, ...]]:
    """The statements of each answer and decomposer, from the last try that succeeded."""
    return {
        ((line.model, line.setting, line.sample), line.decomposer): line.statements
        for line in read_lines(folder / STATEMENTS, STATEMENTS_LINES)
        if line.failure is None
    }


Judgements = dict[tuple[Place, str, str], dict[tuple[str, int], JudgementLine]]


def _judgements(folder: Path) -> Judgements:
    """The last line of each pair, by place, decomposer (empty for facts) and judge."""
    judgements: Judgements = {}
    for line in read_lines(folder / JUDGEMENTS, JUDGEMENT_LINES):
        place = (line.model, line.setting, line.sample)
        judgements.setdefault((place, line.decomposer, line.judge), {})[line.direction, line.index] = line
    return judgements


def _judges(
    statements: Iterable[tuple[Place, str]], judgements: Iterable[tuple[Place, str, str]]
) -> list[tuple[str, str]]:
    """Pairs of decomposer and judge with judged statements; if there are none, all decomposers with all judges."""
    both = dict.fromkeys((decomposer, judge) for _, decomposer, judge in judgements if decomposer)
    return list(both) or list(dict.fromkeys((name, judge) for _, name in statements for _, _, judge in judgements))


@dataclass(frozen=True)
class _Reader:
    run: str
    manifest: DialogueManifest
    items: Mapping[str, QuestionItem]
    counter: TokenCounter
    dialogues: Mapping[Place, Mapping[int, AnswerLine]]
    statements: Mapping[tuple[Place, str], tuple[str, ...]]
    judgements: Judgements

    def cohort(self, model: str, setting: str, decomposer: str, judge: str) -> Cohort:
        lines: dict[str, AnswerLine] = {}
        missing: Counter[str] = Counter()
        for name in self.manifest.items:
            turns = self.dialogues.get((model, setting, name), {})
            last = last_answer(turns)
            if last is not None:
                lines[name] = last
            else:
                failed = next((line.failure for line in turns.values() if line.failure), None)
                keys = (setting, f"{setting} {model}")
                out = any(name in self.manifest.left_out.get(key, ()) for key in keys)
                unasked = "left out" if out else "not asked yet"
                missing[(failed or unasked).partition(":")[0]] += 1
        scored = [name for name in lines if self.items[name].facts and self.items[name].answer]
        return Cohort(
            run=self.run,
            data=self.manifest.questions_sha256[:12],
            model=model,
            setting=setting,
            decomposer=decomposer,
            judge=judge,
            counter=self.counter.name,
            lines=lines,
            answers=tuple(self._judged(lines[name], (model, setting, name), decomposer, judge) for name in scored),
            missing=missing,
            bare=len(lines) - len(scored),
            items=self.items,
            statements={
                name: texts
                for name in lines
                if (texts := self.statements.get(((model, setting, name), decomposer))) is not None
            },
            oracle="rag=" in setting and self.manifest.references == ORACLE,
            guarded_by=self.manifest.guarded_by if "guard=" in setting else "",
            most_tokens=json.loads(self.manifest.parameters.get(model, "{}")).get("max_output_tokens") or 0,
        )

    def _judged(self, line: AnswerLine, place: Place, decomposer: str, judge: str) -> JudgedAnswer:
        facts = self.judgements.get((place, "", judge), {})
        statements = self.judgements.get((place, decomposer, judge), {})
        texts = self.statements.get((place, decomposer))
        return JudgedAnswer(
            id=line.sample,
            tokens=self.counter.count(line.answer or ""),
            facts=tuple(_verdict(facts.get(("fact", index))) for index in range(len(self.items[line.sample].facts))),
            # An answer that was not decomposed counts as unjudged, not as silent.
            statements=(_verdict(None),)
            if texts is None
            else tuple(_verdict(statements.get(("statement", index))) for index in range(len(texts))),
        )


def _verdict(line: JudgementLine | None) -> PairFinding:
    return PairFinding(None, None) if line is None else PairFinding(line.entails, line.contradicts)
