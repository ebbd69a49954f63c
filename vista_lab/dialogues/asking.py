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
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from pydantic import TypeAdapter

from vista_guard.errors import BudgetError, ConfigError, ContextTooLongError, JudgeError
from vista_guard.guard import Guard
from vista_guard.judges.model import ChatModel, ChatRequest, Message
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.line_file import LineFile
from vista_guard.types import Document, Passage, TurnReport
from vista_lab.dialogues import prompting, records
from vista_lab.dialogues.questions import QuestionItem, QuestionSet, unrelated
from vista_lab.dialogues.retrieving import PassageFinder, documents_of
from vista_lab.dialogues.settings import ORACLE, DialogueSetting
from vista_lab.dialogues.tokens import WORDS, TokenCounter, token_counter
from vista_lab.runs.folder import MANIFEST, claim_folder
from vista_lab.runs.workers import WorkDone, work_through
from vista_lab.systems.metrics import import_named

REPORTS = "reports.jsonl"
"""The guards' reports, for replay and the dashboard."""
FILES = MANIFEST, records.ANSWERS, records.STATEMENTS, records.JUDGEMENTS, REPORTS, records.NOISE
"""Files of a run of dialogues."""
UNREACHED = "no answer"
"""The failure of a turn that no endpoint answered, before its error."""
_ANSWER_AT = re.compile(r"</think(?:ing)?>|<\|?answer\|?>|\*{0,2}final answer\*{0,2}\s*:", re.IGNORECASE)


@dataclass(frozen=True)
class AssistantReply:
    """An assistant's reply. `failure`: reason if it does not count as an answer; `calls`: requests it took.

    `finish` is `length` where the reply was cut at the token limit; the run decides whether it counts.
    """

    text: str
    finish: str = "stop"
    failure: str | None = None
    reasoning: str = ""
    calls: int = 1


THREAD: ContextVar[str] = ContextVar("THREAD")
"""The current dialogue, for assistants that keep their own history."""


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

    @property
    def prices(self) -> Any:
        """The model's prices; None if it has none."""
        return getattr(self._model, "prices", None)

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        try:
            reply = await self._model.complete(ChatRequest(tuple(messages), "generate"))
        except ContextTooLongError as exc:
            return AssistantReply("", failure=f"prompt too long: {exc}")
        text, thoughts = (reply.text, reply.reasoning) if reply.text.strip() else (reply.reasoning, "")
        refused = "refused by the model or its filter" if reply.finish == "refusal" else None
        failure = refused or (None if text.strip() else "empty")
        return AssistantReply(text, reply.finish, failure, thoughts)

    async def aclose(self) -> None:
        await self._model.aclose()


class FunctionAssistant:
    """A function of the user's, sync or async, that returns the answer's text.

    It takes the messages (`role`, `content`), or, if it has a parameter `thread_id`, the user's text alone, and keeps the
    history of each thread itself. A resumed dialogue is replayed to it from the first turn, in a new thread.

    Args:
        name: `agent:MODULE:NAME`.

    Raises:
        ConfigError: the function does not exist.
    """

    parameters: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        module, _, function = name.removeprefix("agent:").partition(":")
        try:
            function_: Any = import_named(module, function)
            self.keeps_history = "thread_id" in inspect.signature(function_).parameters
        except (ImportError, AttributeError, ValueError, TypeError) as exc:
            raise ConfigError(f"{name}: {exc}; give agent:MODULE:NAME of a function that takes messages") from exc
        self._function: Any = function_
        self.name = name
        self._process, self._told = uuid4().hex[:8], Counter[str]()

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        if not self.keeps_history:
            text = await self._call([{"role": message.role, "content": message.content} for message in messages])
            return AssistantReply(text, failure=None if text.strip() else "empty")
        thread = f"{THREAD.get()} {self._process}"
        asked = [message.content for message in messages if message.role == "user"]
        # A guard's remark on a draft was told, and is in no later turn's messages: the last message is always told.
        told = min(self._told[thread], len(asked) - 1)
        for number, question in enumerate(asked[told:], told + 1):
            text = await self._call(question, thread_id=thread)
            self._told[thread] = number
        return AssistantReply(text, failure=None if text.strip() else "empty", calls=len(asked) - told)

    async def _call(self, prompt: object, **more: str) -> str:
        try:
            if inspect.iscoroutinefunction(self._function):
                text = await self._function(prompt, **more)
            else:
                text = await asyncio.to_thread(self._function, prompt, **more)
        except Exception as exc:  # an agent of the user's raises whatever its libraries raise
            raise JudgeError(f"{self.name} raised {type(exc).__name__}: {exc}") from exc
        if not isinstance(text, str):
            raise ConfigError(f"{self.name} gave {type(text).__name__}, not the answer's text")
        return text

    async def aclose(self) -> None:
        """Nothing is open."""


