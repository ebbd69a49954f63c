"""Exemplars for a decomposer: sentences of logs with their context, decomposed by a teacher with the four-step prompt (App. H).

    exemplars/
      manifest.json      teacher, fingerprint of the prompt, logs, sampling: a `runs.folder.Manifest`
      records.jsonl      an `Exemplar` a line, written as soon as it is made, kept or not, with the reason and the raw answer
      train.jsonl        chats to train on: the prompt, and the teacher's completion; 90 % of the conversations
      validation.jsonl   those of the others

A stopped run is resumed: sentences with a record are skipped. Exemplars of another prompt are refused.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import ContextTooLongError, InputError
from vista_guard.judges.decomposers.coverage import invented, left_out
from vista_guard.judges.decomposers.rules import EmbeddedSteps, answer_of
from vista_guard.judges.decomposers.sentences import CUT, question_of, statements, window
from vista_guard.judges.embedded.english.segment import foreign_language
from vista_guard.judges.model import ChatModel, ModelOptions, Roles
from vista_guard.judges.model.answers.parsing import NO_CLAIM
from vista_guard.judges.model.answers.tolerant import RAW_CHARS
from vista_guard.judges.model.chat.calling import CHARACTERS_A_TOKEN, ChatRequest
from vista_guard.judges.model.prompts import Prompt
from vista_guard.settings.model import MODEL_DEFAULTS
from vista_guard.stores.line_file import LineKind, write_whole
from vista_guard.types import JudgeInfo, Role, Turn
from vista_lab.decompose.rewards import Completion, read_completion
from vista_lab.files import reading
from vista_lab.logs.source import LoggedConversation
from vista_lab.runs.asking import GenerationEstimate
from vista_lab.runs.folder import Manifest, begin, read_manifest
from vista_lab.runs.made import RECORDS, made_from, named_share, open_records
from vista_lab.runs.plan import Source
from vista_lab.runs.workers import work_through
from vista_lab.systems.protocol import SystemInfo

SYSTEM = "decompose-exemplars"
"""Name of the system in the manifest of exemplars."""
VALIDATION = 0.1
"""Share of the conversations held out (App. H: 13.7k and 1.5k)."""
BEFORE = AFTER = 2
"""Sentences of context on either side (§3.1)."""
LENGTHS = (10, 20, 35)
"""Most words of a sentence in each length band but the last."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SentenceInput(_Line):
    """A sentence as the prompt shows it, and where it comes from: x = (Q, C, S) of §3.1."""

    id: str
    conversation: str
    question: str
    context: str
    sentence: str
    earlier: tuple[Turn, ...] = ()
    """Turns before the question."""
    source: str = ""
    """The log's name."""
    model: str = ""
    """Who wrote the response, where it is known."""

    @property
    def shown(self) -> str:
        """All that a claim may draw on."""
        return "\n".join([self.sentence, self.context, self.question, *(turn.text for turn in self.earlier)])

    @property
    def stratum(self) -> tuple[str, str, int]:
        """Source, model and length band, over which sampling is balanced."""
        words = len(self.sentence.split())
        return self.source, self.model, sum(words > most for most in LENGTHS)


class Exemplar(_Line):
    """A sentence and the teacher's answer to it. `reason` says why it is excluded from training; empty if it is not."""

    asked: SentenceInput
    completion: str
    claims: tuple[str, ...] = ()
    stopped: str | None = None
    reason: str = ""

    @property
    def kept(self) -> bool:
        """True for an exemplar to train on."""
        return not self.reason


_LINES = LineKind(
    Exemplar,
    noun="exemplar",
    group=lambda one: one.asked.conversation,
    key=lambda one: one.asked.id,
    again=lambda one: f"holds sentence {one.asked.id} again",
)


@dataclass(frozen=True)
class LabelledLog:
    """A log, the source of its questions, and the model that answered them."""

    log: Source
    source: str
    model: str


class Teacher(Protocol):
    """Decomposes a sentence, showing its thoughts."""

    @property
    def info(self) -> JudgeInfo: ...

    async def complete(self, asked: SentenceInput) -> str:
        """The whole answer, `<think>…</think><output>…</output>`, or whatever came instead.

        Raises:
            BudgetError: the budget is spent.
            ContextTooLongError: the sentence with its context is too long.
            JudgeError: no answer came.
        """
        ...

    async def aclose(self) -> None: ...


