"""A judge with stored answers: cached, or recorded in a file and replayed from it.

A cache saves calls and may fail; a recording is exact, for tests and experiments.
"""

from __future__ import annotations

import asyncio
import json
import os
import zlib
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter

from vista_guard._extras import require
from vista_guard._private import make_folder, private
from vista_guard.errors import (
    BudgetError,
    ContextTooLongError,
    JudgeError,
    RecordingError,
    StoreError,
    UnreadableError,
    first_problem,
)
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.ensemble import JudgeAround
from vista_guard.judges.contract import claim_of, meter
from vista_guard.protocols import Judge, TurnJudge
from vista_guard.types import (
    Check,
    Claim,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Turn,
    Unchecked,
    UncheckedClaim,
    Usage,
)

if TYPE_CHECKING:
    from diskcache import Cache

FORMAT = 1
"""Part of every cache key and recording header; other formats are never read."""

EXCERPT_CHARS = 200

T = TypeVar("T")
Method = Literal["decompose", "verify", "categorize", "judge_turn"]
Ask = Callable[[Sequence[str]], Awaitable[Mapping[str, Any]]]
"""Asks the judge about the questions with these keys."""

_CLAIMS: TypeAdapter[Any] = TypeAdapter(tuple[UncheckedClaim | Claim, ...])
_CACHED: Mapping[Method, TypeAdapter[Any]] = {
    "decompose": _CLAIMS,
    "verify": TypeAdapter(Check),
    "categorize": TypeAdapter(Finding),
    "judge_turn": TypeAdapter(tuple[Check, ...]),
}
_RECORDED: Mapping[Method, TypeAdapter[Any]] = {
    "decompose": _CLAIMS,
    "verify": TypeAdapter(tuple[Check | Unchecked, ...]),
    "categorize": TypeAdapter(tuple[Finding | Unchecked, ...]),
    "judge_turn": TypeAdapter(tuple[Check | Unchecked, ...] | None),
}