def without_thoughts(text: str) -> tuple[str, str]:
    """Splits a reply into the answer, which follows its last marker (else all of it), and the thoughts before it (App. G).

    Examples:
        >>> without_thoughts("<think>Six or seven?</think>At six.")
        ('At six.', '<think>Six or seven?</think>')
    """
    marks = list(_ANSWER_AT.finditer(text))
    if not marks or not text[marks[-1].end() :].strip():
        return text.strip(), ""
    return text[marks[-1].end() :].strip(), text[: marks[-1].end()]


@dataclass
class DialogueCounts:
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


Past = Sequence[tuple[str, str]]
"""Questions and answers before the last turn."""


@dataclass(frozen=True)
class Dialogues:
    """The dialogues of a run: every item, with every assistant, in every setting.

    Attributes:
        questions: the set; its items have the documents for retrieval and for guards.
        path: path of the set, for the manifest.
        system: system prompts by the assistant's name.
        references: source of the items' documents, for the manifest.
        histories: turns before the last from others, by their source in the setting, model (empty: all) and item.
        retrieval, noise: for the manifest.
        corpus: True if all items share one corpus, so that none needs documents of its own.
        cut: `count` or `drop`: an answer cut at the token limit counts as it is, or is no answer.
        counter: of the tokens of settings with `budget`.
    """

    questions: QuestionSet
    path: Path
    assistants: Sequence[Assistant]
    settings: Sequence[DialogueSetting]
    system: Mapping[str, str] = field(default_factory=dict)
    references: str = ""
    histories: Mapping[tuple[str, str], Mapping[str, Past]] = field(default_factory=dict)
    retrieval: str = ""
    noise: str = ""
    corpus: bool = False
    cut: str = "drop"
    counter: TokenCounter = field(default_factory=lambda: token_counter(WORDS))

    def manifest(self, guarded_by: str = "") -> records.DialogueManifest:
        """The manifest of the run."""
        return records.DialogueManifest(
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
            references=self.references,
            retrieval=self.retrieval if any(one.rag for one in self.settings) else "",
            noise=self.noise,
            cut=self.cut,
            tokens=self.counter.name if any(one.budget for one in self.settings) else "",
            left_out=self._left_out(),
        )

    def _left_out(self) -> dict[str, tuple[str, ...]]:
        left_out: dict[str, tuple[str, ...]] = {}
        for setting in self.settings:
            for model in [assistant.name for assistant in self.assistants] if setting.noise else [""]:
                ids = tuple(item.id for item in self.questions.items if not self._holds(model, setting, item))
                left_out |= {f"{setting.name} {model}".strip(): ids} if ids else {}
        return left_out

    def jobs(self) -> list[DialogueJob]:
        """The dialogues to hold."""
        every = (
            (one, setting, item)
            for one in self.assistants
            for setting in self.settings
            for item in self.questions.items
        )
        return [DialogueJob(*job) for job in every if self._holds(job[0].name, *job[1:])]

    def _holds(self, model: str, setting: DialogueSetting, item: QuestionItem) -> bool:
        if setting.rag and not self.corpus and not documents_of(item):
            return False
        return not setting.others or self.past(model, setting, item) is not None

    def past(self, model: str, setting: DialogueSetting, item: QuestionItem) -> Past | None:
        """The turns before the last from others; None if one is missing."""
        place = setting.others or ""
        turns = self.histories.get((place, model), {}).get(item.id) or self.histories.get((place, ""), {}).get(item.id)
        return turns if turns is not None and len(turns) >= len(item.questions) - 1 else None

    @property
    def calls(self) -> int:
        """Answers that the whole run asks for."""
        return sum(job.calls for job in self.jobs())


