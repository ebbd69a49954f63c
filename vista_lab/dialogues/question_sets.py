"""Builds a KnowMT-Bench set from questions with reference answers: facts, and the turns before (App. D to F, J.1).

    ours/
      manifest.json    model, prompts, verifier and source: a `runs.folder.Manifest`
      records.jsonl    a `QuestionRecord` a line, written as soon as it is made, accepted or not, with what the gates say
      questions.jsonl  the set: accepted records, as `vista-guard knowmt run` reads them; each says whether people reviewed it
      facts.jsonl, sequences.jsonl   items for `vista-guard annotations export --form knowmt_facts`, `knowmt_sequences`

A stopped run is resumed: questions with a record are skipped.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from vista_guard.errors import ContextTooLongError, InputError, UnreadableError
from vista_guard.judges.model import ChatModel, ChatRequest
from vista_guard.judges.model.answers.tolerant import RAW_CHARS, clean, unreadable
from vista_guard.protocols import Verifier
from vista_guard.stores.line_file import LineKind, write_whole
from vista_guard.types import Claim, JudgeInfo, Role, Turn
from vista_lab.dialogues.questions import QuestionItem
from vista_lab.files import reading
from vista_lab.runs.asking import (
    Asked,
    ask_until_read,
    fingerprint,
    letters,
    messages_of,
    prompt_file,
    tagged,
    whole_objects,
)
from vista_lab.runs.folder import Manifest, begin
from vista_lab.runs.made import GateVerdict, Grade, State, made_from, named_share, open_records, verdict
from vista_lab.runs.workers import WorkDone, work_through
from vista_lab.systems.protocol import SystemInfo

SYSTEM = "knowmt-build"
"""Name of the system in the manifest of a set of questions."""
QUESTIONS, FACT_ITEMS, SEQUENCE_ITEMS = "questions.jsonl", "facts.jsonl", "sequences.jsonl"
LENGTHS: Mapping[int, int] = {2: 300, 3: 300, 4: 120, 5: 81}
"""Turns of the paper's 801 dialogues (Figure 12): lengths are drawn by these shares."""
OVERLAP = 0.1
"""Share of the last answer's facts from which an earlier question asks for the same (App. J.1: 10 %)."""
LEAKED = 0.5
"""P(supported) of a fact by the earlier questions from which they give it away."""
SLOTS: Mapping[str, tuple[str, ...]] = {
    "facts": ("question", "answer"),
    "sequence": ("question", "turns", "patterns"),
    "extension": ("questions", "more"),
    "review": ("questions", "facts"),
}
"""The slots of each prompt."""
TEXTS = Path(__file__).parent / "texts"
_LONGEST_TEMPLATE = 3
T = TypeVar("T")


def _prompt(step: str) -> Path:
    return TEXTS / "prompts" / f"{step}.txt"


class QuestionRecord(BaseModel):
    """A question, and the generated dialogue that leads to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    question: str
    """Asked last, and alone in the setting `single`."""
    answer: str
    domains: tuple[str, ...] = ()
    source: str = ""
    url: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    turns: int = Field(ge=2, le=5)
    """The number drawn."""
    facts: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    """The sequence; empty where no whole answer came."""
    pattern: str = ""
    """The form of `texts/sequence_patterns.toml` that the model chose; four and five turns extend one of three."""
    verdicts: tuple[GateVerdict, ...] = ()
    state: State
    reason: str = ""
    raw: str = ""
    """The model's last answer, where the record was rejected."""
    attempts: int = 0


_LINES = LineKind(
    QuestionRecord,
    noun="record",
    group=lambda record: record.id,
    key=lambda record: record.id,
    again=lambda record: f"has question {record.id} again",
)


def drawn_turns(name: str, seed: int) -> int:
    """The number of turns of an item's dialogue, 2 to 5, by the shares of `LENGTHS`; deterministic.

    Examples:
        >>> drawn_turns("a question's id", seed=0) in LENGTHS
        True
    """
    place = named_share(f"turns:{seed}:{name}") * sum(LENGTHS.values())
    for turns, count in LENGTHS.items():
        if place < count:
            return turns
        place -= count
    return max(LENGTHS)