class StoredJudge(JudgeAround):
    """Implements `TurnJudge`. Create it with `cached`, `recorded` or `replayed`.

    Example:
        `StoredJudge.cached(judge, "answers")` asks the judge about each claim once, in all runs with this folder.
    """

    def __init__(self, shelf: _Cache | _Recorder | _Replay, judge: Judge | None = None) -> None:
        super().__init__(judge or cast("Judge", shelf), shelf)  # a replay has no judge but what it was recorded of
        self._shelf = shelf

    @classmethod
    def cached(cls, judge: Judge, folder: Path | str, *, max_bytes: int = 1 << 30) -> StoredJudge:
        """Caches the judge's answers in a folder. A cached answer costs nothing and repeats its warnings.

        The key is the judge's name and version (for a model: with model, prompts and parameters), the method and the inputs.
        Verify and categorize are cached per claim, so that only new claims reach the judge; a claim's id and span are not
        part of the key. `Unchecked` and errors are never cached. Several processes may share a folder.

        Concurrent tasks of one process with the same question share one call. A failing cache is bypassed with a warning
        in the report, so that no turn goes unjudged because of it.

        Args:
            judge: the judge to cache.
            folder: on a local disk, created if missing; network file systems do not lock well enough.
            max_bytes: size above which the oldest entries are dropped.

        Raises:
            ConfigError: the extra `model` is missing.
            StoreError: the folder cannot be written, or holds something else.
        """
        return cls(_Cache(judge, AnswerShelf(Path(folder), max_bytes)), judge)

    @classmethod
    def recorded(cls, judge: Judge, file: Path | str) -> StoredJudge:
        """Writes each answered call to `file`, including the judge's errors.

        A line has a fingerprint and an excerpt of the question, the answer, usage and warnings. It has no keys, but texts of
        the conversations: protect the file like them.

        Raises:
            RecordingError: the file exists, or cannot be written.
        """
        return cls(_Recorder(judge, Path(file)), judge)

    @classmethod
    def replayed(cls, file: Path | str) -> StoredJudge:
        """Answers from a recording, in any order; repeated questions get their answers in recorded order.

        A question that is not in the file raises `RecordingError` out of the guard: it is not a failure of the judge.

        Raises:
            RecordingError: the file cannot be read; names the damaged line.
        """
        return cls(_Replay(Path(file)))

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Implements `Judge.decompose`."""
        claims: Sequence[Claim] = await self._shelf.ask("decompose", turn, tuple(history))
        return claims

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Implements `Judge.verify`."""
        checks: Sequence[Check | Unchecked] = await self._shelf.ask("verify", tuple(claims), evidence)
        return checks

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Implements `Judge.categorize`."""
        findings: Sequence[Finding | Unchecked] = await self._shelf.ask("categorize", tuple(checks), evidence)
        return findings

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """Implements `TurnJudge.judge_turn`. Cached as a whole, if every claim was judged."""
        checks: Sequence[Check | Unchecked] | None = await self._shelf.ask("judge_turn", turn, tuple(history), evidence)
        return checks


async def _ask_judge(judge: Judge, method: Method, inputs: Sequence[Any]) -> tuple[Any, ...] | None:
    ask = partial(ensemble.judge_turn, judge) if method == "judge_turn" else getattr(judge, method)
    answer = await ask(*inputs)
    return None if answer is None else tuple(answer)


class _Cache:
    def __init__(self, judge: Judge, disk: AnswerShelf) -> None:
        self._judge = judge
        self._disk = disk
        self._pending: dict[str, Future[Any]] = {}
        self._lock = Lock()

    async def ask(self, method: Method, *inputs: Any) -> Any:
        if method in ("verify", "categorize"):
            return await self._ask_by_claim(method, *inputs)
        key = self._key(method, *inputs)

        async def ask(_: Sequence[str]) -> Mapping[str, Any]:
            return {key: await _ask_judge(self._judge, method, inputs)}

        return (await self._answers(method, [key], ask))[key]

    async def aclose(self) -> None:
        await self._disk.aclose()

    async def _ask_by_claim(self, method: Method, questions: Sequence[Claim | Check], evidence: EvidenceSet) -> Any:
        keys = [self._key(method, _without_claim(question), evidence) for question in questions]
        by_key = dict(zip(keys, questions, strict=True))

        async def ask(missing: Sequence[str]) -> Mapping[str, Any]:
            unanswered = [by_key[key] for key in missing]
            answers = await _ask_judge(self._judge, method, (unanswered, evidence)) or ()
            if not contract.one_each([claim_of(question) for question in unanswered], answers):
                raise JudgeError(f"{self._judge.info.name} did not give one answer for each claim")
            return dict(zip(missing, answers, strict=True))

        async def ask_alone(missing: Sequence[str]) -> Mapping[str, Any]:
            try:
                return await contract.await_answer(ask(missing))
            except JudgeError as exc:  # one claim that fails takes no other with it
                return {key: Unchecked(claim=claim_of(by_key[key]), error=str(exc)) for key in missing}

        if getattr(self._judge, "claims_per_call", None) == 1:
            # Each answer is cached at once: a killed process loses only the calls in flight.
            parts = await ensemble.gather([self._answers(method, [key], ask_alone) for key in by_key])
            answers = {key: answer for part in parts for key, answer in part.items()}
        else:
            answers = await self._answers(method, list(by_key), ask)
        return [_for_claim(claim_of(question), answers[key]) for key, question in zip(keys, questions, strict=True)]

    def _key(self, method: str, *inputs: Any) -> str:
        return ensemble.fingerprint(FORMAT, self._judge.info.name, self._judge.info.version, method, *inputs)

    async def _answers(self, method: Method, keys: Sequence[str], ask: Ask) -> dict[str, Any]:
        """An answer for each key: cached, pending in another task, or from a new call."""
        with self._lock:
            pending = {key: self._pending[key] for key in keys if key in self._pending}
            futures = {key: _pending_answer() for key in keys if key not in pending}
            self._pending.update(futures)
        try:
            answers = await self._read_or_ask(method, list(futures), ask)
            self._settle(futures, answers)
        except BaseException as exc:
            self._settle(futures, exc if isinstance(exc, Exception) else _AbandonedError())
            raise
        abandoned = []
        for key, answer in pending.items():
            try:
                answers[key] = await asyncio.wrap_future(answer)
            except _AbandonedError:  # the asking task was cancelled
                abandoned.append(key)
        return answers | await self._answers(method, abandoned, ask) if abandoned else answers

    async def _read_or_ask(self, method: Method, keys: Sequence[str], ask: Ask) -> dict[str, Any]:
        form = _CACHED[method]
        answers = await self._disk.read(keys, form)
        missing = [key for key in keys if key not in answers]
        if missing:
            with contract.overhear() as echo:
                fresh = await ask(missing)
            await self._disk.write(
                {
                    key: {"answer": form.dump_python(answer, mode="json"), "warnings": echo.warnings}
                    for key, answer in fresh.items()
                    if _is_worth_keeping(answer)
                }
            )
            answers.update(fresh)
        return answers

    def _settle(self, futures: Mapping[str, Future[Any]], answers: Mapping[str, Any] | Exception) -> None:
        with self._lock:
            for key in futures:
                del self._pending[key]
        for key, pending in futures.items():
            if isinstance(answers, Exception):
                pending.set_exception(answers)
            else:
                pending.set_result(answers[key])


class _AbandonedError(Exception):
    """The task that asked was cancelled before there was an answer."""


def _pending_answer() -> Future[Any]:
    answer: Future[Any] = Future()
    answer.set_running_or_notify_cancel()  # so that a cancelled waiter does not cancel the answer for the others
    return answer


_NOT_ASKED: Any = {
    **ensemble.NOT_ASKED,
    "claim": True,
    "support": True,
    "finding": {**ensemble.NOT_ASKED["finding"], "claim": True, "support": True},
}
"""Parts of a check that are not part of a question; `support`, so that older cache entries still match."""


def _without_claim(question: Claim | Check) -> Any:
    """The question without the claim's id and span."""
    if isinstance(question, Claim):
        return question.text
    return [question.claim.text, question.model_dump(mode="json", exclude=_NOT_ASKED)]


