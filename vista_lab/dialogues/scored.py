"""Turns a run's lines into scored answers: one cohort per model, setting, decomposer and judge."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vista_guard.errors import InputError
from vista_lab.dialogues import records
from vista_lab.dialogues.abstaining import is_abstention, statements_of
from vista_lab.dialogues.delivery import JudgedAnswer, PairFinding
from vista_lab.dialogues.questions import QuestionItem, QuestionSet, read_questions
from vista_lab.dialogues.settings import ORACLE
from vista_lab.dialogues.tokens import TokenCounter


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
    lines: Mapping[str, records.AnswerLine]
    answers: tuple[JudgedAnswer, ...]
    missing: Mapping[str, int]
    bare: int
    items: Mapping[str, QuestionItem]
    statements: Mapping[str, tuple[str, ...]]
    """Statements of each decomposed answer, by item; without refusals."""
    guarded_by: str = ""
    """The judge of the guard; empty without a guard."""
    oracle: bool = False
    """True if retrieval used the reference answers: the best that it could give."""
    most_tokens: int = 0
    """Token limit of the model's answers; 0 for an assistant without one."""
    cut: str = "drop"
    """`count` or `drop`: what the run did with an answer cut at that limit."""
    budgeted_by: str = ""
    """The counter of a budget's tokens; empty where no setting of the run has one."""

    @property
    def title(self) -> str:
        """Run, model and setting, for people."""
        return f"{self.run}, {self.model}, {self.setting}"

    @property
    def judged_by(self) -> tuple[str, str, str, str]:
        """Data, decomposer, judge and counter, which cohorts of one table share."""
        return self.data, self.decomposer, self.judge, self.counter

    @cached_property
    def by_id(self) -> Mapping[str, JudgedAnswer]:
        """Fully judged answers, by item."""
        return {one.id: one for one in self.answers if one.judged}

    @property
    def withheld(self) -> frozenset[str]:
        """Items whose own answer the guard did not deliver."""
        return frozenset(name for name, line in self.lines.items() if line.withheld is not None)


def run_questions(folder: Path, path: Path | None = None) -> QuestionSet:
    """The question set of a run, from its original path or from another one.

    Raises InputError if it cannot be read, or its content differs from the run's.
    """
    manifest = records.read_dialogue_manifest(folder)
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
    manifest = records.read_dialogue_manifest(folder)
    items = {item.id: item for item in questions.items if item.id in set(manifest.items)}
    dialogues, statements, judgements = records.read_dialogues(folder), _statements(folder), _judgements(folder)
    judges = _judges(statements, judgements)
    if not judges:
        raise InputError(f"nothing in {folder} is judged yet; run vista-guard knowmt judge {folder}")
    reader = _Reader(name or folder.resolve().name, manifest, items, counter, dialogues, statements, judgements)
    cohorts = ((model, setting, *pair) for model in manifest.models for setting in manifest.settings for pair in judges)
    return [reader.cohort(*names) for names in cohorts]


Place = tuple[str, str, str]
"""Model, setting, item."""


def _statements(folder: Path) -> dict[tuple[Place, str], tuple[str, ...]]:
    """The statements of each answer and decomposer, from the last try that succeeded."""
    lines = (
        line
        for line in records.read_lines(folder / records.STATEMENTS, records.STATEMENTS_LINES)
        if line.failure is None
    )
    return {((one.model, one.setting, one.sample), one.decomposer): one.statements for one in lines}


Judgements = dict[tuple[Place, str, str], dict[tuple[str, int], records.JudgementLine]]


def _judgements(folder: Path) -> Judgements:
    """The last line of each pair, by place, decomposer (empty for facts) and judge."""
    judgements: Judgements = {}
    for line in records.read_lines(folder / records.JUDGEMENTS, records.JUDGEMENT_LINES):
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
    manifest: records.DialogueManifest
    items: Mapping[str, QuestionItem]
    counter: TokenCounter
    dialogues: Mapping[Place, Mapping[int, records.AnswerLine]]
    statements: Mapping[tuple[Place, str], tuple[str, ...]]
    judgements: Judgements

    def cohort(self, model: str, setting: str, decomposer: str, judge: str) -> Cohort:
        lines: dict[str, records.AnswerLine] = {}
        missing: Counter[str] = Counter()
        for name in self.manifest.items:
            turns = self.dialogues.get((model, setting, name), {})
            last = records.last_answer(turns)
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
                name: tuple(statements_of(line, texts).values())
                for name, line in lines.items()
                if (texts := self.statements.get(((model, setting, name), decomposer))) is not None
            },
            oracle="rag=" in setting and self.manifest.references == ORACLE,
            guarded_by=self.manifest.guarded_by if "guard=" in setting else "",
            cut=self.manifest.cut,
            budgeted_by=self.manifest.tokens,
            most_tokens=json.loads(self.manifest.parameters.get(model, "{}")).get("max_output_tokens") or 0,
        )

    def _judged(self, line: records.AnswerLine, place: Place, decomposer: str, judge: str) -> JudgedAnswer:
        facts = self.judgements.get((place, "", judge), {})
        statements = self.judgements.get((place, decomposer, judge), {})
        texts = self.statements.get((place, decomposer)) if line.said else ()
        return JudgedAnswer(
            id=line.sample,
            tokens=self.counter.count(line.answer or ""),
            facts=tuple(_verdict(facts.get(("fact", index))) for index in range(len(self.items[line.sample].facts))),
            # An answer that was not decomposed counts as unjudged, not as silent.
            statements=(_verdict(None),)
            if texts is None
            else tuple(_verdict(statements.get(("statement", index))) for index in statements_of(line, texts)),
            abstains=texts is not None and is_abstention(line, texts),
        )


def _verdict(line: records.JudgementLine | None) -> PairFinding:
    return PairFinding(None, None) if line is None else PairFinding(line.entails, line.contradicts)