class QuestionSetMaker:
    """Generates facts and sequences with a chat model, and checks them.

    Args:
        model: behind its endpoint.
        verifier: finds facts that the earlier questions give away.
        seed: draws the number of turns.
        prompts: a folder of prompt files that replace the shipped ones: `facts.txt`, `sequence.txt`, …

    Raises:
        ConfigError: a prompt file is invalid.
    """

    def __init__(self, model: ChatModel, verifier: Verifier, seed: int = 0, prompts: Path | None = None) -> None:
        self.model, self.verifier, self.seed = model, verifier, seed
        self._patterns = tomllib.loads((TEXTS / "sequence_patterns.toml").read_text(encoding="utf-8"))
        self._files = {step: prompt_file(_prompt(step), slots, prompts) for step, slots in SLOTS.items()}

    @property
    def prompts(self) -> Mapping[str, str]:
        """Fingerprints of the prompts, by step."""
        return {step: fingerprint(file) for step, file in self._files.items()}

    async def make(self, item: QuestionItem) -> QuestionRecord:
        """The record of a question; a rejected one says why.

        Raises:
            BudgetError: the budget is spent.
            JudgeError: the endpoint did not answer, or the verifier failed.
        """
        asked = Asked()
        record = QuestionRecord(
            id=item.id,
            question=item.single,
            answer=item.answer,
            domains=item.domains,
            source=item.source,
            url=item.url,
            documents=item.documents,
            turns=drawn_turns(item.id, self.seed),
            facts=item.facts,
            state=State.REJECTED,
        )
        update: dict[str, object]
        try:
            facts = item.facts or await self._facts(item, asked)
            questions, pattern = await self._sequence(record, asked)
            verdicts = (*self._certain_verdicts(questions, facts), *await self._review(questions, facts, asked))
        except (UnreadableError, ContextTooLongError) as exc:
            update = {"reason": f"no answer that can be used: {exc}", "raw": asked.raw[:RAW_CHARS]}
        else:
            failed = [f"{one.gate}: {one.why}" for one in verdicts if one.grade is Grade.FAILED]
            update = {"facts": facts, "questions": questions, "pattern": pattern, "verdicts": verdicts}
            update["state"] = State.REJECTED if failed else State.ACCEPTED
            update["reason"] = "; ".join(dict.fromkeys(failed))
        return record.model_copy(update={**update, "attempts": asked.attempts})

    async def _facts(self, item: QuestionItem, asked: Asked) -> tuple[str, ...]:
        slots = _tag_parts(question=item.single, answer=item.answer)
        return await self._ask("facts", slots, asked, lambda reply, text: _texts(reply, "facts", text))

    async def _sequence(self, record: QuestionRecord, asked: Asked) -> tuple[tuple[str, ...], str]:
        """The questions, and the pattern that they follow."""
        first = min(record.turns, _LONGEST_TEMPLATE)
        patterns = self._patterns["two" if first == min(LENGTHS) else "three"]

        def sequence(reply: Mapping[str, Any], text: str) -> tuple[tuple[str, ...], str]:
            questions, number = _texts(reply, "questions", text), reply.get("pattern")
            if len(questions) != first:
                raise unreadable(f"has {len(questions)} questions, not {first}", text)
            if letters(questions[-1]) != letters(record.question):
                raise unreadable("does not end in the question itself", text)
            if not isinstance(number, int) or isinstance(number, bool) or not 1 <= number <= len(patterns):
                number = 0
            return (*questions[:-1], record.question), patterns[number - 1] if number else ""

        slots = _tag_parts(question=record.question, turns=str(first), patterns=_numbered(patterns))
        questions, pattern = await self._ask("sequence", slots, asked, sequence)
        more = record.turns - first
        return (await self._extend(questions, more, asked) if more else questions), pattern

    async def _extend(self, questions: tuple[str, ...], more: int, asked: Asked) -> tuple[str, ...]:
        def earlier(reply: Mapping[str, Any], text: str) -> tuple[str, ...]:
            new = _texts(reply, "questions", text)
            if len(new) != more:
                raise unreadable(f"has {len(new)} new questions, not {more}", text)
            return new

        slots = _tag_parts(questions=_numbered(questions), more=str(more))
        return (*await self._ask("extension", slots, asked, earlier), *questions)

    def _certain_verdicts(self, questions: Sequence[str], facts: Sequence[str]) -> Iterator[GateVerdict]:
        """Faults found without the chat model: repeated questions, and facts that earlier questions give away."""
        twice = len(set(map(letters, questions))) < len(questions)
        yield verdict("repeated-turn", "a question is asked twice" if twice else "")
        before = " ".join(questions[:-1])
        rows = self.verifier.probabilities([(before, fact) for fact in facts]) if facts else ()
        for fact, row in zip(facts, rows, strict=True):
            score = round(float(row[0]), 4)
            why = "an earlier question states a fact of the answer" if score >= LEAKED else ""
            yield verdict("leaked-fact", why, fact, score)

    async def _review(self, questions: Sequence[str], facts: Sequence[str], asked: Asked) -> tuple[GateVerdict, ...]:
        """The model's review of its sequence: shared facts and drift. People have the last word."""
        slots = _tag_parts(questions=_numbered(questions), facts=_numbered(facts))

        def verdicts(reply: Mapping[str, Any], text: str) -> tuple[GateVerdict, ...]:
            shared, drift = reply.get("shared"), reply.get("drift")
            if not (isinstance(shared, list) and len(shared) == len(questions) - 1 and isinstance(drift, list)):
                raise unreadable(f"needs shared with {len(questions) - 1} lists, and drift", text)
            places = [_places(entry, len(facts), text) for entry in shared]
            off = _places(drift, len(questions), text)
            drifts = f"turns lead away from the last question: {', '.join(map(str, off))}" if off else ""
            asked_for = zip(questions, places, strict=False)
            overlaps = (_overlap(question, len(numbers), len(facts)) for question, numbers in asked_for)
            return (*overlaps, verdict("drift", drifts))

        return await self._ask("review", slots, asked, verdicts)

    async def _ask(
        self, step: str, slots: Mapping[str, str], asked: Asked, read_answer: Callable[[Mapping[str, Any], str], T]
    ) -> T:
        messages = messages_of(self._files[step], slots)
        request, question = ChatRequest(messages, "generate"), messages[-1].content
        return await ask_until_read(self.model, request, lambda text: read_answer(_object(text, question), text), asked)


