"""A judge that is asked the same question once: its answers are kept on disk.

A judge's calls in a file: recorded from real runs, replayed exactly, for tests and experiments.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vista_guard._extras import require
from vista_guard.errors import BudgetError, ContextTooLongError, JudgeError, RecordingError, StoreError, UnreadableError
from vista_guard.judges import contract
from vista_guard.judges import contract as metering
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import meter
from vista_guard.protocols import Judge, TurnJudge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Turn, Unchecked, Usage

if TYPE_CHECKING:
    from diskcache import Cache


FORMAT = 1
"""Part of every key: entries of another form are never read."""

T = TypeVar("T")
Answer = TypeVar("Answer", Check, Finding)

_CHECK: TypeAdapter[Check] = TypeAdapter(Check)
_FINDING: TypeAdapter[Finding] = TypeAdapter(Finding)
_CHECKS: TypeAdapter[tuple[Check, ...]] = TypeAdapter(tuple[Check, ...])
_CLAIMS: TypeAdapter[tuple[Claim, ...]] = TypeAdapter(tuple[Claim, ...])


class CachedJudge:
    """Implements `TurnJudge` around a judge. A kept answer costs nothing; its warnings are told again.

    The key is the inner judge's name and version (for a model: with model, prompts and parameters), the method and the
    inputs. Verify and categorize are kept claim by claim, so that only claims not seen before are asked about; a claim's id
    and span are no part of the question. `Unchecked` and errors are never kept. Several processes may share a folder.

    What is asked twice at the same time by tasks of one process is asked once. A cache that fails while judging is passed
    by, with a warning in the report: it saves calls, and a turn must not go unjudged because of it.
    """

    def __init__(self, judge: Judge, folder: Path | str, *, max_bytes: int = 1 << 30) -> None:
        """Opens the cache, and makes it where there is none.

        Args:
            judge: whose answers are kept.
            folder: on a local disk; network file systems do not lock well enough.
            max_bytes: size in bytes from which on the entries that were stored first make room.

        Raises:
            ConfigError: the extra `model` is missing.
            StoreError: the folder cannot be written, or holds something else.
        """
        self._judge = judge
        self._shelf = _Shelf(Path(folder), max_bytes)
        self._asked: dict[str, Future[Any]] = {}
        self._lock = Lock()

    @property
    def info(self) -> JudgeInfo:
        """The inner judge's: a cache changes nothing about the judgement."""
        return self._judge.info

    @property
    def why_exhausted(self) -> str | None:
        """See `ChatModel.why_exhausted`."""
        return ensemble.why_exhausted(self._judge)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """See `Judge.decompose`."""
        key = self._key("decompose", turn, tuple(history))

        async def ask(_: Sequence[str]) -> Mapping[str, Sequence[Claim]]:
            return {key: tuple(await self._judge.decompose(turn, history))}

        return (await self._answers([key], ask, _CLAIMS, lambda _: True))[key]

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """See `TurnJudge.judge_turn`. Kept as a whole, when every claim was judged."""
        key = self._key("judge_turn", turn, tuple(history), evidence)

        async def ask(_: Sequence[str]) -> Mapping[str, Sequence[Check | Unchecked] | None]:
            answers = await ensemble.judge_turn(self._judge, turn, history, evidence)
            return {key: answers if answers is None else tuple(answers)}

        return (await self._answers([key], ask, _CHECKS, _all_checked))[key]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """See `Judge.verify`."""
        return await self._claim_by_claim("verify", claims, claims, evidence, self._judge.verify, _CHECK)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """See `Judge.categorize`."""
        claims = [check.claim for check in checks]
        return await self._claim_by_claim("categorize", checks, claims, evidence, self._judge.categorize, _FINDING)

    async def aclose(self) -> None:
        """Closes the cache and the inner judge."""
        await self._shelf.aclose()
        await ensemble.aclose(self._judge)

    async def _claim_by_claim(
        self,
        method: str,
        questions: Sequence[Any],
        claims: Sequence[Claim],
        evidence: EvidenceSet,
        judge: Callable[[Sequence[Any], EvidenceSet], Awaitable[Sequence[Answer | Unchecked]]],
        form: TypeAdapter[Answer],
    ) -> list[Answer | Unchecked]:
        keys = [self._key(method, _without_claim(question), evidence) for question in questions]
        asked = dict(zip(keys, zip(questions, claims, strict=True), strict=True))

        async def ask(missing: Sequence[str]) -> Mapping[str, Answer | Unchecked]:
            pairs = [asked[key] for key in missing]
            answers = await judge([question for question, _ in pairs], evidence)
            if not contract.one_each([claim for _, claim in pairs], answers):
                raise JudgeError(f"{self._judge.info.name} did not give one answer for each claim")
            return dict(zip(missing, answers, strict=True))

        if getattr(self._judge, "claims_per_call", None) == 1:
            # Each answer is kept as soon as it is there: a process that is killed loses only what was in flight.
            each = [self._answers([key], _or_unchecked(ask, asked), form, _was_judged) for key in asked]
            found = {key: answer for part in await ensemble.together(each) for key, answer in part.items()}
        else:
            found = await self._answers(list(asked), ask, form, _was_judged)
        return [_of(found[key], claim) for key, claim in zip(keys, claims, strict=True)]

    def _key(self, method: str, *inputs: Any) -> str:
        info = self._judge.info
        return ensemble.fingerprint(FORMAT, info.name, info.version, method, *inputs)

    async def _answers(
        self,
        keys: Sequence[str],
        ask: Callable[[Sequence[str]], Awaitable[Mapping[str, T]]],
        form: TypeAdapter[Any],
        worth_keeping: Callable[[T], bool],
    ) -> dict[str, T]:
        """An answer for each key: kept, on its way to somebody else, or asked for now."""
        with self._lock:
            others = {key: self._asked[key] for key in keys if key in self._asked}
            mine = {key: _on_its_way() for key in keys if key not in others}
            self._asked.update(mine)
        try:
            found = await self._shelf.read(list(mine), form)
            missing = [key for key in mine if key not in found]
            if missing:
                with metering.overheard() as told:
                    fresh = await ask(missing)
                keep = {key: form.dump_python(one, mode="json") for key, one in fresh.items() if worth_keeping(one)}
                await self._shelf.write({key: {"answer": one, "warnings": told.warnings} for key, one in keep.items()})
                found.update(fresh)
            self._release(mine, found)
        except BaseException as exc:
            self._release(mine, exc if isinstance(exc, Exception) else _AbandonedError())
            raise
        again = [key for key, answer in others.items() if not await _is_settled(answer)]
        found.update({key: answer.result() for key, answer in others.items() if key not in again})
        if again:  # whoever asked was cancelled, and nobody else will
            found.update(await self._answers(again, ask, form, worth_keeping))
        return found

    def _release(self, mine: Mapping[str, Future[Any]], found: Mapping[str, Any] | Exception) -> None:
        with self._lock:
            for key in mine:
                del self._asked[key]
        for key, answer in mine.items():
            if isinstance(found, Exception):
                answer.set_exception(found)
            else:
                answer.set_result(found[key])


