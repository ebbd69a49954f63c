"""Judges the last answers of dialogues: facts against the answer, its statements against the reference (KnowMT-Bench, §3.3.1).

Three kinds of judges: any verifier, which reads long premises window by window; any judge of turns, with the premise as document;
and a chat model that is asked twice a pair: does the premise entail the claim, does it contradict it? Pairs without a verdict
after five samples are unjudged.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import TypeAdapter

from vista_guard.errors import BudgetError, ConfigError, ContextTooLongError, InputError, JudgeError
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.stored import AnswerShelf
from vista_guard.judges.model import ChatModel, ChatRequest
from vista_guard.protocols import Decomposer, Judge, Verifier
from vista_guard.reading.passages import passages, sentence_spans
from vista_guard.stores.line_file import LineFile
from vista_guard.types import Check, Claim, Document, EvidenceSet, Finding, Label, Role, Turn, Unchecked
from vista_lab.dialogues import records
from vista_lab.dialogues.abstaining import statements_of
from vista_lab.dialogues.asking import without_thoughts
from vista_lab.dialogues.questions import QuestionItem
from vista_lab.metrics.agreement import majority
from vista_lab.runs.asking import messages_of, prompt_file, tagged
from vista_lab.runs.workers import WorkDone, work_through

WINDOW = 120
"""Words of a window of a long premise; windows end at sentences and overlap by one."""
THRESHOLD = 0.5
"""Probability from which a verifier's verdict holds."""
SAMPLES, ENOUGH = 5, 3
"""Most samples of one question to a model, and the number of readable ones that suffices (App. J: five, three, majority)."""
SAMPLING = {"temperature": 0.9, "top_p": 0.9999}
"""Sampling parameters after the first sample (App. J)."""
SLOTS = ("premise", "claim")
_VERDICT = re.compile(r"\banswer\W{0,4}(?:is|as)?\W{0,6}(?P<value>true|false)\b", re.IGNORECASE)


class PairVerdict(NamedTuple):
    """A judge's verdicts on a premise and a claim. None: unjudged."""

    entails: bool | None
    contradicts: bool | None
    support: float | None = None
    failure: str | None = None
    samples: tuple[records.PairSample, ...] = ()


class PairJudge(Protocol):
    """Decides whether a premise entails a claim, and whether it contradicts it."""

    @property
    def name(self) -> str:
        """Name with all settings that change its verdicts."""
        ...

    async def judge(self, premise: str, claims: Sequence[str]) -> Sequence[PairVerdict]:
        """A verdict on each claim. Raises BudgetError if the budget is spent; JudgeError if no verdict came."""
        ...

    async def aclose(self) -> None: ...