class ScuDecomposer:
    """Implements `Decomposer` with the prompt for a set's facts: a model lists the statements of an answer to a question.

    A truncated list is requested again.

    Args:
        model: behind its endpoint.
        prompts: a folder whose `statements.txt` (slots question and answer) replaces the shipped prompt.

    Raises:
        ConfigError: the prompt file is invalid.
    """

    def __init__(self, model: ChatModel, prompts: Path | None = None) -> None:
        self._model = model
        self._file = prompt_file(_prompt("facts"), SLOTS["facts"], prompts, own="statements")

    @property
    def info(self) -> JudgeInfo:
        version = fingerprint(self._file)
        return JudgeInfo(name=f"scu:{self._model.name} {version}", version=version)

    @property
    def why_exhausted(self) -> str | None:
        """Why the model can answer no more calls."""
        return self._model.why_exhausted

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> list[Claim]:
        """The statements of an answer.

        Raises:
            BudgetError: the budget is spent.
            JudgeError: no complete list came.
        """
        user_text = next((earlier.text for earlier in reversed(history) if earlier.role is Role.USER), "")
        messages = messages_of(self._file, _tag_parts(question=user_text, answer=turn.text))
        request, question = ChatRequest(messages, "generate"), messages[-1].content
        texts = await ask_until_read(self._model, request, lambda text: _read_statements(text, question), Asked())
        return [Claim(id=f"c{number}", text=text) for number, text in enumerate(texts, 1)]

    async def aclose(self) -> None:
        await self._model.aclose()