class _AbandonedError(Exception):
    """Whoever asked was cancelled before there was an answer."""


def _on_its_way() -> Future[Any]:
    answer: Future[Any] = Future()
    answer.set_running_or_notify_cancel()  # from here on, one who waits can go away without taking the answer along
    return answer


async def _is_settled(answer: Future[Any]) -> bool:
    try:
        await asyncio.wrap_future(answer)
    except _AbandonedError:
        return False
    return True


def _or_unchecked(
    ask: Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]], asked: Mapping[str, tuple[Any, Claim]]
) -> Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]:
    """One claim whose question fails is unchecked; it takes no other claim with it."""

    async def either(keys: Sequence[str]) -> Mapping[str, Any]:
        try:
            return await contract.answer(ask(keys))
        except JudgeError as exc:
            return {key: Unchecked(claim=asked[key][1], error=str(exc)) for key in keys}

    return either


def _without_claim(question: Claim | Check) -> Any:
    """A question by what is asked, not by what the claim is called."""
    if isinstance(question, Claim):
        return question.text
    return [question.claim.text, question.model_dump(mode="json", exclude={"claim": True, "finding": {"claim"}})]


def _of(answer: Answer | Unchecked, claim: Claim) -> Answer | Unchecked:
    """The answer as one about this claim, which says the same."""
    update: dict[str, Any] = {"claim": claim}
    if isinstance(answer, Check) and answer.finding is not None:
        update["finding"] = answer.finding.model_copy(update={"claim": claim})
    return answer.model_copy(update=update)


