"""Holds the dialogues of a question set with assistants: one resumable line a turn (KnowMT-Bench, Eq. 1 and App. G)."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vista_guard.errors import BudgetError, ConfigError, ContextTooLongError, InputError, JudgeError
from vista_guard.guard import Guard
from vista_guard.judges.model import ChatModel, ChatRequest, Message
from vista_guard.types import Document, TurnReport
from vista_lab.datasets.questions import QuestionItem, QuestionSet
from vista_lab.runs.dialogues.records import ANSWER_LINES, ANSWERS, JUDGEMENTS, STATEMENTS, AnswerLine, read_answers
from vista_lab.runs.folder import MANIFEST, claim_folder
from vista_lab.runs.line_file import ANOTHER_OUT, LineFile, refuse_differences, write_whole
from vista_lab.runs.workers import WorkDone, work_through
from vista_lab.systems.metrics import import_named

REPORTS = "reports.jsonl"
"""Of the guards, for replay and the dashboard."""
FILES = frozenset({MANIFEST, ANSWERS, STATEMENTS, JUDGEMENTS, REPORTS})
"""Of a run of dialogues."""
_UNREACHED = "no answer"
_ANSWER_AT = re.compile(r"</think(?:ing)?>|<\|?answer\|?>|\*{0,2}final answer\*{0,2}\s*:", re.IGNORECASE)


class DialogueManifest(BaseModel):
    """How a run of dialogues was made. It is resumed only in the same way."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    made_by: str
    kind: str = "dialogues"
    questions: str
    """Path of the question set, as given."""
    questions_sha256: str
    items: tuple[str, ...]
    """Ids of the dialogues that are held, in order."""
    models: tuple[str, ...]
    settings: tuple[str, ...]
    system: Mapping[str, str]
    """System prompt of a model, where it has one."""
    parameters: Mapping[str, str]
    """Request parameters of each chat model, as JSON."""
    guarded_by: str = ""
    """The judge of the guards; empty where no setting has one."""
    created: datetime

    def claim(self, path: Path, *, empty: bool) -> None:
        """Writes the manifest of a new run; passes where a run was made in the same way."""
        place = path.parent / MANIFEST
        if place.exists():
            refuse_differences(path.parent, _fields(read_dialogue_manifest(path.parent)), _fields(self))
        elif empty:
            write_whole(place, self.model_dump_json(indent=2) + "\n")
        else:
            raise ConfigError(f"{path} has answers but no {MANIFEST} that says how they were asked for. {ANOTHER_OUT}")


def _fields(made: DialogueManifest) -> dict[str, str]:
    given = made.model_dump(exclude={"made_by", "created", "questions"}, mode="json")
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True) for name, value in given.items()
    }


def read_dialogue_manifest(folder: Path) -> DialogueManifest:
    """How a run was made.

    Raises:
        InputError: the folder holds no run of dialogues.
    """
    path = folder / MANIFEST
    try:
        return DialogueManifest.model_validate_json(path.read_bytes())
    except OSError as exc:
        raise InputError(f"{path} cannot be read: {exc.strerror}; give a folder of vista-guard knowmt run") from exc
    except ValidationError as exc:
        raise InputError(f"{path} is no manifest of vista-guard knowmt run: {exc.errors()[0]['msg']}") from exc


@dataclass(frozen=True)
class DialogueSetting:
    """How dialogues are held: which turns, in what form, and who stands before the assistant.

    Attributes:
        history: `single`: the last question alone. `multi`: turn by turn, the assistant's own answers as history.
        concat: the questions of `multi` in one message (Fig. 7), asked once.
        guard: policy of the guard before the assistant; what it delivers becomes history and is scored. None: no guard.
    """

    history: str
    concat: bool = False
    guard: str | None = None

    @property
    def name(self) -> str:
        return "+".join(
            [self.history, *(["concat"] if self.concat else []), *([f"guard={self.guard}"] if self.guard else [])]
        )