def _read_statements(text: str, prompt: str) -> tuple[str, ...]:
    """Parses a list of statements: the shipped prompt's JSON object, or the authors' form, one per line in brackets."""
    lines = re.search(r"\[\s*\n(?P<lines>[^{}]*)\n\s*\]", text)
    if lines is None:
        return _texts(_object(text, prompt), "facts", text)
    statements = [line.strip().strip(",\"'").strip() for line in lines["lines"].splitlines()]
    return _texts({"facts": statements}, "facts", text)


def _overlap(question: str, shared: int, facts: int) -> GateVerdict:
    score = round(shared / facts, 4) if facts else 0.0
    why = f"an earlier answer would state more than {OVERLAP:.0%} of the facts" if score > OVERLAP else ""
    return verdict("overlap", why, question, score)


def _places(value: object, most: int, text: str) -> tuple[int, ...]:
    if not isinstance(value, list) or any(isinstance(number, bool) or not isinstance(number, int) for number in value):
        raise unreadable("needs lists of numbers", text)
    if wrong := [number for number in value if not 1 <= number <= most]:
        raise unreadable(f"names number {wrong[0]}, but there are {most}", text)
    return tuple(dict.fromkeys(value))


def _object(text: str, prompt: str) -> Mapping[str, Any]:
    _, own = whole_objects(text, prompt)
    if not own:
        raise unreadable("holds no JSON object", text)
    return own[-1]


def _texts(reply: Mapping[str, Any], name: str, text: str) -> tuple[str, ...]:
    value = reply.get(name)
    texts = (
        [" ".join(clean(item).split()) for item in value if isinstance(item, str)] if isinstance(value, list) else []
    )
    texts = list(dict.fromkeys(item for item in texts if item))
    if not texts:
        raise unreadable(f"lists no {name}", text)
    return tuple(texts)


def _tag_parts(**parts: str) -> dict[str, str]:
    return {name: tagged(name, text) for name, text in parts.items()}


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {text}" for number, text in enumerate(texts, 1))


@dataclass
class Built:
    """A run's counts. `states`: of all records, those of earlier runs too."""

    total: int
    resumed: int = 0
    states: Counter[State] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    work: WorkDone = field(default_factory=WorkDone)
    written: int = 0
    """Questions of the set: accepted, and not refused by people."""
    reviewed: int = 0
    """Those among them that people accepted."""

    @property
    def complete(self) -> bool:
        """True if every question has a record."""
        return self.states.total() == self.total


async def build(
    items: Sequence[QuestionItem],
    source: Path,
    out: Path,
    maker: QuestionSetMaker,
    *,
    at_once: int = 16,
    told: Callable[[int], None] = lambda done: None,
    stop: asyncio.Event | None = None,
    reviews: Mapping[str, bool] | None = None,
) -> Built:
    """Generates the missing records, then writes the set and the items for people.

    Args:
        items: questions with reference answers; their own facts are kept.
        source: their file, for the manifest.
        out: the set's folder.
        at_once: questions worked on at the same time.
        told: called with the number of new records.
        stop: set it to end after the questions in progress.
        reviews: whether people accept a question of the set, by id; None where nobody reviewed it.

    Raises:
        InputError: an item has no answer, or two have one id.
        ConfigError: the folder holds a set that was made in another way, which names the fields.
        StoreError: the disk is full; what was written is safe.
    """
    _check(items, source)
    files, manifest = (QUESTIONS, FACT_ITEMS, SEQUENCE_ITEMS), _manifest(items, source, maker)
    with closing(open_records(out, "set of questions", _LINES, manifest, *files)) as records:
        built = Built(len(items), resumed=records.lines)
        done = {one.id: one for name in list(records.groups()) for one in records.of_group(name)}
        told(len(done))

        async def make(item: QuestionItem) -> None:
            done[item.id] = record = await maker.make(item)
            records.append(record)
            told(1)

        left = [item for item in items if item.id not in done]
        built.work = await work_through(left, make, at_once=at_once, stop=stop, noun="questions")
    for one in done.values():
        built.states[one.state] += 1
        if one.state is not State.ACCEPTED:
            built.reasons[one.reason.partition(":")[0]] += 1
    marks = reviews or {}
    accepted = [done[item.id] for item in items if item.id in done and done[item.id].state is State.ACCEPTED]
    accepted = [one for one in accepted if marks.get(one.id, True)]
    built.written, built.reviewed = len(accepted), sum(one.id in marks for one in accepted)
    write_set(out, accepted, frozenset(marks))
    return built