class StepsPrompt:
    """The four-step prompt of the decomposer `steps:`, so that a trained model is asked what it learned."""

    def __init__(self, options: ModelOptions = MODEL_DEFAULTS) -> None:
        roles = Roles(assistant=options.assistant_name, user=options.user_name)
        self._prompt = Prompt.load("steps", options.prompts_dir, shots=options.shots, roles=roles)

    @property
    def fingerprint(self) -> str:
        return self._prompt.info.fingerprint

    def request(self, asked: SentenceInput) -> ChatRequest:
        """The request for one sentence."""
        style = self._prompt.style
        parts = {name: style.part(name, getattr(asked, name)) for name in ("question", "context", "sentence")}
        return self._prompt.request(history=style.history(asked.earlier) if asked.earlier else "", **parts)


class ModelTeacher:
    """Implements `Teacher` with a chat model, one call a sentence."""

    def __init__(self, model: ChatModel, prompt: StepsPrompt) -> None:
        self.model, self._prompt = model, prompt

    @property
    def info(self) -> JudgeInfo:
        """The model's name and the parameters of its requests."""
        return JudgeInfo(name=self.model.name, version=json.dumps(dict(self.model.parameters), sort_keys=True))

    async def complete(self, asked: SentenceInput) -> str:
        """The model's text, even if it is a refusal or truncated."""
        return (await self.model.complete(self._prompt.request(asked))).text

    async def aclose(self) -> None:
        await self.model.aclose()


_THOUGHTS, _REPEATED = 240, 4
"""Characters of an answer beside its sentence, and how often it says the sentence: in two steps, and twice in its claims."""


def estimate(left: Sequence[SentenceInput], prompt: StepsPrompt, model: ChatModel) -> GenerationEstimate:
    """Calls, tokens and price of asking about these sentences, from their prompts' length, without a call."""
    read = sum(len(message.content) for row in left for message in prompt.request(row).messages)
    written = sum(_THOUGHTS + _REPEATED * len(row.sentence) for row in left)
    asked, answered = (round(chars / CHARACTERS_A_TOKEN) for chars in (read, written))
    prices = getattr(model, "prices", None)
    cost = prices.cost(asked, answered, 0) if prices is not None else None
    return GenerationEstimate(len(left), asked, answered, cost)


class EmbeddedTeacher:
    """Implements `Teacher` with the rules of `steps:embedded`: no model, no key."""

    def __init__(self) -> None:
        self._steps = EmbeddedSteps()

    @property
    def info(self) -> JudgeInfo:
        return self._steps.info

    async def complete(self, asked: SentenceInput) -> str:
        """The steps as a model would answer, read in the sentence's context."""
        history = [*asked.earlier, *([Turn(role=Role.USER, text=asked.question)] if asked.question else [])]
        for text in (asked.context.replace(CUT, " ").strip(), asked.sentence):
            traces = await self._steps.trace(Turn(role=Role.ASSISTANT, text=text), history)
            own = next((trace for trace in traces if trace.sentence == asked.sentence), None)
            if own is not None and own.status == "claims":
                return answer_of(own)
        return f"<think>\nSTEP 1: Nothing in it can be looked up.\n</think>\n<output>{NO_CLAIM}</output>"

    async def aclose(self) -> None:
        """Nothing to close."""


def sentences_of(log: LabelledLog, skipped: Counter[str]) -> Iterator[SentenceInput]:
    """The sentences of all assistant turns of a log; what is left out is counted by reason."""
    for entry in log.log.read():
        if not isinstance(entry, LoggedConversation):
            skipped["cannot be read"] += 1
            continue
        turns = entry.conversation.turns
        for index, turn in enumerate(turns):
            if turn.role is Role.ASSISTANT:
                name = f"{log.source}/{entry.conversation.id}"
                yield from _turn_sentences(log, name, turn, index, turns[:index], skipped)