def read_setting(name: str) -> DialogueSetting:
    """A setting by its name: `single`, `multi`, `multi+concat`, `multi+guard=balanced`.

    Raises:
        ConfigError: it has parts that there are not, or that do not go together; names them.

    Examples:
        >>> read_setting("multi+guard=strict").guard
        'strict'
    """
    history, *parts = [part.strip() for part in name.split("+")]
    if history not in ("single", "multi"):
        raise ConfigError(f"setting {name!r} begins with {history!r}; begin with single or multi")
    policies = [part.removeprefix("guard=") for part in parts if part.startswith("guard=")]
    others = [part for part in parts if not part.startswith("guard=")]
    if unknown := [part for part in others if part != "concat"]:
        raise ConfigError(f"setting {name!r} has {unknown[0]!r}; known are concat and guard=POLICY")
    if len(policies) > 1 or len(others) > 1 or not all(policies):
        raise ConfigError(f"setting {name!r} names a part twice, or a guard without its policy")
    if others and history == "single":
        raise ConfigError(f"setting {name!r}: one question has nothing to be joined with; take multi+concat")
    return DialogueSetting(history, bool(others), policies[0] if policies else None)


@dataclass(frozen=True)
class AssistantReply:
    """What an assistant answered. `failure`: why there is nothing that counts as an answer."""

    text: str
    finish: str = "stop"
    failure: str | None = None


class Assistant(Protocol):
    """Answers the last message of a dialogue."""

    @property
    def name(self) -> str: ...

    @property
    def parameters(self) -> Mapping[str, Any]: ...

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        """Raises:
        BudgetError: nothing is left to spend.
        JudgeError: no answer came.
        """
        ...

    async def aclose(self) -> None: ...


class ChatAssistant:
    """A chat model as assistant."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self._model.parameters

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        try:
            reply = await self._model.complete(ChatRequest(tuple(messages), "generate"))
        except ContextTooLongError as exc:
            return AssistantReply("", failure=f"prompt too long: {exc}")
        failures = {"refusal": "refused by the model or its filter", "length": "cut off at the token limit"}
        return AssistantReply(
            reply.text, reply.finish, failures.get(reply.finish) or (None if reply.text.strip() else "empty")
        )

    async def aclose(self) -> None:
        await self._model.aclose()


class FunctionAssistant:
    """A function of the user's: takes messages (`role`, `content`), gives the answer's text; sync or async.

    Args:
        name: `agent:MODULE:NAME`.

    Raises:
        ConfigError: there is no such function.
    """

    parameters: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        module, _, function = name.removeprefix("agent:").partition(":")
        try:
            self._function: Any = import_named(module, function)
        except (ImportError, AttributeError, ValueError) as exc:
            raise ConfigError(f"{name}: {exc}; give agent:MODULE:NAME of a function that takes messages") from exc
        self.name = name

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        given = [{"role": one.role, "content": one.content} for one in messages]
        try:
            if inspect.iscoroutinefunction(self._function):
                text = await self._function(given)
            else:
                text = await asyncio.to_thread(self._function, given)
        except Exception as exc:  # an agent of the user's raises whatever its libraries raise
            raise JudgeError(f"{self.name} raised {type(exc).__name__}: {exc}") from exc
        if not isinstance(text, str):
            raise ConfigError(f"{self.name} gave {type(text).__name__}, not the answer's text")
        return AssistantReply(text, failure=None if text.strip() else "empty")

    async def aclose(self) -> None:
        """Nothing is open."""


def without_thoughts(text: str) -> tuple[str, str]:
    """The answer and the thoughts before it: what stands after the last marker of an answer, else everything (App. G).

    Examples:
        >>> without_thoughts("<think>Six or seven?</think>At six.")
        ('At six.', '<think>Six or seven?</think>')
    """
    marks = list(_ANSWER_AT.finditer(text))
    if not marks or not text[marks[-1].end() :].strip():
        return text.strip(), ""
    return text[marks[-1].end() :].strip(), text[: marks[-1].end()]


@dataclass
class Held:
    """A run's counts. `answered`: turns, those of earlier runs too; `reasons`: of turns without an answer."""

    dialogues: int
    whole: int = 0
    """Dialogues whose last question has an answer."""
    answered: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    work: WorkDone = field(default_factory=WorkDone)

    @property
    def complete(self) -> bool:
        return self.whole == self.dialogues