def _for_claim(claim: Claim, answer: Check | Finding | Unchecked) -> Check | Finding | Unchecked:
    """The cached answer with this claim's id and span."""
    update: dict[str, Any] = {"claim": claim}
    if isinstance(answer, Check) and answer.finding is not None:
        update["finding"] = answer.finding.model_copy(update={"claim": claim})
    return answer.model_copy(update=update)


def _is_worth_keeping(answer: Check | Finding | Unchecked | Sequence[Claim | Check | Unchecked] | None) -> bool:
    if isinstance(answer, Sequence):
        return not any(isinstance(part, Unchecked | UncheckedClaim) for part in answer)
    # An unsupported claim categorised as VERIFIED is an error, and the graph treats it as one.
    return isinstance(answer, Check) or (isinstance(answer, Finding) and answer.label is not Label.VERIFIED)


class AnswerShelf:
    """The cache's folder, used by a single thread, because each thread would open its own connection."""

    def __init__(self, folder: Path, max_bytes: int = 1 << 30) -> None:
        import sqlite3

        require("the judge's cache", "diskcache", extra="model")
        from diskcache import Cache, JSONDisk, Timeout

        self._folder = folder
        self._faults = (sqlite3.Error, OSError, Timeout, zlib.error, ValueError, KeyError, TypeError)
        try:
            # JSON, not pickle: a folder that others may write must not run code. The oldest entries go first, so that
            # reads write nothing, and readers never wait for each other.
            make_folder(folder)
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
        """The cached answers for these keys. Repeats their warnings."""
        answers = {}
        entries = await self._run(lambda: [(key, self._cache.get(key)) for key in keys])
        for key, entry in entries or ():
            if entry is None:
                continue
            try:
                answers[key] = form.validate_python(entry["answer"])
                for warning in entry["warnings"]:
                    meter().warn(str(warning))
            except self._faults as exc:
                self._warn(exc)
        return answers

    async def write(self, entries: Mapping[str, Any]) -> None:
        if entries:
            await self._run(lambda: [self._cache.set(key, entry) for key, entry in entries.items()])

    async def aclose(self) -> None:
        """Closes the connection; the next read opens another."""
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
            f"the judge's cache {self._folder} failed and was bypassed ({type(exc).__name__}: {exc}); "
            "if this goes on, delete the folder"
        )


_ERRORS = {error.__name__: error for error in (JudgeError, BudgetError, ContextTooLongError)}


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Header(_Line):
    vista_guard_recording: int
    judge: JudgeInfo
    judges_turns: bool


class _Failure(_Line):
    error: str
    message: str
    raw: str | None = None


class _Call(_Line):
    """`inputs` is a fingerprint of all inputs; `about` is a readable excerpt."""

    method: Method
    inputs: str
    about: str
    answer: Any = None
    failure: _Failure | None = None
    usage: Usage = Usage()
    warnings: tuple[str, ...] = ()