def _turn_sentences(
    log: LabelledLog, conversation: str, turn: Turn, index: int, history: Sequence[Turn], skipped: Counter[str]
) -> Iterator[SentenceInput]:
    if foreign_language(turn.text) is not None:
        skipped["the turn is not English"] += 1
        return
    question, earlier = question_of(history)
    pieces = statements(turn.text)
    for place, piece in enumerate(pieces):
        if piece.whole:
            skipped["code, or too long for a sentence"] += 1
            continue
        yield SentenceInput(
            id=f"{conversation}#{index}.{place}",
            conversation=conversation,
            question=question,
            context=window(pieces, place, BEFORE, AFTER),
            sentence=piece.text,
            earlier=tuple(Turn(role=past.role, text=past.text) for past in earlier),
            source=log.source,
            model=log.model,
        )


def balanced(found: Iterable[SentenceInput], limit: int | None, seed: int) -> list[SentenceInput]:
    """At most `limit` distinct sentences, balanced over source, model and length band.

    The choice depends on seed and names alone. The order is that of `found`.
    """
    once = list({(row.question, row.context, row.sentence): row for row in found}.values())
    if limit is None or len(once) <= limit:
        return once
    strata: dict[tuple[str, str, int], list[SentenceInput]] = defaultdict(list)
    for row in sorted(once, key=lambda row: named_share(f"{seed}:{row.id}")):
        strata[row.stratum].append(row)
    rounds = ((rank, name) for name, own in strata.items() for rank in range(len(own)))
    chosen = {strata[name][rank].id for rank, name in sorted(rounds)[:limit]}
    return [row for row in once if row.id in chosen]


def read_exemplar(asked: SentenceInput, completion: str) -> Exemplar:
    """The exemplar of an answer, with a reason if it must not be trained on."""
    read = read_completion(completion)
    claims = read.claims or ()
    reason = _malformed(read) or _unfaithful(asked, claims)
    excerpt = completion[:RAW_CHARS] if reason else completion
    return Exemplar(asked=asked, completion=excerpt, claims=claims, stopped=read.stopped, reason=reason)


def _malformed(read: Completion) -> str:
    if not read.tagged:
        return "lacks <think> or <output>"
    if not read.clean:
        return "says something beside <think> and <output>"
    if read.stopped is None and read.claims is None:
        return "its output is neither a list of texts nor a stop phrase"
    return "" if read.stopped is not None or read.has_good_list else "its list is empty, or has a blank claim"


def _unfaithful(asked: SentenceInput, claims: Sequence[str]) -> str:
    if len(set(claims)) < len(claims):
        return "has a claim twice"
    if any(invented(claim, asked.shown, english=True) for claim in claims):
        return "a claim has words that do not appear in sentence, context or question"
    lost = claims and left_out(asked.sentence, claims)
    return "its claims leave out a figure or a name of the sentence" if lost else ""


@dataclass(frozen=True)
class Teaching:
    """A teacher, its prompt, and the sample: none may change for exemplars to be resumed."""

    teacher: Teacher
    prompt: StepsPrompt
    limit: int | None = None
    seed: int = 0
    at_once: int = 16

    def manifest(self, logs: Sequence[LabelledLog], chosen: Sequence[SentenceInput], skipped: Counter[str]) -> Manifest:
        """The exemplars' description."""
        files = {f"{log.source}: {name}": mark for log in logs for name, mark in log.log.files.items()}
        names = dict.fromkeys(row.conversation for row in chosen)
        rows = made_from(", ".join(log.source for log in logs), files, names, len(chosen))
        options = {"window": f"{BEFORE}+{AFTER}", **{f"model of {log.source}": log.model for log in logs}}
        prompts = {"steps": self.prompt.fingerprint}
        system = SystemInfo(name=SYSTEM, judge=self.teacher.info, options=options, prompts=prompts)
        rows = rows.model_copy(update={"skipped": skipped})
        return begin(system, rows, "judge", limit=self.limit, seed=self.seed)


@dataclass
class TeachingCounts:
    """A run's counts. `reasons`: exemplars that are not kept, those of earlier runs too; `skipped` what was never asked."""

    total: int
    resumed: int
    kept: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    parts: dict[str, int] = field(default_factory=dict)
    unasked: int = 0
    fault: str = ""
    """Why the last sentence of `unasked` got no answer."""
    stopped: str = ""

    @property
    def complete(self) -> bool:
        return self.kept + self.reasons.total() == self.total