def _was_judged(answer: Check | Finding | Unchecked) -> bool:
    # An unsupported claim that was categorised as VERIFIED is a mistake, and the graph takes it for one.
    return isinstance(answer, Check) or (isinstance(answer, Finding) and answer.label is not Label.VERIFIED)


def _all_checked(answers: Sequence[Check | Unchecked] | None) -> bool:
    return answers is not None and all(isinstance(one, Check) for one in answers)


class _Shelf:
    """The cache on disk. All of it happens in one thread, which is the only one with a connection."""

    def __init__(self, folder: Path, max_bytes: int) -> None:
        import sqlite3

        require("the judge's cache", "diskcache", extra="model")
        from diskcache import Cache, JSONDisk, Timeout

        self._folder = folder
        self._faults = (sqlite3.Error, OSError, Timeout, zlib.error, ValueError, KeyError, TypeError)
        try:
            # JSON and not pickle: what lies in a folder that others may write must not run. Stored first, dropped first:
            # reading then writes nothing, and no reader waits for another.
            settings = {"size_limit": max_bytes, "eviction_policy": "least-recently-stored"}
            self._cache: Cache = Cache(str(folder), disk=JSONDisk, timeout=10, **settings)
            self._cache.close()
        except self._faults as exc:
            raise StoreError(
                f"the judge's cache {folder} cannot be used: {exc}. Delete the folder, or name another that can be written"
            ) from exc
        self._thread: ThreadPoolExecutor | None = None
        self._process = 0

    async def read(self, keys: Sequence[str], form: TypeAdapter[Any]) -> dict[str, Any]:
        """What is kept of these keys. Tells the warnings that came with it."""
        found = {}
        entries = await self._run(lambda: [(key, self._cache.get(key)) for key in keys])
        for key, entry in entries or ():
            if entry is None:
                continue
            try:
                found[key] = form.validate_python(entry["answer"])
                for warning in entry["warnings"]:
                    meter().warn(str(warning))
            except self._faults as exc:
                self._warn(exc)
        return found

    async def write(self, entries: Mapping[str, Any]) -> None:
        """Keeps the entries."""

        def store() -> None:
            for key, entry in entries.items():
                self._cache.set(key, entry)

        if entries:
            await self._run(store)

    async def aclose(self) -> None:
        """Closes the connection. Reading opens another."""
        if self._thread is not None and self._process == os.getpid():
            thread, self._thread = self._thread, None
            await asyncio.wrap_future(thread.submit(self._cache.close))
            thread.shutdown()

    async def _run(self, work: Callable[[], T]) -> T | None:
        if self._thread is None or self._process != os.getpid():  # a thread does not outlive a fork
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="vista-guard-cache")
            self._process = os.getpid()
        try:
            return await asyncio.wrap_future(self._thread.submit(work))
        except self._faults as exc:
            self._warn(exc)
            return None

    def _warn(self, exc: Exception) -> None:
        meter().warn(
            f"the judge's cache {self._folder} failed and was passed by ({type(exc).__name__}: {exc}); "
            "if this goes on, delete the folder"
        )


EXCERPT_CHARS = 200

Method = Literal["decompose", "verify", "categorize", "judge_turn"]

_ANSWERS: Mapping[Method, TypeAdapter[Any]] = {
    "decompose": TypeAdapter(tuple[Claim, ...]),
    "verify": TypeAdapter(tuple[Check | Unchecked, ...]),
    "categorize": TypeAdapter(tuple[Finding | Unchecked, ...]),
    "judge_turn": TypeAdapter(tuple[Check | Unchecked, ...] | None),
}
_ERRORS = {error.__name__: error for error in (JudgeError, BudgetError, ContextTooLongError)}


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Header(_Line):
    vista_guard_recording: int
    judge: JudgeInfo
    judges_turns: bool
    """Whether the judge has `judge_turn`."""