@dataclass(frozen=True)
class Dialogues:
    """What is asked: every item, of every assistant, in every setting."""

    questions: QuestionSet
    path: Path
    assistants: Sequence[Assistant]
    settings: Sequence[DialogueSetting]
    system: Mapping[str, str] = field(default_factory=dict)
    """A system prompt by the assistant's name."""

    def manifest(self, guarded_by: str = "") -> DialogueManifest:
        return DialogueManifest(
            made_by=f"vista-guard {version('vista-guard')}",
            questions=str(self.path),
            questions_sha256=self.questions.sha256,
            items=tuple(item.id for item in self.questions.items),
            models=tuple(one.name for one in self.assistants),
            settings=tuple(one.name for one in self.settings),
            system=self.system,
            parameters={one.name: json.dumps(dict(one.parameters), sort_keys=True) for one in self.assistants},
            created=datetime.now(UTC),
            guarded_by=guarded_by,
        )

    @property
    def calls(self) -> int:
        """Answers that the whole run asks for."""
        return sum(_turns(item, setting) for item in self.questions.items for setting in self.settings) * len(
            self.assistants
        )


def _turns(item: QuestionItem, setting: DialogueSetting) -> int:
    return 1 if setting.history == "single" or setting.concat else len(item.questions)


Job = tuple[Assistant, DialogueSetting, QuestionItem]


async def ask(
    dialogues: Dialogues,
    out: Path,
    *,
    at_once: int = 16,
    told: Callable[[int], None] = lambda done: None,
    stop: asyncio.Event | None = None,
) -> Held:
    """Holds the dialogues that have no last answer yet. A turn that failed is tried again, its later turns with it.

    Raises:
        ConfigError: the folder holds something else or a run made in another way; a guard decides where there is no evidence.
        StoreError: the disk is full; what was written is safe.
    """
    check(dialogues)
    claim_folder(out, "run of dialogues", FILES)
    jobs = [
        (assistant, setting, item)
        for assistant in dialogues.assistants
        for setting in dialogues.settings
        for item in dialogues.questions.items
    ]
    guards = {
        name: Guard.from_settings(policy=name, store="memory")
        for name in {one.guard for one in dialogues.settings}
        if name
    }
    judges = [f"{one.parts.judge.info.name} {one.parts.judge.info.version}" for one in guards.values()]
    manifest = dialogues.manifest(guarded_by=judges[0] if judges else "")
    with closing(LineFile.open(out / ANSWERS, ANSWER_LINES, manifest)) as lines:

        def keep(report: TurnReport) -> None:
            with (out / REPORTS).open("a", encoding="utf-8") as file:
                file.write(report.model_dump_json() + "\n")

        async def hold(job: Job) -> None:
            guard = guards.get(job[1].guard or "")
            try:
                await _hold(*job, dialogues.system.get(job[0].name, ""), lines, guard, keep)
            finally:
                told(1)
                if guard is not None:
                    await guard.aforget(_dialogue(job[0].name, job[1].name, job[2].id))

        left = [job for job in jobs if not _is_whole(lines, job)]
        told(len(jobs) - len(left))
        try:
            work = await work_through(left, hold, at_once=at_once, stop=stop, noun="dialogues")
        finally:
            for guard in guards.values():
                await guard.aclose()
    return _held(out, jobs, work)


def check(dialogues: Dialogues) -> None:
    """Refuses settings whose figures would mean nothing.

    Raises:
        ConfigError: a guard other than `monitor` stands where items bring no documents to hold answers against.
    """
    for setting in dialogues.settings:
        bare = [item.id for item in dialogues.questions.items if not item.documents]
        if setting.guard not in (None, "monitor") and bare:
            raise ConfigError(
                f"setting {setting.name!r} guards answers, but item {bare[0]} has no documents to hold them against "
                f"({len(bare)} items have none); give documents in the set, or take guard=monitor"
            )


def latest(lines: Sequence[AnswerLine]) -> dict[int, AnswerLine]:
    """The last try of each turn."""
    found: dict[int, AnswerLine] = {}
    for line in sorted(lines, key=lambda one: one.attempt):
        found[line.turn] = line
    return found


def _own(lines: LineFile[AnswerLine], job: Job) -> dict[int, AnswerLine]:
    assistant, setting, item = job
    return latest(lines.of_group(f"{assistant.name}\n{setting.name}\n{item.id}"))


def _is_whole(lines: LineFile[AnswerLine], job: Job) -> bool:
    return any(line.is_last and line.answer is not None for line in _own(lines, job).values())


@dataclass(frozen=True)
class _Place:
    """What a guard needs of a dialogue."""

    item: QuestionItem
    keep: Callable[[TurnReport], None]