async def teach(
    logs: Sequence[LabelledLog],
    out: Path,
    how: Teaching,
    told: Callable[[int], None] = lambda done: None,
    stop: asyncio.Event | None = None,
    before: Callable[[Sequence[SentenceInput]], None] = lambda left: None,
) -> TeachingCounts:
    """Asks the teacher about the sentences that have no exemplar yet, and writes the parts to train and to validate on.

    `before` is called with these sentences.

    Raises:
        ConfigError: the folder holds exemplars made in another way, which names the fields: another prompt, teacher or log.
        InputError: the logs have no sentence to ask about.
        StoreError: the disk is full; what was written is safe.
    """
    skipped: Counter[str] = Counter()
    chosen = balanced((sentence for log in logs for sentence in sentences_of(log, skipped)), how.limit, how.seed)
    if not chosen:
        names = ", ".join(one.source for one in logs)
        raise InputError(f"{names}: no sentence to ask about: {dict(skipped) or 'no turns'}")
    manifest = how.manifest(logs, chosen, skipped)
    with closing(open_records(out, "folder of exemplars", _LINES, manifest)) as records:
        outcome = TeachingCounts(len(chosen), records.lines, skipped=skipped)

        def count(exemplar: Exemplar) -> None:
            outcome.kept += exemplar.kept
            if not exemplar.kept:
                outcome.reasons[exemplar.reason] += 1
            told(1)

        async def ask(asked: SentenceInput) -> None:
            try:
                exemplar = read_exemplar(asked, await how.teacher.complete(asked))
            except ContextTooLongError:
                exemplar = Exemplar(asked=asked, completion="", reason="the teacher cannot read that much at once")
            records.append(exemplar)
            count(exemplar)

        done = {one.asked.id: one for name in list(records.groups()) for one in records.of_group(name)}
        for one in done.values():
            count(one)
        left = [sentence for sentence in chosen if sentence.id not in done]
        before(left)
        work = await work_through(left, ask, at_once=how.at_once, stop=stop, noun="sentences")
        outcome.unasked, outcome.fault, outcome.stopped = work.unasked, work.fault, work.stopped
    outcome.parts = write_parts(out, how.prompt)
    return outcome


def read_exemplars(folder: Path) -> Iterator[Exemplar]:
    """The exemplars of a folder, kept or not, in the order of writing. An unfinished last line is skipped.

    Raises:
        InputError: the folder has none.
        ConfigError: a line is invalid; names it.
    """
    path = folder / RECORDS
    with reading(path, "; give the folder of decompose exemplars"), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                yield _LINES.read(path, line, number)


def validation_of(conversations: Iterable[str]) -> frozenset[str]:
    """A tenth of the conversations, chosen by their names alone: at least one of two, none of one.

    Examples:
        >>> len(validation_of(str(number) for number in range(50)))
        5
    """
    names = sorted(set(conversations), key=lambda name: named_share(f"exemplars:{name}"))
    return frozenset(names[: max(round(VALIDATION * len(names)), int(len(names) > 1))])


def write_parts(folder: Path, prompt: StepsPrompt) -> dict[str, int]:
    """Writes `train.jsonl` and `validation.jsonl`: `messages` of a chat, the completion last. Returns their sizes."""
    lines: dict[str, list[str]] = {"train": [], "validation": []}
    rows = read_manifest(folder).rows
    apart = validation_of(rows.conversations if rows is not None else ())
    for exemplar in read_exemplars(folder):
        if exemplar.kept:
            chat = [{"role": one.role, "content": one.content} for one in prompt.request(exemplar.asked).messages]
            row = {"id": exemplar.asked.id, "messages": [*chat, {"role": "assistant", "content": exemplar.completion}]}
            part = "validation" if exemplar.asked.conversation in apart else "train"
            lines[part].append(json.dumps(row, ensure_ascii=False) + "\n")
    for name, own in lines.items():
        write_whole(folder / f"{name}.jsonl", "".join(own))
    return {name: len(own) for name, own in lines.items()}