@dataclass(frozen=True)
class DialogueJob:
    """One dialogue to hold."""

    assistant: Assistant
    setting: DialogueSetting
    item: QuestionItem

    @property
    def key(self) -> tuple[str, str, str]:
        """Model, setting and item, as lines name them."""
        return self.assistant.name, self.setting.name, self.item.id

    @property
    def dialogue(self) -> str:
        """Conversation id for the guard."""
        return " ".join(self.key)

    @property
    def calls(self) -> int:
        """Answers that it asks for; `summarize` and `select` need one more, `self-refine` two."""
        alone = self.setting.history == "single" or self.setting.others
        more = {"summarize": 1, "select": 1, "self-refine": 2}.get(self.setting.mitigate or "", 0)
        return (1 if alone else len(self.item.questions)) + self.setting.drift + more


async def ask(
    dialogues: Dialogues,
    out: Path,
    *,
    at_once: int = 16,
    told: Callable[[int], None] = lambda done: None,
    stop: asyncio.Event | None = None,
    finder: PassageFinder | None = None,
) -> DialogueCounts:
    """Holds the dialogues that have no last answer yet. A turn that failed is tried again, its later turns with it.

    Args:
        dialogues: the dialogues to hold.
        out: the run's folder.
        at_once: dialogues held at the same time.
        told: called with the number of dialogues that have ended.
        stop: set to end after the dialogues in progress.
        finder: finds passages in settings with `rag`; uses the shipped embedder and reranker when None.

    Raises:
        ConfigError: the folder holds something else or a run with other settings; a guard decides without evidence.
        StoreError: the disk is full; what was written is safe.
    """
    check(dialogues)
    claim_folder(out, "run of dialogues", FILES)
    jobs = dialogues.jobs()
    policies = {setting.guard for setting in dialogues.settings if setting.guard}
    guards = {name: Guard.from_settings(policy=name, store="memory") for name in sorted(policies)}
    judges = [f"{one.parts.judge.info.name} {one.parts.judge.info.version}" for one in guards.values()]
    manifest = dialogues.manifest(guarded_by=judges[0] if judges else "")
    with closing(LineFile.open(out / records.ANSWERS, records.ANSWER_LINES, manifest)) as lines:
        room = _Room(dialogues, lines, guards, finder or PassageFinder(OnnxEmbedder()), out / REPORTS)
        unfinished = [job for job in jobs if records.last_answer(_latest_lines(lines, job)) is None]
        told(len(jobs) - len(unfinished))
        try:
            work = await work_through(unfinished, room.hold, at_once=at_once, stop=stop, noun="dialogues", told=told)
        finally:
            for guard in guards.values():
                await guard.aclose()
    return _counts(out, jobs, work)


def check(dialogues: Dialogues) -> None:
    """Refuses settings whose figures would be meaningless.

    Raises ConfigError if a guard other than `monitor` has no evidence to check answers against, or no item has
    documents to retrieve.
    """
    items = dialogues.questions.items
    bare = [item.id for item in items if not documents_of(item)]
    for setting in dialogues.settings:
        if setting.rag and len(bare) == len(items) and not dialogues.corpus:
            raise ConfigError(
                f"setting {setting.name!r} retrieves, but no item has documents; give --references FILE or oracle"
            )
        keeping = [one.name for one in dialogues.assistants if getattr(one, "keeps_history", False)]
        if keeping and any((setting.others, setting.budget, setting.concat, setting.mitigate)):
            why = f"changes the history that is shown, and {keeping[0]} keeps its own"
            raise ConfigError(f"setting {setting.name!r} {why}; give a function that takes messages")
        if setting.guard in (None, "monitor"):
            continue
        if dialogues.references == ORACLE:
            why = "would hold answers against the reference answers, with which a guard can only win"
            raise ConfigError(f"setting {setting.name!r} {why}; take guard=monitor, or other --references")
        if bare and not setting.rag:
            raise ConfigError(
                f"setting {setting.name!r} guards answers, but item {bare[0]} has no documents to hold them against "
                f"({len(bare)} items have none); give documents in the set, or take guard=monitor"
            )
        if setting.rag in ("base", "last") and setting.history == "multi" and setting.guard_at != "final":
            how = f"take guard={setting.guard}@final, rag=rounds, or guard=monitor"
            raise ConfigError(f"setting {setting.name!r} guards turns at which nothing is retrieved; {how}")