class _Recorder:
    def __init__(self, judge: Judge, file: Path) -> None:
        self._judge = judge
        self._file = file
        self._lock = Lock()
        self._judges_turns = isinstance(judge, TurnJudge)
        header = _Header(vista_guard_recording=FORMAT, judge=judge.info, judges_turns=self._judges_turns)
        try:
            with open(file, "x", encoding="utf-8", opener=private) as lines:
                lines.write(_json(header) + "\n")
        except FileExistsError as exc:
            raise RecordingError(f"{file} exists already; replay it, delete it, or record to another file") from exc
        except OSError as exc:
            raise RecordingError(f"the recording {file} cannot be written: {exc}. Name a file that can be") from exc

    async def ask(self, method: Method, *inputs: Any) -> Any:
        if method == "judge_turn" and not self._judges_turns:
            return None
        answer, error = None, None
        with contract.overhear() as echo:
            try:
                answer = await contract.await_answer(_ask_judge(self._judge, method, inputs))
            except JudgeError as exc:
                error = exc
        self._write(
            _Call(
                method=method,
                inputs=ensemble.fingerprint(method, *inputs),
                about=_excerpt(inputs),
                answer=None if error else _RECORDED[method].dump_python(answer, mode="json"),
                failure=error and _failure(error),
                usage=echo.spent,
                warnings=tuple(echo.warnings),
            )
        )
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


class _Replay:
    def __init__(self, file: Path) -> None:
        self._file = file
        self._header, calls = _read(file)
        self.info = self._header.judge
        self._waiting: defaultdict[str, deque[_Call]] = defaultdict(deque)
        for call in calls:
            self._waiting[call.inputs].append(call)

    async def ask(self, method: Method, *inputs: Any) -> Any:
        if method == "judge_turn" and not self._header.judges_turns:
            return None
        call = self._next_call(method, inputs)
        meter().add(call.usage)
        for warning in call.warnings:
            meter().warn(warning)
        if call.failure is not None:
            failure = call.failure
            if failure.error == "UnreadableError":
                raise UnreadableError(failure.message, failure.raw or "")
            raise _ERRORS.get(failure.error, JudgeError)(failure.message)
        return call.answer

    def _next_call(self, method: Method, inputs: Sequence[Any]) -> _Call:
        calls = self._waiting.get(ensemble.fingerprint(method, *inputs))
        if calls:
            with suppress(IndexError):  # another thread took the last
                return calls.popleft()
        how = "what it does not hold" if calls is None else "more often than it was recorded"
        raise RecordingError(
            f"{self._file} was asked {how}: {method} of {_excerpt(inputs)!r}. "
            "Replay what was recorded, from its beginning, with the same texts, evidence and settings; or record anew"
        )


def _read(file: Path) -> tuple[_Header, list[_Call]]:
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as exc:
        raise RecordingError(
            f"the recording {file} cannot be read: {exc}. Record it with StoredJudge.recorded"
        ) from exc
    try:
        header = _Header.model_validate(json.loads(lines[0]))
    except ValueError as exc:
        raise RecordingError(
            f"{file} line 1 is not the header of a recording: {first_problem(exc)}. Record anew"
        ) from exc
    if header.vista_guard_recording != FORMAT:
        raise RecordingError(
            f"{file} has recording format {header.vista_guard_recording}; this version reads {FORMAT}. Record anew"
        )
    return header, [_parse_call(file, number, line) for number, line in enumerate(lines[1:], 2) if line]


def _parse_call(file: Path, number: int, line: str) -> _Call:
    try:
        call = _Call.model_validate(json.loads(line))
        if call.failure is not None:
            return call
        return call.model_copy(update={"answer": _RECORDED[call.method].validate_python(call.answer)})
    except ValueError as exc:
        raise RecordingError(
            f"{file} line {number} is damaged: {first_problem(exc)}. Delete the line if it is the last: a recording that was "
            "stopped leaves it half written. Otherwise record anew"
        ) from exc


def _failure(error: JudgeError) -> _Failure:
    kind = next(base.__name__ for base in type(error).__mro__ if base.__name__ in (*_ERRORS, "UnreadableError"))
    return _Failure(error=kind, message=str(error), raw=getattr(error, "raw", None))


def _excerpt(inputs: Sequence[Any]) -> str:
    """The turn's text or the claims of a call, as one short line."""
    about = inputs[0]
    texts = [about.text] if isinstance(about, Turn) else [f"{claim.id} {claim.text}" for claim in map(claim_of, about)]
    line = " ".join("; ".join(texts).split())
    return line if len(line) <= EXCERPT_CHARS else f"{line[: EXCERPT_CHARS - 1]}…"


def _json(line: BaseModel) -> str:
    # Not pydantic's own writer: it rejects lone surrogates, which turns may contain.
    return json.dumps(line.model_dump(mode="json"))