def read_reviews(paths: Sequence[Path]) -> dict[str, bool]:
    """People's marks of a set's questions, by id: True where every mark of every review is good, False where one is not.

    Args:
        paths: the `consensus.jsonl` of `vista-guard agree`, one on the form `knowmt_facts` and one on `knowmt_sequences`.

    Returns:
        Only questions that both reviews settled, or that one refused.

    Raises:
        InputError: a file cannot be read or has other marks; names it.
    """
    marks: dict[str, dict[str, bool]] = {}
    for path in paths:
        with reading(path, "; give the consensus.jsonl of vista-guard agree"):
            rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        for row in rows:
            own = row.get("marks") if isinstance(row, dict) else None
            form = next((form for form, mark in _REVIEWED_BY.items() if isinstance(own, dict) and mark in own), None)
            if form is None or not isinstance(own, dict):
                raise InputError(f"{path} is no consensus on {' or '.join(_REVIEWED_BY)}")
            if not row.get("open"):
                values = [own, *row.get("parts", {}).values()]
                good = all(one[name] != "0" for one in values for name in one if name != "notes")
                marks.setdefault(str(row["id"]), {})[form] = good
    every = len(_REVIEWED_BY)
    settled = {name: own.values() for name, own in marks.items() if len(own) == every or False in own.values()}
    return {name: all(values) for name, values in settled.items()}


_REVIEWED_BY = {"knowmt_facts": "complete", "knowmt_sequences": "no_leak"}
"""Each form, and a mark that only it has."""


def _check(items: Sequence[QuestionItem], source: Path) -> None:
    if not items:
        raise InputError(f"{source} has no questions")
    if bare := [item.id for item in items if not item.answer.strip()]:
        raise InputError(f"{source}: question {bare[0]} has no answer to take facts from; {len(bare)} have none")
    if twice := [name for name, count in Counter(item.id for item in items).items() if count > 1]:
        raise InputError(f"{source}: two questions have the id {twice[0]}; give each its own")


def _manifest(items: Sequence[QuestionItem], source: Path, maker: QuestionSetMaker) -> Manifest:
    parameters = json.dumps(dict(maker.model.parameters), sort_keys=True)
    options = {"verifier": maker.verifier.name, "parameters": parameters}
    judge = JudgeInfo(name=maker.model.name, version="-")
    files = {source.name: hashlib.sha256(source.read_bytes()).hexdigest()}
    rows = made_from(source.name, files, (item.id for item in items), len(items))
    return begin(SystemInfo(name=SYSTEM, judge=judge, options=options, prompts=maker.prompts), rows, seed=maker.seed)


def write_set(out: Path, records: Sequence[QuestionRecord], reviewed: frozenset[str] = frozenset()) -> None:
    """Writes the set, and the items that people review.

    Args:
        out: the set's folder.
        records: accepted ones.
        reviewed: ids of records that people accepted; the others say `unreviewed`.
    """
    files: dict[str, list[dict[str, Any]]] = {QUESTIONS: [], SEQUENCE_ITEMS: [], FACT_ITEMS: []}
    for record in records:
        files[QUESTIONS].append(_question(record, record.id in reviewed))
        item = {"id": record.id, "answer": record.answer}
        files[SEQUENCE_ITEMS].append({**item, "questions": _numbered(record.questions)})
        files[FACT_ITEMS].append({**item, "question": record.question, "claims": list(record.facts)})
    for name, rows in files.items():
        write_whole(out / name, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _question(record: QuestionRecord, reviewed: bool) -> dict[str, Any]:
    row = {
        "id": record.id,
        "questions": list(record.questions),
        "answer": record.answer,
        "facts": list(record.facts),
        "domain": list(record.domains),
        "documents": list(record.documents),
        "source": record.source,
        "url": list(record.url),
        "review": "reviewed" if reviewed else "unreviewed",
    }
    return {key: value for key, value in row.items() if value or key == "review"}