def _latest_lines(lines: LineFile[records.AnswerLine], job: DialogueJob) -> dict[int, records.AnswerLine]:
    return records.latest(lines.of_group("\n".join(job.key)))


@dataclass(frozen=True)
class _Room:
    dialogues: Dialogues
    lines: LineFile[records.AnswerLine]
    guards: Mapping[str, Guard]
    retriever: PassageFinder
    reports: Path

    async def hold(self, job: DialogueJob) -> None:
        """Asks turn by turn; turns that have an answer are not asked again."""
        guard = self.guards.get(job.setting.guard or "")
        THREAD.set(job.dialogue)
        try:
            await self._hold(job, guard)
        finally:
            if guard is not None:
                await guard.aforget(job.dialogue)

    async def _hold(self, job: DialogueJob, guard: Guard | None) -> None:
        setting, questions = job.setting, self._questions(job)
        known = _latest_lines(self.lines, job)
        system = self.dialogues.system.get(job.assistant.name, "")
        history = [Message("system", system)] if system else []
        evidence: list[Document] = [] if setting.rag else documents_of(job.item)
        past = self.dialogues.past(job.assistant.name, setting, job.item) if setting.others else None
        for turn, question in enumerate(questions):
            last = turn == len(questions) - 1
            if past is not None and not last:
                asked, answered = past[turn]
                history += [Message("user", asked), Message("assistant", answered)]
                continue
            prompt = await self._build_prompt(job, [*history, Message("user", question)], last=last)
            evidence += [Document(id=_passage_name(passage), text=passage.text) for passage in prompt.passages]
            line = known.get(turn)
            if line is None or line.answer is None:
                base = records.AnswerLine(
                    model=job.assistant.name,
                    setting=setting.name,
                    sample=job.item.id,
                    turn=turn,
                    attempt=0 if line is None else line.attempt + 1,
                    question=question,
                    is_last=last,
                    retrieved=tuple(_passage_name(passage) for passage in prompt.passages),
                    history=prompt.history,
                )
                own_guard = guard if setting.guards(last=last) else None
                line = await self._answer(job, base, prompt.messages, own_guard, evidence)
                self.lines.append(line)
            if line.answer is None:
                if (line.failure or "").startswith(UNREACHED):
                    raise JudgeError(line.failure or "")  # written down; enough of them in a row stop the run
                return
            history += [Message("user", prompt.question), Message("assistant", line.answer)]

    def _questions(self, job: DialogueJob) -> list[str]:
        own = [job.item.single] if job.setting.history == "single" else list(job.item.questions)
        return [unrelated(self.dialogues.questions.items, job.item, "drift").single, *own] if job.setting.drift else own

    async def _build_prompt(self, job: DialogueJob, messages: Sequence[Message], *, last: bool) -> _Prompt:
        setting, left = job.setting, None
        *history, question = messages
        passages: Sequence[Passage] = ()
        if setting.retrieves(last=last):
            query = question.content if setting.rag in ("base", "rounds") else prompting.talk_of(messages)
            passages = await self.retriever.find(job.item, query)
        prompt = prompting.with_passages(question.content, [passage.text for passage in passages])
        shown = [*history, Message("user", prompt)]
        if last and setting.budget is not None:
            shown = prompting.cut(shown, setting.budget, self.dialogues.counter.count)
            texts = [message.content for message in shown[:-1] if message.role != "system"]
            left = len(texts), sum(map(self.dialogues.counter.count, texts))
        if last and setting.concat:
            shown = prompting.concatenate(shown)
        if last and setting.mitigate == "simple":
            shown = prompting.simple(shown)
        return _Prompt(shown, prompt if setting.rag == "last@code" else question.content, passages, left)

    async def _answer(
        self,
        job: DialogueJob,
        base: records.AnswerLine,
        messages: Sequence[Message],
        guard: Guard | None,
        evidence: Sequence[Document],
    ) -> records.AnswerLine:
        started = time.monotonic()
        how = job.setting.mitigate if base.is_last else None
        if guard is None:
            update = _line_fields(await self._respond(job, messages, how))
        else:
            update = await self._answer_guarded(guard, job, messages, how, evidence)
        return base.model_copy(update={**update, "seconds": round(time.monotonic() - started, 3)})

    async def _answer_guarded(
        self, guard: Guard, job: DialogueJob, messages: Sequence[Message], how: str | None, evidence: Sequence[Document]
    ) -> dict[str, Any]:
        """Fields of an answer from an assistant wrapped in the guard, and the guard's action."""
        drafts: list[dict[str, Any]] = []
        reports: list[TurnReport] = []

        async def agent(asked: Sequence[Mapping[str, str]]) -> str:
            shown = TypeAdapter(list[Message]).validate_python(asked)
            drafts.append(_line_fields(await self._respond(job, shown, how)))
            if drafts[-1]["failure"] is not None:
                raise _Unanswered
            return str(drafts[-1]["answer"])

        guarded = guard.wrap(agent, documents=list(evidence), on_report=reports.append)
        try:
            chat = [{"role": message.role, "content": message.content} for message in messages]
            answer = await guarded(chat, conversation_id=job.dialogue)
        except _Unanswered:
            return drafts[-1]
        with self.reports.open("a", encoding="utf-8") as file:
            file.write(reports[-1].model_dump_json() + "\n")
        first = str(drafts[0]["answer"])
        report, withheld = reports[-1], None if answer == first else first
        calls = {
            "calls": sum(draft["calls"] for draft in drafts),
            "guard_calls": report.usage.calls,
            "drafts": len(drafts),
        }
        own = {"answer": str(answer), "action": report.decision.action.value, "withheld": withheld}
        return {**drafts[-1], **own, **calls}

    async def _respond(self, job: DialogueJob, messages: Sequence[Message], how: str | None) -> AssistantReply:
        """The assistant's answer, with the requests of a mitigation before and after it."""
        if how in ("summarize", "select"):
            context = await self._ask(job, prompting.refining_history(messages, how))
            if context.failure is not None:
                return context
            answer = await self._ask(job, prompting.with_context(messages, without_thoughts(context.text)[0]))
            return replace(answer, calls=answer.calls + context.calls)
        answer = await self._ask(job, messages)
        if how != "self-refine" or answer.failure is not None:
            return answer
        first = without_thoughts(answer.text)[0]
        review = await self._ask(job, prompting.review_request(messages, first))
        if review.failure is not None:
            return review
        again = await self._ask(job, prompting.refine_request(messages, first, without_thoughts(review.text)[0]))
        return replace(again, calls=answer.calls + review.calls + again.calls)

    async def _ask(self, job: DialogueJob, messages: Sequence[Message]) -> AssistantReply:
        try:
            reply = await job.assistant.answer(messages)
        except BudgetError:
            raise
        except JudgeError as exc:
            return AssistantReply("", failure=f"{UNREACHED}: {exc}")
        dropped = reply.finish == "length" and self.dialogues.cut == "drop"
        return replace(reply, failure=records.CUT_OFF) if dropped else reply