class VerifierPairs:
    """Implements `PairJudge` with any verifier. Long premises are read in windows; the highest probability decides."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    @property
    def name(self) -> str:
        return f"verifier:{self._verifier.name}"

    async def judge(self, premise: str, claims: Sequence[str]) -> Sequence[PairVerdict]:
        return await asyncio.to_thread(self._judge, premise, claims)

    def _judge(self, premise: str, claims: Sequence[str]) -> list[PairVerdict]:
        pieces = windows(premise)
        pairs = [(piece, claim) for claim in claims for piece in pieces]
        try:
            rows = [[float(value) for value in row] for row in self._verifier.probabilities(pairs)] if pairs else []
        except JudgeError:
            raise
        except Exception as exc:  # a verifier that users bring raises whatever its library raises
            raise JudgeError(f"{self.name} failed: {type(exc).__name__}: {exc}") from exc
        return [_surest(rows[at : at + len(pieces)]) for at in range(0, len(rows), len(pieces))]

    async def aclose(self) -> None:
        """Nothing is open."""


def _surest(rows: Sequence[Sequence[float]]) -> PairVerdict:
    support, against = max(row[0] for row in rows), max(row[1] for row in rows)
    entails = support >= THRESHOLD and support >= against
    return PairVerdict(entails, against >= THRESHOLD and not entails, round(support, 4))


def windows(text: str, words: int = WINDOW) -> list[str]:
    """Splits a text into whole sentences of about `words` words; each window begins with the last sentence of the one before.

    Examples:
        >>> windows("One two. Three four. Five six.", words=4)
        ['One two. Three four.', 'Three four. Five six.']
    """
    sentences = [text[span.start : span.end] for span in sentence_spans(text)] or [text]
    pieces: list[list[str]] = [[]]
    for sentence in sentences:
        count = sum(len(one.split()) for one in pieces[-1])
        if pieces[-1] and count + len(sentence.split()) > words:
            pieces.append([pieces[-1][-1]] if len(pieces[-1]) > 1 else [])
        pieces[-1].append(sentence)
    return [" ".join(piece) for piece in pieces]


class ModelPairs:
    """Implements `PairJudge` with a chat model: two questions a pair, each sampled again if the answer is unreadable.

    `prompts` is a folder with `entails.txt` and `contradicts.txt` to use in place of the shipped ones, slots premise and claim.
    Raises ConfigError if a prompt file is malformed.
    """

    def __init__(self, model: ChatModel, prompts: Path | None = None) -> None:
        self._model = model
        shipped = Path(__file__).parent / "texts" / "prompts"
        self._files = {one: prompt_file(shipped / f"{one}.txt", SLOTS, prompts) for one in ("entails", "contradicts")}
        known = (*self._files, "statements")
        if prompts is not None and not any((prompts / f"{name}.txt").exists() for name in known):
            raise ConfigError(f"--prompts {prompts} has neither entails.txt, contradicts.txt nor statements.txt")

    @property
    def name(self) -> str:
        content = repr([(file.system, file.input) for file in self._files.values()])
        return f"{self._model.name} pairs-{hashlib.sha256(content.encode()).hexdigest()[:12]}"

    async def judge(self, premise: str, claims: Sequence[str]) -> Sequence[PairVerdict]:
        return [await self._pair(premise, claim) for claim in claims]

    async def _pair(self, premise: str, claim: str) -> PairVerdict:
        samples: list[records.PairSample] = []
        try:
            entails = await self._ask("entails", premise, claim, samples)
            contradicts = await self._ask("contradicts", premise, claim, samples)
        except ContextTooLongError as exc:
            return PairVerdict(None, None, failure=f"prompt too long: {exc}", samples=tuple(samples))
        undecided = [name for name, value in (("entails", entails), ("contradicts", contradicts)) if value is None]
        failure = f"no majority: {', '.join(undecided)}" if undecided else None
        return PairVerdict(entails, contradicts, failure=failure, samples=tuple(samples))

    async def _ask(self, question: str, premise: str, claim: str, samples: list[records.PairSample]) -> bool | None:
        """One greedy answer; if it is unreadable, the majority of more samples. None: a tie, or all are unreadable."""
        slots = {"premise": tagged("premise", premise), "claim": tagged("claim", claim)}
        messages = messages_of(self._files[question], slots)
        votes: list[bool] = []
        for sample in range(SAMPLES):
            sampling = {} if sample == 0 else SAMPLING
            reply = await self._model.complete(ChatRequest(messages, "generate", sampling=sampling))
            value = read_verdict(reply.text) if reply.finish == "stop" else None
            samples.append(records.PairSample(question, reply.text, value))
            if value is not None and sample == 0:
                return value
            votes += [] if value is None else [value]
            if len(votes) == ENOUGH:
                break
        return majority(votes)  # for a tie, the authors' code says false

    async def aclose(self) -> None:
        await self._model.aclose()


class JudgePairs:
    """Implements `PairJudge` with any `Judge` of turns, such as the guard's own: the premise is the document.

    A claim is entailed if the judge finds it supported, contradicted if it labels it CONTRADICTED.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    @property
    def name(self) -> str:
        return f"judge:{self._judge.info.name} {self._judge.info.version}"

    async def judge(self, premise: str, claims: Sequence[str]) -> Sequence[PairVerdict]:
        evidence = EvidenceSet(documents=tuple(passages(Document(id="premise", text=premise))))
        to_check = [Claim(id=f"c{number}", text=text) for number, text in enumerate(claims, 1)]
        checks = await self._judge.verify(to_check, evidence)
        refused = [check for check in checks if isinstance(check, Check) and not check.supported]
        found = await self._judge.categorize(refused, evidence) if refused else ()
        findings = {finding.claim.id: finding for finding in found}
        return [self._verdict(check, findings.get(check.claim.id)) for check in checks]

    def _verdict(self, check: Check | Unchecked, finding: Finding | Unchecked | None) -> PairVerdict:
        for outcome in (check, finding):
            if isinstance(outcome, Unchecked):
                return PairVerdict(None, None, failure=f"unchecked: {outcome.error}")
        return PairVerdict(finding is None, isinstance(finding, Finding) and finding.label is Label.CONTRADICTED)

    async def aclose(self) -> None:
        await ensemble.aclose(self._judge)