async def _hold(
    assistant: Assistant,
    setting: DialogueSetting,
    item: QuestionItem,
    system: str,
    lines: LineFile[AnswerLine],
    guard: Guard | None,
    keep: Callable[[TurnReport], None],
) -> None:
    """Asks turn by turn; turns that have an answer are not asked again."""
    place = _Place(item, keep)
    if setting.history == "single":
        questions: tuple[str, ...] = (item.single,)
    else:
        questions = ("\n".join(item.questions),) if setting.concat else item.questions
    known = _own(lines, (assistant, setting, item))
    messages = [Message("system", system)] if system else []
    for turn, question in enumerate(questions):
        messages.append(Message("user", question))
        line = known.get(turn)
        if line is None or line.answer is None:
            attempt = 0 if line is None else line.attempt + 1
            base = AnswerLine(
                model=assistant.name,
                setting=setting.name,
                sample=item.id,
                turn=turn,
                attempt=attempt,
                question=question,
                is_last=turn == len(questions) - 1,
            )
            line = await _answer(base, assistant, messages, guard, place)
            lines.append(line)
        if line.answer is None:
            if (line.failure or "").startswith(_UNREACHED):
                raise JudgeError(line.failure or "")  # written down; enough of them in a row stop the run
            return
        messages.append(Message("assistant", line.answer))


async def _answer(
    base: AnswerLine, assistant: Assistant, messages: Sequence[Message], guard: Guard | None, place: _Place
) -> AnswerLine:
    started = time.monotonic()
    if guard is None:
        update = _told(await _ask(assistant, messages))
    else:
        update = await _guarded(guard, assistant, messages, base, place)
    return base.model_copy(update={**update, "seconds": round(time.monotonic() - started, 3)})


async def _ask(assistant: Assistant, messages: Sequence[Message]) -> AssistantReply:
    try:
        return await assistant.answer(messages)
    except BudgetError:
        raise
    except JudgeError as exc:
        return AssistantReply("", failure=f"{_UNREACHED}: {exc}")


def _told(said: AssistantReply) -> dict[str, Any]:
    """What a line says of an answer."""
    text, thoughts = without_thoughts(said.text)
    found = {"finish": said.finish, "thoughts": thoughts, "failure": said.failure}
    return found if said.failure is not None else {**found, "answer": text}


def _dialogue(model: str, setting: str, sample: str) -> str:
    """Names a dialogue to the guard."""
    return f"{model} {setting} {sample}"


class _Unanswered(Exception):
    """The assistant behind the guard gave no answer."""


async def _guarded(
    guard: Guard, assistant: Assistant, messages: Sequence[Message], base: AnswerLine, place: _Place
) -> dict[str, Any]:
    """What the user got of an assistant that is wrapped in the guard, and what the guard did."""
    drafts: list[dict[str, Any]] = []
    reports: list[TurnReport] = []

    async def agent(asked: Sequence[Mapping[str, str]]) -> str:
        drafts.append(_told(await _ask(assistant, TypeAdapter(list[Message]).validate_python(asked))))
        if drafts[-1]["failure"] is not None:
            raise _Unanswered
        return str(drafts[-1]["answer"])

    item = place.item
    documents = [Document(id=f"{item.id}-{number}", text=one) for number, one in enumerate(item.documents, 1)]
    guarded = guard.wrap(agent, documents=documents, on_report=reports.append)
    try:
        answer = await guarded(
            [{"role": one.role, "content": one.content} for one in messages],
            conversation_id=_dialogue(base.model, base.setting, base.sample),
        )
    except _Unanswered:
        return drafts[-1]
    report = reports[-1]
    place.keep(report)
    first = str(drafts[0]["answer"])
    return {
        **drafts[-1],
        "answer": str(answer),
        "action": report.decision.action.value,
        "withheld": None if answer == first else first,
        "drafts": len(drafts),
    }


def _held(out: Path, jobs: Sequence[Job], work: WorkDone) -> Held:
    found = Held(len(jobs), work=work)
    asked = {(assistant.name, setting.name, item.id) for assistant, setting, item in jobs}
    dialogues: dict[tuple[str, str, str], list[AnswerLine]] = {}
    for line in read_answers(out):
        dialogues.setdefault((line.model, line.setting, line.sample), []).append(line)
    for name, lines in dialogues.items():
        turns = latest(lines).values() if name in asked else ()
        found.answered += sum(line.answer is not None for line in turns)
        found.whole += any(line.is_last and line.answer is not None for line in turns)
        found.reasons.update((line.failure or "").partition(":")[0] for line in turns if line.failure is not None)
    return found