class _Failure(_Line):
    error: str
    message: str
    raw: str | None = None


class _Call(_Line):
    """`inputs` is a fingerprint of all that was given; `about` only shows a reader what the call was about."""

    method: Method
    inputs: str
    about: str
    answer: Any = None
    failure: _Failure | None = None
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()


class RecordedJudge:
    """Implements `TurnJudge`. Made by `record` or by `replay`.

    A line holds what was asked, in fingerprint and excerpt, and what was answered, used and warned of; nothing of the judge
    but its name and version, so no key. Texts of the conversations are in it: treat the file as you treat them.
    """

    def __init__(self, info: JudgeInfo, calls: _Recorder | _Replay) -> None:
        self._info = info
        self._calls = calls

    @classmethod
    def record(cls, judge: Judge, file: Path | str) -> RecordedJudge:
        """Asks `judge`, and writes each call to `file` as soon as it is answered. Errors of the judge are recorded too.

        Raises:
            RecordingError: the file holds something already, or cannot be written.
        """
        return cls(judge.info, _Recorder(judge, Path(file)))

    @classmethod
    def replay(cls, file: Path | str) -> RecordedJudge:
        """Answers from `file`, in whatever order it is asked; what was asked several times is answered in order, as often.

        A question that the file does not hold raises `RecordingError` out of the guard: it is no failure of the judge.

        Raises:
            RecordingError: the file cannot be read; names the damaged line.
        """
        replay = _Replay(Path(file))
        return cls(replay.header.judge, replay)

    @property
    def info(self) -> JudgeInfo:
        """The recorded judge's."""
        return self._info

    @property
    def why_exhausted(self) -> str | None:
        """See `ChatModel.why_exhausted`. None in a replay."""
        return self._calls.why_exhausted

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """See `Judge.decompose`."""
        claims: Sequence[Claim] = await self._calls.ask(
            "decompose", (turn, tuple(history)), turn.text, lambda judge: judge.decompose(turn, history)
        )
        return claims

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """See `Judge.verify`."""
        answers: Sequence[Check | Unchecked] = await self._calls.ask(
            "verify", (tuple(claims), evidence), _id_list(claims), lambda judge: judge.verify(claims, evidence)
        )
        return answers

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """See `Judge.categorize`."""
        about = _id_list([check.claim for check in checks])
        answers: Sequence[Finding | Unchecked] = await self._calls.ask(
            "categorize", (tuple(checks), evidence), about, lambda judge: judge.categorize(checks, evidence)
        )
        return answers

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """See `TurnJudge.judge_turn`."""
        if not self._calls.judges_turns:
            return None
        answers: Sequence[Check | Unchecked] | None = await self._calls.ask(
            "judge_turn",
            (turn, tuple(history), evidence),
            turn.text,
            lambda judge: ensemble.judge_turn(judge, turn, history, evidence),
        )
        return answers

    async def aclose(self) -> None:
        """Closes the recorded judge."""
        await self._calls.aclose()


class _Recorder:
    def __init__(self, judge: Judge, file: Path) -> None:
        self._judge = judge
        self._file = file
        self._lock = Lock()
        self.judges_turns = isinstance(judge, TurnJudge)
        header = _Header(vista_guard_recording=FORMAT, judge=judge.info, judges_turns=self.judges_turns)
        try:
            with file.open("x", encoding="utf-8") as lines:
                lines.write(_json(header) + "\n")
        except FileExistsError as exc:
            raise RecordingError(f"{file} exists already; replay it, delete it, or record to another file") from exc
        except OSError as exc:
            raise RecordingError(f"the recording {file} cannot be written: {exc}. Name a file that can be") from exc

    @property
    def why_exhausted(self) -> str | None:
        return ensemble.why_exhausted(self._judge)

    async def ask(self, method: Method, inputs: Any, about: str, question: Callable[[Judge], Awaitable[Any]]) -> Any:
        call = _Call(method=method, inputs=ensemble.fingerprint(method, *inputs), about=_excerpt(about))
        answer, error = None, None
        with metering.overheard() as told:
            try:
                answer = await contract.answer(question(self._judge))
            except JudgeError as exc:
                error = exc
        answers = None if error else _ANSWERS[method].dump_python(_as_tuple(answer), mode="json")
        done = {"answer": answers, "failure": error and _failure(error), "usage": told.spent, "warnings": told.warnings}
        self._write(call.model_copy(update=done))
        if error is not None:
            raise error
        return answer

    def _write(self, call: _Call) -> None:
        try:
            with self._lock, self._file.open("a", encoding="utf-8") as lines:
                lines.write(_json(call) + "\n")
        except OSError as exc:
            raise RecordingError(
                f"the recording {self._file} cannot be written: {exc}. Make room, and record anew"
            ) from exc

    async def aclose(self) -> None:
        await ensemble.aclose(self._judge)