class CachedPairs:
    """Implements `PairJudge` with a cache of another one's verdicts in a folder, for all runs. Open verdicts are not cached."""

    def __init__(self, judge: PairJudge, folder: Path) -> None:
        self._judge, self._shelf = judge, AnswerShelf(folder)

    @property
    def name(self) -> str:
        return self._judge.name

    async def judge(self, premise: str, claims: Sequence[str]) -> Sequence[PairVerdict]:
        keys = {claim: ensemble.fingerprint(self.name, premise, claim) for claim in claims}
        verdicts = await self._shelf.read(list(keys.values()), _VERDICTS)
        missing = [claim for claim, key in keys.items() if key not in verdicts]
        if missing:
            fresh = dict(zip(missing, await self._judge.judge(premise, missing), strict=True))
            verdicts |= {keys[claim]: verdict for claim, verdict in fresh.items()}
            whole = {keys[claim]: list(verdict) for claim, verdict in fresh.items() if verdict.failure is None}
            await self._shelf.write({key: {"answer": verdict, "warnings": []} for key, verdict in whole.items()})
        return [verdicts[keys[claim]] for claim in claims]

    async def aclose(self) -> None:
        await self._shelf.aclose()
        await self._judge.aclose()


_VERDICTS = TypeAdapter(PairVerdict)


def read_verdict(reply: str) -> bool | None:
    """The truth value of a reply's last "The answer is …", outside its thoughts; None if there is none.

    Examples:
        >>> read_verdict("The premise names the hour. The answer is True."), read_verdict("Hard to say.")
        (True, None)
    """
    answer, _ = without_thoughts(reply)
    matches = list(_VERDICT.finditer(answer))
    return matches[-1]["value"].casefold() == "true" if matches else None


@dataclass
class JudgedDialogues:
    """A run's counts. `pairs` have a line, also from earlier calls; `unjudged` of them are open, for the `reasons`."""

    answers: int
    pairs: int = 0
    unjudged: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    work: WorkDone = field(default_factory=WorkDone)


async def judge_dialogues(
    folder: Path,
    items: Sequence[QuestionItem],
    decomposer: Decomposer,
    judge: PairJudge,
    *,
    at_once: int = 16,
    told: Callable[[int], None] = lambda done: None,
    stop: asyncio.Event | None = None,
) -> JudgedDialogues:
    """Judges the scored answers of a run that this judge has not judged yet, `at_once` at the same time.

    `items` are those of the run's question set; without facts or without a reference answer, only one direction is judged.
    Raises InputError if the folder has no answers, or an answer's item is not among the items; StoreError if the disk is full:
    lines written before are safe.
    """
    known = {item.id: item for item in items}
    answers = list(scored_answers(folder))
    if missing := [one.sample for one in answers if one.sample not in known]:
        raise InputError(
            f"{folder} has an answer to {missing[0]}, which the question set lacks; give the run's own set"
        )
    manifest = records.read_dialogue_manifest(folder)
    with (
        closing(LineFile.open(folder / records.STATEMENTS, records.STATEMENTS_LINES, manifest)) as statements,
        closing(LineFile.open(folder / records.JUDGEMENTS, records.JUDGEMENT_LINES, manifest)) as judgements,
    ):
        room = _Room(known, decomposer, judge, statements, judgements)
        work = await work_through(answers, room.judge_answer, at_once=at_once, stop=stop, noun="answers", told=told)
    return _count(folder, answers, room, work)


def scored_answers(folder: Path) -> Iterator[records.AnswerLine]:
    """The last answer of each dialogue that has one.

    Raises InputError if the run has no answers; ConfigError if a line is malformed; names it.
    """
    yield from filter(None, map(records.last_answer, records.read_dialogues(folder).values()))