class _Prompt(NamedTuple):
    """The prompt of a turn, its question as later turns have it in their history, and the passages.

    `history`: messages and tokens that a budget left.
    """

    messages: list[Message]
    question: str
    passages: Sequence[Passage]
    history: tuple[int, int] | None


def _passage_name(passage: Passage) -> str:
    return passage.source_id if passage.span is None else f"{passage.source_id}:{passage.span.start}-{passage.span.end}"


def _line_fields(reply: AssistantReply) -> dict[str, Any]:
    text, thoughts = without_thoughts(reply.text)
    thoughts = "\n".join(filter(None, (reply.reasoning, thoughts)))
    fields = {"finish": reply.finish, "thoughts": thoughts, "failure": reply.failure, "calls": reply.calls}
    return fields if reply.failure is not None else {**fields, "answer": text}


class _Unanswered(Exception):
    """The assistant behind the guard gave no answer."""


def _counts(out: Path, jobs: Sequence[DialogueJob], work: WorkDone) -> DialogueCounts:
    held = DialogueCounts(len(jobs), work=work)
    dialogues = records.read_dialogues(out)
    for turns in (dialogues.get(job.key, {}) for job in jobs):
        held.answered += sum(line.answer is not None for line in turns.values())
        held.whole += records.last_answer(turns) is not None
        held.reasons.update(one.failure.partition(":")[0] for one in turns.values() if one.failure is not None)
    return held