class _Replay:
    why_exhausted = None

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = Lock()
        self.header, calls = _read(file)
        self.judges_turns = self.header.judges_turns
        self._waiting: defaultdict[str, deque[_Call]] = defaultdict(deque)
        for call in calls:
            self._waiting[call.inputs].append(call)

    async def ask(self, method: Method, inputs: Any, about: str, question: Callable[[Judge], Awaitable[Any]]) -> Any:  # noqa: ARG002  a replay asks nobody
        key = ensemble.fingerprint(method, *inputs)
        with self._lock:
            known = key in self._waiting
            call = self._waiting[key].popleft() if self._waiting.get(key) else None
        if call is None:
            how = "more often than it was recorded" if known else "what it does not hold"
            raise RecordingError(
                f"{self._file} was asked {how}: {method} of {_excerpt(about)!r}. "
                "Replay what was recorded, from its beginning, with the same texts, evidence and settings; or record anew"
            )
        meter().add(call.usage)
        for warning in call.warnings:
            meter().warn(warning)
        if call.failure is not None:
            raise _error_of(call.failure)
        return call.answer

    async def aclose(self) -> None:
        pass


def _read(file: Path) -> tuple[_Header, list[_Call]]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise RecordingError(
            f"the recording {file} cannot be read: {exc}. Record it with RecordedJudge.record"
        ) from exc
    try:
        header = _Header.model_validate(json.loads(lines[0]))
    except ValueError as exc:
        raise RecordingError(f"{file} line 1 is no header of a recording: {_why(exc)}. Record anew") from exc
    if header.vista_guard_recording != FORMAT:
        raise RecordingError(
            f"{file} has recording format {header.vista_guard_recording}; this version reads {FORMAT}. Record anew"
        )
    return header, [_call(file, number, line) for number, line in enumerate(lines[1:], 2) if line]


def _call(file: Path, number: int, line: str) -> _Call:
    try:
        call = _Call.model_validate(json.loads(line))
        if call.failure is not None:
            return call
        return call.model_copy(update={"answer": _ANSWERS[call.method].validate_python(call.answer)})
    except ValueError as exc:
        raise RecordingError(
            f"{file} line {number} is damaged: {_why(exc)}. Delete the line if it is the last, which a recording that was "
            "stopped leaves half written; else record anew"
        ) from exc


def _why(exc: ValueError) -> str:
    if not isinstance(exc, ValidationError):
        return str(exc)
    first = exc.errors(include_input=False, include_url=False)[0]
    return f"{'.'.join(map(str, first['loc']))} {first['msg']}".strip()


def _failure(error: JudgeError) -> _Failure:
    kind = next(one for one in type(error).__mro__ if one.__name__ in (*_ERRORS, "UnreadableError"))
    return _Failure(error=kind.__name__, message=str(error), raw=getattr(error, "raw", None))


def _error_of(failure: _Failure) -> JudgeError:
    if failure.error == "UnreadableError":
        return UnreadableError(failure.message, failure.raw or "")
    return _ERRORS.get(failure.error, JudgeError)(failure.message)


def _as_tuple(answer: Sequence[T] | None) -> tuple[T, ...] | None:
    return None if answer is None else tuple(answer)


def _id_list(claims: Sequence[Claim]) -> str:
    return "; ".join(f"{claim.id} {claim.text}" for claim in claims)


def _excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…"


def _json(line: BaseModel) -> str:
    # Not pydantic's own writer: it refuses half characters, which turns may hold.
    return json.dumps(line.model_dump(mode="json"))
