"""Every error this package raises on purpose.

VistaGuardError
├── ConfigError    a setting, a policy, a persona file or a missing extra; nothing was started
├── InputError     a conversation, a document or a log that cannot be judged as given
├── JudgeError     a judge could not be loaded or could not answer; becomes `Unchecked` inside a turn
│   ├── BudgetError         the budget of a run or a turn is spent; a replay stops, nothing is lost
│   ├── ContextTooLongError the model cannot read that much at once
│   └── UnreadableError     the model's answer cannot be used; carries its text
├── RecordingError a recorded judge got a request that its recording lacks; never becomes `Unchecked`
├── StoreError     knowledge, documents or reports could not be read or written
│   └── NoReportsError      no guard has written reports to this place yet
└── Blocked        a turn was withheld and the caller asked for an exception; carries the report
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vista_guard.types import TurnReport


_LOGIN = re.compile(r"(?<=://)(?!user(?::password)?@)[^\s/]+(?=@)")
"""The login in an address, but not that of our own examples."""


class VistaGuardError(Exception):
    """Base of every error raised on purpose. Its message names the thing, the value and the next step, and no login.

    Example:
        >>> print(VistaGuardError("http://ada:secret@db.example:6333 does not answer"))
        http://***@db.example:6333 does not answer
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(_LOGIN.sub("***", message))


class ConfigError(VistaGuardError):
    """A setting, policy, persona file or installation is wrong."""


class InputError(VistaGuardError):
    """A conversation, document or log cannot be judged as given."""


class JudgeError(VistaGuardError):
    """A judge could not be loaded, or could not answer."""


class BudgetError(JudgeError):
    """The budget of a run or of a turn is spent. Inside a turn: `Unchecked`; a replay stops and can be resumed."""


class ContextTooLongError(JudgeError):
    """The model cannot read that much at once."""


class UnreadableError(JudgeError):
    """The model's answer cannot be used.

    Attributes:
        raw: the answer's text.
    """

    def __init__(self, message: str, raw: str) -> None:
        super().__init__(message)
        self.raw = raw


class RecordingError(VistaGuardError):
    """A recorded judge got a request that its recording lacks. Fails loudly: it is for tests and experiments."""


class StoreError(VistaGuardError):
    """Knowledge, documents or reports could not be read or written."""


class NoReportsError(StoreError):
    """The database of reports is not there, or has no tables: no guard has written to it yet."""


class Blocked(VistaGuardError):
    """The policy withheld a turn, and the caller asked for an exception instead of a replacement.

    Attributes:
        report: the whole report of the withheld turn.
    """

    def __init__(self, report: TurnReport) -> None:
        # Hosts write down what exceptions say: in checkpoints, traces and logs, where no word of the draft may be.
        super().__init__(f"policy {report.policy} withheld turn {report.turn_index}; the exception's report says why")
        self.report = report


def first_problem(exc: ValueError) -> str:
    """Returns the first fault of input that a pydantic model refused, after its place; the message of any other error.

    Example:
        >>> from pydantic import ValidationError
        >>> from vista_guard.types import Span
        >>> try:
        ...     Span.model_validate({"start": 3, "end": "x"})
        ... except ValidationError as exc:
        ...     print(first_problem(exc))
        end: Input should be a valid integer, unable to parse string as an integer
    """
    from pydantic import ValidationError

    if not isinstance(exc, ValidationError):
        return str(exc)
    first = exc.errors(include_url=False, include_context=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, "))))