@dataclass(frozen=True)
class _Room:
    items: dict[str, QuestionItem]
    decomposer: Decomposer
    judge: PairJudge
    statements: LineFile[records.StatementsLine]
    judgements: LineFile[records.JudgementLine]

    async def judge_answer(self, answer: records.AnswerLine) -> None:
        """Does the remaining decomposing and judging of an answer."""
        item = self.items[answer.sample]
        statements_line = next((one for one in reversed(self._tries(answer)) if one.failure is None), None)
        if item.answer and statements_line is None:
            statements_line = await self._decompose(answer)
            self.statements.append(statements_line)
        done = {(one.direction, one.index) for one in self._judged(answer) if one.failure is None}
        attempts = Counter((one.direction, one.index) for one in self._judged(answer))
        facts = dict(enumerate(item.facts))
        await self._judge_direction("fact", facts, answer.answer or "", answer, done, attempts)
        if item.answer and statements_line is not None and statements_line.failure is None:
            stated = statements_of(answer, statements_line.statements)
            await self._judge_direction("statement", stated, item.answer, answer, done, attempts)

    async def _judge_direction(
        self,
        direction: records.Direction,
        claims: Mapping[int, str],
        premise: str,
        answer: records.AnswerLine,
        done: set[tuple[records.Direction, int]],
        attempts: Counter[tuple[records.Direction, int]],
    ) -> None:
        left = [index for index in claims if (direction, index) not in done]
        if not left:
            return
        for index, verdict in zip(left, await self.judge.judge(premise, [claims[one] for one in left]), strict=True):
            own = self.decomposer.info.name if direction == "statement" else ""
            place = {"attempt": attempts[direction, index], "direction": direction, "index": index, "decomposer": own}
            named = {**answer.name._asdict(), **place, "judge": self.judge.name}
            self.judgements.append(records.JudgementLine(**named, **verdict._asdict()))

    async def _decompose(self, answer: records.AnswerLine) -> records.StatementsLine:
        tries, name = len(self._tries(answer)), self.decomposer.info.name
        base = records.StatementsLine(**answer.name._asdict(), attempt=tries, decomposer=name)
        if not answer.said:
            return base  # all of it is the guard's message
        turn = Turn(role=Role.ASSISTANT, text=answer.said)
        try:
            claims = await self.decomposer.decompose(turn, (Turn(role=Role.USER, text=answer.question),))
        except BudgetError:
            raise
        except JudgeError as exc:
            return base.model_copy(update={"failure": str(exc)})
        return base.model_copy(update={"statements": tuple(claim.text for claim in claims)})

    def _tries(self, answer: records.AnswerLine) -> list[records.StatementsLine]:
        name = self.decomposer.info.name
        return [line for line in self.statements.of_group(records.group_of(answer)) if line.decomposer == name]

    def _judged(self, answer: records.AnswerLine) -> list[records.JudgementLine]:
        own = self.judgements.of_group(records.group_of(answer))
        names = {"", self.decomposer.info.name}
        return [line for line in own if line.judge == self.judge.name and line.decomposer in names]


def _count(folder: Path, answers: Sequence[records.AnswerLine], room: _Room, work: WorkDone) -> JudgedDialogues:
    decomposer = room.decomposer.info.name
    judgements = records.read_lines(folder / records.JUDGEMENTS, records.JUDGEMENT_LINES)
    own = (line for line in judgements if line.judge == room.judge.name and line.decomposer in ("", decomposer))
    last = {(line.name, line.direction, line.index): line for line in own}
    unjudged = [line for line in last.values() if line.entails is None or line.contradicts is None]
    reasons = Counter((line.failure or "").partition(":")[0] for line in unjudged)
    lists = records.read_lines(folder / records.STATEMENTS, records.STATEMENTS_LINES)
    decomposed = {line.name for line in lists if line.decomposer == decomposer and line.failure is None}
    silent = sum(bool(room.items[answer.sample].answer) and answer.name not in decomposed for answer in answers)
    reasons += Counter({"no statements": silent})
    return JudgedDialogues(len(answers), len(last), len(unjudged), reasons, work)
