"""A judge's calls in a file: recorded from real runs, replayed exactly, for tests and experiments."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vista_guard.errors import BudgetError, ContextTooLongError, JudgeError, RecordingError, UnreadableError
from vista_guard.judges import contract, metering
from vista_guard.judges.composed import calls
from vista_guard.judges.metering import meter
from vista_guard.protocols import Judge, TurnJudge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Turn, Unchecked, Usage

FORMAT = 1
EXCERPT_CHARS = 200

Method = Literal["decompose", "verify", "categorize", "judge_turn"]
T = TypeVar("T")

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
            lambda judge: calls.judge_turn(judge, turn, history, evidence),
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
        return calls.why_exhausted(self._judge)

    async def ask(self, method: Method, inputs: Any, about: str, question: Callable[[Judge], Awaitable[Any]]) -> Any:
        call = _Call(method=method, inputs=calls.fingerprint(method, *inputs), about=_excerpt(about))
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
        await calls.aclose(self._judge)


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
        key = calls.fingerprint(method, *inputs)
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
